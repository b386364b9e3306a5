#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "touchstone/tensor/function.h"

/// The differentiable steps of which all tensor operations are made. Inputs of one step have the
/// same shape and dtype unless stated otherwise: Expand broadcasts, Cast promotes.
namespace touchstone::mlops {

using Inputs = std::span<const LazyBufferPtr>;

// Elementwise steps as data: the value, and each operand's gradient from the result's gradient g.

enum class Unary : std::uint8_t {
  Neg,
  Sin,
  Relu,
  Log2,
  Log,
  Exp2,
  Exp,
  Sqrt,
  Rsqrt,
  Recip,
  Sigmoid,
  Erf,
  Tanh,
  Square,
  Expm1,
  Log1p,
  Cos,
  Tan,
  Sinh,
  Cosh,
  Asinh,
  Acosh,
  Atanh,
  Softplus,
  Silu,
  Gelu,
  GeluTanh,
  Log10,
  Erfc,
  Asin,
  Acos,
  Atan,
  Cbrt,
  Lgamma,
  Digamma,
  Erfinv
};
enum class Binary : std::uint8_t { Add, Sub, Mul, Div, Max, Atan2, Hypot };

struct UnaryRule {
  Unary op;
  const char* name;
  LazyBufferPtr (*value)(const LazyBufferPtr& x);
  Tensor (*gradient)(const Tensor& g, const Tensor& x, const Tensor& out);
};
struct BinaryRule {
  using Gradient = Tensor (*)(const Tensor& g, const Tensor& x, const Tensor& y);
  Binary op;
  const char* name;
  LazyBufferPtr (*value)(const LazyBufferPtr& x, const LazyBufferPtr& y);
  Gradient gradient_x;
  Gradient gradient_y;
};
std::span<const UnaryRule> unary_rules();    // in the order of Unary
std::span<const BinaryRule> binary_rules();  // in the order of Binary

Tensor real(const Tensor& x);  // cast to Float32 unless a float
/// The operand of a composed function: integers and narrower floats cast to float32. The function
/// casts its result to real_type() of what it was given, so it rounds once.
Tensor wide(const Tensor& x);
DType real_type(const Tensor& x);                           // that of real(x)
Tensor apply(Unary op, const Tensor& x);                    // floats; Neg and Square take any type
Tensor apply(Binary op, const Tensor& x, const Tensor& y);  // one shape, one dtype

/// A bool condition and two values of one dtype; each value's gradient is 0 where the other is
/// taken.
class Where final : public Function {
 public:
  LazyBufferPtr forward(Inputs inputs) override;
  Gradients backward(const BackwardPass& pass) override;
};

/// A step of one operand that an argument describes: the value, and the operand's gradient.
template <class Argument>
struct StepRule {
  LazyBufferPtr (*value)(const LazyBufferPtr& x, const Argument& argument);
  Tensor (*gradient)(const BackwardPass& pass, const Argument& argument);
};
template <class Argument, const StepRule<Argument>& kRule>
class ArgumentStep final : public Function {
 public:
  explicit ArgumentStep(Argument argument) : argument_(std::move(argument)) {}
  LazyBufferPtr forward(Inputs inputs) override { return kRule.value(inputs[0], argument_); }
  Gradients backward(const BackwardPass& pass) override {
    return {kRule.gradient(pass, argument_)};
  }

 private:
  Argument argument_;
};

using Axes = std::vector<int>;
extern const StepRule<DType> cast_rule;
extern const StepRule<Axes> sum_rule, max_rule, squares_rule, permute_rule, flip_rule;
extern const StepRule<Shape> expand_rule, reshape_rule;
extern const StepRule<Padding> pad_rule;
extern const StepRule<Mask> shrink_rule;

using Cast = ArgumentStep<DType, cast_rule>;
/// Sum over axes, which remain with size 1; the gradient is repeated over them.
using Sum = ArgumentStep<Axes, sum_rule>;
/// Maximum over axes, which remain with size 1; elements equal to the maximum share the gradient
/// equally.
using Max = ArgumentStep<Axes, max_rule>;
/// For float32, over axes that remain with size 1 and have a numeric size: the sum of squares
/// around their mean in one pass, computed in float64 as the sum of squares around the first
/// element minus that of the mean. The error is about 2^-53 of the first sum, so the float32 result
/// is correctly rounded unless the first element is 10^4 deviations away.
using SquaresAroundMean = ArgumentStep<Axes, squares_rule>;
/// Repeats axes of size 1; the gradient is summed over them.
using Expand = ArgumentStep<Shape, expand_rule>;
using Reshape = ArgumentStep<Shape, reshape_rule>;
using Permute = ArgumentStep<Axes, permute_rule>;
/// Pads with zeros; the gradient is cropped.
using Pad = ArgumentStep<Padding, pad_rule>;
/// A block of the elements; the gradient is 0 outside it.
using Shrink = ArgumentStep<Mask, shrink_rule>;
/// Reverses axes; inverse to itself.
using Flip = ArgumentStep<Axes, flip_rule>;

/// x: (n, X...), positions: int64, A...; X and A broadcast to S: element s of the result is
/// x[positions[s], s]. A position outside [0, n) is an IndexError with its number in `numbers`, a
/// view of the shape A...; without `numbers` it gives 0. ScatterAdd adds up the gradient.
class Gather final : public Function {
 public:
  explicit Gather(std::optional<ShapeTracker> numbers) : numbers_(std::move(numbers)) {}
  LazyBufferPtr forward(Inputs inputs) override;
  Gradients backward(const BackwardPass& pass) override;

 private:
  std::optional<ShapeTracker> numbers_;
};

/// terms: S, positions: int64, broadcast to S. The result is a table (n, X...), with X broadcast to
/// S, whose element (positions[s], s) is the sum of terms[s] in row-major order of s, starting at
/// 0: floats in double, rounded to the type's accumulator (sum_accumulator) and then to the type;
/// bools by or. Positions outside [0, n) as in Gather; without `numbers` their terms are skipped.
/// Runs the same code on every device.
class ScatterAdd final : public Function {
 public:
  ScatterAdd(Shape table, std::optional<ShapeTracker> numbers)
      : table_(std::move(table)), numbers_(std::move(numbers)) {}
  LazyBufferPtr forward(Inputs inputs) override;
  Gradients backward(const BackwardPass& pass) override;

 private:
  LazyBufferPtr on_several(const LazyBufferPtr& terms, const LazyBufferPtr& positions);
  Shape table_;
  std::optional<ShapeTracker> numbers_;
};

/// positions: int64, (rest..., k) -> int64 (rest..., size): for each place, the number of the last
/// position along the last axis that names it, -1 if none does. Throws IndexError at run time for a
/// position outside [0, size), with its number in `numbers`, a view of the positions' shape;
/// ShapeError if a size is a variable.
LazyBufferPtr last_writers(const LazyBufferPtr& positions, std::int64_t size,
                           const ShapeTracker& numbers);

/// Copies the values to their own memory; the gradient passes through.
class Contiguous final : public Function {
 public:
  LazyBufferPtr forward(Inputs inputs) override;
  Gradients backward(const BackwardPass& pass) override;
};

/// Copies to another device, or to several: sharded along an axis or whole on each. The gradient
/// goes to the placement of the input.
class CopyTo final : public Function {
 public:
  explicit CopyTo(std::string device, std::optional<int> axis = std::nullopt)
      : device_(std::move(device)), axis_(axis) {}
  LazyBufferPtr forward(Inputs inputs) override;
  Gradients backward(const BackwardPass& pass) override;

 private:
  std::string device_;
  std::optional<int> axis_;
};

}  // namespace touchstone::mlops
