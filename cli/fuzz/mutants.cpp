#include <algorithm>
#include <condition_variable>
#include <fstream>
#include <memory>
#include <mutex>
#include <thread>

#include <fmt/format.h>

#include "touchstone/base/error.h"
#include "touchstone/base/mutant.h"
#include "touchstone/base/mutant_history.h"
#include "touchstone/cli/fuzz/hunt_report.h"
#include "touchstone/cli/program/data_output.h"
#include "touchstone/cli/program/terminal.h"
#include "touchstone/cli/program/verbs.h"
#include "touchstone/fuzz/engine/hunt.h"

namespace touchstone::cli {
namespace {

using fuzz::Hunted;

Hunted hunt_for(const Hunt& hunt, const MutantsOptions& options) {
  fuzz::HuntOptions how;
  how.seed = hunt.seed;
  how.seconds = options.seconds;
  how.cases = options.cases;
  how.memory = std::uint64_t{4} << 30;
  const std::string name(hunt.mutant.name);
  if (!name.empty()) {
    how.begin = [name] { select_mutant(name); };
    how.reached = [] { return mutant_reached(); };
  }
  return fuzz::hunt(hunt_areas(options.with), how);
}

// One child process each, `jobs` at a time; prints rows in order, one for all seeds of a mutant.
void run_all(std::vector<Hunt>& hunts, const MutantsOptions& options,
             const std::unique_ptr<DataOutput>& data) {
  std::ofstream log;
  if (!options.log.empty() && options.log != "-") {
    log.open(options.log, std::ios::app);
    if (!log) throw SystemError(fmt::format("cannot write {}", options.log));
  }
  std::mutex mutex;
  std::condition_variable done;
  std::vector<bool> ready(hunts.size(), false);
  std::size_t next = 0;
  std::exception_ptr trouble;
  const auto work = [&] {
    for (;;) {
      std::unique_lock lock(mutex);
      if (next == hunts.size()) return;
      const std::size_t i = next++;
      lock.unlock();
      Hunted result;
      try {
        result = hunt_for(hunts[i], options);
      } catch (...) {
        lock.lock();
        trouble = std::current_exception();
        next = hunts.size();
        done.notify_all();
        return;
      }
      lock.lock();
      hunts[i].result = std::move(result);
      ready[i] = true;
      if (log.is_open()) log << hunt_json(hunts[i]) << std::flush;
      if (options.log == "-") data->write(hunt_json(hunts[i]));
      done.notify_all();
    }
  };
  std::vector<std::thread> workers;
  for (int j = 0; j < options.jobs; ++j) workers.emplace_back(work);
  for (std::size_t i = 0; i < hunts.size();) {
    const std::size_t begin = i;
    for (; i < hunts.size() && hunts[i].mutant.name == hunts[begin].mutant.name; ++i) {
      std::unique_lock lock(mutex);
      done.wait(lock, [&] { return ready[i] || trouble; });
      if (!ready[i]) break;
    }
    if (trouble) break;
    fmt::print("{}\n", hunt_row(std::span(hunts).subspan(begin, i - begin)));
    std::fflush(stdout);
  }
  for (std::thread& w : workers) w.join();
  if (trouble) std::rethrow_exception(trouble);
}

int list(const std::vector<Mutant>& all) {
  for (const Mutant& m : all)
    fmt::print("{:<44} {:<9} {:<38} {}\n", m.name, m.area, m.where, m.description);
  return kExitOk;
}

int list_json(const std::vector<Mutant>& all) {
  for (const Mutant& m : all) fmt::print("{}", mutant_json(m));
  return kExitOk;
}

std::vector<Mutant> chosen_of(const std::vector<Mutant>& all, const MutantsOptions& options) {
  std::vector<Mutant> chosen;
  for (const std::string& name : options.names) {
    const auto at = std::ranges::find(all, name, &Mutant::name);
    if (at == all.end()) select_mutant(name);  // throws, naming similar ones
    chosen.push_back(*at);
  }
  if (!options.names.empty()) return chosen;
  std::ranges::copy_if(all, std::back_inserter(chosen), [&](const Mutant& m) {
    return (options.area.empty() || m.area == options.area) &&
           (!options.history || mutant_from_history(m.name));
  });
  if (chosen.empty())
    throw Error(fmt::format("no mutant {}has the area '{}'; --list shows all mutants",
                            options.history ? "from history " : "", options.area));
  return chosen;
}

}  // namespace

int run_mutants(const MutantsOptions& options) {
  const std::vector<Mutant> all = mutants();
  if (all.empty())
    throw Error("this build contains no mutants; ./dev mutants builds and runs them");
  if (options.list) return options.json ? list_json(all) : list(all);
  const std::unique_ptr<DataOutput> data = data_output_if(options.json || options.log == "-");
  std::vector<Hunt> hunts;
  const auto add = [&](const Mutant& m) {
    for (int s = 0; s < options.seeds; ++s)
      hunts.push_back({m, options.seed + static_cast<std::uint64_t>(s), {}});
  };
  if (options.names.empty()) hunts.push_back({{}, options.seed, {}});
  for (const Mutant& m : chosen_of(all, options)) add(m);
  fmt::print("{}", hunt_table_head());
  run_all(hunts, options, data);
  fmt::print("{}", hunt_summary(hunts));
  if (options.json) data->write(hunts_json(hunts));
  if (hunts.size() == 1 && hunts[0].result.found)
    fmt::print("\n{}\n{}\nshrunk in {} runs, {}\n", hunts[0].result.text, hunts[0].result.detail,
               hunts[0].result.shrink_runs, seconds_str(hunts[0].result.shrink_seconds));
  const bool right = std::ranges::all_of(
      hunts, [](const Hunt& h) { return h.result.found == !h.mutant.name.empty(); });
  return right ? kExitOk : kExitNo;
}

}  // namespace touchstone::cli
