// A number's digits recombine to the number, however each is spelled.
#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "../support/traced_draws.h"
#include "touchstone/symbolic/expr/evaluate.h"
#include "touchstone/symbolic/node/context.h"
#include "touchstone/symbolic/node/node.h"

namespace touchstone::symbolic {
namespace {

/// A linear expression, and the sum of its digits and the quotient above them, as text.
class Digits {
 public:
  explicit Digits(std::uint64_t index) : random_(20'261, index) {
    static constexpr int kFactors[] = {1, 1, -1, 2, 3, -2, 5, 7, -12};
    for (const char* name : {"x", "y", "z"})
      if (names_.empty() || random_.chance(1, 2)) names_.emplace_back(name);
    for (std::size_t i = 0; i < names_.size(); ++i)
      factors_.push_back(kFactors[random_.below(std::size(kFactors))]);
    constant_ = random_.index(41) - 20;
    static constexpr int kRadices[] = {2, 2, 3, 4, 5, 7, 8, 10};
    long low = 1;
    for (std::size_t left = 1 + random_.below(7); left > 0 && low < 1'000'000; --left) {
      const int radix = kRadices[random_.below(std::size(kRadices))];
      terms_.push_back(times(digit(low, radix), low));
      low *= radix;
    }
    terms_.push_back(random_.chance(1, 4)
                         ? times("-1 - (" + number(0, true) + ")//" + str(low), low)
                         : times("(" + number() + ")//" + str(low), low));
    random_.shuffle(terms_);
  }

  const std::vector<std::string>& names() const { return names_; }
  std::string whole() { return number(); }
  std::string text() const {
    std::string r;
    for (const std::string& t : terms_) r += (r.empty() ? "" : " + ") + t;
    return r;
  }

 private:
  static std::string str(long n) { return "(" + std::to_string(n) + ")"; }
  std::string times(const std::string& part, long n) {
    return random_.chance(1, 2) ? str(n) + "*(" + part + ")" : "(" + part + ")*" + str(n);
  }
  /// The number with any multiples of a period added to its parts; or its complement, -1 minus it.
  std::string number(long period = 0, bool complement = false) {
    const auto turns = [&] { return period * (random_.index(3) - 1); };
    const long sign = complement ? -1 : 1;
    std::vector<std::string> parts;
    for (std::size_t i = 0; i < names_.size(); ++i)
      parts.push_back(str(sign * factors_[i] + turns()) + "*" + names_[i]);
    parts.push_back(str(sign * constant_ - (complement ? 1 : 0) + turns()));
    random_.shuffle(parts);
    std::string r;
    for (const std::string& p : parts) r += (r.empty() ? "" : " + ") + p;
    return r;
  }
  std::string digit(long low, long radix) {
    const std::string from = "//" + str(low), turn = "%" + str(radix);
    switch (random_.below(4)) {
      case 0: return "(" + number(low * radix) + ")%" + str(low * radix) + from;
      case 1: return str(radix - 1) + " - (" + number(0, true) + ")" + from + turn;
      default: return "(" + number(low * radix) + ")" + from + turn;
    }
  }

  test::TracedDraws random_;
  std::vector<std::string> names_, terms_;
  std::vector<long> factors_;
  long constant_ = 0;
};

/// The draws that do not recombine.
std::vector<std::string> unlike(int draws, bool bounded) {
  std::vector<std::string> wrong;
  for (int i = 0; i < draws; ++i) {
    Digits d(static_cast<std::uint64_t>(i));
    test::TracedDraws random(1, static_cast<std::uint64_t>(i));
    std::map<std::string, Node> names;
    for (const std::string& name : d.names()) {
      const std::int64_t low = random.between(-9, 9);
      names.emplace(name, bounded ? variable(name, low, low + random.between(1, 30))
                                  : variable(name, std::nullopt, std::nullopt));
    }
    const Node want = parse(d.whole(), names), got = parse(d.text(), names);
    if (got != want) wrong.push_back(d.text());
  }
  return wrong;
}

// One draw is known not to join.
TEST(Digits, OfALinearNumberAreIt) {
  const std::vector<std::string> wrong = unlike(1'000, false);
  EXPECT_LE(wrong.size(), 1U) << wrong.back();
}

// Bounds rewrite some digits; not all of these are known to be equal.
TEST(Digits, OfABoundedNumberAreNearlyAlwaysIt) { EXPECT_LE(unlike(1'000, true).size(), 15U); }

// Recently found digits are cached: those of a branch, with more known facts, or of variables with
// other bounds must not match.
TEST(Digits, HoldWhereTheyAreAskedFor) {
  test::TracedDraws random(7);
  Context context;
  for (int round = 0; round < 200; ++round) {
    const int d = 2 + random.index(9), f = 1 + random.index(3), c = 1 + random.index(6),
              e = random.index(4);
    const int k = 1 + random.index(4), m = 1 + random.index(4), l = random.index(5);
    const std::string number = fmt::format("(x*{} + y*{} + z + {})", k, m, l);
    const std::string digits = fmt::format("({0}//{1} + {0}%{1}*{2})", number, d, f);
    const std::string text =
        fmt::format("where(x + y < {1}, {0}, 0) + {0} + where(z < {2}, 3, {0})", digits, c, e);
    for (const int most : {1, 4, 2}) {
      const std::map<std::string, Node> names{{"x", context.variable("x", 0, most)},
                                              {"y", context.variable("y", 0, 3)},
                                              {"z", context.variable("z", -1, most)}};
      const Node whole = parse(text, names);
      const Node part = simplify_under(whole, std::vector{parse("x + z < 2", names)});
      for (int i = 0; i < (most + 1) * 4 * (most + 2); ++i) {
        const int x = i % (most + 1), y = i / (most + 1) % 4, z = i / (most + 1) / 4 - 1;
        const int sum = k * x + m * y + z + l + d,
                  quotient = sum / d - 1;  // sum - d is at least -1
        const int both = quotient + sum % d * f;
        const int value = (x + y < c ? both : 0) + both + (z < e ? 3 : both);
        const Values at{{"x", x}, {"y", y}, {"z", z}};
        ASSERT_EQ(evaluate(whole, at), value) << text;
        if (x + z < 2) {
          ASSERT_EQ(evaluate(part, at), value) << text;
        }
      }
    }
  }
}

// Coefficients of a quotient count modulo the divisor: if some choice keeps the sum within one
// period, no division remains.
TEST(Digits, FallAwayWhereAnyResiduesKeepTheSumInAPeriod) {
  test::TracedDraws random(11);
  int fit = 0;
  for (int round = 0; round < 20'000; ++round) {
    struct Atom {
      int low, width, factor;
    };
    const int period = 2 + random.index(60), constant = random.index(200) - 100;
    std::vector<Atom> atoms(static_cast<std::size_t>(1 + random.index(5)));
    for (Atom& a : atoms)
      a = {random.index(9) - 4, random.chance(1, 3) ? 1 + random.index(4) : 1,
           random.index(200) - 100};
    bool fits = false;
    for (unsigned choice = 0; choice < 1U << atoms.size(); ++choice) {
      int least = constant, most = constant;
      for (std::size_t i = 0; i < atoms.size(); ++i) {
        const int rest = (atoms[i].factor % period + period) % period;
        const int k = (choice >> i & 1U) != 0 ? rest - period : rest;
        least += std::min(k * atoms[i].low, k * (atoms[i].low + atoms[i].width));
        most += std::max(k * atoms[i].low, k * (atoms[i].low + atoms[i].width));
      }
      fits |= least + 1000 * period >= 0 &&
              (least + 1000 * period) / period == (most + 1000 * period) / period;
    }
    if (!fits) continue;
    ++fit;
    Node sum = constant;
    std::string text = std::to_string(constant);
    for (std::size_t i = 0; i < atoms.size(); ++i) {
      const Atom& a = atoms[i];
      const std::string name(1, static_cast<char>('a' + i));
      sum = sum + variable(name, a.low, a.low + a.width) * a.factor;
      text += fmt::format(" + {}*{} of {}..{}", a.factor, name, a.low, a.low + a.width);
    }
    EXPECT_EQ(render(floor_div(sum, period)).find("//"), std::string::npos)
        << "(" << text << ")//" << period << " is " << render(floor_div(sum, period));
  }
  EXPECT_GT(fit, 500);
  std::cout << fit << " sums within a period\n";
}

TEST(Digits, OfTwoValuesAreTheNumberHoweverMany) {
  for (const int count : {8, 24, 32, 60}) {
    const Node x = variable("x", 0, (std::int64_t{1} << count) - 1);
    Node sum = 0;
    for (int i = 0; i < count; ++i)
      sum = sum + floor_mod(floor_div(x, Node(std::int64_t{1} << i)), 2) * (std::int64_t{1} << i);
    EXPECT_EQ(sum, x) << count;
  }
}

// One number takes the digits of two or three others, each in order: they can be extracted again.
TEST(Digits, OfSeveralNumbersComeBackOutOfATile) {
  constexpr int kDraws = 600;
  int unlike = 0;
  for (unsigned draw = 0; draw < kDraws; ++draw) {
    test::TracedDraws random(1, draw);
    struct Field {
      Node digit;
      std::int64_t size;
    };
    std::vector<std::vector<Field>> numbers;
    for (const char* name : {"p", "t", "w"}) {
      if (numbers.size() == 2 && random.chance(1, 2)) continue;
      const std::int64_t low = random.between(2, 8), high = random.between(2, 8),
                         top = random.between(2, 8);
      const bool three = random.chance(1, 3);
      const Node x = variable(name, 0, low * high * (three ? top : 1) - 1);
      std::vector<Field>& fields = numbers.emplace_back();
      fields.push_back({floor_mod(x, low), low});
      fields.push_back({three ? floor_mod(floor_div(x, low), high) : floor_div(x, low), high});
      if (three) fields.push_back({floor_div(x, low * high), top});
    }
    std::vector<Field> fields;
    while (!numbers.empty()) {
      auto& next = numbers[random.below(numbers.size())];
      fields.push_back(next.front());
      next.erase(next.begin());
      std::erase_if(numbers, [](const auto& n) { return n.empty(); });
    }
    Node all = 0;
    std::int64_t size = 1;
    for (const Field& f : fields) {
      all = all + f.digit * Node(size);
      size *= f.size;
    }
    std::int64_t below = 1;
    for (const Field& f : fields) {
      const Node got = floor_mod(floor_div(all, Node(below)), Node(f.size)),
                 other = floor_div(floor_mod(all, Node(below * f.size)), Node(below));
      below *= f.size;
      unlike += (got == f.digit ? 0 : 1) + (other == f.digit ? 0 : 1);
    }
  }
  EXPECT_EQ(unlike, 0);
}

TEST(Digits, ShiftsAndSignsMayDiffer) {
  const auto x = variable("x", std::nullopt, std::nullopt);
  const auto n = variable("n", 1, std::nullopt);
  const std::map<std::string, Node> names{{"x", x}, {"n", n}};
  const auto is = [&](const char* text, const char* want) {
    EXPECT_EQ(parse(text, names), parse(want, names)) << text;
  };
  is("(x + 3)//2*2 + (x + 3)%2", "x + 3");
  is("(2 - x)//3*3 + (2 - x)%3", "2 - x");
  is("x%3 + (2 - x)%3", "2");
  is("(x + 7)//8*8 - x", "-x%8");
  is("(x + n - 1)//n*n - x", "-x%n");
  is("n - 1 - (x - 1)%n", "-x%n");
  is("7 - (x + 7)%8", "-x%8");
}

// The product of two divisors shares a factor with the dividend that neither shares alone.
TEST(Quotients, OfQuotientsAreReducedByWhatTheirDivisorsShare) {
  Context context;
  const std::map<std::string, Node> names{{"x", context.variable("x", 1, 2)},
                                          {"y", context.variable("y", 1, 9)}};
  for (const char* text : {"2//x//(x + 1)", "6//y//(y*3)", "6*x//(2*y)//(x*y*3)"}) {
    const Node node = parse(text, names, context);
    EXPECT_EQ(parse(render(node), names, context), node) << text << ": " << render(node);
  }
  EXPECT_EQ(render(parse("2//x//(x + 1)", names, context)), "1//(x*2 - 1)");
}

// The first coefficient of a product of divisors does not determine its sign.
TEST(Quotients, OfQuotientsKnowTheSignOfTheirDivisors) {
  Context context;
  const std::map<std::string, Node> names{{"m", context.variable("m", 1, std::nullopt)},
                                          {"n", context.variable("n", 2, std::nullopt)},
                                          {"x", context.variable("x", 2, 20)}};
  const auto shown = [&](const char* text) { return render(parse(text, names, context)); };
  EXPECT_EQ(shown("(m - 1)//n//(m*2 - 1)"), "0");
  EXPECT_EQ(shown("(1 - m)//(n*(1 - m*2))"), "0");
  EXPECT_EQ(shown("(m - 1)%(n*(m*2 - 1))"), "m - 1");
  EXPECT_EQ(shown("(1 - m)%(n*(1 - m*2))"), "1 - m");
  EXPECT_FALSE(parse("(1 - m)//(n*(m*2 - 1))", names, context).is_constant());
  EXPECT_EQ(shown("(x*5)//(x*3 - 3)//(x*8 - 2)*5 + x"), "x");
}

// A dividend of a number's digits beside its quotient folds into one, and is not opened again.
TEST(Quotients, OfDigitsInAnotherOrderEnd) {
  for (std::uint64_t index = 0; index < 400; ++index) {
    test::TracedDraws random(20'262, index);
    Context context;
    const std::map<std::string, Node> names{{"a", context.variable("a", 0, 21)},
                                            {"b", context.variable("b", 0, 1)},
                                            {"n", context.variable("n", 0, 99)}};
    const auto any = [&](const std::vector<int>& of) { return of[random.below(of.size())]; };
    const std::string number = random.chance(1, 2)
                                   ? "(a + (b + a//2)*2)"
                                   : fmt::format("(n*{} + a*2 + b)", any({4, 15, 120}));
    const int low = any({2, 3, 4, 10, 11}), turn = any({2, 3, 5});
    const std::string text = fmt::format(
        "({} + {}*({}//{}) + {}*({}%{}) + {}*({}//{}%{})){}{}", any({0, 12, -4, 110}), any({-1, 1}),
        number, low * turn, any({1, 3, 4, 6}), number, low, any({1, 2, 6, 18}), number, low, turn,
        any({0, 1}) != 0 ? "//" : "%", any({2, 15, 16, 25}));
    const Node node = parse(text, names, context);
    Exprs written;
    const Expr plain = parse_expr(written, text);
    Evaluator by_definition(written, {plain}, {"a", "b", "n"});
    for (int i = 0; i < 40; ++i) {
      const std::int64_t a = random.between(0, 21), b = random.between(0, 1),
                         n = random.between(0, 99);
      by_definition.at(std::vector<Int>{a, b, n});
      ASSERT_EQ(Int(evaluate(node, {{"a", a}, {"b", b}, {"n", n}})), by_definition.value(plain))
          << text << ": " << render(node);
    }
  }
}

}  // namespace
}  // namespace touchstone::symbolic
