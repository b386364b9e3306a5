#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <thread>

#include <fmt/format.h>

#include "terminal.h"
#include "touchstone/base/error.h"
#include "touchstone/base/mutant.h"
#include "touchstone/fuzz/hunt.h"
#include "verbs.h"

namespace touchstone::cli {
namespace {

using fuzz::Hunted;

struct Hunt {
  Mutant mutant;  // nameless: none is on, and nothing must be found
  std::uint64_t seed = 0;
  Hunted result;
};

Hunted hunt_for(const Hunt& hunt, const MutantsOptions& options) {
  fuzz::HuntOptions how;
  how.seed = hunt.seed;
  how.seconds = options.seconds;
  how.cases = options.cases;
  const std::string name(hunt.mutant.name);
  how.begin = [name] {
    if (!name.empty()) select_mutant(name);
  };
  how.reached = [name] { return name.empty() || mutant_reached(); };
  return fuzz::hunt(hunt_areas(), how);
}

std::string name_of(const Hunt& h) {
  return h.mutant.name.empty() ? "(none)" : std::string(h.mutant.name);
}

// A cell of a Markdown table: short, on one line, without what ends a cell.
std::string cell(std::string text, std::size_t most = 70) {
  std::ranges::replace(text, '\n', ' ');
  std::ranges::replace(text, '|', '/');
  std::ranges::replace(text, '`', '\'');
  if (text.size() > most) text = text.substr(0, most - 2) + "..";
  return text;
}

std::string seconds(double s) { return fmt::format("{:.{}f}", s, s < 1 ? 2 : 1); }

std::string row(const Hunt& h) {
  const Hunted& r = h.result;
  const std::string begin =
      fmt::format("| {} | {} | {} |", name_of(h),
                  h.mutant.area.empty() ? "-" : std::string(h.mutant.area), h.seed);
  if (!r.found)
    return fmt::format("{} {} | {} | {} | | | |", begin,
                       h.mutant.name.empty() ? "-"
                       : r.reached           ? "**survives**"
                                             : "**not reached**",
                       r.cases, seconds(r.seconds));
  return fmt::format("{} {}: {} | {} | {} | {} | {} | `{}` |", begin, r.area, r.relation, r.cases,
                     seconds(r.seconds), r.measure[0], r.measure[1], cell(r.text));
}

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

void print_summary(const std::vector<Hunt>& hunts) {
  std::vector<double> cases, times;
  std::size_t found = 0, all = 0;
  for (const Hunt& h : hunts) {
    if (h.mutant.name.empty()) continue;
    ++all;
    if (!h.result.found) continue;
    ++found;
    cases.push_back(static_cast<double>(h.result.cases));
    times.push_back(h.result.seconds);
  }
  fmt::print("\n{} of {} found; median {} cases, {} s\n", found, all, median(cases),
             seconds(median(times)));
  for (const Hunt& h : hunts)
    if (!h.mutant.name.empty() && !h.result.found)
      fmt::print("survives: {} (seed {}, {}): {}\n", h.mutant.name, h.seed, h.mutant.where,
                 h.mutant.description);
}

// A child each, `jobs` at a time; rows are printed in order.
void run_all(std::vector<Hunt>& hunts, const MutantsOptions& options) {
  std::mutex mutex;
  std::condition_variable done;
  std::vector<bool> ready(hunts.size(), false);
  std::size_t next = 0;
  const auto work = [&] {
    for (;;) {
      std::unique_lock lock(mutex);
      if (next == hunts.size()) return;
      const std::size_t i = next++;
      lock.unlock();
      Hunted result = hunt_for(hunts[i], options);
      lock.lock();
      hunts[i].result = std::move(result);
      ready[i] = true;
      done.notify_all();
    }
  };
  std::vector<std::thread> workers;
  for (int j = 0; j < options.jobs; ++j) workers.emplace_back(work);
  for (std::size_t i = 0; i < hunts.size(); ++i) {
    std::unique_lock lock(mutex);
    done.wait(lock, [&] { return static_cast<bool>(ready[i]); });
    fmt::print("{}\n", row(hunts[i]));
    std::fflush(stdout);
  }
  for (std::thread& w : workers) w.join();
}

int list(const std::vector<Mutant>& all) {
  for (const Mutant& m : all)
    fmt::print("{:<44} {:<9} {:<38} {}\n", m.name, m.area, m.where, m.description);
  return kExitOk;
}

}  // namespace

int run_mutants(const MutantsOptions& options) {
  const std::vector<Mutant> all = mutants();
  if (all.empty())
    throw Error("this build holds no mutants; ./dev mutants makes one that does, and runs them");
  if (options.list) return list(all);
  std::vector<Mutant> chosen;
  for (const std::string& name : options.names) {
    const auto at = std::ranges::find(all, name, &Mutant::name);
    if (at == all.end()) select_mutant(name);  // says which are near
    chosen.push_back(*at);
  }
  if (options.names.empty()) {
    std::ranges::copy_if(all, std::back_inserter(chosen), [&](const Mutant& m) {
      return options.area.empty() || m.area == options.area;
    });
    if (chosen.empty())
      throw Error(
          fmt::format("no mutant has the area '{}'; --list shows which there are", options.area));
  }
  std::vector<Hunt> hunts;
  for (int s = 0; s < options.seeds; ++s) {
    const std::uint64_t seed = options.seed + static_cast<std::uint64_t>(s);
    if (options.names.empty()) hunts.push_back({{}, seed, {}});
    for (const Mutant& m : chosen) hunts.push_back({m, seed, {}});
  }
  fmt::print("| mutant | of | seed | found by | cases | s | size | then | smallest case |\n");
  fmt::print("|---|---|--:|---|--:|--:|--:|--:|---|\n");
  run_all(hunts, options);
  print_summary(hunts);
  if (hunts.size() == 1 && hunts[0].result.found)
    fmt::print("\n{}\n{}\nshrunk in {} runs, {} s\n", hunts[0].result.text, hunts[0].result.detail,
               hunts[0].result.shrink_runs, seconds(hunts[0].result.shrink_seconds));
  const bool right = std::ranges::all_of(
      hunts, [](const Hunt& h) { return h.result.found == !h.mutant.name.empty(); });
  return right ? kExitOk : kExitNo;
}

}  // namespace touchstone::cli
