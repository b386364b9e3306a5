#include "touchstone/interp/oracle/excess.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "touchstone/interp/device/contraction.h"
#include "touchstone/interp/oracle/radius.h"

namespace touchstone::interp {
namespace {

bool has_mode(const Profile& profile, DType dtype) {
  return profile.float8 != Float8Overflow::AsDefined && is_float(dtype) && itemsize(dtype) == 1;
}

class Widener {
 public:
  Widener(const Profile& profile, const Region& from, bool is_root)
      : profile_(profile), from_(from), is_root_(is_root) {}

  Region widened() {
    made_.size = from_.size;
    made_.shape = from_.shape;
    for (const ProgramNode& node : from_.nodes) {
      add(node);
      place_.push_back(last());
    }
    if (is_root_) {
      const DType stored = from_.nodes.back().dtype;
      if (made_.nodes.back().dtype != stored) push(cast(last(), stored));
    }
    return std::move(made_);
  }

 private:
  int last() const { return static_cast<int>(made_.nodes.size()) - 1; }
  DType dtype(int i) const { return made_.nodes[static_cast<std::size_t>(i)].dtype; }
  void push(ProgramNode node) { made_.nodes.push_back(std::move(node)); }
  ProgramNode cast(int operand, DType to) const {
    ProgramNode made;
    made.op = Op::Cast;
    made.dtype = to;
    made.src = {operand};
    made.src_dtypes = {dtype(operand)};
    made.origin = made_.nodes[static_cast<std::size_t>(operand)].origin;
    made.run = made_.nodes[static_cast<std::size_t>(operand)].run;
    return made;
  }
  void push_held(DType wide) {
    if (dtype(last()) != wide) push(cast(last(), wide));
  }

  void add(const ProgramNode& node) {
    const std::optional<DType> wide = excess_type(profile_, node.dtype);
    ProgramNode made = node;
    for (std::size_t k = 0; k < made.src.size(); ++k) {
      made.src[k] = place_[static_cast<std::size_t>(node.src[k])];
      made.src_dtypes[k] = dtype(made.src[k]);
    }
    if (node.kept) {  // its region holds it in the wide type
      if (wide) made.dtype = *wide;
      return push(std::move(made));
    }
    if (node.op == Op::Cast) return add_cast(std::move(made), node.src_dtypes[0], wide);
    if (!wide) {
      // For example terms of an integer reduce, or operands of a comparison.
      return push(std::move(made));
    }
    if (is_load(node.op) || node.op == Op::Const) {
      push(std::move(made));
      return push_held(*wide);
    }
    // A NOOP marks a CAST that may be left out.
    if (!info(node.op).selects || (node.op == Op::Noop && skips_cast(made, *wide))) may_round(made);
    made.dtype = *wide;
    if (is_reduce(node.op)) made.src_dtypes = {*wide};
    if (node.op == Op::MulAcc) return add_mulacc(std::move(made));
    push(std::move(made));
  }

  void may_round(ProgramNode& made) const {
    made.rounds_to = made.dtype;
    made.rounds_always = !profile_.excess || profile_.excess_each_op;
  }

  bool skips_cast(ProgramNode& noop, DType wide) {
    const ProgramNode* cast = &made_.nodes[static_cast<std::size_t>(noop.src[0])];
    if (cast->op == Op::Cast && !cast->bitcast && cast->dtype == wide)  // held in the wide type
      cast = &made_.nodes[static_cast<std::size_t>(cast->src[0])];
    if (cast->op != Op::Cast || cast->bitcast || !is_float(cast->src_dtypes[0])) return false;
    const int unrounded = cast->src[0];
    if (dtype(unrounded) != wide) push(this->cast(unrounded, wide));
    noop.src = {dtype(unrounded) != wide ? last() : unrounded};
    return true;
  }

  void add_cast(ProgramNode made, DType from, std::optional<DType> wide) {
    if (made.bitcast && made.src_dtypes[0] != from) {  // the bits are those of the narrow type
      push(cast(made.src[0], from));
      made.src = {last()};
      made.src_dtypes = {from};
    } else if (!made.bitcast && made.src_dtypes[0] == made.dtype) {
      made.op = Op::Noop;
    } else if (!made.bitcast && wide && !is_float(from)) {
      may_round(made);
      made.dtype = *wide;
    }
    push(std::move(made));
    if (wide) push_held(*wide);
  }

  // With one rounding or two: the product may stay unrounded.
  void add_mulacc(ProgramNode made) {
    ProgramNode product = made;
    product.op = Op::Mul;
    product.src.pop_back();
    product.src_dtypes.pop_back();
    product.rounds_always = false;
    product.contraction.is_product = product.contraction.carries = true;
    product.contraction.is_addend = true;
    product.contraction.is_summed = false;
    push(std::move(product));
    made.op = Op::Add;
    made.src = {last(), made.src[2]};
    made.src_dtypes = {made.dtype, made.src_dtypes[2]};
    made.contraction.adds = 3;
    made.contraction.passes = made.contraction.is_product ? 1 : 0;
    made.contraction.carries = made.contraction.passes != 0;
    made.contraction.is_product = false;
    push(std::move(made));
  }

  const Profile& profile_;
  const Region& from_;
  bool is_root_;
  Region made_;
  std::vector<int> place_;
};

// x as the narrow type T may hold it.
template <class T, class W>
Legal<T> narrowed(const ProgramNode& node, const Profile& profile, Legal<W> x, double size) {
  const bool special = legal::is_special(x);
  const bool positive = x.number && !scalar::cmplt(x.lo, W{}) && keeps_sign(node.op);
  if (x.number && rounds_twice(node.op) && !special) x = legal::widened(x, 1);
  Legal<T> out = rounded_as<T>(profile, x);
  if constexpr (sizeof(T) < sizeof(float) && sizeof(W) > sizeof(float))  // may pass float32
    out = Legal<T>::one_of({out, rounded_as<T>(profile, legal::cast<float>(x))});
  if (node.op == Op::Exp2) size = std::min(size, 4.0 * info(dtype_v<T>).max_exponent);
  const auto ulp = static_cast<std::int64_t>(declared_ulp(node.op, profile, size));
  if (ulp > 0 && !special && out.number) {
    // Beyond twice the largest number, an error of so few ULP cannot lead back to it.
    constexpr DTypeInfo kInfo = info(dtype_v<T>);
    const double beyond = std::ldexp(1.0, kInfo.max_exponent + 2);
    const bool few = ulp < std::int64_t{1} << (kInfo.digits - 2);
    out = legal::widened(out, ulp);
    if (few && static_cast<double>(scalar::detail::computing(x.lo)) >= beyond)
      out.lo = infinity<T>();
    if (few && static_cast<double>(scalar::detail::computing(x.hi)) <= -beyond)
      out.hi = infinity<T>(true);
  }
  if (node.op == Op::Exp2 && out.number && key_less(out.lo, T{})) out.lo = T{};
  if (positive) out = legal::not_negative(out);
  if (profile.flushes_outputs) out = legal::flushed(out);
  return out;
}

template <class W>
void round_result(const ProgramNode& node, const Profile& profile, double size, LegalBlock& out,
                  std::int64_t i) {
  Legal<W> x = out.get<W>(i);
  if (x.any || !x.number) return;
  with_storage(*node.rounds_to, [&]<class T>(std::type_identity<T>) {
    if constexpr (is_float_storage<T>) {
      const Legal<W> again = legal::cast<W>(narrowed<T>(node, profile, x, size));
      if (node.rounds_always)
        x = again;
      else
        x = Legal<W>::one_of({x, again});
    }
  });
  if (profile.finite_only && (x.nan || x.has_infinity())) x = Legal<W>::anything();
  out.set<W>(i, x);
}

class RoundedReducer : public LegalReducer {
 public:
  RoundedReducer(const ProgramNode& node, const Profile& profile,
                 std::unique_ptr<LegalReducer> inner)
      : node_(node), profile_(profile), inner_(std::move(inner)) {}

  std::unique_ptr<LegalReducer> clone() const override {
    return std::make_unique<RoundedReducer>(node_, profile_, inner_->clone());
  }
  void skip(std::int64_t count) override { inner_->skip(count); }
  void feed(const LegalBlock& in, std::int64_t first, std::int64_t count) override {
    inner_->feed(in, first, count);
  }
  void finish(LegalBlock& out, std::int64_t at) override {
    inner_->finish(out, at);
    with_storage(node_.dtype, [&]<class W>(std::type_identity<W>) {
      if constexpr (is_float_storage<W>) round_result<W>(node_, profile_, 0, out, at);
    });
  }

 private:
  const ProgramNode& node_;
  const Profile& profile_;
  std::unique_ptr<LegalReducer> inner_;
};

}  // namespace

// For the other operations the wide type has enough digits (Figueroa, "When is double rounding
// innocuous?", 1995).
bool rounds_twice(Op op) {
  switch (op) {
    case Op::Add:
    case Op::Sub:
    case Op::Mul:
    case Op::Div:
    case Op::Sqrt:
    case Op::Recip:
    case Op::ReduceSum:  // rounded to its accumulator by definition
      return false;
    case Op::Noop:
    case Op::Exp2:
    case Op::Log2:
    case Op::Cast:
    case Op::Sin:
    case Op::Neg:
    case Op::Max:
    case Op::Mod:
    case Op::Xor:
    case Op::ReduceMax:
    TOUCHSTONE_CASES_COMPARISON:
    TOUCHSTONE_CASES_TERNARY:
    TOUCHSTONE_CASES_NOT_COMPUTED:
      break;
  }
  return true;
}

std::optional<DType> excess_type(const Profile& profile, DType dtype) {
  if (!is_float(dtype)) return std::nullopt;
  if (profile.excess && info(dtype).digits < info(*profile.excess).digits &&
      holds(*profile.excess, dtype))
    return profile.excess;
  return has_mode(profile, dtype) ? std::optional(DType::Float32) : std::nullopt;
}

KernelProgram with_excess(KernelProgram program, const Profile& profile) {
  if (!profile.excess && profile.float8 == Float8Overflow::AsDefined) return program;
  for (std::size_t i = 0; i < program.regions.size(); ++i)
    program.regions[i] = Widener(profile, program.regions[i], i == 0).widened();
  return program;
}

void round_results(const ProgramNode& node, const Profile& profile,
                   std::span<const LegalBlock* const> operands, const Done& done, LegalBlock& out) {
  with_storage(node.dtype, [&]<class W>(std::type_identity<W>) {
    if constexpr (is_float_storage<W>)
      each_open(out, done, [&](std::int64_t i) {
        const bool alike = operands[0]->dtype() == dtype_v<W>;  // not of a CAST of integers
        const Ball of = alike ? ball_of<W>(*operands[0], i) : Ball::unknown();
        round_result<W>(node, profile, of.known() ? of.most() : 0, out, i);
      });
  });
}

std::unique_ptr<LegalReducer> rounded_reducer(const ProgramNode& node, const Profile& profile,
                                              std::unique_ptr<LegalReducer> inner) {
  return std::make_unique<RoundedReducer>(node, profile, std::move(inner));
}

bool casts_openly(const ProgramNode& node, const Profile& profile) {
  if (node.op != Op::Cast || node.bitcast || !is_float(node.dtype)) return false;
  if (has_mode(profile, node.dtype)) return true;
  const auto wide = excess_type(profile, node.dtype);
  const DType from = node.src_dtypes[0];
  return wide && (!(is_float(from) && holds(*wide, from)) ||
                  (from == DType::Float64 && itemsize(node.dtype) < itemsize(DType::Float32)));
}

}  // namespace touchstone::interp
