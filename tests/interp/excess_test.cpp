#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include <gmock/gmock.h>

#include "../support/traced_draws.h"
#include "kernels.h"
#include "touchstone/base/error.h"
#include "touchstone/interp/device/scalar_named.h"
#include "touchstone/interp/oracle/envelope.h"
#include "touchstone/interp/oracle/explain.h"
#include "touchstone/interp/oracle/verdict.h"

// Excess precision and overflow of 8-bit floats, as profiles declare them.

namespace touchstone {
namespace {

using test::buffer;
using testing::HasSubstr;

LazyOpPtr vec(int idx, DType d, std::int64_t n = 1) {
  return LazyOp::load(idx, d, ShapeTracker::contiguous({n}));
}
Profile excess(std::string_view json) {
  return Profile::from_json(fmt::format(R"({{"excess": {}}})", json));
}

template <class T>
Outcome outcome_of(const LazyOpPtr& value, const std::vector<std::vector<T>>& inputs, T answer,
                   const Profile& profile) {
  std::vector<BufferPtr> buffers{nullptr};
  for (const std::vector<T>& in : inputs) buffers.push_back(buffer(in));
  return judge(test::store(value), test::raw(buffers), *buffer(std::vector<T>{answer}), profile)
      .outcome;
}

TEST(Excess, TravelsInJson) {
  for (const char* text :
       {R"("none")", R"("float32")", R"("float64")", R"({"to": "float32", "rounds": "each op"})",
        R"({"to": "float64", "rounds": "stores"})"}) {
    const Profile p = excess(text);
    EXPECT_EQ(Profile::from_json(p.to_json()).excess, p.excess) << text;
    EXPECT_EQ(Profile::from_json(p.to_json()).excess_each_op, p.excess_each_op) << text;
  }
  EXPECT_EQ(excess(R"("float32")").excess, DType::Float32);
  EXPECT_TRUE(excess(R"({"to": "float32", "rounds": "each op"})").excess_each_op);
  for (const char* text : {"1", R"("float16")", R"({"to": "float32", "round": "stores"})",
                           R"({"to": "float32", "rounds": "never"})", "[]"})
    EXPECT_THROW(excess(text), ParseError) << text;
  EXPECT_THROW(Profile::from_json(R"({"accumulator": "float31"})"), ParseError);
  try {
    Profile::from_json(R"({"exces": "float32"})");
    ADD_FAILURE();
  } catch (const ParseError& e) {
    EXPECT_THAT(e.what(), HasSubstr("did you mean 'excess'?"));
  }
}

// a + b + c of float16: each addition rounded, or one rounding at the end.
TEST(Excess, IntermediateResultsMayStayWide) {
  const DType d = DType::Float16;
  const auto sum =
      LazyOp::binary(Op::Add, LazyOp::binary(Op::Add, vec(1, d), vec(2, d)), vec(3, d));
  const float16 a = to_float16(2048.0F), b = to_float16(1.0F), c = to_float16(1.0F);
  const std::vector<std::vector<float16>> in{{a}, {b}, {c}};
  const float16 each = to_float16(2048.0F), once = to_float16(2050.0F);
  EXPECT_EQ(outcome_of<float16>(sum, in, each, {}), Outcome::Pass);
  EXPECT_EQ(outcome_of<float16>(sum, in, once, {}), Outcome::Fail);
  const Profile stores = excess(R"("float32")");
  EXPECT_EQ(outcome_of<float16>(sum, in, each, stores), Outcome::Pass);
  EXPECT_EQ(outcome_of<float16>(sum, in, once, stores), Outcome::Pass);
  EXPECT_EQ(outcome_of<float16>(sum, in, to_float16(2052.0F), stores), Outcome::Fail);
  const Profile ops = excess(R"({"to": "float32", "rounds": "each op"})");
  EXPECT_EQ(outcome_of<float16>(sum, in, each, ops), Outcome::Pass);
  EXPECT_EQ(outcome_of<float16>(sum, in, once, ops), Outcome::Fail);
  // An intermediate cast to float16 rounds, one to float32 does not.
  const auto rounded = LazyOp::binary(
      Op::Add, LazyOp::cast(LazyOp::cast(sum->src()[0], DType::Float32), d), vec(3, d));
  EXPECT_EQ(outcome_of<float16>(rounded, in, once, stores), Outcome::Fail);
  EXPECT_EQ(outcome_of<float16>(rounded, in, each, stores), Outcome::Pass);
}

TEST(Excess, OverflowsOfTheNarrowTypeMayStayNumbers) {
  const DType d = DType::Float16;
  const auto back =
      LazyOp::binary(Op::Sub, LazyOp::binary(Op::Mul, vec(1, d), vec(2, d)), vec(3, d));
  const std::vector<std::vector<float16>> in{
      {to_float16(300.0F)}, {to_float16(300.0F)}, {to_float16(60000.0F)}};
  const Profile stores = excess(R"("float32")");
  EXPECT_NE(outcome_of<float16>(back, in, to_float16(30000.0F), stores), Outcome::Fail);
  EXPECT_NE(outcome_of<float16>(back, in, convert<float16>(HUGE_VALF), stores), Outcome::Fail);
  EXPECT_EQ(outcome_of<float16>(back, in, to_float16(20000.0F), stores), Outcome::Fail);
}

// float32 kept in double, as by x87: (x * y) / y is x again.
TEST(Excess, Float32MayBeComputedInFloat64) {
  const DType d = DType::Float32;
  const auto there =
      LazyOp::binary(Op::Div, LazyOp::binary(Op::Mul, vec(1, d), vec(2, d)), vec(2, d));
  test::TracedDraws random(4);
  const Profile wide = excess(R"("float64")");
  int differ = 0;
  for (int i = 0; i < 200; ++i) {
    const float x = random.uniform(1.0F, 2.0F), y = random.uniform(1.0F, 2.0F), rounded = x * y / y;
    differ += rounded != x ? 1 : 0;
    EXPECT_EQ(outcome_of<float>(there, {{x}, {y}}, x, wide), Outcome::Pass);
    EXPECT_EQ(outcome_of<float>(there, {{x}, {y}}, rounded, wide), Outcome::Pass);
    EXPECT_EQ(outcome_of<float>(there, {{x}, {y}}, x, {}),
              rounded == x ? Outcome::Pass : Outcome::Fail);
  }
  EXPECT_GT(differ, 10);
}

// bfloat16 MULACC in float32, rounded twice: neither split nor fused, and legal for "each op".
TEST(Excess, MulaccMayRoundThroughTheWiderType) {
  const DType d = DType::BFloat16;
  const auto value = LazyOp::ternary(Op::MulAcc, vec(1, d), vec(2, d), vec(3, d));
  test::TracedDraws random(9);
  int third = 0;
  const Profile ops = excess(R"({"to": "float32", "rounds": "each op"})");
  for (int i = 0; i < 4000; ++i) {
    const auto draw = [&](int e) {
      return convert<bfloat16>(std::ldexp(static_cast<float>(random.below(256) + 256), e));
    };
    const bfloat16 a = draw(-8), b = draw(-8), c = draw(random.index(8) + 8);
    const auto twice = convert<bfloat16>(to_float(a) * to_float(b) + to_float(c));
    const bfloat16 fused = scalar::fma(a, b, c), split = scalar::mulacc(a, b, c);
    third += twice != fused && twice != split ? 1 : 0;
    for (const bfloat16 answer : {twice, fused, split})
      ASSERT_EQ(outcome_of<bfloat16>(value, {{a}, {b}, {c}}, answer, ops), Outcome::Pass);
  }
  RecordProperty("third", third);
}

// float16 and bfloat16 chains in float32, rounded at random places: all legal, both by intervals
// and by radius.
template <class T>
void every_choice_of_roundings_is_legal(std::uint32_t seed) {
  test::TracedDraws random(seed);
  const DType d = dtype_v<T>;
  const Profile stores = excess(R"("float32")");
  const auto narrow = [](float x) { return to_float(convert<T>(x)); };
  for (int round = 0; round < 150; ++round) {
    std::vector<BufferPtr> inputs{nullptr};
    LazyOpPtr value;
    std::function<float(bool)> run = [](bool) { return 0.0F; };
    for (int step = 0; step < 6; ++step) {
      const T x =
          convert<T>(std::ldexp(static_cast<float>(random.below(4096)) - 2048, -11) + 1.25F);
      inputs.push_back(buffer<T>({x}));
      const LazyOpPtr leaf = vec(static_cast<int>(inputs.size()) - 1, d);
      const float v = to_float(x);
      if (step == 0) {
        value = leaf;
        run = [v](bool) { return v; };
        continue;
      }
      static constexpr Op kOps[] = {Op::Add, Op::Sub, Op::Mul, Op::Div, Op::Max};
      const Op op = kOps[random.below(5)];
      value = LazyOp::binary(op, value, leaf);
      run = [before = run, op, v, &random, narrow](bool choose) {
        const float u = before(choose);
        const float y = op == Op::Add   ? u + v
                        : op == Op::Sub ? u - v
                        : op == Op::Mul ? u * v
                        : op == Op::Div ? u / v
                                        : std::max(u, v);
        return choose && random.chance(1, 2) ? narrow(y) : y;
      };
      if (step % 2 == 0) {
        value = LazyOp::unary(Op::Sqrt, LazyOp::binary(Op::Mul, value, value));
        run = [before = run, &random, narrow](bool choose) {
          const float u = before(choose);
          const float square = choose && random.chance(1, 2) ? narrow(u * u) : u * u;
          const float root = std::sqrt(square);
          return choose && random.chance(1, 2) ? narrow(root) : root;
        };
      }
    }
    const LazyOpPtr kernel = test::store(value);
    const std::vector<Buffer*> raw = test::raw(inputs);
    for (const interp::Form form :
         {interp::Form::Both, interp::Form::Interval, interp::Form::Radius})
      interp::legal_results(
          kernel, raw, stores, {},
          [&](std::int64_t, const interp::LegalBlock& block) {
            for (int choice = 0; choice < 12; ++choice) {
              const T answer = convert<T>(run(choice > 0));
              ASSERT_TRUE(block.get<T>(0).accepts(answer)) << str(kernel) << to_float(answer);
            }
          },
          form);
  }
}
TEST(Excess, EveryChoiceOfRoundingsIsLegal) {
  every_choice_of_roundings_is_legal<float16>(1);
  every_choice_of_roundings_is_legal<bfloat16>(2);
}

// A loop that computes in float32 and rounds once, including exp2 and sums.
TEST(Excess, LoopsInFloat32AreLegalForNarrowKernels) {
  test::TracedDraws random(6);
  for (const DType d : {DType::Float16, DType::BFloat16})
    with_storage(d, [&]<class T>(std::type_identity<T>) {
      if constexpr (is_narrow_float<T>) {
        constexpr int kTerms = 37;
        const auto x = vec(1, d, kTerms), y = vec(2, d, kTerms);
        const auto value = LazyOp::unary(
            Op::Recip, LazyOp::reduce(Op::ReduceSum,
                                      LazyOp::binary(Op::Mul, LazyOp::unary(Op::Exp2, x), y), {0}));
        int native = 0;
        for (int round = 0; round < 60; ++round) {
          std::vector<T> a, b;
          for (int i = 0; i < kTerms; ++i) {
            a.push_back(convert<T>(static_cast<float>(random.below(1000)) / 500 - 1));
            b.push_back(convert<T>(static_cast<float>(random.below(1000)) / 1000 + 0.1F));
          }
          float sum = 0;
          for (std::size_t i = 0; i < kTerms; ++i)
            sum += std::exp2(to_float(a[i])) * to_float(b[i]);
          const T answer = convert<T>(1 / sum);
          EXPECT_EQ(outcome_of<T>(value, {a, b}, answer, excess(R"("float32")")), Outcome::Pass);
          native += outcome_of<T>(value, {a, b}, answer, Profile::named("ieee")) == Outcome::Fail;
        }
        RecordProperty("illegal without", native);
      }
    });
}

TEST(Excess, IsSaidByExplain) {
  const DType d = DType::Float16;
  const auto sum =
      LazyOp::binary(Op::Add, LazyOp::binary(Op::Add, vec(1, d), vec(2, d)), vec(3, d));
  const std::vector<BufferPtr> in{nullptr, buffer<float16>({to_float16(2048.0F)}),
                                  buffer<float16>({to_float16(1.0F)}),
                                  buffer<float16>({to_float16(1.0F)})};
  const std::vector<std::int64_t> at{0};
  const auto nodes = explain(test::store(sum), test::raw(in), at, excess(R"("float32")"));
  EXPECT_THAT(nodes.back().text, HasSubstr("in float32"));
  EXPECT_TRUE(nodes.back().legal.accepts(Scalar::of(to_float16(2050.0F))));
  EXPECT_THAT(explain(test::store(sum), test::raw(in), at)[3].text,
              testing::Not(HasSubstr("in float32")));
}

// ---- float8 ---------------------------------------------------------------------------------

template <class T>
Outcome of_float8(const char* mode, Op op, float a, float b, float answer) {
  const DType d = dtype_v<T>;
  const auto value = LazyOp::binary(op, vec(1, d), vec(2, d));
  return outcome_of<T>(value, {{convert<T>(a)}, {convert<T>(b)}}, convert<T>(answer),
                       Profile::from_json(fmt::format(R"({{"float8_overflow": "{}"}})", mode)));
}

TEST(Float8Overflow, IsAsDeclared) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float inf = std::numeric_limits<float>::infinity();
  using E4 = float8_e4m3;
  using E5 = float8_e5m2;
  EXPECT_EQ(of_float8<E4>("as defined", Op::Add, 448, 448, 448), Outcome::Pass);
  EXPECT_EQ(of_float8<E4>("as defined", Op::Add, 448, 448, nan), Outcome::Fail);
  EXPECT_EQ(of_float8<E4>("saturates", Op::Add, 448, 448, 448), Outcome::Pass);
  EXPECT_EQ(of_float8<E4>("infinity", Op::Add, 448, 448, nan), Outcome::Pass);
  EXPECT_EQ(of_float8<E4>("infinity", Op::Add, 448, 448, 448), Outcome::Fail);
  EXPECT_NE(of_float8<E4>("either", Op::Mul, 448, -2, nan), Outcome::Fail);
  EXPECT_NE(of_float8<E4>("either", Op::Mul, 448, -2, -448), Outcome::Fail);
  EXPECT_EQ(of_float8<E4>("either", Op::Mul, 448, -2, -416), Outcome::Fail);
  // 448 + 16 is a tie that rounds to 448: no overflow in any mode.
  EXPECT_EQ(of_float8<E4>("infinity", Op::Add, 448, 16, 448), Outcome::Pass);
  EXPECT_EQ(of_float8<E4>("infinity", Op::Add, 448, 16, nan), Outcome::Fail);
  EXPECT_EQ(of_float8<E5>("saturates", Op::Mul, 57344, 2, 57344), Outcome::Pass);
  EXPECT_EQ(of_float8<E5>("saturates", Op::Mul, 57344, 2, inf), Outcome::Fail);
  EXPECT_EQ(of_float8<E5>("as defined", Op::Mul, 57344, 2, inf), Outcome::Pass);
  EXPECT_NE(of_float8<E5>("saturates", Op::Mul, inf, 2, inf), Outcome::Fail);
  for (const char* mode : {"as defined", "saturates", "infinity", "either"}) {
    EXPECT_EQ(of_float8<E4>(mode, Op::Mul, 1.5F, 3, 4.5F), Outcome::Pass) << mode;
    EXPECT_EQ(of_float8<E4>(mode, Op::Mul, 1.5F, 3, 5), Outcome::Fail) << mode;
    const Profile p = Profile::from_json(fmt::format(R"({{"float8_overflow": "{}"}})", mode));
    EXPECT_EQ(Profile::from_json(p.to_json()).float8, p.float8);
  }
  EXPECT_THROW(Profile::from_json(R"({"float8_overflow": "wraps"})"), ParseError);
}

TEST(Float8Overflow, OfCasts) {
  const auto cast = LazyOp::cast(vec(1, DType::Float32), DType::Float8E4M3);
  const auto judged = [&](const char* mode, float x, float answer) {
    const std::vector<BufferPtr> in{nullptr, buffer<float>({x})};
    return judge(test::store(cast), test::raw(in),
                 *buffer<float8_e4m3>({convert<float8_e4m3>(answer)}),
                 Profile::from_json(fmt::format(R"({{"float8_overflow": "{}"}})", mode)))
        .outcome;
  };
  EXPECT_EQ(judged("infinity", 1000, NAN), Outcome::Pass);
  EXPECT_EQ(judged("infinity", 1000, 448), Outcome::Fail);
  EXPECT_EQ(judged("as defined", 1000, 448), Outcome::Pass);
  EXPECT_EQ(judged("infinity", -464.0F, -448), Outcome::Pass);
  EXPECT_EQ(judged("infinity", -465.0F, NAN), Outcome::Pass);
}

}  // namespace
}  // namespace touchstone
