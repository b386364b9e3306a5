#include <cmath>
#include <numbers>

#include "touchstone/tensor/mlops.h"

namespace touchstone::mlops {
namespace {

using P = const LazyBufferPtr&;
using T = const Tensor&;

LazyBufferPtr like(P x, double value) {
  return LazyBuffer::constant(Scalar::from_double(x->dtype(), value), x->shape(), x->device());
}
LazyBufferPtr add(P a, P b) { return LazyBuffer::e(Op::Add, {a, b}); }
LazyBufferPtr sub(P a, P b) { return LazyBuffer::e(Op::Sub, {a, b}); }
LazyBufferPtr mul(P a, P b) { return LazyBuffer::e(Op::Mul, {a, b}); }
LazyBufferPtr div(P a, P b) { return LazyBuffer::e(Op::Div, {a, b}); }
LazyBufferPtr neg(P a) { return LazyBuffer::e(Op::Neg, {a}); }
LazyBufferPtr sine(P x) { return LazyBuffer::e(Op::Sin, {x}); }
LazyBufferPtr exponential(P x);

// The same as differentiable steps, for gradients.
Tensor like(T x, double value) { return Tensor(like(x.lazy(), value)); }
Tensor add(T a, T b) { return apply(Binary::Add, a, b); }
Tensor sub(T a, T b) { return apply(Binary::Sub, a, b); }
Tensor mul(T a, T b) { return apply(Binary::Mul, a, b); }
Tensor div(T a, T b) { return apply(Binary::Div, a, b); }
Tensor neg(T a) { return apply(Unary::Neg, a); }
Tensor sine(T x) { return apply(Unary::Sin, x); }
Tensor less(T a, T b) {
  return Tensor(LazyBuffer::e(Op::CmpLt, {a.lazy(), b.lazy()})->cast(a.dtype()));
}
Tensor positive(T x) { return Tensor(LazyBuffer::e(Op::CmpLt, {like(x.lazy(), 0), x.lazy()})); }
Tensor where(T condition, T yes, T no) { return touchstone::apply<Where>({condition, yes, no}); }
Tensor equal(T a, T b) {
  return Tensor(LazyBuffer::e(Op::CmpEq, {a.lazy(), b.lazy()})->cast(a.dtype()));
}

constexpr double kLn2 = std::numbers::ln2;

LazyBufferPtr exponential(P x) { return LazyBuffer::e(Op::Exp2, {mul(x, like(x, 1 / kLn2))}); }

LazyBufferPtr sigmoid(P x) {
  const auto power = LazyBuffer::e(Op::Exp2, {mul(x, like(x, -1 / kLn2))});
  return LazyBuffer::e(Op::Recip, {add(power, like(x, 1))});
}

// The share of x in the gradient of max(x, y): 1 where x is not smaller or either is NaN; 1/2 at a
// tie.
Tensor share(T x, T y) { return sub(like(x, 1), add(less(x, y), mul(equal(x, y), like(x, 0.5)))); }

// The Chebyshev interpolation of a function on [low, high]: the sum of coefficients[i] * T_i(u),
// with u running from -1 to 1. Terms below `least` are dropped; the default is below double
// precision.
std::vector<double> chebyshev(double low, double high, long double (*f)(long double),
                              double least = 2e-17) {
  constexpr int kPoints = 48;
  constexpr long double kPi = std::numbers::pi_v<long double>;
  std::vector<double> coefficients;
  for (int j = 0; j < kPoints; ++j) {
    long double sum = 0;
    for (int k = 0; k < kPoints; ++k) {
      const long double angle = kPi * (static_cast<long double>(k) + 0.5L) / kPoints;
      sum += f(low + (high - low) * (std::cos(angle) + 1) / 2) * std::cos(j * angle);
    }
    coefficients.push_back(static_cast<double>(sum * (j == 0 ? 1 : 2) / kPoints));
  }
  while (coefficients.size() > 1 && std::abs(coefficients.back()) < least) coefficients.pop_back();
  return coefficients;
}

// Evaluates the sum by Clenshaw's recurrence.
LazyBufferPtr chebyshev_sum(const std::vector<double>& coefficients, P u) {
  const LazyBufferPtr twice = mul(u, like(u, 2));
  LazyBufferPtr next = like(u, 0), after = next;
  for (std::size_t i = coefficients.size(); i-- > 1;) {
    LazyBufferPtr now = sub(add(mul(twice, next), like(u, coefficients[i])), after);
    after = std::exchange(next, std::move(now));
  }
  return sub(add(mul(u, next), like(u, coefficients[0])), after);
}

// erf to a few ULP of float64: x f(x^2) for |x| < 1, where f(s) = erf(r)/r at r = sqrt(s); else 1 -
// exp(-x^2) g(1/|x|) with the sign of x, where g(v) = exp(1/v^2) erfc(1/v). From |x| = 6 on the
// result is 1 in every type.
LazyBufferPtr erf(P x) {
  if (itemsize(x->dtype()) < 4) return erf(x->cast(DType::Float32))->cast(x->dtype());
  static const std::vector<double> near = chebyshev(
      0, 1, [](long double s) -> long double { return std::erf(std::sqrt(s)) / std::sqrt(s); });
  static const std::vector<double> far = chebyshev(1.0 / 6, 1, [](long double v) -> long double {
    return std::exp(1 / (v * v)) * std::erfc(1 / v);
  });
  const LazyBufferPtr square = mul(x, x), magnitude = LazyBuffer::e(Op::Max, {x, neg(x)});
  const LazyBufferPtr small = mul(x, chebyshev_sum(near, sub(mul(square, like(x, 2)), like(x, 1))));
  // Both arms are computed: clamp each argument to where its arm is finite.
  const LazyBufferPtr bounded = neg(
      LazyBuffer::e(Op::Max, {neg(LazyBuffer::e(Op::Max, {magnitude, like(x, 1)})), like(x, -6)}));
  const LazyBufferPtr inverse = LazyBuffer::e(Op::Recip, {bounded});
  const LazyBufferPtr u = sub(mul(inverse, like(x, 2.4)), like(x, 1.4));
  const LazyBufferPtr tail = mul(exponential(neg(mul(bounded, bounded))), chebyshev_sum(far, u));
  const LazyBufferPtr large = sub(like(x, 1), tail);
  const LazyBufferPtr is_near = LazyBuffer::e(Op::CmpLt, {magnitude, like(x, 1)});
  const LazyBufferPtr is_negative = LazyBuffer::e(Op::CmpLt, {x, like(x, 0)});
  return LazyBuffer::e(
      Op::Where, {is_near, small, LazyBuffer::e(Op::Where, {is_negative, neg(large), large})});
}

// The interpolation as coefficients of `terms` powers of x on [0, high], the highest last.
std::vector<double> power_series(double high, long double (*f)(long double), std::size_t terms) {
  std::vector<double> sum = chebyshev(0, high, f, 0);
  sum.resize(terms);
  std::vector<long double> powers(terms), now(terms), before(terms);  // of T_i, T_(i-1)
  now[0] = 1;
  for (std::size_t i = 0; i < terms; ++i) {
    for (std::size_t k = 0; k < terms; ++k) powers[k] += sum[i] * now[k];
    std::vector<long double> next(terms);  // 2 u T_i - T_(i-1), where u = 2 x / high - 1
    const long double twice = i == 0 ? 1 : 2;
    for (std::size_t k = 0; k < terms; ++k)
      next[k] = twice * ((k == 0 ? 0 : now[k - 1] * 2 / high) - now[k]) - before[k];
    before = std::exchange(now, std::move(next));
  }
  return {powers.begin(), powers.end()};
}

// x f(x^2) near 0, where f(s) = tanh(r)/r at r = sqrt(s), to the precision of x; else 2 / (1 +
// exp(-2x)) - 1. Few steps, cheap enough to recompute in several kernels.
LazyBufferPtr tanh(P x) {
  if (itemsize(x->dtype()) < 4) return tanh(x->cast(DType::Float32))->cast(x->dtype());
  const auto f = [](long double s) -> long double {
    return std::tanh(std::sqrt(s)) / std::sqrt(s);
  };
  struct Near {
    double end;  // of s
    std::vector<double> powers;
  };
  static const Near wide{0.25, power_series(0.25, f, 11)}, narrow{0.125, power_series(0.125, f, 4)};
  const Near& near = x->dtype() == DType::Float32 ? narrow : wide;
  const LazyBufferPtr s = mul(x, x);
  LazyBufferPtr small = like(x, near.powers.back());
  for (std::size_t i = near.powers.size() - 1; i-- > 0;)
    small = add(mul(small, s), like(x, near.powers[i]));
  const LazyBufferPtr power = LazyBuffer::e(Op::Exp2, {mul(x, like(x, -2 / kLn2))});
  const LazyBufferPtr share = LazyBuffer::e(Op::Recip, {add(power, like(x, 1))});
  const LazyBufferPtr large = sub(mul(share, like(x, 2)), like(x, 1));
  return LazyBuffer::e(Op::Where,
                       {LazyBuffer::e(Op::CmpLt, {s, like(x, near.end)}), mul(small, x), large});
}

// clang-format off
constexpr std::array<UnaryRule, 14> kUnary = {{
    {Unary::Neg,     "neg",     [](P x) { return neg(x); },
     [](T g, T, T) { return neg(g); }},
    {Unary::Sin,     "sin",     [](P x) { return sine(x); },
     [](T g, T x, T) { return mul(sine(sub(like(x, std::numbers::pi / 2), x)), g); }},
    {Unary::Relu,    "relu",    [](P x) { return LazyBuffer::e(Op::Max, {x, like(x, 0)}); },
     [](T g, T, T out) { return where(positive(out), g, Tensor(out.lazy())); }},  // 0 or NaN
    {Unary::Log2,    "log2",    [](P x) { return LazyBuffer::e(Op::Log2, {x}); },
     [](T g, T x, T) { return div(g, mul(x, like(x, kLn2))); }},
    {Unary::Log,     "log",     [](P x) { return mul(LazyBuffer::e(Op::Log2, {x}), like(x, kLn2)); },
     [](T g, T x, T) { return div(g, x); }},
    {Unary::Exp2,    "exp2",    [](P x) { return LazyBuffer::e(Op::Exp2, {x}); },
     [](T g, T, T out) { return mul(mul(out, like(out, kLn2)), g); }},
    {Unary::Exp,     "exp",     [](P x) { return exponential(x); },
     [](T g, T, T out) { return mul(out, g); }},
    {Unary::Sqrt,    "sqrt",    [](P x) { return LazyBuffer::e(Op::Sqrt, {x}); },
     [](T g, T, T out) { return div(g, mul(out, like(out, 2))); }},
    {Unary::Rsqrt,   "rsqrt",
     [](P x) { return LazyBuffer::e(Op::Recip, {LazyBuffer::e(Op::Sqrt, {x})}); },
     [](T g, T, T out) { return mul(mul(g, like(out, -0.5)), mul(out, mul(out, out))); }},
    {Unary::Recip,   "recip",   [](P x) { return LazyBuffer::e(Op::Recip, {x}); },
     [](T g, T, T out) { return mul(neg(g), mul(out, out)); }},
    {Unary::Sigmoid, "sigmoid", [](P x) { return sigmoid(x); },
     [](T g, T, T out) { return mul(mul(out, sub(like(out, 1), out)), g); }},
    {Unary::Erf,     "erf",     [](P x) { return erf(x); },
     [](T g, T x, T) {
       return mul(mul(apply(Unary::Exp, neg(mul(x, x))), like(x, 2 / std::sqrt(std::numbers::pi))), g);
     }},
    {Unary::Tanh,    "tanh",    [](P x) { return tanh(x); },
     [](T g, T, T out) { return mul(mul(sub(like(out, 1), out), add(like(out, 1), out)), g); }},
    {Unary::Square,  "square",  [](P x) { return mul(x, x); },
     [](T g, T x, T) { return mul(mul(g, like(g, 2)), x); }},
}};

constexpr std::array<BinaryRule, 5> kBinary = {{
    {Binary::Add, "add", [](P x, P y) { return add(x, y); },
     [](T g, T, T) -> Tensor { return g; },
     [](T g, T, T) -> Tensor { return g; }},
    {Binary::Sub, "sub", [](P x, P y) { return sub(x, y); },
     [](T g, T, T) -> Tensor { return g; },
     [](T g, T, T) { return neg(g); }},
    {Binary::Mul, "mul", [](P x, P y) { return mul(x, y); },
     [](T g, T, T y) { return mul(y, g); },
     [](T g, T x, T) { return mul(x, g); }},
    {Binary::Div, "div", [](P x, P y) { return div(x, y); },
     [](T g, T, T y) { return div(g, y); },
     [](T g, T x, T y) { return div(mul(neg(g), x), mul(y, y)); }},
    {Binary::Max, "max", [](P x, P y) { return LazyBuffer::e(Op::Max, {x, y}); },
     [](T g, T x, T y) { return mul(share(x, y), g); },
     [](T g, T x, T y) { return mul(share(y, x), g); }},
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

}  // namespace touchstone::mlops
