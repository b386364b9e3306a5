#include "touchstone/interp/oracle/explain.h"

#include <gtest/gtest.h>

#include <numeric>

#include "kernels.h"
#include "touchstone/interp/device/scalar_ops.h"

namespace touchstone {
namespace {

using test::buffer;

TEST(Explain, TakesTheRadiusApart) {
  const auto in = [](int i) {
    return LazyOp::load(i, DType::Float32, ShapeTracker::contiguous({2}));
  };
  const LazyOpPtr product = LazyOp::binary(Op::Mul, in(1), in(2));
  const LazyOpPtr kernel =
      test::store(LazyOp::unary(Op::Exp2, LazyOp::binary(Op::Add, product, in(3))));
  const std::vector<BufferPtr> buffers{nullptr, buffer<float>({1, 0.1F}), buffer<float>({1, 0.3F}),
                                       buffer<float>({1, 0.7F})};
  const std::int64_t at[] = {1};
  const std::vector<ExplainedNode> nodes = explain(kernel, test::raw(buffers), at);
  ASSERT_EQ(nodes.size(), 6U);
  const ExplainedNode& root = nodes.back();
  EXPECT_EQ(root.text, "%5 = EXP2(%4) float32");
  EXPECT_EQ(root.reference, Scalar::of(scalar::exp2(0.1F * 0.3F + 0.7F)));
  EXPECT_EQ(root.exact.substr(0, 8), "1.658639");  // 2^0.73 of these three floats
  EXPECT_TRUE(root.legal.accepts(root.reference));
  ASSERT_TRUE(root.radius);
  ASSERT_EQ(root.terms.size(), 3U);
  double sum = 0;
  for (const auto& term : root.terms) sum += term.amount;
  EXPECT_NEAR(sum, *root.radius, *root.radius * 1e-5);
  EXPECT_GE(root.terms[0].amount, root.terms[1].amount);
  // A single legal value needs no radius.
  const std::int64_t first[] = {0};
  EXPECT_FALSE(explain(kernel, test::raw(buffers), first)[3].legal.nan);
  EXPECT_TRUE(explain(kernel, test::raw(buffers), first)[0].terms.empty());
}

TEST(Explain, GivesASumItsOrdersAndItsExactValue) {
  std::vector<float> terms(100, 0.1F);
  const LazyOpPtr kernel = test::store(LazyOp::reduce(
      Op::ReduceSum, LazyOp::load(1, DType::Float32, ShapeTracker::contiguous({100})), {0}));
  const std::vector<BufferPtr> buffers{nullptr, buffer(terms)};
  const std::int64_t at[] = {0};
  const ExplainedNode sum = explain(kernel, test::raw(buffers), at).back();
  EXPECT_EQ(sum.exact, "10.00000014901161193847656");  // 100 times the float
  ASSERT_EQ(sum.terms.size(), 1U);
  EXPECT_NE(sum.terms[0].what.find("orders of 100 terms"), std::string::npos);
  EXPECT_TRUE(sum.legal.accepts(Scalar::of(std::accumulate(terms.begin(), terms.end(), 0.0F))));
  EXPECT_FALSE(sum.legal.accepts(Scalar::of(9.9F)));
  EXPECT_THROW(explain(kernel, {}, at), BufferError);
}

// One sum for all terms of another is not computed for each: that would take hours.
TEST(Explain, TakesTimeInProportionToALongRow) {
  constexpr std::int64_t n = 200'000;
  const auto x = [&](const ShapeTracker& st) { return LazyOp::load(1, DType::Float32, st); };
  const LazyOpPtr inner = LazyOp::reduce(
      Op::ReduceSum, x(ShapeTracker::contiguous({n}).reshape({1, n}).expand({n, n})), {1});
  const LazyOpPtr apart =
      LazyOp::binary(Op::Sub, x(ShapeTracker::contiguous({n}).reshape({n, 1})), inner);
  const LazyOpPtr kernel = test::store(LazyOp::reduce(Op::ReduceSum, apart, {0}));
  const std::vector<BufferPtr> buffers{nullptr, buffer(std::vector<float>(n, 1))};
  const std::int64_t at[] = {0, 0};
  const ExplainedNode sum = explain(kernel, test::raw(buffers), at).back();
  EXPECT_EQ(sum.exact, "-39999800000");
  EXPECT_TRUE(sum.legal.accepts(sum.reference));
}

TEST(Explain, OfTooManyNodesIsRefusedAtOnce) {
  LazyOpPtr x = LazyOp::load(1, DType::Float32, ShapeTracker::contiguous({2}));
  for (int i = 0; i < 999; ++i) x = LazyOp::unary(Op::Neg, x);
  const std::vector<BufferPtr> buffers{nullptr, buffer<float>({1, 2})};
  const std::int64_t at[] = {1};
  EXPECT_EQ(explain(test::store(x), test::raw(buffers), at).size(), 1000U);
  EXPECT_THROW(explain(test::store(LazyOp::unary(Op::Neg, x)), test::raw(buffers), at), AstError);
}

}  // namespace
}  // namespace touchstone
