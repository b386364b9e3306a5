#include "touchstone/symbolic/ask/question.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <sstream>

#include <nlohmann/json.hpp>

#include "../support/error_of.h"
#include "../support/sanitized.h"
#include "drawn.h"
#include "touchstone/base/file.h"
#include "touchstone/symbolic/expr/expr.h"

namespace touchstone::symbolic {
namespace {

Answer answer(const Question& question) {
  static Context scratch;
  return symbolic::answer(question, scratch);
}

Interval range(std::int64_t lo, std::int64_t hi) { return {Int(lo), Int(hi)}; }

std::string text(const Interval& i) {
  return (i.lo ? i.lo->str() : "open") + ".." + (i.hi ? i.hi->str() : "open");
}

/// Counts a printed expression as a reader would, from its text alone: operators, variables and
/// constants; a negative constant counts once.
std::size_t counted(const std::string& text) {
  std::size_t count = 0;
  bool operand_before = false;
  for (std::size_t i = 0; i < text.size();) {
    const auto word = [&](std::size_t from) {
      std::size_t end = from;
      while (end < text.size() && (std::isalnum(text[end]) || text[end] == '_')) ++end;
      return text.substr(from, end - from);
    };
    const std::string w = word(i);
    if (!w.empty()) {
      ++count;
      operand_before = w != "and" && w != "or" && w != "not";
      i += w.size();
    } else if (text[i] == '(' || text[i] == ')' || text[i] == ',') {
      operand_before = text[i++] == ')';
    } else if (text[i] == ' ' || (text[i] == '-' && !operand_before && std::isdigit(text[i + 1]))) {
      ++i;  // counts the number after a sign
    } else {
      const std::string two = text.substr(i, 2);
      i += two == "//" || two == "<=" || two == ">=" || two == "==" || two == "!=" ? 2 : 1;
      ++count;
      operand_before = false;
    }
  }
  return count;
}

TEST(CountedByHand, AgreesWithTheDefinition) {
  EXPECT_EQ(counted("a"), 1U);
  EXPECT_EQ(counted("-12"), 1U);
  EXPECT_EQ(counted("-a"), 2U);
  EXPECT_EQ(counted("a*-4 + b%3"), 7U);
  EXPECT_EQ(counted("a < 3 and b != 1 and not c"), 10U);
  EXPECT_EQ(counted("where(a <= 2, min(a, b), -(a//2))"), 11U);
}

TEST(Answer, HoldsTextSizeAndBounds) {
  const Answer a = answer({{{"a", range(0, 8)}}, {}, "a//2*2 + 0*a"});
  EXPECT_EQ(a.text, "a//2*2");
  EXPECT_EQ(a.size, 5U);
  EXPECT_EQ(a.bounds, range(0, 8));
  EXPECT_GT(a.ns, 0);
}

TEST(Answer, UsesTheAssumptionsForTheFormAndTheBounds) {
  const Answer a = answer({{{"a", range(0, 8)}, {"b", {}}}, {"a < 3", "b == a"}, "a//3 + a*2"});
  EXPECT_EQ(a.text, "a*2");
  EXPECT_EQ(text(a.bounds), "0..4");
  EXPECT_EQ(text(answer({{{"a", {}}}, {"a < 3", "-1 < a"}, "a*2"}).bounds), "0..4");
}

TEST(Answer, TakesNumbersOfAnyLength) {
  const Int huge = Int::from_digits("1" + std::string(200, '0'));
  const Answer a = answer({{{"a", {-huge, huge * 2}}}, {}, "a*3 - a"});
  EXPECT_EQ(a.text, "a*2");
  EXPECT_EQ(a.bounds, (Interval{huge * -2, huge * 4}));
}

TEST(Answer, LeavesNothingBehind) {
  const std::size_t before = Context::shared().size();
  answer({{{"a", range(0, 8)}}, {"a != 3"}, "a*7//3"});
  answer({{}, {}, "123456789 * 3"});
  EXPECT_EQ(Context::shared().size(), before);
}

TEST(Answer, NamesThePartAndTheColumnOfWhatIsWrong) {
  const auto error = [](const Question& q) { return test::error_of([&] { answer(q); }); };
  EXPECT_EQ(error({{}, {}, "3 + * 4"}).substr(0, 13), "in: column 5:");
  EXPECT_EQ(error({{{"a", {}}}, {"a < 3", "b < 3"}, "a"}).substr(0, 20), "assume[1]: column 1:");
  EXPECT_EQ(error({{{"a", range(3, 2)}}, {}, "a"}).substr(0, 5), "vars:");
  EXPECT_NE(error({{{"a", range(2, 3)}, {"a", range(2, 3)}}, {}, "a"}).find("twice"),
            std::string::npos);
  EXPECT_EQ(error({{{"not", {}}}, {}, "1"}).substr(0, 5), "vars:");
  EXPECT_NE(error({{{"a", {}}}, {"1 < 0"}, "a"}).find("never holds"), std::string::npos);
  EXPECT_NE(error({{{"a", range(0, 9)}}, {"a < 3", "a > 5"}, "a//2"}).find("contradict each other"),
            std::string::npos);
  EXPECT_NE(error({{}, {}, "3 // (2 - 2)"}).find("division by zero"), std::string::npos);
}

// The values at every point, against the answer's bounds.
TEST(AnswerBounds, AreExactOnBoxesThatCanBeEnumerated) {
  constexpr std::int64_t kMost = 600;
  int made = 0;
  for (std::uint64_t i = 0; i < 4'000; ++i) {
    const Drawn drawn(11, i);
    const auto all = drawn.all_points();
    if (!all || *all > kMost) continue;
    const Exprs& e = drawn.asked.exprs;
    Definition tree(e, drawn.asked.root);
    std::vector<Definition> given;
    for (const Expr a : drawn.asked.assumptions) given.emplace_back(e, a);
    Interval defined;  // of the tree as written, where defined
    bool met = false;
    for (const Point& at : drawn.points(kMost)) {
      const bool holds = std::ranges::all_of(given, [&](Definition& assumption) {
        const auto truth = assumption.at(at);
        return truth && !truth->is_zero();
      });
      if (!holds) continue;
      met = true;
      const auto v = tree.at(at);
      if (!v) continue;
      defined.lo = defined.lo ? smaller(*defined.lo, *v) : *v;
      defined.hi = defined.hi ? larger(*defined.hi, *v) : *v;
    }
    const Question q{drawn.ranges(), drawn.assumptions, drawn.root};
    if (!met) {
      EXPECT_NE(test::error_of([&] { answer(q); }), "no error") << drawn.text;
    }
    if (!defined.lo) continue;  // refusal is allowed
    const Answer a = answer(q);
    ++made;
    EXPECT_EQ(text(a.bounds), text(defined)) << drawn.text << " -> " << a.text;
    if (defined.is_point()) {
      EXPECT_EQ(a.text, defined.lo->str()) << drawn.text;
    }
  }
  EXPECT_GT(made, 1'000);
}

TEST(AnswerBounds, OfChoicesAndRemaindersOfOpenVariables) {
  struct Bounded {
    const char *text, *bounds;
    Interval x, y;
    std::vector<std::string> assumptions = {};
  };
  const Interval from_one{Int(1), End()}, any;
  const Bounded list[] = {
      {"min(x, 15)//3", "0..5", from_one, any},
      {"max(15 - x, 0)//3", "0..4", from_one, any},
      {"min(x, 15)//4 + 1", "1..4", from_one, any},
      {"where(x < 9, x, 9)//2", "0..4", from_one, any},
      {"tmod(x, y)", "-9..9", any, range(4, 10)},
      {"tmod(x, y)", "-9..9", any, range(-10, -4)},
      {"tmod(x, y)", "0..9", from_one, range(4, 10)},
      {"tmod(x, 7)", "-6..6", any, any},
      {"x*(3//x)", "2..4", range(-2, 3), any},
      {"x//x + x", "2..4", range(0, 3), any},
      {"3 % x * x", "0..2", range(-2, 2), any},
      {"x", "1..1", {Int(0), End()}, any, {"x//2 == 0", "x != 0"}},
      {"x + y", "4..6", range(0, 9), range(0, 9), {"5//(x*y) == 1"}},
      {"x", "1..9", range(0, 9), any, {"x//0 == 4 or 0 < x"}},
  };
  for (const Bounded& b : list) {
    const Answer a = answer({{{"x", b.x}, {"y", b.y}}, b.assumptions, b.text});
    EXPECT_EQ(text(a.bounds), b.bounds) << b.text << " -> " << a.text;
    if (a.bounds.is_point()) {
      EXPECT_EQ(a.text, a.bounds.lo->str()) << b.text;
    }
  }
}

TEST(Question, RefusesAssumptionsThatContradictEachOther) {
  const auto error = [](std::vector<std::string> assumptions) {
    Question q{{}, std::move(assumptions), "x + y"};
    for (const char* name : {"w", "x", "y", "z"}) q.variables.emplace_back(name, Interval());
    return test::error_of([&] { answer(q); });
  };
  const std::vector<std::string> contradictory[] = {
      {"x < y", "y < x"},
      {"x < y", "y < z", "z < w", "w < x"},
      {"x < y and y < x + 1"},
      {"x == y", "x != y"},
      {"x*2 + y*3 < 0", "y + x > 3", "x < 4", "y < 4", "x > 3"},
      {"x*2 == y*2 + 1"},
      {"x < 3", "not x < 3"},
      {"x%4 == 1", "x%4 == 2"},
      {"x//0 == 4 and x < 1"},
  };
  for (const auto& list : contradictory) EXPECT_NE(error(list), "no error") << list[0];
  EXPECT_EQ(error({"x < y", "y < z", "z < w", "w < x + 4"}), "no error");
  EXPECT_EQ(error({"x < y", "y < z", "z < w", "w < x + 3", "0 < 1"}).substr(0, 7), "assume:");
  EXPECT_NE(error({"x//0 == 4"}).find("division by zero"), std::string::npos);
}

TEST(Question, IsNoLongerForAPartThatNeverCounts) {
  Context context;
  const Question q{{{"n", range(0, 0)}, {"x", range(-99, 99)}, {"y", range(-9, 9)}},
                   {},
                   "where(n != 0, tmod(tdiv(x, n), n), tmod(tdiv(x, y), tmod(y, 4)))"};
  EXPECT_EQ(answer(q, context).text, "tmod(tdiv(x, y), tmod(y, 4))");
}

TEST(Question, AnswersWhatDividesByZeroInAPartThatNeverCounts) {
  const auto text_of = [](const char* text) {
    return answer({{{"x", range(0, 5)}, {"y", range(2, 2)}}, {}, text}).text;
  };
  EXPECT_EQ(text_of("x//0 == 4 and x < 1"), "0");
  EXPECT_EQ(text_of("x < 3 and x//(y - 2) == 4"), "0");
  EXPECT_EQ(text_of("x//0 == 4 or x < 1"), "1");
  EXPECT_EQ(text_of("where(x < 1, x%0, x*2)"), "x*2");
  EXPECT_EQ(text_of("where(x < 2, x*3, x + 3*tdiv(2, 0))"), "x*3");
  EXPECT_EQ(text_of("where(x < 1, x*2, x + 3*tdiv(2, 0))"), "0") << "the one value that there is";
  for (const char* nowhere :
       {"x//0", "1 + x//0*0", "x//0 == 4 and x%0 == 1", "where(x//0, 1, 2)", "max(x, x//0)",
        "not (x//0 < 1 or x//0 == 3)", "where(x < 1, x//0, x%0)", "x//0 and 3", "0 or x//0",
        "where(1, x//0, x)"})
    EXPECT_THROW(text_of(nowhere), ParseError) << nowhere;
}

// If the divisor is 0 at all points but one, that point decides; also for a truncated quotient.
TEST(Question, OfAQuotientWithAValueAtOnePointIsAnswered) {
  Context context;
  const std::vector<std::pair<std::string, Interval>> box{{"x", {Int(0), Int(8)}},
                                                          {"y", {Int(1), Int(9)}}};
  for (const char* text :
       {"tdiv(x//(x//-224 + 1), x*-222 + 1)", "tdiv(y//where(x == 0, 1, 0), 1 - x)",
        "tdiv(y//(1 - min(x, 1)), x*-2 + 1)", "y//(1 - min(x, 1))//(1 - x)"})
    EXPECT_NO_THROW(answer({box, {}, text}, context)) << text;
  EXPECT_EQ(answer({box, {}, "tdiv(x//(x//-224 + 1), x*-222 + 1)"}, context).text, "0");
}

// A condition that defines a part by a choice of that part reintroduced the choice forever.
TEST(Question, OfAChoiceThatItsConditionBringsBackEnds) {
  Context context;
  for (const int from : {-3, 0})
    for (const char* text :
         {"where(y%3, y, y*-2) == 0", "where(where(y%3, y, y*-2) == 0, where(y%3 == 0, y, 0), y)",
          "where(where(y%3, y, y*-2) == 0, y, 0) + where(y%3 == 0, y, 0)"}) {
      const Question q{{{"y", {Int(from), Int(3)}}}, {}, text};
      const Answer once = answer(q, context);
      EXPECT_EQ(answer({q.variables, {}, once.text}, context).bounds, once.bounds) << text;
      EXPECT_EQ(answer({q.variables, {"where(y%3, y, y*-2) == 0"}, "y"}, context).bounds,
                (Interval{Int(0), Int(0)}))
          << from;
    }
}

// A digit inside a remainder or a choice keeps its bounds.
TEST(Question, BoundsOfRemaindersInChoicesAndOfTilesStay) {
  Context context;
  const auto bounds = [&](const char* text) {
    const std::vector<std::pair<std::string, Interval>> box{
        {"z", {Int(0), std::nullopt}}, {"b", {}}, {"i", {Int(0), Int(9)}}};
    return answer({box, {}, text}, context).bounds;
  };
  EXPECT_EQ(bounds("where(z//2 == 3, 0, z%7)"), (Interval{Int(0), Int(6)}));
  EXPECT_EQ(bounds("where(b//4 == 1, b%32, i)*10"), (Interval{Int(0), Int(310)}));
  EXPECT_EQ(bounds("(z + z//4*3 + z//8*2)%32 >= 0"), Interval::point(1));
  EXPECT_EQ(bounds("(b + b//3)%32//7"), (Interval{Int(0), Int(4)}));
  EXPECT_EQ(bounds("(z + z//4*4)%48//5"), (Interval{Int(0), Int(9)}));
}

TEST(Question, CountsTheTextThatItGivesBack) {
  for (const char* text : {"tmod(-y, x)", "tdiv(x, -y + 0)", "tmod(x - y, y*x)", "tdiv(x, y)"}) {
    const Answer a = answer({{{"x", range(1, 40)}, {"y", range(31, 31)}}, {}, text});
    EXPECT_EQ(a.size, counted(a.text)) << a.text;
  }
}

TEST(Question, RefusesWordsOfTheNotationAsNames) {
  for (const char* name :
       {"True", "False", "and", "or", "not", "min", "max", "where", "tdiv", "tmod"})
    EXPECT_EQ(test::error_of([&] {
                answer({{{name, range(0, 5)}}, {}, "1"});
              }).substr(0, 5),
              "vars:")
        << name;
}

TEST(AnswerBounds, LeaveOutPointsWithoutAValueBelowALongDivisor) {
  const std::string dividend = "92000100000000000023372036854775808";
  Question q;
  q.variables.emplace_back("x", range(0, 7));
  q.text = dividend + "//x//226508000000100000000000009";
  EXPECT_EQ(text(answer(q).bounds), "58023873..406167111");
  q.text = "100//x//2 - 30//x//2";  // at 0 they would cancel
  EXPECT_EQ(text(answer(q).bounds), "5..35");
  q.text = "100//x//2 - 30//x//4";
  EXPECT_EQ(text(answer(q).bounds), "6..43");
}

TEST(AnswerSize, CountsThePrintedTextOnEveryCase) {
  using Json = nlohmann::json;
  const auto path = std::filesystem::path(__FILE__).parent_path() / "data" / "symbolic_cases.jsonl";
  std::istringstream in(read_file(path));
  int count = 0;
  for (std::string line; std::getline(in, line); ++count) {
    const Json j = Json::parse(line);
    Question q{{}, {}, j["in"]};
    for (const auto& [name, ends] : j["vars"].items()) {
      const auto end = [&](std::size_t i) {
        return ends[i].is_null() ? End() : End(ends[i].get<std::int64_t>());
      };
      q.variables.emplace_back(name, Interval{end(0), end(1)});
    }
    if (j.contains("assume")) q.assumptions = j["assume"];
    const Answer a = answer(q);
    EXPECT_EQ(a.size, counted(a.text)) << a.text;
  }
  EXPECT_GT(count, 1'000);
}

const Interval kDigit{Int(0), Int(9)};

TEST(Question, IsNeverAnsweredByWhatIsLonger) {
  std::string nest = "x";
  for (int i = 0; i < 100; ++i) nest = "(" + nest + "*5)//3";  // its canonical text has 2^100 parts
  for (const std::string& text : {nest, std::string("y - (1 < y)"), std::string("y*(2 <= y)")}) {
    Context context;
    const Answer a = answer(Question{{{"x", kDigit}, {"y", kDigit}}, {}, text}, context);
    Exprs exprs;
    EXPECT_LE(a.size, exprs.size(parse_expr(exprs, text))) << text;
    EXPECT_EQ(a.size, exprs.size(parse_expr(exprs, a.text))) << a.text;
  }
}

TEST(Question, PowersDoNotPileUpForEver) {
  std::string nest = "x";
  for (int i = 0; i < (test::kSanitized ? 500 : 2'000); ++i) nest = "(" + nest + "*y + 1)";
  Context context;
  EXPECT_GT(answer(Question{{{"x", kDigit}, {"y", kDigit}}, {}, nest}, context).size, 1U);
}

}  // namespace
}  // namespace touchstone::symbolic
