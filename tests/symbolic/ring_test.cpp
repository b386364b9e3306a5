// Premises of the checker of derivations, against values: the normal form changes none, and no
// value is outside what facts imply.
#include <gtest/gtest.h>

#include <optional>

#include "random_tree.h"
#include "touchstone/base/error.h"
#include "touchstone/symbolic/entailment.h"
#include "touchstone/symbolic/ring_text.h"

namespace touchstone::symbolic {
namespace {

/// The value at a point; nullopt where anything in it divides by zero, taken or not.
std::optional<Int> value_at(const Exprs& e, Expr root, const std::map<std::string, Int>& point) {
  std::map<Expr, Int> v;
  for (const Expr x : e.parts(root)) {
    const auto arg = [&](std::size_t i) { return v.at(e.arg(x, i)); };
    const auto flag = [](bool b) { return Int(b ? 1 : 0); };
    Int r;
    switch (e.op(x)) {
      case ExprOp::Constant:
        r = e.value(x);
        break;
      case ExprOp::Variable:
        r = point.at(e.name(x));
        break;
      case ExprOp::Or:
        r = flag(!arg(0).is_zero() || !arg(1).is_zero());
        break;
      case ExprOp::And:
        r = flag(!arg(0).is_zero() && !arg(1).is_zero());
        break;
      case ExprOp::Not:
        r = flag(arg(0).is_zero());
        break;
      case ExprOp::Lt:
        r = flag(arg(0) < arg(1));
        break;
      case ExprOp::Gt:
        r = flag(arg(0) > arg(1));
        break;
      case ExprOp::Le:
        r = flag(arg(0) <= arg(1));
        break;
      case ExprOp::Ge:
        r = flag(arg(0) >= arg(1));
        break;
      case ExprOp::Eq:
        r = flag(arg(0) == arg(1));
        break;
      case ExprOp::Ne:
        r = flag(!(arg(0) == arg(1)));
        break;
      case ExprOp::Add:
        r = arg(0) + arg(1);
        break;
      case ExprOp::Sub:
        r = arg(0) - arg(1);
        break;
      case ExprOp::Mul:
        r = arg(0) * arg(1);
        break;
      case ExprOp::Neg:
        r = -arg(0);
        break;
      case ExprOp::Div:
      case ExprOp::Mod:
        if (arg(1).is_zero()) return std::nullopt;
        r = e.op(x) == ExprOp::Div ? floor_div(arg(0), arg(1)) : floor_mod(arg(0), arg(1));
        break;
      case ExprOp::TruncDiv:
      case ExprOp::TruncMod: {
        if (arg(1).is_zero()) return std::nullopt;
        const Int q = floor_div(abs(arg(0)), abs(arg(1)));
        const Int t = arg(0).sign() * arg(1).sign() < 0 ? -q : q;
        r = e.op(x) == ExprOp::TruncDiv ? t : arg(0) - arg(1) * t;
        break;
      }
      case ExprOp::Min:
      case ExprOp::Max:
        r = arg(0);
        for (std::size_t i = 1; i < e.args(x).size(); ++i)
          r = e.op(x) == ExprOp::Max ? larger(r, arg(i)) : smaller(r, arg(i));
        break;
      case ExprOp::Where:
        r = arg(0).is_zero() ? arg(2) : arg(1);
        break;
    }
    v.emplace(x, r);
  }
  return v.at(root);
}

template <class Check>
void at_every_point(const std::vector<Domain>& domains, const Check& check) {
  std::map<std::string, Int> point;
  for (std::int64_t x = domains[0].min; x <= domains[0].max; ++x)
    for (std::int64_t y = domains[1].min; y <= domains[1].max; ++y)
      for (std::int64_t z = domains[2].min; z <= domains[2].max; ++z) {
        point = {{"x", x}, {"y", y}, {"z", z}};
        check(point);
      }
}

/// A random tree that divides by no constant 0.
Expr any_tree(Exprs& e, Generator& g, int depth) {
  for (;;) try {
      return parse_expr(e, text_of(g.tree(depth)));
    } catch (const ParseError&) {
    }
}

TEST(Ring, TheNormalFormHasTheSameValues) {
  Generator g(11, false);
  int compared = 0;
  for (int i = 0; i < 400 && !testing::Test::HasFailure(); ++i) {
    Exprs e;
    Ring ring(e);
    const Expr t = any_tree(e, g, 3);
    const Expr n = RingText(e, ring).of(ring.normal(t));
    EXPECT_EQ(ring.normal(n), ring.normal(t)) << render(e, t) << "  " << render(e, n);
    const std::vector<Domain> domains = {g.domain("x"), g.domain("y"), g.domain("z")};
    at_every_point(domains, [&](const auto& point) {
      const auto want = value_at(e, t, point), got = value_at(e, n, point);
      if (!want || !got) return;
      ++compared;
      EXPECT_EQ(*got, *want) << render(e, t) << "  ->  " << render(e, n);
    });
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
  Generator g(12, false);
  int compared = 0, closed = 0;
  for (int i = 0; i < 250 && !testing::Test::HasFailure(); ++i) {
    Exprs e;
    Ring ring(e);
    const Expr t = any_tree(e, g, 2), fact = any_tree(e, g, 1);
    const std::vector<Domain> domains = {g.domain("x"), g.domain("y"), g.domain("z")};
    Entailment known(e, ring);
    for (const Domain& d : domains) {
      const Expr v = e.variable(d.name);
      known.assume(e.apply(ExprOp::Le, {e.constant(d.min), v}));
      known.assume(e.apply(ExprOp::Le, {v, e.constant(d.max)}));
    }
    known.assume(fact);
    const Interval range = known.bounds(ring.normal(t));
    const bool never = known.contradictory(), holds = known.holds(t);
    closed += range.lo && range.hi;
    at_every_point(domains, [&](const auto& point) {
      const auto given = value_at(e, fact, point), value = value_at(e, t, point);
      if (!given || given->is_zero() || !value) return;
      ++compared;
      EXPECT_FALSE(never) << render(e, fact);
      EXPECT_TRUE((!range.lo || *range.lo <= *value) && (!range.hi || *value <= *range.hi))
          << render(e, t) << " given " << render(e, fact);
      EXPECT_TRUE(!holds || !value->is_zero()) << render(e, t) << " given " << render(e, fact);
    });
  }
  EXPECT_GT(compared, 1'000);
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
