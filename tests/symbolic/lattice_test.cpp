// Maxima and minima: one form however they are nested.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "touchstone/symbolic/context.h"

namespace touchstone::symbolic {
namespace {

using Names = std::map<std::string, Node>;

Names open_names(Context& c) {
  Names n;
  for (const char* v : {"w", "x", "y", "z"})
    n.emplace(v, c.variable(v, std::nullopt, std::nullopt));
  return n;
}

TEST(Maximum, GoesIntoTheMembersOfAMinimumAndBack) {
  Context c;
  const Names n = open_names(c);
  for (const auto& [one, other] : std::initializer_list<std::pair<const char*, const char*>>{
           {"min(max(x, y), max(x, z))", "max(x, min(y, z))"},
           {"max(min(x, y), min(x, z))", "min(x, max(y, z))"},
           {"max(y, min(max(x, y), z))", "max(y, min(x, z))"},
           {"min(x, y) + max(x, y)", "x + y"},
           {"-min(x, y, z)", "max(-x, -y, -z)"},
           {"max(min(x, 3), min(y, -1) + 4)", "min(max(x, y + 4), 3)"},
           {"max(max(x, y), z)", "max(x, max(z, y))"},
           {"max(x + 2, max(y, x))", "max(y, x + 2)"},
           {"max(x*3, y*3) + 1", "3*max(x, y) + 1"}})
    EXPECT_EQ(parse(one, n), parse(other, n)) << one << "  " << render(parse(one, n));
}

TEST(Maximum, OfOneNumberIsASumOfSteps) {
  Context c;
  const Names n = open_names(c);
  EXPECT_EQ(render(parse("min(max(x, -4), 4)", n)), "min(max(x, -4), 4)");
  EXPECT_EQ(parse("max(min(x, 4), -4)", n), parse("min(max(x, -4), 4)", n));
  EXPECT_EQ(parse("min(x, 63) - min(x, 3)", n), parse("min(max(x, 3), 63) - 3", n));
  EXPECT_EQ(parse("max(min(max(min(x, 9), 1), 7), 3)", n), parse("min(max(x, 3), 7)", n));
  EXPECT_EQ(parse("max(max(min(x - y, 5), 1) + y, y)", n), parse("y + min(max(x - y, 1), 5)", n));
}

/// A random nest of maxima and minima of the four variables and numbers.
std::string nest(std::mt19937& random, int depth) {
  if (depth == 0 || random() % 6 == 0) {
    const std::string name(1, "wxyz"[random() % 4]);
    return random() % 3 == 0 ? name + " + " + std::to_string(random() % 5) : name;
  }
  const std::string op = random() % 2 ? "max(" : "min(";
  return op + nest(random, depth - 1) + ", " + nest(random, depth - 1) + ")";
}

TEST(Maximum, IsTheSameFunctionAndReadsBack) {
  std::mt19937 random(11);
  for (int i = 0; i < 400; ++i) {
    Context c;
    const Names n = open_names(c);
    const std::string text = nest(random, 3);
    const Node node = parse(text, n);
    EXPECT_EQ(parse(render(node), n), node) << text << " -> " << render(node);
    for (int k = 0; k < 40; ++k) {
      Values v;
      Names numbers;
      for (const auto& [name, variable] : n) {
        v[name] = static_cast<std::int64_t>(random() % 9) - 4;
        numbers.emplace(name, Node(v[name]));
      }
      ASSERT_EQ(Node(evaluate(node, v)), parse(text, numbers)) << text << " -> " << render(node);
    }
  }
}

}  // namespace
}  // namespace touchstone::symbolic
