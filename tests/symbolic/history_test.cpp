// Mistakes of earlier systems, each kept as a test, and the results of tinygrad v0.8.0.
#include <gtest/gtest.h>

#include <array>

#include <fmt/format.h>

#include "touchstone/symbolic/node/context.h"
#include "touchstone/symbolic/node/sint.h"

namespace touchstone::symbolic {
namespace {

using Names = std::map<std::string, Node>;

std::string simplified(const std::string& text, const Names& names) {
  return render(parse(text, names));
}

TEST(History, ModuloIsNotDroppedFromANegativeMultiple) {
  const Names n{{"a", variable("a", 0, 10)}};
  const Node e = parse("(a*-4 + 4) % 8", n);
  EXPECT_NE(e, parse("a*-4 + 4", n));
  EXPECT_EQ(evaluate(e, {{"a", 2}}), 4);
  EXPECT_EQ(render(e), "4 - a%2*4");
}

TEST(History, DivisionByANegativeNumberIsNotTheNegatedDivision) {
  const Node a = variable("a", 0, 6);
  EXPECT_NE(floor_div(a, -2), -floor_div(a, 2));
  EXPECT_EQ(evaluate(floor_div(a, -2), {{"a", 3}}), -2);
  EXPECT_EQ(evaluate(floor_div(a, -3), {{"a", 1}}), -1);
}

TEST(History, ASymbolicModuloStaysUnlessTheRestIsBelowTheDivisor) {
  Names n{{"a", variable("a", 0, 10)}, {"b", variable("b", 0, 10)}, {"d", variable("d", 1, 10)}};
  EXPECT_EQ(simplified("(d*a + b) % d", n), "b%d");
  n["b"] = variable("b", 0, 1);
  n["d"] = variable("d", 2, 5);
  EXPECT_EQ(simplified("(d*a + b) % d", n), "b");
}

TEST(History, AMaskKeepsItsBoundaryUnderANegativeScale) {
  const Names n{{"x", variable("x", 0, 9)}, {"y", variable("y", 0, 3)}};
  for (int c = -5; c <= 15; ++c) {
    const Node e = lt(parse("y - x", n), Node(c));
    for (int x = 0; x <= 9; ++x)
      for (int y = 0; y <= 3; ++y)
        EXPECT_EQ(evaluate(e, {{"x", x}, {"y", y}}), y - x < c) << x << " " << y << " " << c;
  }
}

TEST(History, ASumMinusItselfAndOneIsMinusOne) {
  const Names n{{"d0", variable("d0", std::nullopt, std::nullopt)}};
  EXPECT_EQ(parse("d0 - (d0 + 1)", n), Node(-1));
}

TEST(History, BoundsSeeThatAQuotientGoesWithItsNumber) {
  const Names n{{"s0", variable("s0", 0, 99)}, {"s1", variable("s1", 0, 3)}};
  const Node e = parse("s0 + 32*s1 - 32*(s0 // 32)", n);
  EXPECT_EQ(e.min(), 0);
  EXPECT_EQ(e.max(), 127);
  EXPECT_EQ(render(e), "s1*32 + s0%32");
}

TEST(History, TiedTermsAreNotTriedInAllSigns) {
  Names n;
  std::string text;
  for (int i = 0; i < 64; ++i) {
    const std::string name = "t" + std::to_string(i);
    n.emplace(name, variable(name, 0, 1));
    text += (i ? " + 8*" : "8*") + name;
  }
  EXPECT_EQ(size(parse("(" + text + ") % 16", n)), 64U + 63U + 4U);
}

TEST(History, ResultsDoNotDependOnTheOrderOfOperandsOrOfCreation) {
  Context one, two;
  Names first, second;
  for (const char* v : {"a", "b", "c"}) first.emplace(v, one.variable(v, 0, 9));
  for (const char* v : {"c", "b", "a"}) second.emplace(v, two.variable(v, 0, 9));
  parse("c*7 + b//2 + max(a, c)", second);  // other ids, other table slots
  const std::string text = "b//3 + a*c + min(a, b) + (c < a) + a%5*2 + where(b < 2, c, a)";
  const std::string other = "where(b < 2, c, a) + min(b, a) + 2*(a%5) + (a > c) + c*a + b//3";
  EXPECT_EQ(parse(text, first), parse(other, first));
  EXPECT_EQ(simplified(text, first), simplified(other, second));
}

TEST(History, SimplifyingTwiceChangesNothing) {
  const Names n{{"x", variable("x", -50, 50)}, {"y", variable("y", 0, 7)}};
  for (const char* text :
       {"x//4*4 + x%4", "(x*6 + y)//4%3", "max(min(x, 5), y) - y", "where(x < y, x*2, y - 1)//3",
        "x%12//4*4 + x%4", "not (x < 3 and y != 2)", "x//-4 + y", "(x - 3)//2"}) {
    const Node once = parse(text, n);
    EXPECT_EQ(parse(render(once), n), once) << text << " -> " << render(once);
  }
}

TEST(History, NothingIsRememberedOfAnAssumption) {
  const Node x = variable("x", 0, 100);
  const Node before = floor_mod(x + 3, 16);
  const Node assumed[] = {lt(x, 13)};
  EXPECT_EQ(simplify_under(before, assumed), x + 3);
  EXPECT_EQ(floor_mod(x + 3, 16), before);
  EXPECT_EQ(before.max(), 15);
}

TEST(History, BehaviourTableOfTheLineage) {
  const Names n{
      {"a", variable("a", 0, 10)}, {"b", variable("b", 0, 10)}, {"f", variable("f", 0, 3)}};
  EXPECT_EQ(simplified("(a*40 + b)//20", n), "a*2");
  EXPECT_EQ(simplified("(a + b*10)%10", n), "a%10");
  EXPECT_EQ(simplified("(a*4 + f)//4", n), "a");
  EXPECT_EQ(parse("(a - 5)%3", n), parse("(a + 1)%3", n));
  EXPECT_EQ(ands({}), Node(1));
  EXPECT_EQ(sum({}), Node(0));
  EXPECT_EQ(parse("a < a", n), Node(0));
  EXPECT_EQ(parse("a//-3", n), parse("(-a)//3", n));
  EXPECT_EQ(parse("(a*-1)//2", n), parse("(10 - a)//2 - 5", n));
}

TEST(History, WorkloadsOfTheLineageBecomeShort) {
  const Names n{{"a", variable("a", 0, 511)}, {"f", variable("f", 0, 3)}};
  EXPECT_EQ(simplified("a*4 + f < 512", n), "a < 128");
  EXPECT_EQ(simplified("(4*a + f)//4%16", n), "a%16");
}

// The remainder of 3a + b modulo 4 is stored as (b - a) % 4, and still matches its quotient.
TEST(History, ThreeDigitsOfASumAreTheSum) {
  for (const auto& [most_a, most_b] : {std::pair{3, 2}, {7, 2}, {50, 2}, {1000, 11}}) {
    const Names n{{"a", variable("a", 0, most_a)}, {"b", variable("b", 0, most_b)}};
    EXPECT_EQ(simplified("(3*a + b)//12*12 + (3*a + b)%12//4*4 + (3*a + b)%4", n), "a*3 + b");
  }
}

TEST(Sint, HoldsAConstantAsANumber) {
  const Node x = variable("x", 1, 9);
  EXPECT_EQ(sint(x - x + 3), sint(3));
  EXPECT_TRUE(sint(x * 0).is_int());
  EXPECT_THROW(sint(x).as_int(), ShapeError);
  EXPECT_TRUE(certainly_lt(sint(x), sint(x) + 1));
  EXPECT_FALSE(certainly_lt(sint(x), 9));
  EXPECT_TRUE(certainly_le(sint(x), 9));
  EXPECT_TRUE(certainly_eq(floor_div(sint(x) * 4, 4), sint(x)));
  EXPECT_EQ(sint(x).hash(), sint(variable("x", 1, 9)).hash());
  EXPECT_THROW(sint(1) + sint(INT64_MAX), OverflowError);
}

// A quotient made by a rule for sums is normalised like any other.
TEST(History, AQuotientOfAProductIsThatOfTheSumAlone) {
  const Names names = {{"n", variable("n", 0, 1)}, {"y", variable("y", 1, std::nullopt)}};
  const Node halves = parse("y//3 - y//6 - y + n", names);
  EXPECT_EQ(halves, parse("(3 + y)//6 + (n - y)", names));
  EXPECT_EQ(halves, parse("n - (y*5 + 2)//6", names));
}

TEST(History, AChoiceOnASumEndsWithinAMaximum) {
  const Node y = variable("y", -1, 0), z = variable("z", 9, 16);
  const Node e = max(Node(-4), where(y, 4, z));
  EXPECT_EQ(evaluate(e, {{"y", -1}, {"z", 9}}), 4);
  EXPECT_EQ(evaluate(e, {{"y", 0}, {"z", 9}}), 9);
}

TEST(History, EqualMembersOfAMaximumAreOneInEveryOrder) {
  const Names n{{"y", variable("y", -2, 2)}};  // 2//y*y is 2 wherever y is not 0
  EXPECT_EQ(simplified("max(2, 2//y*y)", n), simplified("max(2//y*y, 2)", n));
  EXPECT_EQ(simplified("min(2, 2//y*y)", n), simplified("min(2//y*y, 2)", n));
}

// Each of these read back as another node.
TEST(History, WhatIsReadAgainStays) {
  struct Text {
    const char* text;
    Node x, y;
  };
  const Node any = variable("x", std::nullopt, std::nullopt), four = variable("x", 0, 4),
             around = variable("y", -2, 2);
  const Text texts[] = {
      {"x // (x*x - x)", four, around},
      {"y % (y*(x - 1))", four, around},
      {"-2 * (y * (x // -2))", four, around},
      {"(min(0, y) < x) * x", four, around},
      {"(y % -6) // -3", four, around},
      {"x + 2*y*((max(x, y) or 0) == 1)", four, around},
      {"where(x == max(0, x + (x < 8) - 1), max(0, x + (x < 8) - 1) - 13, 0)", any, around},
      {"max(max(4, x), where(y == 0, x, -9))", any, around},
      {"y < (y + 5) % 3", any, around},
      {"y * y // min(y, 0)", any, around},
      {"(x + 4611686018427387902) // 2 % 2305843009213693953", any, around},
  };
  for (const Text& t : texts) {
    const Names n{{"x", t.x}, {"y", t.y}};
    const Node e = parse(t.text, n);
    EXPECT_EQ(render(parse(render(e), n)), render(e)) << t.text;
  }
}

// The other arm divides by zero where this arm is taken: the division must stay in its arm.
TEST(History, ADivisionStaysInTheArmThatGuardsIt) {
  const Names n{{"x", variable("x", 0, 5)}, {"y", variable("y", 1, 9)}, {"z", variable("z", 0, 5)}};
  for (const std::string text : {"where(x < 1, y*y % 27 != 0, (-1431655767 - z) % x)",
                                 "where(x < 1, y*y % 27 != 0, (-1431655767 - z) // x * x)"})
    EXPECT_EQ(evaluate(parse(text, n), {{"x", 0}, {"y", 5}, {"z", 2}}), 1) << text;
}

// Nor may it be factored out as a common term of both arms.
TEST(History, WhatMayDivideByZeroIsNoCommonTermOfAChoice) {
  const Names n{{"x", variable("x", 0, 2)}, {"y", variable("y", 1, 2)}, {"n", variable("n", 0, 1)}};
  EXPECT_EQ(simplified("where(y > x, x, 1%x)", n), "where(x < y, x, 1%x)");
  EXPECT_EQ(simplified("where(x <= 0, x, x//n)", n), "where(0 < x, x//n, 0)");
  EXPECT_EQ(parse("where(n == 0, y//n, x//n)", n), parse("where(n != 0, x//n, y//n)", n));
  EXPECT_EQ(simplified("where(x < 1, 5 + x//n, x//n)", n), "x//n + (x < 1)*5")
      << "what both arms compute may stand outside";
}

// Nor may a choice be dropped because its other arm is 0, if that arm is undefined there.
TEST(History, WhatIsZeroOrHasNoValueIsNotZero) {
  const Names n{{"x", variable("x", 0, 1)}, {"y", variable("y", 0, 9)}, {"z", variable("z", 0, 9)}};
  const Node e = parse("max(1//max(y, not z), (not z)*x + (1 - z))", n);
  for (std::int64_t x = 0; x <= 1; ++x)
    EXPECT_EQ(evaluate(e, {{"x", x}, {"y", 0}, {"z", 0}}), x + 1);
}

// Under y == (z != 0) + x the number x - y + 1 is 0 or 1, elsewhere it is not: inside `and` it
// means x + 1 != y.
TEST(History, WhatIsAFlagUnderAConditionAloneIsNoPartOfAnAnd) {
  const Names n{{"x", variable("x", 0, 1)}, {"y", variable("y", 0, 2)}, {"z", variable("z", 0, 2)}};
  EXPECT_EQ(simplified("(z == 0 and x == y)*(y == (z != 0) + x)", n), "z == 0 and x == y");
  EXPECT_EQ(simplified("where(y == (z != 0) + x, z == 0 and x + 1 != y, 0)", n),
            "z == 0 and x == y");
}

// A long sum in a choice is a product of itself, possibly beside its product with another factor.
TEST(History, ALongSumBesideItsProductIsWritten) {
  const Names n{{"x", variable("x", 8, std::nullopt)},
                {"y", variable("y", 8, 4611686018427387897)},
                {"z", variable("z", std::nullopt, 20)}};
  const Node e = parse(
      "min(min(x%35 < x%-31, min(z, -3) + min(y, z)), (y + 3)//2147483646 and not max(x, z))"
      " * min(1 - (z + z) + y, x%2)",
      n);
  EXPECT_EQ(evaluate(e, {{"x", 9}, {"y", 8}, {"z", 5}}), 0);
  EXPECT_EQ(evaluate(e, {{"x", 9}, {"y", 8}, {"z", -5}}), -10);
}

// The joint form of these sums does not depend on the bracketing of their summands.
TEST(History, DigitsJoinAlikeHoweverTheyAreBracketed) {
  const Names n{{"x", variable("x", 0, 50)}};
  for (const auto& [a, b, c] : {std::array{"x%98", "x//2*5", "x%2"},
                                {"x%-3", "x//2", "x%2"},
                                {"x%48", "x//48*48", "x//2%48"}}) {
    const Node left = parse(fmt::format("({} + {}) + {}", a, b, c), n);
    EXPECT_EQ(left, parse(fmt::format("{} + ({} + {})", a, b, c), n)) << a << " " << b << " " << c;
    EXPECT_EQ(left, parse(fmt::format("2*({} + {}) + {} - ({} + {})", c, a, b, c, a), n));
  }
  // These have two forms, equal everywhere.
  const Node left = parse("x//5*250 + x%5 - x//50%50", n),
             right = parse("x//5*250 + (x%5 - x//50%50)", n);
  EXPECT_NE(left, right) << "one form: move it to the rows above";
  for (int x = 0; x <= 50; ++x) EXPECT_EQ(evaluate(left, {{"x", x}}), evaluate(right, {{"x", x}}));
}

// In a number so small that one quotient is a multiple of another, digits must not expand each
// other.
TEST(History, QuotientsOfTwoValuesDoNotGrow) {
  const Names n{{"x", variable("x", -2, 0)}};
  for (const char* text : {"x + (x//48*2 + x//2%48)", "x%48 + (x//48*48 + x//2%48)"})
    EXPECT_LE(size(parse(text, n)), 13U) << simplified(text, n);
}

// A rule is skipped if its right side divides by 0 in an arm that is never taken.
TEST(History, NoRuleMakesADivisionByZero) {
  const Names n{{"x", variable("x", 0, 100)},
                {"y", variable("y", std::nullopt, 100)},
                {"z", variable("z", 0, 12)}};
  const Node e = parse(
      "max(y % -5 and where(34, x, 2147483648), y // x % 9223372036854775808) %"
      " (min(z, -1000000000000000000000000000001) % 4611686018427387902 + (x or min(x, z)))",
      n);
  EXPECT_EQ(evaluate(e, {{"x", 7}, {"y", 50}, {"z", 3}}), 7);
}

// Under a condition a divisor inside a dividend may be 0, which is no multiple of the outer
// divisor.
TEST(History, ADivisorThatIsZeroUnderAConditionOpensNoRemainder) {
  const Names n{{"x", variable("x", std::nullopt, 9)}, {"y", variable("y", -10, 19)}};
  const Node e = parse("(x == -5) % (x*7) % (where(y == 0, 19%x, 0) - min(3 <= y, x == 0)) + x", n);
  EXPECT_EQ(evaluate(e, {{"x", -3}, {"y", 0}}), -3);
  EXPECT_EQ(evaluate(e, {{"x", -5}, {"y", 0}}), -5);
}

}  // namespace
}  // namespace touchstone::symbolic
