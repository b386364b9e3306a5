// Maxima and minima: one form for any nesting.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "../support/traced_draws.h"
#include "touchstone/symbolic/node/context.h"

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
std::string nest(test::Draws& random, int depth) {
  if (depth == 0 || random.chance(1, 6)) {
    const std::string name(1, "wxyz"[random.below(4)]);
    return random.chance(1, 3) ? name + " + " + std::to_string(random.below(5)) : name;
  }
  const std::string op = random.chance(1, 2) ? "max(" : "min(";
  return op + nest(random, depth - 1) + ", " + nest(random, depth - 1) + ")";
}

TEST(Maximum, IsTheSameFunctionAndReadsBack) {
  test::TracedDraws random(11);
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
        v[name] = random.between(-4, 4);
        numbers.emplace(name, Node(v[name]));
      }
      ASSERT_EQ(Node(evaluate(node, v)), parse(text, numbers)) << text << " -> " << render(node);
    }
  }
}

/// k * ((a*x + b*y + c) // d) + p*x + q*y + r.
struct QuotientMember {
  std::int64_t k, a, b, c, d, p, q, r;

  std::string text() const {
    const auto n = [](std::int64_t i) { return "(" + std::to_string(i) + ")"; };
    return "(x*" + n(a) + " + y*" + n(b) + " + " + n(c) + ")//" + n(d) + "*" + n(k) + " + x*" +
           n(p) + " + y*" + n(q) + " + " + n(r);
  }
  std::int64_t at(std::int64_t x, std::int64_t y) const {
    const std::int64_t s = a * x + b * y + c;
    return k * ((s - ((s % d) + d) % d) / d) + p * x + q * y + r;
  }
};

TEST(Maximum, OfQuotientsIsTheSameInAnyOrder) {
  test::TracedDraws random(5);
  const auto draw = [&](std::int64_t lo, std::int64_t hi) { return random.between(lo, hi); };
  for (int i = 0; i < 400; ++i) {
    const std::int64_t k = draw(0, 2) ? 1 : draw(0, 1) ? 2 : -1, d = draw(2, 4);
    const bool largest = draw(0, 1) == 1;
    std::vector<QuotientMember> members;
    for (std::int64_t left = draw(2, 3); left > 0; --left)
      members.push_back({k, draw(0, 1) ? 0 : draw(0, 7), draw(0, 1) ? 0 : draw(1, 7),
                         draw(0, 1) ? 0 : draw(0, 4), d, draw(0, 1) * k, draw(-1, 1) * k,
                         draw(0, 2) ? 0 : k});
    std::vector<std::size_t> order(members.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::optional<std::string> first;  // the form of the members in their first order
    do {
      Context c;
      const Names n{{"x", c.variable("x", 0, 2)}, {"y", c.variable("y", 0, 2)}};
      std::string text = largest ? "max(" : "min(";
      for (const std::size_t at : order) text += members[at].text() + ", ";
      text.replace(text.size() - 2, 2, ")");
      const Node node = parse(text, n);
      if (!first) first = render(node);
      ASSERT_EQ(render(node), *first) << text;
      for (std::int64_t x = 0; x <= 2; ++x)
        for (std::int64_t y = 0; y <= 2; ++y) {
          std::int64_t value = members[0].at(x, y);
          for (const QuotientMember& m : members)
            value = largest ? std::max(value, m.at(x, y)) : std::min(value, m.at(x, y));
          ASSERT_EQ(evaluate(node, {{"x", x}, {"y", y}}), value) << text << " -> " << *first;
        }
    } while (std::ranges::next_permutation(order).found);
  }
}

}  // namespace
}  // namespace touchstone::symbolic
