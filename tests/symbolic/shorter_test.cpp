// Expressions that used to come out longer: one line per pattern, with other names and numbers than
// the rules' examples.
#include <gtest/gtest.h>

#include <optional>
#include <span>

#include "touchstone/symbolic/ask/question.h"

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

TEST(Shorter, WhatStandsAroundATruncation) {
  const ShorterCase cases[] = {
      {"tdiv(x, 4) + y*2 - y", "y + tdiv(x, 4)"},
      {"(tdiv(x, 4)*8 + 16)//8", "tdiv(x, 4) + 2"},
      {"tdiv(x*3 - x*2, 4)", "tdiv(x, 4)"},
      {"tdiv(tdiv(x + x - x, 4) + y*0, 5) + (z - z)", "tdiv(x, 20)"},
      {"tdiv(x + 1, 4)*3 - tdiv(1 + x, 4)*2 + y", "y + tdiv(x + 1, 4)"},
      {"tdiv(x, 4)*4 + tmod(x, 4)", "x"},
      {"y*tmod(x, 7) + z + tdiv(x, 7)*y*7", "z + x*y"},
      {"tmod(x, 4) < 4 and y < 3", "y < 3", -99, 99},
      {"min(tdiv(x, 4), 30) + 1", "tdiv(x, 4) + 1", -99, 99},
      {"where(tmod(x, 4) < 2, y + y, y*2)", "y*2"},
      {"tdiv(x - 5, y) + z*2 - z", "z + tdiv(x - 5, y)", 1, 9},
      {"tdiv(x, y) + z*2 - z", "z + tdiv(x, y)", -9, 9},
      // It is also defined where y is 0.
      {"where(y < 1, z*2 - z, tdiv(x, y))", "where(y < 1, z, tdiv(x, y))", -9, 9},
  };
  expect(cases);
}

TEST(Shorter, NamesOfPartsAreThoseOfNoVariable) {
  Context context;
  const Interval any;
  const Question q{
      {{"t0", any}, {"t_1", any}, {"t", any}}, {}, "tdiv(t0, 4) + t_1*2 - t_1 + t - t"};
  EXPECT_EQ(answer(q, context).text, "t_1 + tdiv(t0, 4)");
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

TEST(Shorter, ComparisonsOfProductsWithASumOfOneSign) {
  const ShorterCase cases[] = {
      {"x*y + x*z*2 + x > 0", "0 < x", 0, 9},
      {"x*y + x*z*2 + x == 0", "x == 0", 0, 9},
      {"x*y + x*z + x >= 3", "2 < x*(y + z + 1)", 0, 9},
      {"x*(3 - y - 13) < 0", "0 < x", -9, 9},
      {"x*y + x*z > 0", "0 < x*(y + z)", 0, 9},
      {"x*y + x*z == 0", "x*(y + z) == 0", 0, 9},
      {"x*x + x*y + x < 1", "x < 1", 0, 9},
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

TEST(Shorter, AlternativesThatShareParts) {
  const ShorterCase cases[] = {
      {"(x < 2 or y < 5) and (x < 2 or z < 7)", "x < 2 or y < 5 and z < 7"},
      {"x == 2 and y < 5 or x == 2 and z != 7", "x == 2 and (z != 7 or y < 5)"},
      {"(x < 2 or y < 5) and (x < 2 or 5 <= y)", "x < 2"},
      {"x < 6 and y == 4 or x < 3 and y == 4", "x < 6 and y == 4"},
      {"where(x < 3, y, where(z < 5, y, x))", "where(2 < x and 4 < z, x, y)"},
      {"where(x < 3, y, where(z < 5, x, y))", "where(z < 5 and 2 < x, x, y)"},
      {"where(x < 3, where(z < 5, x, y), x)", "where(x < 3 and 4 < z, y, x)"},
      {"where(2 <= x, where(x < 9, y, z), z)", "where(x < 9 and 1 < x, y, z)"},
  };
  expect(cases);
}

TEST(Shorter, RemaindersThatWrap) {
  const ShorterCase cases[] = {
      {"where(x + y < 13, x + y, x + y - 13)", "(x + y)%13", 0, 12},
      {"where(x < y, x - y + 13, x - y)", "(x - y)%13", 0, 12},
      {"where(x == 12, 0, x + 1)", "(x + 1)%13", 0, 12},
      {"where(x + 1 < 13, x + 1, 0)", "(x + 1)%13", 0, 12},
      {"where(x == 0, 12, x - 1)", "(x + 12)%13", 0, 12},
      {"where(x + 5 < 13, x + 5, x - 8)*3 + y", "y + (x + 5)%13*3", 0, 12},
      {"(where(x + y < 13, x + y, x + y - 13) - y)%13", "x", 0, 12},
      {"where(x + y < 13, x + y, x + y - 13)", "x + y - (12 < x + y)*13", 0, 13},
  };
  expect(cases);
}

TEST(Shorter, QuotientsBesideFlagsOfTheirRemainders) {
  const ShorterCase cases[] = {
      {"x//6 + (x%6 != 0)", "(x + 5)//6"},
      {"x//6 - (x%6 == 0)", "(x - 1)//6"},
      {"x//6 + (3 <= x%6)", "(x + 3)//6"},
      {"x//6 - (x%6 < 2)", "(x - 2)//6"},
      {"(x + 2)//6 - (x%6 == 4)", "(x + 1)//6"},
      {"x//5%2 + x//10", "(x + 5)//10"},
      {"x//6 + (x%6 == 0)", "(x%6 == 0) + x//6"},
      {"x//6 + (x%6 < 2)", "(x%6 < 2) + x//6"},
      {"(x%6 + 4)//6", "1 < x%6"},
      {"(x%6 - 1)//6 + x//6", "(x - 1)//6"},
  };
  expect(cases);
}

TEST(Shorter, FactorsOfComparisons) {
  const ShorterCase cases[] = {
      {"x*z < y*z", "x < y", 1},
      {"x*z <= y*z", "x <= y", 1},
      {"x*z == y*z", "x == y", 1},
      {"x*z < y*z + z", "x <= y", 1},
      {"x*z < 4*z", "x < 4", 1},
      {"z*5 <= x*z", "4 < x", 1},
      {"x*z*z < y*z*z", "x < y", 1},
      {"x*z < y*z", "y < x", {}, -1},
      {"x*z < y*z", "x*z < y*z", 0},
      {"x*z < y*z + z + 1", "x < y + 2", 1},
      {"x*z == y*z + 1", "x*z == y*z + 1", 1},
  };
  expect(cases);
}

TEST(Shorter, SquaresAgainstNumbers) {
  const ShorterCase cases[] = {
      {"x*x == 49", "x == 7", 0},
      {"x*x == 50", "0", 0},
      {"x*x < 50", "x < 8", 0},
      {"x*x <= 49", "x < 8", 0},
      {"50 <= x*x", "7 < x", 0},
      {"x*x < 50", "-8 < x", {}, 0},
      {"x*x < 50", "x*x < 50"},
      {"x*x == 49", "x*x == 49"},
      {"x*x == -4", "0"},
      {"x*x + 25 == 10*x", "x == 5"},
      {"x*x + y*y == 2*x*y", "x == y"},
      {"x*x + y*y < 2*x*y", "0"},
      {"x <= x*x", "1"},
      {"x*x - 6*x + 8 < 0", "x == 3"},
  };
  expect(cases);
}

TEST(Shorter, RemaindersOfRemaindersByNamedDivisors) {
  const ShorterCase cases[] = {
      {"x%(y*z)%y", "x%y", 1},
      {"(x%y + z)%y", "(x + z)%y", 1},
      {"x%y*z%y", "x*z%y", 1},
      {"(x - x%y)//y", "x//y", 1},
      {"x%(y*z)//y", "x//y%z", 1},
      {"x%(6*y)%4", "x%(y*6)%4", 1},
      {"x%(8*y)%4", "x%4", 1},
      {"x%y%(y*z)", "x%y", 1},
      {"(z*y + x - x%y)//y", "z + x//y", 1},
  };
  expect(cases);
}

TEST(Shorter, MasksOfTwoRemainders) {
  const ShorterCase cases[] = {
      {"x//4%5 == 2 and x%4 == 1", "x%20 == 9"}, {"x%9 < 3 and x%3 == 1", "x%9 == 1"},
      {"x%3 == 1 and x%9 < 2", "x%9 == 1"},      {"x%2 == 1 and x%3 == 2", "x%6 == 5"},
      {"x%7 == 3 and not x%2", "x%14 == 10"},    {"x%3 != 0 and x%3 != 1", "x%3 == 2"},
      {"x%3 != 0 and x%3 < 2", "x%3 == 1"},      {"x%12 < 5 and x%4 == 0", "x%12 < 5 and x%4 == 0"},
  };
  expect(cases);
}

}  // namespace
}  // namespace touchstone::symbolic
