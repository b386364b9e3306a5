// C's division: drawn expressions against the machine's own / and %, and the share of small forms.
#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <iostream>

#include <fmt/format.h>

#include "drawn.h"
#include "touchstone/symbolic/ask/session.h"
#include "touchstone/symbolic/certificate/certify.h"

namespace touchstone::symbolic {
namespace {

constexpr std::int64_t kFar = 1'000'000;

/// An expression as text and as a C++ function of x, y and n; n is positive.
struct Mixed {
  using Place = std::array<std::int64_t, 3>;
  std::string text;
  std::function<std::int64_t(const Place&)> value;
};

class Drawing {
 public:
  explicit Drawing(std::uint64_t index) : chooser_(57, index) {}

  Mixed number(int depth) {
    if (depth == 0) return leaf();
    const Mixed a = number(depth - 1);
    const auto with = [&](const char* pattern, const Mixed& b, auto apply) {
      return Mixed{fmt::format(fmt::runtime(pattern), a.text, b.text),
                   [f = a.value, g = b.value, apply](const Mixed::Place& at) {
                     return apply(f(at), g(at));
                   }};
    };
    switch (chooser_.below(9)) {
      case 0:
      case 1: return with("tdiv({}, {})", divisor(), [](auto p, auto q) { return p / q; });
      case 2:
      case 3: return with("tmod({}, {})", divisor(), [](auto p, auto q) { return p % q; });
      case 4: return with("({} + {})", number(depth - 1), [](auto p, auto q) { return p + q; });
      case 5: return with("({} - {})", number(depth - 1), [](auto p, auto q) { return p - q; });
      case 6: return with("{}*{}", constant(1, 12), [](auto p, auto q) { return p * q; });
      case 7:
        return with("max({}, {})", number(depth - 1),
                    [](auto p, auto q) { return std::max(p, q); });
      default:
        return with("({} < {})", number(depth - 1),
                    [](auto p, auto q) { return std::int64_t{p < q}; });
    }
  }

 private:
  Mixed constant(std::int64_t from, std::int64_t to) {
    const std::int64_t c =
        from + static_cast<std::int64_t>(chooser_.below(static_cast<std::uint64_t>(to - from + 1)));
    return {std::to_string(c), [c](const Mixed::Place&) { return c; }};
  }
  Mixed leaf() {
    if (chooser_.chance(1, 4)) return constant(0, 16);
    const std::size_t i = chooser_.below(2);
    return {i == 0 ? "x" : "y", [i](const Mixed::Place& at) { return at[i]; }};
  }
  Mixed divisor() {
    if (chooser_.chance(1, 8)) return {"n", [](const Mixed::Place& at) { return at[2]; }};
    const Mixed c = constant(1, 12);
    if (!chooser_.chance(1, 6)) return c;
    return {"-" + c.text, [f = c.value](const Mixed::Place& at) { return -f(at); }};
  }

  fuzz::RandomChooser chooser_;
};

Question question(std::string text) {
  const auto from = [](std::int64_t lo) { return Interval{Int(lo), End()}; };
  return {{{"x", {}}, {"y", {}}, {"n", from(1)}, {"p", from(0)}, {"i", {}}}, {}, std::move(text)};
}

std::size_t size_of(const std::string& text) {
  Exprs exprs;
  return exprs.size(parse_expr(exprs, text));
}

}  // namespace

TEST(Truncating, DrawnExpressionsKeepTheValuesThatCComputes) {
  Session session;
  for (std::uint64_t index = 0; index < 1'500; ++index) {
    const Mixed drawn = Drawing(index).number(3);
    const bool narrow = index % 2 == 0;
    Question q = question(drawn.text);
    if (narrow) q.variables[0].second = {Int(-9), Int(30)};
    const Answer answer = session.answer(q);
    Exprs exprs;
    const Expr root = parse_expr(exprs, answer.text);
    Definition definition(exprs, root);
    const std::int64_t step = narrow ? 1 : 7;
    for (std::int64_t x = narrow ? -9 : -70; x <= (narrow ? 30 : 70); x += step)
      for (const std::int64_t y : {-kFar, std::int64_t{-25}, std::int64_t{-8}, std::int64_t{-1},
                                   std::int64_t{0}, std::int64_t{5}, std::int64_t{24}, kFar + 3})
        for (const std::int64_t n : {1, 3, 40}) {
          const std::int64_t want = drawn.value({x, y, n});
          const auto got = definition.at({{"x", x}, {"y", y}, {"n", n}});
          ASSERT_TRUE(got && *got == Int(want))
              << drawn.text << " is " << want << " at " << x << ", " << y << ", " << n << "; not "
              << answer.text;
          ASSERT_TRUE(!answer.bounds.lo || *answer.bounds.lo <= Int(want)) << drawn.text;
          ASSERT_TRUE(!answer.bounds.hi || Int(want) <= *answer.bounds.hi) << drawn.text;
        }
  }
}

TEST(Truncating, AnswersHaveCertificates) {
  for (std::uint64_t index = 0; index < 260; ++index) {
    Question q = question(Drawing(2'000 + index).number(3).text);
    q.variables[2].second = {Int(-5), End()};  // n, of unknown sign
    EXPECT_EQ(certify(q).missing, "") << q.text;
  }
}

// Pairs of a question and a small form; {0} and {1} are numbers above 1, {2} is their product.
TEST(Truncating, FamiliesReachTheirSmallForms) {
  constexpr std::pair<const char*, const char*> kFamilies[] = {
      {"tdiv(tdiv(x, {0}), {1})", "tdiv(x, {2})"},
      {"tdiv(tdiv(x, n), {1})", "tdiv(x, n*{1})"},
      {"x - tdiv(x, {0})*{0}", "tmod(x, {0})"},
      {"x - n*tdiv(x, n)", "tmod(x, n)"},
      {"y + x*{1} - tdiv(x*{1}, {0})*{0}", "y + tmod(x*{1}, {0})"},
      {"tdiv(x, {0})*{0} + tmod(x, {0})", "x"},
      {"tdiv(x + y, n)*n + tmod(x + y, n)", "x + y"},
      {"tmod(tmod(x, {2}), {0})", "tmod(x, {0})"},
      {"tmod(tmod(x, n*{1}), n)", "tmod(x, n)"},
      {"tdiv(x, {0}) < {1}", "x < {2}"},
      {"tdiv(x, {0}) <= -{1}", "x <= -{2}"},
      {"{1} <= tdiv(x, {0})", "{2} <= x"},
      {"-{1} < tdiv(x, {0})", "-{2} < x"},
      {"tdiv(x, {0}) == {1}", "x//{0} == {1}"},
      {"tmod(x, {0}) == 0", "x%{0} == 0"},
      {"tmod(x, n) == 0", "x%n == 0"},
      {"tdiv(x*{2}, {0})", "x*{1}"},
      {"tdiv(x*{0}, {2})", "tdiv(x, {1})"},
      {"tmod(x*{0}, {2})", "tmod(x, {1})*{0}"},
      {"tdiv(x*n, n)", "x"},
      {"tmod(x*n, n)", "0"},
      {"tdiv(x*n*{0}, n*{2})", "tdiv(x, {1})"},
      {"(tmod(x, {0}) + {0})%{0}", "x%{0}"},
      {"tmod(tmod(x, {0}) + {0}, {0})", "x%{0}"},
      {"tmod(tmod(x, {0}) + {2}, {0})", "x%{0}"},
      {"where(tmod(x, {0}) < 0, tmod(x, {0}) + {0}, tmod(x, {0}))", "x%{0}"},
      {"tdiv(x, {0}) - (tmod(x, {0}) < 0)", "x//{0}"},
      {"tdiv(x, {0}) - where(x < 0 and tmod(x, {0}) != 0, 1, 0)", "x//{0}"},
      {"tdiv(x, {0}) + (0 < tmod(x, {0}))", "-(-x//{0})"},
      {"tdiv(x, n) - (tmod(x, n) < 0)", "x//n"},
      {"tdiv(tmod(x, {2}), {0})", "tmod(tdiv(x, {0}), {1})"},
      {"tmod(tdiv(x, {0}), {1})*{0} + tmod(x, {0})", "tmod(x, {2})"},
      {"tdiv(x, {2})*{2} + tdiv(tmod(x, {2}), {0})*{0} + tmod(x, {0})", "x"},
      {"tdiv(p, {0})", "p//{0}"},
      {"tmod(p, {0})", "p%{0}"},
      {"tdiv(p*{0} + p%{0}, {0})", "p"},
      {"tdiv(p*{0} + tmod(p, {0}), {2})", "p//{1}"},
      {"tdiv(-p, {0})", "-(p//{0})"},
      {"tdiv(p, -{0})", "-(p//{0})"},
      {"tmod(-p, -{0})", "-(p%{0})"},
      {"tdiv(p, n)*n + tmod(p, n)", "p"},
      {"tdiv(tmod(x, {0}), {0})", "0"},
      {"tmod(tmod(x, {0}), {2})", "tmod(x, {0})"},
      {"tdiv(x%{0}, {0})", "0"},
      {"tmod(x%{0}, {2})", "x%{0}"},
      {"tmod(x, {0}) < {0}", "1"},
      {"-{0} < tmod(x, {0})", "1"},
      {"tmod(x, n) < n", "1"},
      {"-n < tmod(x, n)", "1"},
      {"max(tdiv(x, {0}), tdiv(y, {0}))", "tdiv(max(x, y), {0})"},
      {"min(tdiv(x, {0}), tdiv(y, {0}))", "tdiv(min(x, y), {0})"},
      {"max(tdiv(x, {0}), tdiv(x + {1}, {0}))", "tdiv(x + {1}, {0})"},
      {"tdiv(x*{0} + y*{2}, {0})", "x + y*{1}"},
      {"tdiv(x*x, {0})", "x*x//{0}"},
      {"tdiv(max(x, 0), {0})", "max(x, 0)//{0}"},
      {"where(x < 0, 0, tdiv(x, {0}))", "max(x//{0}, 0)"},
      {"where(0 <= x, tdiv(x, {0})*{0} + tmod(x, {0}), y)", "where(0 <= x, x, y)"},
      {"where(-{0} < x and x < {0}, tdiv(x, {0}), 0)", "0"},
      {"tdiv(x, {0}) - tdiv(x, {0}) + tmod(x, 1)", "0"},
      {"tdiv(x, {0})*{1} + tdiv(x, {0})", "tdiv(x, {0})*({1} + 1)"},
  };
  Session session;
  int reached = 0, asked = 0;
  for (const auto& [in, out] : kFamilies)
    for (const auto& [a, b] : {std::pair(2, 3), {8, 4}, {12, 5}, {7, 16}}) {
      const auto with = [&, a = a, b = b](const char* text) {
        return fmt::format(fmt::runtime(text), a, b, a * b);
      };
      for (const bool beside : {false, true}) {  // an unbounded variable
        const std::string more = beside ? " + i" : "", want = "(" + with(out) + ")" + more;
        const Answer answer = session.answer(question("(" + with(in) + ")" + more));
        ++asked;
        if (answer.size <= size_of(want))
          ++reached;
        else
          std::cout << with(in) << more << " is " << answer.text << ", not " << want << "\n";
      }
    }
  std::cout << reached << " of " << asked << " small forms are reached\n";
  EXPECT_GE(reached * 100, asked * 97);
}

}  // namespace touchstone::symbolic
