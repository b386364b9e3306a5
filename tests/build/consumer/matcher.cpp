#include <gtest/gtest.h>

#include <gmock/gmock.h>
#include <touchstone/testing/is_legal_for.h>

using touchstone::LazyOp;
using touchstone::ShapeTracker;
using touchstone::testing::IsLegalFor;

TEST(Consumer, ItsOutputIsLegal) {
  const auto st = ShapeTracker::contiguous({2});
  const auto x = LazyOp::load(1, touchstone::DType::Float32, st);
  const auto kernel = LazyOp::store(st, LazyOp::binary(touchstone::Op::Add, x, x));
  const std::vector<float> in{1, 2}, good{2, 4}, bad{2, 5};
  EXPECT_THAT(good, IsLegalFor(kernel).on(in));
  EXPECT_THAT(bad, ::testing::Not(IsLegalFor(kernel).on(in)));
}
