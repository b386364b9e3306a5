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
  return is_float(x.dtype()) ? Tensor(mlops::formula(function, x.lazy())) : x.detach();
}

// IEEE 754's pow for equal shapes and types, by 2^(y log2 |x|).
Tensor power(const Tensor& base, const Tensor& exponent) {
  const Tensor one = Tensor::ones_like(base);
  // 0, infinities and NaN cannot go through the logarithm: use base 1 there.
  const Tensor plain = minimum(base != 0, base.isfinite());
  const Tensor safe = Tensor::where(plain, base, one).abs();
  const Tensor even = minimum(safe == 1, -exponent.isfinite());  // 1, not 0 * inf
  const Tensor magnitude = Tensor::where(even, one, (safe.log2() * exponent).exp2());
  const Tensor edge = base.abs();
  const Tensor& at = exponent;
  const Tensor of_edge = Tensor::where(
      at > 0, edge, Tensor::where(at < 0, edge.reciprocal(), Tensor::where(at == 0, one, at)));
  const Tensor positive = Tensor::where(plain, magnitude, of_edge);
  const Tensor integer = exponent.trunc(), odd = (integer * 0.5).trunc() * 2 != integer;
  const Tensor none = Tensor::full_like(base, std::numeric_limits<double>::quiet_NaN());
  const Tensor of_fraction = Tensor::where(base.isfinite(), none, positive);
  const Tensor negative =
      Tensor::where(integer == exponent, Tensor::where(odd, -positive, positive), of_fraction);
  return Tensor::where(base < 0, negative, positive);
}

// x^y with derivatives y x^(y-1) and x^y log(x), defined as their limit 0 where undefined: the
// first at y = 0, the second at x = 0 and y >= 0.
class Pow final : public Function {
 public:
  LazyBufferPtr forward(std::span<const LazyBufferPtr> inputs) override {
    return power(Tensor(inputs[0]), Tensor(inputs[1])).lazy();
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

Tensor Tensor::pow(double exponent) const {
  const OriginScope origin("pow");
  if (exponent == std::floor(exponent) && std::abs(exponent) < 1024)
    return (is_float(dtype()) ? *this : mlops::real(*this)).pow(static_cast<int>(exponent));
  const Tensor x = mlops::real(*this);
  return touchstone::pow(x, full_like(x, exponent));
}

Tensor pow(const Tensor& a, const Tensor& b) {
  const OriginScope origin("pow");
  const DType promoted = promote(a.dtype(), b.dtype());
  const DType dtype = is_float(promoted) ? promoted : DType::Float32;
  const Shape shape = broadcast_shape(a.shape(), b.shape());
  return apply<Pow>({a.cast(dtype).expand(shape), b.cast(dtype).expand(shape)});
}

Tensor Tensor::clamp(Number low, Number high) const {
  const OriginScope origin("clamp");
  return minimum(maximum(*this, low), high);
}

Tensor Tensor::gelu(GeluForm form) const {
  const OriginScope origin("gelu");
  const Tensor x = mlops::real(*this);
  if (form == GeluForm::Erf) return x * 0.5 * ((x * std::sqrt(0.5)).erf() + 1.0);
  // (tanh(u) + 1) / 2 = sigmoid(2u), which stays accurate below 0.
  return x * (x * (2 * std::sqrt(2 / std::numbers::pi)) * (x * x * 0.044715 + 1.0)).sigmoid();
}

Tensor Tensor::silu() const {
  const OriginScope origin("silu");
  return mlops::real(*this) * sigmoid();
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
