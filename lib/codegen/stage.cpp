#include "touchstone/codegen/stage.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>

namespace touchstone::codegen {

namespace {

constexpr std::size_t kMostLoops = 64;  // that a bit set can hold

struct Part {
  std::uint64_t loops = 0;  // that it depends on
  bool gains = false;       // it contains an op, or a load with non-adjacent lanes
  bool free = true;         // of reduces
};

class Planner {
 public:
  Planner(const TermLoops& loops, const Dependence& dependence, const SlideOf& slide_of,
          LayoutSizes& sizes)
      : loops_(loops), dependence_(dependence), slide_of_(slide_of), sizes_(sizes) {}

  std::vector<Stage> plan(const LazyOpPtr& term) {
    std::unordered_set<const LazyOp*> own;  // belongs to this reduce, not to a nested one
    walk(*term, [&](const LazyOp& node) {
      own.insert(&node);
      return !is_reduce(node.op());
    });
    for (const LazyOpPtr& node : toposort(term))
      if (own.contains(node.get())) describe(*node);
    std::vector<Stage> stages;
    walk(*term, [&](const LazyOp& node) {
      const bool is_value = !loops_.fused || &node != term.get();
      const auto stage = is_value ? worthwhile(node) : std::nullopt;
      if (stage) {
        (stage->packed ? sizes_.packed_bytes : sizes_.staged_bytes) -=
            stage->elements * bytes_of(node);
        stages.push_back(*stage);
      }
      return !stage && !is_reduce(node.op());
    });
    return stages;
  }

 private:
  // Visits each node once from the term down, descending where `visit` returns true.
  template <class Visit>
  static void walk(const LazyOp& term, const Visit& visit) {
    std::vector<const LazyOp*> open{&term};
    std::unordered_set<const LazyOp*> seen{&term};
    while (!open.empty()) {
      const LazyOp* const node = open.back();
      open.pop_back();
      if (!visit(*node)) continue;
      for (const LazyOpPtr& s : node->src())
        if (seen.insert(s.get()).second) open.push_back(s.get());
    }
  }

  static std::int64_t bytes_of(const LazyOp& node) {
    return static_cast<std::int64_t>(itemsize(node.dtype()));
  }
  static bool depends(const Part& part, std::size_t loop) { return part.loops >> loop & 1; }

  // A load never leaves a loop that may run zero times, since its address may then be invalid.
  static bool certainly_runs(const sint& size) { return size.min().value_or(0) >= 1; }

  void describe(const LazyOp& node) {
    Part part;
    part.free = !is_reduce(node.op()) && node.op() != Op::Gather;
    if (is_reduce(node.op())) {
      parts_.emplace(&node, part);
      return;
    }
    if (node.op() == Op::Load) part.loops = dependence_(node.buffer().st);
    if (node.op() == Op::Const) part.loops = dependence_(node.constant().st);
    part.gains = (is_pointwise(node.op()) && node.op() != Op::Noop) ||
                 (node.op() == Op::Load && depends(part, loops_.lane()) &&
                  is_better_packed(node, loops_.lane_axis, loops_.far_axes, sizes_));
    for (const LazyOpPtr& s : node.src()) {
      const Part& operand = parts_.at(s.get());
      part.loops |= operand.loops;
      part.gains = part.gains || operand.gains;
      part.free = part.free && operand.free;
    }
    parts_.emplace(&node, part);
  }

  std::optional<Stage> worthwhile(const LazyOp& node) const {
    const Part& part = parts_.at(&node);
    if (!part.free || !part.gains) return std::nullopt;
    Stage stage;
    stage.node = &node;
    for (std::size_t i = 0; i < loops_.reduced.size(); ++i)
      if (depends(part, loops_.first_reduced() + i)) stage.reduced.push_back(i);
    if (stage.reduced.empty()) return std::nullopt;
    for (std::size_t i = 0; i < loops_.rows.size(); ++i)
      if (depends(part, loops_.row(i)) || !certainly_runs(loops_.rows[i])) stage.rows = i + 1;
    stage.lanes = depends(part, loops_.lane()) || (loops_.tiled && depends(part, loops_.outer));
    if (!stage.lanes)
      return fits(stage, sizes_.staged_bytes, node) ? std::optional(stage) : std::nullopt;
    if (rows_that_share(stage) < sizes_.least_reuse && !turns(node)) return std::nullopt;
    stage.slide = slide_of_(node);
    Stage tile = stage;
    stage.width = loops_.axis;
    if (stage.rows <= loops_.outer && fits(stage, sizes_.staged_bytes, node)) return stage;
    tile.width = loops_.lanes;
    tile.packed = loops_.packed && tile.rows <= loops_.outer;
    return tile.packed && fits(tile, sizes_.packed_bytes, node) ? std::optional(tile)
                                                                : std::nullopt;
  }

  bool turns(const LazyOp& node) const {
    return node.op() == Op::Load && is_turned(node, loops_.lane_axis, loops_.far_axes);
  }

  // Counts the elements, storing one loop's terms as further lanes if that needs fewer.
  bool fits(Stage& stage, std::int64_t bytes, const LazyOp& node) const {
    if (stage.slide) {
      std::int64_t with = 0, without = 0;
      const std::int64_t wide = stage.slide->width(stage.width);
      const bool fewer =
          !__builtin_mul_overflow(stage.slide->phases, wide, &with) &&
          (__builtin_mul_overflow(stage.slide->terms, stage.width, &without) || with < without);
      if (fewer)
        stage.width = wide;
      else
        stage.slide.reset();
    }
    stage.elements = stage.lanes ? stage.width : 1;
    for (const std::size_t i : stage.reduced) {
      const bool slides = stage.slide && stage.slide->reduced == i;
      if (__builtin_mul_overflow(stage.elements,
                                 slides ? stage.slide->phases : loops_.reduced[i].as_int(),
                                 &stage.elements))
        return false;
    }
    return stage.elements >= sizes_.least_staged && stage.elements <= bytes / bytes_of(node);
  }

  // One block reads like a single row.
  std::int64_t rows_that_share(const Stage& stage) const {
    std::int64_t rows = 1;
    for (std::size_t i = stage.rows; i < loops_.rows.size(); ++i)
      rows = std::min(rows * loops_.rows[i].min().value_or(1), sizes_.least_reuse);
    return rows == 1 ? 1 : rows * loops_.block;
  }

  const TermLoops& loops_;
  const Dependence& dependence_;
  const SlideOf& slide_of_;
  LayoutSizes& sizes_;
  std::unordered_map<const LazyOp*, Part> parts_;
};

}  // namespace

symbolic::Node Slide::moved(symbolic::Node term) const {
  return (phases > 1 ? floor_div(term, symbolic::Node(phases))
          : back     ? symbolic::Node(first()) - term
                     : term) *
         symbolic::Node(step);
}

std::vector<Stage> plan_stages(const LazyOpPtr& term, const TermLoops& loops,
                               const Dependence& dependence, const SlideOf& slide_of,
                               LayoutSizes& sizes) {
  if (term->src().empty() || loops.lane() >= kMostLoops) return {};
  if (!std::ranges::all_of(loops.reduced, [](const sint& size) { return size.is_int(); }))
    return {};
  return Planner(loops, dependence, slide_of, sizes).plan(term);
}

}  // namespace touchstone::codegen
