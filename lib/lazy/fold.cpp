#include "touchstone/lazy/fold.h"

#include <vector>

#include "touchstone/ops/op_cases.h"

namespace touchstone::lazy {
namespace {

std::uint64_t sign_bit(DType d) { return std::uint64_t{1} << (8 * itemsize(d) - 1); }

Scalar greatest_of(DType d) {
  if (is_float(d)) return Scalar::parse(d, "inf");
  if (is_bool(d)) return Scalar::of(true);
  return Scalar::from_bits(d, info(d).kind == DTypeKind::Signed ? sign_bit(d) - 1 : ~0ULL);
}

LazyBufferPtr filled(const Scalar& value, const LazyBufferPtr& like) {
  return LazyBuffer::constant(value, like->shape(), like->device());
}

bool is(const LazyBufferPtr& b, const Scalar& value) { return b->constant_value() == value; }

// Folds x op y if y is a right identity or absorber of op.
LazyBufferPtr with_constant(Op op, const LazyBufferPtr& x, const LazyBufferPtr& y) {
  const DType d = x->dtype();
  const Scalar one = Scalar::from_int(d, 1), zero = Scalar::from_int(d, 0);
  switch (op) {
    case Op::Mul:
      if (is(y, one)) return x;
      return !is_float(d) && is(y, zero) ? filled(zero, x) : nullptr;
    case Op::Add:
      // For floats the identity of + is -0.0, as -0.0 + 0.0 is 0.0.
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
    TOUCHSTONE_CASES_BEYOND_BINARY:
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
    TOUCHSTONE_CASES_BEYOND_BINARY:
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

LazyBufferPtr folded(Op op, std::span<const LazyBufferPtr> srcs) {
  const LazyBufferPtr& x = srcs[0];
  if (op == Op::Noop) return x;
  if (op == Op::Where) {
    if (srcs[1] == srcs[2]) return srcs[1];
    if (const auto condition = x->constant_value())
      return condition->bits() != 0 ? srcs[1] : srcs[2];
  }
  if (op == Op::Neg && x->is_base() && !x->is_realized() && x->op() == Op::Neg) return x->srcs()[0];
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
