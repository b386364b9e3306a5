#include "terminal.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>

#include <gmock/gmock.h>
#include <sys/stat.h>

#include "command.h"
#include "touchstone/base/file.h"

// Every verb on a terminal, ended by Ctrl-C, SIGTERM and SIGHUP while working or waiting for lines.

namespace touchstone {
namespace {

using testing::HasSubstr;
using Words = std::vector<std::string>;

// Its steps take minutes.
std::string hard_expression() {
  std::string text = "a < 0";
  for (int i = 0; i < 25; ++i) {
    const std::string n = std::to_string(i);
    text += " and (x < " + n + " or y > " + n + " - x or max(x, y, z) < min(a, " + n + "))";
  }
  return text;
}

class CliTerminal : public testing::Test {
 protected:
  std::string file(const std::string& name) const { return (dir_.path() / name).string(); }

  // A kernel of some seconds on the reference device, and an array of zeros for its inputs and
  // output.
  void SetUp() override {
    const Answer written =
        touchstone_run("kernel 'matmul(x[2048,2048], y[2048,2048])' --out " + file("kernel.json"));
    ASSERT_EQ(written.code, 0) << written.text;
    std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (2048, 2048), }";
    header.resize(117, ' ');
    header += '\n';
    std::ofstream(file("zeros.npy"), std::ios::binary)
        << std::string("\x93NUMPY\x01\x00\x76\x00", 10) << header;
    std::filesystem::resize_file(file("zeros.npy"), 10 + header.size() + 2048ULL * 2048 * 4);
  }

  // Verbs that work longer than the test waits, or that read the terminal.
  std::vector<Words> long_runs() const {
    const std::string kernel = file("kernel.json"), zeros = file("zeros.npy");
    const Words on = {"--in", zeros, "--in", zeros};
    const auto with = [](Words words, const Words& more) {
      words.insert(words.end(), more.begin(), more.end());
      return words;
    };
    const Words hanging = {"--backend", "sleep 1000"};
    const Words ranges = {"--var", "a=..", "--var", "x=..", "--var", "y=..", "--var", "z=.."};
    return {
        {"demo"},
        {"train", "digits", "--epochs", "1000"},
        with({"eval", kernel}, on),
        with({"check", kernel, "--out", zeros}, on),
        with(with({"blame", kernel}, on), hanging),
        {"probe", kernel},
        {"kernels", "--program", "-"},
        {"rewrite", "--program", "-"},
        {"fuzz", "--time", "1000s"},
        {"fuzz", "--time", "1000s", "--area", "kernelize"},
        with({"simplify", "--steps", hard_expression()}, ranges),
        {"simplify", "--jsonl"},
        {"verify"},
        {"prove", "--all"},
        {"view", "--jsonl"},
        {"bits"},
        {"emit", file("suite") + std::to_string(++suites_)},
        with({"judge"}, hanging),
        with({"league"}, hanging),
        {"certify", "sin", "f32", "--out", file("sin.json")},
        {"serve"},
    };
  }
  // Verbs that finish at once, with their examples.
  static constexpr const char* kShort[] = {"explain", "kernel", "schedule", "mutants",     "model",
                                           "ops",     "export", "steps",    "check-index", "map"};

  int ended(const Words& words, const std::function<void(Terminal&)>& end) {
    Terminal t(words, {{"TOUCHSTONE_CACHE", file("cache")},
                       {"XDG_STATE_HOME", file("state")},
                       {"TMPDIR", file("tmp")}});
    end(t);
    if (HasFatalFailure()) t.end();
    const auto start = std::chrono::steady_clock::now();
    const int code = t.exit_status();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    EXPECT_LT(took.count(), 10) << words[0];  // a second where nothing else runs
    EXPECT_TRUE(t.is_cooked()) << words[0];
    said_ = t.seen();
    return code;
  }
  bool has_terminals() {
    std::filesystem::create_directory(file("tmp"));
    return Terminal({"--version"}, {}).is_there();
  }

  TemporaryDirectory dir_;
  std::string said_;
  mutable int suites_ = 0;
};

TEST_F(CliTerminal, ASignalEndsEveryVerb) {
  if (!has_terminals()) GTEST_SKIP() << "this machine has no terminals";
  for (const Words& words : long_runs()) {
    EXPECT_EQ(ended(words,
                    [](Terminal& t) {
                      t.started();
                      t.watch(150);
                      t.type("\x03");
                    }),
              130)
        << words[0] << "\n"
        << said_;
    EXPECT_TRUE(std::filesystem::is_empty(file("tmp"))) << words[0];
  }
  for (const Words& words : long_runs())
    EXPECT_EQ(ended(words,
                    [](Terminal& t) {
                      t.started();
                      t.watch(40);
                      ::kill(t.child(), SIGTERM);
                    }),
              143)
        << words[0] << "\n"
        << said_;
  EXPECT_TRUE(std::filesystem::is_empty(file("tmp")));
  for (int suite = 1; suite <= suites_; ++suite) {  // incomplete suites are removed
    const std::string folder = file("suite") + std::to_string(suite);
    EXPECT_TRUE(!std::filesystem::exists(folder) || std::filesystem::is_empty(folder));
  }
}

TEST_F(CliTerminal, NoVerbIsLeftOut) {
  std::istringstream help(touchstone_run("--help").text);
  std::string line;
  while (std::getline(help, line) && !line.starts_with("  --color")) {
  }
  const std::vector<Words> runs = long_runs();
  int verbs = 0;
  while (std::getline(help, line)) {
    if (!line.starts_with("  ") || line[2] == ' ') continue;  // a heading, or a description
    const std::string verb = line.substr(2, line.find(' ', 2) - 2);
    ++verbs;
    EXPECT_TRUE(verb == "repl" || std::ranges::find(kShort, verb) != std::end(kShort) ||
                std::ranges::any_of(runs, [&](const Words& w) { return w[0] == verb; }))
        << verb << ": give it a run that is long, or name it among those that are not";
  }
  EXPECT_GE(verbs, 20);
}

TEST_F(CliTerminal, TheReplIsEndedWhileItReadsAndWhileItAnswers) {
  if (!has_terminals()) GTEST_SKIP() << "this machine has no terminals";
  const auto at_the_prompt = [](Terminal& t, int signal) {
    ASSERT_TRUE(t.shows("> "));
    t.type("left ov");
    ASSERT_TRUE(t.shows("left ov"));
    ::kill(t.child(), signal);
  };
  const auto at_work = [](Terminal& t, int signal) {
    ASSERT_TRUE(t.shows("> "));
    for (const char* name : {"a", "x", "y", "z"}) t.type(std::string(name) + " = ..\r");
    t.type(":steps " + hard_expression() + "\r");
    ASSERT_TRUE(t.shows("min(a, 24))"));
    t.watch(200);
    ::kill(t.child(), signal);
  };
  for (const int signal : {SIGTERM, SIGHUP}) {
    EXPECT_EQ(ended({"repl"}, [&](Terminal& t) { at_the_prompt(t, signal); }), 128 + signal);
    EXPECT_EQ(ended({"repl"}, [&](Terminal& t) { at_work(t, signal); }), 128 + signal);
  }
  // After Ctrl-C ended an answer the prompt returns, and a signal ends it as usual.
  const auto interrupted_before = [&](Terminal& t) {
    at_work(t, SIGINT);
    ASSERT_TRUE(t.shows("interrupted"));
    t.type("20 + 3\r");
    ASSERT_TRUE(t.shows("23, 23"));
    t.type(":steps " + hard_expression() + "\r");
    ASSERT_TRUE(t.shows("min(a, 24))"));
    t.watch(200);
    ::kill(t.child(), SIGTERM);
  };
  EXPECT_EQ(ended({"repl"}, interrupted_before), 143);
}

TEST_F(CliTerminal, TheReplRemembersLinesInAFileOfItsUserAlone) {
  if (!has_terminals()) GTEST_SKIP() << "this machine has no terminals";
  const auto leave = [](Terminal& t) {
    ASSERT_TRUE(t.shows("> "));
    t.type("20 + 3\r");
    ASSERT_TRUE(t.shows("23, 23"));
    t.type(":quit\r");
  };
  namespace fs = std::filesystem;
  const fs::path folder = fs::path(file("state")) / "touchstone", history = folder / "repl_history";
  EXPECT_EQ(ended({"repl"}, leave), 0);
  EXPECT_THAT(read_file(history), HasSubstr("20"));
  EXPECT_EQ(fs::status(history).permissions() & (fs::perms::group_all | fs::perms::others_all),
            fs::perms::none);

  ASSERT_EQ(fs::remove(history), true);
  ASSERT_EQ(::mkfifo(history.c_str(), 0600), 0);  // without a writer
  EXPECT_EQ(ended({"repl"}, leave), 0);
  ASSERT_EQ(fs::remove(history), true);
  fs::create_symlink("/dev/zero", history);
  EXPECT_EQ(ended({"repl"}, leave), 0);
  ASSERT_EQ(fs::remove(history), true);

  fs::permissions(folder, fs::perms::all);  // anybody may plant a link there
  const auto noted = [&](Terminal& t) {
    ASSERT_TRUE(t.shows("lines are not stored in the history: "));
    leave(t);
  };
  EXPECT_EQ(ended({"repl"}, noted), 0);
  EXPECT_FALSE(fs::exists(history));
}

}  // namespace
}  // namespace touchstone
