// Conditions on remainders of one number: those that hold at the same points share one form if that
// is one remainder, and all keep their values.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <numeric>
#include <string>

#include <fmt/format.h>

#include "../support/traced_draws.h"
#include "touchstone/symbolic/node/context.h"
#include "touchstone/symbolic/node/node.h"

namespace touchstone::symbolic {
namespace {

using Names = std::map<std::string, Node>;

std::int64_t floor_remainder(std::int64_t a, std::int64_t b) { return ((a % b) + b) % b; }
std::int64_t floor_quotient(std::int64_t a, std::int64_t b) {
  return (a - floor_remainder(a, b)) / b;
}

/// The remainders modulo `period` for which a condition holds.
std::vector<int> met(int period, const std::function<bool(int)>& holds) {
  std::vector<int> found;
  for (int x = 0; x < period; ++x)
    if (holds(x)) found.push_back(x);
  return found;
}

class Remainders : public testing::Test {
 protected:
  Node read(const std::string& text) const { return parse(text, names_); }
  const Names names_ = {{"x", variable("x", std::nullopt, std::nullopt)}};
};

TEST_F(Remainders, TwoThatMeetOnceAreOne) {
  int pairs = 0;
  for (const int c : {2, 3, 4})
    for (int d = 2; d <= 16; ++d) {
      const int common = std::gcd(c, d), period = c * d / common;
      if (c == 4 && d == 2) continue;
      for (int k = 0; k < c; ++k)
        for (int m = 0; m < d; ++m, ++pairs) {
          const auto at = met(period, [&](int x) { return x % c == k && x % d == m; });
          ASSERT_LE(at.size(), 1U);
          const Node one =
              at.empty() ? read("0") : read(fmt::format("x % {} == {}", period, at[0]));
          EXPECT_EQ(read(fmt::format("x % {} == {} and x % {} == {}", c, k, d, m)), one)
              << c << " " << k << " " << d << " " << m;
          EXPECT_EQ(read(fmt::format("(x + 5) % {} == {} and (x + 5) % {} == {}", d, m, c, k)),
                    at.empty() ? one : read(fmt::format("(x + 5) % {} == {}", period, at[0])));
        }
    }
  EXPECT_GT(pairs, 1'000);
}

TEST_F(Remainders, ALimitThatLeavesOneIsThatOne) {
  int left = 0;
  for (int c = 2; c <= 5; ++c)
    for (int d = 2; d <= 4; ++d)
      for (int k = 0; k < c; ++k)
        for (int m = 0; m < c * d; ++m)
          for (const char* const limit : {"<", ">", "!="}) {
            const auto at = met(c * d, [&](int x) {
              return x % c == k && (*limit == '<' ? x < m : *limit == '>' ? x > m : x != m);
            });
            if (at.size() != 1) continue;
            ++left;
            EXPECT_EQ(read(fmt::format("x % {} == {} and x % {} {} {}", c, k, c * d, limit, m)),
                      read(fmt::format("x % {} == {}", c * d, at[0])))
                << c << " " << d << " " << k << limit << m;
          }
  EXPECT_GT(left, 200);
}

TEST_F(Remainders, TheTopDigitOfOneIsALimitOfIt) {
  for (int c = 2; c <= 5; ++c)
    for (int d = 3; d <= 5; ++d) {
      const auto digit = [&](const char* text, int k) {
        return read(fmt::format("x // {} % {} {} {}", c, d, text, k));
      };
      const auto limit = [&](const char* text, int k) {
        return read(fmt::format("x % {} {} {}", c * d, text, k));
      };
      for (int k = 1; k < d; ++k) {
        EXPECT_EQ(digit("<", k), limit("<", c * k));
        EXPECT_EQ(digit(">=", k), limit(">=", c * k));
      }
      EXPECT_EQ(digit("==", 0), limit("<", c));
      EXPECT_EQ(digit("!=", 0), limit(">=", c));
      EXPECT_EQ(digit("==", d - 1), limit(">=", c * d - c));
      EXPECT_EQ(digit("!=", d - 1), limit("<", c * d - c));
      EXPECT_EQ(read(fmt::format("x % {} // {} == 0", c * d, c)), limit("<", c));
    }
}

// A condition on a remainder, a digit or a quotient of one of four variables.
struct Part {
  int variable, a, c, k, kind, relation;

  std::string str() const {
    const std::string v(1, "wxyz"[variable]);
    const std::string value = kind == 0   ? fmt::format("{} % {}", v, c)
                              : kind == 1 ? fmt::format("{} // {} % {}", v, a, c)
                                          : fmt::format("{} // {}", v, a);
    static constexpr const char* kRelations[] = {"==", "!=", "<", ">"};
    return fmt::format("{} {} {}", value, kRelations[relation], k);
  }
  bool at(const Values& point) const {
    const std::int64_t x = point.at(std::string(1, "wxyz"[variable]));
    const std::int64_t v = kind == 0   ? floor_remainder(x, c)
                           : kind == 1 ? floor_remainder(floor_quotient(x, a), c)
                                       : floor_quotient(x, a);
    return relation == 0 ? v == k : relation == 1 ? v != k : relation == 2 ? v < k : v > k;
  }
};

TEST(RemainderConditions, HaveTheirValueAtEveryPoint) {
  test::TracedDraws random(24);
  Names names;
  for (const char* name : {"w", "x", "y", "z"}) names.emplace(name, variable(name, -13, 23));
  for (int round = 0; round < 3'000; ++round) {
    const int parts = round % 50 == 0 ? 200 : 2 + random.index(4);
    const std::size_t variables = 1 + random.below(4);
    const bool all = random.chance(1, 2);
    std::vector<Part> list;
    std::string text;
    for (int i = 0; i < parts; ++i) {
      const std::size_t c = 2 + random.below(7);
      list.push_back({random.index(variables), 2 + random.index(3), static_cast<int>(c),
                      random.index(c), random.index(3), random.index(4)});
      text += (i == 0 ? "" : all ? " and " : " or ") + list.back().str();
    }
    const Node node = parse(text, names);
    for (std::int64_t p = 0; p < 37; ++p) {
      Values point{{"w", p - 13}};
      for (const char* name : {"x", "y", "z"}) point.emplace(name, random.index(37) - 13);
      for (const char* name : {"x", "y", "z"})
        if (variables == 1) point[name] = 0;
      const auto holds = [&](const Part& part) { return part.at(point); };
      const bool value = all ? std::ranges::all_of(list, holds) : std::ranges::any_of(list, holds);
      ASSERT_EQ(evaluate(node, point), value ? 1 : 0) << text << "\n" << render(node);
    }
  }
}

// A sum of products with remainders, and the same with each rewritten by its quotient.
TEST(ProductsWithRemainders, AreOneFormByRemaindersAndByQuotients) {
  test::TracedDraws random(11);
  Context context;
  const std::map<std::string, Node> names{{"n", context.variable("n", 0, 30)},
                                          {"m", context.variable("m", 0, 9)}};
  int apart = 0;
  for (int round = 0; round < 400; ++round) {
    const int c = 2 + random.index(3);
    const std::string quotient = fmt::format("(n//{})", c), remainder = fmt::format("(n%{})", c);
    const std::string opened = fmt::format("(n - {}*{})", c, quotient);
    const std::string atoms[] = {"n", "m", quotient, remainder};
    std::string texts[2];
    for (int left = 1 + random.index(4); left >= 0; --left) {
      const std::string coef = std::to_string(random.index(9) - 4), one = atoms[random.index(4)],
                        two = atoms[random.index(4)];
      for (const bool open : {false, true}) {
        const auto spelled = [&](const std::string& a) {
          return open && a == remainder ? opened : a;
        };
        texts[open ? 1 : 0] += fmt::format("({})*{}*{} + ", coef, spelled(one), spelled(two));
      }
    }
    const int divisor = 1 + random.index(2) * c;
    for (std::string& text : texts) text = fmt::format("({}5)//{}", text, divisor);
    const Node one = parse(texts[0], names), two = parse(texts[1], names);
    for (int n = 0; n <= 30; ++n)
      for (int m = 0; m <= 9; m += 3) {
        const Values at{{"n", n}, {"m", m}};
        ASSERT_EQ(evaluate(one, at), evaluate(two, at)) << texts[0];
      }
    if (one == two) continue;
    ++apart;
    if (std::getenv("TOUCHSTONE_SHOW") != nullptr)
      std::printf("%s is %s, and %s\n", texts[0].c_str(), render(one).c_str(), render(two).c_str());
  }
  EXPECT_EQ(apart, 0);
}

}  // namespace
}  // namespace touchstone::symbolic
