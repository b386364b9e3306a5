// Handmade certificates of false claims: each relies on a division by zero or on a fact that is
// unknown at its place.
#include <gtest/gtest.h>

#include <map>

#include "touchstone/symbolic/check/derivation_check.h"

namespace touchstone::symbolic {
namespace {

struct Forged {
  const char* what;
  const char *start, *result;
  const char* rule;
  std::map<std::string, std::string> bindings = {};
  const char* context = "_";
  bool backwards = false;
  std::vector<const char*> facts = {};
};

/// The first flaw of a one-step derivation at the root; a is in 0..10, b in 0..3.
std::string flaw_of(const Forged& f) {
  Derivation d;
  d.variables = {{"a", {Int(0), Int(10)}}, {"b", {Int(0), Int(3)}}, {"n", {{}, {}}}};
  DerivationStep step;
  step.rule = f.rule;
  step.before = parse_expr(d.exprs, f.start);
  step.after = step.whole = parse_expr(d.exprs, f.result);
  step.context = parse_expr(d.exprs, f.context);
  step.backwards = f.backwards;
  for (const auto& [name, value] : f.bindings)
    step.bindings.emplace_back(name, parse_expr(d.exprs, value));
  for (const char* fact : f.facts) step.facts.push_back(parse_expr(d.exprs, fact));
  d.main = {step.before, step.after, {step}};
  const auto flaw = find_flaw(d);
  return flaw ? flaw->what : "";
}

TEST(Checker, RefusesClaimsThatRestOnADivisionByZero) {
  const Forged forged[] = {
      {"a rule by 0",
       "0",
       "a",
       "div.multiple",
       {{"x", "a"}, {"b", "a - a"}, {"y", "0"}},
       "_ - 0//(a - a)"},
      {"numbers alone",
       "0",
       "1",
       "div.multiple",
       {{"x", "1"}, {"b", "1 - 1"}, {"y", "0"}},
       "_ - 0//(1 - 1)"},
      {"beside the part",
       "(a*4 + b)//4",
       "a + 1",
       "div.multiple",
       {{"x", "1"}, {"b", "a - a"}, {"y", "0"}},
       "_ - 0//(a - a) + a"},
      {"a remainder",
       "0",
       "a",
       "mod.multiple",
       {{"x", "a"}, {"b", "1 - 1"}, {"y", "a"}},
       "_ - a%(1 - 1) + a"},
      {"a divisor that is 0 at one point",
       "a//a",
       "1 + 0//a",
       "div.multiple",
       {{"x", "1"}, {"b", "b"}, {"y", "0"}},
       "_ - 1 - 0//b + a//a"},
      {"a common factor",
       "0",
       "1//2 - 0//(1 - 1)",
       "div.cancel",
       {{"x", "1"}, {"y", "a - a"}, {"b", "2"}},
       "_ - (1*(a - a))//(2*(a - a))"},
      {"backwards",
       "b",
       "(b*a)//a",
       "div.multiple",
       {{"x", "b"}, {"b", "a"}, {"y", "0"}},
       "_ - 0//a",
       true},
      {"in a condition alone",
       "where(a == 0, 1, 0)",
       "0",
       "eq.residue",
       {{"x", "a"}, {"c", "a - a"}},
       "where(_, 1, 0)"},
      {"in a bound value", "a == 0", "0", "eq.gcd", {{"c", "1"}, {"x", "a"}, {"k", "0"}}},
      {"arithmetic brings one in", "0", "0*(1//a)", "arithmetic"},
      {"and says that it is none", "0", "0*(1//a)", "arithmetic", {}, "_", false, {"0 < a"}},
      {"in an arm", "where(b < 2, a, 0)", "where(b < 2, a + 0*(1//b), 0)", "arithmetic"},
      {"by cases", "a", "a + 0*(1//(b - 3))", "cases"},
      {"at points", "a", "a + 0*(1//(b - 3))", "points"},
      {"truncated", "0", "0*tdiv(1, a)", "arithmetic"},
  };
  for (const Forged& f : forged) EXPECT_NE(flaw_of(f), "") << f.what;
}

TEST(Checker, SaysWhichDivisorMayBeZero) {
  EXPECT_EQ(flaw_of({"",
                     "0",
                     "a",
                     "div.multiple",
                     {{"x", "a"}, {"b", "a - a"}, {"y", "0"}},
                     "_ - 0//(a - a)"}),
            "the divisor a - a may be 0 where nothing divided by 0 before");
  EXPECT_EQ(flaw_of({"", "0", "0*(1//a)", "arithmetic", {}, "_", false, {"0 < a"}}),
            "no assumption gives 0 < a there");
}

TEST(Checker, TakesADivisorThatIsZeroAtNoPointAsked) {
  const Forged right[] = {
      {"the old part divides by it",
       "(n*a + b)//a",
       "n + b//a",
       "div.multiple",
       {{"x", "n"}, {"b", "a"}, {"y", "b"}}},
      {"a bound says so",
       "n",
       "(n*(a + 1) + 0)//(a + 1) - 0//(a + 1)",
       "div.multiple",
       {{"x", "n"}, {"b", "a + 1"}, {"y", "0"}},
       "_ - 0//(a + 1)",
       true,
       {"0 <= a"}},
      {"the arm's condition says so",
       "where(b < a, n, 0)",
       "where(b < a, n + 0*(1//a), 0)",
       "arithmetic",
       {},
       "_",
       false,
       {"0 <= b"}},
      {"the rule's condition says so",
       "n",
       "(n*(b + 1) + b)//(b + 1)",
       "div.range",
       {{"k", "n"}, {"b", "b + 1"}, {"y", "b"}},
       "_",
       true,
       {"0 <= b"}},
  };
  for (const Forged& f : right) EXPECT_EQ(flaw_of(f), "") << f.what;
}

}  // namespace
}  // namespace touchstone::symbolic
