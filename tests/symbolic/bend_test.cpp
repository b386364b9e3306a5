// Bounds of piecewise linear sums, against all their values.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include <fmt/format.h>

#include "../support/traced_draws.h"
#include "touchstone/symbolic/node/node.h"

namespace touchstone::symbolic {
namespace {

using Names = std::map<std::string, Node>;

struct Clamp {
  std::int64_t factor, low, high;
};

TEST(Bends, BoundsAreAttained) {
  constexpr int kTrials = 400;
  test::TracedDraws random(std::random_device{}());
  for (int trial = 0; trial < kTrials; ++trial) {
    const std::int64_t first = random.between(-9, 4), last = first + random.between(0, 12),
                       step = random.between(1, 3);
    const bool two = random.chance(1, 2);
    const std::int64_t end = two ? random.between(0, 3) : 0;
    const Names names{{"x", variable("x", first, last)}, {"y", variable("y", 0, end)}};
    std::string inner = step == 1 ? "x" : fmt::format("x*{}", step);
    if (two) inner += " - y";
    std::vector<Clamp> clamps;
    std::string text = "0";
    for (std::int64_t k = random.between(1, 2); k > 0; --k) {
      const std::int64_t low = random.between(-6, 6);
      clamps.push_back(
          {random.chance(1, 4) ? -1 : random.between(1, 3), low, low + random.between(0, 6)});
      const Clamp& c = clamps.back();
      text += fmt::format(" + {}*max(min({}, {}), {})", c.factor, inner, c.high, c.low);
    }
    std::int64_t least = INT64_MAX, most = INT64_MIN;
    for (std::int64_t x = first; x <= last; ++x)
      for (std::int64_t y = 0; y <= end; ++y) {
        std::int64_t value = 0;
        for (const Clamp& c : clamps)
          value += c.factor * std::clamp(x * step - (two ? y : 0), c.low, c.high);
        least = std::min(least, value);
        most = std::max(most, value);
      }
    const Node node = parse(text, names);
    ASSERT_TRUE(node.min() && node.max()) << text;
    const std::string where = fmt::format("{}, x from {} to {}, y to {}", text, first, last, end);
    if (two && step > end + 1) {  // x*3 - y skips numbers
      EXPECT_LE(*node.min(), least) << where;
      EXPECT_GE(*node.max(), most) << where;
    } else {
      EXPECT_EQ(*node.min(), least) << where;
      EXPECT_EQ(*node.max(), most) << where;
    }
  }
}

TEST(Bends, BoundsOfOneClampAreAttainedByOpenVariables) {
  const Names names{{"x", variable("x", 0, std::nullopt)},
                    {"z", variable("z", std::nullopt, std::nullopt)}};
  const auto range = [&](const std::string& text) {
    const Node node = parse(text, names);
    const auto end = [](const auto& e) { return e ? fmt::format("{}", *e) : std::string("open"); };
    return end(node.min()) + " to " + end(node.max());
  };
  EXPECT_EQ(range("max(min(x, 5), 2)"), "2 to 5");
  EXPECT_EQ(range("max(min(z, 5), -2)"), "-2 to 5");
  EXPECT_EQ(range("max(min(z + x, 5), -2) + 1"), "-1 to 6");
  EXPECT_EQ(range("max(z, 3) - max(min(z, 7), 1)"), "0 to open");
  EXPECT_EQ(range("min(z, 3) - max(min(z, 7), 1)"), "open to 0");
  EXPECT_EQ(range("max(min(x + max(min(z, 1), 0), 3), 0)"), "0 to 3");
}

}  // namespace
}  // namespace touchstone::symbolic
