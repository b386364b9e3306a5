#include <algorithm>
#include <cassert>
#include <cstdlib>
#include <map>
#include <string>

#include "touchstone/codegen/bounds_proof.h"
#include "touchstone/codegen/linearizer.h"
#include "touchstone/ops/node_order.h"
#include "touchstone/shapetracker/ask/access.h"
#include "touchstone/shapetracker/index/index_expr.h"

// Precomputed parts of the terms of a reduce in lanes.

namespace touchstone::codegen {

using symbolic::Node;

// Precomputes what lanes or rows share in the terms of `reduce`. `first_reduced`: number of loops
// outside the reduce's; `inner`: innermost indices of each row of a block.
void Linearizer::stage_parts(const LazyOp& reduce, const LanePlan& plan,
                             [[maybe_unused]] int first_reduced, const std::vector<int>& inner,
                             Node base) {
  const LazyOpPtr& term = reduce.src()[0];
  if (term->src().empty()) return;
  TermLoops loops;
  loops.tiled = plan.tiles() > 1;
  loops.lane_axis = plan.axis;
  loops.axis = plan.size;
  loops.lanes = plan.lanes;
  loops.block = plan.block;
  loops.packed = plan.packed;
  loops.fused = fuses(reduce);
  if (plan.packed) loops.far_axes = reduce.reduce_arg().axes;
  for (std::size_t axis = 0; axis < plan.axis; ++axis) {
    if (axis == plan.outer) loops.outer = loops.rows.size();
    if (const sint size = plan_.loop_size(axis); size != sint(1)) loops.rows.push_back(size);
  }
  if (plan.outer == plan.axis) loops.outer = loops.rows.size();
  assert(static_cast<int>(loops.first_reduced()) == first_reduced);
  std::vector<std::size_t> axes = looped_axes(reduce);
  for (const std::size_t axis : axes) loops.reduced.push_back(term->shape()[axis]);
  axes.push_back(plan.axis);
  const auto dependence = [&](const ShapeTracker& st) {
    std::uint64_t on = 0;
    for (const int row : inner) {  // a masked row reads nothing
      const IndexExpr at = address(st, row);
      for (const Node& expr : {at.index, at.valid})
        for (const Node& variable : symbolic::variables(expr))
          if (const int depth = builder_.depth(names_.at(symbolic::variable_name(variable))))
            on |= std::uint64_t{1} << (depth - 1);
    }
    return on;
  };
  LayoutSizes room = room_;
  room.staged_bytes /= plan.block;  // for one row of the block
  const auto slide = [&](const LazyOp& node) -> std::optional<Slide> {
    const std::optional<Slide> first = slide_of(node, loops, axes, inner[0]);
    for (const int row : inner)  // a masked row does not depend on the lanes
      if (slide_of(node, loops, axes, row) != first) return std::nullopt;
    return first;
  };
  const std::vector<Stage> stages = plan_stages(term, loops, dependence, slide, room);
  room_.staged_bytes = room.staged_bytes * plan.block;
  room_.packed_bytes = room.packed_bytes;
  for (const Stage& part : stages) {
    stage(part, loops, axes, inner[0], base);
    for (std::size_t row = 1; row < inner.size(); ++row)
      if (is_same(*part.node, inner[0], inner[row]))
        set_made(part.node, inner[row], made(part.node, inner[0]));
      else
        stage(part, loops, axes, inner[row], base);
  }
}

// True if all loads of `node` are equal at both sets of indices.
bool Linearizer::is_same(const LazyOp& node, int indices, int other) {
  const auto differs = [&](const ShapeTracker& st) {
    const IndexExpr a = address(st, indices), b = address(st, other);
    return a.index != b.index || a.valid != b.valid;
  };
  return std::ranges::none_of(ordered_nodes(node), [&](const LazyOp* n) {
    return (n->op() == Op::Load && differs(n->buffer().st)) ||
           (n->op() == Op::Const && differs(n->constant().st));
  });
}

namespace {

constexpr std::int64_t kAtOnce = 16;  // terms per lane

// The reduce loop along which elements are contiguous while those of adjacent lanes are far apart:
// reading terms lane by lane uses whole cache lines. On processors with fast gathers, gathering for
// all lanes is as fast.
std::optional<std::size_t> loop_across(const Stage& part, const TermLoops& loops,
                                       const std::vector<std::size_t>& axes) {
  if (part.slide || !part.lanes || part.reduced.empty()) return std::nullopt;
  const std::size_t loop = part.reduced.back();
  if (!loops.reduced[loop].is_int() || loops.reduced[loop].as_int() < kAtOnce) return std::nullopt;
  bool across = false;
  for (const LazyOp* n : ordered_nodes(*part.node)) {
    if (is_reduce(n->op())) return std::nullopt;
    if (n->op() != Op::Load) continue;
    const auto strides = real_strides(n->buffer().st, true);
    const auto &term = strides[axes[loop]], &lane = strides[axes.back()];
    if (!term || !lane || !lane->is_int()) return std::nullopt;
    const std::int64_t apart = std::abs(lane->as_int());
    across |= (*term == sint(1) || *term == sint(-1)) && apart >= kAtOnce;
    if (apart == 1) return std::nullopt;
  }
  return across ? std::optional(loop) : std::nullopt;
}

}  // namespace

// `axes`: of the reduce loops, then of the lanes.
void Linearizer::stage(const Stage& part, const TermLoops& loops,
                       const std::vector<std::size_t>& axes, int inner, Node base) {
  const DType type = part.node->dtype();
  const std::size_t depth = part.packed      ? loops.row(loops.outer)
                            : part.rows == 0 ? 0
                                             : loops.row(part.rows - 1) + 1;
  const int inside = builder_.go_out_to(static_cast<int>(depth));
  const int array = builder_.here({StepKind::DefineAcc, type, {}, static_cast<int>(part.elements)});
  Indices ahead = indices_[static_cast<std::size_t>(inner)];
  Node to = 0, from = 0;  // positions in the array
  int opened = 0;
  const auto count = [&](const sint& size, std::int64_t unroll = 1) {
    Node counter;
    open_loop(size, "s", counter, unroll);
    ++opened;
    return counter;
  };
  const auto open = [&](const sint& size, Node place) {
    from = from * size.node() + place;
    const Node counter = count(size);
    to = to * size.node() + counter;
    return counter;
  };
  const auto store = [&](int value, int at) {
    builder_.here({StepKind::Assign, type, {array, value, lower(to, at)}, {}});
  };
  const auto close = [&](int until) {
    for (; opened > until; --opened) builder_.close_loop();
  };
  const Node begin = part.packed ? base : Node(0);
  const std::optional<std::size_t> across = loop_across(part, loops, axes);
  for (const std::size_t i : part.reduced)
    if (i != across && (!part.slide || i != part.slide->reduced))
      ahead[axes[i]] = open(loops.reduced[i], ahead[axes[i]]);
  if (across) {
    const std::int64_t terms = loops.reduced[*across].as_int(), whole = terms / kAtOnce * kAtOnce;
    const Node before = to;
    Node &term = ahead[axes[*across]], &lane = ahead[axes.back()];
    from = (from * terms + term) * part.width + (lane - begin);
    const auto fill = [&](const Node& i, const Node& l) {
      term = i;
      lane = begin + l;
      to = (before * terms + i) * part.width + l;
      const int at = add_indices(ahead);
      store(evaluate(part.node, at), at);
    };
    const int outside = opened;
    const Node block = count(whole / kAtOnce), along = count(part.width),
               i = count(kAtOnce, kAtOnce);
    fill(block * kAtOnce + i, along);
    close(outside);
    if (whole < terms) {
      const Node rest = count(terms - whole);
      fill(rest + whole, count(part.width));
    }
  } else {
    Node moved = 0;  // shift in lanes
    std::optional<int> row;
    if (part.slide) {
      const Slide& slide = *part.slide;
      if (part.reads_rows()) row = stage_row(part, axes, ahead, begin);
      Node& term = ahead[axes[slide.reduced]];
      moved = slide.moved(term);
      term = slide.phases > 1 ? open(slide.phases, floor_mod(term, slide.phases)) : slide.first();
    }
    if (part.lanes) {
      Node& lane = ahead[axes.back()];
      lane = begin + open(part.width, lane - begin + moved);
    }
    Node in_row = 0;
    if (row)
      in_row = (ahead[axes.back()] - begin) * part.slide->phases + ahead[axes[part.slide->reduced]];
    const int at = add_indices(std::move(ahead));
    store(row ? builder_.here({StepKind::LoadAcc, type, {*row, lower(in_row, at)}, {}})
              : evaluate(part.node, at),
          at);
  }
  close(0);
  builder_.resume(inside);
  set_made(part.node, inner,
           builder_.value({StepKind::LoadAcc, type, {array, lower(from, inner)}, {}}));
}

// Phases alternate in memory: computes a whole row in that order into its own array, because a loop
// over one phase would load single elements.
int Linearizer::stage_row(const Stage& part, const std::vector<std::size_t>& axes, Indices ahead,
                          Node begin) {
  const Slide& slide = *part.slide;
  const DType type = part.node->dtype();
  const std::int64_t size = slide.phases * part.width;
  const int row = builder_.here({StepKind::DefineAcc, type, {}, static_cast<int>(size)});
  Node at;
  open_loop(sint(size), "s", at);
  ahead[axes[slide.reduced]] = floor_mod(at, slide.phases);
  ahead[axes.back()] = begin + floor_div(at, slide.phases);
  const int indices = add_indices(std::move(ahead));
  const int value = evaluate(part.node, indices);
  builder_.here({StepKind::Assign, type, {row, value, lower(at, indices)}, {}});
  builder_.close_loop();
  return row;
}

namespace {

constexpr std::int64_t kMostStep = 1 << 12;   // lanes
constexpr std::int64_t kMostTerms = 1 << 20;  // of the loop
constexpr std::int64_t kFar = std::int64_t{1} << 40;

// The slide implied by the strides of a node's views; nullopt if no view moves, one moves along the
// lanes but not the loop, or two disagree.
std::optional<Slide> ratio_of(const std::vector<const ShapeTracker*>& views, std::size_t axis,
                              std::size_t lane) {
  std::optional<Slide> found;
  bool dense = true;
  for (const ShapeTracker* st : views) {
    const auto strides = real_strides(*st, true);
    if (strides[axis] == sint(0) && strides[lane] == sint(0)) continue;
    if (!strides[axis] || !strides[lane] || !strides[axis]->is_int() || !strides[lane]->is_int())
      return std::nullopt;
    const std::int64_t a = strides[axis]->as_int(), b = strides[lane]->as_int();
    const auto is_far = [](std::int64_t x) { return x > kFar || x < -kFar; };
    if (a == 0 || b == 0 || is_far(a) || is_far(b)) return std::nullopt;
    Slide slide;
    if (a % b == 0) {
      slide.step = std::abs(a / b);
      slide.back = a / b < 0;
    } else if (b % a == 0 && b / a > 0) {
      slide.phases = b / a;
    } else {
      return std::nullopt;
    }
    if (slide.step > kMostStep || slide.phases > kMostStep) return std::nullopt;
    if (found && *found != slide) return std::nullopt;
    found = slide;
    dense = dense && a == 1;
  }
  if (found) found->dense = dense;
  return found;
}

}  // namespace

std::int64_t Linearizer::size_of(int buffer) {
  if (buffers_.empty()) buffers_ = buffers_of(kernel_);
  return std::ranges::find(buffers_, buffer, &BufferSpec::idx)->size;
}

// How terms of a reduce loop slide along the lanes, if provable: the values for the first term or
// each phase, extended to the furthest shift, must equal those of every term. Extra elements, if
// phases are not whole, must also lie in the buffer. `axes` as for stage().
std::optional<Slide> Linearizer::slide_of(const LazyOp& node, const TermLoops& loops,
                                          const std::vector<std::size_t>& axes, int inner) {
  std::vector<const ShapeTracker*> views;
  std::vector<std::int64_t> sizes;  // of the buffers; 0 for constants
  for (const LazyOp* n : ordered_nodes(node)) {
    if (n->op() != Op::Load && n->op() != Op::Const) continue;
    const bool loads = n->op() == Op::Load;
    views.push_back(loads ? &n->buffer().st : &n->constant().st);
    sizes.push_back(loads ? size_of(n->buffer().idx) : 0);
  }
  const Indices& now = indices_[static_cast<std::size_t>(inner)];
  const std::size_t lane = axes.back();
  for (std::size_t i = loops.reduced.size(); i-- > 0;) {
    auto slide = ratio_of(views, axes[i], lane);
    if (!slide || loops.reduced[i].as_int() > kMostTerms) continue;
    slide->reduced = i;
    slide->terms = loops.reduced[i].as_int();
    std::string phase = "p", at = "a";
    for (std::string* name : {&phase, &at})
      while (names_.contains(*name)) *name += '_';
    Indices ahead = now;
    ahead[axes[i]] =
        slide->phases > 1 ? symbolic::variable(phase, 0, slide->phases - 1) : Node(slide->first());
    ahead[lane] = symbolic::variable(at, 0, slide->width(loops.axis) - 1);
    const std::map<std::string, Node> seen{{phase, floor_mod(now[axes[i]], slide->phases)},
                                           {at, now[lane] + slide->moved(now[axes[i]])}};
    bool proved = true;
    for (std::size_t v = 0; v < views.size() && proved; ++v) {
      const IndexExpr here = expr_idxs(*views[v], now), there = expr_idxs(*views[v], ahead);
      proved =
          substitute(there.index, seen) == here.index &&
          substitute(there.valid, seen) == here.valid &&
          (sizes[v] == 0 || slide->terms % slide->phases == 0 ||
           proves_inside(there.index, index_conditions(*views[v], ahead).conditions, sizes[v]));
    }
    if (proved) return slide;
  }
  return std::nullopt;
}

}  // namespace touchstone::codegen
