// The checker replays derivations of the sample cases and of random expressions, and refuses a
// modified derivation.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <iostream>
#include <sstream>

#include <nlohmann/json.hpp>

#include "../support/sanitized.h"
#include "touchstone/base/file.h"
#include "touchstone/symbolic/check/derivation_check.h"
#include "touchstone/symbolic/check/points.h"
#include "touchstone/symbolic/check/ring.h"
#include "touchstone/symbolic/derive/derive.h"
#include "touchstone/symbolic/node/node.h"

namespace touchstone::symbolic {
namespace {

using Json = nlohmann::json;
using Variables = std::vector<Derivation::Variable>;

constexpr int kEvery = test::kSanitized ? 4 : 1;  // of the cases

std::string text_of(const Derivation& d, const Chain& c) {
  std::string s = render(d.exprs, c.start) + "\n";
  for (const DerivationStep& step : c.steps)
    s += "  = " + render(d.exprs, step.whole) + "   [" + step.rule + "]\n";
  return s;
}

/// Counts derivations; the checker must accept each, unless it declares a step unexplained.
struct Tally {
  int all = 0, explained = 0, steps = 0;
  std::string open;
  int unnamed = 0;  // with a step of several arithmetic laws

  void take(Derivation d) {
    ++all;
    steps += static_cast<int>(d.main.steps.size());
    unnamed += std::ranges::any_of(d.main.steps,
                                   [](const DerivationStep& s) { return s.rule == kArithmetic; });
    const auto flaw = find_flaw(d);
    const bool complete = unexplained(d.main) == 0;
    explained += complete;
    if (!complete) open += text_of(d, d.main);
    EXPECT_EQ(!flaw, complete) << text_of(d, d.main) << (flaw ? flaw->what : "");
  }

  void expect(const char* what, double least) const {
    std::cout << what << ": " << explained << " of " << all << " derivations complete and checked, "
              << steps << " steps\n";
    EXPECT_GE(explained, least * all) << open;
    EXPECT_LE(unnamed, 0.02 * all);
  }
};

TEST(Derivation, OfTheSampleCasesChecks) {
  constexpr double kReached = 1;
  const auto path = std::filesystem::path(__FILE__).parent_path() / "data" / "symbolic_cases.jsonl";
  std::istringstream in(read_file(path));
  Tally tally;
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    if (number++ % kEvery != 0) continue;
    const Json j = Json::parse(line);
    Variables variables;
    for (const auto& [name, ends] : j["vars"].items()) {
      const auto end = [&](std::size_t i) {
        return ends[i].is_null() ? std::optional<Int>() : Int(ends[i].get<std::int64_t>());
      };
      variables.push_back({name, {end(0), end(1)}});
    }
    std::vector<std::string> assumptions;
    if (j.contains("assume"))
      for (const std::string text : j["assume"]) assumptions.push_back(text);
    tally.take(derive(j["in"].get<std::string>(), variables, assumptions));
  }
  tally.expect("sample cases", kReached);
}

struct Claim {
  const char* text;
  Variables variables;
  std::vector<std::string> assumptions;
  const char* answer;
};

/// A derivation leads to every result of `answer`.
TEST(Derivation, EndsInTheAnswer) {
  const Variables any = {{"x", {{}, {}}}, {"y", {{}, {}}}};
  const Variables below = {{"x", {Int(0), Int(9)}}, {"y", {Int(1), Int(8)}}};
  const Claim claims[] = {
      {"tmod(x, x)", below, {}, "0"},
      {"-(15%y)", below, {}, "-15%-y"},
      {"(x//10%25) + (y*10)%2", below, {}, "0"},  // constant, by testing its points
      {"(x%x) - (x%8) + (x + x*8 + x)%8", {{"x", {Int(0), Int(1)}}}, {}, "1"},  // where defined
      {"x%8 + 1024", any, {"x*3 % 256 == 1"}, "1027"},                          // by an inverse
      {"x*y - min(x, y)", {{"x", {Int(0), Int(9)}}, {"y", {Int(2), {}}}}, {"x%9 == 1"}, "y - 1"},
      {"max(x, min(x, 4))", any, {}, "x"},
      {"x + 0", any, {}, "x"},
  };
  for (const Claim& c : claims) {
    Derivation d = derive(c.text, c.variables, c.assumptions);
    EXPECT_EQ(find_flaw(d), std::nullopt) << text_of(d, d.main);
    EXPECT_EQ(render(d.exprs, d.main.result), c.answer);
  }
}

/// The laws of a derivation in order, each with its result.
std::string laws(const char* text, const Variables& variables) {
  Derivation d = derive(text, variables);
  EXPECT_EQ(find_flaw(d), std::nullopt) << text_of(d, d.main);
  std::string out;
  for (const DerivationStep& s : d.main.steps)
    out += fmt::format("{}{}: {}", out.empty() ? "" : "; ", s.rule, render(d.exprs, s.after));
  return out;
}

TEST(Arithmetic, IsTakenInStepsOfOneLawEach) {
  const Variables any = {{"x", {{}, {}}}, {"y", {{}, {}}}, {"z", {{}, {}}}};
  const std::pair<const char*, const char*> texts[] = {
      {"x*3 + (5 - x)*4 < 0", "arithmetic.terms: 20 - x; arithmetic.comparison: 20 < x"},
      {"3*4 + x*1", "arithmetic.numbers: 12 + x; arithmetic.order: x + 12"},
      {"y + x", "arithmetic.order: x + y"},
      {"(x + 0)//2 + 0", "arithmetic.numbers: x//2"},
      {"not x < y", "arithmetic.comparison: y <= x"},
      {"x < 1 and x >= 1", "arithmetic.logic: 0"},
      {"where(x < 0, y, 0) + where(x < 0, 1, z)", "arithmetic.choice: where(x < 0, y + 1, z)"},
      {"min(x - y, x - z)", "arithmetic.extremes: x - max(z, y)"},
      {"(x + y)//4 + (x + x)//(1 + 2) - (x + y)//4",
       "arithmetic.numbers: (x + y)//4 + (x + x)//3 - (x + y)//4; arithmetic.terms: x*2; "
       "arithmetic.terms: x*2//3"},
      {"x + x", "arithmetic.terms: x*2"},
  };
  for (const auto& [text, steps] : texts) EXPECT_EQ(laws(text, any), steps) << text;
}

TEST(Points, AreAllLookedAtWithEachOperatorByItsDefinition) {
  Derivation d;
  d.variables = {{"x", {Int(-4), Int(5)}}, {"y", {Int(0), Int(2)}}, {"z", {{}, {}}}};
  const auto compare = [&](const char* before, const char* after, const char* fact = "1") {
    const Expr facts[] = {parse_expr(d.exprs, fact)};
    return compare_at_points(d, parse_expr(d.exprs, before), parse_expr(d.exprs, after), facts);
  };
  EXPECT_EQ(compare("x%y", "x - y*(x//y)"), AtPoints::Equal);
  EXPECT_EQ(compare("tmod(x, 3)", "x%3"), AtPoints::Differ);
  EXPECT_EQ(compare("tmod(x, 3)", "x%3", "x >= 0"), AtPoints::Equal);
  EXPECT_EQ(compare("tdiv(x, 3)", "where(x < 0, -(-x//3), x//3)"), AtPoints::Equal);
  EXPECT_EQ(compare("x != 5", "1"), AtPoints::Differ);  // only at the last point
  EXPECT_EQ(compare("x != -4", "1"), AtPoints::Differ);
  EXPECT_EQ(compare("where(y == 0, 7, x//y)", "7", "y == 0"), AtPoints::Equal);
  EXPECT_EQ(compare("y == 0 or x//y < 9", "1"), AtPoints::Equal);
  EXPECT_EQ(compare("y != 0 and x//y < 9", "y > 0"), AtPoints::Equal);
  EXPECT_EQ(compare("y", "y", "x//y < 9"), AtPoints::Equal);  // an undefined fact does not hold
  EXPECT_EQ(compare("x//y*0", "0"), AtPoints::Equal);
  EXPECT_EQ(compare("0", "x//y*0"), AtPoints::Differ);  // the second is undefined at y = 0
  EXPECT_EQ(compare("min(x, y, 2)", "-max(-x, -y, -2)"), AtPoints::Equal);
  EXPECT_EQ(compare("z", "z"), AtPoints::TooMany);
  EXPECT_EQ(compare("z", "z", "z < 9"), AtPoints::TooMany);
  EXPECT_EQ(compare("z*z", "49", "z == 7"), AtPoints::Equal);
  EXPECT_EQ(compare("z*z", "49", "-7 == z"), AtPoints::Equal);
  EXPECT_EQ(compare("x < 3", "1", "x < 3"), AtPoints::Equal);
  EXPECT_EQ(compare("x < 2", "1", "3 > x"), AtPoints::Differ);
  EXPECT_EQ(compare("x > 3", "1", "x > 3"), AtPoints::Equal);
  EXPECT_EQ(compare("x > 4", "1", "4 <= x"), AtPoints::Differ);
  EXPECT_EQ(compare("x", "9", "x > 7"), AtPoints::Equal);  // nowhere
  EXPECT_EQ(compare("x != 2", "1", "x != 2"), AtPoints::Equal);
  d.variables[0].second.hi = Int(10'000'000);
  EXPECT_EQ(compare("x", "x"), AtPoints::TooMany);
}

/// A near-miss claim is accepted only if it is right.
TEST(Checker, AcceptsByCasesWhatHoldsAtEveryPointAlone) {
  const Variables variables = {{"x", {Int(-9), Int(9)}}, {"y", {Int(1), Int(6)}}};
  const char* terms[] = {"x",
                         "y",
                         "x%4",
                         "x//4*4",
                         "x//y",
                         "x%y",
                         "-(-x//3)",
                         "tmod(x, 4)",
                         "tdiv(x, y)",
                         "max(x, y)",
                         "min(x, 2)",
                         "where(x < y, x, y)",
                         "x*x",
                         "(x + 4)%8",
                         "(x < 3)",
                         "max(x%3, y%3)",
                         "-(-x%-y)",
                         "tmod(-x, y)",
                         "(x%2 == 0)",
                         "x*y//y",
                         "0",
                         "2",
                         "7//(x - 2)",
                         "where(x == 2, 3, 7//(x - 2))",
                         "9%(y - 4)",
                         "where(x == y, 3, 7//(x - y))",
                         "x%5 + x//2",
                         "(x - (x*6 + x*x)//9)//15",
                         "x*193//200 - x + (x*7 + 199)//200",
                         "x*193//200 - x + (x*7 - 1)//200",
                         "(x*7 + 199)%200 + x*193%200 - 199",
                         "(x + y*7)%20 + (x*19 + y*13)%20 - 19",
                         "-(x%5)//40 + (x%5 + 7)//8"};
  const char* facts[] = {"1",      "x%2 == 0",     "3*x % 8 == 1",   "x >= y",
                         "x != 0", "x*5 % 6 == 2", "x*x - 2*x == 8", "y - x == 2",
                         "x != 2", "x*x == 3",     "x + y*4 == 9",   "x//4 == y//3"};
  int accepted = 0, equal = 0;
  for (const char* fact : facts)
    for (const char* a : terms)
      for (const char* b : terms)
        for (const char* op : {" + ", " - "}) {
          Derivation d;
          d.variables = variables;
          const Expr known = parse_expr(d.exprs, fact);
          d.assumptions.push_back({known, known, {}});
          DerivationStep step;
          step.before = parse_expr(d.exprs, fmt::format("{}{}{}", a, op, b));
          step.after = step.whole = parse_expr(d.exprs, a);
          step.context = d.exprs.variable("_");
          step.rule = kCases;
          step.facts = facts_at(d, 1, step.before, {});
          Ring ring(d.exprs);
          const bool by_cases = !step_flaw(d, ring, step, step.before, 1, Words::None);
          step.rule = kPoints;
          const bool right = !step_flaw(d, ring, step, step.before, 1, Words::None);
          accepted += by_cases;
          equal += right;
          EXPECT_LE(by_cases, right)
              << render(d.exprs, step.before) << " = " << a << " where " << fact;
        }
  EXPECT_GT(accepted, equal * 9 / 10);
  std::cout << accepted << " of " << equal << " equations shown by cases\n";
}

/// The remainder's divisor is the remainder of a congruent one.
TEST(Checker, EndsWhereCongruencesLeadBackToWhereTheyBegan) {
  Derivation d;
  d.variables = {{"x", {Int(0), Int(7)}}};
  DerivationStep step;
  step.before = parse_expr(d.exprs, "x - -3 != x%-9");
  step.after = step.whole = parse_expr(d.exprs, "x - -3 != x%(x%-9)");
  step.context = d.exprs.variable("_");
  step.rule = kCases;
  step.facts = facts_at(d, 0, step.before, {});
  Ring ring(d.exprs);
  EXPECT_TRUE(step_flaw(d, ring, step, step.before, 0));
}

Derivation sample() {
  const Variables variables = {{"a", {Int(0), Int(10)}}, {"b", {Int(0), Int(3)}}, {"x", {{}, {}}}};
  const std::string assumptions[] = {"x < a"};
  return derive("where(x < 5, (a*4 + b)//4 + x%12//4*4 + x%4, b) + (a < x)", variables,
                assumptions);
}

TEST(Derivation, LeadsFromTheTextToItsRendering) {
  Derivation d = sample();
  EXPECT_EQ(find_flaw(d), std::nullopt);
  EXPECT_EQ(render(d.exprs, d.main.start),
            "where(x < 5, (a*4 + b)//4 + x%12//4*4 + x%4, b) + (a < x)");
  EXPECT_EQ(d.main.steps.back().whole, d.main.result);
  const std::map<std::string, Node> names = {{"a", variable("a", 0, 10)},
                                             {"b", variable("b", 0, 3)},
                                             {"x", variable("x", std::nullopt, std::nullopt)}};
  const Node assumptions[] = {parse("x < a", names)};
  const Node want = simplify_under(parse(render(d.exprs, d.main.start), names), assumptions);
  EXPECT_EQ(render(d.exprs, d.main.result), render(want));
}

TEST(Derivation, EndsInWhatIsNoLongerThanTheText) {
  const Variables variables = {{"x", {{}, {}}}, {"y", {{}, {}}}, {"z", {{}, {}}}};
  const std::string text = "(x + y)*(x + z)";
  Derivation d = derive(text, variables);
  EXPECT_EQ(find_flaw(d), std::nullopt);
  ASSERT_TRUE(d.longer);
  EXPECT_GT(d.exprs.size(*d.longer), d.exprs.size(d.main.start));
  EXPECT_EQ(d.main.result, d.main.start);
  EXPECT_EQ(render(d.exprs, d.main.result), text);
  EXPECT_FALSE(derive("x*y + x*z", variables).longer);
}

TEST(Derivation, AStepBackMayHaveLostItsPlace) {
  const std::pair<const char*, Variables> cases[] = {
      {"tdiv(z, 4) + (1 <= z)", {{"z", {Int(-8), Int(-6)}}}},
      {"tdiv(1, i)//6", {{"i", {Int(-7), Int(-1)}}}}};
  for (const auto& [text, variables] : cases) {
    Derivation d = derive(text, variables);
    const auto flaw = find_flaw(d);
    EXPECT_FALSE(flaw) << text_of(d, d.main) << flaw->what;
  }
}

TEST(Derivation, ANegationIsTakenIntoTheNumberItsOperandBecomes) {
  for (const char* const text : {"-(-y)", "-(-(-y)) + x", "-(-(x - x))"}) {
    Derivation d = derive(text, Variables{{"x", {Int(0), Int(4)}}, {"y", {Int(0), Int(0)}}},
                          std::vector<std::string>{});
    EXPECT_EQ(unexplained(d.main), 0) << text;
    EXPECT_FALSE(find_flaw(d)) << text_of(d, d.main);
  }
}

TEST(Derivation, NamesTheFactsItUses) {
  const Variables variables = {{"a", {Int(0), Int(10)}}, {"b", {Int(0), Int(3)}}};
  Derivation d = derive("(a*4 + b)//4", variables);
  ASSERT_EQ(d.main.steps.size(), 1U);
  const DerivationStep& s = d.main.steps[0];
  EXPECT_EQ(s.rule, "div.split");
  ASSERT_EQ(s.facts.size(), 2U);
  EXPECT_EQ(render(d.exprs, s.facts[0]), "0 <= b");
  EXPECT_EQ(render(d.exprs, s.facts[1]), "b <= 3");
}

TEST(Derivation, AnAssumptionIsUsedInItsSimplifiedForm) {
  const Variables variables = {{"r", {Int(0), Int(1)}}, {"s", {Int(0), Int(1)}}};
  const std::string assumptions[] = {"not (r*2 + s*3 + 3)%4 < 2"};
  Derivation d = derive("r + s", variables, assumptions);
  EXPECT_EQ(find_flaw(d), std::nullopt);
  EXPECT_EQ(render(d.exprs, d.main.result), "s");
  EXPECT_FALSE(d.assumptions[0].steps.empty());
}

TEST(Derivation, ANestOfMaximaIsComparedCaseByCase) {
  const Variables variables = {{"x", {{}, {}}}, {"y", {{}, {}}}, {"z", {{}, {}}}};
  Derivation d = derive("min(max(x, y), max(z, x))", variables);
  EXPECT_EQ(find_flaw(d), std::nullopt);
  const auto step = std::ranges::find(d.main.steps, kCases, &DerivationStep::rule);
  ASSERT_NE(step, d.main.steps.end());
  const Expr wrong = parse_expr(d.exprs, "max(x, min(y, z + 1))");
  step->after = wrong;
  step->whole = d.exprs.replace(d.main.start, step->path, wrong);
  EXPECT_NE(find_flaw(d), std::nullopt);
}

TEST(Derivation, EndsWhereTheCasesAreTooMany) {
  for (const auto& [outer, inner] : {std::pair{"min", "max"}, std::pair{"max", "min"}}) {
    Variables variables;
    std::string members;
    for (int i = 0; i < 8; ++i) {
      for (const char side : {'a', 'b'}) variables.push_back({fmt::format("{}{}", side, i), {}});
      members += fmt::format("{}{}(a{}, b{})", i == 0 ? "" : ", ", inner, i, i);
    }
    const std::string text = fmt::format("{}({})", outer, members);
    Derivation d = derive(text, variables);
    EXPECT_EQ(render(d.exprs, d.main.result), text);
  }
}

TEST(Derivation, RefusesWhatCannotHold) {
  const Variables variables = {{"x", {Int(0), Int(9)}}};
  const std::string never[] = {"x < 0"};
  EXPECT_THROW(derive("x + 1", variables, never), Error);
  EXPECT_THROW(derive("x + y", variables), ParseError);
  EXPECT_THROW(derive("x // 0", variables), ParseError);
  std::string text = "x";
  for (int i = 0; i < 5'000; ++i) text += " + x";
  EXPECT_THROW(derive(text, variables), Error);
}

/// Every change of one field of one step must be detected, by whichever check is first.
TEST(Checker, RefusesADerivationThatWasTamperedWith) {
  using Change = std::function<bool(Derivation&, DerivationStep&)>;
  const auto other = [](Derivation& d, Expr e) {  // an expression of another value
    return d.exprs.apply(ExprOp::Add, {e, d.exprs.constant(1)});
  };
  const std::pair<const char*, Change> changes[] = {
      {"rule", [](Derivation&, DerivationStep& s) { return s.rule = "no.rule", true; }},
      {"another rule",
       [](Derivation&, DerivationStep& s) {
         if (s.rule == "div.mod") return false;
         return s.rule = "div.mod", true;
       }},
      {"unexplained", [](Derivation&, DerivationStep& s) { return s.rule = kUnexplained, true; }},
      {"before",
       [&](Derivation& d, DerivationStep& s) { return s.before = other(d, s.before), true; }},
      {"after",
       [&](Derivation& d, DerivationStep& s) { return s.after = other(d, s.after), true; }},
      {"whole",
       [&](Derivation& d, DerivationStep& s) { return s.whole = other(d, s.whole), true; }},
      {"after and whole",
       [&](Derivation& d, DerivationStep& s) {
         const Expr wrong = other(d, s.after);
         const Expr root = d.exprs.replace(s.whole, s.path, wrong);
         s.after = wrong;
         s.whole = root;
         return true;
       }},
      {"path to nowhere", [](Derivation&, DerivationStep& s) { return s.path.push_back(7), true; }},
      {"path to another part",
       [](Derivation&, DerivationStep& s) {
         if (s.path.empty()) return false;
         return s.path.pop_back(), true;
       }},
      {"direction",
       [](Derivation&, DerivationStep& s) {
         if (find_arithmetic_law(s.rule)) return false;
         return s.backwards = !s.backwards, true;
       }},
      {"binding",
       [&](Derivation& d, DerivationStep& s) {
         if (s.bindings.empty()) return false;
         return s.bindings[0].second = other(d, s.bindings[0].second), true;
       }},
      {"binding left out",
       [](Derivation&, DerivationStep& s) {
         if (s.bindings.empty()) return false;
         return s.bindings.pop_back(), true;
       }},
      {"binding of a stranger",
       [](Derivation& d, DerivationStep& s) {
         if (find_arithmetic_law(s.rule)) return false;
         return s.bindings.emplace_back("q", d.exprs.constant(1)), true;
       }},
      {"context",
       [&](Derivation& d, DerivationStep& s) {
         if (find_arithmetic_law(s.rule)) return false;
         return s.context = other(d, s.context), true;
       }},
      {"fact left out",
       [](Derivation&, DerivationStep& s) {
         if (s.facts.empty()) return false;
         return s.facts.pop_back(), true;
       }},
      {"fact made up",
       [](Derivation& d, DerivationStep& s) {
         if (find_arithmetic_law(s.rule)) return false;
         return s.facts.push_back(parse_expr(d.exprs, "a < 2")), true;
       }},
  };
  const Derivation good = sample();
  ASSERT_GE(good.main.steps.size(), 4U);
  for (const auto& [what, change] : changes) {
    int made = 0;
    for (std::size_t i = 0; i < good.main.steps.size(); ++i) {
      Derivation d = good;
      if (!change(d, d.main.steps[i])) continue;
      ++made;
      EXPECT_NE(find_flaw(d), std::nullopt) << what << " of step " << i << "\n"
                                            << text_of(d, d.main);
    }
    EXPECT_GT(made, 0) << what;
  }
  Derivation cut = good;
  cut.main.steps.erase(cut.main.steps.begin() + 1);
  EXPECT_NE(find_flaw(cut), std::nullopt);
  Derivation shorter = good;
  shorter.main.steps.pop_back();
  EXPECT_NE(find_flaw(shorter), std::nullopt);
  Derivation wider = good;
  wider.variables[1].second.hi = Int(4);
  EXPECT_NE(find_flaw(wider), std::nullopt);
  Derivation elsewhere = good;
  elsewhere.main.result = elsewhere.exprs.constant(0);
  EXPECT_NE(find_flaw(elsewhere), std::nullopt);
}

}  // namespace
// A division whose quotient has ever higher powers is abandoned quickly.
TEST(DerivationInTime, OfALongDivisionWithoutEnd) {
  const Derivation::Variable variables[] = {{"x", {Int(0), Int(1)}}, {"y", {Int(3), Int(10)}}};
  const std::string fact = "4 + (-7 - y*4)%(x*18 - 2 - y*2)*10 == y + 8";
  Derivation d =
      derive("where(y == x*3, 6 - y*3 - (9 + x*5 - y*4)%2, (-y - y*3*(y*15 + 7))//(y - x*3)*6) - y",
             variables, std::span(&fact, 1));
  EXPECT_EQ(unexplained(d.main), 0U);
  EXPECT_FALSE(find_flaw(d));
}

}  // namespace touchstone::symbolic
