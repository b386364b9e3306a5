// A number in two spellings: by its digits and quotients, or by those of its complement. By
// definition D % c is c - 1 - (-1 - D) % c and D // c is -1 - (-1 - D) // c, for any D.
#include <gtest/gtest.h>

#include <algorithm>

#include <fmt/format.h>

#include "../support/traced_draws.h"
#include "touchstone/symbolic/node/context.h"
#include "touchstone/symbolic/node/node.h"
#include "touchstone/symbolic/write/stable_form.h"

namespace touchstone::symbolic {
namespace {

using Names = std::map<std::string, Node>;

/// Draws an expression in two spellings that differ in complemented divisions.
class Spelling {
 public:
  Spelling(std::uint64_t index, int depth, bool bounded) : random_(5, index) {
    for (const char* name : {"a", "b", "x", "n"}) {
      const std::int64_t low = pick({0, 0, 0, 1, -3, -8}), wide = pick({0, 1, 2, 3, 7, 8, 31, 63});
      names_.emplace(name, bounded ? variable(name, low, low + wide)
                                   : variable(name, std::nullopt, std::nullopt));
    }
    std::tie(one, other) = sum(depth);
  }
  const Names& names() const { return names_; }
  std::string one, other;

 private:
  using Pair = std::pair<std::string, std::string>;

  int pick(std::initializer_list<int> of) { return of.begin()[random_.below(of.size())]; }
  std::string any_name() { return std::next(names_.begin(), random_.index(4))->first; }

  Pair sum(int depth) {
    Pair r{"(", "("};
    for (int left = 1 + random_.index(3); left > 0; --left) {
      const Pair part = atom(depth - 1);
      const int factor = pick({1, 1, 1, -1, -1, 2, 3, -4, 5, 8, 16, -20});
      r.first += fmt::format("{}*{} + ", part.first, factor);
      r.second += fmt::format("{}*{} + ", part.second, factor);
    }
    const std::string number = fmt::format("{})", pick({0, 0, 0, 1, 2, 5, -1, -2, -7, 15, 31}));
    return {r.first + number, r.second + number};
  }
  Pair atom(int depth) {
    const std::string name = any_name();
    if (depth <= 0 || random_.chance(1, 3)) return {name, name};
    const auto [plain, turned] = sum(depth);
    const int c = pick({2, 3, 4, 5, 6, 8, 12, 16, 30});
    const bool turn = random_.chance(1, 2);
    switch (random_.below(5)) {
      case 0:
      case 1:
        return {fmt::format("({}%{})", plain, c),
                turn ? fmt::format("({} - (-1 - {})%{})", c - 1, turned, c)
                     : fmt::format("({}%{})", turned, c)};
      case 2:
      case 3:
        return {fmt::format("({}//{})", plain, c),
                turn ? fmt::format("(-1 - (-1 - {})//{})", turned, c)
                     : fmt::format("({}//{})", turned, c)};
      default: {
        const Pair less = sum(depth - 1);
        return {fmt::format("max({}, {})", plain, less.first),
                fmt::format("max({}, {})", turned, less.second)};
      }
    }
  }

  test::TracedDraws random_;
  Names names_;
};

/// Among the draws: how many contain a complemented division, and how many of those differ.
std::pair<int, int> unlike(int draws, int depth, bool bounded) {
  int turned = 0, wrong = 0;
  for (int i = 0; i < draws; ++i) {
    const Spelling s(static_cast<std::uint64_t>(i), depth, bounded);
    if (s.one == s.other) continue;
    ++turned;
    const Node one = parse(s.one, s.names()), other = parse(s.other, s.names());
    wrong += shown_form(one) == shown_form(other) ? 0 : 1;
  }
  return {turned, wrong};
}

// In 2 or 3 of 4,468 a quotient beside terms of its number stays, because its remainder is as
// large.
TEST(Spelling, OfDivisionsOfLinearSumsDoesNotMatter) {
  for (const bool bounded : {false, true}) {
    const auto [turned, wrong] = unlike(10'000, 2, bounded);
    EXPECT_GT(turned, 4'000);
    EXPECT_LE(wrong, 5);
  }
}

// A number minus its remainder is a multiple of the divisor.
TEST(Spelling, OfMultiplesBelowANumberDoesNotMatter) {
  const struct {
    const char *one, *other;
  } forms[] = {{"({0} - ({0})%{1})//{1}", "({0})//{1}"},
               {"({0} + {1} - 1 - ({0})%{1})//{1}", "({0})//{1}"},
               {"({0} - ({0})%{1})%({1}*3)", "(({0})//{1}*{1})%({1}*3)"},
               {"({0} - ({0})%{1})//{1}%3", "({0})//{1}%3"},
               {"(({0})//{1}*{1} + y)//{1}", "({0})//{1} + y//{1}"},
               {"max(({0} - ({0})%{1})//{1}, y)", "max(({0})//{1}, y)"}};
  for (const auto& [low, high] :
       {std::pair<std::optional<std::int64_t>, std::optional<std::int64_t>>(),
        {std::int64_t{0}, std::int64_t{7}}}) {
    const Names names = {{"x", variable("x", low, high)}, {"y", variable("y", 0, std::nullopt)}};
    for (const auto& [one, other] : forms)
      for (int c = 2; c <= 10; ++c)
        for (int a = -8; a <= 11; ++a)
          for (int b = -4; b <= 5; ++b) {
            const std::string number = fmt::format("x*{} + {}", a, b);
            const std::string text = fmt::format(fmt::runtime(one), number, c);
            const Node found = parse(text, names);
            const Node wanted = parse(fmt::format(fmt::runtime(other), number, c), names);
            ASSERT_EQ(found, wanted)
                << text << " is " << render(found) << ", not " << render(wanted);
          }
  }
}

TEST(Spelling, OfDivisionsInDivisionsSeldomMatters) {
  for (const bool bounded : {false, true}) {
    const auto [turned, wrong] = unlike(5'000, 3, bounded);
    EXPECT_GT(turned, 3'000);
    EXPECT_LE(wrong, turned / 50);
  }
}

// A choice that is 0 beside a condition is a condition, for any names.
TEST(Spelling, MasksAreConditionsUnderAnyNames) {
  std::vector<std::string> names{"i", "j", "n"};
  do {
    const std::string &i = names[0], &j = names[1], &n = names[2];
    for (const std::string& text :
         {fmt::format("where({1} > {0}, 0, where({1} < {2}, 1, 0))", i, j, n),
          fmt::format("({1} < {2}) - ({0} < {1} and {1} < {2})", i, j, n),
          fmt::format("({1} < {2})*({1} <= {0})", i, j, n)}) {
      Context context;
      std::map<std::string, Node> vars;
      for (const std::string& name : names) vars.emplace(name, context.variable(name, 0, 9));
      const Node mask = parse(text, vars, context);
      EXPECT_EQ(size(mask), 7U) << text << " is " << render(mask);
      EXPECT_EQ(mask, parse(fmt::format("{1} <= {0} and {1} < {2}", i, j, n), vars, context));
    }
  } while (std::ranges::next_permutation(names).found);
}

}  // namespace
}  // namespace touchstone::symbolic
