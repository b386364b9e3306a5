// Kernels that subtract a reduce along one axis and then reduce some axes, for the area `kernel`.
#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <vector>

#include "touchstone/fuzz/draw/draw_kernel.h"
#include "touchstone/fuzz/judge/values.h"

namespace touchstone::fuzz {
namespace {

constexpr std::int64_t kMostOfSpread = 1 << 12;

/// Elements with three axes, minus one or two reduces of them along one axis, as in variance or
/// softmax, where the second reads them at another place; reduced over none, some or all axes. Axes
/// are shorter and longer than the lanes and parallel sums; one size may be a variable. One case in
/// four is only a sum over long rows.
class SpreadDraw {
 public:
  explicit SpreadDraw(Chooser& chooser) : chooser_(chooser) {}

  KernelCase draw() {
    constexpr DType kTypes[] = {DType::Float32, DType::Int32, DType::Float32, DType::Float64,
                                DType::Float16};
    dtype_ = kTypes[chooser_.below(std::size(kTypes))];
    if (chooser_.chance(1, 4)) return long_rows();
    draw_sizes();
    LazyOpPtr result = load(kLine, 0, false);
    if (chooser_.chance(2, 3)) {
      const auto along = static_cast<std::size_t>(chooser_.below(kLine));
      const Op op = chooser_.chance(1, 2) ? Op::ReduceMax : Op::ReduceSum;
      result = LazyOp::binary(Op::Sub, result, reduced(op, along, 0, false));
      if (chooser_.chance(1, 3)) {
        const std::int64_t further = chooser_.below(2) == 0 ? 0 : 1;
        result = LazyOp::binary(Op::Add, result,
                                reduced(op, along, further, further == 0 && chooser_.chance(1, 2)));
      }
    }
    std::vector<int> over;
    for (int axis = 0; axis < static_cast<int>(kLine); ++axis)
      if (chooser_.chance(1, 2)) over.push_back(axis);
    if (chooser_.chance(1, 4)) result = LazyOp::binary(Op::Mul, result, result);
    return stored(result, over);
  }

 private:
  static constexpr std::size_t kLine = 3;  // the axis along which inner reduces read a line

  // Long rows, each starting at another of the parallel sums.
  KernelCase long_rows() {
    constexpr std::int64_t kLong[] = {70, 100, 65, 83};
    shape_ = {chooser_.between(1, 3), chooser_.between(2, 5),
              kLong[chooser_.below(std::size(kLong))]};
    apart_ = chooser_.between(1, 3);  // otherwise the rows form one long row
    blocks_apart_ = chooser_.between(0, 1);
    LazyOpPtr result = load(kLine, 0, false);
    if (chooser_.chance(1, 3)) result = LazyOp::binary(Op::Mul, result, result);
    return stored(result,
                  chooser_.chance(1, 2) ? std::vector<int>{1, 2} : std::vector<int>{0, 1, 2});
  }

  KernelCase stored(LazyOpPtr result, const std::vector<int>& over) {
    if (!over.empty())
      result = LazyOp::reduce(chooser_.chance(1, 5) ? Op::ReduceMax : Op::ReduceSum, result, over);
    KernelCase c{LazyOp::store(ShapeTracker::contiguous(result->shape()), result), {}};
    if (!variables_of(c.kernel).empty()) c.values["n"] = count_;
    c.inputs = draw_inputs(chooser_, draw_family(chooser_), c.concrete());
    return c;
  }

  void draw_sizes() {
    constexpr std::int64_t kSizes[] = {2, 3, 9, 16, 1, 70, 5, 33, 8, 64, 100, 17, 20};
    std::int64_t room = kMostOfSpread;
    std::array<std::int64_t, kLine> sizes{};
    for (std::int64_t& size : sizes) {
      size = std::min(kSizes[chooser_.below(std::size(kSizes))], room);
      room /= size;
    }
    shape_.assign(sizes.begin(), sizes.end());
    if (chooser_.chance(1, 8)) {
      const auto axis = static_cast<std::size_t>(chooser_.below(kLine));
      shape_[axis] = symbolic::variable("n", 0, sizes[axis]);
      count_ = chooser_.chance(1, 3) ? 0 : chooser_.between(0, sizes[axis]);
      if (chooser_.chance(1, 2)) alike_ = axis;
    } else if (chooser_.chance(1, 4)) {
      alike_ = chooser_.below(kLine);
    }
    if (chooser_.chance(1, 4)) std::swap(order_[chooser_.below(2)], order_[2]);
  }

  // The elements along the output's axes; `along` replaces the axis of the lines if it differs.
  // `further`: offset in the buffer; `backwards`: reversed along the lines.
  LazyOpPtr load(std::size_t along, std::int64_t further, bool backwards) const {
    std::vector<sint> strides(kLine + 1, sint(0));
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

  LazyOpPtr reduced(Op op, std::size_t along, std::int64_t further, bool backwards) const {
    return LazyOp::reduce(op, load(along, further, backwards), {static_cast<int>(kLine)});
  }

  Chooser& chooser_;
  DType dtype_ = DType::Float32;
  Shape shape_;
  std::array<std::size_t, kLine> order_{0, 1, 2};  // memory order of the axes
  std::optional<std::size_t> alike_;               // an axis along which inner reduces repeat
  std::int64_t count_ = 0;                         // value of the variable
  std::int64_t apart_ = 0, blocks_apart_ = 0;      // gaps between the innermost rows
};

}  // namespace

KernelCase draw_spread(Chooser& chooser) { return SpreadDraw(chooser).draw(); }

}  // namespace touchstone::fuzz
