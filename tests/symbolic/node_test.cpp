#include "touchstone/symbolic/node/node.h"

#include <gtest/gtest.h>

namespace touchstone::symbolic {
namespace {

TEST(Node, DefaultIsZero) { EXPECT_EQ(Node(), Node(0)); }

TEST(FloorDiv, DropsWhatTheRangeRulesOut) {
  const auto a = variable("a", 0, 7), b = variable("b", 0, 3);
  EXPECT_EQ(render(floor_div(a * 4 + b, 4)), "a");
  EXPECT_EQ(render(floor_mod(a * 4 + b, 4)), "b");
  EXPECT_EQ(render(floor_div(a, 8)), "0");
}

TEST(Node, ARemainderAtAnEndIsOneHoweverItIsCompared) {
  const Node x = variable("x", 0, 99);
  for (int c = 2; c < 7; ++c) {
    const Node r = floor_mod(x, c);
    EXPECT_EQ(lt(r, c - 1), ne(r, c - 1)) << c;
    EXPECT_EQ(ge(r, c - 1), eq(r, c - 1)) << c;
    EXPECT_EQ(lt(r, 1), eq(r, 0)) << c;
    EXPECT_EQ(gt(r, 0), ne(r, 0)) << c;
  }
}

}  // namespace
}  // namespace touchstone::symbolic
