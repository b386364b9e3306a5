#include "touchstone/interp/oracle/profile.h"

#include <gtest/gtest.h>

#include <rapidcheck/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <numbers>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "../support/traced_draws.h"
#include "kernels.h"
#include "touchstone/base/error.h"
#include "touchstone/interp/oracle/legal_value.h"
#include "touchstone/interp/oracle/verdict.h"

namespace touchstone {
namespace {

using testing::HasSubstr;

constexpr float kProfileNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kProfileInf = std::numeric_limits<float>::infinity();

TEST(Profile, BuiltInOnesAreFoundByName) {
  for (const Profile& p : builtin_profiles()) EXPECT_EQ(Profile::named(p.name), p);
  EXPECT_EQ(Profile::named("glibc"), Profile());
  try {
    Profile::named("cude");
    ADD_FAILURE();
  } catch (const ParseError& e) {
    EXPECT_THAT(e.what(), HasSubstr("did you mean 'cuda'?"));
    EXPECT_THAT(e.what(), HasSubstr("tensorcore"));
  }
}

TEST(Profile, LibraryIsWhatFunctionsOfTheirOwnMayDo) {
  const Profile library = Profile::named("library");
  const auto error_of = [](double multiplier, double x) {  // of a rounded constant and product
    return std::fabs(static_cast<double>(static_cast<float>(multiplier) * static_cast<float>(x)) -
                     multiplier * x);
  };
  // exp itself and 2^(x log2 e) differ by that multiple of 2^x ln 2, whose ULP is at most 2^-23.
  double worst = 0;
  for (float x = 0.01F; x < 80; x += 0.0137F)
    worst = std::max(worst, error_of(std::numbers::log2e, x) * std::numbers::ln2 * 0x1p23 / x);
  EXPECT_LE(worst, library.exp2.ulp_per_x);
  EXPECT_TRUE(library.zeros_alike);
  EXPECT_FALSE(library.casts_saturate);
  EXPECT_EQ(library.order, SumOrder::Any);
}

TEST(Profile, JsonHoldsAllOfIt) {
  for (const Profile& p : builtin_profiles())
    EXPECT_EQ(Profile::from_json(p.to_json()), p) << p.name;
  const Profile mine = Profile::from_json(
      R"({"name": "mine", "base": "opencl", "ulp": {"exp2": [3, 2], "div": 0}, "flush": "inputs",
          "max": "number wins", "sum": {"lanes": 32}, "accumulator": "float16", "contracts": false})");
  EXPECT_EQ(mine.name, "mine");
  EXPECT_EQ(mine.exp2, (FunctionError{3, 2}));
  EXPECT_EQ(mine.div, FunctionError{});
  EXPECT_EQ(mine.sqrt, Profile::named("opencl").sqrt);
  EXPECT_TRUE(mine.flushes_inputs);
  EXPECT_FALSE(mine.flushes_outputs);
  EXPECT_EQ(mine.max, MaxOfNan::NumberWins);
  EXPECT_EQ(mine.order, SumOrder::Lanes);
  EXPECT_EQ(mine.block, 32);
  EXPECT_EQ(mine.accumulator, DType::Float16);
  EXPECT_FALSE(mine.contracts);
  EXPECT_EQ(Profile::from_json(mine.to_json()), mine);
}

TEST(Profile, SaysWhichMemberIsWrong) {
  const std::pair<const char*, const char*> kCases[] = {
      {"[", "profile: "},
      {"[]", "expected a JSON object"},
      {R"({"ulps": {}})", "no member 'ulps'"},
      {R"({"ulp": 3})", "\"ulp\" must be an object"},
      {R"({"ulp": {"tanx": 3}})", "has no 'tanx'"},
      {R"({"ulp": {"sin": -1}})", "\"ulp.sin\" must be a number from 0"},
      {R"({"ulp": {"sin": "2"}})", "\"ulp.sin\" must be a number of ULP"},
      {R"({"flush": "always"})", "never, inputs, outputs or both"},
      {R"({"sum": "pairwise"})", "{\"pairwise\": terms per run}"},
      {R"({"sum": {"lanes": 0}})", "\"sum.lanes\" must be a whole number"},
      {R"({"accumulator": "int32"})", "a float type"},
      {R"({"accumulator": "float33"})", "float32"},
      {R"({"max": true})", "\"nan wins\""},
      {R"({"contracts": 1})", "true or false"},
      {R"({"product_digits": 54})", "from 0 to 53"},
      {R"({"source": 3})", "a string, or a list of strings"},
      {R"({"base": "cude"})", "did you mean 'cuda'?"},
  };
  for (const auto& [json, part] : kCases) {
    try {
      Profile::from_json(json);
      ADD_FAILURE() << json;
    } catch (const Error& e) {
      EXPECT_THAT(e.what(), HasSubstr(part)) << json;
    }
  }
}

// ---- results that a profile makes legal

ShapeTracker row(std::int64_t n) { return ShapeTracker::contiguous({n}); }
LazyOpPtr in(int idx, std::int64_t n, DType d = DType::Float32) {
  return LazyOp::load(idx, d, row(n));
}

template <class T>
Outcome judged(const Profile& profile, const LazyOpPtr& value, const std::vector<BufferPtr>& inputs,
               const std::vector<T>& output) {
  std::vector<Buffer*> raw{nullptr};
  for (const BufferPtr& b : inputs) raw.push_back(b.get());
  return judge(test::store(value), raw, *test::buffer(output), profile).outcome;
}
Outcome unary(const Profile& profile, Op op, float x, float y) {
  return judged<float>(profile, LazyOp::unary(op, in(1, 1)), {test::buffer<float>({x})}, {y});
}
Outcome binary(const Profile& profile, Op op, float a, float b, float y) {
  return judged<float>(profile, LazyOp::binary(op, in(1, 1), in(2, 1)),
                       {test::buffer<float>({a}), test::buffer<float>({b})}, {y});
}
float steps(float x, int n) {
  for (; n > 0; --n) x = std::nextafter(x, kProfileInf);
  for (; n < 0; ++n) x = std::nextafter(x, -kProfileInf);
  return x;
}

TEST(Profile, FunctionsMayErrAsFarAsDeclared) {
  const Profile ieee = Profile::named("ieee"), cl = Profile::named("opencl"),
                vulkan = Profile::named("vulkan");
  const float root = std::sqrt(2.0F), third = 1.0F / 3.0F;
  EXPECT_EQ(unary(ieee, Op::Sqrt, 2, steps(root, 1)), Outcome::Fail);
  EXPECT_EQ(unary(cl, Op::Sqrt, 2, steps(root, 3)), Outcome::Pass);
  EXPECT_EQ(unary(cl, Op::Sqrt, 2, steps(root, -4)), Outcome::Fail);
  EXPECT_EQ(unary(cl, Op::Sqrt, -0.0F, -0.0F), Outcome::Pass);
  EXPECT_EQ(unary(cl, Op::Sqrt, 0, 1e-30F), Outcome::Fail);
  EXPECT_EQ(binary(ieee, Op::Div, 1, 3, steps(third, 1)), Outcome::Fail);
  EXPECT_EQ(binary(cl, Op::Div, 1, 3, steps(third, -3)), Outcome::Pass);
  EXPECT_EQ(binary(cl, Op::Div, 1, 3, steps(third, 4)), Outcome::Fail);
  EXPECT_EQ(binary(cl, Op::Div, 1, 0, 3e38F), Outcome::Fail);
  EXPECT_EQ(unary(cl, Op::Recip, 3, steps(third, 3)), Outcome::Pass);
  EXPECT_EQ(unary(ieee, Op::Exp2, 0.5F, steps(root, 1)), Outcome::Fail);
  EXPECT_EQ(unary(Profile(), Op::Exp2, 0.5F, steps(root, 1)), Outcome::Pass);
  EXPECT_EQ(unary(vulkan, Op::Exp2, 4.5F, steps(std::exp2(4.5F), 12)), Outcome::Pass);
  EXPECT_EQ(unary(vulkan, Op::Exp2, 4.5F, steps(std::exp2(4.5F), 13)), Outcome::Fail);
  EXPECT_EQ(unary(vulkan, Op::Sin, 1, std::sin(1.0F) + 0x1p-12F), Outcome::Pass);
  EXPECT_EQ(unary(vulkan, Op::Sin, 1, std::sin(1.0F) + 0x1p-10F), Outcome::Fail);
}

// The bound of a one-term sum must stay finite if the term does.
TEST(Profile, ASumOfOneTermMayBeTheLargestNumber) {
  for (const bool contracts : {false, true})
    for (const SumOrder order : {SumOrder::Sequential, SumOrder::Any, SumOrder::Exact})
      for (const double sign : {1.0, -1.0}) {
        Profile profile;
        profile.contracts = contracts;
        profile.order = order;
        const double most = sign * std::numeric_limits<double>::max(), small = -0x1p-53;
        const LazyOpPtr product = LazyOp::binary(
            Op::Mul, LazyOp::unary(Op::Exp2, in(1, 1, DType::Float64)), in(2, 1, DType::Float64));
        const auto outcome = [&](double answer) {
          return judged<double>(profile, LazyOp::reduce(Op::ReduceSum, product, {0}),
                                {test::buffer<double>({small}), test::buffer<double>({most})},
                                {answer});
        };
        EXPECT_NE(outcome(most * std::exp2(small)), Outcome::Fail) << contracts << sign;
        if (contracts) continue;
        EXPECT_EQ(outcome(most / 2), Outcome::Fail) << sign;  // though it may also be infinite
        EXPECT_EQ(outcome(std::numeric_limits<double>::quiet_NaN()), Outcome::Fail) << sign;
      }
}

// float16 has more digits than bfloat16 and fewer small numbers: 2^-25 is half its least one.
TEST(Profile, AnAccumulatorOfFewerExponentsRoundsTerms) {
  Profile profile;
  profile.accumulator = DType::Float16;
  const auto sum = [&](const std::vector<bfloat16>& terms, double answer) {
    const auto n = static_cast<std::int64_t>(terms.size());
    return judged<bfloat16>(profile, LazyOp::reduce(Op::ReduceSum, in(1, n, DType::BFloat16), {0}),
                            {test::buffer<bfloat16>(terms)}, {convert<bfloat16>(answer)});
  };
  const auto small = convert<bfloat16>(0x1p-25);
  for (const std::size_t n : {1U, 2U, 3U, 9U}) {
    const std::vector<bfloat16> terms(n, small);
    EXPECT_NE(sum(terms, 0), Outcome::Fail) << n;
    EXPECT_NE(sum(terms, 0x1p-25 * static_cast<double>(n)), Outcome::Fail) << n;
    EXPECT_EQ(sum(terms, 1), Outcome::Fail) << n;
  }
  const std::vector<bfloat16> large(2, convert<bfloat16>(0x1p-3));
  EXPECT_EQ(sum(large, 0x1p-2), Outcome::Pass);
  EXPECT_EQ(sum(large, 0x1.04p-2), Outcome::Fail);
}

// For any signs of the zeros.
TEST(Profile, ZeroDividedByZeroIsNotANumber) {
  const LazyOpPtr zero = LazyOp::reduce(Op::ReduceSum, in(1, 2), {0});
  const auto outcome = [&](const LazyOpPtr& value, float answer) {
    return judged<float>(Profile(), value, {test::buffer<float>({1, -1})}, {answer});
  };
  for (const Op op : {Op::Div, Op::Mod}) {
    const LazyOpPtr none = LazyOp::binary(op, zero, zero);
    EXPECT_EQ(outcome(none, kProfileNan), Outcome::Pass);
    EXPECT_EQ(outcome(none, 1), Outcome::Fail);
    const LazyOpPtr below = LazyOp::cast(LazyOp::binary(Op::CmpLt, none, none), DType::Float32);
    EXPECT_EQ(outcome(below, 0), Outcome::Pass);
    EXPECT_EQ(outcome(below, 1), Outcome::Fail);
  }
}

TEST(Profile, SubnormalsMayBeFlushedWhereDeclared) {
  const Profile cl = Profile::named("opencl");
  Profile outputs;
  outputs.flushes_outputs = true;
  const float tiny = 0x1p-130F;
  EXPECT_EQ(binary(Profile(), Op::Mul, tiny, 1, 0), Outcome::Fail);
  EXPECT_NE(binary(outputs, Op::Mul, tiny, 1, 0), Outcome::Fail);
  EXPECT_NE(binary(outputs, Op::Mul, tiny, 1, tiny), Outcome::Fail);
  EXPECT_EQ(binary(outputs, Op::Mul, tiny, 1, -tiny), Outcome::Fail);
  EXPECT_EQ(binary(outputs, Op::Mul, tiny, 0x1p20F, 0), Outcome::Fail);  // a normal result
  EXPECT_NE(binary(cl, Op::Mul, tiny, 0x1p20F, 0), Outcome::Fail);       // with a flushed operand
  EXPECT_EQ(binary(cl, Op::Mul, 1, 0x1p-126F, 0), Outcome::Fail);
  EXPECT_NE(binary(outputs, Op::Sub, 0x1.8p-126F, 0x1p-126F, 0), Outcome::Fail);
  const auto sum = LazyOp::reduce(Op::ReduceSum, in(1, 3), {0});
  const auto x = test::buffer<float>({0x1.8p-126F, -0x1p-126F, 0x1p-126F});
  EXPECT_NE(judged<float>(outputs, sum, {x}, {0x1p-126F}), Outcome::Fail);
  EXPECT_EQ(judged<float>(Profile(), sum, {x}, {0x1p-126F}), Outcome::Fail);
}

TEST(Profile, ProductsThatAreAddedMayStayUnrounded) {
  Profile rounds;
  rounds.contracts = false;
  const float a = 1 + 0x1p-12F, c = -1;
  const auto value = LazyOp::binary(Op::Add, LazyOp::binary(Op::Mul, in(1, 1), in(2, 1)), in(3, 1));
  const std::vector<BufferPtr> inputs{test::buffer<float>({a}), test::buffer<float>({a}),
                                      test::buffer<float>({c})};
  const float apart = a * a + c, fused = std::fma(a, a, c);
  ASSERT_NE(apart, fused);
  for (const Profile& p : {Profile(), rounds}) {
    EXPECT_EQ(judged<float>(p, value, inputs, {apart}), Outcome::Pass);
    EXPECT_EQ(judged<float>(p, value, inputs, {fused}),
              p.contracts ? Outcome::Pass : Outcome::Fail);
    // A product alone is always rounded.
    EXPECT_EQ(binary(p, Op::Mul, a, a, steps(a * a, 1)), Outcome::Fail);
  }
  // Exact products leave one answer.
  const std::vector<BufferPtr> whole{test::buffer<float>({3}), test::buffer<float>({5}),
                                     test::buffer<float>({0.1F})};
  EXPECT_EQ(judged<float>(Profile(), value, whole, {steps(15.1F, 1)}), Outcome::Fail);
}

// A compiler evaluates two halves to 1, and a product by 1 to the other factor.
TEST(Profile, ASumOfConstantsThatIsOneHandsAProductOn) {
  Profile rounds;
  rounds.contracts = false;
  const float a = 1 + 0x1p-12F, c = -1;
  const auto product = LazyOp::binary(Op::Mul, in(1, 1), in(2, 1));
  const std::vector<BufferPtr> inputs{test::buffer<float>({a}), test::buffer<float>({a}),
                                      test::buffer<float>({c})};
  const float apart = a * a + c, fused = std::fma(a, a, c);
  ASSERT_NE(apart, fused);
  const auto times = [&](Op reduce, float value, std::int64_t n) {
    const auto terms = LazyOp::constant(Scalar::from_double(DType::Float32, value),
                                        ShapeTracker::contiguous({1}).expand({n}));
    const auto factor = LazyOp::reduce(reduce, terms, {0});
    return LazyOp::binary(Op::Add, LazyOp::binary(Op::Mul, product, factor), in(3, 1));
  };
  for (const Profile& p : {Profile(), rounds}) {
    for (const auto& [value, n] : {std::pair{0.5F, 2}, {0.25F, 4}, {-0.125F, 8}, {1.0F, 1}}) {
      const float sign = value < 0 ? -1 : 1;
      const auto kernel = times(Op::ReduceSum, value, n);
      const std::vector<BufferPtr> signed_inputs{inputs[0], inputs[1],
                                                 test::buffer<float>({-sign})};
      EXPECT_NE(judged<float>(p, kernel, signed_inputs, {sign * apart}), Outcome::Fail);
      EXPECT_EQ(judged<float>(p, kernel, signed_inputs, {sign * fused}) != Outcome::Fail,
                p.contracts)
          << value;
    }
    EXPECT_EQ(judged<float>(p, times(Op::ReduceMax, 1, 7), inputs, {fused}) != Outcome::Fail,
              p.contracts);
  }
  // A product by another number is rounded first.
  const auto twice = times(Op::ReduceSum, 0.75F, 4);
  EXPECT_EQ(judged<float>(rounds, twice, inputs, {std::fma(a * a, 3.0F, c)}) == Outcome::Fail,
            std::fma(a * a, 3.0F, c) != a * a * 3.0F + c);
}

// An overflow that contraction avoids meets a true infinity.
TEST(Profile, AProductThatOverflowsIsNoInfinityWhereItIsNotRounded) {
  Profile rounds;
  rounds.contracts = false;
  const auto dot = LazyOp::reduce(Op::ReduceSum, LazyOp::binary(Op::Mul, in(1, 3), in(2, 3)), {0});
  const std::vector<BufferPtr> inputs{test::buffer<float>({1, kProfileInf, 3e38F}),
                                      test::buffer<float>({0.3F, 2, -1.33F})};
  const float wrong = 7;
  for (const Profile& p : {Profile(), rounds}) {
    EXPECT_NE(judged<float>(p, dot, inputs, {kProfileNan}), Outcome::Fail);
    EXPECT_EQ(judged<float>(p, dot, inputs, {kProfileInf}) != Outcome::Fail, p.contracts);
    for (const float other : {-kProfileInf, wrong})
      EXPECT_EQ(judged<float>(p, dot, inputs, {other}), Outcome::Fail);
  }
  // Two infinities give one answer.
  const std::vector<BufferPtr> both{test::buffer<float>({1, kProfileInf, kProfileInf}),
                                    test::buffer<float>({0.3F, 2, -1.33F})};
  EXPECT_EQ(judged<float>(Profile(), dot, both, {kProfileInf}), Outcome::Fail);
}

// Compilers treat x + x as x * 2, which matters if it overflows.
TEST(Profile, TwiceANumberIsAProductThatMayStayUnrounded) {
  Profile rounds;
  rounds.contracts = false;
  const auto x = in(1, 1), c = in(2, 1);
  const auto plus = [](const LazyOpPtr& a, const LazyOpPtr& b) {
    return LazyOp::binary(Op::Add, a, b);
  };
  const LazyOpPtr twice[] = {plus(x, x), LazyOp::binary(Op::Sub, x, LazyOp::unary(Op::Neg, x))};
  const auto with = [&](float a, float b) {
    return std::vector<BufferPtr>{test::buffer<float>({a}), test::buffer<float>({b})};
  };
  for (const LazyOpPtr& t : twice)
    for (const Profile& p : {Profile(), rounds}) {
      const auto sum = plus(t, c);
      const float fused = std::fma(3e38F, 2.0F, -3.2e38F);
      EXPECT_NE(judged<float>(p, sum, with(3e38F, -3.2e38F), {kProfileInf}), Outcome::Fail);
      EXPECT_EQ(judged<float>(p, sum, with(3e38F, -3.2e38F), {fused}) != Outcome::Fail,
                p.contracts);
      EXPECT_EQ(judged<float>(p, sum, with(3e38F, -3.2e38F), {-fused}), Outcome::Fail);
      // Without overflow it is exact, and there is one answer.
      EXPECT_EQ(judged<float>(p, sum, with(1.1F, 0.3F), {1.1F + 1.1F + 0.3F}), Outcome::Pass);
      EXPECT_EQ(judged<float>(p, sum, with(1.1F, 0.3F), {steps(1.1F + 1.1F + 0.3F, 1)}),
                Outcome::Fail);
      EXPECT_EQ(judged<float>(p, t, with(3e38F, 0), {std::numeric_limits<float>::max()}),
                Outcome::Fail);
      // From an interval, and inside a sum.
      const auto power = LazyOp::unary(Op::Exp2, x);
      const float high = std::fma(std::exp2(127.75F), 2.0F, -3.2e38F);
      EXPECT_EQ(judged<float>(p, plus(plus(power, power), c), with(127.75F, -3.2e38F), {high}) !=
                    Outcome::Fail,
                p.contracts);
    }
  // In a wider type if the values are narrow.
  Profile excess;
  excess.excess = DType::Float32;
  const auto narrow = [](int i) {
    return LazyOp::load(i, DType::BFloat16, ShapeTracker::contiguous({1}));
  };
  const auto sum = plus(plus(narrow(1), narrow(1)), narrow(2));
  using test::buffer;
  const std::vector<BufferPtr> inputs{buffer<bfloat16>({to_bfloat16(-3e38F)}),
                                      buffer<bfloat16>({to_bfloat16(3e38F)})};
  EXPECT_NE(judged<bfloat16>(excess, sum, inputs, {to_bfloat16(-3e38F)}), Outcome::Fail);
}

TEST(Profile, MaxOfNanIsAsDeclared) {
  Profile number, either;
  number.max = MaxOfNan::NumberWins;
  either.max = MaxOfNan::Either;
  for (const bool left : {false, true}) {
    const float a = left ? kProfileNan : 2, b = left ? 2 : kProfileNan;
    EXPECT_EQ(binary(Profile(), Op::Max, a, b, 2), Outcome::Fail);
    EXPECT_EQ(binary(number, Op::Max, a, b, 2), Outcome::Pass);
    EXPECT_EQ(binary(number, Op::Max, a, b, kProfileNan), Outcome::Fail);
    // Both are legal, which leaves little power: WEAK.
    EXPECT_EQ(binary(either, Op::Max, a, b, 2), Outcome::Weak);
    EXPECT_EQ(binary(either, Op::Max, a, b, kProfileNan), Outcome::Weak);
    EXPECT_EQ(binary(either, Op::Max, a, b, 3), Outcome::Fail);
  }
  const auto most = LazyOp::reduce(Op::ReduceMax, in(1, 3), {0});
  const auto x = test::buffer<float>({1, kProfileNan, 2});
  EXPECT_EQ(judged<float>(Profile(), most, {x}, {2}), Outcome::Fail);
  EXPECT_EQ(judged<float>(number, most, {x}, {2}), Outcome::Pass);
  EXPECT_EQ(judged<float>(number, most, {x}, {1}), Outcome::Fail);
}

TEST(Profile, ZerosMayBeAlikeInMaximaToo) {
  Profile alike;
  alike.zeros_alike = true;
  const auto most = LazyOp::reduce(Op::ReduceMax, in(1, 3), {0});
  const auto x = test::buffer<float>({-0.0F, 0, -1});
  EXPECT_EQ(judged<float>(Profile(), most, {x}, {-0.0F}), Outcome::Fail);
  EXPECT_EQ(judged<float>(alike, most, {x}, {-0.0F}), Outcome::Pass);
  EXPECT_EQ(judged<float>(alike, most, {x}, {0}), Outcome::Pass);
  EXPECT_EQ(judged<float>(alike, most, {x}, {-1}), Outcome::Fail);
  EXPECT_EQ(binary(alike, Op::Max, -0.0F, 0, -0.0F), Outcome::Pass);
}

TEST(Profile, FastMathMakesNoClaimAboutNan) {
  const Profile fast = Profile::named("fastmath");
  EXPECT_NE(binary(fast, Op::Add, kProfileInf, 1, 7), Outcome::Fail);
  EXPECT_EQ(binary(fast, Op::Add, 1, 2, 4), Outcome::Fail);
  EXPECT_NE(unary(fast, Op::Sqrt, -1, 3), Outcome::Fail);
  // What depends on a comparison with NaN may be anything, too.
  const auto chosen =
      LazyOp::ternary(Op::Where, LazyOp::binary(Op::CmpLt, in(1, 1), in(2, 1)), in(2, 1), in(3, 1));
  const auto judge_chosen = [&](float x) {
    return judged<float>(
        fast, chosen,
        {test::buffer<float>({x}), test::buffer<float>({1}), test::buffer<float>({2})}, {0});
  };
  EXPECT_NE(judge_chosen(kProfileNan), Outcome::Fail);
  EXPECT_EQ(judge_chosen(0), Outcome::Fail);
}

TEST(Profile, CastsOutOfRangeGiveAnythingWhereDeclared) {
  const auto value = LazyOp::cast(in(1, 1), DType::Int8);
  const auto cast = [&](const Profile& p, float x, std::int8_t y) {
    return judged<std::int8_t>(p, value, {test::buffer<float>({x})}, {y});
  };
  const Profile cl = Profile::named("opencl");
  EXPECT_EQ(cast(Profile(), 300, 44), Outcome::Fail);
  EXPECT_NE(cast(cl, 300, 44), Outcome::Fail);
  EXPECT_NE(cast(cl, kProfileNan, 5), Outcome::Fail);
  EXPECT_EQ(cast(cl, 127.9F, 126), Outcome::Fail);
  EXPECT_EQ(cast(cl, -128.9F, -128), Outcome::Pass);
}

// Sums as devices of each order compute them; none may be called wrong.
RC_GTEST_PROP(Profile, EveryDeclaredOrderIsLegal, ()) {
  const auto n = *rc::gen::inRange<std::int64_t>(1, 200);
  test::TracedDraws draw(*rc::gen::arbitrary<std::uint64_t>());
  std::vector<float> x(static_cast<std::size_t>(n));
  for (float& v : x) v = draw.normal<float>() * std::exp2(static_cast<float>(draw.below(20)));
  const auto kernel = LazyOp::reduce(Op::ReduceSum, in(1, n), {0});
  const auto input = test::buffer(x);
  Profile p;

  p.order = SumOrder::Sequential;
  float one_by_one = 0;
  for (const float v : x) one_by_one += v;
  RC_ASSERT(judged<float>(p, kernel, {input}, {one_by_one}) == Outcome::Pass);
  RC_ASSERT(judged<float>(p, kernel, {input}, {steps(one_by_one, 1)}) == Outcome::Fail);

  p.order = SumOrder::Pairwise;
  p.block = *rc::gen::inRange<std::int64_t>(1, 20);
  const std::function<float(std::int64_t, std::int64_t)> pairwise = [&](std::int64_t from,
                                                                        std::int64_t count) {
    float sum = 0;
    if (count <= p.block) {
      for (std::int64_t i = 0; i < count; ++i) sum += x[static_cast<std::size_t>(from + i)];
      return sum;
    }
    const std::int64_t runs = (count + p.block - 1) / p.block;
    const std::int64_t left = (runs + 1) / 2 * p.block;
    return pairwise(from, left) + pairwise(from + left, count - left);
  };
  RC_ASSERT(judged<float>(p, kernel, {input}, {pairwise(0, n)}) != Outcome::Fail);

  p.order = SumOrder::Halves;
  const std::function<float(std::int64_t, std::int64_t)> halves = [&](std::int64_t from,
                                                                      std::int64_t to) {
    if (to - from > std::max<std::int64_t>(p.block, 1))
      return halves(from, from + (to - from) / 2) + halves(from + (to - from) / 2, to);
    return std::accumulate(x.begin() + from, x.begin() + to, 0.0F);
  };
  RC_ASSERT(judged<float>(p, kernel, {input}, {halves(0, n)}) == Outcome::Pass);
  RC_ASSERT(judged<float>(p, kernel, {input}, {steps(halves(0, n), 1)}) == Outcome::Fail);

  p.order = SumOrder::Lanes;
  std::vector<float> lanes(static_cast<std::size_t>(p.block));
  for (std::size_t i = 0; i < x.size(); ++i) lanes[i % lanes.size()] += x[i];
  float sum = 0;
  for (const float v : lanes) sum += v;
  RC_ASSERT(judged<float>(p, kernel, {input}, {sum}) != Outcome::Fail);
}

// Dot products of a device that keeps products, accumulates in fewer digits, or truncates operands.
RC_GTEST_PROP(Profile, EveryDeclaredProductIsLegal, ()) {
  const auto n = *rc::gen::inRange<std::int64_t>(1, 100);
  test::TracedDraws draw(*rc::gen::arbitrary<std::uint64_t>());
  std::vector<float> x(static_cast<std::size_t>(n)), y(x.size());
  for (float& v : x) v = draw.normal<float>();
  for (float& v : y) v = draw.normal<float>();
  const auto kernel =
      LazyOp::reduce(Op::ReduceSum, LazyOp::binary(Op::Mul, in(1, n), in(2, n)), {0});
  const std::vector<BufferPtr> inputs{test::buffer(x), test::buffer(y)};
  float fused = 0;
  for (std::size_t i = 0; i < x.size(); ++i) fused = std::fma(x[i], y[i], fused);
  RC_ASSERT(judged<float>(Profile(), kernel, inputs, {fused}) != Outcome::Fail);

  Profile half;
  half.accumulator = DType::Float16;
  float16 narrow{};
  for (std::size_t i = 0; i < x.size(); ++i)
    narrow = to_float16(to_float(narrow) + to_float(to_float16(x[i] * y[i])));
  RC_ASSERT(judged<float>(half, kernel, inputs, {to_float(narrow)}) != Outcome::Fail);

  const Profile cores = Profile::named("tensorcore");
  const auto cut = [](float v, bool round) {
    std::uint32_t bits = std::bit_cast<std::uint32_t>(v);
    if (round) bits += 0x1000;
    return std::bit_cast<float>(bits & ~std::uint32_t{0x1fff});
  };
  for (const bool round : {false, true}) {
    float sum = 0;
    for (std::size_t i = 0; i < x.size(); ++i) sum += cut(x[i], round) * cut(y[i], round);
    RC_ASSERT(judged<float>(cores, kernel, inputs, {sum}) != Outcome::Fail);
  }
}

// Sums with truncating additions, in any order, of mixed or equal signs: legal for a device that
// declares it, and for some rows for no other.
TEST(Profile, SumsMayTruncateWhereDeclared) {
  test::TracedDraws random(4);
  int refused = 0;
  for (const int n : {2, 3, 64, 1024})
    for (int round = 0; round < 40; ++round) {
      std::vector<float> x(static_cast<std::size_t>(n));
      for (float& v : x) v = random.uniform(0.0F, 1.0F) - (round % 2 == 0 ? 0.F : 0.5F);
      float sum = x[0];
      for (std::size_t i = 1; i < x.size(); ++i) {
        const double exact = static_cast<double>(sum) + static_cast<double>(x[i]);
        sum = static_cast<float>(exact);
        if (std::abs(static_cast<double>(sum)) > std::abs(exact)) sum = std::nextafter(sum, 0.F);
      }
      const auto kernel = LazyOp::reduce(Op::ReduceSum, in(1, n), {0});
      const std::vector<BufferPtr> inputs{test::buffer<float>(x)};
      EXPECT_NE(judged<float>(Profile::named("tensorcore"), kernel, inputs, {sum}), Outcome::Fail)
          << n;
      refused += judged<float>(Profile::named("cuda"), kernel, inputs, {sum}) == Outcome::Fail;
      EXPECT_EQ(judged<float>(Profile::named("tensorcore"), kernel, inputs,
                              {sum + 0.01F * static_cast<float>(n)}),
                Outcome::Fail);
    }
  EXPECT_GT(refused, 0);
}

TEST(Profile, CutOperandsAreIllegalWhereNotDeclared) {
  const auto kernel =
      LazyOp::reduce(Op::ReduceSum, LazyOp::binary(Op::Mul, in(1, 2), in(2, 2)), {0});
  const std::vector<BufferPtr> inputs{test::buffer<float>({1 + 0x1p-20F, 0}),
                                      test::buffer<float>({3, 1})};
  EXPECT_EQ(judged<float>(Profile::named("cuda"), kernel, inputs, {3}), Outcome::Fail);
  EXPECT_EQ(judged<float>(Profile::named("tensorcore"), kernel, inputs, {3}), Outcome::Pass);
}

// NumPy's sum of terms in rows: each row of float16 in float32, 8,192 terms at a time; a row by
// halves that are multiples of 8, down to 128 terms in 8 lanes.
template <class T>
T numpys_sum(std::span<const T> terms, std::size_t row) {
  using W = std::conditional_t<std::is_same_v<T, double>, double, float>;
  std::vector<W> wide;
  for (const T x : terms) wide.push_back(convert<W>(x));
  const std::function<W(std::span<const W>)> pairwise = [&](std::span<const W> v) {
    const std::size_t half = v.size() / 2 - v.size() / 2 % 8;
    if (v.size() > 128) return pairwise(v.first(half)) + pairwise(v.subspan(half));
    W sum = 0;
    const std::size_t whole = v.size() / 8 * 8;
    if (whole > 0) {
      std::array<W, 8> r{};
      for (std::size_t i = 0; i < whole; ++i) r[i % 8] += v[i];
      sum = ((r[0] + r[1]) + (r[2] + r[3])) + ((r[4] + r[5]) + (r[6] + r[7]));
    }
    for (std::size_t i = whole; i < v.size(); ++i) sum += v[i];
    return sum;
  };
  T sum{};
  for (std::size_t i = 0; i < wide.size(); i += row)
    for (std::size_t j = 0; j < row; j += 8192)
      sum = convert<T>(convert<W>(sum) + pairwise(std::span<const W>(wide).subspan(
                                             i + j, std::min<std::size_t>(8192, row - j))));
  return sum;
}

template <class T>
void replays_numpys_order() {
  const Profile profile = Profile::from_json(R"({"sum": "numpy"})");
  struct Case {
    std::vector<std::int64_t> shape;
    std::vector<int> axes;
    std::size_t row;
  };
  test::TracedDraws random(17);
  for (const Case& c : std::vector<Case>{{{3, 7}, {1}, 7},
                                         {{3, 128}, {1}, 128},
                                         {{3, 1001}, {1}, 1001},
                                         {{2, 8193}, {1}, 8193},
                                         {{1, 20'000}, {1}, 20'000},
                                         {{300, 3}, {0}, 1},
                                         {{300, 1}, {0}, 300},
                                         {{40, 2, 130}, {0, 2}, 130},
                                         {{40, 2, 130}, {1, 2}, 260},
                                         {{3, 2, 9000}, {0, 2}, 9000},
                                         {{20, 30, 2}, {0, 1}, 1},
                                         {{30, 2, 5, 1, 9}, {0, 2, 4}, 45}}) {
    std::int64_t size = 1;
    for (const std::int64_t n : c.shape) size *= n;
    std::vector<T> x;
    for (std::int64_t i = 0; i < size; ++i) x.push_back(convert<T>(random.normal<double>()));
    const LazyOpPtr value = LazyOp::reduce(
        Op::ReduceSum,
        LazyOp::load(1, dtype_v<T>, ShapeTracker::contiguous({c.shape.begin(), c.shape.end()})),
        c.axes);
    std::map<std::vector<std::int64_t>, std::vector<T>> terms;  // by the place of their sum
    for (std::int64_t i = 0; i < size; ++i) {
      std::vector<std::int64_t> at(c.shape.size());
      for (std::size_t k = c.shape.size(), rest = static_cast<std::size_t>(i); k-- > 0;) {
        at[k] = static_cast<std::int64_t>(rest) % c.shape[k];
        rest /= static_cast<std::size_t>(c.shape[k]);
      }
      for (const int axis : c.axes) at[static_cast<std::size_t>(axis)] = 0;
      terms[at].push_back(x[static_cast<std::size_t>(i)]);
    }
    std::vector<T> sums;
    for (const auto& [at, v] : terms) sums.push_back(numpys_sum<T>(v, c.row));
    EXPECT_EQ(judged<T>(profile, value, {test::buffer(x)}, sums), Outcome::Pass);
    for (const int by : {1, -1}) {
      std::vector<T> off = sums;
      off.back() = interp::from_order_key<T>(interp::order_key(off.back()) + by);
      EXPECT_EQ(judged<T>(profile, value, {test::buffer(x)}, off), Outcome::Fail);
    }
  }
}

TEST(Profile, NumpysSumsAreReplayedAlongAllAxes) {
  replays_numpys_order<float>();
  replays_numpys_order<double>();
  replays_numpys_order<float16>();
}

}  // namespace
}  // namespace touchstone
