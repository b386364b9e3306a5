// Linear code run step by step, with every memory access checked.
#include "touchstone/fuzz/areas/code_run.h"

#include <gtest/gtest.h>

#include <array>

#include "touchstone/codegen/linearize.h"
#include "touchstone/fuzz/choice/chooser.h"
#include "touchstone/fuzz/draw/draw_kernel.h"

namespace touchstone::fuzz {
namespace {

constexpr std::int64_t kEnough = 100'000;

LazyOpPtr stored(const LazyOpPtr& value) {
  return LazyOp::store(ShapeTracker::contiguous(value->shape()), value);
}

// Rows of three elements, five apart, from the second element on.
LinearKernel sums_of_rows(const sint& rows) {
  const LazyOpPtr x = LazyOp::load(1, DType::Int32,
                                   ShapeTracker({View::strided({rows, 3}, {sint(5), sint(1)}, 1)}));
  return linearize(stored(LazyOp::reduce(Op::ReduceSum, x, {1})));
}

TEST(CodeRun, CountsReadsAndFindsTheFirstElementOutside) {
  const LinearKernel code = sums_of_rows(4);
  const auto inside = run_code(code, {}, std::array<std::int64_t, 2>{4, 19}, kEnough);
  ASSERT_TRUE(inside);
  EXPECT_EQ(inside->reads, 12);
  EXPECT_FALSE(inside->outside) << *inside->outside;
  const auto read = run_code(code, {}, std::array<std::int64_t, 2>{4, 18}, kEnough);
  ASSERT_TRUE(read && read->outside);
  EXPECT_NE(read->outside->find("reaches element 18 of 18"), std::string::npos) << *read->outside;
  const auto written = run_code(code, {}, std::array<std::int64_t, 2>{3, 19}, kEnough);
  ASSERT_TRUE(written && written->outside);
  EXPECT_NE(written->outside->find("reaches element 3 of 3"), std::string::npos);
  EXPECT_FALSE(run_code(code, {}, {}, 10)) << "longer than that";
}

TEST(CodeRun, TakesTheValuesOfVariables) {
  const LinearKernel code = sums_of_rows(symbolic::variable("n", 0, 9));
  for (std::int64_t n = 0; n <= 9; ++n) {
    const auto run = run_code(code, {{"n", n}}, std::array<std::int64_t, 2>{n, 5 * n - 1}, kEnough);
    ASSERT_TRUE(run);
    EXPECT_EQ(run->reads, 3 * n);
    EXPECT_FALSE(run->outside) << *run->outside;
  }
}

TEST(CodeRun, LooksAtArraysAndLeavesOutWhatIsMaskedOrMadeOfValues) {
  LinearKernel code;
  code.buffers = {{0, DType::Int64, 1}, {1, DType::Int64, 1}};
  code.steps = {{StepKind::DefineGlobal, DType::Int64, {}, 0},
                {StepKind::DefineGlobal, DType::Int64, {}, 1},
                {StepKind::Const, DType::Int64, {}, Scalar::of(std::int64_t{0})},
                {StepKind::Const, DType::Int64, {}, Scalar::of(std::int64_t{7})},
                {StepKind::Load, DType::Int64, {1, 3, 2}, {}},
                {StepKind::Load, DType::Int64, {1, 2}, {}},
                {StepKind::Load, DType::Int64, {1, 5}, {}},
                {StepKind::Store, DType::Int64, {0, 2, 6}, {}}};
  const std::array<std::int64_t, 2> sizes{1, 1};
  const auto run = run_code(code, {}, sizes, kEnough);
  ASSERT_TRUE(run);
  EXPECT_EQ(run->reads, 2);
  EXPECT_FALSE(run->outside) << *run->outside;
  code.steps.insert(code.steps.begin() + 4, {StepKind::DefineAcc, DType::Int64, {2}, 7});
  code.steps.resize(5);
  code.steps.push_back({StepKind::LoadAcc, DType::Int64, {4, 3}, {}});
  const auto beyond = run_code(code, {}, sizes, kEnough);
  ASSERT_TRUE(beyond && beyond->outside);
  EXPECT_NE(beyond->outside->find("reaches element 7 of 7"), std::string::npos);
}

TEST(CodeRun, OurCodeStaysInside) {
  int asked = 0;
  for (std::uint64_t i = 0; i < 1'200; ++i) {
    RandomChooser chooser(20'261'128, i);
    const Reply reply = reaches_outside(
        i % 4 == 0 ? draw_loops(chooser, Loops::Lines) : draw_kernel_case(chooser), i);
    asked += reply.asked ? 1 : 0;
    EXPECT_FALSE(reply.what) << "case " << i << ": " << *reply.what;
  }
  EXPECT_GT(asked, 1'000);
}

}  // namespace
}  // namespace touchstone::fuzz
