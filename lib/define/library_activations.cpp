// Activations.
#include "touchstone/define/parts.h"

namespace touchstone::define {
namespace {

template <class F>
Array in_float32(std::string_view what, const Array& x, const F& f) {
  require_float(x, what);
  return is_narrow(x) ? narrowed(f(wide(x)), x.dtype()) : f(x);
}
Array if_positive(const Array& x, const Array& yes, const Array& no) {
  return where(less(Array::number("0"), x), yes, no);
}
Array expm1(const Array& x) { return Array::call(NamedFunction::Expm1, {x}); }
Array from_0_to_6(const Array& x) { return clamp(x, Array::number("0"), Array::number("6")); }

}  // namespace

Array clamp(const Array& x, const std::optional<Array>& low, const std::optional<Array>& high) {
  const Array raised = low ? maximum(x, *low) : x;
  return high ? minimum(raised, *high) : raised;
}
Array leaky_relu(const Array& x, const Array& slope) {
  return in_float32("leaky_relu", x,
                    [&](const Array& v) { return if_positive(v, v, v * wide(slope)); });
}
Array prelu(const Array& x, const Array& slope) {
  if (slope.rank() != 1 || slope.size(0) == 1 || x.rank() < 2) return leaky_relu(x, slope);
  if (slope.size(0) != x.size(1))
    throw ShapeError(
        fmt::format("prelu: the slope {} must have one number or one for each of the "
                    "{} channels, axis 1 of {}",
                    str(slope.shape()), x.size(1), str(x.shape())));
  Sizes beside(x.shape().size(), 1);
  beside[1] = x.size(1);
  return leaky_relu(x, slope.reshape(beside));
}
Array elu(const Array& x, const Array& alpha) {
  return in_float32("elu", x, [&](const Array& v) { return if_positive(v, v, alpha * expm1(v)); });
}
Array celu(const Array& x, const Array& alpha) {
  return in_float32("celu", x,
                    [&](const Array& v) { return if_positive(v, v, alpha * expm1(v / alpha)); });
}
Array selu(const Array& x) {
  return in_float32("selu", x, [](const Array& v) {
    const Array scale = Array::number("1.0507009873554805");
    return scale * if_positive(v, v, Array::number("1.6732632423543772") * expm1(v));
  });
}
namespace {
// hardsigmoid(x), times x or not.
Array hard_gate(std::string_view what, const Array& x, bool multiplies, const Way& way) {
  return in_float32(what, x, [&](const Array& v) {
    if (!way.gate_first) {
      const Array six = from_0_to_6(v + 3);
      return over(multiplies ? v * six : six, Array(6), way.reciprocal);
    }
    const Array gate = clamp(v * Array(1.0 / 6) + 0.5, Array::number("0"), Array::number("1"));
    return multiplies ? v * gate : gate;
  });
}
}  // namespace
Array hardsigmoid(const Array& x, const Way& way) {
  return hard_gate("hardsigmoid", x, false, way);
}
Array hardswish(const Array& x, const Way& way) { return hard_gate("hardswish", x, true, way); }
Array mish(const Array& x) {
  return in_float32("mish", x, [](const Array& v) {
    const Array log1p_exp = Array::call(NamedFunction::Softplus, {v});
    return v * Array::call(NamedFunction::Tanh, {log1p_exp});
  });
}
Array softsign(const Array& x) {
  return in_float32("softsign", x, [](const Array& v) { return v / (1 + abs(v)); });
}
Array logsigmoid(const Array& x) {
  require_float(x, "logsigmoid");
  return -Array::call(NamedFunction::Softplus, {-x});
}
Array threshold(const Array& x, const Array& threshold, const Array& value) {
  return where(less(x, threshold), value, where(equal(x, threshold), value, x));
}
Array gated(NamedFunction f, const Array& first, const std::optional<Array>& second, int axis,
            bool second_gates) {
  if (!second) {
    const auto at = static_cast<std::size_t>(axis_of(first, axis));
    const std::int64_t half = first.shape()[at] / 2;
    if (first.shape()[at] % 2 != 0)
      throw ShapeError(fmt::format("axis {} of {} has no halves; its size must be even", axis,
                                   str(first.shape())));
    Pairs left = whole_ranges(first.shape());
    Pairs right = left;
    left[at].second = right[at].first = half;
    return gated(f, first.shrink(left), first.shrink(right), axis, second_gates);
  }
  return in_float32(info(f).name, first, [&](const Array& v) {
    const Array other = wide(*second);
    return second_gates ? v * Array::call(f, {other}) : Array::call(f, {v}) * other;
  });
}

}  // namespace touchstone::define
