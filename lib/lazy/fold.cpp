#include "touchstone/lazy/fold.h"

#include <vector>

namespace touchstone::lazy {
namespace {

LazyBufferPtr filled(const Scalar& value, const LazyBufferPtr& like) {
  return LazyBuffer::constant(value, like->shape(), like->device());
}

LazyBufferPtr by_law(Op op, const LazyBufferPtr& x, const LazyBufferPtr& y) {
  const DType d = x->dtype();
  const auto a = x->constant_value(), b = y->constant_value();
  if (x != y && !a && !b) return nullptr;
  for (const Law& law : laws()) {
    if (law.op != op || !law.of(d)) continue;
    const bool same = law.second == Law::Second::Same;
    const bool second = !same && !law.turned && b == law.constant(d);
    const bool first = !same && (law.turned || info(op).commutes) && a == law.constant(d);
    if (!(same ? x == y : first || second)) continue;
    if (law.gives == Law::Gives::First) return second || same ? x : y;
    if (law.gives == Law::Gives::Second) return second ? y : x;
    return filled(law.result(d), x);
  }
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
    if (LazyBufferPtr same = by_law(op, x, srcs[1])) return same;
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
