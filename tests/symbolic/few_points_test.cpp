// Comparisons with few points are constants exactly if they hold at all of them, or at none.
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <random>
#include <string>

#include <fmt/format.h>

#include "drawn.h"
#include "touchstone/symbolic/expr/expr.h"
#include "touchstone/symbolic/node/context.h"
#include "touchstone/symbolic/node/node.h"

namespace touchstone::symbolic {
namespace {

/// Texts over x and y with divisions by possible zeros, products, choices and flags.
class FewPoints {
 public:
  explicit FewPoints(unsigned seed) : random_(seed) {}

  int below(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }

  std::string text(int depth) {
    if (depth == 0) {
      if (below(3) == 0) return fmt::format("{}", below(9) - 3);
      return below(2) == 0 ? "x" : "y";
    }
    const std::string a = text(depth - 1), b = text(depth - 1);
    switch (below(8)) {
      case 0: return fmt::format("({} - {})", a, b);
      case 1: return fmt::format("({})*({})", a, b);
      case 2: return fmt::format("(({})//{})", a, below(4) + 2);
      case 3: return fmt::format("(({})%{})", a, below(4) + 2);
      case 4: return fmt::format("(({})//(y + {}))", a, below(3));
      case 5: return fmt::format("max({}, {})", a, b);
      case 6: return fmt::format("where({} < {}, {}, 2)", a, b, a);
      default: return fmt::format("({} + {})", a, b);
    }
  }

 private:
  std::mt19937 random_;
};

TEST(FewPoints, AComparisonThatHoldsAtAllOrAtNoneIsAConstant) {
  FewPoints draw(20'261'127);
  int decided = 0, open = 0;
  for (int round = 0; round < 4'000; ++round) {
    const int x0 = draw.below(9) - 4, x1 = x0 + draw.below(4), y0 = draw.below(5) - 2,
              y1 = y0 + draw.below(4);
    const char* op = draw.below(2) == 0 ? "==" : "<";
    const std::string text = fmt::format("{} {} {}", draw.text(2), op, draw.text(2));
    const std::string where = fmt::format("x={}..{} y={}..{} | {}", x0, x1, y0, y1, text);
    Exprs exprs;
    Definition definition(exprs, parse_expr(exprs, text));
    std::optional<bool> all;
    bool mixed = false, undefined = false;
    for (int x = x0; x <= x1; ++x)
      for (int y = y0; y <= y1; ++y) {
        const auto value = definition.at({{"x", Int(x)}, {"y", Int(y)}});
        undefined = undefined || !value;
        if (!value) continue;
        mixed = mixed || (all && *all == value->is_zero());
        all = !value->is_zero();
      }
    if (!all) continue;
    Context context;
    const std::map<std::string, Node> names{{"x", context.variable("x", x0, x1)},
                                            {"y", context.variable("y", y0, y1)}};
    const Node node = parse(text, names, context);
    ++(mixed ? open : decided);
    // If some points are undefined, the result may be defined there.
    if (mixed || !undefined) {
      EXPECT_EQ(node.is_constant(), !mixed) << where << " -> " << render(node);
    }
    if (node.is_constant()) {
      EXPECT_EQ(evaluate(node, {}), *all ? 1 : 0) << where;
    }
  }
  EXPECT_GT(decided, 500);
  EXPECT_GT(open, 500);
}

// Inside a choice, a sum and a product.
TEST(FewPoints, MayBeInsideAnExpression) {
  Context context;
  const std::map<std::string, Node> names{{"x", context.variable("x", -6, -3)},
                                          {"y", context.variable("y", 0, 3)},
                                          {"n", context.variable("n", -1, 2)}};
  const auto shown = [&](const char* text) { return render(parse(text, names, context)); };
  EXPECT_EQ(shown("where(x + 5 == x%-4, x, 0)"), "0");
  EXPECT_EQ(shown("y + y - y//3 - 3*(y + y - y//3 == 3)"), shown("y + y - y//3"));
  EXPECT_EQ(shown("y - n*32 - 2*(y - n*32 == 5)"), "y - n*32");
  EXPECT_EQ(shown("y + 7*(y*y + y != y*y*y + 2*y + 5)"), "y + 7");
}

// For all x and z the rest of y lies between two multiples of 27, or may be one.
TEST(FewPoints, AreNotNeededBetweenMultiples) {
  Context context;
  for (const std::int64_t most : {30, 31}) {
    const std::map<std::string, Node> names{
        {"x", context.variable("x", std::nullopt, std::nullopt)},
        {"y", context.variable("y", 5, most)},
        {"z", context.variable("z", std::nullopt, std::nullopt)}};
    EXPECT_EQ(parse("x*135 + y == z*27 + 4", names, context).is_constant(), most == 30);
    EXPECT_EQ(parse("y - 4 == z*27 - x*54", names, context).is_constant(), most == 30);
  }
}

}  // namespace
}  // namespace touchstone::symbolic
