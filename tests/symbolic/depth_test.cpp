// Nests of 100,000 operations: nothing may recurse on depth.
#include <gtest/gtest.h>

#include "../support/sanitized.h"
#include "touchstone/symbolic/context.h"

namespace touchstone::symbolic {
namespace {

constexpr int kDeep = test::kSanitized ? 10'000 : 100'000;

void walk(const Node& e, std::int64_t x, std::int64_t y) {
  const std::int64_t value = evaluate(e, {{"x", x}, {"y", y}});
  EXPECT_EQ(evaluate(substitute(e, {{"x", Node(x)}}), {{"y", y}}), value);
  EXPECT_FALSE(lower(e).empty());
  EXPECT_GT(size(e), 0U);
  if (size(e) < 10'000'000) {
    EXPECT_FALSE(render(e).empty());
  }
}

TEST(Depth, NestsOfDivision) {
  const Node x = variable("x", 0, 1000), y = variable("y", 0, 9);
  Node e = x;
  for (int i = 0; i < kDeep; ++i) e = floor_mod(e * 3 + y, 1009 + i % 7);
  walk(e, 17, 4);
}

TEST(Depth, NestsOfQuotients) {
  const Node x = variable("x", std::nullopt, std::nullopt), y = variable("y", 0, 9);
  Node e = x;
  for (int i = 0; i < kDeep; ++i) e = floor_div(e + y * 5, 3);
  walk(e, 123'456, 4);
}

TEST(Depth, NestsOfChoices) {
  const Node x = variable("x", 0, 1000), y = variable("y", 0, 9);
  Node e = x;
  for (int i = 0; i < kDeep; ++i)
    e = i % 2 ? where(eq(floor_mod(x + i * y, 1009), 3), y * i, e)
              : floor_mod(min(e * 3, x + i), 1013);
  walk(e, 17, 4);
}

TEST(Depth, ChoicesInChoicesGrowNoFasterThanTheirNumber) {
  const Node x = variable("x", 0, 1000), y = variable("y", 0, 9);
  Context& context = *x.context();
  const auto nodes_of = [&](int depth) {
    const std::size_t before = context.size();
    Node e = x + depth;
    for (int i = 0; i < depth; ++i)
      e = i % 2 ? min(e * 2 - y, x * 3 + i) : where(lt(e, y * 7 + i), x + i, floor_div(e, 2));
    return context.size() - before;
  };
  constexpr int kHalf = test::kSanitized ? 60 : 200;
  EXPECT_LT(nodes_of(2 * kHalf), 4 * nodes_of(kHalf) + 1000);
}

TEST(Depth, TruncatedDivisionsInEachOtherGrowNoFasterThanTheirNumber) {
  constexpr int kHalf = test::kSanitized ? 15 : 30;
  for (const int kind : {0, 1}) {
    const auto nodes_of = [&](int depth) {
      Context context;
      const Node x = context.variable("x", 0, 99), y = context.variable("y", -5, 50);
      Node e = x;
      for (int i = 0; i < depth; ++i)
        e = kind == 0 ? trunc_mod(e + y, 5) : trunc_div(e * 3 - y, 2) + 1;
      EXPECT_EQ(evaluate(e, {{"x", 7}, {"y", -3}}), [&] {
        std::int64_t value = 7;
        for (int i = 0; i < depth; ++i)
          value = kind == 0 ? (value - 3) % 5 : (value * 3 + 3) / 2 + 1;
        return value;
      }());
      return context.size();
    };
    EXPECT_LT(nodes_of(2 * kHalf), 4 * nodes_of(kHalf) + 1000) << "kind " << kind;
  }
}

TEST(Depth, NestsOfLogic) {
  const Node x = variable("x", 0, 1000), y = variable("y", 0, 9);
  Node e = lt(x, y);
  for (int i = 0; i < kDeep; ++i) {
    const Node part = eq(floor_mod(x * (i + 3) + y, 1013), i % 1013);
    e = i % 2 ? logical_and(e, part) : logical_or(e, part);
  }
  walk(e, 17, 4);
}

TEST(Depth, NestsOfProducts) {
  const Node x = variable("x", 0, 1000), y = variable("y", 0, 9);
  Node e = x;
  for (int i = 0; i < kDeep; ++i) e = floor_mod(e * (y + x), 101);
  walk(e, 17, 4);
}

}  // namespace
}  // namespace touchstone::symbolic
