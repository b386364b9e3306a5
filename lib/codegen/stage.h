#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "touchstone/codegen/lanes.h"
#include "touchstone/ops/lazy_op.h"

namespace touchstone::codegen {

/// The loops round one term of a reduce in lanes, outermost first: rows outside the tiles, tiles,
/// other rows, reduce, lanes.
struct TermLoops {
  std::vector<sint> rows;     // sizes of the output loops but that of the lanes
  std::size_t outer = 0;      // of them stand outside the tiles
  bool packed = false;        // those inside share what a tile packs
  bool fused = false;         // the term is a product that has no value of its own
  bool tiled = false;         // a loop over tiles of the axis of the lanes
  std::vector<sint> reduced;  // sizes of the loops of the reduce
  std::size_t lane_axis = 0;  // of the views
  std::vector<int> far_axes;  // of the views: those of the reduce where tiles are packed
  std::int64_t axis = 0;      // its size, all tiles together
  std::int64_t lanes = 0;     // of a tile
  std::int64_t block = 1;     // rows inside all of these

  std::size_t row(std::size_t i) const { return i + (tiled && i >= outer ? 1 : 0); }
  std::size_t first_reduced() const { return rows.size() + (tiled ? 1 : 0); }
  std::size_t lane() const { return first_reduced() + reduced.size(); }
};

/// Neighbouring terms of one loop of a reduce see the lanes moved on, as those of a convolution do:
/// term r of a lane takes what term r % phases has `r / phases * step` lanes on, where one of the
/// two is 1. With `back` they move from the last term to the first, and phases is 1.
struct Slide {
  std::size_t reduced = 0;  // the loop
  std::int64_t terms = 0;   // of it
  std::int64_t phases = 1, step = 1;
  bool back = false;
  bool dense = false;  // neighbouring terms are neighbours in memory

  /// The term that is computed for all of a phase, where there is one phase.
  std::int64_t first() const { return back ? terms - 1 : 0; }
  /// Lanes that a term is moved on by.
  symbolic::Node moved(symbolic::Node term) const;
  /// Of the array, for `lanes` of them.
  std::int64_t width(std::int64_t lanes) const { return lanes + (terms - 1) / phases * step; }
  bool operator==(const Slide&) const = default;
};

/// A part of the term that is computed ahead into an array, for all indices of the reduce that it
/// depends on, and where it depends on the lane for the whole axis of the lanes, or for a tile.
struct Stage {
  const LazyOp* node = nullptr;
  std::size_t rows = 0;              // stands inside so many of the row loops
  std::vector<std::size_t> reduced;  // the loops of the reduce that it depends on
  bool lanes = false;                // it depends on the lane, or the tile
  bool packed = false;               // stands inside the loop over tiles, and holds one
  std::int64_t width = 0;            // of it along the lanes
  std::optional<Slide> slide;        // where it has one loop's terms as further lanes
  std::int64_t elements = 0;

  /// Whether all phases of a row are read at once, in the order in which they lie in memory.
  bool reads_rows() const {
    return slide && slide->dense && slide->phases > 1 && slide->phases <= 8 && lanes &&
           width <= 1024;
  }
};

/// Bit i: what a view gives depends on loop i of TermLoops, counted from the outermost.
using Dependence = std::function<std::uint64_t(const ShapeTracker&)>;

/// How a node's terms may slide along the lanes.
using SlideOf = std::function<std::optional<Slide>(const LazyOp&)>;

/// Parts of `term` that pay for an array: such that all lanes share, which would be computed one by
/// one between vectors of lanes, and such that several rows share, where they are computed again
/// for each or their neighbouring lanes lie apart. Arrays of one kernel together take at most the
/// bytes that `sizes` has; what is taken is subtracted.
std::vector<Stage> plan_stages(const LazyOpPtr& term, const TermLoops& loops,
                               const Dependence& dependence, const SlideOf& slide_of,
                               LayoutSizes& sizes);

}  // namespace touchstone::codegen
