#include "touchstone/symbolic/expr/expr.h"

#include <gtest/gtest.h>

#include <random>

#include "touchstone/base/error.h"

namespace touchstone::symbolic {
namespace {

std::string reread(const std::string& text) {
  Exprs e;
  return render(e, parse_expr(e, text));
}

TEST(Expr, KeepsWhatIsWritten) {
  for (const char* text : {"a + 0",
                           "2*3 + a - a",
                           "x//12*12 + x%12//4*4 + x%4",
                           "a + b + (c + d)",
                           "a - (b - c)",
                           "a*(b*c)",
                           "-x//4",
                           "-(x//4)",
                           "-(-x)",
                           "a - -3",
                           "2*-3",
                           "not a < b",
                           "(not a) < b",
                           "not (a and b) or c",
                           "(a or b) and c",
                           "(a < b) == (c < d)",
                           "a >= b",
                           "a > b",
                           "a != b",
                           "where(a < b, a + 1, min(a, b, 3))",
                           "max(a)",
                           "tdiv(a, 4) + tmod(a, -4)",
                           "-5",
                           "123456789012345678901234567890"})
    EXPECT_EQ(reread(text), text);
}

TEST(Expr, NeedlessParenthesesAndSpacesGo) {
  EXPECT_EQ(reread(" ((a+b))*c "), "(a + b)*c");
  EXPECT_EQ(reread("(a*b)+(c)"), "a*b + c");
  EXPECT_EQ(reread("- 3"), "-3");
  EXPECT_EQ(reread("True and False"), "1 and 0");
}

TEST(Expr, EqualTreesAreTheSame) {
  Exprs e;
  EXPECT_EQ(parse_expr(e, "(a + b)//(a+b)"), parse_expr(e, "(a+b) // (a + b)"));
  EXPECT_NE(parse_expr(e, "a + b"), parse_expr(e, "b + a"));
  const Expr t = parse_expr(e, "(a + b)//(a + b)");
  EXPECT_EQ(e.arg(t, 0), e.arg(t, 1));
}

TEST(Expr, PathsLeadToParts) {
  Exprs e;
  const Expr t = parse_expr(e, "a + where(b < 3, x//4, 0)");
  const Path path = {1, 1};
  ASSERT_TRUE(e.at(t, path));
  EXPECT_EQ(render(e, *e.at(t, path)), "x//4");
  EXPECT_EQ(render(e, e.replace(t, path, parse_expr(e, "y + 1"))), "a + where(b < 3, y + 1, 0)");
  EXPECT_FALSE(e.at(t, {0, 0}));
  EXPECT_EQ(e.at(t, {}), t);
  const MarkedText m = render_marked(e, t, path);
  EXPECT_EQ(m.text.substr(m.begin, m.end - m.begin), "x//4");
  const Expr p = parse_expr(e, "a*(b + c)");
  const MarkedText n = render_marked(e, p, {1});
  EXPECT_EQ(n.text.substr(n.begin, n.end - n.begin), "(b + c)");
}

TEST(Expr, SubstitutesAndCounts) {
  Exprs e;
  const Expr t = parse_expr(e, "(x*c + y)//c");
  EXPECT_EQ(render(e, e.substitute(t, {{"x", parse_expr(e, "a + b")}, {"c", e.constant(-4)}})),
            "((a + b)*-4 + y)//-4");
  EXPECT_EQ(e.size(t), 7U);
  EXPECT_EQ(e.size(parse_expr(e, "min(a, b, -3)")), 5U);
  EXPECT_EQ(e.size(parse_expr(e, "where(a, b, c)")), 4U);
}

TEST(Expr, RefusesWhatNoOneMeans) {
  Exprs e;
  EXPECT_THROW(parse_expr(e, "a +"), ParseError);
  EXPECT_THROW(parse_expr(e, "where(a, b)"), ParseError);
  EXPECT_THROW(parse_expr(e, "f(a)"), ParseError);
  EXPECT_THROW(parse_expr(e, "a//0"), ParseError);
  EXPECT_THROW(parse_expr(e, "min + 1"), ParseError);
}

TEST(Expr, DeepAndLongTreesNeedNoStack) {
  Exprs e;
  std::string deep, sum = "x";
  for (int i = 0; i < 100'000; ++i) deep += "-(1 + ";
  deep += "x" + std::string(100'000, ')');
  for (int i = 0; i < 100'000; ++i) sum += " + x";
  for (const std::string& text : {deep, sum}) {
    const Expr t = parse_expr(e, text);
    EXPECT_EQ(parse_expr(e, render(e, t)), t);
    EXPECT_EQ(e.substitute(t, {{"x", e.variable("x")}}), t);
  }
}

}  // namespace
}  // namespace touchstone::symbolic
