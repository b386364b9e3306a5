#include "touchstone/lazy/fold.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace touchstone::lazy {
namespace {

std::uint64_t sign_bit(DType d) { return std::uint64_t{1} << (8 * itemsize(d) - 1); }

Scalar greatest_of(DType d) {
  if (is_float(d)) return Scalar::parse(d, "inf");
  if (is_bool(d)) return Scalar::of(true);
  return Scalar::from_bits(d, info(d).kind == DTypeKind::Signed ? sign_bit(d) - 1 : ~0ULL);
}

// Two's complement; no division.
std::optional<Scalar> fold_integers(Op op, DType d, std::span<const Scalar> x) {
  const std::uint64_t a = x[0].bits(), b = x.size() > 1 ? x[1].bits() : 0;
  // Signed values in the order of unsigned ones.
  const std::uint64_t bias = info(d).kind == DTypeKind::Signed ? sign_bit(d) : 0;
  switch (op) {
    case Op::Neg:
      return Scalar::from_bits(d, std::uint64_t{0} - a);
    case Op::Add:
      return Scalar::from_bits(d, a + b);
    case Op::Sub:
      return Scalar::from_bits(d, a - b);
    case Op::Mul:
      return Scalar::from_bits(d, a * b);
    case Op::Xor:
      return Scalar::from_bits(d, a ^ b);
    case Op::Max:
      return (a ^ bias) < (b ^ bias) ? x[1] : x[0];
    case Op::CmpLt:
      return Scalar::of((a ^ bias) < (b ^ bias));
    case Op::CmpEq:
      return Scalar::of(a == b);
    case Op::Noop:
    case Op::Cast:
    case Op::Div:
    case Op::Mod:
    TOUCHSTONE_CASES_FUNCTION:
    TOUCHSTONE_CASES_TERNARY:
    TOUCHSTONE_CASES_REDUCE:
    TOUCHSTONE_CASES_NOT_COMPUTED:
      break;
  }
  return std::nullopt;
}

std::optional<Scalar> fold_bools(Op op, std::span<const Scalar> x) {
  const bool a = x[0].bits() != 0, b = x.size() > 1 && x[1].bits() != 0;
  switch (op) {
    case Op::Neg:
      return Scalar::of(!a);
    case Op::Add:
    case Op::Max:
      return Scalar::of(a || b);
    case Op::Mul:
      return Scalar::of(a && b);
    case Op::Xor:
      return Scalar::of(a != b);
    case Op::CmpLt:
      return Scalar::of(!a && b);
    case Op::CmpEq:
      return Scalar::of(a == b);
    case Op::Noop:
    case Op::Cast:
    case Op::Sub:
    case Op::Div:
    case Op::Mod:
    TOUCHSTONE_CASES_FUNCTION:
    TOUCHSTONE_CASES_TERNARY:
    TOUCHSTONE_CASES_REDUCE:
    TOUCHSTONE_CASES_NOT_COMPUTED:
      break;
  }
  return std::nullopt;
}

// In double, then rounded once more: with 53 >= 2p + 2 digits the first rounding cannot show.
std::optional<Scalar> fold_floats(Op op, DType d, std::span<const Scalar> x) {
  if (op == Op::Neg) return Scalar::from_bits(d, x[0].bits() ^ sign_bit(d));
  if (itemsize(d) == 1) return std::nullopt;
  const double a = x[0].to_double(), b = x.size() > 1 ? x[1].to_double() : 0;
  const auto rounded = [&](double value) -> std::optional<Scalar> {
    if (std::isnan(value)) return std::nullopt;
    return Scalar::from_double(d, value);
  };
  switch (op) {
    case Op::Add:
      return rounded(a + b);
    case Op::Sub:
      return rounded(a - b);
    case Op::Mul:
      return rounded(a * b);
    case Op::Div:
      return rounded(a / b);
    case Op::Recip:
      return rounded(1 / a);
    case Op::Sqrt:
      return rounded(std::sqrt(a));
    case Op::CmpLt:
      return Scalar::of(a < b);
    case Op::CmpEq:
      return Scalar::of(a == b);
    case Op::Max:
      if (std::isnan(a) || std::isnan(b)) return std::nullopt;
      if (a == b) return std::signbit(a) ? x[1] : x[0];  // +0 above -0
      return a < b ? x[1] : x[0];
    case Op::Noop:
    case Op::Exp2:
    case Op::Log2:
    case Op::Cast:
    case Op::Sin:
    case Op::Neg:
    case Op::Mod:
    case Op::Xor:
    TOUCHSTONE_CASES_TERNARY:
    TOUCHSTONE_CASES_REDUCE:
    TOUCHSTONE_CASES_NOT_COMPUTED:
      break;
  }
  return std::nullopt;
}

LazyBufferPtr filled(const Scalar& value, const LazyBufferPtr& like) {
  return LazyBuffer::constant(value, like->shape(), like->device());
}

bool is(const LazyBufferPtr& b, const Scalar& value) { return b->constant_value() == value; }

// x op y where y is what op leaves every x with, for one order of the two.
LazyBufferPtr with_constant(Op op, const LazyBufferPtr& x, const LazyBufferPtr& y) {
  const DType d = x->dtype();
  const Scalar one = Scalar::from_int(d, 1), zero = Scalar::from_int(d, 0);
  switch (op) {
    case Op::Mul:
      if (is(y, one)) return x;
      return !is_float(d) && is(y, zero) ? filled(zero, x) : nullptr;
    case Op::Add:
      // -0.0 is what leaves every float as it is under +; 0.0 turns -0.0 into 0.0.
      if (is(y, is_float(d) ? Scalar::from_double(d, -0.0) : zero)) return x;
      return is_bool(d) && is(y, one) ? filled(one, x) : nullptr;
    case Op::Max:
      if (itemsize(d) > 1 || !is_float(d)) {
        if (is(y, least_of(d))) return x;
        if (!is_float(d) && is(y, greatest_of(d))) return filled(greatest_of(d), x);
      }
      return nullptr;
    case Op::Xor:
      return is(y, zero) ? x : nullptr;
    case Op::Noop:
    case Op::Cast:
    case Op::Neg:
    case Op::Sub:
    case Op::Div:
    case Op::Mod:
    TOUCHSTONE_CASES_FUNCTION:
    TOUCHSTONE_CASES_COMPARISON:
    TOUCHSTONE_CASES_TERNARY:
    TOUCHSTONE_CASES_REDUCE:
    TOUCHSTONE_CASES_NOT_COMPUTED:
      break;
  }
  return nullptr;
}

LazyBufferPtr with_itself(Op op, const LazyBufferPtr& x) {
  const DType d = x->dtype();
  switch (op) {
    case Op::Max:
      return x;
    case Op::CmpLt:
      return filled(Scalar::of(false), x);
    case Op::CmpEq:
      return is_float(d) ? nullptr : filled(Scalar::of(true), x);
    case Op::Xor:
      return filled(Scalar::from_int(d, 0), x);
    case Op::Sub:
      return is_integer(d) ? filled(Scalar::from_int(d, 0), x) : nullptr;
    case Op::Add:
    case Op::Mul:
      return is_bool(d) ? x : nullptr;
    case Op::Noop:
    case Op::Cast:
    case Op::Neg:
    case Op::Div:
    case Op::Mod:
    TOUCHSTONE_CASES_FUNCTION:
    TOUCHSTONE_CASES_TERNARY:
    TOUCHSTONE_CASES_REDUCE:
    TOUCHSTONE_CASES_NOT_COMPUTED:
      break;
  }
  return nullptr;
}

LazyBufferPtr of_two(Op op, const LazyBufferPtr& x, const LazyBufferPtr& y) {
  if (x == y)
    if (LazyBufferPtr same = with_itself(op, x)) return same;
  if (LazyBufferPtr same = with_constant(op, x, y)) return same;
  if (info(op).commutes)
    if (LazyBufferPtr same = with_constant(op, y, x)) return same;
  const DType d = x->dtype();
  const Scalar one = Scalar::from_int(d, 1), zero = Scalar::from_int(d, 0);
  if (op == Op::Div && is(y, one)) return x;
  if (op == Op::Mod && is_integer(d) && is(y, one)) return filled(zero, x);
  if (op == Op::Sub && !is_bool(d) && is(y, zero)) return x;
  if (op == Op::CmpLt && itemsize(d) + !is_float(d) > 1 &&
      (is(y, least_of(d)) || is(x, greatest_of(d))))
    return filled(Scalar::of(false), x);
  return nullptr;
}

}  // namespace

Scalar least_of(DType d) {
  if (is_float(d)) return Scalar::parse(d, "-inf");
  return info(d).kind == DTypeKind::Signed ? Scalar::from_bits(d, sign_bit(d))
                                           : Scalar::from_int(d, 0);
}

std::optional<Scalar> fold(Op op, std::span<const Scalar> x) {
  if (op == Op::Noop) return x[0];
  if (op == Op::Where) return x[0].bits() != 0 ? x[1] : x[2];
  if (info(op).arity > 2) return std::nullopt;
  const DType d = x[0].dtype();
  return is_bool(d)    ? fold_bools(op, x)
         : is_float(d) ? fold_floats(op, d, x)
                       : fold_integers(op, d, x);
}

LazyBufferPtr folded(Op op, std::span<const LazyBufferPtr> srcs) {
  const LazyBufferPtr& x = srcs[0];
  if (op == Op::Noop) return x;
  if (op == Op::Where) {
    if (srcs[1] == srcs[2]) return srcs[1];
    if (const auto condition = x->constant_value())
      return condition->bits() != 0 ? srcs[1] : srcs[2];
  }
  if (op == Op::Neg && x->is_base() && !x->realized() && x->op() == Op::Neg) return x->srcs()[0];
  if (srcs.size() == 2)
    if (LazyBufferPtr same = of_two(op, x, srcs[1])) return same;
  std::vector<Scalar> values;
  for (const LazyBufferPtr& s : srcs) {
    const auto value = s->constant_value();
    if (!value) return nullptr;
    values.push_back(*value);
  }
  const auto value = fold(op, values);
  return value ? filled(*value, x) : nullptr;
}

}  // namespace touchstone::lazy
