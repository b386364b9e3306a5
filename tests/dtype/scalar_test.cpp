#include "touchstone/dtype/scalar.h"

#include <gtest/gtest.h>

#include <bit>

#include <gmock/gmock.h>

#include "../support/traced_draws.h"

namespace touchstone {
namespace {

using enum DType;

TEST(Scalar, HoldsTheBitsOfEveryType) {
  EXPECT_EQ(Scalar().str(), "false");
  EXPECT_EQ(Scalar::of(std::int8_t{-1}).bits(), 0xffu);
  EXPECT_EQ(Scalar::of(std::int8_t{-1}).as<std::int8_t>(), -1);
  EXPECT_EQ(Scalar::of(-1.0f).bits(), 0xbf800000u);
  EXPECT_EQ(Scalar::of(float16{0x3c00}).to_double(), 1.0);
  EXPECT_EQ(Scalar::of(true).to_int64(), 1);
  EXPECT_EQ(Scalar::from_bits(UInt16, 0x12345).bits(), 0x2345u);
  EXPECT_EQ(Scalar::from_bits(Bool, 2), Scalar::of(true));
  EXPECT_EQ(Scalar::from_double(UInt8, 300.5).to_int64(), 255);
  EXPECT_EQ(Scalar::from_int(UInt8, 300).to_int64(), 44);
  EXPECT_NE(Scalar::of(std::int8_t{1}), Scalar::of(std::uint8_t{1}));
  EXPECT_TRUE(Scalar::from_bits(BFloat16, 0x7f81).is_nan());
  EXPECT_FALSE(Scalar::from_bits(Int32, 0x7fc00000).is_nan());
}

TEST(Scalar, ConvertsAndBitcasts) {
  EXPECT_EQ(convert(Scalar::of(3.99), Int8), Scalar::of(std::int8_t{3}));
  EXPECT_EQ(convert(Scalar::of(1e9), Float16).str(), "inf");
  EXPECT_EQ(bitcast(Scalar::of(1.0f), UInt32).bits(), 0x3f800000u);
  EXPECT_THROW(bitcast(Scalar::of(1.0f), Int64), DTypeError);
}

TEST(ScalarText, ReadsAsAPersonWouldWriteIt) {
  const auto shown = [](DType d, std::string_view text) { return Scalar::parse(d, text).str(); };
  EXPECT_EQ(shown(Float64, "0.1"), "0.1");
  EXPECT_EQ(shown(Float32, "0.1"), "0.1");
  EXPECT_EQ(shown(Float16, "0.1"), "0.1");
  EXPECT_EQ(shown(BFloat16, "0.1"), "0.1");
  EXPECT_EQ(shown(Float32, "-0"), "-0.0");
  EXPECT_EQ(shown(Float32, "7"), "7.0");
  EXPECT_EQ(shown(Float32, "1e30"), "1e+30");
  EXPECT_EQ(shown(Float16, "65504"), "65500.0");  // shortest, as numpy shows it
  EXPECT_EQ(shown(Float16, "0.015625"), "0.01563");
  EXPECT_EQ(shown(Float16, "-inf"), "-inf");
  EXPECT_EQ(shown(Float64, "-nan"), "nan");
  EXPECT_EQ(shown(Float64, "0x1.8p3"), "12.0");
  EXPECT_EQ(shown(Bool, "1"), "true");
  EXPECT_EQ(shown(Int64, "-9223372036854775808"), "-9223372036854775808");
  EXPECT_EQ(shown(UInt64, "0xffffffffffffffff"), "18446744073709551615");
}

// 500 is shorter than 448, the largest float8_e4m3, but correct only if overflow saturates.
TEST(ScalarText, Float8NeedsNoOverflowModeToBeRead) {
  EXPECT_EQ(Scalar::parse(Float8E4M3, "500").str(), "450.0");
  EXPECT_EQ(Scalar::parse(Float8E4M3, "-inf").str(), "-450.0");
  EXPECT_EQ(Scalar::parse(Float8E4M3, "416").str(), "420.0");
  EXPECT_EQ(Scalar::parse(Float8E5M2, "57344").str(), "60000.0");
  for (unsigned bits = 0; bits < 256; ++bits)
    for (const DType type : {Float8E4M3, Float8E5M2}) {
      const Scalar x = Scalar::from_bits(type, bits);
      if (x.is_nan() || std::isinf(x.to_double())) continue;
      const auto read = Scalar::parse(Float64, x.str()).as<double>();
      const auto infinite = [&]<class T>(std::type_identity<T>) {
        return Scalar::of(convert_to_float8<T>(read, Overflow::Infinity)).bits();
      };
      EXPECT_EQ(type == Float8E4M3 ? infinite(std::type_identity<float8_e4m3>{})
                                   : infinite(std::type_identity<float8_e5m2>{}),
                bits)
          << x.str();
    }
}

TEST(ScalarText, RoundsOnceHoweverLongTheText) {
  const auto bits = [](DType d, std::string_view text) { return Scalar::parse(d, text).bits(); };
  // 1 + 2^-11, the tie between 1 and the next float16, and a little more or less.
  EXPECT_EQ(bits(Float16, "1.00048828125"), 0x3c00u);
  EXPECT_EQ(bits(Float16, "1.00048828125000000000000000000000000000000001"), 0x3c01u);
  EXPECT_EQ(bits(Float16, "1.00146484375"), 0x3c02u);
  EXPECT_EQ(bits(Float16, "1.00146484374999999999999999999999999999999999"), 0x3c01u);
  EXPECT_EQ(bits(Float16, "65519.99999999999999999999999"), 0x7bffu);
  EXPECT_EQ(bits(Float16, "65520"), 0x7c00u);
  EXPECT_EQ(bits(BFloat16, "0x1.01p0"), 0x3f80u);
  EXPECT_EQ(bits(BFloat16, "0x1.0100000000000000000000000000001p0"), 0x3f81u);
  EXPECT_EQ(bits(Float64, "0x0.00000000000008000000000000001p-1022"), 1u);
  EXPECT_EQ(bits(Float64, "0x0.00000000000008p-1022"), 0u);
  EXPECT_EQ(bits(Float32, "0x1.fffffefp127"), 0x7f7fffffu);
  EXPECT_EQ(bits(Float32, "0x1.ffffffp127"), 0x7f800000u);
  EXPECT_EQ(bits(Float64, "5e-324"), 1u);
  EXPECT_EQ(bits(Float64, "2e-324"), 0u);
  EXPECT_EQ(bits(Float32, "1e999999999999999999999"), 0x7f800000u);
  EXPECT_EQ(bits(Float32, "-1e-999999999999999999999"), 0x80000000u);
  EXPECT_EQ(bits(Float64, "0." + std::string(5000, '0') + "1e5001"), 0x3ff0000000000000u);
}

TEST(ScalarText, RefusesWhatIsNotANumberOfTheType) {
  const std::pair<DType, std::string_view> bad[] = {
      {Int8, "128"},      {Int8, "-129"},     {UInt8, "-1"},
      {Int32, "1.0"},     {Int32, ""},        {Int32, "-"},
      {Int32, " 1"},      {Int32, "0x"},      {UInt64, "18446744073709551616"},
      {Bool, "2"},        {Bool, "True"},     {Float32, ""},
      {Float32, "."},     {Float32, "1e"},    {Float32, "1e+"},
      {Float32, "1,5"},   {Float32, "--1"},   {Float32, "0x"},
      {Float32, "0x.p1"}, {Float32, "1.2.3"}, {Float32, "infinite"},
      {Float32, "1f"},    {Float16, "0x1g"}};
  for (const auto& [dtype, text] : bad)
    EXPECT_THROW(Scalar::parse(dtype, text), ParseError) << name(dtype) << " '" << text << "'";
  try {
    Scalar::parse(Int8, "128");
  } catch (const ParseError& e) {
    EXPECT_THAT(e.what(), testing::HasSubstr("the range is -128 to 127"));
  }
}

std::uint64_t reparsed(Scalar x) { return Scalar::parse(x.dtype(), x.str()).bits(); }

TEST(ScalarText, ComesBackForEvery16BitPattern) {
  for (const DType d : {Int16, UInt16, Float16, BFloat16})
    for (std::uint64_t i = 0; i < 0x10000; ++i) {
      const Scalar x = Scalar::from_bits(d, i);
      if (x.is_nan())
        ASSERT_EQ(x.str(), "nan");
      else
        ASSERT_EQ(reparsed(x), i) << name(d) << " " << x.str();
    }
}

TEST(ScalarText, ComesBackForRandomBits) {
  test::TracedDraws random(9);
  for (const DType d : {Int64, UInt64, Float32, Float64})
    for (int i = 0; i < 20'000; ++i) {
      const Scalar x = Scalar::from_bits(d, random.bits());
      if (!x.is_nan()) {
        ASSERT_EQ(reparsed(x), x.bits()) << name(d) << " " << x.str();
      }
    }
}

// Whether some decimal of `digits` significant digits rounds to x; tries the two around it.
bool some_shorter(Scalar x, int digits) {
  const double v = std::abs(x.to_double());
  const int exponent = static_cast<int>(std::floor(std::log10(v))) - digits + 1;
  const auto n = static_cast<std::int64_t>(std::floor(v / std::pow(10.0, exponent)));
  for (const std::int64_t m : {n - 1, n, n + 1, n + 2})
    if (Scalar::parse(x.dtype(), fmt::format("{}e{}", m, exponent)) == x) return true;
  return false;
}

TEST(ScalarText, IsShortestForEvery16BitFloat) {
  for (const DType d : {Float16, BFloat16})
    for (std::uint64_t i = 1; i < 0x7f80; ++i) {
      const Scalar x = Scalar::from_bits(d, i);
      if (!std::isfinite(x.to_double())) break;
      std::string mantissa = x.str().substr(0, x.str().find('e'));
      std::erase(mantissa, '.');
      mantissa.erase(0, mantissa.find_first_not_of('0'));
      mantissa.erase(mantissa.find_last_not_of('0') + 1);
      const int digits = static_cast<int>(mantissa.size());
      if (digits > 1) {
        ASSERT_FALSE(some_shorter(x, digits - 1)) << x.str();
      }
    }
}

}  // namespace
}  // namespace touchstone
