// Kernels of one or several reduces of the rows of a buffer, for the area `kernel`.
#include <array>
#include <optional>

#include "touchstone/fuzz/draw/loops_draw.h"

namespace touchstone::fuzz {
namespace {

constexpr std::int64_t kMostOfSpread = 1 << 12;

/// Values f(x), or f(x - max of the row), and a reduce of the same over the row, as in softmax; or
/// almost the same: with another function, other elements or another buffer.
class NormalisedDraw final : public LoopsDraw {
 public:
  explicit NormalisedDraw(Chooser& chooser)
      : LoopsDraw(chooser, {DType::Float32, DType::Float64, DType::Float32, DType::Float16,
                            DType::Float32, DType::BFloat16}) {
    columns_ = one_of<std::int64_t>({16, 32, 16, 48, 7, 64, 20, 33, 1});
    rows_ = chooser.between(1, 5);
    less_maximum_ = columns_ == 16 && chance(1, 2);
    two_inputs_ = chance(1, 4);
    pitch_ = columns_ + (chance(1, 4) ? 3 : 0);
    for (std::uint64_t steps = 1 + chooser.below(2); steps > 0; --steps)
      functions_.push_back(one_of({Op::Exp2, Op::Log2, Op::Sin, Op::Sqrt, Op::Recip, Op::Neg}));
  }

 private:
  // Axes: rows, columns of the output, elements of a maximum, terms of the reduce.
  enum Axis : std::uint8_t { Rows, Columns, Maximum, Summed };
  struct Change {
    bool other_function = false;
    std::int64_t offset = 0;
    bool backwards = false;
    bool other_buffer = false;
  };

  LazyOpPtr value() override {
    Change change;
    change.backwards = chance(1, 8);
    const LazyOpPtr own = along(Columns, change);
    if (chance(1, 3)) {
      const std::uint64_t what = chooser_.below(4);
      change = {what == 0, what == 1 ? 1 : 0, what == 3, what == 2};
    }
    const bool largest = chance(1, 6);
    LazyOpPtr all =
        LazyOp::reduce(largest ? Op::ReduceMax : Op::ReduceSum, along(Summed, change), {Summed});
    if (chance(1, 2)) all = LazyOp::unary(Op::Recip, all);
    LazyOpPtr result = LazyOp::binary(one_of({Op::Mul, Op::Div, Op::Sub, Op::Max}), own, all);
    if (chance(1, 4)) result = LazyOp::unary(Op::Neg, result);
    if (chance(1, 8)) result = LazyOp::cast(result, DType::Float32);
    return result;
  }

  // A buffer's elements along one axis of the row.
  LazyOpPtr row(int buffer, const Shape& shape, Axis axis, const Change& change) const {
    Strides strides(shape.size(), sint(0));
    strides[Rows] = pitch_;
    strides[axis] = change.backwards ? -1 : 1;
    return load(buffer, shape, strides, change.offset);
  }

  LazyOpPtr along(Axis axis, const Change& change) const {
    Shape shape{rows_, columns_, 1, 1};
    shape[axis] = columns_;
    LazyOpPtr x = row(!change.other_buffer ? 1 : two_inputs_ ? 3 : 2, shape, axis, change);
    if (less_maximum_) {
      Shape cube = shape;
      cube[Maximum] = columns_;
      x = LazyOp::binary(Op::Sub, x,
                         LazyOp::reduce(Op::ReduceMax, row(1, cube, Maximum, {}), {Maximum}));
    }
    if (two_inputs_) x = LazyOp::binary(Op::Mul, x, row(2, shape, axis, change));
    for (std::size_t i = 0; i < functions_.size(); ++i) {
      const bool other = change.other_function && i + 1 == functions_.size();
      const Op op = functions_[i];
      x = LazyOp::unary(!other ? op : op == Op::Exp2 ? Op::Sin : Op::Exp2, x);
    }
    return x;
  }

  std::int64_t rows_ = 1, columns_ = 16, pitch_ = 16;
  bool less_maximum_ = false, two_inputs_ = false;
  std::vector<Op> functions_;
};

/// Reduces that compute the same per line, with one or several results side by side, or add up
/// equal terms. Lines are rows or columns of the output. Reduces of the same lines, term count and
/// function are the ones that fuse.
class ReducesDraw final : public LoopsDraw {
 public:
  explicit ReducesDraw(Chooser& chooser)
      : LoopsDraw(chooser,
                  {DType::Int32, DType::Float32, DType::Int32, DType::UInt8, DType::Float64}) {
    lines_ = chooser.between(2, 5);
    terms_ = chooser.between(2, 4);
    if (chance(1, 3)) lanes_ = one_of<std::int64_t>({8, 16, 9, 4});
    side_by_side_ = chance(1, 2);
  }

 private:
  LazyOpPtr value() override {
    LazyOpPtr result = lines();
    for (std::uint64_t more = 1 + chooser_.below(2); more > 0; --more) {
      const LazyOpPtr next = lines();
      result = LazyOp::binary(one_of({Op::Sub, Op::Add, Op::Mul, Op::Max}), result, next);
    }
    return result;
  }

  LazyOpPtr lines() {
    Shape shape{lines_, lines_, lanes_, terms_};
    Strides strides{0, 0, side_by_side_ ? 1 : terms_, side_by_side_ ? lanes_ : 1};
    strides[chooser_.below(2)] = terms_ * lanes_;
    if (chance(1, 3)) {
      strides[3] = 0;
      shape[3] = chooser_.between(1, terms_);
    }
    LazyOpPtr x = load(1, shape, strides);
    if (chance(1, 4)) x = LazyOp::binary(Op::Mul, x, x);
    return reduced(4, x, {3});
  }

  std::int64_t lines_ = 2, terms_ = 2;
  std::int64_t lanes_ = 1;  // sums per line
  bool side_by_side_ = false;
};

/// Elements with three axes, minus one or two reduces of them along one axis, as in variance or
/// softmax, where the second reads them at another place; reduced over none, some or all axes. Axes
/// are shorter and longer than the lanes and parallel sums; one size may be a variable. One case in
/// four is only a sum over long rows.
class SpreadDraw final : public LoopsDraw {
 public:
  explicit SpreadDraw(Chooser& chooser)
      : LoopsDraw(chooser,
                  {DType::Float32, DType::Int32, DType::Float32, DType::Float64, DType::Float16}) {}

 private:
  static constexpr std::size_t kLine = 3;  // the axis along which inner reduces read a line

  LazyOpPtr value() override {
    if (chance(1, 4)) return long_rows();
    draw_sizes();
    LazyOpPtr result = elements(kLine, 0, false);
    if (chance(2, 3)) {
      const std::size_t along = chooser_.below(kLine);
      const Op op = chance(1, 2) ? Op::ReduceMax : Op::ReduceSum;
      result = LazyOp::binary(Op::Sub, result, line(op, along, 0, false));
      if (chance(1, 3)) {
        const std::int64_t further = chooser_.between(0, 1);
        result =
            LazyOp::binary(Op::Add, result, line(op, along, further, further == 0 && chance(1, 2)));
      }
    }
    std::vector<int> over;
    for (int axis = 0; axis < static_cast<int>(kLine); ++axis)
      if (chance(1, 2)) over.push_back(axis);
    if (chance(1, 4)) result = LazyOp::binary(Op::Mul, result, result);
    return over.empty() ? result : reduced(5, result, over);
  }

  // Long rows, each starting at another of the parallel sums.
  LazyOpPtr long_rows() {
    shape_ = {chooser_.between(1, 3), chooser_.between(2, 5),
              one_of<std::int64_t>({70, 100, 65, 83})};
    apart_ = chooser_.between(1, 3);  // otherwise the rows form one long row
    blocks_apart_ = chooser_.between(0, 1);
    LazyOpPtr result = elements(kLine, 0, false);
    if (chance(1, 3)) result = LazyOp::binary(Op::Mul, result, result);
    const bool rows = chance(1, 2);
    return reduced(5, result, rows ? std::vector<int>{1, 2} : std::vector<int>{0, 1, 2});
  }

  void draw_sizes() {
    std::int64_t room = kMostOfSpread;
    std::array<std::int64_t, kLine> sizes{};
    for (std::int64_t& size : sizes) {
      size = std::min(one_of<std::int64_t>({2, 3, 9, 16, 1, 70, 5, 33, 8, 64, 100, 17, 20}), room);
      room /= size;
    }
    shape_.assign(sizes.begin(), sizes.end());
    if (chance(1, 8)) {
      const std::size_t axis = chooser_.below(kLine);
      shape_[axis] = symbolic::variable("n", 0, sizes[axis]);
      count_ = chance(1, 3) ? 0 : chooser_.between(0, sizes[axis]);
      if (chance(1, 2)) alike_ = axis;
    } else if (chance(1, 4)) {
      alike_ = chooser_.below(kLine);
    }
    if (chance(1, 4)) std::swap(order_[chooser_.below(2)], order_[2]);
  }

  // The elements along the output's axes; `along` replaces the axis of the lines if it differs.
  // `further`: offset in the buffer; `backwards`: reversed along the lines.
  LazyOpPtr elements(std::size_t along, std::int64_t further, bool backwards) const {
    Strides strides(kLine + 1, sint(0));
    sint stride = 1;
    for (std::size_t i = kLine; i-- > 0;) {
      strides[order_[i]] = stride;
      stride = stride * shape_[order_[i]] + (i + 1 == kLine   ? apart_
                                             : i + 2 == kLine ? blocks_apart_
                                                              : 0);
    }
    Shape shape = shape_;
    shape.emplace_back(1);
    sint first = further;
    if (along != kLine) {
      shape[kLine] = shape[along];
      if (alike_) strides[*alike_] = 0;
      std::swap(strides[along], strides[kLine]);
      if (backwards) {
        first = strides[kLine] * (shape[kLine] - 1);
        strides[kLine] = strides[kLine] * -1;
      }
    }
    return LazyOp::load(1, dtype_, ShapeTracker({View::strided(shape, strides, first)}));
  }

  LazyOpPtr line(Op op, std::size_t along, std::int64_t further, bool backwards) const {
    return LazyOp::reduce(op, elements(along, further, backwards), {static_cast<int>(kLine)});
  }

  Shape shape_;
  std::array<std::size_t, kLine> order_{0, 1, 2};  // memory order of the axes
  std::optional<std::size_t> alike_;               // an axis along which inner reduces repeat
  std::int64_t apart_ = 0, blocks_apart_ = 0;      // gaps between the innermost rows
};

}  // namespace

KernelCase draw_normalised(Chooser& chooser) { return NormalisedDraw(chooser).draw(); }
KernelCase draw_reduces(Chooser& chooser) { return ReducesDraw(chooser).draw(); }
KernelCase draw_spread(Chooser& chooser) { return SpreadDraw(chooser).draw(); }

}  // namespace touchstone::fuzz
