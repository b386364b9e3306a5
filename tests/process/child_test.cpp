#include "touchstone/process/child.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include "touchstone/base/error.h"
#include "touchstone/base/file.h"
#include "touchstone/base/interrupt.h"
#include "touchstone/process/run.h"

// Each test checks processes in /proc, independent of the module.

namespace touchstone::process {
namespace {

using namespace std::chrono_literals;

bool lives(const std::string& pid) {
  std::ifstream stat("/proc/" + pid + "/stat");
  std::string text;
  return std::getline(stat, text) && text.find(") Z ") == std::string::npos;
}

template <class Done>
bool within(std::chrono::milliseconds time, Done done) {
  const auto end = Clock::now() + time;
  while (!done()) {
    if (Clock::now() > end) return false;
    std::this_thread::sleep_for(2ms);
  }
  return true;
}

ChildCommand shell(const std::string& script) { return {"/bin/sh", {"-c", script}, {}}; }

// Child processes of this one, including zombies.
int children_here() {
  std::ifstream list("/proc/thread-self/children");
  return static_cast<int>(
      std::distance(std::istream_iterator<int>(list), std::istream_iterator<int>()));
}

class ProcessTest : public testing::Test {
 protected:
  std::string note() const { return (dir_.path() / "note").string(); }
  // The process numbers that children write, once there are `count`.
  std::vector<std::string> numbers(std::size_t count) const {
    std::vector<std::string> all;
    EXPECT_TRUE(within(20s, [&] {
      std::ifstream in(note());
      all.assign(std::istream_iterator<std::string>(in), {});
      return all.size() >= count;
    }));
    return all;
  }
  // A family of four: a shell, a child in its group, one in a new session, and that one's orphaned
  // child.
  std::string family() const {
    const std::string say = " >> " + note();
    return "echo $$" + say + "; sleep 1000 & echo $!" + say + "; setsid sh -c 'echo $$" + say +
           "; sleep 1001' & setsid sh -c '(setsid sleep 1002 & echo $!" + say +
           ") ; exit 0'; wait; sleep 1003";
  }
  void expect_all_gone(const std::vector<std::string>& pids) const {
    for (const std::string& pid : pids)
      EXPECT_TRUE(within(10s, [&] { return !lives(pid); })) << pid << " lives";
  }
  void TearDown() override { EXPECT_EQ(children_here(), 0) << "also no zombie"; }
  TemporaryDirectory dir_;
};

TEST_F(ProcessTest, AProgramIsGivenItsInputAndTellsItsOutput) {
  const Finished cat = run_program({"cat", {}, {}}, std::string(1 << 20, 'x'));
  EXPECT_EQ(cat.output, std::string(1 << 20, 'x'));
  EXPECT_EQ(cat.ending.text(), "exit code 0");
  EXPECT_FALSE(cat.ending.by_us);
  const Finished both =
      run_program(shell("echo out; echo err >&2; exit 3"), {}, {}, Child::Errors::Apart);
  EXPECT_EQ(both.output, "out\n");
  EXPECT_EQ(both.errors, "err\n");
  EXPECT_EQ(both.ending.exit_code(), 3);
  EXPECT_EQ(run_program(shell("echo out; echo err >&2")).output, "out\nerr\n");
  const Finished dead = run_program(shell("kill -SEGV $$"));
  EXPECT_EQ(dead.ending.text(), "signal 11 (Segmentation fault)");
  EXPECT_EQ(dead.ending.exit_code(), 139);
}

TEST_F(ProcessTest, AProgramInheritsVariablesOfItsKind) {
  ::setenv("TOUCHSTONE_TEST_KEPT", "kept", 1);
  ::setenv("TOUCHSTONE_TEST_OTHER", "before", 1);
  ::setenv("CPATH", "stray", 1);
  ::setenv("LANG", "xx_YY", 1);
  ::unsetenv("LC_ALL");
  ChildCommand p = shell("echo $TOUCHSTONE_TEST_KEPT $TOUCHSTONE_TEST_OTHER $CPATH $LANG $LC_ALL");
  p.environment = {"TOUCHSTONE_TEST_OTHER=after"};
  EXPECT_EQ(run_program(p).output, "after C\n");
  p.inherits = Inherits::Backend;
  EXPECT_EQ(run_program(p).output, "kept after xx_YY\n");
  p.inherits = Inherits::Whole;
  EXPECT_EQ(run_program(p).output, "kept after stray xx_YY\n");
  for (const char* const name : {"CPATH", "LANG"}) ::unsetenv(name);
}

TEST_F(ProcessTest, WhatCannotBeRunSaysWhy) {
  try {
    run_program({"/nonexistent/program", {}, {}});
    FAIL();
  } catch (const SystemError& e) {
    EXPECT_STREQ(e.what(), "cannot run /nonexistent/program: No such file or directory");
  }
  EXPECT_THROW(run_program({dir_.path(), {}, {}}), SystemError);
}

TEST_F(ProcessTest, AllThatAChildStartedEndsWithIt) {
  for (const bool by_itself : {true, false}) {
    std::filesystem::remove(note());
    const std::string seen = (dir_.path() / "seen").string();
    const std::string waits = " & until [ -e '" + seen + "' ]; do sleep 0.05; done";
    Child child = Child::of_program(shell(by_itself ? "(" + family() + ")" + waits : family()));
    const std::vector<std::string> all = numbers(4);
    for (const std::string& pid : all) EXPECT_TRUE(lives(pid)) << pid;
    if (by_itself) {
      std::ofstream(seen).close();
      EXPECT_TRUE(child.ends_before(Clock::now() + 10s));
    }
    const Ending ending = child.end();
    EXPECT_EQ(ending.by_us, !by_itself);
    for (const std::string& pid : all) EXPECT_FALSE(lives(pid)) << pid << ", and at once";
  }
}

// A separate process that can be killed: it makes a child and waits.
class Parent {
 public:
  explicit Parent(const std::function<void()>& makes_children) : pid_(::fork()) {
    if (pid_ != 0) return;
    try {
      makes_children();
      ::pause();
    } catch (const std::exception& e) {
      std::fputs(e.what(), stderr);
    }
    ::_exit(0);
  }
  ~Parent() { end(SIGKILL); }
  Parent(const Parent&) = delete;
  Parent& operator=(const Parent&) = delete;
  int end(int signal) {
    if (pid_ <= 0) return 0;
    ::kill(pid_, signal);
    int status = 0;
    ::waitpid(pid_, &status, 0);
    pid_ = -1;
    return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  }

 private:
  pid_t pid_;
};

TEST_F(ProcessTest, NobodyIsLeftWhereTheParentIsKilled) {
  for (const int signal : {SIGKILL, SIGTERM, SIGINT, SIGHUP}) {
    for (const bool function : {false, true}) {
      std::filesystem::remove(note());
      Parent parent([&] {
        static std::vector<Child> kept;
        if (function)
          kept.push_back(Child::of_function([&](int) { return std::system(family().c_str()); }));
        else
          kept.push_back(Child::of_program(shell(family())));
      });
      const std::vector<std::string> all = numbers(4);
      EXPECT_EQ(parent.end(signal), signal);
      expect_all_gone(all);
    }
  }
}

TEST_F(ProcessTest, ChildrenOfChildrenOfOursEndWithUs) {
  Parent parent([&] {
    static std::vector<Child> kept;
    kept.push_back(Child::of_function([&](int) {
      Child::of_program(shell(family())).ends_before(Clock::time_point::max());
      return 0;
    }));
  });
  const std::vector<std::string> all = numbers(4);
  parent.end(SIGKILL);
  expect_all_gone(all);
}

TEST_F(ProcessTest, AChildOutlivesTheThreadThatMadeIt) {
  std::optional<Child> child;
  std::thread([&] { child = Child::of_program(shell("sleep 0.2; echo done")); }).join();
  EXPECT_TRUE(child->ends_before(Clock::now() + 10s));
  EXPECT_EQ(child->end().text(), "exit code 0");
}

TEST_F(ProcessTest, AllChildrenAreEndedTogetherAndNoneIsMadeAfter) {
  Parent parent([&] {
    std::vector<Child> kept;
    for (int i = 0; i < 3; ++i) kept.push_back(Child::of_program(shell(family())));
    (void)numbers(12);
    end_all_children();
    try {
      kept.push_back(Child::of_program(shell("sleep 1000")));
    } catch (const Interrupted&) {
      std::ofstream(note() + ".told") << "refused" << std::endl;
    }
    ::pause();
  });
  const std::vector<std::string> all = numbers(12);
  EXPECT_TRUE(within(10s, [&] { return std::filesystem::exists(note() + ".told"); }));
  expect_all_gone(all);  // the parent lives
}

TEST_F(ProcessTest, TimeProcessorAndOutputAreLimited) {
  const LimitNames names{"NAME_OF_TIME", "NAME_OF_OUTPUT", "NAME_OF_MEMORY", "NAME_OF_PROCESSOR"};
  Limits limits;
  limits.time = 150ms;
  const auto start = Clock::now();
  // It closes its output, keeps running and never reads.
  const Finished late =
      run_program(shell("exec >&- 2>&-; sleep 1000"), std::string(1 << 20, 'x'), limits);
  EXPECT_LT(Clock::now() - start, 5s);
  EXPECT_TRUE(late.ending.by_us);
  EXPECT_EQ(late.limit_text(limits, names),
            "it took longer than 0.15 s (NAME_OF_TIME sets this limit)");
  limits = {};
  limits.output = 3 << 20;
  const Finished loud = run_program({"yes", {}, {}}, {}, limits);
  EXPECT_LT(loud.output.size(), std::size_t{4} << 20);
  EXPECT_EQ(loud.limit_text(limits, names),
            "it wrote more than 3 MiB (NAME_OF_OUTPUT sets this limit)");
  limits = {};
  limits.refused.processor = 1s;
  const Finished busy = run_program(shell("while :; do :; done"), {}, limits);
  EXPECT_EQ(busy.limit_text(limits, names),
            "it used the processor for more than 1 s (NAME_OF_PROCESSOR sets this limit)");
  EXPECT_NEAR(busy.ending.seconds, 1, 0.5);
}

TEST_F(ProcessTest, MemoryAndFilesAreLimited) {
  Limits limits;
  limits.refused.file = 4096;
  const std::string big = (dir_.path() / "big").string();
  const Finished full =
      run_program({"dd", {"if=/dev/zero", "of=" + big, "bs=1024", "count=9"}, {}}, {}, limits);
  EXPECT_NE(full.ending.exit_code(), 0);
  EXPECT_EQ(std::filesystem::file_size(big), 4096U);
  limits = {};
  limits.refused.memory = std::uint64_t{64} << 20;
  // dd allocates its block at once.
  const Finished fat =
      run_program({"dd", {"if=/dev/zero", "of=/dev/null", "bs=256M", "count=1"}, {}}, {}, limits);
  EXPECT_NE(fat.ending.exit_code(), 0);
  EXPECT_EQ(fat.limit_text(limits, {.time = "", .output = "", .memory = "NAME", .processor = ""}),
            "it may have needed more than 64 MiB of memory (NAME sets this limit)");
  EXPECT_EQ(run_program(shell("exit 1"), {}, limits).limit_text(limits, {}), "");
}

TEST_F(ProcessTest, WhatAChildLeavesOpenIsNotWaitedFor) {
  const auto start = Clock::now();
  const Finished left = run_program(shell("setsid sleep 1000 & echo said"));
  EXPECT_LT(Clock::now() - start, 5s);
  EXPECT_EQ(left.output, "said\n");
  EXPECT_EQ(left.ending.exit_code(), 0);
}

TEST_F(ProcessTest, AWishToStopEndsTheWait) {
  std::thread soon([] {
    std::this_thread::sleep_for(50ms);
    Interrupt::request();
  });
  const auto start = Clock::now();
  EXPECT_THROW(run_program(shell(family())), Interrupted);
  EXPECT_LT(Clock::now() - start, 2s);
  soon.join();
  Interrupt::clear();
}

TEST_F(ProcessTest, AFunctionReturnsOrSaysHowItEnded) {
  EXPECT_EQ(run_function([] { return std::string(1 << 20, 'y'); }).output,
            std::string(1 << 20, 'y'));
  const Finished threw = run_function([]() -> std::string { throw Error("no such thing"); });
  EXPECT_EQ(threw.errors, "no such thing");
  EXPECT_EQ(threw.output, "");
  EXPECT_EQ(run_function([]() -> std::string {
              ::raise(SIGILL), ::pause();
              return "";
            }).ending.signal(),
            SIGILL);
  Limits limits;
  limits.time = 100ms;
  const Finished hangs =
      run_function([]() -> std::string { return ::pause() == 0 ? "" : "x"; }, limits);
  EXPECT_EQ(hangs.exceeded, Exceeded::Time);
  EXPECT_TRUE(hangs.ending.by_us);
}

TEST_F(ProcessTest, AFunctionHasNoneOfOurChildrenAndTalksBothWays) {
  Child other = Child::of_program(shell("sleep 1000"));
  Child echo = Child::of_function([](int channel) {
    end_all_children();  // of this function, which has none
    std::array<char, 16> text{};
    const ssize_t n = ::read(channel, text.data(), text.size());
    return send_all(channel, {text.data(), static_cast<std::size_t>(n)}) ? 7 : 8;
  });
  ASSERT_TRUE(send_all(echo.channel(), "question"));
  std::array<char, 16> text{};
  EXPECT_EQ(::read(echo.channel(), text.data(), text.size()), 8);
  EXPECT_STREQ(text.data(), "question");
  EXPECT_EQ(::read(echo.channel(), text.data(), text.size()), 0) << "its end";
  EXPECT_TRUE(echo.ends_before(Clock::now() + 10s));
  EXPECT_EQ(echo.end().exit_code(), 7);
  EXPECT_FALSE(other.has_ended());
}

TEST_F(ProcessTest, SignalsThatInterruptCallsAreNoError) {
  struct sigaction tick {
  }, before{};
  tick.sa_handler = [](int) {};
  ::sigaction(SIGALRM, &tick, &before);
  const itimerval often{{0, 500}, {0, 500}}, never{};
  ::setitimer(ITIMER_REAL, &often, nullptr);
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(run_program({"cat", {}, {}}, std::string(1 << 18, 'z')).output.size(), 1U << 18);
    EXPECT_EQ(run_function([] { return std::string("w"); }).output, "w");
  }
  ::setitimer(ITIMER_REAL, &never, nullptr);
  ::sigaction(SIGALRM, &before, nullptr);
}

TEST_F(ProcessTest, ThreadsMakeChildrenAtATime) {
  std::vector<std::thread> threads;
  std::atomic<int> right = 0;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 20; ++i) {
        const std::string text = std::to_string(100 * t + i);
        if (t % 2 == 0 ? run_program({"cat", {}, {}}, text).output == text
                       : run_function([&] { return text; }).output == text)
          ++right;
      }
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(right, 80);
}

TEST_F(ProcessTest, ProgramsAreFoundAsAShellFindsThem) {
  EXPECT_EQ(find_program("sh").filename(), "sh");
  EXPECT_EQ(find_program("/bin/sh"), "/bin/sh");
  EXPECT_EQ(find_program("no-such-program"), "");
  EXPECT_EQ(find_program(dir_.path()), "");
  EXPECT_EQ(find_program(std::string(10'000, '/') + "cc"), "");
  EXPECT_EQ(find_program("a/" + std::string(1'000, 'a')), "");  // longer than a file name may be
}

}  // namespace
}  // namespace touchstone::process
