#include "touchstone/codegen/lanes.h"

#include <algorithm>
#include <cstdlib>
#include <unordered_set>

#include "touchstone/codegen/c_functions.h"
#include "touchstone/codegen/turned_copies.h"
#include "touchstone/ops/node_order.h"
#include "touchstone/ops/still_axes.h"
#include "touchstone/shapetracker/ask/access.h"

namespace touchstone::codegen {

namespace {

constexpr std::int64_t kAliasLanes = 16;    // if adjacent elements share a cache set
constexpr std::int64_t kAliasBytes = 4096;  // elements multiples of this apart share a cache set

constexpr std::int64_t kSide = TurnedCopy::kSide;

std::int64_t terms(const LazyOp& reduce) {
  sint product = 1;
  for (const int axis : reduce.reduce_arg().axes)
    product = product * reduce.src()[0]->shape()[static_cast<std::size_t>(axis)];
  return product.max().value_or(0);
}

// The lanes that suit a load along the axis.
std::int64_t lanes_for(const LazyOp& load, std::size_t axis, const LayoutSizes& sizes) {
  const auto stride = real_strides(load.buffer().st, true)[axis];
  if (!stride || !stride->is_int()) return sizes.other_lanes;
  const std::int64_t step = stride->as_int();
  if (step >= -1 && step <= 1) return sizes.unit_lanes;
  const auto width = static_cast<std::int64_t>(itemsize(load.dtype()));
  return step % (kAliasBytes / width) == 0 ? kAliasLanes : sizes.other_lanes;
}

// How a view's address changes along each axis: the stride where valid, and whether parts may be
// masked.
class Walk {
 public:
  explicit Walk(const ShapeTracker& st) : apart_(real_strides(st, true)), sure_(real_strides(st)) {}
  bool moves_along(std::size_t axis) const { return !sure_[axis] || *sure_[axis] != sint(0); }
  bool is_masked_along(std::size_t axis) const { return apart_[axis] && !sure_[axis]; }
  bool reaches(std::size_t axis, std::int64_t elements) const {
    return apart_[axis] && apart_[axis]->is_int() && std::abs(apart_[axis]->as_int()) >= elements;
  }

 private:
  std::vector<std::optional<sint>> apart_, sure_;
};

bool is_better_packed(const LazyOp& load, const Walk& walk, std::size_t axis,
                      std::span<const int> reduced, const LayoutSizes& sizes) {
  const std::int64_t far = sizes.far_bytes / static_cast<std::int64_t>(itemsize(load.dtype()));
  return walk.reaches(axis, 2) || walk.is_masked_along(axis) ||
         std::ranges::any_of(reduced,
                             [&](int i) { return walk.reaches(static_cast<std::size_t>(i), far); });
}

// How a load is packed: once for the rows of axes [first, axis), which it does not depend on.
struct Packing {
  std::size_t first = 0;
  std::int64_t lanes = 0;
};
std::optional<Packing> packing(const LazyOp& load, const LazyOp& reduce, std::size_t axis,
                               const LayoutSizes& sizes) {
  const Shape& shape = load.shape();
  const Walk walk(load.buffer().st);
  if (!walk.moves_along(axis) ||
      !is_better_packed(load, walk, axis, reduce.reduce_arg().axes, sizes))
    return std::nullopt;
  auto bytes = static_cast<std::int64_t>(itemsize(load.dtype()));  // per lane
  for (const int reduced : reduce.reduce_arg().axes) {
    const auto i = static_cast<std::size_t>(reduced);
    if (!shape[i].is_int() || !walk.moves_along(i)) continue;
    if (__builtin_mul_overflow(bytes, shape[i].as_int(), &bytes)) return std::nullopt;
  }
  std::int64_t lanes = sizes.unit_lanes;
  while (lanes > sizes.packed_bytes / bytes) lanes /= 2;
  if (lanes < sizes.least_packed) return std::nullopt;
  std::size_t first = axis;
  std::int64_t rows = 1;
  while (first > 0 && !walk.moves_along(first - 1) && shape[first - 1].min().value_or(0) >= 1) {
    --first;
    rows = std::min(rows * shape[first].min().value_or(1), sizes.least_sharing);
  }
  if (rows < sizes.least_sharing && !is_turned(load, axis, reduce.reduce_arg().axes))
    return std::nullopt;
  return Packing{first, lanes};
}

struct Block {
  std::size_t axis = 0;
  std::int64_t rows = 1;  // 1: none
};

// The row axis nearest the lanes along which a load of the lanes is constant, and how many of its
// elements form a block: at most `rows`.
Block block_of(const LazyOpPtr& kernel, const std::vector<const LazyOp*>& loads, std::size_t axis,
               std::int64_t rows) {
  // By load: its strides.
  std::vector<std::vector<std::optional<sint>>> strides;
  for (const LazyOp* load : loads) strides.push_back(real_strides(load->buffer().st));
  for (std::size_t row = axis; row-- > 0;) {
    const sint& size = kernel->shape()[row];
    if (!size.is_int() || size.as_int() < 2) continue;
    if (std::ranges::none_of(
            strides, [&](const auto& s) { return s[axis] != sint(0) && s[row] == sint(0); }))
      continue;
    for (std::int64_t block = rows; block > 1; --block)
      if (size.as_int() % block == 0) return {row, block};
  }
  return {};
}

// True if the node takes no longer than the load below it.
bool is_cheap(const LazyOp* node) {
  const Op op = node->op();
  return !is_reduce(op) && !is_function(op) && op != Op::Gather && op != Op::Div && op != Op::Mod;
}

// True if adjacent elements along `row` read some of the same elements along `reduced`.
bool overlaps(const std::vector<std::optional<sint>>& apart, std::size_t row, std::size_t reduced,
              const sint& terms) {
  if (!apart[row] || !apart[row]->is_int() || !apart[reduced] || !apart[reduced]->is_int() ||
      !terms.is_int())
    return false;
  const std::int64_t step = apart[row]->as_int(), term = apart[reduced]->as_int();
  return step != 0 && term != 0 && step % term == 0 && step / term > 0 &&
         step / term < terms.as_int();
}

// A block of rows with overlapping windows, along the axis nearest the lanes, and the terms to
// unroll for it.
struct Windows {
  Block block;
  std::int64_t written = 0;  // 0: none
};
Windows windows_of(const LazyOpPtr& kernel, const std::vector<LazyOpPtr>& reduces, std::size_t axis,
                   std::int64_t lanes, const LayoutSizes& sizes) {
  const Shape& shape = kernel->shape();
  const std::int64_t vectors = (lanes + sizes.vector - 1) / sizes.vector;
  const std::int64_t most = std::min(sizes.written_vectors / vectors, kMostWritten);
  const DType dtype = reduces[0]->reduce_arg().accumulator;
  if (dtype != DType::Float32 && dtype != DType::Float64) return {};
  std::int64_t written = 0;
  std::optional<std::size_t> row;
  bool masked = false;
  for (const LazyOpPtr& reduce : reduces) {
    const std::int64_t count = terms(*reduce);
    if (count < 2 || count > most || reduce->reduce_arg().accumulator != dtype) return {};
    written = std::max(written, count);
    for (const LazyOp* node : ordered_nodes(reduce->src()[0])) {
      if (!is_cheap(node)) return {};
      if (node->op() != Op::Load) continue;
      const auto apart = real_strides(node->buffer().st, true);
      if (apart[axis] && *apart[axis] == sint(0)) continue;
      if (node->dtype() != dtype || !reads_vectors(*node, axis)) return {};
      masked = masked || real_strides(node->buffer().st) != apart;
      for (const int reduced : reduce->reduce_arg().axes) {
        const auto along = static_cast<std::size_t>(reduced);
        for (std::size_t i = row ? *row + 1 : 0; i < axis; ++i)
          if (shape[i].is_int() && overlaps(apart, i, along, node->shape()[along])) row = i;
      }
    }
  }
  const std::int64_t size = row ? shape[*row].as_int() : 1;
  for (std::int64_t rows = std::min(sizes.window_vectors, sizes.written_vectors / vectors /
                                                              std::max<std::int64_t>(written, 1));
       rows > 1; --rows)
    if (size % rows == 0 && rows <= sizes.window_vectors / vectors) return {{*row, rows}, written};
  return masked ? Windows{{}, written} : Windows{};
}

// True if elements along an axis may be different elements of a masked load.
bool is_masked_and_moves(const LazyOp& load, std::size_t axis) {
  const ShapeTracker& st = load.buffer().st;
  if (std::ranges::none_of(st.views(), [](const View& v) { return v.mask().has_value(); }))
    return false;
  const auto stride = real_strides(st, true)[axis];
  return !stride || *stride != sint(0);
}

std::int64_t lane_count(std::int64_t size, std::int64_t most, std::int64_t vector) {
  if (size <= most) return size;
  const std::int64_t tiles = (size + most - 1) / most;
  const std::int64_t even = (size + tiles - 1) / tiles;
  return (even + vector - 1) / vector * vector;
}

// The largest number of lanes from `least` to twice that which divides the axis; 0 if none does.
std::int64_t whole_tile(std::int64_t size, std::int64_t least, std::int64_t vector) {
  if (size <= 2 * least) return size;
  for (std::int64_t lanes = 2 * least; lanes > least; lanes -= vector)
    if (size % lanes == 0) return lanes;
  return 0;
}

}  // namespace

std::optional<std::size_t> last_axis(const Shape& shape) {
  std::size_t axis = shape.size();
  while (axis > 0 && shape[axis - 1] == sint(1)) --axis;
  if (axis == 0) return std::nullopt;
  return axis - 1;
}

bool reduces(const LazyOpPtr& kernel) {
  return std::ranges::any_of(ordered_nodes(kernel), [](auto* n) { return is_reduce(n->op()); });
}

namespace {

// A reduce, and the axes reduced above it: those along which it varies or may not be needed, and
// those along which it is constant.
struct Below {
  LazyOpPtr reduce;
  StillAxes moves, stays;
};

StillAxes axes_perhaps_empty(const Shape& shape) {
  StillAxes axes = 0;
  for (std::size_t i = 0; i < shape.size(); ++i)
    if (shape[i].min().value_or(0) < 1) axes |= i < 64 ? StillAxes{1} << i : ~StillAxes{0};
  return axes;
}

// Reduces that vary along the axis, operands before users.
std::vector<Below> reduces_that_differ(const LazyOpPtr& kernel, std::size_t axis) {
  const NodeMap<StillAxes> still = still_axes(kernel);
  const std::vector<LazyOpPtr> order = toposort(kernel);
  std::unordered_map<const LazyOp*, StillAxes> reduced, empty;  // above a node
  for (auto node = order.rbegin(); node != order.rend(); ++node) {
    StillAxes above = reduced[node->get()], none = empty[node->get()];
    if (is_reduce((*node)->op())) {
      above |= reduced_axes(**node);
      none |= axes_perhaps_empty((*node)->src()[0]->shape()) & reduced_axes(**node);
    }
    for (const LazyOpPtr& s : (*node)->src()) {
      reduced[s.get()] |= above;
      empty[s.get()] |= none;
    }
  }
  std::vector<Below> found;
  for (const LazyOpPtr& node : order) {
    if (!is_reduce(node->op())) continue;
    const StillAxes same = still[node.get()], above = reduced[node.get()];
    if (!is_still(same, axis))
      found.push_back({node, (above & ~same) | empty[node.get()], above & same});
  }
  return found;
}

// The axes in order, except that one moves to the place of a later one.
std::vector<int> order_with(std::size_t axis, std::size_t place, std::size_t rank) {
  std::vector<int> order;
  for (std::size_t i = 0; i < rank; ++i)
    if (i != axis) order.push_back(static_cast<int>(i));
  order.insert(order.begin() + static_cast<std::ptrdiff_t>(place), static_cast<int>(axis));
  return order;
}

}  // namespace

std::vector<LazyOpPtr> reduces_in_lanes(const LazyOpPtr& kernel, std::size_t axis) {
  const NodeMap<StillAxes> still = still_axes(kernel);
  std::unordered_set<const LazyOp*> above{kernel.get()};
  const std::vector<LazyOpPtr> order = toposort(kernel);
  std::vector<LazyOpPtr> found;
  for (auto node = order.rbegin(); node != order.rend(); ++node) {
    if (!above.contains(node->get())) continue;
    if (is_reduce((*node)->op())) {
      if (!is_still(still[node->get()], axis)) found.push_back(*node);
    } else {
      for (const LazyOpPtr& s : (*node)->src()) above.insert(s.get());
    }
  }
  std::ranges::reverse(found);
  return found;
}

std::vector<LazyOpPtr> reduces_by_lanes(const LazyOpPtr& kernel, std::size_t axis) {
  std::unordered_set<const LazyOp*> in_lanes;
  for (const LazyOpPtr& reduce : reduces_in_lanes(kernel, axis)) in_lanes.insert(reduce.get());
  std::vector<LazyOpPtr> found;
  for (const Below& below : reduces_that_differ(kernel, axis))
    if (in_lanes.contains(below.reduce.get()) || below.moves == 0) found.push_back(below.reduce);
  return found;
}

bool same_along(StillAxes still, const Shape& shape, std::size_t axis) {
  // Otherwise there may be nothing to read.
  return is_still(still, axis) && shape[axis].min().value_or(0) >= 1;
}

std::size_t outer_axes(const LazyOpPtr& kernel, std::size_t axis) {
  const NodeMap<StillAxes> still = still_axes(kernel);
  StillAxes all = ~StillAxes{0};
  for (const LazyOpPtr& reduce : reduces_by_lanes(kernel, axis)) all &= still[reduce.get()];
  std::size_t outer = axis;
  for (std::size_t i = axis; i-- > 0;) {
    if (kernel->shape()[i] == sint(1)) continue;
    if (!same_along(all, kernel->shape(), i)) break;
    outer = i;
  }
  return outer;
}

std::vector<int> order_of_columns(const LazyOpPtr& kernel, const LayoutSizes& sizes) {
  const Shape& shape = kernel->shape();
  const std::size_t last = last_axis(shape).value_or(0);
  if (last == 0 || !reduces_in_lanes(kernel, last).empty()) return {};
  if (std::ranges::any_of(shape, [](const sint& s) { return s.min().value_or(0) < 1; })) return {};
  const std::vector<const LazyOp*> nodes = ordered_nodes(kernel);
  for (std::size_t axis = last; axis-- > 0;) {
    if (!shape[axis].is_int() || shape[axis].as_int() < sizes.vector) continue;
    bool moves = false;
    const bool vectors = std::ranges::all_of(nodes, [&](const LazyOp* node) {
      if (node->op() != Op::Load) return node->op() != Op::Gather;
      const auto apart = real_strides(node->buffer().st)[axis];
      moves = moves || apart == sint(1);
      return apart == sint(0) || apart == sint(1);
    });
    if (!vectors || !moves) continue;
    const std::vector<int> order = order_with(axis, last, shape.size());
    const LazyOpPtr turned = with_axes(kernel, order);
    if (const auto plan = plan_lanes(turned, sizes); plan && plan->lanes >= sizes.vector)
      return order;
  }
  return {};
}

bool lanes_repeat_reduces(const LazyOpPtr& kernel, std::size_t axis) {
  return std::ranges::any_of(reduces_that_differ(kernel, axis), [](const Below& below) {
    return below.moves != 0 && below.stays != 0;
  });
}

StillAxes reduced_axes(const LazyOp& reduce) {
  StillAxes axes = 0;
  for (const std::size_t axis : looped_axes(reduce))
    axes |= axis < 64 ? StillAxes{1} << axis : ~StillAxes{0};
  return axes;
}

bool is_better_packed(const LazyOp& load, std::size_t axis, std::span<const int> reduced,
                      const LayoutSizes& sizes) {
  return is_better_packed(load, Walk(load.buffer().st), axis, reduced, sizes);
}

bool reads_vectors(const LazyOp& load, std::size_t axis) {
  const auto apart = real_strides(load.buffer().st, true)[axis];
  return apart && apart->is_int() && apart->as_int() >= 0 && apart->as_int() <= 2;
}

bool is_turned(const LazyOp& load, std::size_t axis, std::span<const int> reduced) {
  if (itemsize(load.dtype()) != 4) return false;
  const auto apart = real_strides(load.buffer().st);
  if (!apart[axis] || !apart[axis]->is_int() || std::abs(apart[axis]->as_int()) < kSide)
    return false;
  const Shape& shape = load.shape();
  std::int64_t terms = 0;
  for (const int reduce_axis : reduced) {
    const auto i = static_cast<std::size_t>(reduce_axis);
    if (shape[i] == sint(1)) continue;
    if (!apart[i]) return false;
    terms = *apart[i] == sint(1) && shape[i].is_int() ? shape[i].as_int() : 0;
  }
  return terms >= kSide;
}

std::vector<int> order_that_shares(const LazyOpPtr& kernel, const LayoutSizes& sizes) {
  const Shape& shape = kernel->shape();
  const std::size_t axis = last_axis(shape).value_or(0);
  if (axis == 0) return {};
  for (const LazyOpPtr& reduce : reduces_in_lanes(kernel, axis)) {
    for (const LazyOp* node : ordered_nodes(reduce)) {
      if (node->op() != Op::Load) continue;
      const Walk walk(node->buffer().st);
      if (!walk.moves_along(axis) ||
          !is_better_packed(*node, walk, axis, reduce->reduce_arg().axes, sizes))
        continue;
      std::vector<int> order, shared;
      std::int64_t rows = 1;
      for (std::size_t i = 0; i < axis; ++i) {
        const bool shares = !walk.moves_along(i) && shape[i].min().value_or(0) > 1;
        (shares ? shared : order).push_back(static_cast<int>(i));
        if (shares) rows = std::min(rows * shape[i].min().value_or(1), sizes.least_sharing);
      }
      if (rows < sizes.least_sharing) continue;
      order.insert(order.end(), shared.begin(), shared.end());
      for (std::size_t i = axis; i < shape.size(); ++i) order.push_back(static_cast<int>(i));
      if (std::ranges::is_sorted(order)) return {};
      return order;
    }
  }
  return {};
}

std::vector<int> order_of_whole_lanes(const LazyOpPtr& kernel, const LayoutSizes& sizes) {
  const Shape& shape = kernel->shape();
  const std::size_t last = last_axis(shape).value_or(0);
  if (last == 0 || !shape[last].is_int() || reduces_in_lanes(kernel, last).empty()) return {};
  const auto is_masked = [&](const LazyOpPtr& ordered) {
    return std::ranges::any_of(reduces_in_lanes(ordered, last), [&](const LazyOpPtr& reduce) {
      return std::ranges::any_of(ordered_nodes(reduce), [&](const LazyOp* node) {
        return node->op() == Op::Load && is_masked_and_moves(*node, last);
      });
    });
  };
  // Half a vector pays, except for masks if unmasked whole tiles exist.
  std::int64_t least = sizes.vector;
  const bool masked = shape[last].as_int() >= least;
  if (masked) {
    if (shape[last].as_int() >= 2 * least || !is_masked(kernel)) return {};
    least *= 4;
  }
  std::vector<int> best;
  std::pair<bool, std::int64_t> most{false, 0};
  for (std::size_t axis = 0; axis < last; ++axis) {
    if (!shape[axis].is_int() || shape[axis].as_int() < least) continue;
    std::vector<int> order = order_with(axis, last, shape.size());
    const LazyOpPtr turned = with_axes(kernel, order);
    const auto plan = plan_lanes(turned, sizes);
    if (!plan || plan->lanes < least) continue;
    const std::pair worth{!is_masked(turned), plan->lanes * plan->block};
    if (masked && !worth.first) continue;
    if (best.empty() || worth > most) {
      most = worth;
      best = std::move(order);
    }
  }
  return best;
}

std::optional<LanePlan> plan_lanes(const LazyOpPtr& kernel, const LayoutSizes& sizes) {
  const Shape& shape = kernel->shape();
  const auto last = last_axis(shape);
  if (!last) return std::nullopt;
  const std::size_t axis = *last;
  if (!shape[axis].is_int() || shape[axis].as_int() < sizes.least_axis) return std::nullopt;
  if (lanes_repeat_reduces(kernel, axis)) return std::nullopt;
  const auto reduces = reduces_in_lanes(kernel, axis);
  if (std::ranges::none_of(reduces, [&](const auto& r) { return terms(*r) >= sizes.least_axis; }))
    return std::nullopt;
  std::int64_t most = sizes.unit_lanes;
  std::size_t outer = 0;
  bool packed = false;
  std::vector<const LazyOp*> loads;  // not below a nested reduce
  for (const LazyOpPtr& reduce : reduces) {
    const std::vector<const LazyOp*> nodes = ordered_nodes(reduce);
    const auto inner = std::ranges::count_if(nodes, [](auto* n) { return is_reduce(n->op()); }) - 1;
    for (const LazyOp* node : nodes) {
      if (node->op() != Op::Load) continue;
      if (inner == 0) loads.push_back(node);
      const auto tile = inner > 0 ? std::nullopt : packing(*node, *reduce, axis, sizes);
      most = std::min(most, tile ? tile->lanes : lanes_for(*node, axis, sizes));
      if (tile) outer = std::max(outer, tile->first);
      packed = packed || tile.has_value();
    }
  }
  const std::int64_t size = shape[axis].as_int();
  Block block = block_of(kernel, loads, axis, sizes.block_rows);
  // Values shared by rows that are constant for all reduces are precomputed.
  if (block.axis >= outer_axes(kernel, axis)) block.rows = 1;
  if (block.rows > 1) most = std::min(most, sizes.block_lanes);
  std::int64_t lanes = lane_count(size, most, sizes.vector);
  // Prefer tiles of more lanes and half the rows to overlapping tiles.
  if (const std::int64_t wider =
          block.rows > 1 && size % lanes != 0 ? whole_tile(size, most, sizes.vector) : 0;
      wider > 0) {
    lanes = wider;
    block = block_of(kernel, loads, axis, sizes.block_rows / 2);
  }
  std::int64_t written = 0;
  if (block.rows == 1 && !packed) {
    std::int64_t whole = lane_count(size, sizes.unit_lanes, sizes.vector);
    // With few registers: one vector of each of several rows, rather than all of one row.
    if (whole > sizes.window_vectors / 2 * sizes.vector && size % sizes.vector == 0)
      whole = sizes.vector;
    if (const Windows windows = windows_of(kernel, reduces, axis, whole, sizes);
        windows.written > 0) {
      lanes = whole;
      block = windows.block;
      written = windows.written;
    }
  }
  return LanePlan{axis,   size,       lanes,      packed ? outer : axis,
                  packed, block.axis, block.rows, written};
}

}  // namespace touchstone::codegen
