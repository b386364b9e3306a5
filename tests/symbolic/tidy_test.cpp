#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

#include "random_tree.h"
#include "touchstone/symbolic/context.h"
#include "touchstone/symbolic/expr.h"
#include "touchstone/symbolic/question.h"
#include "touchstone/symbolic/tape_program.h"

namespace touchstone::symbolic {
namespace {

std::string tidy(const std::string& text) {
  Exprs exprs;
  return render(exprs, tidied(exprs, parse_expr(exprs, text)));
}

bool divides_by_zero(const RawTree& t) {
  return ((t.op == "//" || t.op == "%") && t.args[1].op == "0") ||
         std::ranges::any_of(t.args, divides_by_zero);
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
  constexpr unsigned kSeed = 7;
  Generator g(kSeed, false, true);
  Context context;
  std::map<std::string, Node> names;
  for (const char* name : {"x", "y", "z"}) names.emplace(name, context.variable(name, {}, {}));
  int shorter = 0;
  for (int i = 0; i < 4'000; ++i) {
    const RawTree tree = g.tree(4);
    if (divides_by_zero(tree)) continue;  // such a text is not read
    Exprs exprs;
    const Expr written = parse_expr(exprs, text_of(tree)), now = tidied(exprs, written);
    const std::string text = render(exprs, now);
    EXPECT_LE(exprs.size(now), exprs.size(written)) << text_of(tree);
    EXPECT_EQ(tidied(exprs, now), now) << text_of(tree);
    shorter += exprs.size(now) < exprs.size(written);
    Tape tape;
    tape.read(text, names);
    TapeProgram program(tape);
    for (int p = 0; p < 5; ++p) {
      Values at;
      for (const auto& [name, node] : names)
        at.emplace(name, static_cast<std::int64_t>(g.random()() % 9) - 4);
      const auto want = value_of(tree, at);
      if (!want) continue;
      std::vector<Int> values;
      for (const Id v : program.variables()) values.emplace_back(at.at(*context[v].name));
      EXPECT_EQ(program.run(values), want) << kSeed << ": " << text_of(tree) << " -> " << text;
    }
  }
  EXPECT_GT(shorter, 400);
}

}  // namespace
}  // namespace touchstone::symbolic
