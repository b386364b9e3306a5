// exp(x) - 1, log(1 + x), the hyperbolic functions and their relatives, without the cancellation of
// the definitions near 0 and without their overflow. Each is one step with its own gradient.
#include <cmath>
#include <limits>
#include <numbers>

#include "touchstone/lazy/origin.h"
#include "touchstone/tensor/function.h"
#include "touchstone/tensor/mlops.h"

namespace touchstone {
namespace {

Tensor signed_as(const Tensor& magnitude, const Tensor& x) {
  return Tensor::where(x == 0, x, Tensor::where(x < 0, -magnitude, magnitude));
}

// Kahan's method: with u = exp(x) as rounded, (u - 1) / log(u) is near (exp(x) - 1) / x.
Tensor expm1_of(const Tensor& x) {
  const Tensor u = x.exp(), rest = u - 1;
  const Tensor near = Tensor::where(u == 1, x, rest * (x / u.log()));
  return Tensor::where(x.abs() < 1, near, rest);
}
Tensor log1p_of(const Tensor& x) {
  const Tensor u = x + 1, rest = u - 1;
  const Tensor near = Tensor::where(u == 1, x, u.log() * (x / rest));
  return Tensor::where(x.abs() < 1, near, u.log());
}

Tensor sinh_of(const Tensor& x) {
  const Tensor a = x.abs(), near = expm1_of(a), half = (a * 0.5).exp();
  const Tensor far = half * (half * 0.5) - half.square().reciprocal() * 0.5;
  return signed_as(Tensor::where(a < 1, (near + near / (near + 1)) * 0.5, far), x);
}
Tensor cosh_of(const Tensor& x) {
  const Tensor half = (x.abs() * 0.5).exp();
  return half * (half * 0.5) + half.square().reciprocal() * 0.5;
}

// From here on x^2 + 1 rounds to x^2.
double alone(DType dtype) { return std::ldexp(1.0, (info(dtype).digits + 1) / 2); }

Tensor asinh_of(const Tensor& x) {
  const Tensor a = x.abs(), square = a.square();
  const Tensor near = log1p_of(a + square / ((square + 1).sqrt() + 1));
  const Tensor far = a.log() + std::numbers::ln2;
  return signed_as(Tensor::where(a < alone(x.dtype()), near, far), x);
}
Tensor acosh_of(const Tensor& x) {
  const Tensor above = x - 1;
  const Tensor near = log1p_of(above + (above * (above + 2)).sqrt());
  const Tensor result = Tensor::where(x < alone(x.dtype()), near, x.log() + std::numbers::ln2);
  return Tensor::where(x < 1, std::numeric_limits<double>::quiet_NaN(), result);
}
Tensor atanh_of(const Tensor& x) {
  const Tensor a = x.abs(), within = log1p_of(a * 2 / (1 - a)) * 0.5;
  const double infinity = std::numeric_limits<double>::infinity();
  return signed_as(Tensor::where(a == 1, infinity, within), x);
}

// max(x, 0) + log(1 + exp(-|x|)).
Tensor softplus_of(const Tensor& x) {
  return Tensor::where(x < 0, Tensor::zeros_like(x), x) + log1p_of((-x.abs()).exp());
}

struct Curve {
  const char* name;
  Tensor (*value)(const Tensor& x);
  Tensor (*slope)(const Tensor& x);  // of differentiable steps
};

// Computes the value in at least float32.
class OnCurve final : public Function {
 public:
  explicit OnCurve(const Curve& curve) : curve_(curve) {}
  LazyBufferPtr forward(std::span<const LazyBufferPtr> inputs) override {
    const Tensor x(inputs[0]);
    if (itemsize(x.dtype()) >= 4) return curve_.value(x).lazy();
    return curve_.value(x.cast(DType::Float32)).cast(x.dtype()).lazy();
  }
  Gradients backward(const BackwardPass& pass) override {
    return {pass.gradient * curve_.slope(pass.inputs[0])};
  }

 private:
  const Curve& curve_;
};

Tensor on(const Curve& curve, const Tensor& x) {
  const OriginScope origin(curve.name);
  return apply<OnCurve>({mlops::real(x)}, curve);
}

constexpr Curve kExpm1 = {"expm1", expm1_of, [](const Tensor& x) { return x.exp(); }};
constexpr Curve kLog1p = {"log1p", log1p_of, [](const Tensor& x) { return (x + 1).reciprocal(); }};
constexpr Curve kSinh = {"sinh", sinh_of, [](const Tensor& x) { return x.cosh(); }};
constexpr Curve kCosh = {"cosh", cosh_of, [](const Tensor& x) { return x.sinh(); }};
constexpr Curve kAsinh = {"asinh", asinh_of, [](const Tensor& x) {
                            const Tensor small = x.detach().abs() < alone(x.dtype());
                            const Tensor square = Tensor::where(small, x, 1).square();
                            return Tensor::where(small, (square + 1).rsqrt(), x.abs().reciprocal());
                          }};
constexpr Curve kAcosh = {"acosh", acosh_of,
                          [](const Tensor& x) { return ((x - 1) * (x + 1)).rsqrt(); }};
constexpr Curve kAtanh = {"atanh", atanh_of,
                          [](const Tensor& x) { return ((1 - x) * (x + 1)).reciprocal(); }};
constexpr Curve kSoftplus = {"softplus", softplus_of, [](const Tensor& x) { return x.sigmoid(); }};

}  // namespace

Tensor Tensor::expm1() const { return on(kExpm1, *this); }
Tensor Tensor::log1p() const { return on(kLog1p, *this); }
Tensor Tensor::sinh() const { return on(kSinh, *this); }
Tensor Tensor::cosh() const { return on(kCosh, *this); }
Tensor Tensor::asinh() const { return on(kAsinh, *this); }
Tensor Tensor::acosh() const { return on(kAcosh, *this); }
Tensor Tensor::atanh() const { return on(kAtanh, *this); }

Tensor Tensor::softplus() const { return on(kSoftplus, *this); }

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

}  // namespace touchstone
