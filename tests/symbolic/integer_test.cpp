#include "touchstone/symbolic/number/integer.h"

#include <gtest/gtest.h>

#include <rapidcheck/gtest.h>

#include <limits>
#include <utility>

#include "touchstone/symbolic/number/interval.h"

namespace touchstone::symbolic {
namespace {

constexpr auto kLeast = std::numeric_limits<std::int64_t>::min();
constexpr auto kMost = std::numeric_limits<std::int64_t>::max();

TEST(Int, LeavesAndReentersSixtyFourBits) {
  const Int beyond = Int(kMost) + 1;
  EXPECT_FALSE(beyond.is_small());
  EXPECT_EQ(beyond.str(), "9223372036854775808");
  EXPECT_EQ(beyond - 1, Int(kMost));
  EXPECT_TRUE((beyond - 1).is_small());
  EXPECT_EQ(-Int(kLeast), beyond);
  EXPECT_EQ(floor_div(Int(kLeast), -1), beyond);
  EXPECT_EQ(floor_mod(Int(kLeast), -1), Int(0));
  EXPECT_EQ(gcd(Int(kLeast), Int(kLeast)), beyond);
  EXPECT_EQ((Int(kMost) * Int(kMost)).str(), "85070591730234615847396907784232501249");
  EXPECT_EQ(Int::from_digits("-170141183460469231731687303715884105728").sign(), -1);
}

RC_GTEST_PROP(Int, FloorDivisionSatisfiesItsDefinition, (std::int64_t a, std::int64_t b)) {
  RC_PRE(b != 0);
  for (const Int& scale : {Int(1), Int(kMost), Int::from_digits("1000000000000000000000")}) {
    const Int x = Int(a) * scale + 1, y = b;
    const Int q = floor_div(x, y), r = floor_mod(x, y);
    RC_ASSERT(q * y + r == x);
    RC_ASSERT((b > 0 ? r >= 0 && r < y : r <= 0 && r > y));
  }
}

RC_GTEST_PROP(Int, CommonDivisorsAreThoseOfEuclid,
              (std::int64_t a, std::int64_t b, std::int64_t c)) {
  const int left = *rc::gen::inRange(0, 12), right = *rc::gen::inRange(0, 12);
  Int x = a, y = b;
  for (int i = 0; i < left; ++i) x = x * c + a;
  for (int i = 0; i < right; ++i) y = y * c + a;
  const Int g = gcd(x, y);
  Int p = abs(x), q = abs(y);
  while (!q.is_zero()) p = std::exchange(q, floor_mod(p, q));
  RC_ASSERT(g == p);
  RC_ASSERT(gcd(y, x) == g);
  RC_ASSERT(gcd(x, -x * y) == abs(x));
  RC_ASSERT(gcd(x, 0) == abs(x));
}

RC_GTEST_PROP(Interval, HoldsEveryResult, ()) {
  const auto end = rc::gen::inRange(-6, 7);
  const int a = *end, b = *end, c = *end, d = *end;
  const Interval x{Int(std::min(a, b)), Int(std::max(a, b))};
  Interval y{Int(std::min(c, d)), Int(std::max(c, d))};
  const bool open = *rc::gen::arbitrary<bool>();
  const Interval wide{open ? std::nullopt : x.lo, x.hi};
  const auto holds = [](const Interval& i, const Int& v) {
    return (!i.lo || *i.lo <= v) && (!i.hi || v <= *i.hi);
  };
  for (int p = std::min(a, b); p <= std::max(a, b); ++p)
    for (int q = std::min(c, d); q <= std::max(c, d); ++q) {
      RC_ASSERT(holds(wide + y, Int(p) + q));
      RC_ASSERT(holds(wide * y, Int(p) * q));
      RC_ASSERT(holds(larger(wide, y), larger(Int(p), Int(q))));
      if (q == 0) continue;
      RC_ASSERT(holds(floor_div(wide, y), floor_div(Int(p), Int(q))));
      RC_ASSERT(holds(floor_mod(wide, y), floor_mod(Int(p), Int(q))));
      if (q < 0) continue;
      RC_ASSERT(holds(floor_div(wide, Int(q)), floor_div(Int(p), Int(q))));
      RC_ASSERT(holds(floor_mod(wide, Int(q)), floor_mod(Int(p), Int(q))));
    }
}

TEST(Int, LongNumbersAreReadAndWrittenDigitByDigit) {
  std::string digits = "9";
  for (const std::size_t length : {19UL, 999UL, 1000UL, 1001UL, 1002UL, 2003UL, 5000UL, 60'000UL}) {
    for (std::size_t i = digits.size(); i < length; ++i)
      digits += static_cast<char>('0' + (i * i / 7 + i / 900 * 3) % 10);
    EXPECT_EQ(Int::from_digits(digits).str(), digits);
    EXPECT_EQ(Int::from_digits("-" + digits).str(), "-" + digits);
    EXPECT_EQ(Int::from_digits("000" + digits).str(), digits);
    const std::string round = "1" + std::string(length, '0');
    EXPECT_EQ(Int::from_digits(round).str(), round);
    EXPECT_EQ((Int::from_digits(round) - 1).str(), std::string(length, '9'));
    EXPECT_NE(Int::from_digits(round).hash(), Int::from_digits("-" + round).hash());
    EXPECT_EQ((Int::from_digits(digits) + 1 - 1).hash(), Int::from_digits(digits).hash());
  }
}

}  // namespace
}  // namespace touchstone::symbolic
