#include <algorithm>
#include <condition_variable>
#include <fstream>
#include <memory>
#include <mutex>
#include <thread>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "touchstone/base/error.h"
#include "touchstone/base/mutant.h"
#include "touchstone/base/mutant_history.h"
#include "touchstone/base/suggest.h"
#include "touchstone/clang/clang_device.h"
#include "touchstone/cli/fuzz/fuzz_plans.h"
#include "touchstone/cli/fuzz/hunt_report.h"
#include "touchstone/cli/program/data_output.h"
#include "touchstone/cli/program/terminal.h"
#include "touchstone/cli/program/verbs.h"
#include "touchstone/fuzz/areas/areas.h"
#include "touchstone/fuzz/engine/hunt.h"
#include "touchstone/interp/device/interpreted.h"
#include "touchstone/tcc/tcc_device.h"

namespace touchstone::cli {
namespace {

using fuzz::Hunted;

// Kernels on unoptimised clang: the faults hunted are ours.
std::unique_ptr<fuzz::Area> kernels_on_clang() {
  ClangOptions options = ClangOptions::from_environment();
  options.codegen.contract = false;  // bits are compared
  options.opt_level = 0;
  options.threads = 1;
  fuzz::KernelBackends backends;
  backends.candidate = fuzz::make_device_backend(make_clang_device("CLANG", options));
  options.codegen.layout_seed = 1;
  backends.variants.push_back(
      fuzz::make_device_backend(make_clang_device("CLANG of a drawn layout", options)));
  options.codegen.layout_seed = 0;
  options.codegen.contract = true;
  backends.variants.push_back(
      fuzz::make_device_backend(make_clang_device("CLANG of fused products", options)));
  return fuzz::make_kernel_area(std::move(backends));
}

// The reference as a backend: comparisons with other backends cannot show its own mistakes.
std::unique_ptr<fuzz::Area> kernels_on_reference() {
  fuzz::KernelBackends backends;
  backends.candidate = fuzz::make_device_backend(make_interpreted_device("REFERENCE", 1));
  backends.judge_all = true;
  return fuzz::make_kernel_area(std::move(backends));
}

// The areas of a hunt: all, or the named ones.
std::vector<fuzz::HuntArea> hunt_areas(const std::vector<std::string>& names) {
  std::vector<fuzz::HuntArea> known = {
      {"symbolic", [] { return fuzz::make_symbolic_area(); }, 128},
      {"view", [] { return fuzz::make_view_area(); }, 128},
      {"lazy", [] { return fuzz::make_lazy_area(); }, 32},
      {"kernelize", [] { return fuzz::make_kernelize_area(); }, 32},
      {"far", [] { return fuzz::make_far_area(); }, 16, 4},
      {"rewrite", [] { return fuzz::make_rewrite_area(); }, 64},
      {"tensor", [] { return fuzz::make_tensor_area(); }, 8},
      {"files", [] { return fuzz::make_file_area(); }, 32, 2},
      {"random", [] { return fuzz::make_random_area(); }, 32, 4},
      {"clang", kernels_on_clang, 48, 4},
      {"reference", kernels_on_reference, 32, 4}};
  if (has_tcc())  // compiled into memory: the same C, as fast as judging
    known.insert(known.end() - 2,
                 {"tcc", [] { return fuzz::make_kernel_area(tcc_backends(Fault::None)); }, 48});
  if (names.empty()) return known;
  std::vector<fuzz::HuntArea> chosen;
  for (const std::string& name : names) {
    const auto at = std::ranges::find(known, name, &fuzz::HuntArea::name);
    if (at == known.end()) {
      std::vector<std::string_view> all;
      for (const fuzz::HuntArea& a : known) all.push_back(a.name);
      throw ParseError(fmt::format("there is no area '{}' to hunt with{}; known: {}", name,
                                   did_you_mean(name, all), fmt::join(all, ", ")));
    }
    chosen.push_back(*at);
  }
  return chosen;
}

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
