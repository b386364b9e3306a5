#pragma once

#include <algorithm>
#include <initializer_list>
#include <utility>
#include <vector>

#include "touchstone/fuzz/draw/draw_kernel.h"
#include "touchstone/fuzz/judge/values.h"

namespace touchstone::fuzz {

/// Draws a kernel of one kind from strided loads, operations on them and reduces. A kind derives
/// from it and says which types and sizes it wants and how its value is computed.
class LoopsDraw {
 public:
  LoopsDraw(Chooser& chooser, std::initializer_list<DType> types)
      : chooser_(chooser), dtype_(one_of(types)) {}
  virtual ~LoopsDraw() = default;

  KernelCase draw() {
    const LazyOpPtr stored = value();
    KernelCase c{LazyOp::store(ShapeTracker::contiguous(stored->shape()), stored), {}};
    if (!variables_of(c.kernel).empty()) c.values["n"] = count_;
    c.inputs = draw_inputs(chooser_, draw_family(chooser_), c.concrete());
    return c;
  }

 protected:
  virtual LazyOpPtr value() = 0;  // of the kernel's output

  bool chance(std::uint64_t times, std::uint64_t of) { return chooser_.chance(times, of); }
  template <class T>
  T one_of(std::initializer_list<T> from) {
    return from.begin()[chooser_.below(from.size())];
  }

  // A buffer read with strides; an axis with a negative stride starts at its last element.
  LazyOpPtr load(int buffer, const Shape& shape, const Strides& strides,
                 std::int64_t further = 0) const {
    return LazyOp::load(buffer, dtype_, strided(shape, strides, further));
  }
  static ShapeTracker strided(const Shape& shape, const Strides& strides, sint first = 0) {
    for (std::size_t i = 0; i < shape.size(); ++i)
      if (strides[i].is_int() && strides[i].as_int() < 0)
        first = first - strides[i] * (shape[i] - 1);
    return ShapeTracker({View::strided(shape, strides, first)});
  }

  // Replaces elements at the ends of an axis by padding.
  static ShapeTracker padded(const ShapeTracker& st, std::size_t axis, std::int64_t front,
                             std::int64_t back) {
    Mask kept;
    for (const sint& size : st.shape()) kept.emplace_back(0, size);
    Padding padding(kept.size(), {sint(0), sint(0)});
    kept[axis] = {front, kept[axis].second - back};
    padding[axis] = {front, back};
    return st.shrink(kept).pad(padding);
  }
  ShapeTracker padded_at_an_end(const ShapeTracker& st, std::size_t axis, std::int64_t elements) {
    return chance(1, 2) ? padded(st, axis, elements, 0) : padded(st, axis, 0, elements);
  }

  // Operands in either order.
  LazyOpPtr joined(Op op, const LazyOpPtr& a, const LazyOpPtr& b) {
    return chance(1, 2) ? LazyOp::binary(op, a, b) : LazyOp::binary(op, b, a);
  }
  // A maximum in one of `of` cases, otherwise a sum.
  LazyOpPtr reduced(std::uint64_t of, const LazyOpPtr& x, const std::vector<int>& axes) {
    return LazyOp::reduce(chance(1, of) ? Op::ReduceMax : Op::ReduceSum, x, axes);
  }

  Chooser& chooser_;
  const DType dtype_;
  int buffers_ = 0;
  std::int64_t count_ = 0;  // value of the variable n, if any
};

}  // namespace touchstone::fuzz
