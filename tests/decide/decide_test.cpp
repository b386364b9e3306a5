// Claims about index arithmetic of the kind that people ask about in the trackers of tensor
// compilers, and drawn claims against every point of small boxes.
#include "touchstone/decide/decide.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>

#include <fmt/format.h>

#include "touchstone/fuzz/choice/chooser.h"
#include "touchstone/symbolic/certificate/certify.h"
#include "touchstone/symbolic/node/node.h"

namespace touchstone::decide {
namespace {

using prove::Proof;
using prove::Verdict;
using symbolic::Int;
using symbolic::Interval;
using symbolic::Question;

struct Asked {
  const char *ranges, *facts, *claim;  // "i=0..31 n=1..", "a < b; c == 2"
  bool holds;
};

// clang-format off
constexpr Asked kAsked[] = {
    // Powers, products, parity.
    {"x=..", "", "x*x*x*x%16 == x%2", true},
    {"x=..", "", "x*x*x%8 == x%8", false},
    {"x=..", "", "(x*x*x - x)%6 == 0", true},
    {"x=.. y=..", "", "(x + y)*(x + y + 1)//2*2 == (x + y)*(x + y + 1)", true},
    {"x=..", "", "x*x%3 < 2", true},
    {"x=.. y=..", "", "(x*x + y*y)%4 != 3", true},
    {"x=.. y=..", "", "(x*x + y*y)%5 != 3", false},
    {"i=0.. n=1..", "i < n", "i*(i - 1)//2 + i < n*(n + 1)//2", true},
    // Splits and fused loops.
    {"o=0..15 i=0..7", "", "(o*8 + i)//8 == o and (o*8 + i)%8 == i", true},
    {"o=0.. i=0.. n=1..", "i < n", "(o*n + i)//n == o", true},
    {"o=0.. i=0..", "i < 7; o*7 + i < 100", "o <= 14", true},
    {"o=0.. i=0..", "i < 7; o*7 + i < 100", "o <= 13", false},
    {"f=0..", "f < 12*35", "f//35 < 12 and f%35//5 < 7 and f%5 < 5", true},
    {"f=0.. m=1.. n=1..", "f < m*n", "f//n < m", true},
    {"f=0.. m=1.. n=1..", "f < m*n", "f//n < m - 1", false},
    {"f=0.. n=1..", "", "f//n*n + f%n == f", true},
    {"x=0.. a=1..9 b=1..9", "", "x//a//b == x//(a*b)", true},
    {"x=.. a=1..9 b=1..9", "", "x//a//b == x//b//a", true},
    {"x=..", "", "x//-3 == -(x//3)", false},
    // Tails of tiles, ceilings.
    {"n=1..", "", "(n + 63)//64*64 - n < 64", true},
    {"n=1..", "", "(n + 63)//64*64 >= n", true},
    {"n=1.. t=1..", "", "(n + t - 1)//t*t >= n", true},
    {"n=1.. t=1..", "", "(n + t - 1)//t*t < n + t", true},
    {"n=1.. t=1..", "", "(n + t - 1)//t - n//t == (n%t != 0)", true},
    {"n=0.. t=1..", "", "(n + t)//t == (n + t - 1)//t", false},
    {"b=0.. n=1..", "b < (n + 127)//128", "min(128, n - b*128) >= 1", true},
    {"b=0.. n=1..", "b < n//128", "min(128, n - b*128) == 128", true},
    {"b=0.. n=1..", "b < (n + 127)//128", "min(128, n - b*128) == 128", false},
    {"i=0.. k=1..", "i*64 < k", "k - i*64 >= 1", true},
    {"x=..", "", "-(-x//8) == (x + 7)//8", true},
    {"x=..", "", "-(-x//8) == x//8 + 1", false},
    // Grouped program ids.
    {"p=0.. m=1.. g=1..", "", "p%(g*m)//g < m", true},
    {"p=0..", "", "p//64*8 + p%8 >= p//8 - 7", true},
    {"p=0.. s=1..8", "p < s*16", "p%16 + p//16*16 == p", true},
    {"p=0.. h=1.. w=1..", "p < h*w", "p//w*w <= h*w - w", true},
    // Masks, padding, convolutions.
    {"y=0..223 r=0..2", "", "0 <= y + r - 1 and y + r - 1 < 224", false},
    {"y=1..222 r=0..2", "", "0 <= y + r - 1 and y + r - 1 < 224", true},
    {"y=0..111 r=0..6", "", "y*2 + r - 3 < 224", false},
    {"y=0..55 r=0..2", "", "y*4 + r*2 < 225", true},
    {"i=.. n=0..", "", "max(0, min(i, n - 1)) < max(n, 1)", true},
    {"i=..", "", "(i >= 0 and i < 10) == (max(0, min(i, 9)) == i)", true},
    {"i=..", "", "where(i < 0, i + 10, i)%10 == i%10", true},
    {"i=-10..9", "", "where(i < 0, i + 10, i) < 10", true},
    {"i=-11..9", "", "where(i < 0, i + 10, i) >= 0", false},
    // Shapes with names.
    {"n=2..", "n%8 == 0", "n//8*8 == n", true},
    {"n=2..", "n%8 == 0", "n%16 == 0", false},
    {"n=2..", "n%8 == 4", "n//4%2 == 1", true},
    {"a=1.. b=1..", "a == b + 3", "a//3 == b//3 + 1", true},
    {"a=1.. b=1.. c=1..", "a <= b; b < c", "a < c", true},
    {"a=1.. b=1..", "a*b == 12", "a <= 12", true},
    {"a=1.. b=1..", "a*b == 12", "a <= 6", false},
    {"a=.. b=..", "a == 2 or a == 6", "a%4 == 2", true},
    {"a=.. b=..", "max(a, b) <= 4", "a + b <= 8", true},
    {"s=1.. t=1..", "s%t == 0", "s >= t", true},
    {"a=.. b=..", "(a - b)%4 == 0", "a%4 == b%4", true},
    // Bit tricks as digits, swizzles, rotations.
    {"x=0..255", "", "x%16*16 + x//16 < 256", true},
    {"x=0..7", "", "x%2*4 + x//2%2*2 + x//4 == x", false},
    {"r=0..7 c=0..7", "", "(r + c)%8 == where(r + c < 8, r + c, r + c - 8)", true},
    {"x=0..63 s=0..63", "", "((x + s)%64 - s)%64 == x", true},
    {"x=..", "", "x - tdiv(x, 8)*8 == x%8", false},
    {"x=.. d=..", "", "tdiv(x, d)*d + tmod(x, d) == x", true},
    {"x=0.. d=..", "", "tmod(x, d) <= x", true},
};
// clang-format on

Question question(const Asked& asked) {
  Question q{{}, {}, asked.claim};
  const auto end = [](const std::string& text) {
    return text.empty() ? symbolic::End() : symbolic::End(Int::from_digits(text));
  };
  std::istringstream words(asked.ranges);
  for (std::string w; words >> w;) {
    const auto equals = w.find('='), dots = w.find("..");
    q.variables.emplace_back(
        w.substr(0, equals),
        Interval{end(w.substr(equals + 1, dots - equals - 1)), end(w.substr(dots + 2))});
  }
  std::istringstream facts(asked.facts);
  for (std::string f; std::getline(facts, f, ';');) q.assumptions.push_back(f);
  return q;
}

using Point = std::map<std::string, symbolic::Node>;

/// By building nodes, which the service's search does not.
std::optional<bool> truth(const std::string& text, const Point& at) {
  try {
    return symbolic::parse(text, at).constant() != Int(0);
  } catch (const Error&) {
    return std::nullopt;  // divides by 0
  }
}

/// True if the answer is `holds` and comes with what it promises.
std::string flaw(const Question& q, const Proof& proof) {
  if (proof.counterexample) {
    Point at;
    for (const auto& [name, value] : proof.counterexample->point)
      at.emplace(name, symbolic::parse(value.str(), {}));
    for (const auto& [name, range] : q.variables) {
      const Int value = at.contains(name) ? *at.at(name).constant() : Int(0);
      if (at.contains(name) && ((range.lo && value < *range.lo) || (range.hi && value > *range.hi)))
        return "outside the ranges";
    }
    for (const std::string& fact : q.assumptions)
      if (truth(fact, at) != true) return "outside the facts";
    return truth(q.text, at) == false ? "" : "no counterexample";
  }
  std::istringstream lines(proof.certificate);
  for (std::string line; std::getline(lines, line);)
    if (symbolic::check_certificate(line).outcome != symbolic::CertificateCheck::Outcome::Right)
      return "wrong certificate " + line;
  return proof.certificate.empty() && proof.confirmed.empty() ? "nothing confirms it" : "";
}

TEST(Decide, ClaimsOfTensorCompilers) {
  Decider decider;
  std::map<std::string_view, int> by;
  int open = 0;
  for (const Asked& asked : kAsked) {
    const Question q = question(asked);
    const Proof proof = decider.decide(q);
    if (std::getenv("TOUCHSTONE_SHOW") != nullptr)
      std::cout << fmt::format("{:.3f} s  {}  {}\n", proof.seconds, asked.claim, words_of(proof));
    if (proof.verdict == Verdict::Unknown) {
      ++open;
      std::cout << asked.claim << ": " << words_of(proof) << "\n";
      continue;
    }
    ++by[name_of(proof.method)];
    EXPECT_EQ(proof.verdict == Verdict::Proved, asked.holds) << asked.claim;
    EXPECT_EQ(flaw(q, proof), "") << asked.claim;
  }
  std::cout << std::size(kAsked) - static_cast<std::size_t>(open) << " of " << std::size(kAsked)
            << " decided";
  for (const auto& [method, count] : by) std::cout << ", " << count << " by " << method;
  std::cout << "\n";
  EXPECT_EQ(open, 0);
}

/// Draws comparisons of small expressions.
class Drawing {
 public:
  explicit Drawing(std::uint64_t index) : chooser_(91, index) {}

  std::string condition(int depth) {
    const char* const kCompare[] = {"<", "<=", "==", "!="};
    const std::string c =
        fmt::format("{} {} {}", number(depth), kCompare[chooser_.below(4)], number(depth - 1));
    if (depth < 2 || !chooser_.chance(1, 4)) return c;
    return fmt::format("({}) {} ({})", c, chooser_.chance(1, 2) ? "and" : "or", condition(1));
  }

  Question question() {
    Question q;
    for (const char* name : {"x", "y", "z"}) {
      const int lo = static_cast<int>(chooser_.below(9)) - 4;
      q.variables.emplace_back(name,
                               Interval{Int(lo), Int(lo + static_cast<int>(chooser_.below(6)))});
    }
    if (chooser_.chance(1, 3)) q.assumptions.push_back(condition(1));
    q.text = condition(2);
    return q;
  }

 private:
  std::string number(int depth) {
    if (depth == 0 || chooser_.chance(1, 5))
      return chooser_.chance(1, 4) ? std::to_string(chooser_.below(7))
                                   : std::string(1, "xyz"[chooser_.below(3)]);
    const std::string a = number(depth - 1);
    const std::string k = std::to_string(1 + chooser_.below(5));
    switch (chooser_.below(10)) {
      case 0: return fmt::format("({} + {})", a, number(depth - 1));
      case 1: return fmt::format("({} - {})", a, number(depth - 1));
      case 2: return fmt::format("{}*{}", k, a);
      case 3: return fmt::format("({})//{}", a, k);
      case 4: return fmt::format("({})%{}", a, k);
      case 5: return fmt::format("max({}, {})", a, number(depth - 1));
      case 6: return fmt::format("({})*({})", a, number(depth - 1));
      case 7: return fmt::format("tmod({}, {})", a, number(depth - 1));
      case 8: return fmt::format("({})//({})", a, number(depth - 1));
      default: return fmt::format("where({}, {}, {})", condition(1), a, number(depth - 1));
    }
  }

  fuzz::RandomChooser chooser_;
};

TEST(Decide, DrawnClaimsAsAllPointsDo) {
  const char* const cases = std::getenv("TOUCHSTONE_FUZZ_CASES");
  const std::uint64_t count = cases == nullptr ? 300 : std::strtoull(cases, nullptr, 10);
  Decider decider({{}, false});
  std::uint64_t proved = 0, refuted = 0, open = 0, certified = 0;
  for (std::uint64_t index = 0; index < count; ++index) {
    const Question q = Drawing(index).question();
    Proof proof;
    try {
      proof = decider.decide(q);
    } catch (const ParseError&) {  // facts that contradict each other, a certain division by 0
      continue;
    }
    // By definition: each operator at each point, through one number after the other.
    bool holds = true;
    prove::Exprs e;
    const prove::Expr root = symbolic::parse_expr(e, q.text);
    std::vector<prove::Expr> roots{root};
    for (const std::string& fact : q.assumptions) roots.push_back(symbolic::parse_expr(e, fact));
    symbolic::Evaluator values(e, roots, {"x", "y", "z"});
    const auto& v = q.variables;
    for (Int x = *v[0].second.lo; x <= *v[0].second.hi; x += 1)
      for (Int y = *v[1].second.lo; y <= *v[1].second.hi; y += 1)
        for (Int z = *v[2].second.lo; z <= *v[2].second.hi; z += 1) {
          const Int point[] = {x, y, z};
          values.at(point);
          const auto is = [&](prove::Expr at, bool zero) {
            return values.value(at) && values.value(at)->is_zero() == zero;
          };
          const bool met = roots.size() == 1 || is(roots[1], false);
          holds = holds && (!met || !is(root, true));
        }
    if (proof.verdict == Verdict::Unknown) {
      ++open;
      continue;
    }
    ASSERT_EQ(proof.verdict == Verdict::Proved, holds) << q.text;
    ASSERT_EQ(flaw(q, proof), "") << q.text;
    ++(holds ? proved : refuted);
    certified += proof.certificate.empty() ? 0 : 1;
  }
  std::cout << fmt::format("{} proved, {} of them with a certificate; {} refuted, {} open\n",
                           proved, certified, refuted, open);
  EXPECT_EQ(open, 0U);
}

TEST(Decide, SimplifiesByWhatItDecides) {
  Decider decider;
  const auto simplified = [&](const char* ranges, const char* facts, const char* text) {
    const symbolic::Answer a = decider.simplify(question({ranges, facts, text, true}));
    return a.text + " " + range_and_size(a);
  };
  EXPECT_EQ(simplified("x=.. y=0..9", "", "where(x*x*x*x%16 == x%2, y, 3)"), "y in [0, 9], size 1");
  EXPECT_EQ(simplified("x=..", "", "x*x%16"), "x*x%16 in [0, 9], size 5");
  EXPECT_EQ(simplified("x=..", "", "where(x < 3, 1, 0)"), "x < 3 in [0, 1], size 3");
  EXPECT_EQ(simplified("x=0..9 y=0..9", "", "where(x < 3 and y < x, 0, 1)"),
            "2 < x or x <= y in [0, 1], size 7");
}

TEST(Decide, AllPointsAreAProof) {
  Decider decider({{}, false});  // 160,000 points, more than the checker evaluates
  EXPECT_EQ(words_of(decider.decide(question({"x=0..399 y=0..399", "", "x*x*x + 7 != y*y", true}))),
            "true, by enumeration, all 160000 points");
}

TEST(Decide, AThreadRemembers) {
  const Question asked = question({"x=..", "", "x*x%3 < 2", true});
  const Proof first = Decider::of_thread(asked, 0), again = Decider::of_thread(asked, 0);
  EXPECT_EQ(first.verdict, Verdict::Proved);
  EXPECT_EQ(first.seconds, again.seconds);
  EXPECT_EQ(first.certificate, again.certificate);
}

TEST(Decide, SaysWhatWasTried) {
  Decider decider({{}, false});
  const Proof open =
      decider.decide(question({"x=.. y=.. z=1..", "", "x*x*x + y*y*y != z*z*z or x*y == 0", true}));
  EXPECT_EQ(open.verdict, Verdict::Unknown);
  EXPECT_NE(words_of(open).find("undecided: laws: it becomes "), std::string::npos)
      << words_of(open);
  EXPECT_EQ(words_of(decider.decide(question({"x=0..9", "", "x < 5", false}))), "false at x = 5");
}

}  // namespace
}  // namespace touchstone::decide
