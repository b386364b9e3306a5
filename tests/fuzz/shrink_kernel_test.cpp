// Shrinking a kernel case while a property holds.
#include <gtest/gtest.h>

#include <algorithm>

#include "touchstone/fuzz/judge/shrink.h"
#include "touchstone/fuzz/judge/smaller_views.h"

namespace touchstone::fuzz {
namespace {

KernelCase case_of(const LazyOpPtr& value, symbolic::Values values = {}) {
  KernelCase c{
      LazyOp::store(ShapeTracker::contiguous(value->shape()), value), {}, std::move(values)};
  for (const BufferSpec& b : buffers_of(c.concrete())) {
    if (b.idx == 0) continue;
    const auto bytes = static_cast<std::size_t>(b.size) * itemsize(b.dtype);
    c.inputs.push_back({b.dtype, {b.size}, std::string(bytes, '\3')});
  }
  return c;
}

int times(const KernelCase& c, Op op) {
  return static_cast<int>(
      std::ranges::count_if(toposort(c.kernel), [&](const auto& n) { return n->op() == op; }));
}

// The addresses of a two-axis view; -1 where masked.
std::vector<std::int64_t> addresses(const ShapeTracker& st) {
  std::vector<std::int64_t> all;
  for (std::int64_t i = 0; i < st.shape()[0].as_int(); ++i)
    for (std::int64_t k = 0; k < st.shape()[1].as_int(); ++k)
      all.push_back(st.at(std::vector{i, k}).value_or(-1));
  return all;
}

TEST(ShrinkKernels, OneVariableStaysAndIsAsSmallAsCanBe) {
  const sint m = symbolic::variable("m", 0, 3), k = symbolic::variable("k", 4, 8);
  const auto st = ShapeTracker::contiguous({1}).reshape({1, 1}).expand({m, k});
  const Shrunk s = shrink(case_of(LazyOp::load(1, DType::Int32, st), {{"m", 2}, {"k", 6}}),
                          [](const KernelCase& c) { return c.values.contains("m"); });
  EXPECT_EQ(s.smallest.values, (symbolic::Values{{"m", 0}}));
  EXPECT_LE(s.smallest.kernel->shape()[0].max(), 1);
  for (const sint& size : s.smallest.kernel->shape()) EXPECT_LE(size.max(), 1) << str(s.smallest);
}

TEST(ShrinkKernels, ViewsThatVariablesAreInBecomePlain) {
  const sint n = symbolic::variable("n", 1, 4);
  const ShapeTracker st = ShapeTracker::contiguous({3, n}).permute(std::vector<int>{1, 0});
  const Shrunk s =
      shrink(case_of(LazyOp::load(1, DType::Int32, st), {{"n", 3}}),
             [](const KernelCase& c) { return times(c, Op::Load) == 1 && !c.values.empty(); });
  const LazyOpPtr& load = s.smallest.kernel->src()[0];
  EXPECT_TRUE(load->buffer().st.is_contiguous()) << str(s.smallest);
}

TEST(ShrinkKernels, AnOperationGoesFromTwoPlacesAtOnce) {
  const auto x = LazyOp::load(1, DType::Float32, ShapeTracker::contiguous({4, 1}));
  const auto row = LazyOp::load(1, DType::Float32, ShapeTracker::contiguous({4, 4}));
  const auto value = [](const LazyOpPtr& of) {
    return LazyOp::unary(Op::Log2, LazyOp::unary(Op::Sin, LazyOp::binary(Op::Mul, of, of)));
  };
  const auto sum = LazyOp::reduce(Op::ReduceSum, value(row), {1});
  const Shrunk s = shrink(case_of(LazyOp::binary(Op::Div, value(x), sum)), [](const KernelCase& c) {
    return times(c, Op::Sin) == 2 && times(c, Op::Log2) % 2 == 0 && times(c, Op::Mul) % 2 == 0;
  });
  EXPECT_EQ(times(s.smallest, Op::Sin), 2) << str(s.smallest);
  EXPECT_EQ(times(s.smallest, Op::Log2), 0) << str(s.smallest);
  EXPECT_EQ(times(s.smallest, Op::Mul), 0) << str(s.smallest);
}

TEST(ShrinkKernels, PositionsThatAreOutsideStayAnError) {
  const auto st = ShapeTracker::contiguous({2, 3});
  const auto at = LazyOp::unary(Op::Neg, LazyOp::load(1, DType::Int64, st));  // of bytes of 3
  const auto rows = LazyOp::gather(2, DType::Int32, ShapeTracker::contiguous({4, 2, 3}), at, st);
  const Shrunk s = shrink(case_of(LazyOp::unary(Op::Neg, rows)), [](const KernelCase& c) {
    return std::ranges::any_of(toposort(c.kernel), [](const LazyOpPtr& n) {
      return n->op() == Op::Gather && n->buffer().checked;
    });
  });
  EXPECT_EQ(times(s.smallest, Op::Gather), 1) << str(s.smallest);
  EXPECT_LE(toposort(s.smallest.kernel).size(), 3U) << str(s.smallest);
}

TEST(ShrinkKernels, SizesGoDownToAPowerOfTwo) {
  const auto x = LazyOp::load(1, DType::Float32, ShapeTracker::contiguous({48}));
  const Shrunk s = shrink(case_of(x), [](const KernelCase& c) {
    const sint& size = c.kernel->shape()[0];
    return size == sint(48) || (size.as_int() % 8 == 0 && size.as_int() >= 8 && size != sint(24));
  });
  EXPECT_EQ(s.smallest.kernel->shape(), Shape{8}) << str(s.smallest);
}

TEST(SmallerViews, AreWithoutWhatNobodySees) {
  const ShapeTracker rows = ShapeTracker::contiguous({2, 9}).pad({{0, 0}, {0, 2}});
  std::vector<View> stack = rows.views();
  stack.push_back(View::strided({3, 2}, {-2, -1}, 10));
  const ShapeTracker st(stack), small = compacted(st);
  EXPECT_EQ(addresses(st), (std::vector<std::int64_t>{-1, -1, 8, 7, 6, 5}));
  EXPECT_EQ(addresses(small), addresses(st));
  EXPECT_EQ(small.views()[0].shape(), (Shape{1, 6}));
  EXPECT_EQ(small.views()[1].offset(), sint(5));
}

}  // namespace
}  // namespace touchstone::fuzz
