#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "kernels.h"
#include "scalar_reference.h"
#include "touchstone/interp/device/bits.h"
#include "touchstone/interp/device/scalar_named.h"
#include "touchstone/interp/device/scalar_ops.h"

// Types small enough for exhaustive inputs: every 16-bit pattern, every pair of 8-bit patterns.

namespace touchstone {
namespace {

using test::in_format;
using test::of_bits;
using test::same;
using test::show;

template <class T>
std::vector<T> all_patterns() {
  std::vector<T> all;
  for (std::uint32_t i = 0; i < (1u << (8 * sizeof(T))); ++i) all.push_back(of_bits<T>(i));
  return all;
}

// ---- the CPU device, one kernel per op, on every pattern

template <class T>
class NarrowFloat : public testing::Test {};
using NarrowTypes = testing::Types<float8_e4m3, float8_e5m2, float16, bfloat16>;
TYPED_TEST_SUITE(NarrowFloat, NarrowTypes);

TYPED_TEST(NarrowFloat, DeviceGivesWhatMpfrGivesForEveryPattern) {
  using T = TypeParam;
  const std::vector<T> in = all_patterns<T>();
  const auto size = static_cast<std::int64_t>(in.size());
  const LazyOpPtr x = LazyOp::load(1, dtype_v<T>, ShapeTracker::contiguous({size}));
  const auto check = [&](Op op, auto want) {
    const std::vector<T> out = test::run<T>(LazyOp::unary(op, x), {test::buffer(in)});
    for (std::size_t i = 0; i < in.size(); ++i)
      ASSERT_TRUE(same(out[i], want(in[i]))) << name(op) << " of " << show(in[i]) << ": "
                                             << show(out[i]) << " for " << show(want(in[i]));
  };
  check(Op::Exp2, [](T a) { return in_format<T>(mpfr_exp2, a); });
  check(Op::Log2, [](T a) { return in_format<T>(mpfr_log2, a); });
  check(Op::Sin, [](T a) { return in_format<T>(mpfr_sin, a); });
  check(Op::Sqrt, [](T a) { return in_format<T>(mpfr_sqrt, a); });
  check(Op::Recip, [](T a) { return in_format<T>(mpfr_div, convert<T>(1), a); });
  const std::vector<T> negated = test::run<T>(LazyOp::unary(Op::Neg, x), {test::buffer(in)});
  for (std::size_t i = 0; i < in.size(); ++i)
    ASSERT_EQ(Scalar::of(negated[i]).bits(), i ^ (in.size() / 2));  // the sign bit, NaN's too
}

// tests/dtype tests the values of CAST by definition; this tests that the device returns them.
TYPED_TEST(NarrowFloat, DeviceCastsEveryPatternToEveryType) {
  using T = TypeParam;
  const std::vector<T> in = all_patterns<T>();
  const auto size = static_cast<std::int64_t>(in.size());
  const LazyOpPtr x = LazyOp::load(1, dtype_v<T>, ShapeTracker::contiguous({size}));
  for (const DTypeInfo& to : dtype_table)
    with_storage(to.dtype, [&]<class R>(std::type_identity<R>) {
      const std::vector<R> out = test::run<R>(LazyOp::cast(x, to.dtype), {test::buffer(in)});
      for (std::size_t i = 0; i < in.size(); ++i)
        ASSERT_TRUE(same<R>(out[i], convert<R>(in[i]))) << to.name << " of " << show(in[i]);
    });
}

// ---- all pairs of 8 bits

template <class T>
class Float8Pairs : public testing::Test {};
using Float8Types = testing::Types<float8_e4m3, float8_e5m2>;
TYPED_TEST_SUITE(Float8Pairs, Float8Types);

TYPED_TEST(Float8Pairs, ArithmeticRoundsOnce) {
  using T = TypeParam;
  for (const T a : all_patterns<T>())
    for (const T b : all_patterns<T>()) {
      const auto check = [&](const char* op, T got, T want) {
        ASSERT_TRUE(same(got, want)) << op << " of " << show(a) << ", " << show(b) << ": "
                                     << show(got) << " for " << show(want);
      };
      check("add", scalar::add(a, b), in_format<T>(mpfr_add, a, b));
      check("sub", scalar::sub(a, b), in_format<T>(mpfr_sub, a, b));
      check("mul", scalar::mul(a, b), in_format<T>(mpfr_mul, a, b));
      check("div", scalar::div(a, b), in_format<T>(mpfr_div, a, b));
      check("mod", scalar::mod(a, b), in_format<T>(mpfr_fmod, a, b));
    }
}

TYPED_TEST(Float8Pairs, ComparisonsAndMaximaAreOfTheValues) {
  using T = TypeParam;
  for (const T a : all_patterns<T>())
    for (const T b : all_patterns<T>()) {
      const double x = to_float(a), y = to_float(b);
      ASSERT_EQ(scalar::cmplt(a, b), x < y);
      ASSERT_EQ(scalar::cmpeq(a, b), x == y);
      const T most = scalar::max(a, b), number = scalar::max_num(a, b);
      if (std::isnan(x) || std::isnan(y)) {
        ASSERT_TRUE(Scalar::of(most).is_nan());
        ASSERT_TRUE(same(number, std::isnan(x) ? b : a));
        continue;
      }
      ASSERT_TRUE(same(most, number));
      ASSERT_EQ(to_float(most), std::max(x, y));
      if (x == 0 && y == 0) {
        ASSERT_EQ(std::signbit(to_float(most)), std::signbit(x) && std::signbit(y));
      }
    }
}

// All products with some addends; MULACC rounds the product, FMA does not.
TYPED_TEST(Float8Pairs, ProductsAreAddedOnceOrTwiceRounded) {
  using T = TypeParam;
  for (const T a : all_patterns<T>())
    for (const T b : all_patterns<T>())
      for (const unsigned c : {0x00U, 0x01U, 0x81U, 0x38U, 0xb9U, 0x7aU, 0xfaU}) {
        const T addend = of_bits<T>(c);
        ASSERT_TRUE(same(scalar::fma(a, b, addend), in_format<T>(mpfr_fma, a, b, addend)))
            << show(a) << " * " << show(b) << " + " << show(addend);
        const T product = in_format<T>(mpfr_mul, a, b);
        ASSERT_TRUE(same(scalar::mulacc(a, b, addend), in_format<T>(mpfr_add, product, addend)));
      }
}

// Sums run in float32: 256 * 448 fits there and saturates when converted to 8 bits.
TEST(Float8, SumsAreExactUntilTheyAreRounded) {
  const std::vector<float8_e4m3> many(256, convert<float8_e4m3>(448.0F));
  const auto sum = [](const std::vector<float8_e4m3>& terms) {
    const LazyOpPtr x = LazyOp::load(
        1, DType::Float8E4M3, ShapeTracker::contiguous({static_cast<std::int64_t>(terms.size())}));
    return test::run<float8_e4m3>(LazyOp::reduce(Op::ReduceSum, x, {0}), {test::buffer(terms)})[0];
  };
  EXPECT_EQ(sum(many).bits, 0x7e);
  std::vector<float8_e4m3> back = many;
  back.insert(back.end(), 255, convert<float8_e4m3>(-448.0F));
  back.push_back(convert<float8_e4m3>(-446.0F));  // -448 too
  back.push_back(convert<float8_e4m3>(0x1p-9F));
  EXPECT_EQ(sum(back).bits, 0x01);
}

TEST(Float8, BitsAnswers) {
  const std::pair<const char*, const char*> kCases[] = {
      {"add\tfloat8_e4m3\t7e,7e", "7e"},
      {"add\tfloat8_e5m2\t7b,7b", "7c"},
      {"recip\tfloat8_e4m3\t80", "fe"},
      {"recip\tfloat8_e5m2\t80", "fc"},
      {"log2\tfloat8_e4m3\t00", "fe"},
      {"exp2\tfloat8_e4m3\t7e", "7e"},
      {"sqrt\tfloat8_e4m3\tb8", "nan"},
      {"div\tfloat8_e4m3\t00,00", "nan"},
      {"sub\tfloat8_e5m2\t7c,7c", "nan"},
      {"neg\tf8e4m3\t7f", "nan"},
      {"cast:float8_e4m3\tfloat32\t43e80001", "7e"},
      {"cast.saturate:float8_e4m3\tfloat32\t43e80001", "7e"},
      {"cast.infinity:float8_e4m3\tfloat32\t43e80001", "nan"},
      {"cast.infinity:float8_e4m3\tfloat32\t43e80000", "7e"},
      {"cast.saturate:float8_e5m2\tfloat32\t7f800000", "7b"},
      {"cast.infinity:float8_e5m2\tfloat8_e4m3\tfe", "df"},
      {"cast:float8_e5m2\tint32\t-57345", "fb"},
      {"cast:int8\tfloat8_e4m3\tfe", "-128"},
      {"sum\tfloat8_e4m3\t7e,7e,fe", "7e"},
  };
  for (const auto& [question, answer] : kCases)
    EXPECT_EQ(bits_answer(question), answer) << question;
  EXPECT_THROW(bits_answer("cast.saturate:float16\tfloat32\t00000000"), DTypeError);
  EXPECT_THROW(bits_answer("cast.saturate:float8_e4m3\tint32\t1"), DTypeError);
}

}  // namespace
}  // namespace touchstone
