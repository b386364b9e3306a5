#include "touchstone/fuzz/engine/runner.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <ctime>
#include <fstream>
#include <set>

#include <sys/wait.h>
#include <unistd.h>

#include "../support/sanitized.h"
#include "touchstone/base/device_lost.h"
#include "touchstone/base/file.h"

namespace touchstone::fuzz {
namespace {

/// Numbers. Multiples of 97 fail; tests define the behaviour above a million.
class Counting : public Area {
 public:
  std::string_view name() const override { return "numbers"; }
  std::string draw(Chooser& chooser) override { return std::to_string(chooser.below(1'000'000)); }
  Checked check(const std::string& text, Effort) override {
    const std::int64_t n = std::stoll(text);
    if (n % 97 == 0) return Checked::fail("multiple", text);
    if (n % 11 == 0) return {Ending::Skipped, {}};
    return {};
  }
  std::vector<std::string> smaller(const std::string& text) override {
    const std::int64_t n = std::stoll(text);
    return {std::to_string(n / 2), std::to_string(n - 97), std::to_string(n - 1)};
  }
  Measure measure(const std::string& text) override { return {std::llabs(std::stoll(text))}; }
  std::vector<Dimension> dimensions() const override {
    return {{"last", {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"}}, {"even", {"no", "yes"}}};
  }
  bool feasible(std::span<const int> row) const override {
    return row[0] < 0 || row[1] < 0 || (row[0] % 2 == 0) == (row[1] == 1);
  }
  std::vector<CoverageRow> coverage(const std::string& text, Ending) override {
    const int digit = static_cast<int>(std::stoll(text) % 10);
    return {{digit, digit % 2 == 0 ? 1 : 0}};
  }
};

AreaPlan numbers() {
  return {"numbers", [](int) { return std::make_unique<Counting>(); }, 16, 500};
}

const std::atomic<bool> go_on = false;

std::vector<std::string> list(const RunResult& r) {
  std::vector<std::string> out;
  for (const AreaResult& a : r.areas) {
    out.push_back(fmt::format("{} {} {} {} {}", a.name, a.tally.cases, a.tally.passed,
                              a.tally.skipped, a.tally.failed));
    for (const AreaFinding& f : a.findings)
      out.push_back(
          fmt::format("{} {} {} {} {}", f.index, f.text, f.shrunk, f.failure.relation, f.times));
  }
  return out;
}

TEST(Runner, GivesTheSameListForAnyNumberOfWorkers) {
  RunOptions o{.seed = 5, .cases = 3000};
  const std::vector<std::string> one = list(run_areas({numbers()}, o, go_on));
  EXPECT_GT(one.size(), 10U);
  for (const int jobs : {2, 64}) {
    o.jobs = jobs;
    EXPECT_EQ(list(run_areas({numbers()}, o, go_on)), one) << jobs;
  }
  o.growth = 0;  // a new process for each batch
  for (const int jobs : {1, 3}) {
    o.jobs = jobs;
    const RunResult r = run_areas({numbers()}, o, go_on);
    EXPECT_EQ(list(r), one) << jobs;
    EXPECT_EQ(r.areas[0].tally.cases, 3000) << jobs;
  }
}

TEST(Runner, ShardsTogetherAreTheWhole) {
  RunOptions o{.seed = 5, .cases = 1000, .jobs = 2, .most_shrunk = 0};
  std::set<std::int64_t> whole, parts;
  const RunResult all = run_areas({numbers()}, o, go_on);
  for (const AreaFinding& f : all.areas[0].findings) whole.insert(f.index);
  o.shards = 3;
  std::int64_t cases = 0;
  for (o.shard = 0; o.shard < 3; ++o.shard) {
    const RunResult r = run_areas({numbers()}, o, go_on);
    cases += r.areas[0].tally.cases;
    for (const AreaFinding& f : r.areas[0].findings) parts.insert(f.index);
  }
  EXPECT_EQ(cases, 1000);
  EXPECT_EQ(parts, whole);
}

TEST(Runner, FindingsOfOneShrunkFormAreOne) {
  const RunResult r = run_areas({numbers()}, {.seed = 5, .cases = 3000}, go_on);
  ASSERT_FALSE(r.areas[0].findings.empty());
  EXPECT_EQ(r.areas[0].findings[0].shrunk, "0");
  EXPECT_GT(r.areas[0].findings[0].times, 1);
  EXPECT_GT(r.areas[0].unshrunk, 0) << "beyond most_shrunk they are kept as drawn";
}

/// Fails only once, or only on cases it drew itself.
class Fickle final : public Counting {
 public:
  explicit Fickle(std::filesystem::path met) : met_(std::move(met)) {}
  std::string draw(Chooser& chooser) override {
    drawn_ = Counting::draw(chooser);
    return drawn_;
  }
  Checked check(const std::string& text, Effort /*effort*/) override {
    if (met_.empty() ? drawn_ != text || std::stoll(text) % 97 != 0 : std::filesystem::exists(met_))
      return {};
    if (!met_.empty()) write_file_atomically(met_, "met");
    return Checked::fail("multiple", text);
  }

 private:
  std::filesystem::path met_;
  std::string drawn_;
};

TEST(Runner, TellsWhetherAFindingFailsAgain) {
  const TemporaryDirectory folder;
  for (const bool once : {true, false}) {
    const std::filesystem::path met = once ? folder.path() / "met" : std::filesystem::path();
    const AreaPlan plan{"numbers", [&](int) { return std::make_unique<Fickle>(met); }, 16, 500};
    const RunResult r = run_areas({plan}, {.seed = 5, .cases = 600}, go_on);
    ASSERT_FALSE(r.areas[0].findings.empty());
    const AreaFinding& f = r.areas[0].findings[0];
    EXPECT_EQ(f.unsteady, once);
    EXPECT_EQ(f.only_drawn, !once);
    EXPECT_EQ(f.shrunk, f.text);
  }
}

/// Ends its process in the ways of real faults.
class Deadly final : public Counting {
 public:
  Checked check(const std::string& text, Effort effort) override {
    const std::int64_t n = std::stoll(text);
    if (n % 100 == 42) std::raise(SIGSEGV);
    if (n % 1000 == 500) throw std::runtime_error("thrown by the check");
    return Counting::check(text, effort);
  }
};

TEST(Runner, ACrashIsAFindingAndTheCampaignGoesOn) {
  const AreaPlan plan{"numbers", [](int) { return std::make_unique<Deadly>(); }, 16, 500};
  RunOptions o{.seed = 1, .cases = 300, .most_shrunk = 2};
  const RunResult one = run_areas({plan}, o, go_on);
  EXPECT_EQ(one.areas[0].tally.cases, 300);
  std::set<std::string> relations;
  for (const AreaFinding& f : one.areas[0].findings) {
    relations.insert(f.failure.relation);
    const std::int64_t n = std::stoll(f.text);
    EXPECT_EQ(f.failure.relation, n % 100 == 42     ? "crash"
                                  : n % 1000 == 500 ? "exception"
                                                    : "multiple");
  }
  EXPECT_TRUE(relations.contains("crash"));
  o.jobs = 3;
  EXPECT_EQ(list(run_areas({plan}, o, go_on)), list(one));
}

/// A case ends its process's device, on which no later case can run.
class Losing final : public Counting {
 public:
  Checked check(const std::string& text, Effort effort) override {
    if (std::stoll(text) % 100 == 42) why_ = "kernel " + text + " ended the device";
    if (!why_.empty()) throw DeviceLost(why_);
    return Counting::check(text, effort);
  }

 private:
  std::string why_;
};

TEST(Runner, ALostDeviceIsAFindingOfTheCaseThatEndedIt) {
  const AreaPlan plan{"numbers", [](int) { return std::make_unique<Losing>(); }, 16, 500};
  const RunOptions o{.seed = 1, .cases = 300, .jobs = 2};
  const RunResult run = run_areas({plan}, o, go_on);
  const AreaResult& lost = run.areas.at(0);
  EXPECT_EQ(lost.tally.cases, 300);
  int ended = 0;
  for (const AreaFinding& f : lost.findings) {
    EXPECT_EQ(f.failure.relation == "crash", std::stoll(f.text) % 100 == 42) << f.text;
    if (f.failure.relation != "crash") continue;
    ++ended;
    EXPECT_EQ(f.failure.detail, "kernel " + f.text + " ended the device");
    EXPECT_LE(f.shrunk.size(), f.text.size());
  }
  EXPECT_GE(ended, 1);
}

TEST(Runner, WorkersAreReplacedAfterSoManyBatches) {
  AreaPlan plan = numbers();
  const RunOptions o{.seed = 5, .cases = 300, .jobs = 2};
  const std::vector<std::string> whole = list(run_areas({plan}, o, go_on));
  plan.most_batches = 3;
  EXPECT_EQ(list(run_areas({plan}, o, go_on)), whole);
}

/// Kills its worker once, as `killall` would.
class Ended final : public Counting {
 public:
  Ended(std::filesystem::path mark, int signal) : mark_(std::move(mark)), signal_(signal) {}
  Checked check(const std::string& text, Effort effort) override {
    if (std::stoll(text) % 10 == 4 && !std::filesystem::exists(mark_)) {
      std::ofstream(mark_) << text;
      std::raise(signal_);
    }
    return Counting::check(text, effort);
  }

 private:
  std::filesystem::path mark_;
  int signal_;
};

TEST(Runner, AWorkerThatSomebodyEndsIsNoFinding) {
  RunOptions o{.seed = 5, .cases = 300, .most_shrunk = 0};
  const std::vector<std::string> whole = list(run_areas({numbers()}, o, go_on));
  for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGKILL}) {
    const TemporaryDirectory folder;
    const auto mark = folder.path() / "mark";
    const auto make = [=](int) { return std::make_unique<Ended>(mark, signal); };
    EXPECT_EQ(list(run_areas({{"numbers", make, 16, 500}}, o, go_on)), whole) << signal;
    EXPECT_TRUE(std::filesystem::exists(mark));
  }
}

/// Large cases of one repeated letter; a timer kills the worker at an arbitrary point of checking.
class Killed final : public Counting {
 public:
  std::string draw(Chooser& chooser) override {
    drawn_ = true;
    return std::string(static_cast<std::size_t>(1'000'000 + chooser.below(1'000'000)),
                       static_cast<char>('a' + chooser.below(26)));
  }
  Checked check(const std::string& text, Effort) override {
    if (std::exchange(drawn_, false) && !std::exchange(begun_, true)) end_soon();
    const bool whole =
        text.size() >= 1'000'000 && std::memcmp(text.data(), text.data() + 1, text.size() - 1) == 0;
    return whole ? Checked{} : Checked::fail("torn", std::to_string(text.size()));
  }

 private:
  static void end_soon() {
    sigevent event{};
    event.sigev_notify = SIGEV_SIGNAL;
    event.sigev_signo = SIGKILL;
    timer_t timer{};
    const long microseconds = 1 + (::getpid() * 7919L) % 5000;
    const itimerspec once{{0, 0}, {0, microseconds * 1000}};
    if (::timer_create(CLOCK_MONOTONIC, &event, &timer) != 0 ||
        ::timer_settime(timer, 0, &once, nullptr) != 0)
      std::abort();  // a finding
  }

  bool drawn_ = false, begun_ = false;
};

TEST(Runner, AWorkerThatIsKilledAnywhereLeavesAWholeCase) {
  const AreaPlan plan{"letters", [](int) { return std::make_unique<Killed>(); }, 8, 500};
  const std::int64_t cases = test::kSanitized ? 25 : 400;
  const RunResult r = run_areas({plan}, {.cases = cases, .jobs = 2, .most_shrunk = 0}, go_on);
  EXPECT_EQ(r.trouble, "");
  EXPECT_EQ(list(r), std::vector<std::string>{fmt::format("letters {0} {0} 0 0", cases)});
}

/// Its helper process is killed together with the campaign: the case fails, but would not fail
/// again.
class CutOff final : public Counting {
 public:
  CutOff(std::filesystem::path mark, std::string relation)
      : mark_(std::move(mark)), relation_(std::move(relation)) {}
  Checked check(const std::string& text, Effort effort) override {
    if (std::stoll(text) % 10 == 4 && !std::filesystem::exists(mark_)) {
      std::ofstream(mark_) << text;
      return Checked::fail(relation_, "its process was ended");
    }
    return Counting::check(text, effort);
  }

 private:
  std::filesystem::path mark_;
  std::string relation_;
};

TEST(Runner, ACaseThatWasCutOffIsNoFindingButOneThatFailsOnceIs) {
  for (const bool stops : {true, false})
    for (const char* relation : {"broken", "refused", "verdict"}) {
      const TemporaryDirectory folder;
      const auto mark = folder.path() / "mark";
      const auto make = [=](int) { return std::make_unique<CutOff>(mark, relation); };
      std::atomic<bool> stop = false;
      const RunResult r =
          run_areas({{"numbers", make, 16, 500}}, {.seed = 3, .cases = 100, .most_shrunk = 0}, stop,
                    [&](const auto&, const Tally&, double) {
                      if (stops && std::filesystem::exists(mark)) stop = true;
                    });
      const auto once = std::ranges::count_if(r.areas[0].findings, [](const AreaFinding& f) {
        return f.failure.detail == "its process was ended";
      });
      const bool by_itself = std::string(relation) == "verdict";
      EXPECT_EQ(once, stops && !by_itself ? 0 : 1) << relation << stops;
      EXPECT_EQ(r.ended_early, stops);
    }
}

class Hanging final : public Counting {
 public:
  std::string draw(Chooser& chooser) override {
    return chooser.below(40) == 7 ? "hang" : Counting::draw(chooser);
  }
  Checked check(const std::string& text, Effort effort) override {
    while (text == "hang") ::pause();
    return Counting::check(text, effort);
  }
};

TEST(Runner, AHangIsAFindingAndTheCampaignGoesOn) {
  const AreaPlan plan{"numbers", [](int) { return std::make_unique<Hanging>(); }, 16, 500};
  RunOptions o{.cases = 40, .jobs = 2, .case_seconds = 1, .most_shrunk = 0};
  const auto wanted = [&] {
    int hangs = 0;
    for (std::int64_t i = 0; i < o.cases; ++i) {
      RandomChooser chooser(o.seed, case_key("numbers", i));
      hangs += Hanging().draw(chooser) == "hang";
    }
    return hangs;
  };
  while (wanted() != 1) ++o.seed;
  const RunResult r = run_areas({plan}, o, go_on);
  EXPECT_EQ(r.areas[0].tally.cases, 40);
  bool found = false;  // on a stalled machine others may seem to hang
  for (const AreaFinding& f : r.areas[0].findings)
    found = found || (f.text == "hang" && f.failure.relation == "hang");
  EXPECT_TRUE(found);
}

TEST(Runner, AWorkerThatDoesNotStartIsTold) {
  const AreaPlan plan{
      "numbers", [](int) -> std::unique_ptr<Area> { throw SystemError("no compiler"); }, 16, 500};
  EXPECT_EQ(run_areas({plan}, {.cases = 10}, go_on).trouble, "no compiler");
}

TEST(Runner, ALogIsTakenUpWhereAKilledCampaignEnded) {
  const TemporaryDirectory folder;
  RunOptions o{.seed = 9, .cases = 20'000, .jobs = 2, .most_shrunk = 3};
  const std::vector<std::string> whole = list(run_areas({numbers()}, o, go_on));
  o.log = folder.path() / "log.jsonl";
  const pid_t child = ::fork();
  if (child == 0) {
    run_areas({numbers()}, o, go_on, [](const auto&, const Tally& t, double) {
      if (t.cases > 2000) ::kill(::getpid(), SIGKILL);
    });
    ::_exit(0);
  }
  ::waitpid(child, nullptr, 0);
  std::ofstream(o.log, std::ios::app) << "{\"area\":\"numb";  // an incomplete line
  EXPECT_THROW(run_areas({numbers()}, o, go_on), ParseError) << "--resume was not asked for";
  o.resume = true;
  EXPECT_EQ(list(run_areas({numbers()}, o, go_on)), whole);
  const auto size = std::filesystem::file_size(o.log);
  EXPECT_EQ(list(run_areas({numbers()}, o, go_on)), whole) << "nothing is left to do";
  EXPECT_LT(std::filesystem::file_size(o.log), size + 2000);
  o.cases = 21'000;
  EXPECT_EQ(run_areas({numbers()}, o, go_on).areas[0].tally.cases, 21'000) << "it may be longer";
  o.seed = 10;
  EXPECT_THROW(run_areas({numbers()}, o, go_on), ParseError) << "another campaign";
}

TEST(Runner, StoppingLeavesALogThatGoesOn) {
  const TemporaryDirectory folder;
  RunOptions o{.seed = 9, .cases = 20'000, .jobs = 2, .most_shrunk = 3};
  const std::vector<std::string> whole = list(run_areas({numbers()}, o, go_on));
  o.log = folder.path() / "log.jsonl";
  std::atomic<bool> stop = false;
  const RunResult r = run_areas({numbers()}, o, stop, [&](const auto&, const Tally& t, double) {
    if (t.cases > 1000) stop = true;
  });
  EXPECT_TRUE(r.ended_early || r.areas[0].tally.cases == 20'000);
  o.resume = true;
  EXPECT_EQ(list(run_areas({numbers()}, o, go_on)), whole);
}

TEST(Runner, AFullDiskAndADamagedLogAreTold) {
  RunOptions o{.seed = 9, .cases = 100, .log = "/dev/full"};
  EXPECT_THROW(run_areas({numbers()}, o, go_on), SystemError);
  const TemporaryDirectory folder;
  o.log = folder.path() / "log.jsonl";
  run_areas({numbers()}, o, go_on);
  std::string text = read_file(o.log);
  text.insert(text.find('\n') + 1, "oh dear\n");
  write_file_atomically(o.log, text);
  o.resume = true;
  try {
    run_areas({numbers()}, o, go_on);
    ADD_FAILURE();
  } catch (const ParseError& e) {
    EXPECT_NE(std::string(e.what()).find("log.jsonl:2: damaged"), std::string::npos) << e.what();
  }
}

TEST(Runner, CountsWhatWasReached) {
  RunOptions o{.seed = 2, .cases = 500, .coverage = true};
  const RunResult one = run_areas({numbers()}, o, go_on);
  const Coverage& c = *one.areas[0].coverage;
  EXPECT_EQ(c.rows(), 500U);
  ASSERT_EQ(c.shares().size(), 1U);
  EXPECT_EQ(c.shares()[0].possible, 10U) << "an odd digit is not even";
  EXPECT_EQ(c.shares()[0].reached, 10U);
  EXPECT_TRUE(c.missing(10).empty());
  o.jobs = 3;
  const RunResult three = run_areas({numbers()}, o, go_on);
  for (std::size_t digit = 0; digit < 10; ++digit)
    EXPECT_EQ(three.areas[0].coverage->pair(0, digit, 1, digit % 2 == 0),
              c.pair(0, digit, 1, digit % 2 == 0));
  const std::pair<std::string, const Coverage*> page[] = {{"numbers", &c}};
  const std::string html = coverage_html(page, "a < b");
  EXPECT_NE(html.find("a &lt; b"), std::string::npos);
  EXPECT_NE(html.find("last 3, even no: "), std::string::npos);
  EXPECT_NE(coverage_text("numbers", c).find("10 of      10  100.00 %"), std::string::npos);
}

}  // namespace
}  // namespace touchstone::fuzz
