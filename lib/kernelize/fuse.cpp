// Pushes FUSE down to reduces, which are then computed where they are read.
#include <algorithm>

#include "touchstone/kernelize/grouping.h"
#include "touchstone/kernelize/rules.h"
#include "touchstone/shapetracker/merge/simplify.h"

namespace touchstone::kernelize {
namespace {

UOp fused(const UOp& x) { return x.ask(GraphOp::Fuse); }

UOp fuse_view(const Match& m) {
  const UOp &v = m[0], &x = m[1];
  const auto& st = v.arg_as<ShapeTracker>();
  if (x.op() == GraphOp::ReduceAxis) return reduce_through(v, x);
  if (!is_elementwise(x.op())) return v.with_src({fused(x)});
  if (st.masked() && !info(x.op()).keeps_zero) return x.contiguous().view(st);
  std::vector<UOp> src;
  for (const UOp& s : x.src()) src.push_back(fused(s.view(st)));
  return x.with_src(std::move(src));
}

UOp fuse_reduce(const Match& m) {
  const UOp& r = m[0];
  UOpReduce arg = r.arg_as<UOpReduce>();
  if (arg.fused) return r;
  arg.fused = true;
  return UOp::make(GraphOp::ReduceAxis, r.dtype(), {fused(r.src(0))}, std::move(arg), r.tag());
}

UOp fuse_others(const Match& m) {
  const UOp& x = m[0];
  if (always_contiguous(x.op()) || x.src().empty() || x.op() == GraphOp::Fuse) return x;
  std::vector<UOp> src;
  for (const UOp& s : x.src()) src.push_back(s.dtype().is_none() ? s : fused(s));
  return x.with_src(std::move(src));
}

// A view of a reduce's results as a view of its terms: adds the axes `reduced`, innermost.
View with_reduced(const View& v, const Shape& reduced) {
  const sint n = elements(reduced);
  Shape shape = v.shape();
  Strides strides;
  for (const sint& s : v.strides()) strides.push_back(s * n);
  const Strides inner = row_major_strides(reduced);
  strides.insert(strides.end(), inner.begin(), inner.end());
  shape.insert(shape.end(), reduced.begin(), reduced.end());
  std::optional<Mask> mask = v.mask();
  if (mask)
    for (const sint& r : reduced) mask->emplace_back(0, r);
  return View::strided(std::move(shape), std::move(strides), v.offset() * n, std::move(mask));
}

}  // namespace

ShapeTracker terms_of(const UOp& reduce, const ShapeTracker& st) {
  const std::vector<int>& axes = reduce.arg_as<UOpReduce>().axes;
  const Shape& from = reduce.src(0).shape();
  std::vector<int> order;
  for (int i = 0; i < static_cast<int>(from.size()); ++i)
    if (std::ranges::count(axes, i) == 0) order.push_back(i);
  order.insert(order.end(), axes.begin(), axes.end());
  Shape reduced, shape = st.shape();
  for (const int a : axes) reduced.push_back(from[static_cast<std::size_t>(a)]);
  shape.insert(shape.end(), reduced.begin(), reduced.end());
  std::vector<View> views;
  for (const View& v : st.views()) views.push_back(with_reduced(v, reduced));
  const ShapeTracker moved = ShapeTracker::contiguous(from).permute(order);
  return merge_outermost((moved + ShapeTracker(std::move(views))).reshape(shape));
}

LazyOpPtr where_valid(const ShapeTracker& st, LazyOpPtr value) {
  const ShapeTracker everywhere =
      ShapeTracker::contiguous(Shape(st.shape().size(), 1)).expand(st.shape());
  LazyOpPtr zero = LazyOp::constant(Scalar::from_bits(value->dtype(), 0), everywhere);
  return LazyOp::ternary(Op::Where, LazyOp::constant(Scalar::of(true), simplify(st)),
                         std::move(value), std::move(zero));
}

UOp reduce_through(const UOp& view, const UOp& reduce) {
  const auto& [op, axes, was_fused] = reduce.arg_as<UOpReduce>();
  const auto& st = view.arg_as<ShapeTracker>();
  const UOp seen = reduce.src(0).view(terms_of(reduce, st));
  std::vector<int> last;
  for (std::size_t i = 0; i < axes.size(); ++i)
    last.push_back(static_cast<int>(st.shape().size() + i));
  return seen.ask(GraphOp::Fuse).reduce(op, last, true).reshape(st.shape());
}

PatternMatcher fuse() {
  const UPat x = UPat::var("x");
  const auto a = [] {
    return as_shape(UOp::new_buffer(UOp::device("HOST"), 6, DType::Float32), {2, 3});
  };
  return PatternMatcher({
      {"fuse stops at a stored value",
       UPat(GraphOp::Fuse).over({UPat(GraphOp::Contiguous).named("x")}),
       [](const Match& m) { return m[0]; }, "contiguous() was requested",
       [a] {
         const UOp c = a().alu(GraphOp::Sin).contiguous();
         return Examples{{fused(c), c}};
       }},
      {"fuse a view", UPat(GraphOp::Fuse).over({UPat(GraphOp::View).over({x}).named("v")}),
       fuse_view, "a reduce is computed wherever it is read; elementwise work moves below the view",
       [a] {
         const UOp b = a(), s = b.alu(GraphOp::Sin);
         const std::vector<int> order = {1, 0};
         const ShapeTracker st = ShapeTracker::contiguous({2, 3}).permute(order);
         return Examples{{fused(s.view(st)), fused(b.view(st)).alu(GraphOp::Sin)}};
       }},
      {"fuse a reduce", UPat(GraphOp::Fuse).over({UPat(GraphOp::ReduceAxis).named("x")}),
       fuse_reduce, "it is marked, so that grouping leaves it alone",
       [a] {
         const UOp b = a(), r = b.reduce(GraphOp::Add, {1});
         return Examples{{fused(r), fused(b).reduce(GraphOp::Add, {1}, true)}};
       }},
      {"fuse goes down", UPat(GraphOp::Fuse).over({x}), fuse_others,
       "fusion continues to all operands",
       [a] {
         const UOp b = a();
         return Examples{{fused(b.alu(GraphOp::Sin)), fused(b).alu(GraphOp::Sin)},
                         {fused(b.base()), b.base()}};
       }},
  });
}

}  // namespace touchstone::kernelize
