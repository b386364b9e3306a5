#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "touchstone/fuzz/choice/chooser.h"
#include "touchstone/shapetracker/invert/movement_ops.h"

namespace touchstone::fuzz {

/// Draws movement operations on a concrete shape, which each replaces by its result's.
class MovementDraw {
 public:
  using Kind = MovementOp::Kind;
  using Sizes = std::vector<std::int64_t>;

  MovementDraw(Chooser& chooser, Sizes& shape) : chooser_(chooser), shape_(shape) {}

  MovementOp permute() {
    MovementOp op{.kind = Kind::Permute, .order = chooser_.order<int>(shape_.size())};
    Sizes now;
    for (const int axis : op.order) now.push_back(shape_[static_cast<std::size_t>(axis)]);
    shape_ = std::move(now);
    return op;
  }
  MovementOp reshape(Sizes to) { return becomes(Kind::Reshape, std::move(to)); }
  MovementOp expand(Sizes to) { return becomes(Kind::Expand, std::move(to)); }
  /// `steps(size)`: the step along an axis.
  template <class Steps>
  MovementOp stride(const Steps& steps) {
    MovementOp op{.kind = Kind::Stride};
    for (std::int64_t& size : shape_) {
      op.steps.push_back(steps(size));
      const std::int64_t by = std::abs(op.steps.back());
      size = (size + by - 1) / by;
    }
    return op;
  }
  /// `ends(size)`: elements before and after that Pad adds and Shrink drops. Pads no axis that
  /// would give more than `most` elements, counted without empty axes.
  template <class Ends>
  MovementOp ends(Kind kind, const Ends& ends, std::int64_t most = INT64_MAX) {
    MovementOp op{.kind = kind};
    for (std::int64_t& size : shape_) {
      auto [a, b] = ends(size);
      const std::int64_t old = std::exchange(size, kind == Kind::Pad ? size + a + b : size - a - b);
      if (kind == Kind::Pad && bulk(shape_) > most) {
        a = b = 0;
        size = old;
      }
      op.ends.emplace_back(a, kind == Kind::Pad ? b : old - b);
    }
    return op;
  }

  /// The element count ignoring axes of size 0.
  static std::int64_t bulk(const Sizes& shape) {
    std::int64_t n = 1;
    for (const std::int64_t size : shape) n *= std::max<std::int64_t>(size, 1);
    return n;
  }

 private:
  MovementOp becomes(Kind kind, Sizes to) {
    shape_ = std::move(to);
    return {.kind = kind, .shape = {shape_.begin(), shape_.end()}};
  }

  Chooser& chooser_;
  Sizes& shape_;
};

}  // namespace touchstone::fuzz
