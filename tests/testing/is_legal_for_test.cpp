#include "touchstone/testing/is_legal_for.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include <gmock/gmock.h>

#include "../support/judged_outputs.h"
#include "../support/traced_draws.h"
#include "touchstone/base/error.h"
#include "touchstone/interp/device/interpreted.h"

namespace touchstone {
namespace {

using ::testing::HasSubstr;
using testing::IsLegalFor;
using ::testing::Not;

LazyOpPtr in(int idx, std::int64_t n, DType d = DType::Float32) {
  return LazyOp::load(idx, d, ShapeTracker::contiguous({n}));
}
LazyOpPtr stored(const LazyOpPtr& x) {
  return LazyOp::store(ShapeTracker::contiguous(x->shape()), x);
}

const std::vector<float> kA{1, 0.1F, -3}, kB{2, 0.1F, 3};

TEST(IsLegalFor, MatchesWhatAConformingDeviceGives) {
  const LazyOpPtr kernel = stored(LazyOp::binary(Op::Mul, in(1, 3), in(2, 3)));
  const std::vector<float> right{2, 0.1F * 0.1F, -9};
  const std::vector<float> wrong{2, 0.1F * 0.1F, std::nextafter(-9.0F, 0.0F)};
  EXPECT_THAT(right, IsLegalFor(kernel).on(kA, kB));
  EXPECT_THAT(wrong, Not(IsLegalFor(kernel).on(kA, kB)));
  EXPECT_THAT(std::span<const float>(right), IsLegalFor(kernel).on(kA, std::span(kB)));
}

TEST(IsLegalFor, ExplainsWithTheVerdict) {
  const LazyOpPtr kernel = stored(LazyOp::binary(Op::Mul, in(1, 3), in(2, 3)));
  ::testing::StringMatchResultListener listener;
  const ::testing::Matcher<std::vector<float>> matcher = IsLegalFor(kernel).on(kA, kB);
  EXPECT_FALSE(matcher.MatchAndExplain({2, 0.1F * 0.1F, 9}, &listener));
  EXPECT_THAT(listener.str(), HasSubstr("FAIL: 1 of 3 elements; first at (2): MUL float32 gave "));
  std::ostringstream text;
  matcher.DescribeTo(&text);
  EXPECT_THAT(text.str(), HasSubstr("is legal for "));
  EXPECT_THAT(text.str(), HasSubstr("under glibc (the default)"));
}

TEST(IsLegalFor, JudgesAFormulaAsTheCommandDoes) {
  for (const test::JudgedOutput& of : test::judged_outputs()) {
    IsLegalFor legal(of.formula);
    for (const std::vector<float>& input : of.inputs) legal = legal.on(input);
    EXPECT_THAT(of.right, legal);
    EXPECT_THAT(of.right, Not(legal.under(Profile::named("ieee"))));
    ::testing::StringMatchResultListener listener;
    EXPECT_FALSE(legal.MatchAndExplain(of.wrong, &listener));
    EXPECT_THAT(listener.str(), HasSubstr(test::kUnderLibrary));
  }
}

TEST(IsLegalFor, TakesAProfile) {
  const LazyOpPtr kernel = stored(LazyOp::unary(Op::Sqrt, in(1, 1)));
  const std::vector<float> two{2}, near{std::nextafter(std::sqrt(2.0F), 2.0F)};
  EXPECT_THAT(near, Not(IsLegalFor(kernel).on(two)));
  EXPECT_THAT(near, IsLegalFor(kernel).on(two).under(Profile::named("opencl")));
}

TEST(IsLegalFor, AWeakVerdictMatchesWhereThatIsAllowed) {
  const LazyOpPtr kernel =
      stored(LazyOp::binary(Op::Div, in(1, 1, DType::Int32), in(2, 1, DType::Int32)));
  const std::vector<std::int32_t> one{1}, zero{0}, any{77};
  EXPECT_THAT(any, Not(IsLegalFor(kernel).on(one, zero)));
  EXPECT_THAT(any, IsLegalFor(kernel).on(one, zero).even_if_weak());
}

// Sums of operands first rounded to tf32: each within its bounds, but jointly suspicious.
TEST(IsLegalFor, ASuspectVerdictMatchesWhereThatIsAllowed) {
  constexpr std::int64_t kRows = 512, kTerms = 2048;
  test::TracedDraws random(7);
  std::vector<float> x, rounded, sums;
  for (std::int64_t i = 0; i < kRows * kTerms; ++i) {
    x.push_back(random.normal<float>());
    const float unit = std::ldexp(1.0F, std::ilogb(x.back()) - 10);
    rounded.push_back(std::nearbyint(x.back() / unit) * unit);
  }
  for (const std::vector<float>* v : {&x, &rounded})
    for (std::int64_t row = 0; row < kRows; ++row)
      sums.push_back(
          std::accumulate(v->begin() + row * kTerms, v->begin() + (row + 1) * kTerms, 0.0F));
  const LazyOpPtr kernel = stored(LazyOp::reduce(
      Op::ReduceSum, LazyOp::load(1, DType::Float32, ShapeTracker::contiguous({kRows, kTerms})),
      {1}));
  const IsLegalFor matcher = IsLegalFor(kernel).on(x).even_if_weak();
  const std::span<const float> right(sums.data(), kRows), coarse(sums.data() + kRows, kRows);
  EXPECT_THAT(right, matcher);
  EXPECT_THAT(coarse, Not(matcher));
  EXPECT_THAT(coarse, matcher.even_if_suspect());
}

TEST(IsLegalFor, TakesArraysOfManyKinds) {
  const LazyOpPtr kernel = stored(LazyOp::unary(Op::Neg, in(1, 2, DType::Bool)));
  const std::vector<bool> x{true, false}, y{false, true};
  EXPECT_THAT(y, IsLegalFor(kernel).on(x));
  EXPECT_THAT((HostArray{DType::Bool, {2}, std::string("\0\1", 2)}), IsLegalFor(kernel).on(x));
  const std::unique_ptr<Device> device = make_interpreted_device();
  const auto buffer = std::make_shared<Buffer>(*device, DType::Bool, 2);
  EXPECT_THAT(buffer, Not(IsLegalFor(kernel).on(x)));  // zeros
  EXPECT_THAT(*buffer, IsLegalFor(kernel).on(std::vector<bool>{true, true}));
  EXPECT_EQ(::testing::PrintToString(testing::as_host_array(kA)), "float32(3) 1.0 0.1 -3.0");
}

TEST(IsLegalFor, WhatDoesNotFitDoesNotMatch) {
  const LazyOpPtr kernel = stored(LazyOp::unary(Op::Neg, in(1, 2)));
  const std::vector<float> x{1, 2}, y{-1, -2};
  ::testing::StringMatchResultListener listener;
  const auto matches = [&](const auto& output, const IsLegalFor& matcher) {
    return matcher.MatchAndExplain(output, &listener);
  };
  EXPECT_FALSE(matches(y, IsLegalFor(kernel)));
  EXPECT_THAT(listener.str(), HasSubstr("UNUSABLE: input buffer 1 was not given"));
  EXPECT_FALSE(matches(std::vector<double>{-1, -2}, IsLegalFor(kernel).on(x)));
  EXPECT_FALSE(matches(std::vector<float>{-1}, IsLegalFor(kernel).on(x)));
  EXPECT_TRUE(matches(y, IsLegalFor(kernel).on(x)));
}

}  // namespace
}  // namespace touchstone
