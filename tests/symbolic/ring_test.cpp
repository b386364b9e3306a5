// Premises of the derivation checker, tested by values: the normal form preserves values, and no
// value violates implied facts.
#include <gtest/gtest.h>

#include <optional>

#include "drawn.h"
#include "touchstone/symbolic/check/entailment.h"
#include "touchstone/symbolic/derive/ring_text.h"

namespace touchstone::symbolic {
namespace {

constexpr std::size_t kPoints = 200;

Definition strict(const Exprs& e, Expr root) { return {e, root, Definition::Zero::Anywhere}; }

TEST(Ring, TheNormalFormHasTheSameValues) {
  int compared = 0;
  for (std::uint64_t i = 0; i < 400 && !testing::Test::HasFailure(); ++i) {
    const Drawn drawn(11, i);
    Exprs e = drawn.asked.exprs;
    Ring ring(e);
    const Expr t = drawn.asked.root;
    const Expr n = RingText(e, ring).of(ring.normal(t));
    if (e.size(t) <= 60) {  // an expression too long to expand has several forms
      EXPECT_EQ(ring.normal(n), ring.normal(t)) << drawn.root << "  " << render(e, n);
    }
    Definition as_drawn = strict(e, t), as_normal = strict(e, n);
    for (const Point& point : drawn.points(kPoints)) {
      const auto want = as_drawn.at(point), got = as_normal.at(point);
      if (!want || !got) continue;
      ++compared;
      EXPECT_EQ(*got, *want) << drawn.root << "  ->  " << render(e, n);
    }
  }
  EXPECT_GT(compared, 10'000);
}

TEST(Ring, KnowsWhatArithmeticAloneTells) {
  Exprs e;
  Ring ring(e);
  const auto same = [&](const char* a, const char* b) {
    return ring.normal(parse_expr(e, a)) == ring.normal(parse_expr(e, b));
  };
  EXPECT_TRUE(same("(x + y)*(x - y)", "x*x - y*y"));
  EXPECT_TRUE(same("(y + x)//z", "(x*1 + y)//(z + 0)"));
  EXPECT_TRUE(same("x <= y", "not y < x"));
  EXPECT_TRUE(same("x == y", "0 == y - x"));
  EXPECT_TRUE(same("where(x < y, a + b, b)", "b + (x < y)*a"));
  EXPECT_TRUE(same("x < y and (x < y or z < 3)", "x < y"));
  EXPECT_TRUE(same("min(x + z, y + z)", "z - max(-x, -y)"));
  EXPECT_TRUE(same("max(max(x, y) + 1, z)", "max(x + 1, z, y + 1)"));
  EXPECT_TRUE(same("tdiv(-7, 2) + tmod(-7, 2)", "-4"));
  EXPECT_FALSE(same("x//2 + x//2", "x//1"));
  EXPECT_FALSE(same("x < y", "x <= y"));
  EXPECT_FALSE(same("x*x", "x"));
  EXPECT_FALSE(same("x and y", "x*y"));
}

TEST(Entailment, NoValueIsOutsideTheBounds) {
  int compared = 0, closed = 0;
  for (std::uint64_t i = 0; i < 400 && !testing::Test::HasFailure(); ++i) {
    const Drawn drawn(12, i);
    Exprs e = drawn.asked.exprs;
    Ring ring(e);
    const Expr t = drawn.asked.root;
    Entailment known(e, ring);
    for (const auto& [name, range] : drawn.ranges()) {
      const Expr v = e.variable(name);
      if (range.lo) known.assume(e.apply(ExprOp::Le, {e.constant(*range.lo), v}));
      if (range.hi) known.assume(e.apply(ExprOp::Le, {v, e.constant(*range.hi)}));
    }
    std::vector<Definition> facts;
    for (const Expr fact : drawn.asked.assumptions) {
      known.assume(fact);
      facts.push_back(strict(e, fact));
    }
    const Interval range = known.bounds(ring.normal(t));
    const bool never = known.contradictory(), holds = known.holds(t);
    closed += range.lo && range.hi;
    Definition tree = strict(e, t);
    for (const Point& point : drawn.points(kPoints)) {
      const bool given = std::ranges::all_of(facts, [&](Definition& fact) {
        const auto truth = fact.at(point);
        return truth && !truth->is_zero();
      });
      const auto value = tree.at(point);
      if (!given || !value) continue;
      ++compared;
      EXPECT_FALSE(never) << drawn.text;
      EXPECT_TRUE((!range.lo || *range.lo <= *value) && (!range.hi || *value <= *range.hi))
          << drawn.text;
      EXPECT_TRUE(!holds || !value->is_zero()) << drawn.text;
    }
  }
  EXPECT_GT(compared, 10'000);
  EXPECT_GT(closed, 100);
}

TEST(Entailment, ShowsByCases) {
  Exprs e;
  Ring ring(e);
  const auto zero = [&](const char* text) {
    return Entailment(e, ring).zero_by_cases(ring.normal(parse_expr(e, text)));
  };
  EXPECT_TRUE(zero("min(max(x, y), max(z, x)) - max(x, min(y, z))"));
  EXPECT_TRUE(zero("max(x//4, y//4) - max(x, y)//4"));
  EXPECT_TRUE(zero("max(x, y) + min(x, y) - x - y"));
  EXPECT_FALSE(zero("min(max(x, y), max(z, x)) - max(x, y)"));
  EXPECT_FALSE(zero("max(x//4, y//4) - max(x, y)//5"));
  EXPECT_FALSE(zero("max(x, y) - x"));
}

}  // namespace
}  // namespace touchstone::symbolic
