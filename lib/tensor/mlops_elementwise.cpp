#include <numbers>

#include "touchstone/tensor/mlops.h"

namespace touchstone::mlops {
namespace {

using P = const LazyBufferPtr&;

LazyBufferPtr like(P x, double value) {
  return LazyBuffer::constant(Scalar::from_double(x->dtype(), value), x->shape(), x->device());
}
LazyBufferPtr add(P a, P b) { return LazyBuffer::e(Op::Add, {a, b}); }
LazyBufferPtr sub(P a, P b) { return LazyBuffer::e(Op::Sub, {a, b}); }
LazyBufferPtr mul(P a, P b) { return LazyBuffer::e(Op::Mul, {a, b}); }
LazyBufferPtr div(P a, P b) { return LazyBuffer::e(Op::Div, {a, b}); }
LazyBufferPtr neg(P a) { return LazyBuffer::e(Op::Neg, {a}); }
LazyBufferPtr less(P a, P b) { return LazyBuffer::e(Op::CmpLt, {a, b})->cast(a->dtype()); }
LazyBufferPtr equal(P a, P b) { return LazyBuffer::e(Op::CmpEq, {a, b})->cast(a->dtype()); }

constexpr double kLn2 = std::numbers::ln2;

LazyBufferPtr sigmoid(P x) {
  const auto power = LazyBuffer::e(Op::Exp2, {mul(x, like(x, -1 / kLn2))});
  return LazyBuffer::e(Op::Recip, {add(power, like(x, 1))});
}
LazyBufferPtr sine(P x) { return LazyBuffer::e(Op::Sin, {x}); }

// How much of the gradient of max(x, y) goes to x: all where it is larger, half at a tie.
LazyBufferPtr share(P x, P y) { return add(less(y, x), mul(equal(x, y), like(x, 0.5))); }

// clang-format off
constexpr std::array<UnaryRule, 10> kUnary = {{
    {Unary::Neg,     "neg",     [](P x) { return neg(x); },
     [](P g, P, P) { return neg(g); }},
    {Unary::Sin,     "sin",     [](P x) { return sine(x); },
     [](P g, P x, P) { return mul(sine(sub(like(x, std::numbers::pi / 2), x)), g); }},
    {Unary::Relu,    "relu",    [](P x) { return LazyBuffer::e(Op::Max, {x, like(x, 0)}); },
     [](P g, P, P out) { return mul(less(like(out, 0), out), g); }},
    {Unary::Log2,    "log2",    [](P x) { return LazyBuffer::e(Op::Log2, {x}); },
     [](P g, P x, P) { return div(g, mul(x, like(x, kLn2))); }},
    {Unary::Log,     "log",     [](P x) { return mul(LazyBuffer::e(Op::Log2, {x}), like(x, kLn2)); },
     [](P g, P x, P) { return div(g, x); }},
    {Unary::Exp2,    "exp2",    [](P x) { return LazyBuffer::e(Op::Exp2, {x}); },
     [](P g, P, P out) { return mul(mul(out, like(out, kLn2)), g); }},
    {Unary::Exp,     "exp",     [](P x) { return LazyBuffer::e(Op::Exp2, {mul(x, like(x, 1 / kLn2))}); },
     [](P g, P, P out) { return mul(out, g); }},
    {Unary::Sqrt,    "sqrt",    [](P x) { return LazyBuffer::e(Op::Sqrt, {x}); },
     [](P g, P, P out) { return div(g, mul(out, like(out, 2))); }},
    {Unary::Recip,   "recip",   [](P x) { return LazyBuffer::e(Op::Recip, {x}); },
     [](P g, P, P out) { return mul(neg(g), mul(out, out)); }},
    {Unary::Sigmoid, "sigmoid", [](P x) { return sigmoid(x); },
     [](P g, P, P out) { return mul(mul(out, sub(like(out, 1), out)), g); }},
}};

constexpr std::array<BinaryRule, 5> kBinary = {{
    {Binary::Add, "add", [](P x, P y) { return add(x, y); },
     [](P g, P, P) -> LazyBufferPtr { return g; },
     [](P g, P, P) -> LazyBufferPtr { return g; }},
    {Binary::Sub, "sub", [](P x, P y) { return sub(x, y); },
     [](P g, P, P) -> LazyBufferPtr { return g; },
     [](P g, P, P) { return neg(g); }},
    {Binary::Mul, "mul", [](P x, P y) { return mul(x, y); },
     [](P g, P, P y) { return mul(y, g); },
     [](P g, P x, P) { return mul(x, g); }},
    {Binary::Div, "div", [](P x, P y) { return div(x, y); },
     [](P g, P, P y) { return div(g, y); },
     [](P g, P x, P y) { return div(mul(neg(g), x), mul(y, y)); }},
    {Binary::Max, "max", [](P x, P y) { return LazyBuffer::e(Op::Max, {x, y}); },
     [](P g, P x, P y) { return mul(share(x, y), g); },
     [](P g, P x, P y) { return mul(share(y, x), g); }},
}};
// clang-format on

class UnaryStep final : public Function {
 public:
  explicit UnaryStep(const UnaryRule& rule) : rule_(rule) {}
  LazyBufferPtr forward(Inputs inputs) override {
    x_ = inputs[0];
    return out_ = rule_.value(x_);
  }
  Gradients backward(P gradient) override { return {rule_.gradient(gradient, x_, out_)}; }

 private:
  const UnaryRule& rule_;
  LazyBufferPtr x_, out_;
};

class BinaryStep final : public Function {
 public:
  explicit BinaryStep(const BinaryRule& rule) : rule_(rule) {}
  LazyBufferPtr forward(Inputs inputs) override {
    x_ = inputs[0];
    y_ = inputs[1];
    return rule_.value(x_, y_);
  }
  Gradients backward(P gradient) override {
    return {wants(0) ? rule_.gradient_x(gradient, x_, y_) : nullptr,
            wants(1) ? rule_.gradient_y(gradient, x_, y_) : nullptr};
  }

 private:
  const BinaryRule& rule_;
  LazyBufferPtr x_, y_;
};

}  // namespace

std::span<const UnaryRule> unary_rules() { return kUnary; }
std::span<const BinaryRule> binary_rules() { return kBinary; }

Tensor apply(Unary op, const Tensor& x) {
  return touchstone::apply<UnaryStep>({x}, kUnary[static_cast<std::size_t>(op)]);
}
Tensor apply(Binary op, const Tensor& x, const Tensor& y) {
  return touchstone::apply<BinaryStep>({x, y}, kBinary[static_cast<std::size_t>(op)]);
}

}  // namespace touchstone::mlops
