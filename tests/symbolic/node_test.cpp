#include "touchstone/symbolic/node.h"

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

}  // namespace
}  // namespace touchstone::symbolic
