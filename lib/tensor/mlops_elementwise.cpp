#include <cmath>
#include <numbers>

#include "touchstone/tensor/mlops.h"

namespace touchstone {

namespace mlops {
namespace {

using P = const LazyBufferPtr&;
using T = const Tensor&;

LazyBufferPtr like(P x, double value) {
  return LazyBuffer::constant(Scalar::from_double(x->dtype(), value), x->shape(), x->device());
}
LazyBufferPtr add(P a, P b) { return LazyBuffer::e(Op::Add, {a, b}); }
LazyBufferPtr sub(P a, P b) { return LazyBuffer::e(Op::Sub, {a, b}); }
LazyBufferPtr mul(P a, P b) { return LazyBuffer::e(Op::Mul, {a, b}); }
LazyBufferPtr neg(P a) { return LazyBuffer::e(Op::Neg, {a}); }

// The same as differentiable steps, for gradients.
Tensor like(T x, double value) { return Tensor(like(x.lazy(), value)); }
Tensor add(T a, T b) { return apply(Binary::Add, a, b); }
Tensor sub(T a, T b) { return apply(Binary::Sub, a, b); }
Tensor mul(T a, T b) { return apply(Binary::Mul, a, b); }
Tensor div(T a, T b) { return apply(Binary::Div, a, b); }
Tensor neg(T a) { return apply(Unary::Neg, a); }
Tensor less(T a, T b) {
  return Tensor(LazyBuffer::e(Op::CmpLt, {a.lazy(), b.lazy()})->cast(a.dtype()));
}
Tensor positive(T x) { return Tensor(LazyBuffer::e(Op::CmpLt, {like(x.lazy(), 0), x.lazy()})); }
Tensor where(T condition, T yes, T no) { return touchstone::apply<Where>({condition, yes, no}); }
Tensor equal(T a, T b) {
  return Tensor(LazyBuffer::e(Op::CmpEq, {a.lazy(), b.lazy()})->cast(a.dtype()));
}

constexpr double kLn2 = std::numbers::ln2;

template <NamedFunction F, class... Operands>
LazyBufferPtr call(const Operands&... x) {
  return LazyBuffer::call(F, {x...});
}

// From here on x^2 + 1 rounds to x^2.
double alone(DType dtype) { return std::ldexp(1.0, (info(dtype).digits + 1) / 2); }

// x s(x) with s = sigmoid(w(x)) has the derivative s + x s (1 - s) w'(x).
Tensor slope_of_product(T g, T x, T s, T slope) { return mul(g, s + x * s * (1.0 - s) * slope); }
// From `most` on, the derivative is 0 or 1 in every type; x^2 could overflow, infinity times 0 be
// NaN.
Tensor near_zero(T x, int most) { return x.clamp(-most, most); }

// Where both are 0, 1, so that the gradients there are 0.
Tensor radius(T x, T y) {
  const Tensor r = hypot(x, y);
  return Tensor::where(r == 0, 1, r);
}

// The share of x in the gradient of max(x, y): 1 where x is not smaller or either is NaN; 1/2 at a
// tie.
Tensor share(T x, T y) { return sub(like(x, 1), add(less(x, y), mul(equal(x, y), like(x, 0.5)))); }

// The derivative of digamma: by the recurrence to z = y + 8, where an asymptotic series holds; left
// of 1/2 by the reflection.
Tensor trigamma(T x) {
  const Tensor left = x < 0.5, y = Tensor::where(left, 1 - x, x);
  const Tensor z = (y + 8).reciprocal(), s = z * z;
  Tensor sum = z + s * 0.5 + z * s * (1.0 / 6 - s * (1.0 / 30 - s * (1.0 / 42 - s * (1.0 / 30))));
  for (int i = 0; i < 8; ++i) sum = sum + (y + i).reciprocal().square();
  const Tensor sine = ((x - x.round()) * std::numbers::pi).sin();
  return Tensor::where(left, (sine.reciprocal() * std::numbers::pi).square() - sum, sum);
}

// clang-format off
constexpr std::array<UnaryRule, 36> kUnary = {{
    {Unary::Neg,     "neg",     [](P x) { return neg(x); },
     [](T g, T, T) { return neg(g); }},
    {Unary::Sin,     "sin",     [](P x) { return LazyBuffer::e(Op::Sin, {x}); },
     [](T g, T x, T) { return mul(x.cos(), g); }},
    {Unary::Relu,    "relu",    [](P x) { return LazyBuffer::e(Op::Max, {x, like(x, 0)}); },
     [](T g, T, T out) { return where(positive(out), g, Tensor(out.lazy())); }},  // 0 or NaN
    {Unary::Log2,    "log2",    [](P x) { return LazyBuffer::e(Op::Log2, {x}); },
     [](T g, T x, T) { return div(g, mul(x, like(x, kLn2))); }},
    {Unary::Log,     "log",     call<NamedFunction::Log>,
     [](T g, T x, T) { return div(g, x); }},
    {Unary::Exp2,    "exp2",    [](P x) { return LazyBuffer::e(Op::Exp2, {x}); },
     [](T g, T, T out) { return mul(mul(out, like(out, kLn2)), g); }},
    {Unary::Exp,     "exp",     call<NamedFunction::Exp>,
     [](T g, T, T out) { return mul(out, g); }},
    {Unary::Sqrt,    "sqrt",    [](P x) { return LazyBuffer::e(Op::Sqrt, {x}); },
     [](T g, T, T out) { return div(g, mul(out, like(out, 2))); }},
    {Unary::Rsqrt,   "rsqrt", call<NamedFunction::Rsqrt>,
     [](T g, T, T out) { return mul(mul(g, like(out, -0.5)), mul(out, mul(out, out))); }},
    {Unary::Recip,   "recip",   [](P x) { return LazyBuffer::e(Op::Recip, {x}); },
     [](T g, T, T out) { return mul(neg(g), mul(out, out)); }},
    {Unary::Sigmoid, "sigmoid", call<NamedFunction::Sigmoid>,
     [](T g, T, T out) { return mul(mul(out, sub(like(out, 1), out)), g); }},
    {Unary::Erf,     "erf",     call<NamedFunction::Erf>,
     [](T g, T x, T) {
       return mul(mul(apply(Unary::Exp, neg(mul(x, x))), like(x, 2 / std::sqrt(std::numbers::pi))), g);
     }},
    {Unary::Tanh,    "tanh",    call<NamedFunction::Tanh>,
     [](T g, T, T out) { return mul(mul(sub(like(out, 1), out), add(like(out, 1), out)), g); }},
    {Unary::Square,  "square",  [](P x) { return mul(x, x); },
     [](T g, T x, T) { return mul(mul(g, like(g, 2)), x); }},
    {Unary::Expm1,   "expm1",   call<NamedFunction::Expm1>, [](T g, T x, T) { return g * x.exp(); }},
    {Unary::Log1p,   "log1p",   call<NamedFunction::Log1p>, [](T g, T x, T) { return g / (x + 1); }},
    {Unary::Cos,     "cos",     call<NamedFunction::Cos>,   [](T g, T x, T) { return g * -x.sin(); }},
    {Unary::Tan,     "tan",     call<NamedFunction::Tan>,   [](T g, T, T out) { return g * (out * out + 1); }},
    {Unary::Sinh,    "sinh",    call<NamedFunction::Sinh>,  [](T g, T x, T) { return g * x.cosh(); }},
    {Unary::Cosh,    "cosh",    call<NamedFunction::Cosh>,  [](T g, T x, T) { return g * x.sinh(); }},
    {Unary::Asinh,   "asinh",   call<NamedFunction::Asinh>,
     [](T g, T x, T) {
       const Tensor small = x.detach().abs() < alone(x.dtype());
       return g * Tensor::where(small, (Tensor::where(small, x, 1).square() + 1).rsqrt(), x.abs().reciprocal());
     }},
    {Unary::Acosh,   "acosh",   call<NamedFunction::Acosh>, [](T g, T x, T) { return g * (x - 1).rsqrt() * (x + 1).rsqrt(); }},
    {Unary::Atanh,   "atanh",   call<NamedFunction::Atanh>, [](T g, T x, T) { return g / ((1 - x) * (x + 1)); }},
    {Unary::Softplus, "softplus", call<NamedFunction::Softplus>, [](T g, T x, T) { return g * x.sigmoid(); }},
    {Unary::Silu,    "silu",    call<NamedFunction::Silu>,
     [](T g, T given, T) {
       const Tensor x = near_zero(given, 1000);
       return slope_of_product(g, x, x.sigmoid(), like(x, 1));
     }},
    {Unary::Gelu,    "gelu",    call<NamedFunction::Gelu>,
     [](T g, T given, T) {
       const Tensor x = near_zero(given, 50);
       const Tensor density = (x * x * -0.5).exp() * (1 / std::sqrt(2 * std::numbers::pi));
       return g * (((x * std::sqrt(0.5)).erf() + 1) * 0.5 + x * density);
     }},
    {Unary::GeluTanh, "gelu", call<NamedFunction::GeluTanh>,  // x sigmoid(2u)
     [](T g, T given, T) {
       const double c = 2 * std::sqrt(2 / std::numbers::pi);
       const Tensor x = near_zero(given, 50), square = x * x;
       return slope_of_product(g, x, (x * c * (square * 0.044715 + 1)).sigmoid(), square * (3 * 0.044715 * c) + c);
     }},
    {Unary::Log10,   "log10",   call<NamedFunction::Log10>, [](T g, T x, T) { return g / (x * std::numbers::ln10); }},
    {Unary::Erfc,    "erfc",    call<NamedFunction::Erfc>,
     [](T g, T x, T) { return g * (x * -x).exp() * (-2 / std::sqrt(std::numbers::pi)); }},
    {Unary::Asin,    "asin",    call<NamedFunction::Asin>,  [](T g, T x, T) { return g * ((1 - x) * (x + 1)).rsqrt(); }},
    {Unary::Acos,    "acos",    call<NamedFunction::Acos>,  [](T g, T x, T) { return -g * ((1 - x) * (x + 1)).rsqrt(); }},
    {Unary::Atan,    "atan",    call<NamedFunction::Atan>,  [](T g, T x, T) { return g / (x * x + 1); }},
    {Unary::Cbrt,    "cbrt",    call<NamedFunction::Cbrt>,  [](T g, T, T out) { return g / (out * out * 3); }},
    {Unary::Lgamma,  "lgamma",  call<NamedFunction::Lgamma>,  [](T g, T x, T) { return g * x.digamma(); }},
    {Unary::Digamma, "digamma", call<NamedFunction::Digamma>, [](T g, T x, T) { return g * trigamma(x); }},
    {Unary::Erfinv,  "erfinv",  call<NamedFunction::Erfinv>,
     [](T g, T, T out) { return g * out.square().exp() * (std::sqrt(std::numbers::pi) / 2); }},
}};

constexpr std::array<BinaryRule, 7> kBinary = {{
    {Binary::Add, "add", [](P x, P y) { return add(x, y); },
     [](T g, T, T) -> Tensor { return g; },
     [](T g, T, T) -> Tensor { return g; }},
    {Binary::Sub, "sub", [](P x, P y) { return sub(x, y); },
     [](T g, T, T) -> Tensor { return g; },
     [](T g, T, T) { return neg(g); }},
    {Binary::Mul, "mul", [](P x, P y) { return mul(x, y); },
     [](T g, T, T y) { return mul(y, g); },
     [](T g, T x, T) { return mul(x, g); }},
    {Binary::Div, "div", [](P x, P y) { return LazyBuffer::e(Op::Div, {x, y}); },
     [](T g, T, T y) { return div(g, y); },
     [](T g, T x, T y) { return div(mul(neg(g), div(x, y)), y); }},
    {Binary::Max, "max", [](P x, P y) { return LazyBuffer::e(Op::Max, {x, y}); },
     [](T g, T x, T y) { return mul(share(x, y), g); },
     [](T g, T x, T y) { return mul(share(y, x), g); }},
    {Binary::Atan2, "atan2", call<NamedFunction::Atan2>,
     [](T g, T y, T x) { return g * (x / radius(x, y) / radius(x, y)); },
     [](T g, T y, T x) { return g * (-y / radius(x, y) / radius(x, y)); }},
    {Binary::Hypot, "hypot", call<NamedFunction::Hypot>,
     [](T g, T x, T y) { return g * (x / radius(x, y)); },
     [](T g, T x, T y) { return g * (y / radius(x, y)); }},
}};
// clang-format on

class UnaryStep final : public Function {
 public:
  explicit UnaryStep(const UnaryRule& rule) : rule_(rule) {}
  LazyBufferPtr forward(Inputs inputs) override { return rule_.value(inputs[0]); }
  Gradients backward(const BackwardPass& pass) override {
    return {rule_.gradient(pass.gradient, pass.inputs[0], pass.out)};
  }

 private:
  const UnaryRule& rule_;
};

class BinaryStep final : public Function {
 public:
  explicit BinaryStep(const BinaryRule& rule) : rule_(rule) {}
  LazyBufferPtr forward(Inputs inputs) override { return rule_.value(inputs[0], inputs[1]); }
  Gradients backward(const BackwardPass& pass) override {
    const auto one = [&](std::size_t input, BinaryRule::Gradient gradient) {
      return wants(input) ? std::optional(gradient(pass.gradient, pass.inputs[0], pass.inputs[1]))
                          : std::nullopt;
    };
    return {one(0, rule_.gradient_x), one(1, rule_.gradient_y)};
  }

 private:
  const BinaryRule& rule_;
};

}  // namespace

std::span<const UnaryRule> unary_rules() { return kUnary; }
std::span<const BinaryRule> binary_rules() { return kBinary; }

Tensor apply(Unary op, const Tensor& x) {
  const UnaryRule& rule = kUnary[static_cast<std::size_t>(op)];
  const OriginScope origin(rule.name);
  return touchstone::apply<UnaryStep>({x}, rule);
}
Tensor apply(Binary op, const Tensor& x, const Tensor& y) {
  const BinaryRule& rule = kBinary[static_cast<std::size_t>(op)];
  const OriginScope origin(rule.name);
  return touchstone::apply<BinaryStep>({x, y}, rule);
}

}  // namespace mlops
}  // namespace touchstone
