#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include "terminal.h"
#include "touchstone/base/file.h"

// `touchstone repl` with a script as input: the output for each line.

namespace touchstone {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

struct Reply {
  int code;
  std::string text;
};

class Repl : public testing::Test {
 protected:
  Reply run(const std::string& script) const {
    const std::string path = (dir_.path() / "script").string();
    std::ofstream(path) << script;
    FILE* pipe = ::popen((TOUCHSTONE_COMMAND " repl < " + path + " 2>&1").c_str(), "r");
    Reply answer{0, {}};
    for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe))
      answer.text += static_cast<char>(c);
    const int status = ::pclose(pipe);
    answer.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return answer;
  }
  TemporaryDirectory dir_;
};

TEST_F(Repl, ShowsTheSimplifiedFormAndItsBounds) {
  const Reply a = run("a = 0..10   # bounds\nb = 0..3\n(a*4 + b)//4\n\nt = a//4\nt*4 + a%4");
  EXPECT_EQ(a.code, 0);
  EXPECT_EQ(a.text, "a\nin [0, 10], size 1\na//4\nin [0, 2], size 3\na\nin [0, 10], size 1\n");
}

TEST_F(Repl, AssumptionsHoldUntilForgotten) {
  const Reply a = run("a = 0..10\nb = 0..\nassume a < b\na < b\nforget a < b\na < b\n");
  EXPECT_EQ(a.code, 0);
  EXPECT_EQ(a.text, "1\nin [1, 1], size 1\na < b\nin [0, 1], size 3\n");
}

TEST_F(Repl, ADefinitionFollowsItsVariables) {
  const Reply a = run("a = 0..10\nt = a//4\na = 0..3\nt\n");
  EXPECT_EQ(a.text, "a//4\nin [0, 2], size 3\n0\nin [0, 0], size 1\n");
}

TEST_F(Repl, ReadsAndWritesOtherLanguages) {
  const Reply a = run("x = 0..63\n:read c (x >> 2) << 2 | (x & 3)\n:write sympy x//4%2\n");
  EXPECT_EQ(a.text, "x\nin [0, 63], size 1\nMod(floor(x/4), 2)\n");
  const Reply b =
      run("x = 0..99\nt = x//4\nassume x < 40\n:read isl { [x] -> [x mod 8] : 0 <= x < 8 }\n"
          ":read c blockIdx.x*2\n:read c t*2\n");
  EXPECT_EQ(b.text,
            "x//4\nin [0, 24], size 3\nx\nin [0, 7], size 1\nthe range of x is cut to what the "
            "text says\n"
            "blockIdx_x*2\nin [0, 4294967294], size 3\nx//4*2\nin [0, 18], size 5\n");
}

TEST_F(Repl, TellsWhetherTwoExpressionsAreEqual) {
  const Reply a =
      run("a = 0..10\nb = -5..\n:equal a//4*4 + a%4 ; a\n:equal a*b ; b*a + 1\n"
          ":equal max(a, b)*max(a, b) ; max(a*max(a, b), b*max(a, b))\n");
  EXPECT_EQ(a.code, 0);
  EXPECT_THAT(a.text, HasSubstr("equal: both are a\n"));
  EXPECT_THAT(a.text, HasSubstr("not equal: at a = "));
}

TEST_F(Repl, DerivesStepByStep) {
  const Reply a = run("a = 0..10\nb = 0..3\n:steps (a*4 + b)//4\n");
  EXPECT_EQ(a.code, 0);
  EXPECT_THAT(a.text, AllOf(HasSubstr("  (a*4 + b)//4\n    div.split: "),
                            HasSubstr("as 0 <= b <= 3\n= a\n"), HasSubstr("all correct")));
}

TEST_F(Repl, ShowsTablesOfValues) {
  const Reply one = run("a = 0..3\n:table 6//a\n");
  EXPECT_EQ(one.text, "a  value\n0      -\n1      6\n2      3\n3      2\n");
  const Reply two = run("a = 0..1\nb = 0..2\nassume a != b\n:table a*10 + b\n");
  EXPECT_EQ(two.text, "a \\ b   0  1   2\n    0      1   2\n    1  10     12\n");
  EXPECT_THAT(run("n = 5..\n:table n*2\n").text,
              AllOf(HasSubstr("5     10"), HasSubstr("not all values of n")));
  EXPECT_EQ(run("a = 0..3\n:table 2*3\n").text, "value\n    6\n");
}

// Bars and shades represent the table's values; missing values leave a gap.
TEST_F(Repl, DrawsValues) {
  ASSERT_EQ(::setenv("LC_ALL", "C", 1), 0);
  const Reply one = run("a = 0..3\n:plot 6//a\n");
  EXPECT_EQ(one.code, 0);
  // 6, 3 and 2 at 1, 2 and 3 over ten lines: the largest fills all, the least one.
  EXPECT_THAT(one.text, HasSubstr("           6 |    ####\n"));
  EXPECT_THAT(one.text,
              HasSubstr("           2 |    ############\n              a = 0          3\n"));
  EXPECT_EQ(std::ranges::count(one.text, '|'), 10);
  const Reply two = run("a = 0..1\nb = 0..2\nassume a != b\n:plot a*10 + b\n");
  EXPECT_THAT(two.text, HasSubstr("       a = 0 |xx    |\n           1 |ooxx##|\n"));
  EXPECT_THAT(two.text, HasSubstr("1 [ .-+o#] 12\n"));
  for (const char* line : {":plot 2*3", "a = 0..1\nb = 0..1\nc = 0..1\n:plot a + b + c"})
    EXPECT_THAT(run(std::string(line) + "\n").text, HasSubstr("needs one variable or two")) << line;
  EXPECT_THAT(run("a = 0..\n:plot a\n").text, HasSubstr("not all values of a"));
  EXPECT_THAT(run("a = 0..1\n:plot a*1" + std::string(400, '0') + "\n").text,
              HasSubstr("|"));  // beyond doubles
  EXPECT_THAT(run(":view 2,3 flip 0\n").text, HasSubstr("| 3 4 5 |     | 0 1 2 |\n"));
  EXPECT_THAT(run(":view 2,3 flip 9\n").text, HasSubstr("error: "));
  ::setenv("LC_ALL", "C.UTF-8", 1);
  ::setenv("TERM", "xterm", 1);
  const std::string rich = run("a = 0..7\n:plot a\n").text;
  EXPECT_THAT(rich, HasSubstr("│"));
  EXPECT_THAT(rich, HasSubstr("▁"));
  EXPECT_THAT(run("a = 0..7\nb = 0..7\n:plot a*b\n").text, HasSubstr("█"));
  ::unsetenv("LC_ALL");
}

TEST_F(Repl, SavesAndLoads) {
  const std::string file = (dir_.path() / "saved").string();
  EXPECT_EQ(run("a = 0..10\nn = ..\nt = a + 1\nassume a < 4\n:save " + file + "\n").code, 0);
  EXPECT_EQ(read_file(file), "a = 0..10\nn = ..\nt = a + 1\nassume a < 4\n");
  const Reply a = run(":load " + file + "\nt//5 + n - n\n:names\n");
  EXPECT_EQ(a.code, 0);
  EXPECT_THAT(a.text, HasSubstr("0\nin [0, 0], size 1\na = 0..10\nn = ..\n"));
  std::ofstream(dir_.path() / "loop") << ":load " << (dir_.path() / "loop").string() << "\n";
  EXPECT_THAT(run(":load " + (dir_.path() / "loop").string() + "\n").text, HasSubstr("8 deep"));
}

TEST_F(Repl, ErrorsPointAtTheColumnAndTheSessionGoesOn) {
  const Reply a = run("a = 0..10\na + * 3\na + zz\na\n");
  EXPECT_EQ(a.code, 2);
  EXPECT_THAT(a.text, HasSubstr("error: column 5: expected a number"));
  EXPECT_THAT(a.text, HasSubstr("  a + * 3\n      ^\n"));
  EXPECT_THAT(a.text, HasSubstr("error: column 5: unknown name \"zz\""));
  EXPECT_THAT(a.text, HasSubstr("a\nin [0, 10], size 1\n"));
}

TEST_F(Repl, RefusesWhatHasNoMeaningAndKeepsWhatWas) {
  const auto refused = [&](const std::string& line, const std::string& says) {
    const Reply a = run("a = 0..10\nt = a//4\n" + line + "\n:names\n");
    EXPECT_EQ(a.code, 2) << line;
    EXPECT_THAT(a.text, HasSubstr(says)) << line;
    EXPECT_THAT(a.text, HasSubstr("a = 0..10\nt = a//4\n")) << line;
    EXPECT_THAT(a.text, Not(HasSubstr("internal"))) << line;
  };
  refused("a = 5..3", "no values");
  refused("a = 0..x", "is not a number");
  refused("a = b = 3", "column");
  refused("min = 0..3", "cannot be defined");
  refused("1a = 0..3", "cannot be defined");
  refused("t = t + 1", "\"t\"");
  refused("c = a//0", "division by zero");
  refused("forget a", "still in use");
  refused("forget q", "neither");
  refused("assume", "assume a < b");
  refused("assume 1 < 0", "never holds");
  refused("assume a < -3", "never holds");
  refused(":frob", "there is no command :frob");
  refused(":table", ":table EXPR");
  refused(":quit now", ":quit");
  refused(":equal a", ":equal EXPR ; EXPR");
  refused(":load /no/such/file", "/no/such/file");
  refused(":save /no/such/file", "/no/such/file");
  refused(std::string(100'000, '('), "column 100001");
}

TEST_F(Repl, HelpAndTheEnd) {
  EXPECT_THAT(run(":help\n").text, HasSubstr(":steps EXPR"));
  EXPECT_EQ(run(":quit\n1 +\n").code, 0);
  EXPECT_EQ(run("").code, 0);
}

TEST_F(Repl, CtrlCEndsTheAnswerAndNotTheProgram) {
  const std::string file = (dir_.path() / "hard").string();
  {
    std::ofstream out(file);
    out << "a = ..\nx = ..\ny = ..\nz = ..\nt = a < 0";
    for (int i = 0; i < 25; ++i)  // its steps take minutes
      out << fmt::format(" and (x < {0} or y > {0} - x or max(x, y, z) < min(a, {0}))", i);
    out << "\n";
  }
  Terminal t({"repl"}, {{"XDG_STATE_HOME", dir_.path().string()}});
  if (!t.is_there()) GTEST_SKIP() << "this machine has no terminals (is /dev/pts mounted?)";
  ASSERT_TRUE(t.shows("> "));
  t.type(":load " + file + "\r");
  ASSERT_TRUE(t.shows("size"));
  ASSERT_TRUE(t.shows("> "));
  for (int times = 0; times < 2; ++times) {
    t.type(":steps t\r");
    ASSERT_TRUE(t.shows("steps t"));
    ::usleep(300'000);
    t.type("\x03");
    ASSERT_TRUE(t.shows("interrupted"));
    ASSERT_TRUE(t.shows("> "));
  }
  t.type("left out");
  ASSERT_TRUE(t.shows("left out"));
  ::usleep(100'000);
  t.type("\x03");  // drops the line; none of it starts the next one
  ASSERT_TRUE(t.shows("^C"));
  ASSERT_TRUE(t.shows("> "));
  t.type("20 + 3\r");
  ASSERT_TRUE(t.shows("23, 23"));
  t.type(":quit\r");
  EXPECT_EQ(t.exit_status(), 0);
}

}  // namespace
}  // namespace touchstone
