// Kernels that combine values with a reduce of their row, for the area `kernel`.
#include <iterator>

#include "touchstone/fuzz/draw/draw_kernel.h"
#include "touchstone/fuzz/judge/values.h"

namespace touchstone::fuzz {
namespace {

/// Values f(x), or f(x - max of the row), and a reduce of the same over the row, as in softmax; or
/// almost the same: with another function, other elements or another buffer.
class NormalisedDraw {
 public:
  explicit NormalisedDraw(Chooser& chooser) : chooser_(chooser) {}

  KernelCase draw() {
    constexpr DType kTypes[] = {DType::Float32, DType::Float64, DType::Float32,
                                DType::Float16, DType::Float32, DType::BFloat16};
    dtype_ = kTypes[chooser_.below(std::size(kTypes))];
    constexpr std::int64_t kColumns[] = {16, 32, 16, 48, 7, 64, 20, 33, 1};
    columns_ = kColumns[chooser_.below(std::size(kColumns))];
    rows_ = chooser_.between(1, 5);
    if (columns_ == 16 && chooser_.chance(1, 2)) less_maximum_ = true;
    two_inputs_ = chooser_.chance(1, 4);
    pitch_ = columns_ + (chooser_.chance(1, 4) ? 3 : 0);
    constexpr Op kFunctions[] = {Op::Exp2, Op::Log2, Op::Sin, Op::Sqrt, Op::Recip, Op::Neg};
    for (std::uint64_t steps = 1 + chooser_.below(2); steps > 0; --steps)
      functions_.push_back(kFunctions[chooser_.below(std::size(kFunctions))]);
    Change change;
    if (chooser_.chance(1, 8)) change.backwards = true;
    const LazyOpPtr own = value(Own, change);
    if (chooser_.chance(1, 3)) change = drawn_change();
    const Op reduce = chooser_.chance(1, 6) ? Op::ReduceMax : Op::ReduceSum;
    LazyOpPtr all = LazyOp::reduce(reduce, value(Summed, change), {kSummed});
    if (chooser_.chance(1, 2)) all = LazyOp::unary(Op::Recip, all);
    constexpr Op kOps[] = {Op::Mul, Op::Div, Op::Sub, Op::Max};
    LazyOpPtr result = LazyOp::binary(kOps[chooser_.below(std::size(kOps))], own, all);
    if (chooser_.chance(1, 4)) result = LazyOp::unary(Op::Neg, result);
    if (chooser_.chance(1, 8)) result = LazyOp::cast(result, DType::Float32);
    KernelCase c{LazyOp::store(ShapeTracker::contiguous(result->shape()), result), {}};
    c.inputs = draw_inputs(chooser_, draw_family(chooser_), c.kernel);
    return c;
  }

 private:
  // Axes: rows, columns of the output, elements of a maximum, terms of the reduce.
  static constexpr int kMaximum = 2, kSummed = 3;
  enum Along : std::uint8_t { Own, Summed };
  struct Change {
    bool other_function = false;
    std::int64_t offset = 0;
    bool backwards = false;
    bool other_buffer = false;
  };

  Change drawn_change() {
    Change change;
    switch (chooser_.below(4)) {
      case 0:
        change.other_function = true;
        break;
      case 1:
        change.offset = 1;
        break;
      case 2:
        change.other_buffer = true;
        break;
      default:
        change.backwards = true;
    }
    return change;
  }

  // A buffer's elements along the output's columns or another axis of the row.
  LazyOpPtr load(int buffer, const Shape& shape, std::size_t axis, const Change& change) const {
    std::vector<sint> strides(shape.size(), sint(0));
    strides[0] = pitch_;
    strides[axis] = change.backwards ? -1 : 1;
    const std::int64_t first = change.offset + (change.backwards ? columns_ - 1 : 0);
    return LazyOp::load(buffer, dtype_, ShapeTracker({View::strided(shape, strides, first)}));
  }

  LazyOpPtr value(Along along, const Change& change) const {
    Shape shape{rows_, columns_, 1, 1};
    if (along == Summed) shape[kSummed] = columns_;
    const std::size_t axis = along == Own ? 1 : kSummed;
    LazyOpPtr x = load(!change.other_buffer ? 1 : two_inputs_ ? 3 : 2, shape, axis, change);
    if (less_maximum_) {
      Shape cube = shape;
      cube[kMaximum] = columns_;
      x = LazyOp::binary(Op::Sub, x,
                         LazyOp::reduce(Op::ReduceMax, load(1, cube, kMaximum, {}), {kMaximum}));
    }
    if (two_inputs_) x = LazyOp::binary(Op::Mul, x, load(2, shape, axis, change));
    for (std::size_t i = 0; i < functions_.size(); ++i) {
      const bool other = change.other_function && i + 1 == functions_.size();
      const Op op = functions_[i];
      x = LazyOp::unary(!other ? op : op == Op::Exp2 ? Op::Sin : Op::Exp2, x);
    }
    return x;
  }

  Chooser& chooser_;
  DType dtype_ = DType::Float32;
  std::int64_t rows_ = 1, columns_ = 16, pitch_ = 16;
  bool less_maximum_ = false, two_inputs_ = false;
  std::vector<Op> functions_;
};

}  // namespace

KernelCase draw_normalised(Chooser& chooser) { return NormalisedDraw(chooser).draw(); }

}  // namespace touchstone::fuzz
