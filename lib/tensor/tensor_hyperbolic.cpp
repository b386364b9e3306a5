// Named functions that are one step each, with a gradient of their own.
#include <cmath>

#include "touchstone/lazy/origin.h"
#include "touchstone/tensor/function.h"
#include "touchstone/tensor/mlops.h"

namespace touchstone {
namespace {

// From here on x^2 + 1 rounds to x^2.
double alone(DType dtype) { return std::ldexp(1.0, (info(dtype).digits + 1) / 2); }

struct Curve {
  NamedFunction function;
  Tensor (*slope)(const Tensor& x);  // of differentiable steps
};

class OnCurve final : public Function {
 public:
  explicit OnCurve(const Curve& curve) : curve_(curve) {}
  LazyBufferPtr forward(std::span<const LazyBufferPtr> inputs) override {
    return mlops::formula(curve_.function, inputs[0]);
  }
  Gradients backward(const BackwardPass& pass) override {
    return {pass.gradient * curve_.slope(pass.inputs[0])};
  }

 private:
  const Curve& curve_;
};

Tensor on(const Curve& curve, const Tensor& x) {
  const OriginScope origin(info(curve.function).name.data());
  return apply<OnCurve>({mlops::real(x)}, curve);
}

constexpr Curve kExpm1 = {NamedFunction::Expm1, [](const Tensor& x) { return x.exp(); }};
constexpr Curve kLog1p = {NamedFunction::Log1p,
                          [](const Tensor& x) { return (x + 1).reciprocal(); }};
constexpr Curve kCos = {NamedFunction::Cos, [](const Tensor& x) { return -x.sin(); }};
constexpr Curve kSinh = {NamedFunction::Sinh, [](const Tensor& x) { return x.cosh(); }};
constexpr Curve kCosh = {NamedFunction::Cosh, [](const Tensor& x) { return x.sinh(); }};
constexpr Curve kAsinh = {NamedFunction::Asinh, [](const Tensor& x) {
                            const Tensor small = x.detach().abs() < alone(x.dtype());
                            const Tensor square = Tensor::where(small, x, 1).square();
                            return Tensor::where(small, (square + 1).rsqrt(), x.abs().reciprocal());
                          }};
constexpr Curve kAcosh = {NamedFunction::Acosh,
                          [](const Tensor& x) { return ((x - 1) * (x + 1)).rsqrt(); }};
constexpr Curve kAtanh = {NamedFunction::Atanh,
                          [](const Tensor& x) { return ((1 - x) * (x + 1)).reciprocal(); }};
constexpr Curve kSoftplus = {NamedFunction::Softplus, [](const Tensor& x) { return x.sigmoid(); }};

}  // namespace

Tensor Tensor::expm1() const { return on(kExpm1, *this); }
Tensor Tensor::log1p() const { return on(kLog1p, *this); }
Tensor Tensor::cos() const { return on(kCos, *this); }
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
