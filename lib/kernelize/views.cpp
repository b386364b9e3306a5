// merge_views, replace_contiguous.
#include "touchstone/kernelize/elements.h"
#include "touchstone/kernelize/rules.h"
#include "touchstone/shapetracker/invert/invert.h"
#include "touchstone/shapetracker/merge/simplify.h"

namespace touchstone::kernelize {
namespace {

// The source of a chain of movement; a movement's tracker is relative to it.
UOp moved_from(const UOp& movement) {
  UOp at = movement.src(0);
  while (is_movement(at.op()) && at.op() != GraphOp::View && !at.src().empty()) at = UOp(at.src(0));
  return at.op() == GraphOp::View && !at.src().empty() ? UOp(at.src(0)) : at;
}

UOp view_of_view(const Match& m) {
  const UOp &inner = m[1], &outer = m[0];
  return inner.src(0).view(
      merge_outermost(inner.arg_as<ShapeTracker>() + outer.arg_as<ShapeTracker>()));
}

UOp movement_is_a_view(const Match& m) {
  return moved_from(m.root()).view(merge_outermost(m.root().tracker()));
}

UOp contiguous_view(const Match& m) {
  const UOp &v = m[0], &x = m[1];
  const auto& st = v.arg_as<ShapeTracker>();
  if (x.op() == GraphOp::Device || x.st() == nullptr) return {};
  return st.is_contiguous() && st.shape() == x.shape() ? x : UOp();
}

UOp view_of_nothing(const Match& m) {
  const UOp &v = m[0], &x = m[1];
  if (x.op() == GraphOp::DefineGlobal || x.op() == GraphOp::Device || v.dtype().is_none())
    return {};
  const View& last = v.arg_as<ShapeTracker>().views().back();
  return last.mask() && last.nothing_valid() ? v.const_like(0.0) : UOp();
}

UOp view_of_constant(const Match& m) {
  const UOp &v = m[0], &c = m[1];
  const auto& st = v.arg_as<ShapeTracker>();
  if (st.masked() || (!c.src().empty() && c.tracker().masked())) return {};
  const UOp where = c.device_node();
  return where ? UOp::constant(c.value(), st.shape(), where) : c;
}

UOp remember_stored(const Match& m) {
  const UOp &contiguous = m[0], &v = m[1], &x = m[2];
  const auto& st = v.arg_as<ShapeTracker>();
  if (st.views().size() != 1 || !st.views()[0].is_concrete() || x.st() == nullptr ||
      always_contiguous(x.op()))
    return {};
  for (const sint& s : x.shape())
    if (!s.is_int()) return {};
  if (const auto inverse = invert(st.views()[0], x.shape()))
    m.context<Simplifying>().stored.emplace(x, contiguous.view(ShapeTracker({*inverse})));
  return {};
}

UOp read_stored(const Match& m) {
  const auto& stored = m.context<Simplifying>().stored;
  if (stored.empty()) return {};
  bool any = false;
  std::vector<UOp> src;
  for (const UOp& s : m.root().src()) {
    const UOp* found = stored.find(s);
    any = any || found != nullptr;
    src.push_back(found == nullptr ? s : *found);
  }
  return any ? m.root().with_src(std::move(src)) : UOp();
}

UOp some_buffer(const Shape& shape) {
  return as_shape(UOp::new_buffer(UOp::device("HOST"), max_elements(shape), DType::Float32), shape);
}
ShapeTracker turned() {
  const std::vector<int> order = {1, 0};
  return ShapeTracker::contiguous({2, 3}).permute(order);
}

}  // namespace

UOp as_shape(const UOp& flat, const Shape& shape) {
  if (certainly_eq(flat.size(), elements(shape))) return flat.reshape(shape);
  return flat.view(ShapeTracker::contiguous(shape));
}

PatternMatcher merge_views() {
  const UPat x = UPat::var("x");
  const OpSet moves{GraphOp::Reshape, GraphOp::Expand, GraphOp::Permute,
                    GraphOp::Pad,     GraphOp::Shrink, GraphOp::Flip};
  const UPat view = UPat(GraphOp::View).named("v");
  return PatternMatcher({
      {"view of a view", view.over({UPat(GraphOp::View).over({x}).named("inner")}), view_of_view,
       "trackers compose, and views merge if one view can express them",
       [] {
         const UOp b = some_buffer({2, 3}), flat = b.base();
         return std::vector<RuleExample>{
             {UOp::make(GraphOp::View, DType::Float32,
                        {UOp::make(GraphOp::View, DType::Float32, {flat}, turned())},
                        ShapeTracker::contiguous({3, 2})),
              flat.view(turned())}};
       }},
      {"movement is a view", UPat(moves), movement_is_a_view,
       "movement in memory is described by a tracker",
       [] {
         const UOp b = some_buffer({2, 3});
         return std::vector<RuleExample>{{b.permute({1, 0}), b.base().view(turned())}};
       }},
      {"contiguous view", view.over({x}), contiguous_view,
       "all elements in order are the elements themselves",
       [] {
         const UOp b = some_buffer({6}), part = b.shrink({{0, 3}});
         return std::vector<RuleExample>{
             {UOp::make(GraphOp::View, DType::Float32, {b}, ShapeTracker::contiguous({6})), b},
             {b.view(ShapeTracker::contiguous({3})), {}}};
       }},
      {"view of nothing", view.over({x}), view_of_nothing, "if every element is padding it is 0",
       [] {
         const UOp b = some_buffer({2});
         const ShapeTracker st = ShapeTracker::contiguous({2}).pad({{2, 0}}).shrink({{0, 2}});
         const UOp v = b.view(st);
         return std::vector<RuleExample>{{v, v.const_like(0.0)},
                                         {b.view(ShapeTracker::contiguous({2}).pad({{1, 0}})), {}}};
       }},
      {"view of a constant", view.over({UPat::cvar("c")}), view_of_constant,
       "every element of an unmasked view of a constant is the constant",
       [] {
         const UOp c = some_buffer({1}).const_like(2.0);
         const ShapeTracker wide = ShapeTracker::contiguous({1}).expand({5});
         return std::vector<RuleExample>{{UOp::make(GraphOp::View, DType::Float32, {c}, wide),
                                          UOp::constant(c.value(), {5}, UOp::device("HOST"))},
                                         {UOp::make(GraphOp::View, DType::Float32, {c},
                                                    ShapeTracker::contiguous({1}).pad({{1, 1}})),
                                          {}}};
       }},
  });
}

PatternMatcher replace_contiguous() {
  const UPat view = UPat(GraphOp::View).over({UPat::var("x")}).named("v");
  return PatternMatcher({
      {"remember stored views", UPat(GraphOp::Contiguous).over({view}).named("c"), remember_stored,
       "an invertible view stores all of its base"},
      {"read stored values", UPat(elementwise_ops()), read_stored,
       "values in memory are not computed again"},
  });
}

}  // namespace touchstone::kernelize
