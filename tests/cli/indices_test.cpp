#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <sstream>

#include <gmock/gmock.h>

#include "command.h"
#include "touchstone/base/file.h"

// The verbs of index arithmetic: prove, simplify, view.

namespace touchstone {
namespace {

using testing::HasSubstr;
using testing::Not;

class CliIndices : public testing::Test {
 protected:
  std::string file(const std::string& name) const { return (dir_.path() / name).string(); }
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(dir_.path() / name) << text;
    return file(name);
  }
  TemporaryDirectory dir_;
};

TEST_F(CliIndices, ProveProvesOrRefutesARuleOfOnesOwn) {
  const Answer proved = touchstone_run("prove '(c*x + y)//c -> x ; 0 <= y and y < c'");
  EXPECT_EQ(proved.code, 0);
  EXPECT_THAT(proved.text, HasSubstr("proved by laws, with a certificate"));
  const Answer refuted = touchstone_run("prove 'x//-2 -> -(x//2)'");
  EXPECT_EQ(refuted.code, 1);
  EXPECT_THAT(refuted.text, HasSubstr("refuted x = 1: lhs is -1, rhs is 0"));
  const Answer witness = touchstone_run(
      "prove 'x//c%d -> x%(c*d)//c ; c > 0 and d > 0' "
      "--witness 'x = c*(d*q + s) + r'");
  EXPECT_EQ(witness.code, 0);
  EXPECT_THAT(witness.text, HasSubstr("write x as c*t1 + r, with 0 <= r and r < c"));
}

TEST_F(CliIndices, ProveShowsARuleItsConditionsAndItsMutants) {
  const Answer rule = touchstone_run("prove div.split --necessity --mutants");
  EXPECT_EQ(rule.code, 0);
  EXPECT_THAT(rule.text,
              HasSubstr("terms smaller than a common factor do not change the quotient"));
  EXPECT_THAT(rule.text, HasSubstr("without d > 0"));
  EXPECT_THAT(rule.text, HasSubstr("lhs: (c*x + y)%(c*d) instead of (c*x + y)//(c*d)"));
  EXPECT_EQ(touchstone_run("prove 'x%4 -> x%4 ; x > 0' --necessity").code, 1);  // needless
  const Answer table = touchstone_run("prove lt.not max.scale");
  EXPECT_EQ(table.code, 0);
  EXPECT_THAT(table.text, HasSubstr("2 of 2 proved for all integers"));
}

TEST_F(CliIndices, ProveWritesSmtLibAndJson) {
  const Answer smt = touchstone_run("prove lt.not --smt2");
  EXPECT_THAT(smt.text, HasSubstr("(declare-const x Int)"));
  EXPECT_THAT(smt.text, HasSubstr("(check-sat)"));
  const Answer json = touchstone_run("prove 'x -> x + b%b ; x > 3' --json");
  EXPECT_EQ(json.code, 1);
  EXPECT_THAT(json.text, HasSubstr(R"("claim":"x -> x + b%b ; x > 3","verdict":"refuted")"));
  EXPECT_THAT(json.text, HasSubstr(R"("point":{"b":"0","x":"4"},"lhs":"4","rhs":null)"));
}

TEST_F(CliIndices, ProveSaysWhatIsWrongWithAQuestion) {
  const auto bad = [](const std::string& arguments) {
    const Answer run = touchstone_run("prove " + arguments);
    EXPECT_EQ(run.code, 2) << arguments;
    return run.text;
  };
  EXPECT_THAT(bad("div.spilt"), HasSubstr("no rule 'div.spilt'; did you mean 'div.split'?"));
  EXPECT_THAT(bad("'x + 1'"), HasSubstr("column 6: expected \"->\""));
  EXPECT_THAT(bad("'x -> (y ; y > 0'"), HasSubstr("column 9: expected \")\""));
  EXPECT_THAT(bad("'x//0 -> y'"), HasSubstr("column 2: division by zero"));
  EXPECT_THAT(bad("'x -> y' --witness 'x = 3'"), HasSubstr("a witness reads"));
  EXPECT_THAT(bad("'x -> y' --no-such-option"), HasSubstr("--no-such-option"));
}

TEST_F(CliIndices, SimplifyPrintsTheExpressionAndItsBounds) {
  const Answer run = touchstone_run("simplify '(a*4 + b)//4' --var a=0..10 b=0..3");
  EXPECT_EQ(run.code, 0);
  EXPECT_EQ(run.text, "a\nin [0, 10], size 1\n");
  EXPECT_THAT(touchstone_run("simplify 'a +' --var a=0..1").text, HasSubstr("column"));
  EXPECT_EQ(touchstone_run("simplify 'a +' --var a=0..1").code, 2);
  EXPECT_EQ(touchstone_run("simplify 'b' --var a=0..1").code, 2);
  EXPECT_EQ(touchstone_run("simplify 'a' --var a=5..1").code, 2);
  EXPECT_EQ(touchstone_run("simplify 'a//0' --var a=0..1").code, 2);
}

TEST_F(CliIndices, SimplifyTakesAssumptions) {
  const std::string x = "simplify 'min(a, b)' --var a=0..9 b=0..9 ";
  EXPECT_THAT(touchstone_run(x + "--assume 'a<b'").text, HasSubstr("a\nin [0, 8]"));
  EXPECT_EQ(touchstone_run(x + "--assume 'a<0'").code, 2);
  EXPECT_EQ(touchstone_run(x + "--assume 'a<c'").code, 2);
}

TEST_F(CliIndices, SimplifyDecides) {
  const Answer yes = touchstone_run("simplify --decide 'x*x*x*x%16 == x%2' --var x=..");
  EXPECT_EQ(yes.code, 0);
  EXPECT_EQ(yes.text, "true, by cases, with a certificate\n");
  const Answer no = touchstone_run("simplify --decide 'x < 5' --var x=0..9");
  EXPECT_EQ(no.code, 1);
  EXPECT_EQ(no.text, "false at x = 5\n");
  const std::string open = "simplify --decide 'x*x != 2*y*y or x == 0' --var x=.. y=.. --effort 0";
  EXPECT_EQ(touchstone_run(open).code, 3);
  EXPECT_THAT(touchstone_run("simplify --decide 'where(x*x%3 < 2, y, 9)' --var x=.. y=0..4").text,
              HasSubstr("y\nin [0, 4]"));
  EXPECT_EQ(touchstone_run("simplify 'x' --var x=.. --effort 9").code, 2);
}

TEST_F(CliIndices, LinesKeepTheirOptions) {
  const auto lines = [&](const std::string& option, const std::string& text) {
    return touchstone_run("simplify --jsonl --" + option, "", "< " + write("lines", text)).text;
  };
  EXPECT_THAT(
      lines("decide", R"_({"vars":{"x":[0,99]},"in":"x*(x+1)%2 + x/4","from":"c","to":"c"}
{"in":"1 +"}
{"vars":{"x":[null,null]},"in":"where(x < 3, 1, 0)"})_"),
      testing::AllOf(HasSubstr(R"({"out":"x / 4",)"), HasSubstr("\n{\"error\":\"in: column "),
                     HasSubstr("\n{\"out\":\"x < 3\",")));
  const char* const two =
      R"_({"vars":{"i":[0,9]},"in":"affine_map<(i) -> (i mod 4, i)>","from":"mlir"})_";
  EXPECT_THAT(lines("decide", two),
              HasSubstr(R"({"results":[{"out":"i%4","size":3,"min":0,"max":3,)"));
  EXPECT_THAT(lines("certify", two),
              testing::ContainsRegex(R"("certificate":\{.*\},\{"out":"i",.*"certificate":\{)"));
}

TEST_F(CliIndices, SimplifyShowsItsSteps) {
  const std::string ask = "simplify 'x//12*12 + x%12//4*4 + x%4 < 3' --var x=0..99 ";
  const Answer text = touchstone_run(ask + "--steps");
  EXPECT_EQ(text.code, 0);
  EXPECT_THAT(text.text, HasSubstr("div.mod: a quotient of a digit is a higher digit"));
  EXPECT_THAT(text.text, HasSubstr("with a = 1, c = 4, d = 3"));
  EXPECT_THAT(text.text, HasSubstr("= x < 3\n"));
  EXPECT_THAT(text.text, HasSubstr("replayed without the simplifier: all correct"));
  EXPECT_THAT(text.text, Not(HasSubstr("\033")));
  EXPECT_THAT(touchstone_run(ask + "--steps", "CLICOLOR_FORCE=1").text, HasSubstr("\033"));

  const Answer latex = touchstone_run(ask + "--format latex");
  EXPECT_THAT(latex.text, HasSubstr("\\begin{align*}"));
  EXPECT_THAT(latex.text, HasSubstr("\\left\\lfloor\\frac{x}{12}\\right\\rfloor"));

  const Answer html = touchstone_run(ask + "--format html");
  EXPECT_THAT(html.text, HasSubstr("\"x%12//4\""));
  EXPECT_THAT(html.text, HasSubstr("\"x//4%3\""));
  EXPECT_THAT(html.text, HasSubstr("x%4 \\u003c 3"));
  for (const char* outside : {"https:", "<!--", "src=", "/*REPORT*/"})
    EXPECT_THAT(html.text, Not(HasSubstr(outside)));
  EXPECT_EQ(touchstone_run(ask + "--html -").text, html.text);
  EXPECT_EQ(touchstone_run(ask + "--format pdf").code, 2);
}

TEST_F(CliIndices, AnExpressionMayBeginWithAMinus) {
  EXPECT_THAT(touchstone_run("simplify '-a+3' --var a=0..3").text, testing::StartsWith("3 - a\n"));
  EXPECT_THAT(touchstone_run("simplify --var a=0..3 -- '--a'").text, testing::StartsWith("a\n"));
  EXPECT_THAT(touchstone_run("map show --var a=0..3 -- '-a'").text,
              testing::HasSubstr("[a] -> [-a]"));
  EXPECT_EQ(touchstone_run("map equal -- '-a' 'a*-1' --var a=0..3").code,
            2);  // no options behind it
  EXPECT_EQ(touchstone_run("map equal --var a=0..3 -- '-a' 'a*-1'").code, 0);
  EXPECT_THAT(touchstone_run("check-index --var a=1..3 --size 9 -- -a").text,
              testing::HasSubstr("bounds   no"));
  const Answer wrong = touchstone_run("simplify '-a+*3' --var a=0..3");
  EXPECT_EQ(wrong.code, 2);
  EXPECT_THAT(wrong.text, HasSubstr("column 4"));
  EXPECT_EQ(touchstone_run("prove '-x -> 0-x'").code, 0);
}

TEST_F(CliIndices, StepsNestedTooDeepAreRefused) {
  const std::string deep = std::string(50'000, '(') + "a" + std::string(50'000, ')') + "*1";
  std::string nest = "a";
  for (int i = 0; i < 50'000; ++i) nest += "//2";
  const Answer run =
      touchstone_run("simplify --replay " +
                     write("deep.json", R"({"variables":{"a":[0,9]},"assumptions":[],"start":")" +
                                            nest + R"(","result":")" + deep + R"(","steps":[]})"));
  EXPECT_EQ(run.code, 2);
  EXPECT_THAT(run.text, HasSubstr("too deep"));
}

TEST_F(CliIndices, SimplifyReplaysStepsAndRefusesWrongOnes) {
  const Answer json = touchstone_run(
      "simplify 'where(a < b, min(a, b), 0)//2' --var a=0..9 b= --assume 'b//2 < 4' --format json");
  EXPECT_EQ(json.code, 0);
  const Answer good = touchstone_run("simplify --replay " + write("good.json", json.text));
  EXPECT_EQ(good.code, 0);
  EXPECT_THAT(good.text, HasSubstr("all correct"));
  std::string changed = json.text;
  ASSERT_NE(changed.find("\"rule\": \""), std::string::npos);
  changed.replace(changed.find("\"rule\": \"") + 9, 0, "x");
  const Answer bad = touchstone_run("simplify --replay " + write("bad.json", changed));
  EXPECT_EQ(bad.code, 1);
  EXPECT_THAT(bad.text, HasSubstr("there is no rule x"));
  EXPECT_EQ(touchstone_run("simplify --replay " + file("none.json")).code, 2);
  const Answer cut = touchstone_run("simplify --replay " +
                                    write("cut.json", json.text.substr(0, json.text.size() / 2)));
  EXPECT_EQ(cut.code, 2);
  EXPECT_THAT(cut.text, HasSubstr("not a certificate"));
  EXPECT_EQ(touchstone_run("simplify --replay " + write("list.json", "[1]")).code, 2);
  EXPECT_EQ(touchstone_run("simplify a --var a --replay " + file("good.json")).code, 2);
}

TEST_F(CliIndices, ViewFollowsAShape) {
  const Answer run = touchstone_run("view 10,10 permute 1,0 reshape 5,2,5,2 reshape 100");
  EXPECT_EQ(run.code, 0);
  EXPECT_EQ(run.text,
            "10,10\n"
            "  View((10, 10), strides (10, 1), offset 0)\n"
            "permute 1,0\n"
            "  View((10, 10), strides (1, 10), offset 0)\n"
            "reshape 5,2,5,2\n"
            "  View((5, 2, 5, 2), strides (2, 1, 20, 10), offset 0)\n"
            "reshape 100\n"
            "  View((100,), strides (1,), offset 0)\n"
            "  View((5, 2, 5, 2), strides (2, 1, 20, 10), offset 0)\n"
            "  (100,) on (5, 2, 5, 2) cannot merge: (0) reads 0, (1) reads 10, (9) reads 90, "
            "(10) reads 1: one index step moves the address by 10 here and by -89 there\n"
            "as composed 3 divisions, 3 modulos, 18 parts\n"
            "  index idx0//20*2 + idx0//10%2 + idx0//2%5*20 + idx0%2*10\n"
            "  valid 1\n"
            "simplified 1 division, 0 modulos, 8 parts\n"
            "  index idx0*10 - idx0//10*99\n"
            "  valid 1\n"
            "  strides (?)\n");
  EXPECT_THAT(touchstone_run("view 2,3 permute 1,0 reshape 6 reshape 3,2").text,
              HasSubstr("2 views become one: "));
  EXPECT_EQ(touchstone_run("view 4 stride -2").code, 0);
  EXPECT_EQ(touchstone_run("view 10,10 reshape 7").code, 2);
  EXPECT_THAT(touchstone_run("view 10,10 reshap 100").text, HasSubstr("did you mean 'reshape'?"));
  EXPECT_EQ(touchstone_run("view 2,3 shrink 0:9,0:1").code, 2);
  EXPECT_EQ(touchstone_run("view 2,x").code, 2);
  EXPECT_THAT(touchstone_run("view 2,3 permute 4294967296,1").text,
              HasSubstr("axis 4294967296 is not in [0, 2)"));
  EXPECT_EQ(touchstone_run("view 2,3 pad -- -1:0,0:0").code, 2);
}

TEST_F(CliIndices, ViewTakesSizesWithVariables) {
  const Answer run =
      touchstone_run("view n,4 --var n=2..9 permute 1,0 reshape '4*n' reshape 2,2,n");
  EXPECT_EQ(run.code, 0);
  EXPECT_THAT(run.text, HasSubstr("(n*4,) on (4, n) cannot merge: with n = 2, (0) reads 0, "));
  EXPECT_THAT(run.text, HasSubstr("  View((2, 2, n), strides (2, 1, 4), offset 0)\n"
                                  "  2 views become one: for all values "));
  EXPECT_THAT(run.text, HasSubstr("  index idx0*2 + idx1 + idx2*4\n"));
  EXPECT_THAT(touchstone_run("view --var n=2..9 --var m=1..3 n,m pad n:0,0:m").text,
              HasSubstr("View((n*2, m*2), strides (m, 1), offset "));
  const auto refused = [](const std::string& words, const std::string& text) {
    const Answer answer = touchstone_run("view " + words);
    EXPECT_EQ(answer.code, 2) << words;
    EXPECT_THAT(answer.text, HasSubstr(text));
  };
  refused("n --var n=9..2", "the range is empty: 9 is greater than 2");
  refused("n --var n=2", "give the lower and the upper bound, as n=2..9");
  refused("n --var n=2..x", "'x' in 'n=2..x' is not a number");
  refused("n --var n=2..9 --var n=2..9", "'n' is given twice");
  refused("n --var 2=2..9", "2");
  refused("n,k --var n=2..9", "unknown name \"k\"");
  refused("n-3 --var n=2..9", "whether 0 <= n - 3 depends on the variables");
  refused("-1*n --var n=2..9", "a size is negative");
  refused("9223372036854775808 permute 0",
          "'9223372036854775808' in '9223372036854775808' does not fit in 64 bits");
  refused("4 as_strided 2,3", "is not shape:strides:offset");
  refused("4 flip 1", "flip: axis 1 is not in [0, 1)");
  refused("2,3 --strides 1", "1 strides");
  refused("2,3 --strides 1,-1", "below the buffer");
  refused("2,3 --mask 0:3,0:3", "mask (0, 3) of axis 0");
  refused("--jsonl --offset 3", "no other arguments");
  refused("--jsonl --var n=2..9", "no other arguments");
}

// Views, divisions and modulos decrease from row to row; their replacement may have one node more.
TEST_F(CliIndices, ViewsOfKernelsAreCountedBeforeAndAfterMergingAndSimplifying) {
  for (const std::string command :
       {"fuzz --cases 400 --seed 7 --index-stats", "kernels digits --index-stats"}) {
    const Answer run = touchstone_run(command);
    EXPECT_EQ(run.code, 0) << run.text;
    std::vector<std::vector<int>> rows;
    std::istringstream lines(run.text);
    for (std::string line; std::getline(lines, line);) {
      const std::size_t first = line.find_first_of("0123456789");
      const bool row = line.starts_with("as composed") || line.starts_with("views merged") ||
                       line.starts_with("and simplified");
      if (!row) continue;
      std::istringstream numbers(line.substr(first));
      rows.emplace_back(std::istream_iterator<int>(numbers), std::istream_iterator<int>());
    }
    ASSERT_EQ(rows.size(), 3U) << run.text;
    for (std::size_t column = 0; column < 5; ++column) {
      ASSERT_EQ(rows[1].size(), 6U);
      EXPECT_LE(rows[1].at(column), rows[0].at(column)) << run.text;
      EXPECT_LE(rows[2].at(column), rows[1].at(column)) << run.text;
    }
    EXPECT_LT(rows[2].at(3), rows[0].at(3)) << run.text;
  }
}

TEST_F(CliIndices, ViewStartsFromStridesAndAMask) {
  const std::string text =
      touchstone_run("view 2,3 --strides 1,4 --offset 5 --mask 0:2,1:3 permute 1,0").text;
  EXPECT_THAT(text, HasSubstr("View((2, 3), strides (1, 4), offset 5, mask ((0, 2), (1, 3)))"));
  EXPECT_THAT(text, HasSubstr("index idx0*4 + idx1 + 5"));
  EXPECT_THAT(text, HasSubstr("valid idx0 >= 1"));
  EXPECT_THAT(touchstone_run("view 12 as_strided 2,3:6,2:1").text,
              HasSubstr("View((2, 3), strides (6, 2), offset 1)"));
  EXPECT_THAT(touchstone_run("view n --var n=2..9 --offset n").text, HasSubstr("index idx0 + n"));
}

// One page for all values of the variables.
TEST_F(CliIndices, ViewDrawsSizesWithVariables) {
  const std::string html = touchstone_run("view n,2 --var n=1..3 flip 0 --html").text;
  for (const char* part : {R"("label":"n = 1")", R"("label":"n = 3","base":[3,2])",
                           R"("shape":[3,2],"strides":[-2,1],"offset":4)"})
    EXPECT_THAT(html, HasSubstr(part));
}

// The drawings of the pages, in ASCII if the locale or terminal requires it.
TEST_F(CliIndices, ViewDrawsInText) {
  const std::string ask = "view 3,2 permute 1,0 pad 0:0,0:1 --draw always";
  const std::string plain = touchstone_run(ask, "LC_ALL=C").text;
  EXPECT_THAT(plain, HasSubstr("  view (2, 4)   memory (3, 2)\n"
                               "  | 0 2 4 . |   | 0 1 |\n"
                               "  | 1 3 5 . |   | 2 3 |\n"
                               "                | 4 5 |\n"));
  EXPECT_TRUE(
      std::ranges::all_of(plain, [](char c) { return c == '\n' || (c >= ' ' && c <= '~'); }));
  const std::string rich = touchstone_run(ask, "LC_ALL=C.UTF-8 TERM=xterm").text;
  EXPECT_THAT(rich, HasSubstr("│ 0 2 4 ░ │   │ 0 1 │\n"));
  EXPECT_EQ(touchstone_run(ask, "LC_ALL=C.UTF-8 TERM=dumb").text, plain);
  // No drawing into a pipe by default; elements not read, and points that show why two views cannot
  // merge.
  EXPECT_THAT(touchstone_run("view 3,2", "LC_ALL=C").text, Not(HasSubstr("memory")));
  EXPECT_THAT(touchstone_run("view 4,6 shrink 0:4,0:3 --draw always", "LC_ALL=C").text,
              HasSubstr("|  0  1  2  -  -  - |"));
  EXPECT_THAT(touchstone_run("view 4,6 shrink 0:4,0:3 reshape 12 --draw always", "LC_ALL=C").text,
              testing::ContainsRegex("\\[[0-9]+\\] "));
  EXPECT_THAT(touchstone_run("view 2,0,3 --draw always", "LC_ALL=C").text,
              HasSubstr("no elements"));
  EXPECT_THAT(touchstone_run("view '()' --draw always", "LC_ALL=C").text, HasSubstr("| 0 |"));
  EXPECT_THAT(touchstone_run("view 100,200 --draw always", "LC_ALL=C").text,
              HasSubstr("... the first of them"));
  EXPECT_THAT(touchstone_run("view n,2 --var n=2..3 flip 0 --draw always", "LC_ALL=C").text,
              HasSubstr("| 2 3 |"));
}

// One answer per line, also for blank lines.
TEST_F(CliIndices, ViewAnswersBlankLines) {
  const std::string question = R"({"base":[2],"ops":[]})";
  const Answer run = touchstone_run("view --jsonl", "",
                                    "<<'END'\n" + question + "\n\n  \n" + question + "\nEND\n");
  EXPECT_EQ(std::ranges::count(run.text, '\n'), 4) << run.text;
  EXPECT_THAT(run.text, HasSubstr("the line is blank"));
  EXPECT_EQ(run.text.find("error"), run.text.find('\n') + 3);
}

TEST_F(CliIndices, ViewDrawsAPageThatNeedsNothingElse) {
  const std::string page = file("page.html");
  const Answer run = touchstone_run("view 3,4 pad 1:1,0:2 reshape 30 --html " + page);
  EXPECT_EQ(run.code, 0);
  EXPECT_THAT(run.text, HasSubstr("page.html"));
  const std::string html = read_file(page);
  EXPECT_THAT(html, testing::StartsWith("<!doctype html>"));
  EXPECT_THAT(html, HasSubstr("\"mask\":[[1,4],[0,4]]"));
  EXPECT_THAT(html, HasSubstr("\"title\":\"pad 1:1,0:2\""));
  EXPECT_THAT(html, HasSubstr("prefers-color-scheme: dark"));
  EXPECT_THAT(html, Not(HasSubstr("/*REPORT*/")));
  EXPECT_THAT(html, Not(HasSubstr("https://")));
  EXPECT_THAT(html, Not(HasSubstr("src=")));
  // Without a file, on standard output, at any position of the option.
  EXPECT_EQ(touchstone_run("view 3,4 pad 1:1,0:2 reshape 30 --html").text, html);
  EXPECT_EQ(touchstone_run("view --html 3,4 pad 1:1,0:2 reshape 30").text, html);
  EXPECT_EQ(touchstone_run("view 3,4 --html /dev/full/page.html").code, 2);
}

TEST_F(CliIndices, ViewAnswersLinesInOrderAndGoesOnAfterABadOne) {
  const std::string questions = write("questions",
                                      R"({"views":[[[4],[1],0,null],[[2,2],[2,1],0,null]]}
nonsense

{"base":[2],"ops":[["stride",[-1]]]})");
  const Answer run = touchstone_run("view --jsonl", "cat " + questions + " |", "");
  EXPECT_EQ(run.code, 2);
  std::istringstream lines(run.text);
  std::string line;
  ASSERT_TRUE(std::getline(lines, line));
  EXPECT_THAT(line, HasSubstr("\"single\":[[2,2],[2,1],0,null]"));
  ASSERT_TRUE(std::getline(lines, line));
  EXPECT_THAT(line, HasSubstr("{\"error\":\"not JSON"));
  ASSERT_TRUE(std::getline(lines, line));
  EXPECT_THAT(line, HasSubstr("{\"error\":\"the line is blank"));
  ASSERT_TRUE(std::getline(lines, line));
  EXPECT_THAT(line, HasSubstr("\"single\":[[2],[-1],1,null]"));
  EXPECT_FALSE(std::getline(lines, line));
  EXPECT_EQ(touchstone_run("view --jsonl 4").code, 2);
  EXPECT_EQ(touchstone_run("view").code, 2);
  const Answer full = touchstone_run("view --jsonl > /dev/full", "cat " + questions + " |", "");
  EXPECT_EQ(full.code, 2);
}

}  // namespace
}  // namespace touchstone
