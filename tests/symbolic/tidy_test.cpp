#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

#include "drawn.h"
#include "touchstone/symbolic/ask/question.h"
#include "touchstone/symbolic/expr/evaluate.h"
#include "touchstone/symbolic/node/context.h"
#include "touchstone/symbolic/read/tape.h"

namespace touchstone::symbolic {
namespace {

std::string tidy(const std::string& text) {
  Exprs exprs;
  return render(exprs, tidied(exprs, parse_expr(exprs, text)));
}

TEST(Tidy, LeavesOutWhatAddsNothing) {
  const std::pair<const char*, const char*> cases[] = {
      {"(x + 0)*tdiv(y, z)*1 + 0", "x*tdiv(y, z)"},
      {"tdiv(min(x, x), 8)", "tdiv(x, 8)"},
      {"not not x < y", "x < y"},
      {"not not not x", "not x"},
      {"not x == y", "x != y"},
      {"not not x", "not not x"},
      {"0 - x//1", "-x"},
      {"0 - (0 - tdiv(x, 1))", "x"},
      {"max(x, y, x) - 0", "max(x, y)"},
      {"where(x, y + 0, 1*y)", "y"},
      {"x < 3 and x < 3 or y", "x < 3 or y"},
      {"x and x", "x and x"},
      {"(10 - y*3//9)*(y + 3)//(2 + 8 - y)", "(10 - y//3)*(y + 3)//(10 - y)"},
      {"tdiv(y*10//(9 + 6), 2*4)", "tdiv(y*2//3, 8)"},
      {"y*-6//9", "y*-6//9"},
      {"y*6//-9", "y*6//-9"},
      {"y*6//9//2*0", "y//3*0"},
      {"(x - 3 + 1)*(y + 4 - 4)", "(x - 2)*y"},
      {"x - -3 - 4 + 7//2 - 9%-4", "x + 5"},
      {"x%1", "x%1"},
      {"where(y, x//(0*1), 3)", "where(y, x//(0*1), 3)"},
  };
  for (const auto& [text, want] : cases) EXPECT_EQ(tidy(text), want) << text;
}

TEST(Tidy, AnswersAsWritten) {
  Context context;
  const Interval any;
  const Question q{{{"x", any}, {"y", any}, {"z", any}}, {}, "(x + 0)*tdiv(y, z)*1 + 0"};
  const Answer a = answer(q, context);
  EXPECT_EQ(a.text, "x*tdiv(y, z)");
  EXPECT_EQ(a.size, 5U);
}

TEST(Tidy, HasTheValuesOfTheTreeAsWritten) {
  int shorter = 0;
  for (std::uint64_t i = 0; i < 4'000; ++i) {
    const Drawn drawn(7, i);
    Context context;
    std::map<std::string, Node> names;
    for (const auto& v : drawn.asked.variables)
      names.emplace(v.name, context.variable(v.name, {}, {}));
    Exprs exprs = drawn.asked.exprs;
    const Expr written = drawn.asked.root, now = tidied(exprs, written);
    const std::string text = render(exprs, now);
    EXPECT_LE(exprs.size(now), exprs.size(written)) << drawn.root;
    EXPECT_EQ(tidied(exprs, now), now) << drawn.root;
    shorter += exprs.size(now) < exprs.size(written);
    Tape tape;
    tape.read(text, names);
    const Expr read = tape.tree(exprs, context);
    std::vector<std::string> variables;
    for (const auto& v : drawn.asked.variables) variables.push_back(v.name);
    Evaluator values(exprs, {read}, variables);
    Definition as_drawn(exprs, written);
    for (const Point& at : drawn.points(5)) {
      const auto want = as_drawn.at(at);
      if (!want) continue;
      std::vector<Int> point;
      for (const std::string& v : variables) point.push_back(at.at(v));
      values.at(point);
      EXPECT_EQ(values.value(read), want) << drawn.root << " -> " << text;
    }
  }
  EXPECT_GT(shorter, 300);
}

}  // namespace
}  // namespace touchstone::symbolic
