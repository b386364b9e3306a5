// Tensor rules.
#include <algorithm>
#include <numeric>

#include "touchstone/kernelize/elements.h"
#include "touchstone/kernelize/images.h"
#include "touchstone/kernelize/rules.h"
#include "touchstone/ops/fold.h"
#include "touchstone/shapetracker/ask/access.h"

namespace touchstone::kernelize {
namespace {

bool is_zero_size(const UOp& u) {
  if (u.dtype().is_none()) return false;
  return u.st() != nullptr && has_no_elements(u.shape());
}

UOp nothing_is_zero(const Match& m) {
  const UOp& u = m.root();
  if (u.op() == GraphOp::Buffer || !is_zero_size(u) || !u.device_node()) return {};
  return u.const_like(0.0);
}

UOp source(const Match& m) { return m[0]; }

UOp reduce_of_nothing(const Match& m) {
  const UOp &r = m.root(), &x = m[0];
  if (!is_zero_size(x) || is_zero_size(r)) return {};
  const GraphOp op = r.arg_as<UOpReduce>().op;
  const DType d = r.dtype().base;
  return r.const_like(op == GraphOp::Add   ? Scalar::from_int(d, 0)
                      : op == GraphOp::Mul ? Scalar::from_int(d, 1)
                                           : least_of(d));
}

// The sum of n equal terms is a rounded product if the accumulator represents n exactly.
UOp sum_of_copies(const UOp& once, std::int64_t n) {
  const DType d = once.dtype().base;
  if (is_bool(d)) return once;
  if (!is_float(d)) return once.alu(GraphOp::Mul, {once.const_like(Scalar::from_int(d, n))});
  const DType wide = sum_accumulator(d);
  constexpr std::int64_t kExact32 = 1 << 24, kExact64 = std::int64_t{1} << 53;
  if (n > (wide == DType::Float64 ? kExact64 : kExact32)) return {};
  const UOp term = once.cast(wide);
  return term.alu(GraphOp::Mul, {term.const_like(Scalar::from_int(wide, n))}).cast(d);
}

UOp reduce_of_copies(const Match& m) {
  const UOp &r = m.root(), &x = m[0];
  const auto& [op, axes, fused] = r.arg_as<UOpReduce>();
  const ShapeTracker& st = x.tracker();
  if (st.masked() || is_zero_size(x)) return {};
  const View& last = st.views().back();
  Mask first;
  for (const sint& s : x.shape()) first.emplace_back(0, s);
  std::int64_t copies = 1;
  for (const int a : axes) {
    const auto at = static_cast<std::size_t>(a);
    if (!x.shape()[at].is_int() || last.strides()[at] != sint(0)) return {};
    copies = checked_mul(copies, x.shape()[at].as_int());
    first[at] = {0, 1};
  }
  const UOp once = x.shrink(first);
  if (op == GraphOp::Max) return once;
  if (op == GraphOp::Add) return sum_of_copies(once, copies);
  if (is_float(r.dtype().base)) return {};
  return once.alu(GraphOp::Pow, {once.const_like(Scalar::from_int(r.dtype().base, copies))});
}

// Splits a reduced axis of `before` at `split` and moves the divisor axis last.
UOp split_reduce(const Match& m) {
  const UOp &r = m.root(), &x = m[0];
  const auto& [op, axes, fused] = r.arg_as<UOpReduce>();
  const Config& config = m.context<Simplifying>().config;
  if (fused || !same_in_parts(op, r.dtype().base)) return {};
  const std::optional<Split> split = split_of(x.tracker(), axes, config);
  if (!split) return {};
  const auto at = static_cast<std::size_t>(split->axis);
  Shape parted = x.shape();
  parted[at] = floor_div(parted[at], split->divisor);
  parted.insert(parted.begin() + split->axis, sint(split->divisor));
  std::vector<int> order;
  for (int i = 0; i < static_cast<int>(parted.size()); ++i)
    if (i != split->axis) order.push_back(i);
  order.push_back(split->axis);
  const UOp apart = x.reshape(parted).permute(order);
  return apart.reduce(op, axes)
      .contiguous()
      .reduce(op, {static_cast<int>(order.size()) - 1})
      .reshape(r.shape());
}

UOp copy_of_constant(const Match& m) { return UOp::constant(m[0].value(), m[0].shape(), m[1]); }

UOp copy_to_itself(const Match& m) { return m[0].device() == m[1].device() ? m[0] : UOp(); }

UOp copy_of_view(const Match& m) {
  const UOp &v = m[0], &x = m[1], &where = m[2];
  if (x.op() != GraphOp::Const && certainly_lt(v.size(), x.size()))
    return v.contiguous().copy_to(where);
  return x.copy_to(where).view(v.arg_as<ShapeTracker>());
}

UOp cast_of_constant_view(const Match& m) {
  return m[1].cast(m.root().dtype()).view(m[0].arg_as<ShapeTracker>());
}

UOp contiguous_of_whole(const Match& m) {
  const UOp &v = m[0], &b = m[1];
  const auto& st = v.arg_as<ShapeTracker>();
  return st.is_contiguous() && certainly_eq(st.size(), b.size()) ? v : UOp();
}

// Consecutive elements of a file are read in place.
UOp part_of_disk(const Match& m) {
  const UOp &u = m.root(), &v = m[0], &b = m[1];
  const std::vector<std::string> device = b.device();
  if (device.size() != 1 || !device[0].starts_with("DISK")) return {};
  const auto& st = v.arg_as<ShapeTracker>();
  if (st.views().size() != 1 || itemsize(u.dtype().base) != itemsize(b.dtype().base)) return {};
  const View& view = st.views()[0];
  if (view.mask() || view.strides() != View::contiguous(view.shape()).strides()) return {};
  const UOp part = UOp::make(GraphOp::BufferView, u.dtype(), {b}, Mask{{view.offset(), st.size()}});
  return part.reshape(st.shape());
}

UOp assign_of_assign(const Match& m) {
  const UOp &target = m[0], &inner = m[1];
  return inner.src(0) == target ? inner : UOp();
}

UOp assign_to_no_memory(const Match& m) {
  const UOp base = m[0].base();
  if (base.op() == GraphOp::Buffer || base.op() == GraphOp::BufferView ||
      base.op() == GraphOp::Assign)
    return {};
  if (base.op() == GraphOp::MStack &&
      std::ranges::all_of(base.src(), [](const UOp& s) { return s.op() == GraphOp::Buffer; }))
    return {};
  return m[1].contiguous();
}

// True if the view has more elements than its source.
bool repeats(const ShapeTracker& st) {
  for (const sint& s : st.shape())
    if (!s.is_int()) return false;
  return st.size().as_int() > st.real_size();
}

UOp cast_before_view(const Match& m) {
  const UOp &c = m.root(), &v = m[0], &x = m[1];
  if (x.st() == nullptr || itemsize(c.dtype().base) > itemsize(v.dtype().base)) return {};
  if (!repeats(v.arg_as<ShapeTracker>())) return {};
  return x.cast(c.dtype()).view(v.arg_as<ShapeTracker>());
}

UOp unary_before_view(const Match& m) {
  const UOp &u = m.root(), &v = m[0], &x = m[1];
  const auto& st = v.arg_as<ShapeTracker>();
  if (x.st() == nullptr || always_contiguous(x.op()) || u.op() == GraphOp::Bitcast) return {};
  if (st.masked() && !info(u.op()).keeps_zero) return {};  // padding would become f(0)
  if (!repeats(st)) return {};
  return u.with_src({x}).view(st);
}

UOp no_image(const Match& m) {
  const UOp& u = m.root();
  if (!u.dtype().is_image() || u.st() == nullptr) return {};
  return why_no_image(u.dtype(), u.tracker()).empty() ? UOp() : u.with_dtype(u.dtype().base);
}

UOp cast_to_image(const Match& m) {
  const UOp &c = m.root(), &v = m[0], &x = m[1];
  if (!c.dtype().is_image() || x.dtype() != c.dtype()) return {};
  return x.view(v.arg_as<ShapeTracker>());
}

// Operands of the examples.
UOp array(const Shape& shape, DType d = DType::Float32) {
  return as_shape(UOp::new_buffer(UOp::device("HOST"), max_elements(shape), d), shape);
}
UOp seen(const UOp& x, ShapeTracker st) {
  return UOp::make(GraphOp::View, x.dtype(), {x}, std::move(st));
}
ShapeTracker wide(std::int64_t n) { return ShapeTracker::contiguous({1}).expand({n}); }

std::vector<RewriteRule> of_nothing() {
  const UPat x = UPat::var("x");
  OpSet any = elementwise_ops() | OpSet::of(GraphOpGroup::Movement) |
              OpSet::of(GraphOpGroup::Reduce) | OpSet::of(GraphOpGroup::Ask) |
              OpSet{GraphOp::Copy, GraphOp::Custom};
  return {
      {"no elements -> 0", UPat(any), nothing_is_zero, "any constant is correct",
       [] {
         const UOp none = array({2, 3}).shrink({{0, 0}, {0, 3}}).alu(GraphOp::Sin);
         return Examples{{none, none.const_like(0.0)}, {array({2}).alu(GraphOp::Sin), {}}};
       }},
      {"detach -> x", UPat(OpSet{GraphOp::Detach, GraphOp::ContiguousBackward}).over({x}), source,
       "only gradients use it, not kernels",
       [] {
         const UOp a = array({2});
         return Examples{{a.ask(GraphOp::Detach), a}, {a.ask(GraphOp::ContiguousBackward), a}};
       }},
      {"reduce of nothing", UPat(GraphOp::ReduceAxis).over({x}), reduce_of_nothing,
       "0 for sums, 1 for products, the least value for maxima",
       [] {
         const UOp none = array({2, 3}).shrink({{0, 2}, {0, 0}});
         const UOp sum = none.reduce(GraphOp::Add, {1}), most = none.reduce(GraphOp::Max, {1});
         return Examples{{sum, sum.const_like(0.0)},
                         {most, most.const_like(Scalar::parse(DType::Float32, "-inf"))},
                         {array({2, 3}).reduce(GraphOp::Add, {1}), {}}};
       }},
      {"reduce of copies", UPat(GraphOp::ReduceAxis).over({x}), reduce_of_copies,
       "n equal terms, if every reduced axis only repeats",
       [] {
         const UOp a = array({1}), v = seen(a, wide(5)), once = v.shrink({{0, 1}});
         return Examples{
             {v.reduce(GraphOp::Max, {0}), once},
             {v.reduce(GraphOp::Add, {0}), once.alu(GraphOp::Mul, {once.const_like(5.0)})},
             {array({5}).reduce(GraphOp::Add, {0}), {}}};
       }},
      {"reduce in two", UPat(GraphOp::ReduceAxis).over({x}), split_reduce,
       "many terms for few results: reduce parts of them first",
       [] {
         const auto sum = [](std::int64_t n) {
           return array({n}, DType::Int32).reduce(GraphOp::Add, {0});
         };
         const UOp long_one = sum(32768);
         const UOp parts =
             long_one.src(0).reshape({256, 128}).permute({1, 0}).reduce(GraphOp::Add, {0});
         return Examples{{long_one, parts.contiguous().reduce(GraphOp::Add, {1}).reshape({1})},
                         {sum(32767), {}},
                         {array({32768}).reduce(GraphOp::Add, {0}), {}}};
       }},
  };
}

std::vector<RewriteRule> of_memory() {
  const UPat x = UPat::var("x"), where = UPat(GraphOp::Device).named("d");
  const UPat view = UPat(GraphOp::View).over({x}).named("v");
  const OpSet stored{GraphOp::Contiguous, GraphOp::Buffer, GraphOp::Copy, GraphOp::Assign,
                     GraphOp::Custom};
  return {
      {"copy of a constant", UPat(GraphOp::Copy).over({UPat::cvar("c"), where}), copy_of_constant,
       "it is already there",
       [] {
         const UOp c = array({2}).const_like(1.0), there = UOp::device("THERE");
         return Examples{{c.copy_to(there), UOp::constant(c.value(), {2}, there)}};
       }},
      {"copy to the own device", UPat(GraphOp::Copy).over({x, where}), copy_to_itself,
       "it is already there",
       [] {
         const UOp a = array({2});
         return Examples{{a.copy_to(UOp::device("HOST")), a},
                         {a.copy_to(UOp::device("THERE")), {}}};
       }},
      {"copy of a view", UPat(GraphOp::Copy).over({view, where}), copy_of_view,
       "the copy with fewer elements",
       [] {
         const UOp a = array({6}), there = UOp::device("THERE");
         const UOp part = seen(a, ShapeTracker::contiguous({6}).shrink({{1, 3}}));
         const UOp padded = seen(a, ShapeTracker::contiguous({6}).pad({{1, 3}}));
         return Examples{
             {part.copy_to(there), part.contiguous().copy_to(there)},
             {padded.copy_to(there), a.copy_to(there).view(padded.arg_as<ShapeTracker>())}};
       }},
      {"cast to an image",
       UPat(GraphOp::Cast)
           .over({UPat(GraphOp::View).over({UPat(GraphOp::Contiguous).named("x")}).named("v")}),
       cast_to_image, "an image is already seen as one",
       [] {
         const UOpType image = UOpType::image(DType::Float32, 1, 2);
         const UOp i = array({8}).cast(image).contiguous();
         const UOp v =
             UOp::make(GraphOp::View, DType::Float32, {i}, ShapeTracker::contiguous({2, 4}));
         return Examples{
             {UOp::make(GraphOp::Cast, image, {v}), i.view(ShapeTracker::contiguous({2, 4}))},
             {UOp::make(GraphOp::Cast, UOpType::image(DType::Float32, 2, 1), {v}), {}}};
       }},
      {"cast of a view of a constant",
       UPat(GraphOp::Cast).over({UPat(GraphOp::View).over({UPat::cvar("c")}).named("v")}),
       cast_of_constant_view, "padding is 0 of either type",
       [] {
         const UOp c = array({1}).const_like(2.0);
         const ShapeTracker st = ShapeTracker::contiguous({1}).pad({{1, 1}});
         return Examples{{seen(c, st).cast(DType::Int32), c.cast(DType::Int32).view(st)}};
       }},
      {"no image of another size", UPat(ops_that_lose_images()), no_image,
       "an image has height x width x 4 elements and an axis of fours of adjacent elements",
       [] {
         const UOpType image = UOpType::image(DType::Float32, 1, 2);
         const UOp a = array({8}), nine = array({9}), narrow = a.reshape({4, 2});
         const UOp kept = UOp::make(GraphOp::Buffer, image, {UOp::unique(), UOp::device("HOST")},
                                    std::int64_t{9});
         const UOp there = UOp::device("THERE"), copy = kept.copy_to(there);
         return Examples{{a.cast(image), {}},
                         {kept, {}},
                         {seen(kept, ShapeTracker::contiguous({3, 3})), {}},
                         {copy, copy.with_dtype(DType::Float32)},
                         {nine.cast(image), nine.cast(image).with_dtype(DType::Float32)},
                         {narrow.cast(image), narrow.cast(image).with_dtype(DType::Float32)}};
       }},
      {"part of a disk",
       UPat(OpSet{GraphOp::Contiguous, GraphOp::Bitcast})
           .over({UPat(GraphOp::View).over({UPat(GraphOp::Buffer).named("x")}).named("v")}),
       part_of_disk, "a file is not copied, only read elsewhere or as another type",
       [] {
         const UOp file = UOp::new_buffer(UOp::device("DISK:file"), 24, DType::Float32);
         const UOp rows = seen(file, ShapeTracker::contiguous({4, 6}).shrink({{1, 3}, {0, 6}}));
         const UOp columns = seen(file, ShapeTracker::contiguous({4, 6}).shrink({{0, 4}, {0, 3}}));
         const auto part = [&](DType d) {
           return UOp::make(GraphOp::BufferView, d, {file}, Mask{{6, 12}}).reshape({2, 6});
         };
         return Examples{{rows.contiguous(), part(DType::Float32)},
                         {rows.bitcast(DType::Int32), part(DType::Int32)},
                         {columns.contiguous(), {}},
                         {seen(array({24}), rows.arg_as<ShapeTracker>()).contiguous(), {}}};
       }},
      {"contiguous view of a whole buffer",
       UPat(GraphOp::Contiguous)
           .over({UPat(GraphOp::View).over({UPat(GraphOp::Buffer).named("x")}).named("v")}),
       contiguous_of_whole, "it is already in order there",
       [] {
         const UOp b = array({6}), v = seen(b, ShapeTracker::contiguous({2, 3}));
         return Examples{{v.contiguous(), v},
                         {seen(b, ShapeTracker::contiguous({5})).contiguous(), {}}};
       }},
      {"contiguous of a stored tensor", UPat(GraphOp::Contiguous).over({UPat(stored).named("x")}),
       source, "it has its own memory",
       [] {
         const UOp b = array({6});
         return Examples{{b.contiguous(), b}, {b.alu(GraphOp::Sin).contiguous(), {}}};
       }},
      {"assign of an assign",
       UPat(GraphOp::Assign).over({UPat::var("t"), UPat(GraphOp::Assign).named("x")}),
       assign_of_assign, "the inner one has the same effect",
       [] {
         const UOp b = array({6}), v = b.alu(GraphOp::Sin);
         return Examples{{b.assign(b.assign(v)), b.assign(v)},
                         {b.assign(array({6}).assign(v)), {}}};
       }},
      {"assign to no memory", UPat(GraphOp::Assign).over({UPat::var("t"), x}), assign_to_no_memory,
       "a value without memory gets some",
       [] {
         const UOp b = array({6}), v = b.alu(GraphOp::Sin);
         return Examples{{v.assign(b), b.contiguous()}, {b.assign(v), {}}};
       }},
      {"cast before a view", UPat(GraphOp::Cast).over({view}), cast_before_view,
       "fewer and no larger elements",
       [] {
         const UOp a = array({1}), v = seen(a, wide(5));
         return Examples{{v.cast(DType::Int32), a.cast(DType::Int32).view(wide(5))},
                         {v.cast(DType::Float64), {}},
                         {array({5}).flip({0}).cast(DType::Int32), {}}};
       }},
      {"unary before a view", UPat(OpSet::of(GraphOpGroup::Unary) | GraphOp::Function).over({view}),
       unary_before_view, "computed once for all copies",
       [] {
         const UOp a = array({1}), s = a.alu(GraphOp::Sin), v = seen(s, wide(5));
         const ShapeTracker padded = wide(5).pad({{1, 1}});
         return Examples{{v.alu(GraphOp::Exp2), s.alu(GraphOp::Exp2).view(wide(5))},
                         {seen(s, padded).alu(GraphOp::Sin), s.alu(GraphOp::Sin).view(padded)},
                         {seen(s, padded).alu(GraphOp::Exp2), {}},
                         {seen(a, wide(5)).alu(GraphOp::Exp2), {}}};
       }},
  };
}

}  // namespace

bool same_in_parts(GraphOp op, DType d) { return op == GraphOp::Max || !is_float(d); }

std::optional<Split> split_of(const ShapeTracker& st, std::span<const int> axes,
                              const Config& config) {
  if (!config.kernelize.split_reduceop) return std::nullopt;
  std::int64_t terms = 1, results = 1;
  for (std::size_t i = 0; i < st.shape().size(); ++i) {
    if (!st.shape()[i].is_int()) return std::nullopt;
    const bool reduced = std::ranges::count(axes, static_cast<int>(i)) > 0;
    (reduced ? terms : results) *= st.shape()[i].as_int();
  }
  if (results == 0 || terms < config.reduceop_split_threshold) return std::nullopt;
  // That many rows keep all threads busy, and shorter rows take longer.
  constexpr std::int64_t kManyRows = 256;
  if (config.scheduler == Scheduler::Ranges && results >= kManyRows) return std::nullopt;
  const std::int64_t most = std::min<std::int64_t>(
      256, (std::int64_t{1} << config.kernelize.reduceop_split_size) / results);
  const std::vector<std::optional<sint>> strides = real_strides(st, true);
  for (const int axis : axes) {
    const auto at = static_cast<std::size_t>(axis);
    if (strides[at] == sint(0)) continue;
    for (std::int64_t d = most; d >= 8; --d)
      if (st.shape()[at].as_int() % d == 0 && d < terms) return Split{axis, d};
  }
  return std::nullopt;
}

PatternMatcher simplify_tensors() {
  return arithmetic() + PatternMatcher(of_nothing()) + PatternMatcher(of_memory());
}

PatternMatcher simplification() {
  return fuse() + merge_views() + simplify_tensors() + replace_contiguous();
}

}  // namespace touchstone::kernelize
