#include <gtest/gtest.h>

#include "touchstone/symbolic/node/node.h"

namespace touchstone::symbolic {
namespace {

using Names = std::map<std::string, Node>;

Names xy() { return {{"x", variable("x", -9, 9)}, {"y", variable("y", 0, 9)}}; }

std::string error_of(const std::string& text) {
  try {
    parse(text, xy());
  } catch (const ParseError& e) {
    return e.what();
  }
  return "no error";
}

TEST(Parse, BindsAsPythonDoes) {
  const Names n = xy();
  EXPECT_EQ(parse("1 + 2*3", n), Node(7));
  EXPECT_EQ(parse("-7//2", n), Node(-4));
  EXPECT_EQ(parse("2*7%4", n), Node(2));
  EXPECT_EQ(parse("10 - 3 - 2", n), Node(5));
  EXPECT_EQ(parse("not 1 < 2 or 1", n), Node(1));
  EXPECT_EQ(parse("1 or 1 and 0", n), Node(1));
  EXPECT_EQ(parse("- - 3", n), Node(3));
  EXPECT_EQ(parse("x - y + x", n), parse("2*x - y", n));
}

TEST(Parse, TruncatingPairRoundsTowardsZero) {
  const Names n = xy();
  EXPECT_EQ(parse("tdiv(-7, 2)", n), Node(-3));
  EXPECT_EQ(parse("tmod(-7, 2)", n), Node(-1));
  for (int x = -9; x <= 9; ++x)
    for (int d : {-4, -1, 1, 3}) {
      const std::string by = std::to_string(d);
      EXPECT_EQ(evaluate(parse("tdiv(x, " + by + ")", n), {{"x", x}}), x / d);
      EXPECT_EQ(evaluate(parse("tmod(x, " + by + ")", n), {{"x", x}}), x % d);
    }
  EXPECT_EQ(evaluate(parse("tdiv(y, x)", n), {{"x", -2}, {"y", 7}}), -3);
}

TEST(Parse, ErrorsPointAtTheColumn) {
  EXPECT_NE(error_of("x + * 3").find("column 5: expected a number"), std::string::npos);
  EXPECT_NE(error_of("x + z").find("column 5: unknown name \"z\""), std::string::npos);
  EXPECT_NE(error_of("(x + 1").find("for the \"(\" at column 1"), std::string::npos);
  EXPECT_NE(error_of("x // (2 - 2)").find("column 3: division by zero"), std::string::npos);
  EXPECT_NE(error_of("where(x, 1)").find("takes 3 arguments"), std::string::npos);
  EXPECT_NE(error_of("where(x, 1, 2, 3)").find("takes 3 arguments"), std::string::npos);
  EXPECT_NE(error_of("x < y < 3").find("write 0 <= b and b < 8"), std::string::npos);
  EXPECT_NE(error_of("x y").find("column 3: expected an operator"), std::string::npos);
  EXPECT_NE(error_of("3x").find("column 1"), std::string::npos);
  EXPECT_NE(error_of("x $ 2").find("column 3"), std::string::npos);
  EXPECT_NE(error_of("").find("found the end"), std::string::npos);
  EXPECT_NE(error_of("x = 3").find("column 3"), std::string::npos);
  EXPECT_NE(error_of("min").find("\"(\" after min"), std::string::npos);
  EXPECT_NE(error_of("max()").find("expected a number"), std::string::npos);
  EXPECT_NE(error_of("x)").find("column 2"), std::string::npos);
  EXPECT_NE(error_of("x, y").find("column 2"), std::string::npos);
  EXPECT_NE(error_of(std::string(1'000'001, '7')).find("digits"), std::string::npos);
}

TEST(Parse, TakesDeepAndLongText) {
  const Names n = xy();
  constexpr int kDeep = 100'000;
  const auto times = [](const std::string& s, int count) {
    std::string r;
    for (int i = 0; i < count; ++i) r += s;
    return r;
  };
  EXPECT_EQ(parse(times("(", kDeep) + "x" + times(")", kDeep), n), n.at("x"));
  EXPECT_EQ(parse(times("-", kDeep) + "x", n), n.at("x"));
  EXPECT_EQ(parse(times("not ", kDeep) + "(x < y)", n), lt(n.at("x"), n.at("y")));
  EXPECT_EQ(parse("x" + times(" + x", kDeep), n), n.at("x") * (kDeep + 1));
  EXPECT_THROW(parse(times("(", kDeep), n), ParseError);
  EXPECT_THROW(parse(times("x + ", kDeep), n), ParseError);
}

TEST(Variable, RefusesWhatIsNoNameOrHasNoValues) {
  EXPECT_THROW(variable("", 0, 1), Error);
  EXPECT_THROW(variable("1a", 0, 1), Error);
  EXPECT_THROW(variable("a b", 0, 1), Error);
  EXPECT_THROW(variable("a", 2, 1), Error);
  EXPECT_EQ(variable("a", 3, 3), Node(3));
  EXPECT_EQ(variable("a", 0, 3), variable("a", 0, 3));
  EXPECT_NE(variable("a", 0, 3), variable("a", 0, 4));
}

TEST(Division, ByZeroIsAnError) {
  const Node x = variable("x", 0, 3);
  EXPECT_THROW(floor_div(x, 0), Error);
  EXPECT_THROW(floor_mod(x, x - x), Error);
  EXPECT_THROW(substitute(floor_div(7, x), {{"x", 0}}), Error);
  EXPECT_THROW(evaluate(floor_div(7, x), {{"x", 0}}), Error);
  EXPECT_EQ(evaluate(where(eq(x, 0), 5, floor_div(7, x)), {{"x", 0}}), 5);
}

}  // namespace
}  // namespace touchstone::symbolic
