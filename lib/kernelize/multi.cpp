// Sharded tensors: MULTI moves from sources to results.
#include "touchstone/kernelize/multi.h"

#include <algorithm>
#include <numeric>

#include "touchstone/dtype/bits.h"
#include "touchstone/kernelize/elements.h"
#include "touchstone/kernelize/rules.h"

namespace touchstone::kernelize {
namespace {

const UOp& shard(const UOp& multi) { return multi.src(0); }
int axis_of(const UOp& multi) { return static_cast<int>(multi.arg_as<std::int64_t>()); }
std::size_t at(int axis) { return static_cast<std::size_t>(axis); }

std::string text(const Shape& shape) { return str(std::span<const sint>(shape)); }

[[noreturn]] void refuse(const UOp& movement, const UOp& multi, std::string_view why) {
  throw ShapeError(fmt::format("{} of {} sharded along axis {} into {}: {}", name(movement.op()),
                               text(multi.shape()), axis_of(multi), multi.device().size(), why));
}

// Changes the sharding axis: each device takes its part of each shard.
UOp resharded(const UOp& multi, int axis) {
  const std::size_t n = multi.device().size();
  std::vector<UOp> parts;
  for (std::size_t i = 0; i < n; ++i)
    parts.push_back(part_of(shard(multi).mselect(i).copy_to(multi.device_node()), axis, n));
  return side_by_side(parts, axis_of(multi));
}

UOp elementwise_on_shards(const Match& m) {
  const UOp& u = m.root();
  std::optional<int> axis;
  UOp where;
  for (const UOp& s : u.src()) {
    if (s.op() == GraphOp::Multi) axis = axis_of(s);
    if (const UOp of = s.device_node()) {
      if (where && of != where)
        throw AstError(fmt::format("{}: operands on {} and on {}; copy one to the other",
                                   name(u.op()), text_of(where.arg()), text_of(of.arg())));
      where = of;
    }
  }
  if (!axis) return {};
  const std::size_t n = where.device().size();
  std::vector<UOp> src;
  for (const UOp& s : u.src())
    src.push_back(s.op() != GraphOp::Multi ? part_of(s, *axis, n)
                  : axis_of(s) == *axis    ? shard(s)
                                           : resharded(s, *axis));
  return u.with_src(std::move(src)).multi(*axis);
}

UOp reduce_of_shards(const Match& m) {
  const UOp &u = m.root(), &x = m[0];
  const auto& [op, axes, fused] = u.arg_as<UOpReduce>();
  const UOp local = shard(x).reduce(op, axes, fused);
  if (std::ranges::count(axes, axis_of(x)) == 0) return local.multi(axis_of(x));
  return local.allreduce(op, x.device_node());
}

UOp reshape_of_shards(const Match& m) {
  const UOp &u = m.root(), &x = m[0];
  const std::size_t n = x.device().size();
  Shape to = u.arg_as<Shape>();
  const int axis = axis_of_reshaped(x.shape(), to, axis_of(x), n);
  to[at(axis)] = floor_div(to[at(axis)], static_cast<std::int64_t>(n));
  return shard(x).reshape(to).multi(axis);
}

UOp expand_of_shards(const Match& m) {
  const UOp &u = m.root(), &x = m[0];
  Shape to = u.arg_as<Shape>();
  if (to[at(axis_of(x))] != x.shape()[at(axis_of(x))])
    refuse(u, x, "that axis cannot be expanded; copy the tensor whole to the devices first");
  to[at(axis_of(x))] = shard(x).shape()[at(axis_of(x))];
  return shard(x).expand(to).multi(axis_of(x));
}

UOp pad_of_shards(const Match& m) {
  const UOp &u = m.root(), &x = m[0];
  if (u.arg_as<Mask>()[at(axis_of(x))] != std::pair<sint, sint>(0, 0))
    refuse(
        u, x,
        "that axis cannot be padded; pad before sharding, or copy the tensor whole to the devices");
  return shard(x).pad(u.arg_as<Mask>()).multi(axis_of(x));
}

UOp flip_of_shards(const Match& m) {
  const UOp &u = m.root(), &x = m[0];
  if (std::ranges::count(u.arg_as<std::vector<int>>(), axis_of(x)) > 0)
    refuse(u, x, "that axis cannot be flipped; copy the tensor whole to the devices first");
  return shard(x).flip(u.arg_as<std::vector<int>>()).multi(axis_of(x));
}

UOp permute_of_shards(const Match& m) {
  const UOp& x = m[0];
  const auto& order = m.root().arg_as<std::vector<int>>();
  const auto now = std::ranges::find(order, axis_of(x)) - order.begin();
  return shard(x).permute(order).multi(static_cast<int>(now));
}

// The whole axis, or exactly one shard, which every device then gets.
UOp shrink_of_shards(const Match& m) {
  const UOp &u = m.root(), &x = m[0];
  Mask keep = u.arg_as<Mask>();
  const int axis = axis_of(x);
  const sint size = shard(x).shape()[at(axis)];
  const auto [begin, end] = keep[at(axis)];
  keep[at(axis)] = {0, size};
  if (begin == sint(0) && end == x.shape()[at(axis)]) return shard(x).shrink(keep).multi(axis);
  const std::size_t n = x.device().size();
  for (std::size_t i = 0; i < n; ++i) {
    const sint first = size * sint(static_cast<std::int64_t>(i));
    if (!certainly_eq(begin, first) || !certainly_eq(end, first + size)) continue;
    if (keep != whole_mask(shard(x).shape()))
      refuse(u, x, "one shard must be taken whole; shrink the other axes in a separate step");
    return shard(x).mselect(i).copy_to(x.device_node());
  }
  refuse(u, x,
         fmt::format(
             "({}, {}) of that axis is not a shard; copy the tensor whole to the devices first",
             begin.str(), end.str()));
}

UOp pass_to_shards(const Match& m) {
  const UOp &u = m.root(), &x = m[0];
  return u.with_src({shard(x)}).multi(axis_of(x));
}

UOp copy_of_shards(const Match& m) {
  const UOp &x = m[0], &to = m[1];
  std::vector<UOp> parts;
  for (std::size_t i = 0; i < x.device().size(); ++i)
    parts.push_back(shard(x).mselect(i).copy_to(to));
  return side_by_side(parts, axis_of(x));
}

UOp assign_of_shards(const Match& m) {
  const UOp& u = m.root();
  if (std::ranges::none_of(u.src(), [](const UOp& s) { return s.op() == GraphOp::Multi; }))
    return {};
  const UOp &target = u.src(0), &value = u.src(1);
  const auto axis = [](const UOp& s) { return s.op() == GraphOp::Multi ? axis_of(s) : -1; };
  if (axis(target) != axis(value)) {
    const auto say = [&](const UOp& s) {
      return axis(s) < 0 ? std::string("not sharded")
                         : fmt::format("sharded along axis {}", axis(s));
    };
    throw AstError(
        fmt::format("ASSIGN: the target is {}, but the value is {}; shard one like the other",
                    say(target), say(value)));
  }
  std::vector<UOp> src;
  for (const UOp& s : u.src()) src.push_back(s.op() == GraphOp::Multi ? shard(s) : s);
  const UOp local = u.with_src(std::move(src));
  return axis(target) < 0 ? local : local.multi(axis(target));
}

UOp no_view_of_shards(const Match& m) {
  refuse(m.root(), m[0], "only movement ops can move shards");
}

// The devices of the examples, A and B.
const UOp& pair() {
  static const UOp two = UOp::device(std::vector<std::string>{"A", "B"});
  return two;
}
UOp on_pair(const Shape& shape, DType d = DType::Float32) {
  return as_shape(UOp::new_buffer(pair(), max_elements(shape), d), shape);
}

std::vector<RewriteRule> of_computing() {
  const UPat x = UPat(GraphOp::Multi).named("x");
  OpSet elementwise = elementwise_ops();
  return {
      {"elementwise on shards", UPat(elementwise), elementwise_on_shards,
       "operands sharded along the last one's axis stay; replicated ones give their part; others "
       "give a part of every shard",
       [] {
         const UOp a = on_pair({2, 4}), b = on_pair({2, 4}), w = on_pair({4, 4});
         const UOp turned = on_pair({4, 2});
         return Examples{
             {a.multi(0).alu(GraphOp::Add, {b.multi(0)}), a.alu(GraphOp::Add, {b}).multi(0)},
             {a.multi(0).alu(GraphOp::Neg), a.alu(GraphOp::Neg).multi(0)},
             {a.multi(0).cast(DType::Int32), a.cast(DType::Int32).multi(0)},
             {w.alu(GraphOp::Mul, {a.multi(0)}), part_of(w, 0, 2).alu(GraphOp::Mul, {a}).multi(0)},
             {a.multi(0).alu(GraphOp::Add, {turned.multi(1)}),
              resharded(a.multi(0), 1).alu(GraphOp::Add, {turned}).multi(1)},
             {w.alu(GraphOp::Add, {w}), {}}};
       }},
      {"reduce of shards", UPat(GraphOp::ReduceAxis).over({x}), reduce_of_shards,
       "over the axis of the shards each device reduces its own part, and the results are combined",
       [] {
         const UOp a = on_pair({2, 4});
         return Examples{
             {a.multi(0).reduce(GraphOp::Add, {1}), a.reduce(GraphOp::Add, {1}).multi(0)},
             {a.multi(0).reduce(GraphOp::Max, {0}),
              a.reduce(GraphOp::Max, {0}).allreduce(GraphOp::Max, pair())},
             {on_pair({1, 4}).multi(0).reduce(GraphOp::Add, {0}),
              on_pair({1, 4}).allreduce(GraphOp::Add, pair())},
             {a.reduce(GraphOp::Add, {0}), {}}};
       }},
      {"asked of shards",
       UPat(OpSet{GraphOp::Contiguous, GraphOp::ContiguousBackward, GraphOp::Detach, GraphOp::Fuse})
           .over({x}),
       pass_to_shards, "it applies to every shard",
       [] {
         const UOp a = on_pair({2, 4});
         return Examples{{a.multi(0).contiguous(), a.contiguous().multi(0)},
                         {a.multi(1).ask(GraphOp::Detach), a.ask(GraphOp::Detach).multi(1)},
                         {a.contiguous(), {}}};
       }},
      {"copy of shards", UPat(GraphOp::Copy).over({x, UPat(GraphOp::Device).named("d")}),
       copy_of_shards, "every shard is copied to its place in the result",
       [] {
         const UOp a = on_pair({2, 4}), there = UOp::device("C");
         return Examples{
             {a.multi(1).copy_to(there),
              side_by_side({a.mselect(0).copy_to(there), a.mselect(1).copy_to(there)}, 1)},
             {a.copy_to(there), {}}};
       }},
      {"assign of shards", UPat(GraphOp::Assign), assign_of_shards,
       "every device assigns its own; both are sharded along one axis, or both whole",
       [] {
         const UOp a = on_pair({2, 4}), v = a.alu(GraphOp::Neg);
         return Examples{{a.multi(0).assign(v.multi(0)), a.assign(v).multi(0)}, {a.assign(v), {}}};
       }},
  };
}

std::vector<RewriteRule> of_moving() {
  const UPat x = UPat(GraphOp::Multi).named("x");
  return {
      {"reshape of shards", UPat(GraphOp::Reshape).over({x}), reshape_of_shards,
       "if no element moves between shards",
       [] {
         const UOp a = on_pair({2, 6});
         return Examples{{a.multi(0).reshape({4, 2, 3}), a.reshape({2, 2, 3}).multi(0)},
                         {a.multi(0).reshape({2, 12}), a.reshape({1, 12}).multi(0)},
                         {a.multi(0).reshape({24}), a.reshape({12}).multi(0)},
                         {a.multi(1).reshape({2, 4, 3}), a.reshape({2, 2, 3}).multi(1)},
                         {a.reshape({12}), {}}};
       }},
      {"expand of shards", UPat(GraphOp::Expand).over({x}), expand_of_shards, "the other axes",
       [] {
         const UOp a = on_pair({2, 1});
         return Examples{{a.multi(0).expand({4, 3}), a.expand({2, 3}).multi(0)},
                         {a.expand({2, 3}), {}}};
       }},
      {"pad of shards", UPat(GraphOp::Pad).over({x}), pad_of_shards, "the other axes",
       [] {
         const UOp a = on_pair({2, 3});
         return Examples{{a.multi(0).pad({{0, 0}, {1, 2}}), a.pad({{0, 0}, {1, 2}}).multi(0)},
                         {a.pad({{1, 0}, {0, 0}}), {}}};
       }},
      {"flip of shards", UPat(GraphOp::Flip).over({x}), flip_of_shards, "the other axes",
       [] {
         const UOp a = on_pair({2, 3});
         return Examples{{a.multi(0).flip({1}), a.flip({1}).multi(0)}, {a.flip({0}), {}}};
       }},
      {"permute of shards", UPat(GraphOp::Permute).over({x}), permute_of_shards, "any",
       [] {
         const UOp a = on_pair({2, 3, 4});
         return Examples{{a.multi(0).permute({2, 0, 1}), a.permute({2, 0, 1}).multi(1)},
                         {a.permute({2, 0, 1}), {}}};
       }},
      {"shrink of shards", UPat(GraphOp::Shrink).over({x}), shrink_of_shards,
       "the other axes, or one whole shard, which every device then has",
       [] {
         const UOp a = on_pair({2, 3});
         return Examples{{a.multi(0).shrink({{0, 4}, {1, 2}}), a.shrink({{0, 2}, {1, 2}}).multi(0)},
                         {a.multi(0).shrink({{2, 4}, {0, 3}}), a.mselect(1).copy_to(pair())},
                         {a.shrink({{0, 1}, {0, 3}}), {}}};
       }},
      {"no view of shards", UPat(GraphOp::View).over({x}), no_view_of_shards,
       "a view does not describe how it moves shards",
       [] {
         return Examples{{on_pair({2}).view(ShapeTracker::contiguous({1})), {}}};
       }},
  };
}

}  // namespace

bool has_several_devices(const UOp& sink) {
  for (const UOp& u : sink.toposort())
    if ((u.op() == GraphOp::Device && std::holds_alternative<std::vector<std::string>>(u.arg())) ||
        u.op() == GraphOp::MStack)
      return true;
  return false;
}

UOp part_of(const UOp& x, int axis, std::size_t count) {
  const Shape& shape = x.shape();
  if (axis < 0 || at(axis) >= shape.size())
    throw ShapeError(fmt::format("shard: there is no axis {} in {}", axis, text(shape)));
  const auto n = static_cast<std::int64_t>(count);
  const sint& size = shape[at(axis)];
  if (!certainly_eq(floor_mod(size, n), 0))
    throw ShapeError(
        fmt::format("multi axis uneven: axis {} of {} does not divide into {} shards; pad it, or "
                    "choose another axis or number of devices",
                    axis, text(shape), n));
  return x.shrink(part_mask(shape, axis, device_number(count), count));
}

UOp side_by_side(const std::vector<UOp>& parts, int axis) {
  const UOpType type = parts[0].dtype();
  const bool as_bits = is_float(type.base);
  sint size = 0;
  for (const UOp& part : parts) size = size + part.shape()[at(axis)];
  UOp all;
  sint before = 0;
  for (const UOp& part : parts) {
    const sint own = part.shape()[at(axis)];
    Padding around(part.shape().size(), {0, 0});
    around[at(axis)] = {before, size - before - own};
    before = before + own;
    const UOp bits = as_bits ? part.bitcast(unsigned_of(type.base)) : part;
    const UOp placed = bits.pad(around);
    all = all ? all.alu(GraphOp::Add, {placed}) : placed;
  }
  return as_bits ? all.bitcast(type) : all;
}

int axis_of_reshaped(const Shape& before, const Shape& after, int axis, std::size_t count) {
  const auto product = [](const Shape& shape, std::size_t to) {
    sint all = 1;
    for (std::size_t i = 0; i < to; ++i) all = all * shape[i];
    return all;
  };
  const auto n = static_cast<std::int64_t>(count);
  const sint outside = product(before, at(axis));
  std::optional<int> found;
  for (std::size_t i = 0; i < after.size(); ++i)
    if (certainly_eq(product(after, i), outside)) found = static_cast<int>(i);
  // As many elements precede the axis as before, so a shard also has as many as before.
  if (found && certainly_eq(floor_mod(after[at(*found)], n), 0)) return *found;
  throw ShapeError(
      fmt::format("RESHAPE cannot move items between shards: {}, sharded along axis {} into {}, to "
                  "{}; copy the tensor whole to the devices first",
                  text(before), axis, n, text(after)));
}

PatternMatcher shard_rules() {
  return PatternMatcher(of_computing()) + PatternMatcher(of_moving());
}

PatternMatcher device_rules() { return shard_rules() + allreduce_rules() + placement_rules(); }

}  // namespace touchstone::kernelize
