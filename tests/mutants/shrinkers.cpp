// Compares the sizes reached by RapidCheck's shrinking and by fuzz's: RapidCheck searches again for
// faults found by `touchstone mutants --log FILE`, with the same generators and relations, and both
// shrink the first failing case.

#include <rapidcheck.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <map>
#include <set>

#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "touchstone/base/error.h"
#include "touchstone/base/mutant.h"
#include "touchstone/fuzz/areas/areas.h"
#include "touchstone/fuzz/draw/rapidcheck_chooser.h"
#include "touchstone/fuzz/engine/hunt.h"
#include "touchstone/fuzz/engine/worker.h"
#include "touchstone/tcc/tcc_device.h"

namespace touchstone::fuzz {
namespace {

using nlohmann::json;
using Clock = std::chrono::steady_clock;

constexpr double kMostSeconds = 20;  // of shrinking, for each
constexpr int kMostCases = 20'000;   // until RapidCheck gives up

HuntArea area_of(const std::string& name) {
  if (name == "symbolic") return {name, [] { return make_symbolic_area(); }};
  if (name == "view") return {name, [] { return make_view_area(); }};
  if (name == "lazy") return {name, [] { return make_lazy_area(); }};
  if (name == "tensor") return {name, [] { return make_tensor_area(); }};
  return {name, [] {
            KernelBackends backends;
            backends.candidate = make_device_backend(make_tcc_device());
            return make_kernel_area(std::move(backends));
          }};
}

struct Ended {
  std::string text;
  Extent extent{};
  int calls = 0;
  double seconds = 0;
  bool cut = false;  // ran out of time
  json to_json() const {
    return {{"text", text},   {"ops", extent.ops},  {"dim", extent.dim},
            {"calls", calls}, {"seconds", seconds}, {"cut", cut}};
  }
};

double since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

class Silent : public rc::detail::TestListener {
  void onTestCaseFinished(const rc::detail::CaseDescription&) override {}
  void onShrinkTried(const rc::detail::CaseDescription&, bool) override {}
  void onTestFinished(const rc::detail::TestMetadata&, const rc::detail::TestResult&) override {}
};

/// One fault with both shrinkers, in a process with its mutant active.
class Contest {
 public:
  explicit Contest(const HuntArea& plan) : plan_(plan), area_(plan.make()) {}

  json run(std::uint64_t seed) {
    rc::detail::TestParams params;
    params.seed = seed;
    params.maxSuccess = kMostCases;
    Silent silent;
    rc::detail::checkTestable([this] { return holds(*any_choices()); }, rc::detail::TestMetadata(),
                              params, silent);
    if (relation_.empty()) return {{"found", false}};
    rapidcheck_.seconds = since(begin_);
    begin_ = Clock::now();
    Ended ours{first_};
    const ShrunkCase shrunk = shrink_case(*area_, first_, [&](const std::string& candidate) {
      return since(begin_) < kMostSeconds && fails(candidate);
    });
    ours.text = shrunk.text;
    ours.calls = shrunk.runs;
    ours.seconds = since(begin_);
    for (Ended* e : {&rapidcheck_, &ours}) {
      e->extent = area_->extent(e->text);
      e->cut = e->seconds >= kMostSeconds;
    }
    const Extent drawn = area_->extent(first_);
    return {{"found", true},          {"relation", relation_},
            {"first", first_},        {"first ops", drawn.ops},
            {"first dim", drawn.dim}, {"rapidcheck", rapidcheck_.to_json()},
            {"ours", ours.to_json()}};
  }

 private:
  bool fails(const std::string& text) const {
    return check_alone(plan_, HuntOptions{}, true, text) == relation_;
  }

  // The property given to RapidCheck.
  bool holds(const std::vector<std::uint32_t>& choices) {
    ListChooser chooser(choices);
    const std::string text = area_->draw(chooser);
    if (relation_.empty()) {
      if (area_->check(text, Effort::Sampled).ending != Ending::Fail) return true;
      relation_ = check_alone(plan_, HuntOptions{}, true, text);
      if (relation_.empty()) return true;
      first_ = rapidcheck_.text = text;
      begin_ = Clock::now();
      return false;
    }
    if (since(begin_) >= kMostSeconds) return true;
    ++rapidcheck_.calls;
    if (!fails(text)) return true;
    rapidcheck_.text = text;
    return false;
  }

  const HuntArea& plan_;
  std::unique_ptr<Area> area_;
  std::string relation_, first_;
  Ended rapidcheck_;
  Clock::time_point begin_{};
};

/// True if the final texts of a contest pass without the mutant; otherwise the case shows another
/// fault.
bool is_about_it(const HuntArea& plan, const json& result) {
  for (const char* who : {"rapidcheck", "ours"})
    if (!check_alone(plan, HuntOptions{}, true, result[who]["text"]).empty()) return false;
  return true;
}

struct Score {
  std::vector<double> ops, calls, seconds;
  int small = 0, cheap = 0;

  void add(const json& e) {
    ops.push_back(e["ops"]);
    calls.push_back(e["calls"]);
    seconds.push_back(e["seconds"]);
    small += e["ops"] <= 4 && e["dim"] <= 2 ? 1 : 0;
    cheap += e["calls"] <= 300 && e["seconds"] <= 2.0 ? 1 : 0;
  }
  static double median(std::vector<double> v) {
    std::ranges::nth_element(v, v.begin() + static_cast<std::ptrdiff_t>(v.size() / 2));
    return v[v.size() / 2];
  }
  void print(const char* who) const {
    std::printf("| %s | %zu | %d | %.0f | %.0f | %d | %.0f | %.2f |\n", who, ops.size(), small,
                median(ops), *std::ranges::max_element(ops), cheap, median(calls), median(seconds));
  }
};

int run(const char* log, std::uint64_t seed) {
  std::ifstream in(log);
  if (!in) throw SystemError(fmt::format("cannot read {}", log));
  std::printf(
      "| mutant | relation | drawn: ops | size | RapidCheck: ops | size | calls | s | ours: ops | "
      "size | calls | s |\n|---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n");
  Score theirs, ours;
  int left_out = 0;
  std::set<std::string> seen;
  for (std::string line; std::getline(in, line);) {
    const json hunt = json::parse(line);
    const std::string name = hunt["mutant"];
    if (!hunt["found"] || name.empty() || !seen.insert(name).second) continue;
    const HuntArea plan = area_of(hunt["area"]);
    std::string ended;
    const auto told = in_child(
        [&] {
          const int nowhere = open("/dev/null", O_WRONLY);
          dup2(nowhere, STDERR_FILENO);
          select_mutant(name);
          return Contest(plan).run(seed).dump(-1, ' ', false, json::error_handler_t::replace);
        },
        4 * kMostSeconds, 0, ended);
    const json result = told ? json::parse(*told) : json();
    const std::string why = !told                        ? ended
                            : !result["found"]           ? "not found by RapidCheck"
                            : !is_about_it(plan, result) ? "ended in a case that fails without it"
                                                         : "";
    if (!why.empty()) {
      ++left_out;
      std::printf("| %s | %s | | | | | | | | | | |\n", name.c_str(), why.c_str());
      std::fflush(stdout);
      continue;
    }
    const auto cells = [](const json& e) {
      return fmt::format("{} | {} | {}{} | {:.2f}", e["ops"].get<int>(), e["dim"].get<int>(),
                         e["calls"].get<int>(), e["cut"] ? " (cut)" : "",
                         e["seconds"].get<double>());
    };
    const std::string relation = plan.name + ": " + result["relation"].get<std::string>();
    std::printf("%s\n", fmt::format("| {} | {} | {} | {} | {} | {} |", name, relation,
                                    result["first ops"].get<int>(), result["first dim"].get<int>(),
                                    cells(result["rapidcheck"]), cells(result["ours"]))
                            .c_str());
    std::fflush(stdout);
    theirs.add(result["rapidcheck"]);
    ours.add(result["ours"]);
  }
  if (theirs.ops.empty()) throw Error("the log holds no fault that both found");
  std::printf(
      "\n| shrinker | faults | at most 4 ops, sizes of 2 | median ops | most ops | at most 300 "
      "calls, 2 s | median calls | median s |\n|---|--:|--:|--:|--:|--:|--:|--:|\n");
  theirs.print("RapidCheck's");
  ours.print("of fuzz");
  if (left_out > 0) std::printf("\n%d left out\n", left_out);
  return 0;
}

}  // namespace
}  // namespace touchstone::fuzz

int main(int argc, char** argv) {
  if (argc < 2 || argc > 3) {
    std::fprintf(stderr,
                 "usage: shrinkers LOG [SEED]; LOG is what touchstone mutants --log writes\n");
    return 2;
  }
  try {
    return touchstone::fuzz::run(argv[1], argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "shrinkers: %s\n", e.what());
    return 2;
  }
}
