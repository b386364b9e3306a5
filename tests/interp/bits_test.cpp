#include "touchstone/interp/device/bits.h"

#include <gtest/gtest.h>

#include <rapidcheck/gtest.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include <gmock/gmock.h>

#include "scalar_reference.h"
#include "touchstone/base/error.h"
#include "touchstone/interp/device/scalar_named.h"
#include "touchstone/ops/op.h"

namespace touchstone {
namespace {

using test::in_format;
using test::of_bits;
using test::same;
using test::show;
using testing::HasSubstr;

// A float whose exponent is often near that of `near`, where rounding is hard.
template <class T>
T any_float(double near = 1) {
  constexpr DTypeInfo kInfo = info(dtype_v<T>);
  const auto bits = *rc::gen::arbitrary<std::uint64_t>();
  if (*rc::gen::inRange(0, 2) == 0 || near == 0 || !std::isfinite(near)) return of_bits<T>(bits);
  const int digits = kInfo.digits;
  const double fraction =
      std::ldexp(static_cast<double>(bits & ((std::uint64_t{1} << (digits - 1)) - 1)), 1 - digits);
  const int exponent = std::ilogb(near) + *rc::gen::inRange(-2 * digits - 4, 2 * digits + 4);
  const double sign = (bits >> 63) != 0 ? -1 : 1;
  return convert<T>(sign * std::ldexp(1 + fraction, exponent));
}

// a - b * floor(a / b) without rounding, then rounded once.
int mpfr_mod_floor(mpfr_ptr result, mpfr_ptr a, mpfr_ptr b, mpfr_rnd_t rounding) {
  const mpfr_exp_t emin = mpfr_get_emin();
  const mpfr_exp_t emax = mpfr_get_emax();
  mpfr_set_emin(mpfr_get_emin_min());
  mpfr_set_emax(mpfr_get_emax_max());
  test::Real rest(0, 2300);  // as wide as the range of double
  mpfr_fmod(rest.get(), a, b, MPFR_RNDN);
  if (mpfr_zero_p(rest.get()) != 0)
    mpfr_copysign(rest.get(), rest.get(), b, MPFR_RNDN);
  else if (mpfr_nan_p(rest.get()) == 0 && mpfr_sgn(rest.get()) * mpfr_sgn(b) < 0)
    mpfr_add(rest.get(), rest.get(), b, MPFR_RNDN);
  mpfr_set_emin(emin);
  mpfr_set_emax(emax);
  return mpfr_set(result, rest.get(), rounding);
}

template <class T>
class NamedOperations : public testing::Test {};
using Floats = testing::Types<float16, bfloat16, float, double>;
TYPED_TEST_SUITE(NamedOperations, Floats);

TYPED_TEST(NamedOperations, FmaRoundsOnce) {
  using T = TypeParam;
  const bool ok = rc::check([] {
    const T a = any_float<T>();
    const T b = any_float<T>(convert<double>(a));
    const T c = any_float<T>(convert<double>(a) * convert<double>(b));
    const T got = scalar::fma(a, b, c);
    const T want = in_format<T>(mpfr_fma, a, b, c);
    if (!same(got, want))
      RC_FAIL(show(a) + " * " + show(b) + " + " + show(c) + " = " + show(got) + ", not " +
              show(want));
  });
  EXPECT_TRUE(ok);
}

TYPED_TEST(NamedOperations, FlooredModuloRoundsOnce) {
  using T = TypeParam;
  const bool ok = rc::check([] {
    const T a = any_float<T>();
    const T b = any_float<T>(convert<double>(a));
    const T got = scalar::mod_floor(a, b);
    const T want = in_format<T>(mpfr_mod_floor, a, b);
    if (!same(got, want))
      RC_FAIL(show(a) + " mod " + show(b) + " = " + show(got) + ", not " + show(want));
  });
  EXPECT_TRUE(ok);
}

// Without the addend, far below, the product is a tie: double rounding goes to even.
TEST(Bits, FmaIsNotTheWiderFma) {
  const float16 a = of_bits<float16>(0x3c01);  // 1 + 2^-10
  const float16 b = of_bits<float16>(0x3e00);  // 1.5: the product is a tie in 11 digits
  const float16 c = of_bits<float16>(0x0001);  // 2^-24
  EXPECT_EQ(scalar::fma(a, b, c).bits, 0x3e02);
  EXPECT_EQ(bits_answer("fma\tbfloat16\t3f81,3fc0,0001"),
            "3fc2");  // c = 2^-133, below double's ulp
  EXPECT_EQ(bits_answer("fma\tbfloat16\t3f81,3fc0,8001"), "3fc1");
}

TEST(Bits, IntegersFloorAndTruncateOnEveryPairOfBytes) {
  for (int a = -128; a < 128; ++a)
    for (int b = -128; b < 128; ++b) {
      const std::vector<Scalar> in{Scalar::of(static_cast<std::int8_t>(a)),
                                   Scalar::of(static_cast<std::int8_t>(b))};
      const auto answer = [&](const char* op) { return scalar_answer(op, DType::Int8, in); };
      if (b == 0 || (b == -1 && a == -128)) {
        for (const char* op : {"div", "div.trunc", "div.floor", "mod.trunc", "mod.floor"})
          ASSERT_FALSE(answer(op).has_value()) << op << ' ' << a << ' ' << b;
        continue;
      }
      const auto floored = static_cast<std::int64_t>(std::floor(static_cast<double>(a) / b));
      ASSERT_EQ(answer("div")->to_int64(), a / b);
      ASSERT_EQ(answer("div.trunc")->to_int64(), a / b);
      ASSERT_EQ(answer("mod.trunc")->to_int64(), a % b);
      ASSERT_EQ(answer("div.floor")->to_int64(), floored) << a << ' ' << b;
      ASSERT_EQ(answer("mod.floor")->to_int64(), a - b * floored) << a << ' ' << b;
    }
}

TEST(Bits, AnswersEveryOperation) {
  const std::pair<const char*, const char*> kCases[] = {
      {"sin\tfloat32\t3f800000", "3f576aa4"},
      {"exp2\tfloat16\t4000", "4400"},
      {"log2\tfloat64\t4000000000000000", "3ff0000000000000"},
      {"sqrt\tfloat32\t80000000", "80000000"},
      {"sqrt\tfloat32\tbf800000", "nan"},
      {"recip\tbfloat16\t8000", "ff80"},
      {"neg\tfloat32\tnan", "nan"},
      {"neg\tint8\t-128", "-128"},
      {"neg\tbool\t0", "1"},
      {"add\tuint8\t200,100", "44"},
      {"sub\tuint64\t0,1", "18446744073709551615"},
      {"mul\tfloat32\t7f7fffff,40000000", "7f800000"},
      {"div\tint32\t-7,2", "-3"},
      {"div\tfloat32\t3f800000,80000000", "ff800000"},
      {"div\tint32\t1,0", "undef"},
      {"div.floor\tint64\t-9223372036854775808,-1", "undef"},
      {"div.floor\tuint8\t255,2", "127"},
      {"mod.floor\tint16\t-7,3", "2"},
      {"mod.floor\tfloat32\tbf800000,40400000", "40000000"},
      {"mod.floor\tfloat32\tbf800000,7f800000", "7f800000"},
      {"mod.floor\tfloat32\t40000000,bf800000", "80000000"},
      {"mod.trunc\tfloat32\tc0e00000,40400000", "bf800000"},
      {"max.maximum\tfloat32\tnan,3f800000", "nan"},
      {"max.maximum\tfloat32\t80000000,00000000", "00000000"},
      {"max.maxnum\tfloat32\tnan,3f800000", "3f800000"},
      {"max.maxnum\tfloat16\t3c00,nan", "3c00"},
      {"max.maxnum\tfloat16\tnan,nan", "nan"},
      {"cmplt\tuint8\t1,255", "1"},
      {"cmpeq\tfloat32\t80000000,00000000", "1"},
      {"cmpeq\tfloat32\tnan,nan", "0"},
      {"xor\tint8\t-1,127", "-128"},
      {"cast:int8\tfloat32\t437f0000", "127"},
      {"cast:uint8\tfloat64\tbff0000000000000", "0"},
      {"cast:int32\tfloat16\tnan", "0"},
      {"cast:uint8\tint32\t-1", "255"},
      {"cast:bool\tfloat32\t80000000", "0"},
      {"cast:float16\tfloat64\t3ff0020000000000", "3c00"},
      {"cast:float16\tfloat64\t3ff0020000000001", "3c01"},
      {"cast:bfloat16\tint64\t4629700416936869888", "5e80"},
      {"sum\tfloat32\t7f7fffff,7f7fffff,ff7fffff", "7f7fffff"},
      {"sum\tfloat64\t7fefffffffffffff,3ff0000000000000,ffefffffffffffff", "3ff0000000000000"},
      {"sum\tfloat16\t", "0000"},
      {"sum\tint8", "0"},
      {"sum\tint8\t100,100,-100", "100"},
      {"sum\tfloat32\t7f800000,ff800000", "nan"},
  };
  for (const auto& [question, answer] : kCases)
    EXPECT_EQ(bits_answer(question), answer) << question;
}

TEST(Bits, SaysWhatIsWrong) {
  const std::pair<const char*, const char*> kCases[] = {
      {"", "op<TAB>dtype<TAB>in"},
      {"add float32 0,0", "op<TAB>dtype<TAB>in"},
      {"add\tfloat32\t0\t0", "op<TAB>dtype<TAB>in"},
      {"ad\tfloat32\t00000000,00000000", "did you mean 'add'?"},
      {"add\tfloat31\t00000000,00000000", "float32"},
      {"add\tfloat32\t00000000", "takes 2 operands, and 1 was given"},
      {"add\tfloat32\t", "takes 2 operands, and 0 were given"},
      {"sum\tfloat32\t00000000,", "missing after the last comma"},
      {"sum\tfloat32\t,00000000", "8 hexadecimal digits"},
      {"neg\tfloat32\t0000000", "8 hexadecimal digits"},
      {"neg\tfloat16\t0x3c", "4 hexadecimal digits"},
      {"neg\tint8\t128", "-128 to 127"},
      {"sin\tint32\t1", "'sin' does not support int32"},
      {"xor\tfloat32\t00000000,00000000", "'xor' does not support float32"},
      {"div.floor\tfloat32\t00000000,00000000", "'div.floor' does not support float32"},
      {"mod.trunc\tbool\t1,1", "'mod.trunc' does not support bool"},
      {"cast:int7\tint8\t1", "int8"},
  };
  for (const auto& [question, part] : kCases) {
    try {
      ADD_FAILURE() << question << " gave " << bits_answer(question);
    } catch (const Error& e) {
      EXPECT_THAT(e.what(), HasSubstr(part)) << question;
    }
  }
}

TEST(Bits, OpsOfTheTableAnswerByTheirNames) {
  for (const auto& [line, answer] : std::vector<std::pair<std::string, std::string>>{
           {"max\tfloat32\t3f800000,7fc00000", "nan"},
           {"MAX\tfloat32\t3f800000,40000000", "40000000"},
           {"max.maxnum\tfloat32\t3f800000,7fc00000", "3f800000"},
           {"MOD\tint8\t-7,3", "-1"},
           {"mod.floor\tint8\t-7,3", "2"},
           {"Add\tfloat32\t3f800000,40000000", "40400000"},
           {"WHERE\tfloat32\t1,3f800000,40000000", "3f800000"},
           {"where\tint8\t0,5,-6", "-6"},
           {"noop\tint16\t-3", "-3"},
           {"MULACC\tint8\t127,2,1", "-1"},
           // 1 + 2^-24 of float32: visible if fused, lost if rounded twice.
           {"fma\tfloat32\t3f800001,3f800001,bf800002", "28800000"},
           {"mulacc\tfloat32\t3f800001,3f800001,bf800002", "00000000"},
           {"CAST:float16\tfloat32\t3f800000", "3c00"},
           {"reduce_max\tfloat32\t", "ff800000"},
           {"reduce_max\tuint8\t3,200,7", "200"},
           {"REDUCE_SUM\tint8\t100,100", "-56"},
           // 1 + 2^-11 + 2^-24 of float16: in float32 the last term is lost, which leaves a tie.
           {"sum\tfloat16\t3c00,1000,0001", "3c01"},
           {"reduce_sum\tfloat16\t3c00,1000,0001", "3c00"},
           {"sub\tfloat32\t3f800000,3f800000", "00000000"}})
    EXPECT_EQ(bits_answer(line), answer) << line;
  // Every name of the table is known, or reported as no elementwise operation.
  for (const OpInfo& known : op_table) {
    const Scalar one = Scalar::of(1.0F);
    try {
      scalar_answer(known.name, DType::Float32, std::vector<Scalar>(7, one));
    } catch (const Error& e) {
      EXPECT_THAT(e.what(), testing::Not(HasSubstr("known:"))) << known.name;
    }
  }
  try {
    bits_answer("max.fmax\tfloat32\t00000000,00000000");
    ADD_FAILURE();
  } catch (const ParseError& e) {
    EXPECT_THAT(e.what(), HasSubstr("max.maxnum: the number wins"));
  }
  EXPECT_THAT(bits_names(), HasSubstr("mulacc is the op of the table"));
}

// The number of T nearest to v; one more number beyond the largest represents overflow.
template <class T>
std::string nearest(double v, Overflow overflow) {
  std::vector<std::pair<double, unsigned>> numbers;  // of v's sign
  for (unsigned b = 0; b < 0x80; ++b)
    if (const double x = convert<double>(of_bits<T>(b)); std::isfinite(x))
      numbers.push_back({x, b});
  const std::size_t n = numbers.size();
  numbers.push_back({2 * numbers[n - 1].first - numbers[n - 2].first, numbers[n - 1].second + 1});
  const double size = std::abs(v);
  std::size_t best = 0;
  for (std::size_t i = 1; i <= n; ++i) {
    const double was = std::abs(numbers[best].first - size), is = std::abs(numbers[i].first - size);
    if (is < was || (is == was && numbers[i].second % 2 == 0)) best = i;
  }
  const unsigned sign = std::signbit(v) ? 0x80 : 0;
  if (std::isinf(v)) best = n;
  if (best < n) return fmt::format("{:02x}", numbers[best].second | sign);
  if (overflow == Overflow::Saturate) return fmt::format("{:02x}", numbers[n - 1].second | sign);
  return has_infinities<T> ? fmt::format("{:02x}", 0x7c | sign) : "nan";
}

template <class T>
void overflows_as_declared() {
  const std::string_view type = name(dtype_v<T>);
  for (unsigned a = 0; a < 0x100; ++a)
    for (unsigned b = a % 5; b < 0x100; b += 5) {
      const double x = convert<double>(of_bits<T>(a)), y = convert<double>(of_bits<T>(b));
      if (!std::isfinite(x) || !std::isfinite(y)) continue;
      for (const auto& [op, v] : {std::pair{"add", x + y},
                                  {"mul", x * y},
                                  {"div", x / y},
                                  {"sub", x - y},
                                  {"sum", x + y},
                                  {"fma", x * y + x}}) {
        if (std::isnan(v)) continue;
        std::string question = fmt::format("{}\t{}\t{:02x},{:02x}", op, type, a, b);
        if (op == std::string_view("fma")) question += fmt::format(",{:02x}", a);
        const std::string low = nearest<T>(v, Overflow::Saturate),
                          high = nearest<T>(v, Overflow::Infinity);
        const auto zeros = [](std::string_view bits) { return bits == "80" ? "00" : bits; };
        const auto answer = [&](Float8Overflow mode) { return bits_answer(question, mode); };
        ASSERT_EQ(zeros(answer(Float8Overflow::Saturates)), zeros(low)) << question;
        ASSERT_EQ(zeros(answer(Float8Overflow::Infinity)), zeros(high)) << question;
        if (low != high) {
          ASSERT_EQ(answer(Float8Overflow::Either), low + "|" + high) << question;
        }
        ASSERT_EQ(zeros(answer(Float8Overflow::AsDefined)), zeros(has_infinities<T> ? high : low))
            << question;
      }
    }
}

TEST(Bits, Float8OverflowsAsAProfileSays) {
  overflows_as_declared<float8_e4m3>();
  overflows_as_declared<float8_e5m2>();
  using Mode = Float8Overflow;
  for (const auto& [question, mode, answer] :
       std::vector<std::tuple<const char*, Mode, const char*>>{
           {"cast:float8_e4m3\tfloat32\t44000000", Mode::Infinity, "nan"},
           {"cast:float8_e4m3\tfloat32\t44000000", Mode::Either, "7e|nan"},
           {"cast:float8_e5m2\tfloat32\tff800000", Mode::Saturates, "fb"},
           {"cast:float8_e4m3\tint64\t-9223372036854775807", Mode::Either, "fe|nan"},
           {"cast:float8_e4m3\tint32\t464", Mode::Either, "7e"},  // a tie, to the even one
           {"cast.saturate:float8_e5m2\tfloat32\t7f800000", Mode::Infinity, "7b"},
           {"recip\tfloat8_e4m3\t80", Mode::Either, "fe|nan"},
           {"exp2\tfloat8_e4m3\t52", Mode::Infinity, "nan"},
           // 16 * 32 overflows, but not after subtracting 448.
           {"mulacc\tfloat8_e4m3\t58,60,fe", Mode::Saturates, "00"},
           {"fma\tfloat8_e4m3\t58,60,fe", Mode::Saturates, "68"},
           {"reduce_max\tfloat8_e4m3\t", Mode::Infinity, "fe"},
           {"max\tfloat8_e4m3\t7e,7f", Mode::Either, "nan"},
           {"cmplt\tfloat8_e4m3\t7d,7e", Mode::Infinity, "1"},
           {"add\tfloat32\t7f7fffff,7f7fffff", Mode::Saturates, "7f800000"},
           {"div\tint8\t1,0", Mode::Either, "undef"}})
    EXPECT_EQ(bits_answer(question, mode), answer) << question;
}

}  // namespace
}  // namespace touchstone
