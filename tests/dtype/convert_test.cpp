#include "touchstone/dtype/convert.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <tuple>
#include <vector>

#include "../support/traced_draws.h"
#include "nearest.h"

namespace touchstone {
namespace {

// Written for constant evaluation too.
static_assert(convert<std::uint8_t>(300.7f) == 255);
static_assert(convert<std::int8_t>(300) == 44);
static_assert(convert<bool>(0.25));
static_assert(convert<float16>(65520.0).bits == 0x7c00);

// x as a long double: exact for every storage type.
template <class T>
long double exact(T x) {
  if constexpr (is_narrow_float<T>)
    return to_float(x);
  else
    return static_cast<long double>(x);
}

template <class To>
To truncate_and_saturate(long double x) {
  if (std::isnan(x)) return 0;
  const long double t = std::trunc(x);
  const auto least = static_cast<long double>(std::numeric_limits<To>::min());
  const auto most = static_cast<long double>(std::numeric_limits<To>::max());
  return t < least  ? std::numeric_limits<To>::min()
         : t > most ? std::numeric_limits<To>::max()
                    : static_cast<To>(t);
}

// The definition, via long double.
template <class To, class From>
To expected(From x) {
  if constexpr (std::is_same_v<To, bool>) {
    return exact(x) != 0;
  } else if constexpr (is_narrow_float<To>) {
    static const test::NearestInList<To> nearest;
    return nearest(exact(x));
  } else if constexpr (is_float_storage<To>) {
    return static_cast<To>(exact(x));
  } else if constexpr (is_float_storage<From>) {
    return truncate_and_saturate<To>(exact(x));
  } else {
    return static_cast<To>(static_cast<std::uint64_t>(x));  // modulo 2^n
  }
}

template <class T>
bool same(T a, T b) {
  return (std::isnan(exact(a)) && std::isnan(exact(b))) ||
         (exact(a) == exact(b) && std::signbit(exact(a)) == std::signbit(exact(b)));
}

template <class T>
std::vector<T> samples() {
  std::vector<T> r;
  test::TracedDraws random(5);
  if constexpr (std::is_same_v<T, bool>) {
    r = {false, true};
  } else if constexpr (sizeof(T) <= 2) {
    for (std::uint32_t i = 0; i < (1u << (8 * sizeof(T))); ++i)
      r.push_back(std::bit_cast<T>(
          static_cast<std::conditional_t<sizeof(T) == 1, std::uint8_t, std::uint16_t>>(i)));
  } else {
    using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
    for (int i = 0; i < 20'000; ++i)
      r.push_back(std::bit_cast<T>(static_cast<Bits>(random.bits())));
    for (int k = 0; k < 64; ++k) {  // around powers of two, and around ties of every format there
      const std::uint64_t p = std::uint64_t{1} << k;
      for (const int digits : {3, 4, 8, 11, 24, 53})
        for (const std::uint64_t near : {std::uint64_t{0}, p >> digits, 3 * (p >> digits)})
          for (const int off : {-1, 0, 1}) {
            const std::uint64_t v = p + near + static_cast<std::uint64_t>(off);
            r.push_back(static_cast<T>(v));
            r.push_back(static_cast<T>(0 - v));
            if constexpr (is_float_storage<T>) {
              r.push_back(-static_cast<T>(v));
              r.push_back(static_cast<T>(v) / static_cast<T>(1ull << 40));
              r.push_back(std::nextafter(static_cast<T>(v), T{0}));
              r.push_back(-std::nextafter(static_cast<T>(v), T{0}));
            }
          }
    }
    if constexpr (is_float_storage<T>) {
      using Limits = std::numeric_limits<T>;
      for (const T x : {T{0}, Limits::infinity(), Limits::quiet_NaN(), Limits::denorm_min(),
                        Limits::max(), T(0.5), T(0.99), T(255.5), T(1e-40)}) {
        r.push_back(x);
        r.push_back(-x);
      }
    }
  }
  return r;
}

using AllTypes = std::tuple<bool, std::int8_t, std::uint8_t, std::int16_t, std::uint16_t,
                            std::int32_t, std::uint32_t, std::int64_t, std::uint64_t, float8_e4m3,
                            float8_e5m2, float16, bfloat16, float, double>;

template <class From>
class ConvertFrom : public testing::Test {};
using FromTypes = testing::Types<bool, std::int8_t, std::uint8_t, std::int16_t, std::uint16_t,
                                 std::int32_t, std::uint32_t, std::int64_t, std::uint64_t,
                                 float8_e4m3, float8_e5m2, float16, bfloat16, float, double>;
TYPED_TEST_SUITE(ConvertFrom, FromTypes);

TYPED_TEST(ConvertFrom, AgreesWithTheDefinitionForEveryTarget) {
  const auto values = samples<TypeParam>();
  std::apply(
      [&]<class... To>(To...) {
        const auto check = [&]<class T>(std::type_identity<T>) {
          for (const TypeParam x : values)
            ASSERT_TRUE(same(convert<T>(x), expected<T>(x)))
                << name(dtype_v<TypeParam>) << " to " << name(dtype_v<T>) << ": " << std::hexfloat
                << exact(x) << " gave " << exact(convert<T>(x));
        };
        (check(std::type_identity<To>{}), ...);
      },
      AllTypes{});
}

TEST(Convert, LoopBodyAndTailAgreeOutOfRange) {
  std::array<float, 67> in{};
  std::array<std::uint8_t, 67> out{};
  in.fill(300.7f);
  for (std::size_t i = 0; i < in.size(); ++i) out[i] = convert<std::uint8_t>(in[i]);
  for (const auto x : out) EXPECT_EQ(x, 255);
}

TEST(Convert, Int64ToBfloat16RoundsOnce) {
  // Just above a tie of bfloat16, indistinguishable from it in double and float.
  const std::int64_t x = (std::int64_t{1} << 62) + (std::int64_t{1} << 54) + 1;
  EXPECT_EQ(convert<bfloat16>(x).bits, 0x5e81);
  EXPECT_EQ(convert<bfloat16>(-x).bits, 0xde81);
  EXPECT_EQ(convert<bfloat16>(static_cast<double>(x)).bits, 0x5e80);
  EXPECT_EQ(convert<bfloat16>(std::numeric_limits<std::int64_t>::min()).bits, 0xdf00);
  EXPECT_EQ(convert<bfloat16>(std::numeric_limits<std::uint64_t>::max()).bits, 0x5f80);
}

TEST(Convert, NanIsTrueAndZeroAsInteger) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(convert<bool>(nan));
  EXPECT_FALSE(convert<bool>(-0.0));
  EXPECT_TRUE(convert<bool>(float16{0x0001}));
  EXPECT_FALSE(convert<bool>(bfloat16{0x8000}));
  EXPECT_EQ(convert<std::int32_t>(nan), 0);
  EXPECT_EQ(convert<std::uint64_t>(float16{0x7e01}), 0u);
}

}  // namespace
}  // namespace touchstone
