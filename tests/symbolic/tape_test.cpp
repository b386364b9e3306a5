#include "touchstone/symbolic/read/tape.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "../support/error_of.h"
#include "touchstone/symbolic/expr/expr.h"
#include "touchstone/symbolic/read/canonical_builder.h"

namespace touchstone::symbolic {
namespace {

struct TapeNames {
  Context context;
  std::map<std::string, Node> names{{"x", context.variable("x", 0, 99)},
                                    {"y", context.variable("y", -3, 3)},
                                    {"two", context.constant(2)}};
  Tape read(const std::string& text) {
    Tape tape;
    tape.read(text, names);
    return tape;
  }
};

TEST(Tape, SimplifiesNothing) {
  TapeNames n;
  EXPECT_EQ(n.read("x + y - x").parts(), 3U);
  EXPECT_EQ(n.read("0*x + 0").size(), 5U);
  EXPECT_EQ(n.context.size(), 4U);  // 0, 2, x and y: parsing makes no node
}

TEST(Tape, HoldsEachPartOnce) {
  TapeNames n;
  const Tape t = n.read("(x*3 + y)//4*4 + (x*3 + y)%4");
  EXPECT_EQ(t.parts(), 10U);  // x 3 x*3 y x*3+y 4 //4 *4 %4 +
  EXPECT_EQ(t.size(), 17U);
}

TEST(Tape, CountsAsTheTreeAsWritten) {
  TapeNames n;
  for (const std::string text :
       {"x", "-5", "--5", "-x", "x - -3", "min(x, y, 2)", "max(x)", "x < y and y < 3 and x != 2",
        "not x < 3 or y == 1", "where(x < 3, y*-2, tdiv(x, 3) + tmod(y, 7))", "(x)//(2 + 3)%-4",
        "123456789012345678901234567890 + x"}) {
    Exprs exprs;
    const Expr root = parse_expr(exprs, text);
    EXPECT_EQ(n.read(text).size(), exprs.size(root)) << text;
  }
}

TEST(Tape, IsEqualWhereTheExpressionIs) {
  TapeNames n;
  const auto same = [&](const std::string& a, const std::string& b) {
    const Tape s = n.read(a), t = n.read(b);
    return s.hash() == t.hash() && std::ranges::equal(s.words(), t.words());
  };
  EXPECT_TRUE(same("x + (y*2)", " x+y * two"));
  EXPECT_FALSE(same("x + y", "y + x"));
  EXPECT_FALSE(same("x + y", "x - y"));
  EXPECT_FALSE(same("-5", "--5"));
  EXPECT_FALSE(n.read("x + 100000000000000000000").comparable());
}

TEST(Tape, BuildsTheNodeThatOneOperationAfterTheOtherGives) {
  TapeNames n;
  const Node x = n.names.at("x"), y = n.names.at("y");
  const auto build = [&](const std::string& text) {
    return n.context.handle(CanonicalBuilder(n.names, n.context).build(n.read(text), text));
  };
  EXPECT_EQ(build("(x*4 + y)//4 - x%7*3"), floor_div(x * 4 + y, 4) - floor_mod(x, 7) * 3);
  EXPECT_EQ(build("x < y or not x == 3"), logical_or(lt(x, y), logical_not(eq(x, 3))));
  EXPECT_EQ(build("min(max(x, y), where(y >= 2, x, 5))"), min(max(x, y), where(ge(y, 2), x, 5)));
  EXPECT_EQ(build("x*y*x - (x + 1)*y"), x * y * x - (x + 1) * y);
}

TEST(Tape, GivesTheTreeAsWritten) {
  TapeNames n;
  Exprs exprs;
  for (const char* text : {"x + y - x*3 - -x + 7", "x < y or not x == 3 or y", "tdiv(x, y - y)%7",
                           "x//0 and y", "min(x, y, 5) - where(x, -y, 100000000000000000000)"})
    EXPECT_EQ(render(exprs, n.read(text).tree(exprs, n.context)), text);
  EXPECT_EQ(render(exprs, n.read("x*two").tree(exprs, n.context)), "x*2");
}

TEST(Tape, PointsAtADivisionByWhatTurnsOutToBeZero) {
  TapeNames n;
  const auto error = [&](const std::string& text) {
    return test::error_of([&] { parse(text, n.names); });
  };
  EXPECT_NE(error("x + x % (y - y)").find("column 7: division by zero"), std::string::npos);
  EXPECT_NE(error("x // 0").find("column 3: division by zero"), std::string::npos);
  EXPECT_NE(error("tmod(x, 3//4)").find("column 1: division by zero"), std::string::npos);
}

}  // namespace
}  // namespace touchstone::symbolic
