#include "touchstone/interp/oracle/verdict.h"

#include <gtest/gtest.h>

#include <rapidcheck/gtest.h>

#include <array>
#include <cmath>
#include <limits>

#include "kernels.h"
#include "touchstone/interp/device/scalar_named.h"
#include "touchstone/interp/device/scalar_ops.h"

namespace touchstone {
namespace {

using test::buffer;

template <class T>
Verdict judged(const LazyOpPtr& value, std::vector<BufferPtr> inputs,
               const std::vector<T>& answer) {
  const BufferPtr out = buffer(answer);
  inputs.insert(inputs.begin(), nullptr);
  return judge(test::store(value), test::raw(inputs), *out);
}

LazyOpPtr load(int idx, std::int64_t n, DType d = DType::Float32) {
  return LazyOp::load(idx, d, ShapeTracker::contiguous({n}));
}
LazyOpPtr sum(std::int64_t n, DType d = DType::Float32) {
  return LazyOp::reduce(Op::ReduceSum, load(1, n, d), {0});
}

const float kNan = std::numeric_limits<float>::quiet_NaN();
const float kInf = std::numeric_limits<float>::infinity();

TEST(Verdict, ElementwiseResultsMustMatchBitForBit) {
  const auto product = LazyOp::binary(Op::Mul, load(1, 2), load(2, 2));
  const std::vector<BufferPtr> inputs{buffer<float>({0.1F, 3}), buffer<float>({0.1F, -4})};
  const float first = 0.1F * 0.1F;
  EXPECT_EQ(judged<float>(product, inputs, {first, -12}).outcome, Outcome::Pass);
  const Verdict bad = judged<float>(product, inputs, {first, std::nextafter(-12.0F, 0.0F)});
  EXPECT_EQ(bad.outcome, Outcome::Fail);
  EXPECT_EQ(bad.op, Op::Mul);
  EXPECT_EQ(bad.at, std::vector<std::int64_t>{1});
  EXPECT_EQ(bad.candidate.bits(), 0xc13fffffU);
  EXPECT_EQ(bad.low, Scalar::of(-12.0F));
}

TEST(Verdict, AnyNanEqualsAnyNanAndNothingElse) {
  const auto root = LazyOp::unary(Op::Sqrt, load(1, 1));
  EXPECT_EQ(judged<float>(root, {buffer<float>({-1})}, {-kNan}).outcome, Outcome::Pass);
  EXPECT_EQ(judged<float>(root, {buffer<float>({-1})}, {0}).outcome, Outcome::Fail);
}

TEST(Verdict, CastsAndBitcastsOfEveryPairTakeTheReferencesAnswer) {
  const std::int64_t n = 256;
  for (const DTypeInfo& from : dtype_table)
    for (const DTypeInfo& to : dtype_table)
      for (const bool bitcast : {false, true}) {
        const bool bools = to.dtype == DType::Bool || from.dtype == DType::Bool;
        if (bitcast && (to.itemsize != from.itemsize || bools)) continue;
        const BufferPtr in = buffer(from.dtype, n), out = buffer(to.dtype, n);
        auto* bytes = static_cast<std::uint8_t*>(in->memory());  // every first and last byte
        for (std::int64_t i = 0; i < n * from.itemsize; ++i)
          bytes[i] = static_cast<std::uint8_t>(from.dtype == DType::Bool ? i % 2
                                                                         : i * 255 / from.itemsize);
        const LazyOpPtr value = LazyOp::cast(load(1, n, from.dtype), to.dtype, bitcast);
        run_kernel(test::reference(), test::store(value),
                   std::vector<Buffer*>{out.get(), in.get()});
        Profile saturates_not;
        saturates_not.casts_saturate = false;  // so that no operand's result is determined
        for (const Profile& profile : {Profile(), saturates_not})
          EXPECT_EQ(
              judge(test::store(value), std::vector<Buffer*>{nullptr, in.get()}, *out, profile)
                  .wrong,
              0)
              << from.name << " to " << to.name << (bitcast ? ", bits" : "");
      }
}

TEST(Verdict, ZerosOfTheWrongSignFail) {
  EXPECT_EQ(
      judged<float>(LazyOp::unary(Op::Sqrt, load(1, 1)), {buffer<float>({-0.0F})}, {0.0F}).outcome,
      Outcome::Fail);
  const auto larger = LazyOp::binary(Op::Max, load(1, 1), load(2, 1));
  EXPECT_EQ(judged<float>(larger, {buffer<float>({-0.0F}), buffer<float>({0.0F})}, {-0.0F}).outcome,
            Outcome::Fail);
}

TEST(Verdict, FunctionsHaveTheirDeclaredUlp) {
  const auto power = LazyOp::unary(Op::Exp2, load(1, 1));
  const float exact = scalar::exp2(0.3F);
  const float off = std::nextafter(exact, 2.0F);
  EXPECT_EQ(judged<float>(power, {buffer<float>({0.3F})}, {off}).outcome, Outcome::Pass);
  EXPECT_EQ(judged<float>(power, {buffer<float>({0.3F})}, {std::nextafter(off, 2.0F)}).outcome,
            Outcome::Fail);
  EXPECT_EQ(judged<float>(power, {buffer<float>({-kInf})}, {0x1p-149F}).outcome, Outcome::Fail);
}

TEST(Verdict, IntegerDivisionByZeroMayGiveAnything) {
  const auto quotient = LazyOp::binary(Op::Div, load(1, 2, DType::Int32), load(2, 2, DType::Int32));
  const std::vector<BufferPtr> inputs{buffer<std::int32_t>({7, -7}), buffer<std::int32_t>({0, 2})};
  EXPECT_NE(judged<std::int32_t>(quotient, inputs, {123, -3}).outcome, Outcome::Fail);
  EXPECT_EQ(judged<std::int32_t>(quotient, inputs, {123, -4}).outcome, Outcome::Fail);
}

TEST(Verdict, SumsOfSmallIntegersHaveOneAnswer) {
  std::vector<float> terms(1000);
  for (std::size_t i = 0; i < terms.size(); ++i) terms[i] = static_cast<float>(i % 7) - 3;
  float total = 0;
  for (const float t : terms) total += t;
  const Verdict right = judged<float>(sum(1000), {buffer(terms)}, {total});
  EXPECT_EQ(right.outcome, Outcome::Pass);
  EXPECT_EQ(right.determined, 1);
  EXPECT_EQ(judged<float>(sum(1000), {buffer(terms)}, {total - terms.back()}).outcome,
            Outcome::Fail);
}

TEST(Verdict, CancellationThatLeavesNothingIsWeak) {
  std::vector<float> terms;
  for (int i = 0; i < 64; ++i)
    terms.push_back((i % 2 == 0 ? 1.0F : -1.0F) * (1.0F / 3 + static_cast<float>(i / 2)));
  const Verdict v = judged<float>(sum(64), {buffer(terms)}, {0x1p-24F});
  EXPECT_EQ(v.outcome, Outcome::Weak);
}

TEST(Verdict, OverflowOfSomeOrderIsLegal) {
  const float big = std::numeric_limits<float>::max();
  EXPECT_NE(judged<float>(sum(3), {buffer<float>({big, big, -big})}, {kInf}).outcome,
            Outcome::Fail);
  EXPECT_NE(judged<float>(sum(3), {buffer<float>({big, big, -big})}, {big}).outcome, Outcome::Fail);
  EXPECT_EQ(judged<float>(sum(2), {buffer<float>({kInf, 1})}, {kInf}).outcome, Outcome::Pass);
  EXPECT_EQ(judged<float>(sum(2), {buffer<float>({kInf, 1})}, {kNan}).outcome, Outcome::Fail);
  EXPECT_EQ(judged<float>(sum(2), {buffer<float>({kInf, -kInf})}, {kNan}).outcome, Outcome::Pass);
}

TEST(Verdict, MaxThatDropsNanFails) {
  const auto largest = LazyOp::reduce(Op::ReduceMax, load(1, 3), {0});
  EXPECT_EQ(judged<float>(largest, {buffer<float>({1, kNan, 2})}, {kNan}).outcome, Outcome::Pass);
  EXPECT_EQ(judged<float>(largest, {buffer<float>({1, kNan, 2})}, {2}).outcome, Outcome::Fail);
}

TEST(Verdict, FusedAndUnfusedMulaccAreBothLegal) {
  const auto x = LazyOp::ternary(Op::MulAcc, load(1, 1), load(2, 1), load(3, 1));
  const float a = 1 + 0x1p-12F, c = -1;
  const std::vector<BufferPtr> inputs{buffer<float>({a}), buffer<float>({a}), buffer<float>({c})};
  const float product = a * a;
  EXPECT_EQ(judged<float>(x, inputs, {product + c}).outcome, Outcome::Pass);
  EXPECT_EQ(judged<float>(x, inputs, {std::fma(a, a, c)}).outcome, Outcome::Pass);
  EXPECT_NE(product + c, std::fma(a, a, c));
  EXPECT_EQ(judged<float>(x, inputs, {0.001F}).outcome, Outcome::Fail);
}

TEST(Verdict, FusedMulaccOfNarrowFloatsIsLegal) {
  const auto x = LazyOp::ternary(Op::MulAcc, load(1, 1, DType::BFloat16),
                                 load(2, 1, DType::BFloat16), load(3, 1, DType::BFloat16));
  const bfloat16 a = convert<bfloat16>(-15.625F), b = convert<bfloat16>(-0.373046875F),
                 c = convert<bfloat16>(-4.4375F);
  const std::vector<BufferPtr> inputs{buffer<bfloat16>({a}), buffer<bfloat16>({b}),
                                      buffer<bfloat16>({c})};
  const bfloat16 fused = scalar::fma(a, b, c), split = scalar::mulacc(a, b, c);
  ASSERT_NE(fused, split);
  EXPECT_EQ(judged<bfloat16>(x, inputs, {fused}).outcome, Outcome::Pass);
  EXPECT_EQ(judged<bfloat16>(x, inputs, {split}).outcome, Outcome::Pass);
}

TEST(Verdict, ZeroTimesAnyNumberMayBeZero) {
  // Fused and unfused results differ, so the remainder is unknown: times 0 it is 0 or NaN.
  const auto load = [](int b) {
    return LazyOp::load(b, DType::Float16, ShapeTracker::contiguous({1}));
  };
  const LazyOpPtr x = load(1), y = load(2), zero = load(3);
  const LazyOpPtr sum = LazyOp::ternary(Op::MulAcc, x, x, y);
  const LazyOpPtr rest = LazyOp::binary(Op::Mod, sum, sum);
  const std::vector<BufferPtr> in = {buffer<float16>({to_float16(0.2118F)}),
                                     buffer<float16>({to_float16(-0.2129F)}),
                                     buffer<float16>({to_float16(0.0F)})};
  for (const LazyOpPtr& value :
       {LazyOp::ternary(Op::MulAcc, rest, zero, zero), LazyOp::binary(Op::Mul, zero, rest)}) {
    EXPECT_NE(judged<float16>(value, in, {to_float16(0.0F)}).outcome, Outcome::Fail);
    EXPECT_EQ(judged<float16>(value, in, {to_float16(1.0F)}).outcome, Outcome::Fail);
  }
}

TEST(Verdict, BytesThatAreNoBoolFail) {
  const auto bools = [](std::uint8_t last) {
    BufferPtr b = buffer(DType::Bool, 3);
    b->write<bool>(std::array{true, false, true});
    static_cast<std::uint8_t*>(b->memory())[2] = last;
    return b;
  };
  const LazyOpPtr less = LazyOp::binary(Op::CmpLt, load(1, 3), load(2, 3));
  const std::vector<BufferPtr> inputs{nullptr, buffer<float>({1, 2, 3}), buffer<float>({2, 1, 4})};
  const auto less_is = [&](std::uint8_t last) {
    return judge(test::store(less), test::raw(inputs), *bools(last)).str();
  };
  EXPECT_EQ(less_is(1), "PASS: 3 elements, each with one legal answer; no probes");
  EXPECT_EQ(
      less_is(165),
      "FAIL: 1 of 3 elements; first at (2): CMPLT bool gave 0xa5 (165), legal is 0x01 (true)");

  const std::vector<BufferPtr> read{nullptr, bools(165)};
  const Verdict unread = judge(test::store(load(1, 3, DType::Bool)), test::raw(read), *bools(1));
  EXPECT_EQ(unread.outcome, Outcome::Unusable);
  EXPECT_EQ(unread.why, "input buffer 1 contains the byte 165 at element 2; a bool must be 0 or 1");
}

TEST(Verdict, WhatDoesNotFitTogetherIsUnusable) {
  EXPECT_EQ(judged<std::int32_t>(load(1, 2), {buffer<float>({1, 2})}, {1, 2}).outcome,
            Outcome::Unusable);
  EXPECT_EQ(judged<float>(load(1, 2), {buffer<float>({1})}, {1, 2}).outcome, Outcome::Unusable);
  EXPECT_EQ(judged<float>(load(1, 2), {}, {1, 2}).outcome, Outcome::Unusable);
}

// A sum by a random binary tree over a random order, each node rounded to A.
template <class A>
A tree_sum(std::vector<A> terms) {
  while (terms.size() > 1) {
    const auto take = [&] {
      const auto i = *rc::gen::inRange<std::size_t>(0, terms.size());
      const A x = terms[i];
      terms.erase(terms.begin() + static_cast<std::ptrdiff_t>(i));
      return x;
    };
    const A a = take(), b = take();
    terms.push_back(a + b);
  }
  return terms[0];
}

RC_GTEST_PROP(Verdict, EveryTreeAndOrderOfAFloatSumIsLegal, ()) {
  const auto n = *rc::gen::inRange<std::size_t>(1, 24);
  std::vector<float> terms;
  for (std::size_t i = 0; i < n; ++i) {
    const auto mantissa = static_cast<float>(*rc::gen::inRange(-(1 << 24), 1 << 24));
    terms.push_back(std::ldexp(mantissa, *rc::gen::inRange(-40, 10)));
  }
  const Verdict v =
      judged<float>(sum(static_cast<std::int64_t>(n)), {buffer(terms)}, {tree_sum(terms)});
  RC_ASSERT(v.outcome != Outcome::Fail);
}

RC_GTEST_PROP(Verdict, HalfSumsInAnyOrderOfTheirAccumulatorAreLegal, ()) {
  const auto n = *rc::gen::inRange<std::size_t>(1, 40);
  std::vector<float16> terms;
  std::vector<float> wide;
  for (std::size_t i = 0; i < n; ++i) {
    terms.push_back(to_float16(static_cast<float>(*rc::gen::inRange(-60000, 60000)) * 0x1p-4F));
    wide.push_back(to_float(terms.back()));
  }
  const float16 answer = to_float16(tree_sum(wide));
  const Verdict v =
      judged<float16>(sum(static_cast<std::int64_t>(n), DType::Float16), {buffer(terms)}, {answer});
  RC_ASSERT(v.outcome != Outcome::Fail);
}

}  // namespace
}  // namespace touchstone
