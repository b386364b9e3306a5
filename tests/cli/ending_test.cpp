#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <pty.h>

#include "command.h"
#include "running.h"
#include "touchstone/base/file.h"

// Interrupted runs: their partial results, and resuming.

namespace touchstone {
namespace {

using testing::HasSubstr;

// A backend of NEG and XOR of bytes, in plain Python. It logs its process number and each question,
// and hangs after a given number of questions, with a child that hangs too.
constexpr char kBytes[] = R"py(
import base64, json, os, subprocess, sys, time
notes, most = sys.argv[1], int(sys.argv[2])
asked = 0
def note(what):
    with open(notes, "a") as f: f.write(what + "\n")
note("pid %d" % os.getpid())
for line in sys.stdin:
    ask = json.loads(line)
    if "touchstone_backend" in ask:
        answer = {"touchstone_backend": 1, "name": "bytes", "version": "1"}
    else:
        asked += 1
        note("asked")
        if asked > most:
            child = subprocess.Popen(["sleep", "1000"])
            note("pid %d" % child.pid)
            note("hangs")
            time.sleep(1000)
        ops = [n["op"] for n in ask["kernel"]["nodes"]]
        given = [base64.b64decode(x["base64"]) for x in ask["inputs"]]
        if ops == ["LOAD", "NEG", "STORE"]: out = bytes(-x % 256 for x in given[0])
        elif ops == ["LOAD", "LOAD", "XOR", "STORE"]: out = bytes(a ^ b for a, b in zip(*given))
        else: out = None
        answer = {"id": ask["id"], "unsupported": "no"} if out is None else \
                 {"id": ask["id"], "output": base64.b64encode(out).decode()}
    print(json.dumps(answer), flush=True)
)py";
constexpr char kSuite[] = " --ops neg,xor,max --dtypes i8 -n 20 --timeout 600 ";

class CliEnding : public testing::Test {
 protected:
  void SetUp() override {
    if (std::system("python3 -c pass 2>/dev/null") != 0) GTEST_SKIP() << "no python3";
    write_file_atomically(file("bytes.py"), kBytes);
    ::setenv("TOUCHSTONE_ROOM", "off", 1);  // it logs outside its folder
  }
  void TearDown() override { ::unsetenv("TOUCHSTONE_ROOM"); }
  std::string file(const std::string& name) const { return (dir_.path() / name).string(); }
  // A shell between us and the program, which stays.
  std::string backend(int most) const {
    return " --backend 'python3 " + file("bytes.py") + " " + file("notes") + " " +
           std::to_string(most) + "; exit $?' ";
  }
  std::vector<std::string> notes(const std::string& kind) const {
    std::vector<std::string> found;
    std::ifstream in(file("notes"));
    for (std::string line; std::getline(in, line);)
      if (line.starts_with(kind)) found.push_back(line.substr(line.find(' ') + 1));
    return found;
  }
  void expect_no_child_left() const {
    for (const std::string& pid : notes("pid"))
      EXPECT_TRUE(soon([&] { return !lives(pid); })) << pid << " lives";
    std::filesystem::remove(file("notes"));
  }
  // Sends the signal once the backend hangs.
  int ended(const std::string& arguments, int signal, std::string* output = nullptr) {
    Running run(arguments, file("out"), file("err"));
    EXPECT_TRUE(soon([&] { return !notes("hangs").empty(); }, 120)) << run.errors();
    const int code = run.end(signal);
    EXPECT_LT(run.seconds(), 10) << arguments;  // a second where nothing else runs
    if (output != nullptr) *output = run.output();
    return code;
  }
  TemporaryDirectory dir_;
};

TEST_F(CliEnding, ASignalEndsJudgeWithTheSummaryAndAllChildren) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    std::string out;
    EXPECT_EQ(ended("judge --all" + backend(3) + kSuite, signal, &out), 128 + signal);
    EXPECT_EQ(std::ranges::count(out, '\n'), 5) << out;  // three kernels, and the summary
    EXPECT_THAT(out, HasSubstr("ended after 3 of "));
    EXPECT_THAT(out, HasSubstr("3 kernels on bytes under profile glibc: 3 PASS, 0 WEAK"));
    expect_no_child_left();
  }
  std::string out;
  EXPECT_EQ(ended("judge --json" + backend(3) + kSuite, SIGTERM, &out), 143);
  EXPECT_EQ(std::ranges::count(out, '\n'), 3) << out;
  EXPECT_THAT(read_file(file("err")), HasSubstr("ended after 3 of "));
  expect_no_child_left();
}

TEST_F(CliEnding, ASignalEndsLeagueWithTheTablesSoFarAndAllChildren) {
  for (const int signal : {SIGINT, SIGTERM}) {
    std::string out;
    EXPECT_EQ(ended("league" + backend(3) + kSuite, signal, &out), 128 + signal);
    EXPECT_THAT(out, HasSubstr("## bytes, 1\n"));
    EXPECT_THAT(out, HasSubstr("Ended after 3 of "));
    EXPECT_EQ(std::ranges::count(read_file(file("err")), '\n'), 3);
    EXPECT_THAT(read_file(file("err")), HasSubstr("  bytes: legal\n"));
    expect_no_child_left();
  }
}

TEST_F(CliEnding, ASignalEndsBlameAndFuzzAndAllChildren) {
  ASSERT_EQ(touchstone_run("emit " + file("suite") + " --ops neg --dtypes i8 -n 4").code, 0);
  const std::string at = file("suite") + "/neg-int8-random/";
  for (const int signal : {SIGINT, SIGTERM, SIGKILL}) {
    EXPECT_EQ(ended("blame " + at + "kernel.json --timeout 600 --in " + at + "in1.npy" + backend(0),
                    signal),
              128 + signal);
    expect_no_child_left();
    const int code =
        ended("fuzz --jobs 1 --timeout 600 --cases 5 --findings " + file("findings") + backend(0),
              signal);
    EXPECT_EQ(code, 128 + signal);
    expect_no_child_left();
  }
}

// A compiler that hangs with its children, in its process group and in a new session.
constexpr char kHangingCompiler[] = R"sh(
export NOTES
[ "$1" != --version ] || exec echo some version
note() { echo "$@" >> "$NOTES"; }
note pid $$
sleep 1000 & note pid $!
setsid sh -c 'echo pid $$ >> "$NOTES"; exec sleep 1000' &
sleep 0.1
note hangs
sleep 1000
)sh";

TEST_F(CliEnding, ASignalEndsACompilerThatHangs) {
  const std::string cc = file("cc");
  write_file_atomically(cc, "#!/bin/sh\nNOTES=" + file("notes") + kHangingCompiler);
  std::filesystem::permissions(cc, std::filesystem::perms::owner_all);
  ::setenv("TOUCHSTONE_CC", cc.c_str(), 1);
  ::setenv("TOUCHSTONE_CACHE", file("objects").c_str(), 1);
  const std::filesystem::path temporary = dir_.path() / "tmp";
  std::filesystem::create_directory(temporary);
  ::setenv("TMPDIR", temporary.c_str(), 1);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGKILL}) {
    EXPECT_EQ(ended("eval --device CLANG --op 'exp2(x[4])'", signal), 128 + signal);
    EXPECT_EQ(read_file(file("err")), "");
    expect_no_child_left();
    EXPECT_EQ(std::filesystem::is_empty(temporary), signal != SIGKILL);
    EXPECT_EQ(ended("fuzz --area kernel --backend clang --jobs 2 --cases 50 --findings " +
                        file("findings"),
                    signal),
              128 + signal);
    expect_no_child_left();
  }
  for (const char* name : {"TOUCHSTONE_CC", "TOUCHSTONE_CACHE", "TMPDIR"}) ::unsetenv(name);
}

TEST_F(CliEnding, ACompilerTakesNoMoreThanItMay) {
  const std::string cc = file("cc");
  const auto run_with = [&](const std::string& script, const std::string& limit) {
    write_file_atomically(
        cc, "#!/bin/sh\n[ \"$1\" != --version ] || exec echo some version\n" + script + "\n");
    std::filesystem::permissions(cc, std::filesystem::perms::owner_all);
    const auto start = std::chrono::steady_clock::now();
    const Answer run =
        touchstone_run("eval --device CLANG --op 'exp2(x[4])'",
                       limit + " TOUCHSTONE_CC=" + cc + " TOUCHSTONE_CACHE=" + file("objects"));
    EXPECT_EQ(run.code, 2);
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));
    return run.text;
  };
  EXPECT_THAT(run_with("sleep 1000", "TOUCHSTONE_CC_SECONDS=1"),
              HasSubstr("longer than 1 s (TOUCHSTONE_CC_SECONDS sets this limit)"));
  EXPECT_THAT(run_with("exec yes", "TOUCHSTONE_CC_OUTPUT=1"),
              HasSubstr("more than 1 MiB (TOUCHSTONE_CC_OUTPUT sets this limit)"));
  EXPECT_THAT(
      run_with("exec dd if=/dev/zero of=/dev/null bs=1G count=1", "TOUCHSTONE_CC_MEMORY=200"),
      HasSubstr("more than 200 MiB of memory (TOUCHSTONE_CC_MEMORY sets this limit)"));
}

TEST_F(CliEnding, WhatHasNoEndIsNotRead) {
  for (const std::string arguments :
       {"eval /dev/zero", "eval --op 'exp2(x[4])' --in /dev/zero", "check /dev/zero"}) {
    const Answer run = touchstone_run(arguments);
    EXPECT_EQ(run.code, 2) << arguments;
    EXPECT_THAT(run.text, HasSubstr("/dev/zero")) << arguments;
  }
  write_file_atomically(file("questions"),
                        R"({"kernel":"/dev/zero","inputs":[],"output":"/dev/zero"})"
                        "\n"
                        R"({"id":2,"kernel":"/dev/tty","inputs":[],"output":"/dev/zero"})"
                        "\n");
  const Answer serve = touchstone_run("serve", "", "< " + file("questions"));
  EXPECT_EQ(std::ranges::count(serve.text, '\n'), 2) << serve.text;
  EXPECT_THAT(serve.text, HasSubstr("only regular files are read"));
}

TEST_F(CliEnding, KillingLeavesNoChild) {
  for (const char* verb : {"judge", "league"}) {
    EXPECT_EQ(ended(verb + backend(0) + kSuite, SIGKILL), 137);
    expect_no_child_left();
  }
}

TEST_F(CliEnding, LinesComeAsSoonAsKernelsAreJudged) {
  Running run("judge --all" + backend(2) + kSuite, file("out"), file("err"));
  EXPECT_TRUE(soon([&] { return !notes("hangs").empty(); }, 120));
  EXPECT_EQ(std::ranges::count(run.output(), '\n'), 2) << "while the third hangs";
  run.end(SIGKILL);
  expect_no_child_left();
}

// However a run is interrupted and resumed, the final output is that of one run.
TEST_F(CliEnding, AResumedRunIsOneThatWasNeverEnded) {
  for (const std::string verb : {"judge --all", "league"}) {
    const std::string log = file("log"), whole = file("whole");
    Running once(verb + backend(1000) + kSuite + "--log " + whole, file("once"), file("err"));
    EXPECT_EQ(once.end(0), 0) << verb;
    const std::size_t questions = notes("asked").size();
    std::filesystem::remove(file("notes"));
    std::size_t asked = 0;
    const std::string again = " --resume --log " + log + " ";
    for (const int signal : {SIGKILL, SIGINT, SIGTERM}) {
      EXPECT_EQ(ended(verb + backend(2) + kSuite + again, signal), 128 + signal);
      asked += notes("asked").size() - 1;  // one question had no answer
      expect_no_child_left();
      std::ofstream(log, std::ios::app) << "{\"case\":\"cut in the mid";
    }
    Running last(verb + backend(1000) + kSuite + again, file("out"), file("err"));
    EXPECT_EQ(last.end(0), 0) << verb << last.errors();
    EXPECT_EQ(last.output(), once.output()) << verb;
    EXPECT_EQ(read_file(log), read_file(whole)) << verb;
    EXPECT_EQ(asked + notes("asked").size(), questions) << "none is asked twice";
    std::filesystem::remove(file("notes"));
    // The log of another run, an unrequested resume and a damaged log are refused and left
    // unchanged.
    const std::string before = read_file(log);
    const auto refused = [&](const std::string& words, const char* why) {
      const Answer run = touchstone_run(verb + backend(0) + words);
      EXPECT_EQ(run.code, 2) << run.text;
      EXPECT_THAT(run.text, HasSubstr(why));
    };
    refused(kSuite + ("--seed 9" + again), "belongs to another run");
    refused(kSuite + ("--log " + log), "already exists");
    refused(kSuite + std::string("--resume"), "--resume needs --log FILE");
    refused(kSuite + ("--resume --log " + file(".")), "log");
    EXPECT_EQ(read_file(log), before);
    std::ofstream(log, std::ios::app) << "{}\n";
    refused(kSuite + again, "damaged");
    for (const std::string& name : {log, whole, file("notes")}) std::filesystem::remove(name);
  }
}

TEST_F(CliEnding, AFolderIsResumedWhereItsFilesAreAsTheyWere) {
  const std::string suite = file("suite"), log = file("log");
  ASSERT_EQ(touchstone_run("emit " + suite + " --ops neg --dtypes i8 -n 4").code, 0);
  const std::string judge = "judge --all " + suite + " --resume --log " + log;
  const Answer first = touchstone_run(judge);
  EXPECT_EQ(first.code, 2);  // no outputs
  const std::string lines = read_file(log);
  const Answer second = touchstone_run(judge);
  EXPECT_EQ(second.text, first.text);
  EXPECT_EQ(read_file(log), lines);
  const std::string at = suite + "/neg-int8-random/";
  ASSERT_EQ(
      touchstone_run("eval " + at + "kernel.json --in " + at + "in1.npy --out " + at + "out.npy")
          .code,
      0);
  const Answer third = touchstone_run(judge);
  EXPECT_THAT(third.text, HasSubstr("neg-int8-random PASS"));
  EXPECT_THAT(third.text, HasSubstr(": 1 PASS, 0 WEAK, 0 FAIL"));
}

// The output on a terminal of `columns`; with `output`, standard output goes to that file.
std::string on_terminal(const std::string& arguments, unsigned columns,
                        const std::string& output = " > /dev/null") {
  winsize size{};
  size.ws_col = static_cast<unsigned short>(columns);
  size.ws_row = 24;
  int terminal = -1;
  const std::string line = "exec " TOUCHSTONE_COMMAND " " + arguments + output;
  const pid_t pid = ::forkpty(&terminal, nullptr, nullptr, &size);
  if (pid == 0) {
    ::execl("/bin/sh", "sh", "-c", line.c_str(), nullptr);
    ::_exit(127);
  }
  std::string text;
  char piece[4096];
  for (ssize_t n = 0; (n = ::read(terminal, piece, sizeof piece)) > 0;)
    text.append(piece, static_cast<std::size_t>(n));
  ::close(terminal);
  ::waitpid(pid, nullptr, 0);
  return text;
}

TEST_F(CliEnding, ProgressFitsTheTerminal) {
  for (const unsigned columns : {12U, 40U, 200U}) {
    std::string text = on_terminal("judge --json" + backend(1000) + kSuite, columns);
    EXPECT_THAT(text, HasSubstr("judging")) << columns;
    text.resize(std::min(text.find("backend: it started"), text.size()));  // said if it was slow
    EXPECT_EQ(text.find('\n'), std::string::npos) << text;
    int updates = 0;
    for (std::size_t at = 0; (at = text.find("\r\x1b[K", at)) != std::string::npos; ++updates) {
      at += 4;
      EXPECT_LT(std::min(text.find('\r', at), text.size()) - at, columns) << text.substr(at, 60);
    }
    EXPECT_GT(updates, 0);
    EXPECT_TRUE(text.ends_with("\r\x1b[K")) << "it is taken away";
  }
}

TEST_F(CliEnding, ATableFitsTheTerminalAndSaysWhatItLeavesOut) {
  const auto widest = [](const std::string& text) {
    std::size_t most = 0, wide = 0;
    for (const char c : text) {
      if (c == '\n') most = std::max(most, std::exchange(wide, 0));
      // Without colours: single-byte characters except the ellipsis, and line ends.
      else if ((static_cast<unsigned char>(c) & 0xc0U) != 0x80U && c != '\r')
        ++wide;
    }
    return most;
  };
  for (const unsigned columns : {30U, 60U, 100U}) {
    const std::string text = on_terminal("--color never ops", columns, "");
    const std::string note = fmt::format("\n{} columns: cut: ", columns);
    ASSERT_THAT(text, HasSubstr(note));
    const std::string table = text.substr(0, text.find(note) + 1);
    EXPECT_LE(widest(table), columns) << table;
    EXPECT_THAT(table, HasSubstr("…"));
  }
  const std::string narrow = on_terminal("--color never kernels lenet", 30, "");
  EXPECT_THAT(narrow, HasSubstr("left out: "));
  const std::string wide = on_terminal("--color never kernels lenet", 200, "");
  EXPECT_THAT(wide, testing::Not(HasSubstr("left out")));
  EXPECT_THAT(wide, testing::Not(HasSubstr("…")));
}

}  // namespace
}  // namespace touchstone
