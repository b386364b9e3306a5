#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>

#include "kernels.h"
#include "touchstone/interp/device/evaluator.h"

namespace touchstone {
namespace {

using test::buffer;
using test::run;

std::vector<float> iota(int n, float first = 0) {
  std::vector<float> v(static_cast<std::size_t>(n));
  std::iota(v.begin(), v.end(), first);
  return v;
}

LazyOpPtr in(int idx, const ShapeTracker& st, DType d = DType::Float32) {
  return LazyOp::load(idx, d, st);
}

TEST(Interpreted, ElementwiseFollowsTheViews) {
  const ShapeTracker columns = ShapeTracker::contiguous({2, 3}).permute(std::vector<int>{1, 0});
  const auto x = LazyOp::binary(Op::Sub, in(1, columns), in(2, ShapeTracker::contiguous({3, 2})));
  EXPECT_EQ(run<float>(x, {buffer(iota(6)), buffer(iota(6))}),
            (std::vector<float>{0, 2, -1, 1, -2, 0}));
}

TEST(Interpreted, MaskedElementsAreZeroAndNeverRead) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const ShapeTracker padded = ShapeTracker::contiguous({2}).shrink({{0, 1}}).pad({{1, 2}});
  EXPECT_EQ(run<float>(in(1, padded), {buffer<float>({5, nan})}), (std::vector<float>{0, 5, 0, 0}));
  const auto c =
      LazyOp::constant(Scalar::of(7.0F), ShapeTracker::contiguous({1}).expand({2}).pad({{1, 0}}));
  EXPECT_EQ(run<float>(c, {}), (std::vector<float>{0, 7, 7}));
}

TEST(Interpreted, ReducesAnyAxesInAnyPlace) {
  const auto x = in(1, ShapeTracker::contiguous({2, 3, 4}));
  std::vector<float> want(3);
  for (int i = 0; i < 24; ++i) want[static_cast<std::size_t>(i / 4 % 3)] += static_cast<float>(i);
  EXPECT_EQ(run<float>(LazyOp::reduce(Op::ReduceSum, x, {0, 2}), {buffer(iota(24))}), want);
  EXPECT_EQ(run<float>(LazyOp::reduce(Op::ReduceMax, x, {1}), {buffer(iota(24))}),
            (std::vector<float>{8, 9, 10, 11, 20, 21, 22, 23}));
}

TEST(Interpreted, AReduceOfAReduceKeepsItsOrder) {
  // Row sums times the value, summed over columns: both axis orders in one kernel.
  const auto x = in(1, ShapeTracker::contiguous({2, 2}));
  const auto rows = LazyOp::reduce(Op::ReduceSum, x, {1});  // (2, 1): 1, 5
  const auto twice = LazyOp::reduce(Op::ReduceMax, rows, {0});
  EXPECT_EQ(run<float>(twice, {buffer(iota(4))}), (std::vector<float>{5}));
  const auto columns = LazyOp::reduce(Op::ReduceSum, x, {0});
  EXPECT_EQ(run<float>(LazyOp::reduce(Op::ReduceMax, columns, {1}), {buffer(iota(4))}),
            (std::vector<float>{4}));
}

TEST(Interpreted, ALongReduceCrossesBlocks) {
  const auto x = in(1, ShapeTracker::contiguous({3, 10'000}));
  EXPECT_EQ(
      run<float>(LazyOp::reduce(Op::ReduceSum, x, {1}), {buffer(std::vector<float>(30'000, 1.0F))}),
      (std::vector<float>{10'000, 10'000, 10'000}));
}

TEST(Interpreted, AReduceOfNothingIsTheIdentity) {
  const auto none = in(1, ShapeTracker::contiguous({2, 0}));
  EXPECT_EQ(run<float>(LazyOp::reduce(Op::ReduceSum, none, {1}), {buffer<float>({})}),
            (std::vector<float>{0, 0}));
  EXPECT_EQ(run<float>(LazyOp::reduce(Op::ReduceMax, none, {1}), {buffer<float>({})})[0],
            -HUGE_VALF);
  const auto ints = in(1, ShapeTracker::contiguous({1, 0}), DType::Int8);
  EXPECT_EQ(
      run<std::int8_t>(LazyOp::reduce(Op::ReduceMax, ints, {1}), {buffer<std::int8_t>({})})[0],
      -128);
}

TEST(Interpreted, SizesBesideAnEmptyAxisNeedNotMultiply) {
  constexpr std::int64_t kHuge = std::int64_t{1} << 40;
  for (const Shape& shape : {Shape{kHuge, kHuge, 0}, Shape{0, kHuge, kHuge}}) {
    const auto one =
        LazyOp::constant(Scalar::of(1.0F), ShapeTracker({View::strided(shape, {0, 0, 0})}));
    const std::vector<int> axes = shape[0] == sint(0) ? std::vector{1, 2} : std::vector{0, 1};
    EXPECT_EQ(run<float>(LazyOp::reduce(Op::ReduceSum, one, axes), {}), std::vector<float>{});
  }
}

TEST(Interpreted, SumsAreExactWhateverTheOrder) {
  const std::vector<float> terms{1e30F, 1.0F, -1e30F, 0x1p-100F};
  const auto sum = LazyOp::reduce(Op::ReduceSum, in(1, ShapeTracker::contiguous({4})), {0});
  EXPECT_EQ(run<float>(sum, {buffer(terms)}), (std::vector<float>{1.0F}));
}

TEST(Interpreted, IntegerSumsWrap) {
  const auto sum =
      LazyOp::reduce(Op::ReduceSum, in(1, ShapeTracker::contiguous({3}), DType::Int32), {0});
  EXPECT_EQ(run<std::int32_t>(sum, {buffer<std::int32_t>({INT32_MAX, 1, 1})}),
            (std::vector<std::int32_t>{INT32_MIN + 1}));
}

TEST(Interpreted, BoolsAreLogic) {
  const auto x = in(1, ShapeTracker::contiguous({4}), DType::Bool),
             y = in(2, ShapeTracker::contiguous({4}), DType::Bool);
  const auto make = [](std::vector<std::uint8_t> bytes) {
    auto b = test::buffer(DType::Bool, static_cast<std::int64_t>(bytes.size()));
    b->copy_in(std::as_bytes(std::span(bytes)));
    return b;
  };
  const auto a = make({0, 0, 1, 1}), b = make({0, 1, 0, 1});
  EXPECT_EQ(run<bool>(LazyOp::binary(Op::Add, x, y), {a, b}),
            (std::vector<bool>{false, true, true, true}));
  EXPECT_EQ(run<bool>(LazyOp::binary(Op::Mul, x, y), {a, b}),
            (std::vector<bool>{false, false, false, true}));
  EXPECT_EQ(run<bool>(LazyOp::unary(Op::Neg, x), {a}),
            (std::vector<bool>{true, true, false, false}));
}

// Each node has its own blocks: long chains get short ones.
TEST(Interpreted, BlocksOfManyNodesTakeNoMoreMemoryThanThoseOfSome) {
  const auto chain = [](LazyOpPtr x, int length) {
    for (int i = 0; i < length; ++i) x = LazyOp::unary(Op::Neg, x);
    return x;
  };
  const LazyOpPtr x = in(1, ShapeTracker::contiguous({30'000}));
  for (const int length : {0, 20'000, 500'000}) {
    const interp::KernelProgram program = interp::make_program(test::store(chain(x, length)));
    EXPECT_EQ(interp::block_elements(program), length == 0 ? 4096 : length == 20'000 ? 419 : 32);
  }
  const std::vector<float> wanted = iota(30'000);
  EXPECT_EQ(run<float>(chain(x, 20'000), {buffer(wanted)}), wanted);
  const LazyOpPtr sum = LazyOp::reduce(Op::ReduceSum, chain(x, 20'000), {0});
  EXPECT_EQ(run<float>(sum, {buffer(wanted)}), (std::vector<float>{449'985'000.0F}));
}

// The search below a reduce for repeated work must not recurse.
TEST(Interpreted, ALongChainBelowAReduceDoesNotRecurse) {
  LazyOpPtr x = in(1, ShapeTracker::contiguous({2}));
  for (int i = 0; i < 400'000; ++i) x = LazyOp::unary(Op::Neg, x);
  EXPECT_EQ(run<float>(LazyOp::reduce(Op::ReduceSum, x, {0}), {buffer(iota(2, 1))}),
            (std::vector<float>{3}));
}

TEST(Interpreted, SymbolicSizesAreBoundAtEachRun) {
  const sint n = symbolic::variable("n", 1, 8);
  const auto sum = LazyOp::reduce(Op::ReduceSum, in(1, ShapeTracker::contiguous({n})), {0});
  EXPECT_EQ(run<float>(sum, {buffer(iota(8))}, {{"n", 3}}), (std::vector<float>{3}));
  EXPECT_EQ(run<float>(sum, {buffer(iota(8))}, {{"n", 8}}), (std::vector<float>{28}));
}

TEST(Interpreted, StackedViewsReadWhatTheirDefinitionSays) {
  const ShapeTracker st = ShapeTracker::contiguous({4, 6})
                              .shrink({{0, 4}, {1, 5}})
                              .permute(std::vector<int>{1, 0})
                              .reshape({8, 2})
                              .pad({{1, 0}, {0, 1}});
  std::vector<float> want;
  for (std::int64_t i = 0; i < 9; ++i)
    for (std::int64_t j = 0; j < 3; ++j) {
      const auto at = st.at(std::vector<std::int64_t>{i, j});
      want.push_back(at ? static_cast<float>(*at) : 0.0F);
    }
  EXPECT_EQ(run<float>(in(1, st), {buffer(iota(24))}), want);
}

}  // namespace
}  // namespace touchstone
