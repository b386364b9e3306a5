// Signs, remainders and bits against C++'s operators on every pair of 8-bit numbers, on chosen
// 64-bit ones and on floats of every kind.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <functional>

#include "../interp/kernels.h"
#include "touchstone/define/text.h"

namespace touchstone::define {
namespace {

template <class R, class T>
std::vector<R> of(const std::string& name, const std::vector<T>& x, const std::vector<T>& y = {}) {
  const std::string type = fmt::format("[{}]:{}", x.size(), info(dtype_v<T>).short_name);
  const std::string second = y.empty() ? "" : ", y" + type;
  std::vector<BufferPtr> buffers{test::buffer<T>(x)};
  if (!y.empty()) buffers.push_back(test::buffer<T>(y));
  return test::run<R>(parse(fmt::format("{}(x{}{})", name, type, second)).kernel()->src()[0],
                      buffers);
}

__extension__ using Wide = __int128;

template <class T>
struct Drawn {
  std::vector<T> x, y;
};
template <class T>
Drawn<T> all_pairs(const std::vector<T>& values) {
  Drawn<T> pairs;
  for (const T a : values)
    for (const T b : values) {
      pairs.x.push_back(a);
      pairs.y.push_back(b);
    }
  return pairs;
}

template <class T>
std::vector<T> integers() {
  std::vector<T> values;
  if (sizeof(T) == 1) {
    for (int i = 0; i < 256; ++i) values.push_back(static_cast<T>(i));
  } else {
    for (const std::uint64_t x :
         {0x0ULL, 0x1ULL, 0x2ULL, 0x3fULL, 0x40ULL, 0xffffffffULL, 0x100000000ULL,
          0x123456789abcdefULL, 0xfedcba9876543210ULL, 0x8000000000000000ULL, 0xffffffffffffffffULL,
          0x7fffffffffffffffULL, 0xaaaaaaaa55555555ULL})
      values.push_back(static_cast<T>(x));
  }
  return values;
}

template <class T>
class Bits : public testing::Test {};
using Integers = testing::Types<std::int8_t, std::uint8_t, std::int64_t, std::uint64_t>;
TYPED_TEST_SUITE(Bits, Integers);

TYPED_TEST(Bits, AreThoseOfTheOperators) {
  using T = TypeParam;
  using U = std::make_unsigned_t<T>;
  constexpr int width = 8 * sizeof(T);
  const Drawn<T> p = all_pairs(integers<T>());
  const auto expect = [&](const std::string& name, const std::function<T(T, T)>& f) {
    const std::vector<T> got = of<T>(name, p.x, p.y);
    for (std::size_t i = 0; i < got.size(); ++i)
      ASSERT_EQ(got[i], f(p.x[i], p.y[i])) << name << " of " << +p.x[i] << ", " << +p.y[i];
  };
  expect("bit_and", [](T a, T b) { return static_cast<T>(a & b); });
  expect("bit_or", [](T a, T b) { return static_cast<T>(a | b); });
  const auto is_out = [](T b) { return b < 0 || static_cast<U>(b) >= U{width}; };
  expect("shift_left",
         [&](T a, T b) { return is_out(b) ? T{0} : static_cast<T>(static_cast<U>(a) << b); });
  expect("shift_right", [&](T a, T b) {
    const T filled = a < 0 ? static_cast<T>(-1) : T{0};
    return is_out(b) ? filled : static_cast<T>(a >> b);
  });
  expect("shift_right_logical",
         [&](T a, T b) { return is_out(b) ? T{0} : static_cast<T>(static_cast<U>(a) >> b); });
  const std::vector<T> inverted = of<T>("bit_not", p.x), ones = of<T>("popcount", p.x),
                       signs = of<T>("sign", p.x);
  for (std::size_t i = 0; i < p.x.size(); ++i) {
    ASSERT_EQ(inverted[i], static_cast<T>(~p.x[i]));
    ASSERT_EQ(ones[i], std::popcount(static_cast<U>(p.x[i]))) << +p.x[i];
    ASSERT_EQ(signs[i], p.x[i] < 0 ? static_cast<T>(-1) : static_cast<T>(p.x[i] > 0 ? 1 : 0));
  }
}

TYPED_TEST(Bits, QuotientsAreRoundedDown) {
  using T = TypeParam;
  Drawn<T> p;
  const Drawn<T> all = all_pairs(integers<T>());
  for (std::size_t i = 0; i < all.x.size(); ++i) {
    if (all.y[i] == 0 || (std::is_signed_v<T> && all.y[i] == static_cast<T>(-1))) continue;
    p.x.push_back(all.x[i]);
    p.y.push_back(all.y[i]);
  }
  const std::vector<T> rest = of<T>("remainder", p.x, p.y), quotient = of<T>("floor_div", p.x, p.y);
  for (std::size_t i = 0; i < rest.size(); ++i) {
    const Wide x = p.x[i], y = p.y[i], q = quotient[i], r = rest[i];
    ASSERT_TRUE(q * y + r == x) << +p.x[i] << ", " << +p.y[i];
    ASSERT_TRUE(y > 0 ? r >= 0 && r < y : r <= 0 && r > y) << +p.x[i] << ", " << +p.y[i];
  }
}

TEST(BitsOfBool, AreLogic) {
  using Bytes = std::vector<std::uint8_t>;
  const auto of_bool = [](const std::string& call) {
    const std::string text = "where(" + call + ", cast(1, u8), 0)";
    return test::run<std::uint8_t>(
        parse(text).kernel()->src()[0],
        {test::buffer<std::uint8_t>({0, 0, 1, 1}), test::buffer<std::uint8_t>({0, 1, 0, 1})});
  };
  const std::string both = "(cast(x[4]:u8, bool), cast(y[4]:u8, bool))";
  EXPECT_EQ(of_bool("bit_and" + both), (Bytes{0, 0, 0, 1}));
  EXPECT_EQ(of_bool("bit_or" + both), (Bytes{0, 1, 1, 1}));
  EXPECT_EQ(of_bool("bit_not(cast(x[4]:u8, bool))"), (Bytes{1, 1, 0, 0}));
}

TEST(BitsOfBool, OfOtherTypesAreErrors) {
  for (const char* text :
       {"bit_and(x[2], y[2])", "popcount(x[2]:bool)", "shift_left(x[2]:bool, y[2]:bool)",
        "bit_not(x[2]:f16)", "bit_or(x[2]:i64, y[2]:u64)", "next_after(x[2]:i32, y[2]:i32)"})
    EXPECT_THROW(parse(text), Error) << text;
}

const std::vector<float>& floats() {
  static const std::vector<float> values = {
      0.0F,      -0.0F,          1.0F,      -1.0F,           3.0F,     -3.0F,     0.1F,
      -0.1F,     2.5F,           7.0F,      -7.0F,           1e-45F,   -1e-45F,   1e-38F,
      0x1p24F,   0x1.fffffep10F, 3e38F,     -3e38F,          INFINITY, -INFINITY, NAN,
      12345.67F, 1.0F / 3,       -2.0F / 3, 0x1.fffffep127F, 0x1p-126F};
  return values;
}

void expect_same(float got, float want, const std::string& what) {
  if (std::isnan(want))
    EXPECT_TRUE(std::isnan(got)) << what;
  else
    EXPECT_EQ(std::bit_cast<std::uint32_t>(got), std::bit_cast<std::uint32_t>(want))
        << what << ": " << got << " for " << want;
}

// Quotients of floats in exact arithmetic: x = 2^e m, so x / y is a ratio of two whole numbers.
TEST(FloatQuotients, AreRoundedDown) {
  const Drawn<float> p = all_pairs(floats());
  const std::vector<float> rest = of<float>("remainder", p.x, p.y),
                           quotient = of<float>("floor_div", p.x, p.y);
  for (std::size_t i = 0; i < rest.size(); ++i) {
    const float x = p.x[i], y = p.y[i];
    const std::string what = fmt::format("{}, {}", x, y);
    const bool none = std::isnan(x) || std::isnan(y) || std::isinf(x);
    if (none || y == 0) {
      expect_same(rest[i], NAN, what);
      expect_same(quotient[i], none && y != 0 ? NAN : x / y, what);
      continue;
    }
    float r = std::fmod(x, y);
    const bool down = r != 0 && std::signbit(r) != std::signbit(y);
    expect_same(rest[i], r == 0 ? std::copysign(0.0F, y) : down ? r + y : r, what);
    if (std::isinf(y)) {
      expect_same(quotient[i], down ? -1.0F : std::copysign(0.0F, x / y), what);
      continue;
    }
    const double exact = static_cast<double>(x) / static_cast<double>(y);
    if (std::abs(exact) >= 0x1p128) {
      EXPECT_TRUE(std::isinf(quotient[i]) && (quotient[i] > 0) == (exact > 0)) << what;
      continue;
    }
    if (std::abs(exact) > 0x1p22) {  // neighbouring whole numbers have one float
      EXPECT_NEAR(static_cast<double>(quotient[i]) / exact, 1, 0x1p-23) << what;
      continue;
    }
    const double whole = (static_cast<double>(x) - static_cast<double>(r)) / static_cast<double>(y);
    const double floored = std::round(whole) - (down ? 1 : 0);
    expect_same(quotient[i],
                floored == 0 ? std::copysign(0.0F, x / y) : static_cast<float>(floored), what);
  }
  // The quotient of 1 and 0.1 rounds to 10.
  EXPECT_EQ(of<float>("floor_div", std::vector<float>{1}, std::vector<float>{0.1F})[0], 9);
}

// Of narrow types in float32, whose quotients of float16 are exact enough for the exact floor.
TEST(FloatQuotients, OfFloat16AreExact) {
  Drawn<float16> p;
  for (int i = 1; i < 400; ++i)
    for (int j = 1; j < 100; ++j) {
      p.x.push_back(convert<float16>(0.37F * static_cast<float>(i * i)));
      p.y.push_back(convert<float16>(-0.013F * static_cast<float>(j * j)));
    }
  const std::vector<float16> got = of<float16>("floor_div", p.x, p.y);
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double x = convert<double>(p.x[i]), y = convert<double>(p.y[i]);
    EXPECT_EQ(convert<float>(got[i]), convert<float>(convert<float16>(std::floor(x / y))))
        << x << ", " << y;
  }
}

TEST(FloatQuotients, KeepTheirType) {
  for (const DType d : {DType::Float8E4M3, DType::Float8E5M2, DType::Float16, DType::BFloat16,
                        DType::Float32, DType::Float64})
    for (const char* name : {"remainder", "floor_div", "next_after"}) {
      const std::string_view type = info(d).short_name;
      EXPECT_EQ(parse(fmt::format("{}(x[4]:{}, y[4]:{})", name, type, type)).kernel()->dtype(), d)
          << name << " " << type;
      const std::string with_number = fmt::format("{}(x[4]:{}, 3)", name, type);
      EXPECT_EQ(parse(with_number).kernel()->dtype(), d) << with_number;
    }
}

TEST(NextAfter, IsTheNextFloat) {
  const Drawn<float> p = all_pairs(floats());
  const std::vector<float> got = of<float>("next_after", p.x, p.y);
  for (std::size_t i = 0; i < got.size(); ++i)
    expect_same(got[i], std::nextafter(p.x[i], p.y[i]), fmt::format("{}, {}", p.x[i], p.y[i]));
  // Narrow types: every step up through all finite numbers.
  std::vector<float16> x, up;
  for (std::uint32_t b = 0; b <= 0x7c00; ++b)
    x.push_back(std::bit_cast<float16>(static_cast<std::uint16_t>(b)));
  up.assign(x.size(), x.back());
  const std::vector<float16> next = of<float16>("next_after", x, up);
  for (std::size_t i = 0; i + 1 < x.size(); ++i)
    ASSERT_EQ(std::bit_cast<std::uint16_t>(next[i]), i + 1) << i;
  EXPECT_EQ(std::bit_cast<std::uint16_t>(next.back()), 0x7c00);
}

TEST(Sign, KeepsNanAndGivesEitherZero) {
  const std::vector<float> got = of<float>("sign", floats());
  for (std::size_t i = 0; i < got.size(); ++i) {
    const float x = floats()[i];
    expect_same(x == 0 ? std::abs(got[i]) : got[i],
                x > 0   ? 1.0F
                : x < 0 ? -1.0F
                        : std::abs(x),
                fmt::format("{}", x));
  }
}

}  // namespace
}  // namespace touchstone::define
