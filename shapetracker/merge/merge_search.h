#pragma once

#include <vector>

#include "touchstone/shapetracker/merge/merge.h"
#include "touchstone/shapetracker/view/flat_view.h"

namespace touchstone::shapetracker {

using Point = Small<std::int64_t>;

/// A direction of a box: index `axis` advances by `step`, `extent` (>= 2) positions.
struct BoxDim {
  std::size_t axis;
  std::int64_t step;
  std::int64_t extent;
};

/// A box of points: low + sum(z_i * step_i * e_axis_i), 0 <= z_i < extent_i. Splitting a dim by
/// digits leaves two dims on one axis.
struct Box {
  Point low;
  Small<BoxDim> dims;
};

/// The flat index into the outermost FlatView: base + sum(stride * point).
struct FlatIndex {
  std::int64_t base;
  Point strides;  // per axis, all nonzero

  std::int64_t at(const Point& point) const {  // sums wrap; those of points fit 64 bits
    std::uint64_t k = wrap(base);
    for (std::size_t i = 0; i < point.size(); ++i) k += wrap(strides[i]) * wrap(point[i]);
    return static_cast<std::int64_t>(k);
  }
  /// The change with each position along a dim.
  std::int64_t slope(const BoxDim& dim) const {
    return static_cast<std::int64_t>(wrap(strides[dim.axis]) * wrap(dim.step));
  }
};

/// The address of flat index k through the views, outermost first.
std::optional<std::int64_t> follow_flat(std::span<const FlatView> views, std::int64_t k);

/// Exact queries about a chain of flat views by splitting boxes, within a budget of boxes.
class MergeSearch {
 public:
  enum class Truth : std::uint8_t { Yes, No, Unknown };
  struct Found {
    Truth truth;
    Point point;
  };

  /// views: outermost first; the flat index of every queried point must lie within them.
  /// keep_evidence: enables counterexample().
  MergeSearch(const FlatIndex& index, std::span<const FlatView> views, int budget,
              bool keep_evidence = false)
      : index_(index), views_(views), budget_(budget), keep_evidence_(keep_evidence) {}

  /// A valid point of the box, or the proof that there is none.
  Found find(Box box);
  /// Tests that every point of the box is valid with address base + sum(slopes * (point - low)).
  Truth is_affine(const Box& box, std::int64_t base, const Point& slopes);
  std::optional<std::int64_t> at(const Point& point) const;

  /// at_low + sum(slopes * z) on a box, one slope for each dim.
  struct Line {
    std::int64_t at_low;
    Point slopes;
  };
  enum class Step : std::uint8_t { Dropped, Settled, Open };
  /// Where to split a box: at multiples of `weight` or, within one period of it, where line mod
  /// weight reaches the mask bound `bound` (0: none).
  struct Border {
    std::int64_t weight = 0;
    std::int64_t bound = 0;
  };
  /// The result of following a box through the views. Dropped: no point is valid. Settled: all are,
  /// with address `line`. Open: neither in some view; `line` enters it, and the box must be split
  /// at `border`.
  struct Course {
    Step step;
    Line line;
    Border border = {};
  };
  Course follow(const Box& box) const;
  /// Appends the parts of the box, split where the border's digit changes.
  static void split(const Box& box, const Line& line, Border border, std::vector<Box>& boxes);

  int nodes() const { return nodes_; }
  /// After is_affine returned No with evidence kept: a point of the box that is invalid or has
  /// another address.
  const Point& counterexample() const { return counterexample_; }
  /// After is_affine returned Yes: some relevant floor(k / weight) is not affine on the box, but
  /// the jumps of such floors cancel.
  bool carries_cancelled() const { return carries_cancelled_; }

 private:
  /// line = weight * (affine) + residual, with the residual in [min, max]; `affine` iff that range
  /// lies in [0, weight): then floor(line / weight) is the affine part.
  struct Residual {
    std::int64_t at_low;
    Point slopes;
    Point quotients;
    Wide min, max;
    bool affine;
  };
  struct Stop {
    Step step;
    std::int64_t weight = 0;  // Open: the weight to split at
  };

  static Residual residual(const Line& line, const Box& box, std::int64_t weight);
  static std::int64_t steps_to(std::int64_t bound, const Residual& rest, const Box& box,
                               std::size_t dim);
  static Stop tighten(const FlatView& view, Box& box, Line& line);
  static Step tighten_level(const Level& level, const Residual& residual, Box& box, Line& line);
  static bool narrow(std::size_t dim, std::int64_t first, std::int64_t last, Box& box, Line& line);
  static std::int64_t descend(const FlatView& view, const Box& box, Line& line);
  static std::optional<std::size_t> carry_alone(std::span<const Wide> jumps);

  Line line(const Box& box) const;
  Stop narrow_through(Box& box, Line& line) const;
  bool agrees(const Point& point);
  bool agrees_at_samples(const Box& box);
  Stop match(const Box& box, Line& line);
  void keep_corner(const Box& box, const Point& slopes, bool highest);
  void keep_bent(const Box& box, const Line& line, std::int64_t weight);

  const FlatIndex& index_;
  std::span<const FlatView> views_;
  int budget_;
  bool keep_evidence_;
  bool carries_cancelled_ = false;
  int nodes_ = 0;
  Point counterexample_;
  // The candidate tested by is_affine.
  Point origin_;
  std::int64_t base_ = 0;
  Point slopes_;
};

/// The outermost view as the search sees it: the valid indices of the relevant axes, counted from
/// 0.
struct Outer {
  FlatIndex index;
  Box box;
  Small<std::size_t> axes;     // axis of the view
  Small<std::int64_t> begins;  // first valid index of each

  /// view: concrete, with a valid point.
  explicit Outer(const View& view);
};

/// The valid points if they form a box: [low, high] for each axis of an Outer.
struct Valid {
  Point low, high;
};

/// The only candidate for a single view: base + sum(slopes * (point - low)) on the valid box.
struct Candidate {
  Valid valid;
  std::int64_t base = 0;
  Point slopes;
};

inline bool fits(Wide value) { return value >= INT64_MIN && value <= INT64_MAX; }

}  // namespace touchstone::shapetracker
