#include <cmath>
#include <numbers>

#include "touchstone/ops/formulas.h"
#include "touchstone/tensor/mlops.h"

namespace touchstone {

template <>
struct formulas::Builder<LazyBufferPtr> {
  static LazyBufferPtr apply(Op op, const std::vector<LazyBufferPtr>& operands) {
    return LazyBuffer::e(op, operands);
  }
  static LazyBufferPtr number(const LazyBufferPtr& like, double x) {
    return LazyBuffer::constant(Scalar::from_double(like->dtype(), x), like->shape(),
                                like->device());
  }
  static LazyBufferPtr call(NamedFunction f, const LazyBufferPtr& x) {
    return mlops::formula(f, x);
  }
};

namespace mlops {

LazyBufferPtr formula(NamedFunction f, const LazyBufferPtr& x) {
  return *formulas::formula(f, x, [](const LazyBufferPtr& y, DType to) { return y->cast(to); });
}

namespace {

using P = const LazyBufferPtr&;
using T = const Tensor&;

LazyBufferPtr like(P x, double value) { return formulas::Builder<LazyBufferPtr>::number(x, value); }
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

// In x's own type.
template <NamedFunction F>
LazyBufferPtr own(P x) {
  return formulas::Formulas<LazyBufferPtr>::of(F, formulas::Value<LazyBufferPtr>(x))->node();
}

// The share of x in the gradient of max(x, y): 1 where x is not smaller or either is NaN; 1/2 at a
// tie.
Tensor share(T x, T y) { return sub(like(x, 1), add(less(x, y), mul(equal(x, y), like(x, 0.5)))); }

// clang-format off
constexpr std::array<UnaryRule, 14> kUnary = {{
    {Unary::Neg,     "neg",     [](P x) { return neg(x); },
     [](T g, T, T) { return neg(g); }},
    {Unary::Sin,     "sin",     [](P x) { return LazyBuffer::e(Op::Sin, {x}); },
     [](T g, T x, T) { return mul(x.cos(), g); }},
    {Unary::Relu,    "relu",    [](P x) { return LazyBuffer::e(Op::Max, {x, like(x, 0)}); },
     [](T g, T, T out) { return where(positive(out), g, Tensor(out.lazy())); }},  // 0 or NaN
    {Unary::Log2,    "log2",    [](P x) { return LazyBuffer::e(Op::Log2, {x}); },
     [](T g, T x, T) { return div(g, mul(x, like(x, kLn2))); }},
    {Unary::Log,     "log",     own<NamedFunction::Log>,
     [](T g, T x, T) { return div(g, x); }},
    {Unary::Exp2,    "exp2",    [](P x) { return LazyBuffer::e(Op::Exp2, {x}); },
     [](T g, T, T out) { return mul(mul(out, like(out, kLn2)), g); }},
    {Unary::Exp,     "exp",     own<NamedFunction::Exp>,
     [](T g, T, T out) { return mul(out, g); }},
    {Unary::Sqrt,    "sqrt",    [](P x) { return LazyBuffer::e(Op::Sqrt, {x}); },
     [](T g, T, T out) { return div(g, mul(out, like(out, 2))); }},
    {Unary::Rsqrt,   "rsqrt", own<NamedFunction::Rsqrt>,
     [](T g, T, T out) { return mul(mul(g, like(out, -0.5)), mul(out, mul(out, out))); }},
    {Unary::Recip,   "recip",   [](P x) { return LazyBuffer::e(Op::Recip, {x}); },
     [](T g, T, T out) { return mul(neg(g), mul(out, out)); }},
    {Unary::Sigmoid, "sigmoid", own<NamedFunction::Sigmoid>,
     [](T g, T, T out) { return mul(mul(out, sub(like(out, 1), out)), g); }},
    {Unary::Erf,     "erf",     [](P x) { return formula(NamedFunction::Erf, x); },
     [](T g, T x, T) {
       return mul(mul(apply(Unary::Exp, neg(mul(x, x))), like(x, 2 / std::sqrt(std::numbers::pi))), g);
     }},
    {Unary::Tanh,    "tanh",    [](P x) { return formula(NamedFunction::Tanh, x); },
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
    {Binary::Div, "div", [](P x, P y) { return LazyBuffer::e(Op::Div, {x, y}); },
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

}  // namespace mlops
}  // namespace touchstone
