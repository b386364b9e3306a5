#pragma once

#include <vector>

#include "touchstone/shapetracker/flat_view.h"
#include "touchstone/shapetracker/merge.h"

namespace touchstone::shapetracker {

using Point = Small<std::int64_t>;

/// One direction of a box: index `axis` advances by `step`, `extent` times (2 or more).
struct BoxDim {
  std::int32_t axis;
  std::int64_t step;
  std::int64_t extent;
};

/// A box of points: low + sum(z_i * step_i * e_axis_i), 0 <= z_i < extent_i. Splitting a dim by
/// digits puts two dims on one axis.
struct Box {
  Point low;
  Small<BoxDim> dims;
};

/// The flat index that enters the outermost FlatView: base + sum(stride * point).
struct FlatIndex {
  std::int64_t base;
  Point strides;  // per axis, none 0
};

/// Exact questions about a chain of flat views, by splitting boxes; every box looked at counts.
class MergeSearch {
 public:
  enum class Truth : std::uint8_t { Yes, No, Unknown };
  struct Found {
    Truth truth;
    Point point;
  };

  /// views: outermost first. The index of every point asked about must lie within the views.
  MergeSearch(const FlatIndex& index, std::span<const FlatView> views, int budget)
      : index_(index), views_(views), budget_(budget) {}

  /// A valid point of the box, or the proof that it has none.
  Found find(Box box);
  /// Whether every point of the box is valid with address base + sum(slopes * (point - low)).
  Truth is_affine(const Box& box, std::int64_t base, const Point& slopes);
  std::optional<std::int64_t> at(const Point& point) const;

  int nodes() const { return nodes_; }

 private:
  struct Line;      // an affine value on a box
  struct Residual;  // the value modulo a weight
  enum class Step : std::uint8_t { Dropped, Settled, Open };
  struct Stop {
    Step step;
    std::int64_t weight = 0;  // Open: where to split
  };

  static Residual residual(const Line& line, const Box& box, std::int64_t weight);
  static Stop tighten(const FlatView& view, Box& box, Line& line);
  static Step tighten_level(const Level& level, const Residual& residual, Box& box, Line& line);
  static bool narrow(std::size_t dim, std::int64_t first, std::int64_t last, Box& box, Line& line);
  static std::int64_t descend(const FlatView& view, const Box& box, Line& line);
  static void split(const Box& box, const Line& line, std::int64_t weight, std::vector<Box>& boxes);
  static bool carries_may_cancel(std::span<const Wide> jumps);

  Line line(const Box& box) const;
  Stop narrow_through(Box& box, Line& line) const;
  bool agrees(const Point& point) const;
  bool agrees_at_samples(const Box& box) const;
  Stop match(const Box& box, Line& line) const;

  const FlatIndex& index_;
  std::span<const FlatView> views_;
  int budget_;
  int nodes_ = 0;
  // The candidate of is_affine.
  Point origin_;
  std::int64_t base_ = 0;
  Point slopes_;
};

}  // namespace touchstone::shapetracker
