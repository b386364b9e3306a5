#include "touchstone/shapetracker/invert/movement_ops.h"

#include <algorithm>
#include <numeric>

#include "touchstone/shapetracker/view/sint_bounds.h"

namespace touchstone {
namespace {

using OpKind = MovementOp::Kind;

/// A sequence of operations and the resulting shape. No-ops are omitted. tried: each operation is
/// applied to that shape and throws ShapeError as in `apply`.
class GraphOp {
 public:
  GraphOp(Shape shape, bool tried) : tried_(tried), shape_(std::move(shape)) {}

  const Shape& shape() const { return shape_; }
  const std::vector<MovementOp>& list() const { return list_; }
  const sint& last() const { return shape_.back(); }

  void reshape(const Shape& shape) {
    if (!list_.empty() && list_.back().kind == OpKind::Reshape) {
      shape_ = before_reshape_;
      list_.pop_back();
    }
    if (shape == shape_) return;
    before_reshape_ = shape_;
    add({.kind = OpKind::Reshape, .shape = shape}, shape);
  }
  void permute(std::vector<int> order) {
    if (std::ranges::is_sorted(order)) return;
    Shape shape;
    for (const int axis : order) shape.push_back(shape_[static_cast<std::size_t>(axis)]);
    add({.kind = OpKind::Permute, .order = std::move(order)}, std::move(shape));
  }
  void expand(const Shape& shape) {
    if (shape != shape_) add({.kind = OpKind::Expand, .shape = shape}, shape);
  }
  void pad(Padding padding) {
    Shape shape = shape_;
    for (std::size_t i = 0; i < shape.size(); ++i)
      shape[i] = shape[i] + padding[i].first + padding[i].second;
    if (shape != shape_) add({.kind = OpKind::Pad, .ends = std::move(padding)}, std::move(shape));
  }
  void shrink(Mask keep) {
    Shape shape;
    for (const auto& [begin, end] : keep) shape.push_back(end - begin);
    if (shape != shape_) add({.kind = OpKind::Shrink, .ends = std::move(keep)}, std::move(shape));
  }
  void stride(std::vector<std::int64_t> steps) {
    if (std::ranges::all_of(steps, [](std::int64_t step) { return step == 1; })) return;
    Shape shape = shape_;
    for (std::size_t i = 0; i < shape.size(); ++i)
      shape[i] = floor_div(shape[i] - 1, std::abs(steps[i])) + 1;
    add({.kind = OpKind::Stride, .steps = std::move(steps)}, std::move(shape));
  }
  void as_strided(Shape shape, Strides strides, sint offset) {
    MovementOp op{.kind = OpKind::AsStrided, .shape = shape};
    op.strides = std::move(strides);
    op.offset = std::move(offset);
    add(std::move(op), std::move(shape));
  }

  // Pads the last axis only.
  void pad_last(const sint& after) {
    Padding padding(shape_.size(), {0, 0});
    padding.back().second = after;
    pad(std::move(padding));
  }
  void shrink_last(const sint& begin, const sint& end) {
    Mask keep;
    for (const sint& size : shape_) keep.emplace_back(0, size);
    keep.back() = {begin, end};
    shrink(std::move(keep));
  }
  void split_last(const sint& outer, const sint& inner) {
    Shape shape = shape_;
    shape.back() = outer;
    shape.push_back(inner);
    reshape(std::move(shape));
  }

 private:
  void add(MovementOp op, Shape shape) {
    (void)elements(shape);  // throws OverflowError beyond 64 bits
    // An operation applies to a tracker iff it applies to its shape.
    if (tried_ && apply(ShapeTracker::contiguous(shape_), op).shape() != shape)
      throw ShapeError(fmt::format("{} of {} has a different shape from {}", op.str(),
                                   touchstone::str(shape_), touchstone::str(shape)));
    list_.push_back(std::move(op));
    shape_ = std::move(shape);
  }

  bool tried_;
  std::vector<MovementOp> list_;
  Shape shape_, before_reshape_;
};

/// The valid part of an axis.
struct Axis {
  std::size_t number;
  sint extent, stride;  // stride >= 0
  bool flipped;
};

/// The valid part of a view: all axes with a stride, largest first, and their address range.
struct Core {
  std::vector<Axis> axes;
  sint low, span = 1;  // addresses [low, low + span)
};

// Has 0 <= begin <= end <= size for all values of the variables.
Range valid_range(const View& view, std::size_t axis) {
  const auto [begin, end] = view.range(axis);
  if (begin.is_int() && end.is_int()) return {begin, end};
  const sint last = shapetracker::larger(end, 0);
  return {shapetracker::smaller(begin, last), last};
}

sint first_address(const View& view) {
  sint address = view.offset();
  for (std::size_t i = 0; i < view.shape().size(); ++i)
    address = address + valid_range(view, i).first * view.strides()[i];
  return address;
}

// nullopt if the bounds of the variables do not determine the signs or the order of the strides.
std::optional<Core> core_of(const View& view) {
  Core core;
  core.low = first_address(view);
  std::vector<Axis> left;
  for (std::size_t i = 0; i < view.shape().size(); ++i) {
    const auto [begin, end] = valid_range(view, i);
    Axis axis{i, end - begin, view.strides()[i], false};
    if (axis.stride == sint(0)) continue;
    if (!certainly_le(1, axis.extent)) return std::nullopt;
    if (!certainly_le(0, axis.stride)) {
      if (!certainly_le(axis.stride, 0)) return std::nullopt;
      core.low = core.low + axis.stride * (axis.extent - 1);
      axis.stride = sint(0) - axis.stride;
      axis.flipped = true;
    }
    core.span = core.span + axis.stride * (axis.extent - 1);
    left.push_back(std::move(axis));
  }
  while (!left.empty()) {
    const auto largest = std::ranges::find_if(left, [&](const Axis& a) {
      return std::ranges::all_of(left,
                                 [&](const Axis& b) { return certainly_le(b.stride, a.stride); });
    });
    if (largest == left.end()) return std::nullopt;
    core.axes.push_back(std::move(*largest));
    left.erase(largest);
  }
  return core;
}

// Turns the last axis, of (extent - 1) * stride + span elements, into rows of `span` elements, each
// `stride` after the previous one; false if rows overlap and a size has variables.
bool take_rows(GraphOp& ops, const sint& extent, const sint& stride, const sint& span) {
  if (certainly_le(span, stride)) {
    ops.pad_last(stride - span);
    ops.split_last(extent, stride);
    ops.shrink_last(0, span);
    return true;
  }
  // Repeat the axis and read it in rows of length + stride: within each repetition every row starts
  // `stride` later.
  const sint length = ops.last();
  if (!length.is_int() || !extent.is_int() || !stride.is_int()) return false;
  const sint row = length + stride, all = extent * row;
  const sint repeats = floor_div(all - 1, length) + 1;
  Shape shape = ops.shape();
  shape.insert(shape.end() - 1, 1);
  ops.reshape(shape);
  shape[shape.size() - 2] = repeats;
  ops.expand(shape);
  shape.pop_back();
  shape.back() = repeats * length;
  ops.reshape(std::move(shape));
  ops.shrink_last(0, all);
  ops.split_last(extent, row);
  ops.shrink_last(0, span);
  return true;
}

// Extends the flat axis to that size: outer views may skip a part beyond the buffer.
void make_reach(GraphOp& ops, const sint& size) {
  if (!certainly_le(size, ops.last())) ops.pad_last(shapetracker::larger(size - ops.last(), 0));
}

// Forms the axes with a stride, in order, from one flat axis.
bool make_core(GraphOp& ops, const Core& core) {
  if (!certainly_le(0, core.low)) return false;
  make_reach(ops, core.low + core.span);
  if (!certainly_le(core.low + core.span, ops.last())) return false;
  ops.shrink_last(core.low, core.low + core.span);
  sint span = core.span;
  std::vector<std::int64_t> steps;
  for (std::size_t i = 0; i < core.axes.size(); ++i) {
    const Axis& axis = core.axes[i];
    span = span - axis.stride * (axis.extent - 1);
    std::int64_t step = 1;
    if (i + 1 == core.axes.size() && axis.stride.is_int())
      step = axis.stride.as_int();
    else if (!take_rows(ops, axis.extent, axis.stride, span))
      return false;
    steps.push_back(axis.flipped ? -step : step);
  }
  steps.resize(ops.shape().size(), 1);
  ops.stride(std::move(steps));
  Shape shape;
  std::vector<int> order(core.axes.size());
  for (const Axis& axis : core.axes) shape.push_back(axis.extent);
  ops.reshape(std::move(shape));
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, {},
                    [&](int i) { return core.axes[static_cast<std::size_t>(i)].number; });
  ops.permute(std::move(order));
  return true;
}

/// Writes one view over one flat axis, in several ways.
class ViewWriter {
 public:
  explicit ViewWriter(const View& view) : view_(view) {
    for (std::size_t i = 0; i < view.shape().size(); ++i) {
      const auto [begin, end] = valid_range(view, i);
      wide_.push_back(end - begin);
      thin_.push_back(view.strides()[i] == sint(0) ? sint(1) : wide_.back());
      padding_.emplace_back(begin, view.shape()[i] - end);
    }
  }

  // Without AsStrided; false if the bounds do not determine the signs or the order of the strides.
  bool by_rows(GraphOp& ops) const {
    const std::optional<Core> core = core_of(view_);
    if (!core || !make_core(ops, *core)) return false;
    ops.reshape(thin_);
    finish(ops);
    return true;
  }
  bool as_strided(GraphOp& ops) const {
    make_reach(ops, address_range(view_).second + 1);
    ops.as_strided(thin_, view_.strides(), first_address(view_));
    finish(ops);
    return true;
  }
  // AsStrided with every axis: an empty axis without a stride means that nothing is read.
  bool as_strided_whole(GraphOp& ops) const {
    make_reach(ops, address_range(view_).second + 1);
    ops.as_strided(wide_, view_.strides(), first_address(view_));
    finish(ops);
    return true;
  }

 private:
  // Completes the view from its axes with a stride.
  void finish(GraphOp& ops) const {
    ops.expand(wide_);
    ops.pad(padding_);
  }

  const View& view_;
  Shape thin_, wide_;  // axes without a stride: one element, then all valid ones
  Padding padding_;
};

// From some axes to the view. Throws ShapeError if no variant is proved correct for all values of
// the variables.
void make_view(GraphOp& ops, const View& view) {
  ops.reshape({touchstone::elements(ops.shape())});
  if (view.nothing_valid()) {
    ops.shrink_last(0, 0);
    ops.pad_last(view.size());
    ops.reshape(view.shape());
    return;
  }
  if (view.is_contiguous() && certainly_eq(view.size(), ops.last())) {
    ops.reshape(view.shape());
    return;
  }
  const ViewWriter writer(view);
  std::string refused = "the bounds do not determine the order of its strides";
  for (const auto write :
       {&ViewWriter::by_rows, &ViewWriter::as_strided, &ViewWriter::as_strided_whole}) {
    GraphOp attempt = ops;
    try {
      if (!(writer.*write)(attempt)) continue;
      ops = std::move(attempt);
      return;
    } catch (const OverflowError& error) {  // an intermediate shape is too large
      refused = error.what();
    } catch (const ShapeError& error) {
      refused = error.what();
    }
  }
  throw ShapeError(refused);
}

}  // namespace

std::vector<MovementOp> to_movement_ops(const ShapeTracker& tracker, const sint& elements) {
  if (!certainly_le(tracker.real_size(), elements))
    throw ShapeError(fmt::format("to_movement_ops: {} reaches {} elements, the buffer has {}",
                                 tracker.str(), tracker.real_size(), elements.str()));
  const bool concrete =
      elements.is_int() && std::ranges::all_of(tracker.views(), &View::is_concrete);
  GraphOp ops({elements}, !concrete);
  for (const View& view : tracker.views()) try {
      make_view(ops, view);
    } catch (const ShapeError& refused) {
      throw ShapeError(
          fmt::format("to_movement_ops: no operations for {} are proved correct for all values of "
                      "the variables ({}); bind them first",
                      view.str(), refused.what()));
    }
  return ops.list();
}

std::vector<MovementOp> to_movement_ops(const ShapeTracker& tracker) {
  return to_movement_ops(tracker, tracker.real_size());
}

ShapeTracker apply(const ShapeTracker& tracker, const MovementOp& op) {
  switch (op.kind) {
    case OpKind::Reshape: return tracker.reshape(op.shape);
    case OpKind::Permute: return tracker.permute(op.order);
    case OpKind::Expand: return tracker.expand(op.shape);
    case OpKind::Pad: return tracker.pad(op.ends);
    case OpKind::Shrink: return tracker.shrink(op.ends);
    case OpKind::Stride: return tracker.stride(op.steps);
    case OpKind::AsStrided: return tracker.as_strided(op.shape, op.strides, op.offset);
  }
  return tracker;
}

std::string MovementOp::str() const {
  switch (kind) {
    case OpKind::Reshape: return "reshape " + touchstone::str(shape);
    case OpKind::Permute: return fmt::format("permute ({})", fmt::join(order, ", "));
    case OpKind::Expand: return "expand " + touchstone::str(shape);
    case OpKind::Pad: return "pad " + shapetracker::str(ends);
    case OpKind::Shrink: return "shrink " + shapetracker::str(ends);
    case OpKind::Stride: return fmt::format("stride ({})", fmt::join(steps, ", "));
    case OpKind::AsStrided:
      return fmt::format("as_strided {} strides {} offset {}", touchstone::str(shape),
                         touchstone::str(strides), offset.str());
  }
  return "";
}

}  // namespace touchstone
