#include "touchstone/interp/device/contraction.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>

#include "touchstone/interp/device/bits.h"
#include "touchstone/ops/op_cases.h"

namespace touchstone::interp {
namespace {

using Constant = std::optional<Scalar>;

bool is_one(const Constant& x) { return x && std::abs(x->to_double()) == 1; }
bool is_minus_one(const Constant& x) { return x && x->to_double() == -1; }
bool is_zero(const Constant& x) { return x && x->to_double() == 0; }
bool is_power_of_two(const Constant& x) {
  int exponent = 0;
  return x && std::abs(std::frexp(x->to_double(), &exponent)) == 0.5;
}

// n times x as a loop adds it, if no addition rounds.
Constant sum_of_copies(const Scalar& x, std::int64_t n, DType dtype) {
  int exponent = 0, more = 0;
  double whole = std::frexp(x.to_double(), &exponent);
  if (!std::isfinite(whole)) return std::nullopt;
  int digits = 0;
  while (whole != std::trunc(whole)) {
    whole *= 2;
    ++digits;
  }
  (void)std::frexp(static_cast<double>(n), &more);
  if (digits + more > info(dtype).digits || digits + more > info(x.dtype()).digits)
    return std::nullopt;
  const Scalar sum = Scalar::from_double(dtype, x.to_double() * static_cast<double>(n));
  return std::isfinite(sum.to_double()) ? Constant(sum) : std::nullopt;
}

// The name of an op in scalar_answer, for folding constants.
std::string_view folded_name(Op op) {
  switch (op) {
    case Op::Neg: return "neg";
    case Op::Add: return "add";
    case Op::Sub: return "sub";
    case Op::Mul: return "mul";
    case Op::Div: return "div";
    case Op::Max: return "max.maximum";
    case Op::Noop:
    case Op::Cast:
    case Op::Mod:
    case Op::Xor:
    TOUCHSTONE_CASES_FUNCTION:
    TOUCHSTONE_CASES_COMPARISON:
    TOUCHSTONE_CASES_BEYOND_BINARY:
      break;
  }
  return {};
}

class Marker {
 public:
  explicit Marker(KernelProgram& program) : program_(program), constants_(program.regions.size()) {}

  // Derives facts about each node from those about its operands, which come first.
  void look(int id) {
    const Region& region = program_.regions[static_cast<std::size_t>(id)];
    for (std::size_t i = 0; i < region.nodes.size(); ++i) {
      constants(id).push_back(constant_of(id, region.nodes[i]));
      if (!is_float(region.nodes[i].dtype)) continue;
      describe(id, i);
      find_product(id, i);
    }
  }

  // Users first: which results additions take.
  void mark(int id) {
    Region& region = program_.regions[static_cast<std::size_t>(id)];
    for (std::size_t i = region.nodes.size(); i-- > 0;) {
      const ProgramNode& node = region.nodes[i];
      const Contraction& c = node.contraction;
      if (is_reduce(node.op)) {
        const bool sum = node.op == Op::ReduceSum;
        if (node.groups && node.groups->first >= 0 && sum)
          take(program_.regions[static_cast<std::size_t>(node.groups->first)].nodes.back(), true);
        if (sum || (c.is_addend && c.passes != 0))
          take(program_.regions[static_cast<std::size_t>(node.region)].nodes.back(),
               sum || c.is_summed);
        continue;
      }
      for (std::size_t k = 0; k < node.src.size(); ++k)
        if (c.reads_unrounded(k))
          take(region.nodes[static_cast<std::size_t>(node.src[k])],
               ((c.adds >> k) & 1U) == 0 && c.is_summed);
    }
  }

  // Operands first again: negations of possibly fused operations.
  void find_flips(int id) {
    Region& region = program_.regions[static_cast<std::size_t>(id)];
    std::vector<bool> fused(region.nodes.size());
    for (std::size_t i = 0; i < region.nodes.size(); ++i) {
      ProgramNode& node = region.nodes[i];
      Contraction& c = node.contraction;
      if (!is_float(node.dtype) || is_reduce(node.op)) continue;
      fused[i] = node.op == Op::MulAcc;
      for (std::size_t k = 0; k < node.src.size(); ++k) {
        const auto s = static_cast<std::size_t>(node.src[k]);
        if (((c.adds >> k) & 1U) != 0 && region.nodes[s].contraction.may_be_unrounded())
          fused[i] = true;
        if (((c.passes >> k) & 1U) == 0 || !fused[s]) continue;
        fused[i] = true;
        c.flips_fused = c.flips_fused || negates(id, node);
      }
    }
  }

 private:
  std::vector<Constant>& constants(int id) { return constants_[static_cast<std::size_t>(id)]; }
  const Constant& constant(int id, const ProgramNode& node, std::size_t k) {
    return constants(id)[static_cast<std::size_t>(node.src[k])];
  }
  static void take(ProgramNode& operand, bool summed) {
    operand.contraction.is_addend = true;
    operand.contraction.is_summed = operand.contraction.is_summed || summed;
  }

  // A float's value if a compiler knows it, as far as needed here.
  Constant constant_of(int id, const ProgramNode& node) {
    if (!is_float(node.dtype) || node.kept) return std::nullopt;
    if (node.op == Op::Const) {
      const auto views = node.origin->constant().st.views();
      const bool masked =
          std::ranges::any_of(views, [](const View& v) { return v.mask().has_value(); });
      return masked ? Constant() : Constant(node.value);
    }
    if (is_reduce(node.op)) {
      const Constant& term = constants(node.region).back();
      if (!term || node.terms < 1 || node.groups) return std::nullopt;
      if (node.terms == 1 || node.op == Op::ReduceMax) return term;
      return sum_of_copies(*term, node.terms, node.dtype);
    }
    std::vector<Scalar> in;
    for (std::size_t k = 0; k < node.src.size(); ++k) {
      const Constant& x = constant(id, node, k);
      if (!x) return std::nullopt;
      in.push_back(*x);
    }
    if (node.op == Op::Noop) return in[0];
    if (node.op == Op::Cast && !node.bitcast) return convert(in[0], node.dtype);
    const std::string_view op = folded_name(node.op);
    return op.empty() || in.empty() ? Constant() : scalar_answer(op, node.dtype, in);
  }

  // True if a compiler may also hold a node of a wide type in `narrow`: it is a number of that
  // type, cast; `product` is set if it is a product of that type.
  bool narrows(int id, std::size_t i, DType narrow, bool& product, int depth = 0) {
    const Region& region = program_.regions[static_cast<std::size_t>(id)];
    const ProgramNode& node = region.nodes[i];
    constexpr int kDeepest = 16;
    if (depth > kDeepest) return false;
    if (const Constant& x = constants(id)[i])
      return x->to_double() == convert(*x, narrow).to_double();
    const auto below = [&](std::size_t k, bool& is_product) {
      return narrows(id, static_cast<std::size_t>(node.src[k]), narrow, is_product, depth + 1);
    };
    bool ignored = false;
    switch (node.op) {
      case Op::Cast:
        return !node.bitcast && holds(node.dtype, node.src_dtypes[0]) &&
               holds(narrow, node.src_dtypes[0]);
      case Op::Neg:
      case Op::Noop: return below(0, product);
      case Op::Where: return below(1, product) && below(2, product);
      case Op::Mul: product = true; return below(0, ignored) && below(1, ignored);
      case Op::Add:
      case Op::Sub:
      case Op::Div:
      case Op::Max:
      case Op::Mod:
      case Op::Xor:
      case Op::MulAcc:
      TOUCHSTONE_CASES_FUNCTION:
      TOUCHSTONE_CASES_COMPARISON:
      TOUCHSTONE_CASES_REDUCE:
      TOUCHSTONE_CASES_NOT_COMPUTED:
        break;
    }
    return false;
  }

  void describe(int id, std::size_t i) {
    ProgramNode& node = program_.regions[static_cast<std::size_t>(id)].nodes[i];
    if (node.kept) return;
    Contraction& c = node.contraction;
    switch (node.op) {
      case Op::Noop:
      case Op::Neg: c.passes = 1; break;
      case Op::Where: c.passes = 6; break;
      case Op::Cast: {
        if (node.bitcast || !is_float(node.src_dtypes[0])) break;
        bool product = false;
        const auto operand = static_cast<std::size_t>(node.src[0]);
        if (holds(node.dtype, node.src_dtypes[0]) || narrows(id, operand, node.dtype, product)) {
          c.passes = 1;
          c.is_product = product;
        }
        break;
      }
      case Op::Add:
      case Op::Sub:
        c.adds = 3;
        c.is_product = doubles(id, node);
        if (is_zero(constant(id, node, 1))) c.passes |= 1U;
        if (is_zero(constant(id, node, 0))) c.passes |= 2U;
        break;
      case Op::Mul:
        c.is_product = true;
        if (is_one(constant(id, node, 1))) c.passes |= 1U;
        if (is_one(constant(id, node, 0))) c.passes |= 2U;
        break;
      case Op::Div:
        c.is_product = is_power_of_two(constant(id, node, 1));
        if (is_one(constant(id, node, 1))) c.passes = 1;
        break;
      case Op::MulAcc:
        c.adds = 4;
        if (is_one(constant(id, node, 1))) c.adds |= 1U;
        if (is_one(constant(id, node, 0))) c.adds |= 2U;
        c.is_product = is_zero(constant(id, node, 2));
        if (c.is_product) c.passes = c.adds & 3U;  // 1 * b + 0 is b
        break;
      case Op::Function:  // a device may have the formula in its place
        if (node.function.or_last)
          c.passes = static_cast<std::uint8_t>(1U << (node.src.size() - 1));
        break;
      case Op::Max:  // of the same value twice
        if (same(id, node.src[0], node.src[1])) c.passes = 3;
        break;
      case Op::ReduceSum:
      case Op::ReduceMax: c.passes = node.terms == 1 ? 1 : 0; break;
      case Op::Mod:
      case Op::Xor:
      TOUCHSTONE_CASES_FUNCTION:
      TOUCHSTONE_CASES_COMPARISON:
      TOUCHSTONE_CASES_MOVEMENT:
      TOUCHSTONE_CASES_LOAD:
      TOUCHSTONE_CASES_BUFFER:
        break;
    }
  }

  bool same(int id, int a, int b) const {
    const Region& region = program_.regions[static_cast<std::size_t>(id)];
    const LazyOp* const x = region.nodes[static_cast<std::size_t>(a)].origin;
    const LazyOp* const y = region.nodes[static_cast<std::size_t>(b)].origin;
    return x == y || x->hash() == y->hash();
  }

  // True for x + x and x - -x, which compilers turn into x * 2.
  bool doubles(int id, const ProgramNode& node) const {
    if (node.op == Op::Add) return same(id, node.src[0], node.src[1]);
    const Region& region = program_.regions[static_cast<std::size_t>(id)];
    const ProgramNode& y = region.nodes[static_cast<std::size_t>(node.src[1])];
    return y.op == Op::Neg && same(id, node.src[0], y.src[0]);
  }

  void find_product(int id, std::size_t i) {
    Region& region = program_.regions[static_cast<std::size_t>(id)];
    ProgramNode& node = region.nodes[i];
    Contraction& c = node.contraction;
    c.carries = c.is_product;
    if (is_reduce(node.op)) {
      const Region& terms = program_.regions[static_cast<std::size_t>(node.region)];
      c.carries = c.passes != 0 && terms.nodes.back().contraction.carries;
    }
    for (std::size_t k = 0; k < node.src.size(); ++k)
      if (((c.passes >> k) & 1U) != 0)
        c.carries =
            c.carries || region.nodes[static_cast<std::size_t>(node.src[k])].contraction.carries;
  }

  bool negates(int id, const ProgramNode& node) {
    switch (node.op) {
      case Op::Neg: return true;
      case Op::Sub: return is_zero(constant(id, node, 0));
      case Op::Mul:
        return is_minus_one(constant(id, node, 0)) || is_minus_one(constant(id, node, 1));
      case Op::Div: return is_minus_one(constant(id, node, 1));
      case Op::Noop:
      case Op::Cast:
      case Op::Add:
      case Op::Max:
      case Op::Mod:
      case Op::Xor:
      TOUCHSTONE_CASES_FUNCTION:
      TOUCHSTONE_CASES_COMPARISON:
      TOUCHSTONE_CASES_BEYOND_BINARY:
        break;
    }
    return false;
  }

  KernelProgram& program_;
  std::vector<std::vector<Constant>> constants_;  // of each region's nodes
};

}  // namespace

bool holds(DType to, DType from) {
  const DTypeInfo &wide = info(to), &narrow = info(from);
  return is_float(to) && is_float(from) && wide.digits >= narrow.digits &&
         wide.max_exponent >= narrow.max_exponent &&
         wide.min_exponent - wide.digits <= narrow.min_exponent - narrow.digits;
}

void mark_contractions(KernelProgram& program, std::span<const int> order) {
  Marker marker(program);
  for (const int id : order) marker.look(id);
  for (std::size_t i = order.size(); i-- > 0;) marker.mark(order[i]);
  for (const int id : order) marker.find_flips(id);
}

}  // namespace touchstone::interp
