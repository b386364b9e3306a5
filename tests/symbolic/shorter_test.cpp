// Expressions that once came out longer: one line a pattern, with other names and numbers
// than the rules' examples have.
#include <gtest/gtest.h>

#include <optional>
#include <span>

#include "touchstone/symbolic/question.h"

namespace touchstone::symbolic {
namespace {

struct ShorterCase {
  const char* in;
  const char* out;
  std::optional<std::int64_t> lo = {}, hi = {};  // of every variable
};

void expect(std::span<const ShorterCase> cases) {
  Context context;
  for (const ShorterCase& c : cases) {
    Question q;
    q.text = c.in;
    Interval range;
    if (c.lo) range.lo = Int(*c.lo);
    if (c.hi) range.hi = Int(*c.hi);
    for (const char* name : {"x", "y", "z"}) q.variables.emplace_back(name, range);
    EXPECT_EQ(answer(q, context).text, c.out) << c.in;
  }
}

TEST(Shorter, ComparisonsOfRemainders) {
  const ShorterCase cases[] = {
      {"(x + 5)%7 < 1", "x%7 == 2"}, {"(x + 5)%7 >= 1", "x%7 != 2"},
      {"(x + 5)%7 < 6", "x%7 != 1"}, {"(2 - x)%7 == 0", "x%7 == 2"},
      {"(x + 5)//6*6 < x", "0"},     {"y < 3 and (x + 5)%7 < 1", "y < 3 and x%7 == 2"},
  };
  expect(cases);
}

TEST(Shorter, PartsThatOthersImply) {
  const ShorterCase cases[] = {
      {"x//12 == 4 and x < 77", "x//12 == 4"},
      {"x//12 == 4 and x//12 < 9", "x//12 == 4"},
      {"x//12 == 4 and 17 < x", "x//12 == 4"},
      {"x//12 == 4 and x != 11", "x//12 == 4"},
      {"x%9 < 4 and x != 17", "x%9 < 4"},
      {"x%9 == 4 and x != 17", "x%9 == 4"},
      {"x//12 == 4 and x < 50", "x < 50 and x//12 == 4"},
      {"x%9 < 4 and x != 12", "x%9 < 4 and x != 12"},
  };
  expect(cases);
}

TEST(Shorter, SquaresAndAbsoluteValues) {
  const ShorterCase cases[] = {
      {"x*x == 0", "x == 0"},
      {"0 < x*x", "x != 0"},
      {"min(x, y) < max(x, y)", "x != y"},
      {"max(x, y) <= min(x, y)", "x == y"},
      {"max(x, y) == min(x, y)", "x == y"},
      {"2 + max(x, y) >= x + y", "min(x, y) < 3"},
  };
  expect(cases);
}

TEST(Shorter, Halves) {
  const ShorterCase cases[] = {
      {"x - (x + 1)//2", "x//2"},
      {"(x + 1)//2 - x%2", "x//2"},
      {"x - y - (x - y + 1)//2", "(x - y)//2"},
      {"x//6 - x//12", "(x + 6)//12"},
      {"-((9 - x*8)//5)", "x*8//5 - 1"},
      {"(x//6 + 1)//-2", "-1 - x//12"},
  };
  expect(cases);
}

TEST(Shorter, Choices) {
  const ShorterCase cases[] = {
      {"where(z >= 5, where(z < 6, x, y), y)", "where(z == 5, x, y)"},
      {"where(z != 5, where(z < 6, x, y), y)", "where(z < 5, x, y)"},
      {"(z < 8) - (z < 7)", "z == 7"},
      {"where(x < y and z < 2, x, 0) + (x < y and z < 2)", "where(x < y and z < 2, x + 1, 0)"},
      {"(z < 8) + (z == 8)", "z < 9"},
      {"where(x < 30, max(3, x), x)", "max(3, x)"},
      {"where(x > 0, y + 1, y)", "(0 < x) + y"},
      {"min(x*3, y)//3", "min(x, y//3)"},
      {"max(x*6, y + 1)//6", "max((y + 1)//6, x)"},
  };
  expect(cases);
}

TEST(Shorter, EquationsOfQuotientsAtTheEndsOfTheirRange) {
  const ShorterCase cases[] = {
      {"x//8 == 0", "x < 8", 0, 24},
      {"x//8 == 3", "23 < x", 0, 24},
      {"x//8 == 2", "x//8 == 2", 0, 24},
      {"x//8 == 0", "x//8 == 0"},
  };
  expect(cases);
}

}  // namespace
}  // namespace touchstone::symbolic
