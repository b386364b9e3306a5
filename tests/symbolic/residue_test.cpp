// Residues from an expression's parts and from assumptions.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "touchstone/symbolic/ask/question.h"
#include "touchstone/symbolic/check/derivation_check.h"
#include "touchstone/symbolic/derive/derive.h"
#include "touchstone/symbolic/node/context.h"
#include "touchstone/symbolic/node/node.h"

namespace touchstone::symbolic {
namespace {

struct Known {
  std::string text;
  std::vector<std::string> assumptions;
  std::string want;
};

std::map<std::string, Node> names() {
  std::map<std::string, Node> all;
  for (const char* name : {"x", "y", "z"}) all.emplace(name, variable(name, 0, 40));
  all.emplace("t", variable("t", std::nullopt, std::nullopt));
  return all;
}

std::string simplified(const Known& k) {
  std::vector<Node> assumptions;
  for (const std::string& a : k.assumptions) assumptions.push_back(parse(a, names()));
  return render(simplify_under(parse(k.text, names()), assumptions));
}

TEST(Residue, OfPartsDecidesWithoutAssumptions) {
  const Known cases[] = {
      {"4*x % 4", {}, "0"},
      {"(4*x + 1) % (2*y + 2) == 2", {}, "0"},
      {"(4*x + 1) % (2*y + 2) % 2", {}, "1"},
      {"4*x + 3 < 4*y", {}, "x < y"},
      {"6*x + 9*y == 4", {}, "0"},
  };
  for (const Known& k : cases) EXPECT_EQ(simplified(k), k.want) << k.text;
}

TEST(Residue, OfAssumptionsDecides) {
  const Known cases[] = {
      {"x % 3", {"x % 3 == 0"}, "0"},
      {"x % 6 % 3 + t % 4", {"x % 3 == 1", "t % 8 == 6"}, "3"},
      {"x // 3 * 3", {"x % 3 == 1"}, "x - 1"},
      {"(x + 2*y) % 3", {"x % 3 == 1", "y % 3 == 2"}, "2"},
      {"x % 6", {"x % 2 == 1", "x % 3 == 2"}, "5"},
      {"(x + y) % 4", {"(x + y) % 4 == 1"}, "1"},
      {"(x + z + y + 3) % 4", {"(x + y) % 4 == 1"}, "z%4"},
      {"(x - y) % 2", {"(x + y) % 4 == 1"}, "1"},
      {"x == 3*y", {"x % 3 == 1"}, "0"},
      {"x < 5", {"x % 4 == 0"}, "x < 8"},
      {"4*x + y < 64", {"y % 8 == 3", "y < 11"}, "x < 16"},
      {"x + y < 32", {"x % 4 == 0", "y < 4"}, "x < 32"},
      {"(x + y) // 4", {"x % 4 == 0", "y < 4"}, "x//4"},
      {"(x*y) % 4", {"x*y % 4 == 3"}, "3"},
      {"x % 2", {"x == 4*y + 2"}, "0"},
      {"min(max(x, 1), 3)", {"x % 5 == 4"}, "3"},
      {"x % 3 < 1", {"x % 3 < 1"}, "1"},
      {"x % 2", {"x % 2 != 0"}, "1"},
  };
  for (const Known& k : cases) EXPECT_EQ(simplified(k), k.want) << k.text;
}

TEST(Residue, IsKnownInBranchesAndBesideParts) {
  const Known cases[] = {
      {"where(x % 3 == 1, x % 3 + y, y)", {}, "y + (x%3 == 1)"},
      {"x % 4 == 2 and x % 2 == 0", {}, "x%4 == 2"},
      {"x % 4 == 2 and x % 2 == 1", {}, "0"},
      {"x % 2 == 0 and y % 2 == 1 and (x + y) % 2 == 0", {}, "0"},
  };
  for (const Known& k : cases) EXPECT_EQ(simplified(k), k.want) << k.text;
}

TEST(Residue, ThatNothingMeetsIsRefused) {
  EXPECT_EQ(simplified({"x % 4 + y", {"x % 4 == 1", "x % 2 == 0"}, ""}), "y + x%4");
}

TEST(Residue, MovesTheEndsOfBounds) {
  const auto all = names();
  const Node conditions[] = {parse("x % 7 == 3", all)};
  EXPECT_EQ(simplify_under(parse("min(max(x, 3), 38)", all), conditions), all.at("x"));
}

// Compares values at every point where the assumptions hold; the checker must accept the
// derivation.
TEST(Residue, ChangesNoValueAndIsDerived) {
  const std::vector<std::string> facts = {
      "x % 3 == 1",   "y % 4 == 2",   "(x + y) % 4 == 1", "(2*x + y) % 5 == 0",
      "x == 3*y + 1", "x*y % 4 == 3", "x % 6 == 4",       "(x - y) % 3 == 0"};
  const std::vector<std::string> texts = {
      "x % 6 + x//3*3",    "(x + y) % 8",  "(x + y)//4 + y",       "x//6 + (x + 1)//6",
      "3*y == x",          "x + y < 9",    "(x*3 + y*3 + 2) % 12", "x//3 % 4 * 3",
      "max(x % 3, y % 4)", "(x - y)*2 % 6"};
  int derived = 0, all = 0;
  const std::map<std::string, Node> vars{{"x", variable("x", 0, 13)}, {"y", variable("y", 0, 13)}};
  for (const std::string& fact : facts)
    for (const std::string& text : texts) {
      const Node before = parse(text, vars), condition = parse(fact, vars);
      const Node conditions[] = {condition};
      const Node after = simplify_under(before, conditions);
      for (std::int64_t x = 0; x <= 13; ++x)
        for (std::int64_t y = 0; y <= 13; ++y) {
          const Values at{{"x", x}, {"y", y}};
          if (evaluate(condition, at) != 0) {
            ASSERT_EQ(evaluate(before, at), evaluate(after, at))
                << text << " where " << fact << ": " << render(after) << " at " << x << ", " << y;
          }
        }
      const Derivation::Variable variables[] = {{"x", {Int(0), Int(13)}}, {"y", {Int(0), Int(13)}}};
      Derivation d = derive(text, variables, std::span(&fact, 1));
      ++all;
      if (unexplained(d.main) > 0) continue;
      ++derived;
      EXPECT_FALSE(find_flaw(d)) << text << " where " << fact;
    }
  EXPECT_GE(derived * 20, all * 19) << derived << " of " << all;
}

// An unknown factor preserves another's multiples, in any order.
TEST(Residue, OfAProductIsThatOfAnyFactor) {
  for (const auto& [first, second] : {std::pair("a", "b"), std::pair("b", "a")}) {
    Context context;
    const std::map<std::string, Node> vars{
        {first, context.variable(first, std::nullopt, std::nullopt)},
        {second, context.variable(second, std::nullopt, std::nullopt)}};
    const Node even[] = {parse(fmt::format("{}%4 == 0", second), vars, context)};
    EXPECT_EQ(render(simplify_under(parse("a*b%4", vars, context), even)), "0") << second;
    EXPECT_EQ(render(simplify_under(parse("(a*b + 3)%2", vars, context), even)), "1") << second;
  }
}

// x//c == k bounds x on both sides.
TEST(Residue, AQuotientThatIsANumberBoundsItsDividend) {
  const Question q{{{"x", {}}, {"y", {Int(0), Int(3)}}}, {"(x - y)//4 == -3"}, "x + y*0"};
  Context context;
  const Answer a = answer(q, context);
  EXPECT_EQ(a.bounds, (Interval{Int(-12), Int(-6)})) << a.text;
  EXPECT_EQ(answer({q.variables, {"x//4 == 3"}, "x < 16 and x >= 12"}, context).text, "1");
}

// n also occurs in n*3%5: solving for it would grow the coefficients with each reading.
TEST(Residue, AnEquationIsNotSolvedForAPartOfItsOtherTerms) {
  Context context;
  const std::map<std::string, Node> vars{{"x", context.variable("x", -2, 0)},
                                         {"n", context.variable("n", 0, 2)}};
  for (const std::int64_t k : {1, 3, 7, 100, 181'397'503}) {
    const std::string text = fmt::format(
        "where(n + x + n*3%5 + (n + x)//5*59 == 0, n*{} + x*{} + (n + x)//3*{} - n//2*{}, 63)",
        k * 4 + 14, k, k * 59 + 1, k * 5 + 1);
    const Node node = parse(text, vars, context);
    EXPECT_LE(size(node), 44U) << render(node);
    EXPECT_EQ(parse(render(node), vars, context), node) << render(node);
    for (std::int64_t x = -2; x <= 0; ++x)
      for (std::int64_t n = 0; n <= 2; ++n) {
        const std::int64_t fact = n + x + n * 3 % 5 + (n + x < 0 ? -59 : 0);
        const std::int64_t value =
            n * (k * 4 + 14) + x * k - (n + x < 0 ? k * 59 + 1 : 0) - n / 2 * (k * 5 + 1);
        EXPECT_EQ(evaluate(node, {{"x", x}, {"n", n}}), fact == 0 ? value : 63);
      }
  }
}

}  // namespace
}  // namespace touchstone::symbolic
