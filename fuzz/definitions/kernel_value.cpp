#include "touchstone/fuzz/definitions/kernel_value.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_map>

#include "touchstone/base/error.h"
#include "touchstone/fuzz/definitions/number_formats.h"
#include "touchstone/fuzz/index/view_case.h"

namespace touchstone::fuzz {
namespace {

using definition::bits_of_float;
using definition::float_of_bits;
using definition::least;
using definition::most;
using definition::Number;
using definition::rounded;
using definition::Wide;
using definition::wrapped;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::uint64_t kMostE4M3 = 0x7e;
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

struct Element {
  double number = 0;  // of a float
  Wide integer = 0;   // of an integer or bool
  bool open = false;
  double radius = 0;
  double loose = 0;          // error of a product added without rounding
  bool either_zero = false;  // a 0 from a sum, of unknown sign
};

Element decoded(DType type, std::uint64_t bits) {
  Element e;
  if (is_float(type))
    e.number = float_of_bits(type, bits);
  else
    e.integer = is_bool(type) ? (bits & 0xff) != 0 : wrapped(static_cast<Wide>(bits), type);
  return e;
}

std::uint64_t encoded(DType type, const Element& e) {
  if (is_float(type)) return bits_of_float(type, e.number);
  const Wide turn = Wide{1} << (8 * itemsize(type));
  return static_cast<std::uint64_t>(e.integer < 0 ? e.integer + turn : e.integer);
}

// A type's unit roundoff, and its least positive number.
double half_unit(DType type) { return std::ldexp(1.0, -info(type).digits); }
double tiny(DType type) { return std::ldexp(1.0, info(type).min_exponent - info(type).digits + 1); }
double rounding(DType type, double value) { return half_unit(type) * std::abs(value) + tiny(type); }

using Elements = std::vector<Element>;

class Definition {
 public:
  explicit Definition(const KernelCase& c) : case_(c) {}

  const Elements& of(const LazyOpPtr& node) { return values_.at(node.get()); }

  /// False if the kernel is not supported.
  bool compute(const LazyOpPtr& node) {
    std::int64_t count = 1;
    for (const sint& size : node->shape()) count *= size.as_int();
    if (count > kMostDefined) return false;
    Elements out(static_cast<std::size_t>(count));
    const Op op = node->op();
    if (op == Op::Gather && node->buffer().checked) return false;
    if (op == Op::Function && !definition::has_value(function_of(*node))) return false;
    if (op == Op::Load)
      load(*node, out);
    else if (op == Op::Gather)
      take_rows(*node, out);
    else if (op == Op::Const)
      repeat(*node, out);
    else if (is_reduce(op))
      reduce(*node, out);
    else
      for (std::size_t i = 0; i < out.size(); ++i) out[i] = one(*node, i);
    values_.emplace(node.get(), std::move(out));
    return true;
  }

 private:
  static NamedFunction function_of(const LazyOp& node) {
    return std::get<FunctionArg>(node.arg()).function;
  }

  const Elements& source(const LazyOp& node, std::size_t i) const {
    return values_.at(node.src()[i].get());
  }

  Element read(const MemBuffer& buffer, std::int64_t cell) const {
    const HostArray& input = case_.inputs[static_cast<std::size_t>(buffer.idx) - 1];
    return decoded(input.dtype, bits_at(input, static_cast<std::size_t>(cell)));
  }

  void load(const LazyOp& node, Elements& out) const {
    const std::vector<std::int64_t> cells = addresses_of(node.buffer().st.views()).cells;
    for (std::size_t i = 0; i < out.size(); ++i)
      if (cells[i] >= 0) out[i] = read(node.buffer(), cells[i]);
  }

  static void repeat(const LazyOp& node, Elements& out) {
    const std::vector<std::int64_t> cells = addresses_of(node.constant().st.views()).cells;
    const Element value = decoded(node.dtype(), node.constant().value.bits());
    for (std::size_t i = 0; i < out.size(); ++i)
      if (cells[i] >= 0) out[i] = value;
  }

  void take_rows(const LazyOp& node, Elements& out) const {
    const ShapeTracker& table = node.buffer().st;
    const std::vector<std::int64_t> cells = addresses_of(table.views()).cells;
    const std::int64_t rows = table.shape()[0].as_int();
    const auto row = static_cast<std::int64_t>(out.size());
    for (std::int64_t i = 0; i < row; ++i) {
      const Element& at = source(node, 0)[static_cast<std::size_t>(i)];
      Element& to = out[static_cast<std::size_t>(i)];
      to.open = at.open;
      if (at.radius > 0) to.radius = kInfinity;
      if (at.integer < 0 || at.integer >= rows) continue;
      const std::int64_t cell =
          cells[static_cast<std::size_t>(static_cast<std::int64_t>(at.integer) * row + i)];
      if (cell < 0) continue;
      const Element value = read(node.buffer(), cell);
      to.number = value.number;
      to.integer = value.integer;
    }
  }

  void reduce(const LazyOp& node, Elements& out) const {
    const LazyOp& x = *node.src()[0];
    const Elements& terms = source(node, 0);
    std::vector<std::vector<const Element*>> of(out.size());
    std::vector<std::int64_t> index(x.shape().size(), 0);
    for (const Element& term : terms) {
      std::size_t at = 0;
      for (std::size_t a = 0; a < index.size(); ++a) {
        at *= static_cast<std::size_t>(node.shape()[a].as_int());
        if (!std::ranges::binary_search(node.reduce_arg().axes, static_cast<int>(a)))
          at += static_cast<std::size_t>(index[a]);
      }
      of[at].push_back(&term);
      for (std::size_t a = index.size(); a-- > 0;) {
        if (++index[a] < x.shape()[a].as_int()) break;
        index[a] = 0;
      }
    }
    for (std::size_t i = 0; i < out.size(); ++i)
      out[i] = node.op() == Op::ReduceSum ? sum(node, of[i]) : largest(node.dtype(), of[i]);
  }

  static Element sum(const LazyOp& node, const std::vector<const Element*>& terms) {
    const DType type = node.dtype(), accumulator = node.reduce_arg().accumulator;
    Element e;
    for (const Element* t : terms) e.open = e.open || t->open;
    if (!is_float(type)) {
      for (const Element* t : terms) {
        e.integer =
            is_bool(type) ? (e.integer | t->integer) : wrapped(e.integer + t->integer, accumulator);
        if (t->radius > 0) e.radius = kInfinity;
      }
      e.integer = wrapped(e.integer, type);
      return e;
    }
    Number total(terms.empty() ? 0.0 : -0.0);
    double size = 0, off = 0;
    for (const Element* t : terms) {
      mpfr_add_d(total.get(), total.get(), t->number, MPFR_RNDN);
      size += std::abs(t->number);
      off += t->radius + t->loose;
    }
    const double once = rounded(total, accumulator);
    e.number = rounded(once, type);
    const double n = static_cast<double>(terms.size()), u = half_unit(accumulator);
    e.either_zero = e.number == 0;
    e.radius = n * u >= 0.5 || size + off > limit(accumulator)
                   ? kInfinity
                   : off + 2 * n * u * (size + off) + n * tiny(accumulator);
    if (terms.size() < 2 && off == 0) e.radius = 0;
    if (e.radius > 0) e.radius += rounding(type, std::abs(e.number) + e.radius);
    return e;
  }

  // Beyond it a sum of the kernel's terms may be near the end of the type.
  static double limit(DType type) { return std::ldexp(1.0, info(type).max_exponent - 2); }

  static Element larger(DType type, const Element& a, const Element& b) {
    Element e;
    e.open = a.open || b.open;
    e.radius = std::max(a.radius, b.radius);
    e.loose = std::max(a.loose, b.loose);
    e.either_zero = a.either_zero || b.either_zero;
    if (!is_float(type)) {
      e.integer = std::max(a.integer, b.integer);
      if (e.radius > 0) e.radius = kInfinity;
    } else if (std::isnan(a.number) || std::isnan(b.number)) {
      e.number = kNaN;
    } else if (a.number == b.number) {
      e.number = std::signbit(a.number) ? b.number : a.number;
    } else {
      e.number = a.number > b.number ? a.number : b.number;
    }
    return e;
  }

  static Element largest(DType type, const std::vector<const Element*>& terms) {
    Element e;
    if (is_float(type))
      e.number = rounded(-kInfinity, type);
    else
      e.integer = least(type);
    for (const Element* t : terms) e = larger(type, e, *t);
    return e;
  }

  Element one(const LazyOp& node, std::size_t i) const {
    const Element& a = source(node, 0)[i];
    const std::size_t arity = node.src().size();
    const Element none;
    const Element& b = arity > 1 ? source(node, 1)[i] : none;
    const Element& c = arity > 2 ? source(node, 2)[i] : none;
    const DType type = node.dtype(), from = node.src()[0]->dtype();
    Element e;
    if (node.op() == Op::Where) {
      e = a.integer != 0 ? b : c;
      e.open = e.open || a.open;
      if (a.radius > 0) e.radius = kInfinity;
      return e;
    }
    if (node.op() == Op::Noop) return a;
    if (node.op() == Op::Cast)
      e = node.cast_arg().bitcast ? same_bits(a, from, type) : converted(a, from, type);
    else if (node.op() == Op::CmpLt || node.op() == Op::CmpEq)
      e = compared(node.op(), a, b, from);
    else if (node.op() == Op::Function)
      e = of_function(function_of(node), type, a, b);
    else if (is_float(type))
      e = of_floats(node.op(), type, a, b, c);
    else
      e = of_integers(node.op(), type, a, b, c);
    e.open = e.open || a.open || b.open || c.open;
    // A product added without rounding may exceed the largest number of a type without infinities.
    if (type == DType::Float8E4M3 && node.op() != Op::Cast &&
        std::abs(e.number) == float_of_bits(type, kMostE4M3))
      e.radius = kInfinity;
    if (a.either_zero || b.either_zero || c.either_zero) {
      // These functions jump at that zero.
      if (node.op() == Op::Recip || node.op() == Op::Div || node.op() == Op::Mod ||
          node.op() == Op::Function || (node.op() == Op::Cast && node.cast_arg().bitcast))
        e.radius = kInfinity;
      e.either_zero = is_float(type) && e.number == 0;
    }
    return e;
  }

  static Element same_bits(const Element& a, DType from, DType to) {
    Element e = decoded(to, encoded(from, a));
    e.open = is_float(from) && std::isnan(a.number);
    if (a.radius > 0) e.radius = kInfinity;
    return e;
  }

  static Element converted(const Element& a, DType from, DType to) {
    Element e;
    if (is_float(from) && is_float(to)) {
      e.number = rounded(a.number, to);
      e.radius = a.radius > 0 ? a.radius + rounding(to, std::abs(a.number) + a.radius) : 0;
      e.loose = a.loose;
      if (std::abs(a.number) + a.radius > limit(to) && a.radius > 0) e.radius = kInfinity;
      if (a.loose > 0) e.loose += rounding(to, a.number);
      return e;
    }
    e.radius = a.radius > 0 ? kInfinity : 0;
    if (is_float(to)) {
      Number x;
      constexpr int kHalf = 64;
      mpfr_set_si(x.get(), static_cast<long>(a.integer >> kHalf), MPFR_RNDN);
      mpfr_mul_2si(x.get(), x.get(), kHalf, MPFR_RNDN);
      Number low;
      mpfr_set_ui(low.get(), static_cast<unsigned long>(a.integer), MPFR_RNDN);
      mpfr_add(x.get(), x.get(), low.get(), MPFR_RNDN);
      e.number = rounded(x, to);
    } else if (!is_float(from)) {
      e.integer = wrapped(a.integer, to);
    } else if (is_bool(to)) {
      e.integer = a.number != 0 ? 1 : 0;  // NaN is not 0
    } else if (!std::isnan(a.number)) {
      const double whole = std::trunc(a.number);
      e.integer = whole <= static_cast<double>(least(to))  ? least(to)
                  : whole >= static_cast<double>(most(to)) ? most(to)
                                                           : static_cast<Wide>(whole);
    }
    return e;
  }

  static Element compared(Op op, const Element& a, const Element& b, DType of) {
    Element e;
    if (is_float(of))
      e.integer = op == Op::CmpLt ? a.number < b.number : a.number == b.number;
    else
      e.integer = op == Op::CmpLt ? a.integer < b.integer : a.integer == b.integer;
    if (a.radius > 0 || b.radius > 0) e.radius = kInfinity;
    return e;
  }

  static Element of_integers(Op op, DType type, const Element& a, const Element& b,
                             const Element& c) {
    Element e;
    const Wide x = a.integer, y = b.integer;
    const bool flag = is_bool(type);
    switch (op) {
      case Op::Neg: e.integer = flag ? 1 - x : wrapped(-x, type); break;
      case Op::Add: e.integer = flag ? (x | y) : wrapped(x + y, type); break;
      case Op::Sub: e.integer = flag ? (x ^ y) : wrapped(x - y, type); break;
      case Op::Mul: e.integer = product(x, y, type); break;
      case Op::MulAcc:
        e.integer = flag ? ((x & y) | c.integer) : wrapped(product(x, y, type) + c.integer, type);
        break;
      case Op::Max: e.integer = std::max(x, y); break;
      case Op::Xor: e.integer = wrapped(x ^ y, type); break;
      case Op::Div:
      case Op::Mod:
        e.open = y == 0 || (y == -1 && x == least(type));
        if (!e.open) e.integer = op == Op::Div ? x / y : x % y;
        break;
      case Op::Noop:
      case Op::Cast:
      case Op::Where:
      case Op::Sqrt:
      case Op::Recip:
      case Op::Exp2:
      case Op::Log2:
      case Op::Sin:
      TOUCHSTONE_CASES_COMPARISON:
      TOUCHSTONE_CASES_REDUCE:
      TOUCHSTONE_CASES_NOT_COMPUTED:
        throw Error(fmt::format("{} has no definition for integers", name(op)));
    }
    if (a.radius > 0 || b.radius > 0 || c.radius > 0) e.radius = kInfinity;
    return e;
  }

  // A product of two 64-bit factors may exceed 127 bits; its residue does not.
  static Wide product(Wide x, Wide y, DType type) {
    if (is_bool(type)) return x & y;
    const auto low = static_cast<std::uint64_t>(x) * static_cast<std::uint64_t>(y);
    return wrapped(static_cast<Wide>(low), type);
  }

  static Element of_function(NamedFunction function, DType type, const Element& a,
                             const Element& b) {
    Element e;
    Number r(a.number, Number::kFunction), other(b.number, Number::kFunction);
    definition::apply(function, r, other);
    e.number = rounded(r, type);
    const FunctionInfo& row = info(function);
    const double units = row.exact ? 0 : 2 + 2 * std::max({row.error, row.glibc, row.opencl});
    e.radius = a.radius > 0 || b.radius > 0 ? kInfinity
               : row.exact                  ? 0
                                            : units * rounding(type, e.number);
    return e;
  }

  static Element of_floats(Op op, DType type, const Element& a, const Element& b,
                           const Element& c) {
    Element e;
    const double x = a.number, y = b.number;
    const auto exact = [&](auto&& apply) {
      Number r(x);
      apply(r.get());
      e.number = rounded(r, type);
    };
    const bool off = a.radius > 0 || b.radius > 0;
    const auto function = [&](auto* of) {
      Number r(x, Number::kFunction);
      of(r.get(), r.get(), MPFR_RNDN);
      e.number = rounded(r, type);
      e.radius = off ? kInfinity : 3 * rounding(type, e.number);
    };
    const auto unless_off = [&] { e.radius = off ? kInfinity : 0; };
    const auto added = [&] {
      const double all = a.radius + a.loose + b.radius + b.loose;
      e.radius = all > 0 ? all + rounding(type, std::abs(e.number) + all) : 0;
    };
    switch (op) {
      case Op::Neg:
        e.number = std::copysign(x, std::signbit(x) ? 1.0 : -1.0);
        e.radius = a.radius;
        e.loose = a.loose;
        break;
      case Op::Add:
        exact([&](mpfr_ptr r) { mpfr_add_d(r, r, y, MPFR_RNDN); });
        added();
        break;
      case Op::Sub:
        exact([&](mpfr_ptr r) { mpfr_sub_d(r, r, y, MPFR_RNDN); });
        added();
        break;
      case Op::Mul:
        exact([&](mpfr_ptr r) { mpfr_mul_d(r, r, y, MPFR_RNDN); });
        if (off) {
          const double all = std::abs(x) * b.radius + std::abs(y) * a.radius + a.radius * b.radius;
          // 0 times an unknown factor gives NaN here: nothing is known.
          e.radius = std::isnan(all) ? kInfinity : all + rounding(type, std::abs(e.number) + all);
        }
        e.loose = rounding(type, e.number);
        break;
      case Op::MulAcc: {
        const Element p = of_floats(Op::Mul, type, a, b, c);
        return of_floats(Op::Add, type, p, c, c);
      }
      case Op::Div:
        exact([&](mpfr_ptr r) { mpfr_div_d(r, r, y, MPFR_RNDN); });
        unless_off();
        break;
      case Op::Recip:
        exact([&](mpfr_ptr r) { mpfr_d_div(r, 1.0, r, MPFR_RNDN); });
        unless_off();
        break;
      case Op::Sqrt:
        if (x == 0)
          e.number = x;
        else
          exact([](mpfr_ptr r) { mpfr_sqrt(r, r, MPFR_RNDN); });
        unless_off();
        break;
      case Op::Mod:
        exact([&](mpfr_ptr r) { mpfr_fmod(r, r, Number(y, 64).get(), MPFR_RNDN); });
        unless_off();
        break;
      case Op::Max: return larger(type, a, b);
      case Op::Exp2: function(&mpfr_exp2); break;
      case Op::Sin: function(&mpfr_sin); break;
      case Op::Log2:
        function(&mpfr_log2);
        if (x == 0) e.number = rounded(-kInfinity, type);
        break;
      case Op::Noop:
      case Op::Cast:
      case Op::Where:
      case Op::Xor:
      TOUCHSTONE_CASES_COMPARISON:
      TOUCHSTONE_CASES_REDUCE:
      TOUCHSTONE_CASES_NOT_COMPUTED:
        throw Error(fmt::format("{} has no definition for floats", name(op)));
    }
    return e;
  }

  const KernelCase& case_;
  std::unordered_map<const LazyOp*, Elements> values_;
};

}  // namespace

bool KernelValue::is_nan(std::size_t i) const {
  return is_float(dtype) && std::isnan(float_of_bits(dtype, bits[i]));
}

bool KernelValue::agrees(std::size_t i, std::uint64_t other) const {
  if (open[i] || bits[i] == other) return true;
  return is_nan(i) && std::isnan(float_of_bits(dtype, other));
}

double KernelValue::number(std::size_t i) const { return float_of_bits(dtype, bits[i]); }

std::optional<KernelValue> kernel_value(const KernelCase& c, std::size_t output_elements) {
  const LazyOpPtr kernel = c.concrete();
  Definition definition(c);
  std::vector<LazyOpPtr> nodes = toposort(kernel);
  nodes.pop_back();  // the STORE
  try {
    for (const LazyOpPtr& node : nodes)
      if (!definition.compute(node)) return std::nullopt;
    const Elements& stored = definition.of(kernel->src()[0]);
    KernelValue value{kernel->dtype(), {}, {}, {}};
    value.bits.assign(output_elements, 0);
    value.open.assign(output_elements, false);
    value.radius.assign(output_elements, 0);
    const std::vector<std::int64_t> cells = addresses_of(kernel->buffer().st.views()).cells;
    for (std::size_t i = 0; i < stored.size(); ++i) {
      if (cells[i] < 0) continue;
      const auto at = static_cast<std::size_t>(cells[i]);
      value.bits.at(at) = encoded(value.dtype, stored[i]);
      value.open[at] = stored[i].open;
      value.radius[at] = stored[i].radius;
    }
    return value;
  } catch (const TooManyCells&) {
    return std::nullopt;
  }
}

}  // namespace touchstone::fuzz
