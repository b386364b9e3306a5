#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "touchstone/codegen/lanes.h"
#include "touchstone/ops/lazy_op.h"

namespace touchstone::codegen {

/// The loops around one term of a reduce in lanes, outermost first: rows outside the tiles, tiles,
/// other rows, reduce, lanes.
struct TermLoops {
  std::vector<sint> rows;     // sizes of the output loops except the lanes
  std::size_t outer = 0;      // number of them outside the tiles
  bool packed = false;        // those inside share packed arrays
  bool fused = false;         // the term is a product fused into the sum
  bool tiled = false;         // there is a loop over tiles of the lane axis
  std::vector<sint> reduced;  // sizes of the reduce loops
  std::size_t lane_axis = 0;  // of the views
  std::vector<int> far_axes;  // of the views: the reduce axes, if tiles are packed
  std::int64_t axis = 0;      // its size over all tiles
  std::int64_t lanes = 0;     // per tile
  std::int64_t block = 1;     // rows inside all these loops

  std::size_t row(std::size_t i) const { return i + (tiled && i >= outer ? 1 : 0); }
  std::size_t first_reduced() const { return rows.size() + (tiled ? 1 : 0); }
  std::size_t lane() const { return first_reduced() + reduced.size(); }
};

/// Adjacent terms of a reduce loop that see the lanes shifted, as in a convolution: term r of a
/// lane equals term r % phases shifted by `r / phases * step` lanes; phases or step is 1. With
/// `back` the shift runs from the last term to the first, and phases is 1.
struct Slide {
  std::size_t reduced = 0;  // the loop
  std::int64_t terms = 0;   // of that loop
  std::int64_t phases = 1, step = 1;
  bool back = false;
  bool dense = false;  // adjacent terms are adjacent in memory

  /// The term that is computed for all others if there is one phase.
  std::int64_t first() const { return back ? terms - 1 : 0; }
  /// The number of lanes a term is shifted by.
  symbolic::Node moved(symbolic::Node term) const;
  /// The array width for `lanes` lanes.
  std::int64_t width(std::int64_t lanes) const { return lanes + (terms - 1) / phases * step; }
  bool operator==(const Slide&) const = default;
};

/// A part of the term precomputed into an array, for all reduce indices that it depends on and, if
/// it depends on the lane, for the whole lane axis or a tile.
struct Stage {
  const LazyOp* node = nullptr;
  std::size_t rows = 0;              // number of row loops around it
  std::vector<std::size_t> reduced;  // the reduce loops that it depends on
  bool lanes = false;                // it depends on the lane or the tile
  bool packed = false;               // it is inside the tile loop and holds one tile
  std::int64_t width = 0;            // along the lanes
  std::optional<Slide> slide;        // set if one loop's terms are stored as further lanes
  std::int64_t elements = 0;

  /// True if all phases of a row are read at once, in memory order.
  bool reads_rows() const {
    return slide && slide->dense && slide->phases > 1 && slide->phases <= 8 && lanes &&
           width <= 1024;
  }
};

/// Bit i: the view depends on loop i of TermLoops, counted from the outermost.
using Dependence = std::function<std::uint64_t(const ShapeTracker&)>;

/// How a node's terms slide along the lanes.
using SlideOf = std::function<std::optional<Slide>(const LazyOp&)>;

/// Chooses the parts of `term` that pay for an array: those shared by all lanes, which would be
/// computed one by one between vectors, and those shared by several rows that would be recomputed
/// for each or have non-adjacent lanes. All arrays of a kernel fit in the bytes of `sizes`; what
/// they use is subtracted.
std::vector<Stage> plan_stages(const LazyOpPtr& term, const TermLoops& loops,
                               const Dependence& dependence, const SlideOf& slide_of,
                               LayoutSizes& sizes);

}  // namespace touchstone::codegen
