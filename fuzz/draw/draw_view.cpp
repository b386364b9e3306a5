#include <algorithm>
#include <ranges>

#include "touchstone/fuzz/draw/draw_kernel.h"
#include "touchstone/fuzz/judge/values.h"
#include "touchstone/shapetracker/invert/movement_ops.h"

namespace touchstone::fuzz {
namespace {

using Sizes = std::vector<std::int64_t>;
using Kind = MovementOp::Kind;

// An operation that gives `shape`, which becomes its operand's.
MovementOp op_before(Chooser& chooser, Sizes& shape) {
  constexpr Kind kKinds[] = {Kind::Permute, Kind::Expand, Kind::Pad,
                             Kind::Shrink,  Kind::Stride, Kind::Reshape};
  MovementOp op{.kind = kKinds[chooser.below(6)], .shape = {shape.begin(), shape.end()}};
  if (op.kind == Kind::Permute) {
    op.order = chooser.order<int>(shape.size());
    const Sizes wanted = shape;
    for (std::size_t i = 0; i < wanted.size(); ++i)
      shape[static_cast<std::size_t>(op.order[i])] = wanted[i];
  } else if (op.kind == Kind::Reshape) {  // any factorisation of the element count, with some 1s
    if (const std::int64_t elements = product(shape); elements > 0)
      shape = chooser.factors(elements, 4);
    else
      shape.insert(shape.begin() + chooser.index(shape.size() + 1), 1);
  } else {
    for (std::int64_t& size : shape) {
      if (op.kind == Kind::Expand) {
        if (chooser.chance(1, 2)) size = 1;
      } else if (op.kind == Kind::Stride) {
        constexpr std::int64_t kSteps[] = {1, -1, 2, -2, 3};
        op.steps.push_back(kSteps[chooser.below(5)]);
        const std::int64_t by = std::abs(op.steps.back());
        if (size > 0) size = (size - 1) * by + 1 + chooser.between(0, by - 1);
      } else {
        const bool pads = op.kind == Kind::Pad;
        const std::int64_t a = chooser.between(0, pads ? std::min<std::int64_t>(size, 2) : 2);
        const std::int64_t b = chooser.between(0, pads ? std::min<std::int64_t>(size - a, 2) : 1);
        op.ends.emplace_back(a, pads ? b : a + size);
        size += pads ? -a - b : a + b;
      }
    }
  }
  return op;
}

}  // namespace

ShapeTracker draw_view(Chooser& chooser, const std::vector<std::int64_t>& shape) {
  Sizes base = shape;
  std::vector<MovementOp> ops;  // last first
  for (std::uint64_t count = chooser.below(6); count > 0; --count)
    if (product(base) < 4096) ops.push_back(op_before(chooser, base));
  ShapeTracker st = ShapeTracker::contiguous({base.begin(), base.end()});
  for (const MovementOp& op : std::views::reverse(ops)) st = apply(st, op);
  return st;
}

}  // namespace touchstone::fuzz
