// Elementwise functions built from the steps of mlops.h.
#include <cmath>
#include <limits>
#include <numbers>

#include "touchstone/lazy/origin.h"
#include "touchstone/tensor/function.h"
#include "touchstone/tensor/mlops.h"
#include "touchstone/tensor/tensor.h"

namespace touchstone {
namespace {

// A function without a gradient; integers are kept.
Tensor whole(NamedFunction function, const Tensor& x) {
  const OriginScope origin(info(function).name.data());
  return is_float(x.dtype()) ? Tensor(LazyBuffer::call(function, {x.lazy()})) : x.detach();
}

// x^n for whole n >= 0, wrapping as the type does.
Tensor whole_power(const Tensor& x, std::uint64_t n) {
  if (n == 0) return Tensor::full(x.shape(), 1, {x.dtype(), x.device()});
  if (n == 1) return x;
  const Tensor half = whole_power(x, n / 2);
  return n % 2 == 0 ? half * half : half * half * x;
}

Tensor whole_power(const Tensor& x, const Scalar& n) {
  if (n.to_double() < 0)
    throw DTypeError(
        fmt::format("pow: {} to the power {} is no whole number; cast the base to a float",
                    name(x.dtype()), n.str()));
  return whole_power(x, n.bits());
}

// The same for each element's exponent. 1 / x^-n without its fraction where n < 0: 0 unless x is 1
// or -1 (and for x = 0).
Tensor whole_power(const Tensor& x, const Tensor& n) {
  Tensor base = x, rest = Tensor::where(n < 0, -n, n), power = Tensor::full_like(x, 1);
  const int bits = static_cast<int>(8 * itemsize(x.dtype()));
  for (int i = 0; i < bits; ++i) {
    const Tensor half = rest / 2;
    power = power * Tensor::where(rest == half * 2, 1, base);
    if (i + 1 < bits) base = base * base;
    rest = half;
  }
  return is_unsigned(x.dtype())
             ? power
             : Tensor::where(n < 0, Tensor::where(maximum(x == 1, x == -1), power, 0), power);
}

// x^y with derivatives y x^(y-1) and x^y log(x), defined as their limit 0 where undefined: the
// first at y = 0, the second at x = 0 and y >= 0.
class Pow final : public Function {
 public:
  LazyBufferPtr forward(std::span<const LazyBufferPtr> inputs) override {
    return LazyBuffer::call(NamedFunction::Pow, {inputs[0], inputs[1]});
  }
  Gradients backward(const BackwardPass& pass) override {
    const Tensor &x = pass.inputs[0], &y = pass.inputs[1], &g = pass.gradient;
    const Tensor none = Tensor::zeros_like(g);
    Gradients made(2);
    if (wants(0)) made[0] = Tensor::where(y == 0, none, g * (y * pow(x, y - 1.0)));
    if (wants(1)) made[1] = Tensor::where(minimum(x == 0, y >= 0), none, g * (pass.out * x.log()));
    return made;
  }
};

}  // namespace

Tensor Tensor::trunc() const { return whole(NamedFunction::Trunc, detach()); }
Tensor Tensor::floor() const { return whole(NamedFunction::Floor, detach()); }
Tensor Tensor::ceil() const { return whole(NamedFunction::Ceil, detach()); }
Tensor Tensor::round() const { return whole(NamedFunction::Round, detach()); }

Tensor Tensor::sign() const {
  const OriginScope origin("sign");
  const Tensor x = detach();
  if (is_bool(dtype())) return x;
  const Tensor positive = (x > 0).cast(dtype());
  if (is_unsigned(dtype())) return positive;
  const Tensor result = positive - (x < 0).cast(dtype());
  return is_float(dtype()) ? where(x.isnan(), x, result) : result;
}

Tensor Tensor::isnan() const {
  const OriginScope origin("isnan");
  return is_float(dtype()) ? detach() != detach() : zeros(shape(), {DType::Bool, device()});
}
Tensor Tensor::isinf() const {
  const OriginScope origin("isinf");
  if (!info(dtype()).infinities) return zeros(shape(), {DType::Bool, device()});
  return detach().abs() == std::numeric_limits<double>::infinity();
}
Tensor Tensor::isfinite() const {
  const OriginScope origin("isfinite");
  if (!is_float(dtype())) return full(shape(), true, {DType::Bool, device()});
  if (!info(dtype()).infinities) return detach() == detach();
  return detach().abs() < std::numeric_limits<double>::infinity();
}

Tensor pow(const Tensor& a, Number b) {
  const OriginScope origin("pow");
  const DType dtype = b.dtype_with(a.dtype());
  if (!is_float(dtype))
    return whole_power(a.cast(is_bool(dtype) ? DType::Int8 : dtype), b.as(DType::Int64));
  return pow(a, Tensor::full(a.shape(), b, {dtype, a.device()}));
}
Tensor pow(const Tensor& a, const Tensor& b) {
  const OriginScope origin("pow");
  const DType promoted = promote(a.dtype(), b.dtype());
  const DType dtype = is_bool(promoted) ? DType::Int8 : promoted;
  const Shape shape = broadcast_shape(a.shape(), b.shape());
  const Tensor x = a.cast(dtype).expand(shape), y = b.cast(dtype).expand(shape);
  const std::optional<Scalar> exponent = y.lazy()->constant_value();
  if (!is_float(dtype)) return exponent ? whole_power(x, *exponent) : whole_power(x, y);
  // Products and quotients are rounded once, as x^y is.
  const double n = exponent && !y.requires_grad() ? exponent->to_double() : 0.5;
  if (n == 1 || n == 2) return whole_power(x, static_cast<std::uint64_t>(n));
  return n == -1 ? x.reciprocal() : apply<Pow>({x, y});
}

Tensor Tensor::clamp(Number low, Number high) const {
  const OriginScope origin("clamp");
  return minimum(maximum(*this, low), high);
}

Tensor Tensor::mish() const {
  const OriginScope origin("mish");
  return mlops::real(*this) * softplus().tanh();
}
Tensor Tensor::log_sigmoid() const {
  const OriginScope origin("log_sigmoid");
  return -(-mlops::real(*this)).softplus();
}
Tensor Tensor::softsign() const {
  const OriginScope origin("softsign");
  return mlops::real(*this) / (mlops::real(*this).abs() + 1.0);
}

Tensor Tensor::elu(double alpha) const {
  const OriginScope origin("elu");
  const Tensor x = mlops::real(*this);
  return where(x < 0, minimum(x, 0).expm1() * alpha, x);
}
Tensor Tensor::celu(double alpha) const {
  const OriginScope origin("celu");
  if (!(alpha > 0 || alpha < 0))
    throw Error(fmt::format("celu: alpha {}; expected a number that is not 0", alpha));
  const Tensor x = mlops::real(*this);
  return where(x < 0, (minimum(x, 0) / alpha).expm1() * alpha, x);
}
Tensor Tensor::quick_gelu() const {
  const OriginScope origin("quick_gelu");
  const Tensor x = mlops::real(*this);
  return x * (x * 1.702).sigmoid();
}
Tensor Tensor::selu() const {
  const OriginScope origin("selu");
  constexpr double kAlpha = 1.6732632423543772848, kScale = 1.0507009873554804934;
  return elu(kAlpha) * kScale;
}
Tensor Tensor::leaky_relu(double slope) const {
  const OriginScope origin("leaky_relu");
  const Tensor x = mlops::real(*this);
  return where(x < 0, x * slope, x);
}
Tensor Tensor::relu6() const {
  const OriginScope origin("relu6");
  return clamp(0, 6);
}
Tensor Tensor::hardtanh(double low, double high) const {
  const OriginScope origin("hardtanh");
  return mlops::real(*this).clamp(low, high);
}
Tensor Tensor::hardsigmoid() const {
  const OriginScope origin("hardsigmoid");
  return (mlops::real(*this) + 3.0).relu6() / 6.0;
}
Tensor Tensor::hardswish() const {
  const OriginScope origin("hardswish");
  return mlops::real(*this) * hardsigmoid();
}

}  // namespace touchstone
