#include <algorithm>
#include <condition_variable>
#include <fstream>
#include <mutex>
#include <thread>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "terminal.h"
#include "touchstone/base/error.h"
#include "touchstone/base/mutant.h"
#include "touchstone/base/mutant_history.h"
#include "touchstone/fuzz/hunt.h"
#include "verbs.h"

namespace touchstone::cli {
namespace {

using fuzz::Hunted;

// The goals of a hunt.
constexpr double kMostSeconds = 60, kMostShrinkSeconds = 2;
constexpr std::int64_t kMostCases = 1'000'000, kMostOps = 4, kMostDim = 2, kMostRuns = 300;

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
  how.memory = std::uint64_t{4} << 30;
  const std::string name(hunt.mutant.name);
  if (!name.empty()) {
    how.begin = [name] { select_mutant(name); };
    how.reached = [] { return mutant_reached(); };
  }
  return fuzz::hunt(hunt_areas(options.with), how);
}

std::string name_of(const Hunt& h) {
  return h.mutant.name.empty() ? "(none)" : std::string(h.mutant.name);
}

// A cell of a Markdown table: short, on one line, without what ends a cell.
std::string cell(std::string text, std::size_t most = 90) {
  std::ranges::replace(text, '\n', ' ');
  std::ranges::replace(text, '`', '\'');
  if (text.size() > most) text = text.substr(0, most - 2) + "..";
  for (std::size_t at = 0; (at = text.find('|', at)) != text.npos; at += 2) text.insert(at, "\\");
  return text;
}

std::string seconds(double s) { return fmt::format("{:.{}f}", s, s < 1 ? 2 : 1); }

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

template <class Value>
std::vector<double> of_found(std::span<const Hunt> hunts, Value value) {
  std::vector<double> values;
  for (const Hunt& h : hunts)
    if (h.result.found) values.push_back(static_cast<double>(value(h.result)));
  return values;
}

double largest(const std::vector<double>& values) {
  return values.empty() ? 0 : *std::ranges::max_element(values);
}

// A mutant's hunts, one a seed, in a row: medians, and the worst in brackets.
std::string row(std::span<const Hunt> hunts) {
  const Hunt& first = hunts.front();
  const auto found = static_cast<std::size_t>(
      std::ranges::count_if(hunts, [](const Hunt& h) { return h.result.found; }));
  const auto pair = [&](const std::vector<double>& values, auto&& shown) {
    return hunts.size() == 1
               ? shown(median(values))
               : fmt::format("{} ({})", shown(median(values)), shown(largest(values)));
  };
  const auto whole = [](double x) { return fmt::format("{:.0f}", x); };
  const std::string begin =
      fmt::format("| {} | {} |", name_of(first),
                  first.mutant.area.empty() ? "-" : std::string(first.mutant.area));
  if (first.mutant.name.empty())
    return fmt::format(
        "{} {} | {} | {} | | | | | {}{} |", begin,
        found == 0 ? "-" : first.result.area + ": " + first.result.relation, first.result.cases,
        seconds(first.result.seconds),
        first.result.others == 0 ? "" : fmt::format("{} fail: ", first.result.others),
        found == 0 ? "" : "`" + cell(first.result.text) + "`");
  if (found == 0) {
    const bool reached = std::ranges::any_of(hunts, [](const Hunt& h) { return h.result.reached; });
    return fmt::format("{} {} | {} | {} | | | | | |", begin,
                       reached ? "**survives**" : "**not reached**", first.result.cases,
                       seconds(first.result.seconds));
  }
  const Hunted& shown =
      std::ranges::min_element(hunts, {}, [](const Hunt& h) {
        return std::tuple(!h.result.found, h.result.extent.ops, h.result.text.size());
      })->result;
  const std::string times = found == hunts.size() ? "" : fmt::format(" {}/{}", found, hunts.size());
  return fmt::format(
      "{} {}: {}{} | {} | {} | {} | {} | {} | {} | `{}` |", begin, shown.area, shown.relation,
      times, pair(of_found(hunts, [](const Hunted& r) { return r.cases; }), whole),
      pair(of_found(hunts, [](const Hunted& r) { return r.seconds; }), seconds),
      pair(of_found(hunts, [](const Hunted& r) { return r.extent.ops; }), whole),
      pair(of_found(hunts, [](const Hunted& r) { return r.extent.dim; }), whole),
      pair(of_found(hunts, [](const Hunted& r) { return r.shrink_runs; }), whole),
      pair(of_found(hunts, [](const Hunted& r) { return r.shrink_seconds; }), seconds),
      cell(shown.text));
}

// How many hunts came to what they should, those of mutants that `of` is true for.
template <class Of>
void print_score(const std::vector<Hunt>& hunts, std::string_view what, Of of) {
  std::size_t all = 0, found = 0, in_time = 0, small = 0, cheap = 0;
  std::vector<double> cases, times;
  for (const Hunt& h : hunts) {
    if (h.mutant.name.empty() || !of(h.mutant)) continue;
    ++all;
    const Hunted& r = h.result;
    if (!r.found) continue;
    ++found;
    in_time += r.cases <= kMostCases && r.seconds <= kMostSeconds ? 1U : 0U;
    small += r.extent.ops <= kMostOps && r.extent.dim <= kMostDim ? 1U : 0U;
    cheap += r.shrink_runs <= kMostRuns && r.shrink_seconds <= kMostShrinkSeconds ? 1U : 0U;
    cases.push_back(static_cast<double>(r.cases));
    times.push_back(r.seconds);
  }
  if (all == 0) return;
  const auto share = [&](std::size_t n, std::size_t whole) {
    return fmt::format(
        "{} ({:.1f} %)", n,
        100 * static_cast<double>(n) / static_cast<double>(std::max<std::size_t>(whole, 1)));
  };
  fmt::print("| {} | {} | {} | {} | {:.0f} | {} | {} | {} |\n", what, all, share(found, all),
             share(in_time, all), median(cases), seconds(median(times)), share(small, found),
             share(cheap, found));
}

void print_summary(const std::vector<Hunt>& hunts) {
  fmt::print(
      "\n| hunts | all | found | within {} cases, {} s | median cases | median s | at most {} ops, "
      "sizes of {} | at most {} runs, {} s to shrink |\n|---|--:|--:|--:|--:|--:|--:|--:|\n",
      kMostCases, kMostSeconds, kMostOps, kMostDim, kMostRuns, kMostShrinkSeconds);
  std::vector<std::string_view> tables;
  for (const Hunt& h : hunts)
    if (!h.mutant.name.empty() && std::ranges::find(tables, h.mutant.area) == tables.end())
      tables.push_back(h.mutant.area);
  for (const std::string_view table : tables)
    print_score(hunts, table, [&](const Mutant& m) { return m.area == table; });
  print_score(hunts, "from history", [](const Mutant& m) { return mutant_from_history(m.name); });
  print_score(hunts, "all", [](const Mutant&) { return true; });
  for (const Hunt& h : hunts)
    if (!h.mutant.name.empty() && !h.result.found)
      fmt::print("survives: {} (seed {}, {}): {}\n", h.mutant.name, h.seed, h.mutant.where,
                 h.mutant.description);
}

std::string line_of(const Hunt& h) {
  using nlohmann::json;
  const Hunted& r = h.result;
  return json({{"mutant", h.mutant.name},
               {"table", h.mutant.area},
               {"where", h.mutant.where},
               {"history", mutant_from_history(h.mutant.name)},
               {"seed", h.seed},
               {"found", r.found},
               {"reached", r.reached},
               {"area", r.area},
               {"cases", r.cases},
               {"seconds", r.seconds},
               {"others", r.others},
               {"relation", r.relation},
               {"drawn", r.drawn},
               {"text", r.text},
               {"detail", r.detail},
               {"alone", r.alone},
               {"ops", r.extent.ops},
               {"dim", r.extent.dim},
               {"drawn_ops", r.drawn_extent.ops},
               {"drawn_dim", r.drawn_extent.dim},
               {"runs", r.shrink_runs},
               {"shrink_seconds", r.shrink_seconds}})
             .dump(-1, ' ', false, json::error_handler_t::replace) +
         "\n";
}

// A child each, `jobs` at a time; rows are printed in order, one for all seeds of a mutant.
void run_all(std::vector<Hunt>& hunts, const MutantsOptions& options) {
  std::ofstream log;
  if (!options.log.empty()) {
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
      if (log.is_open()) log << line_of(hunts[i]) << std::flush;
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
    fmt::print("{}\n", row(std::span(hunts).subspan(begin, i - begin)));
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

std::vector<Mutant> chosen_of(const std::vector<Mutant>& all, const MutantsOptions& options) {
  std::vector<Mutant> chosen;
  for (const std::string& name : options.names) {
    const auto at = std::ranges::find(all, name, &Mutant::name);
    if (at == all.end()) select_mutant(name);  // says which are near
    chosen.push_back(*at);
  }
  if (!options.names.empty()) return chosen;
  std::ranges::copy_if(all, std::back_inserter(chosen), [&](const Mutant& m) {
    return (options.area.empty() || m.area == options.area) &&
           (!options.history || mutant_from_history(m.name));
  });
  if (chosen.empty())
    throw Error(fmt::format("no mutant {}has the area '{}'; --list shows which there are",
                            options.history ? "from history " : "", options.area));
  return chosen;
}

}  // namespace

int run_mutants(const MutantsOptions& options) {
  const std::vector<Mutant> all = mutants();
  if (all.empty())
    throw Error("this build holds no mutants; ./dev mutants makes one that does, and runs them");
  if (options.list) return list(all);
  std::vector<Hunt> hunts;
  const auto add = [&](const Mutant& m) {
    for (int s = 0; s < options.seeds; ++s)
      hunts.push_back({m, options.seed + static_cast<std::uint64_t>(s), {}});
  };
  if (options.names.empty()) hunts.push_back({{}, options.seed, {}});
  for (const Mutant& m : chosen_of(all, options)) add(m);
  fmt::print(
      "| mutant | of | found by | cases | s | ops | size | runs | s to shrink | smallest case |\n");
  fmt::print("|---|---|---|--:|--:|--:|--:|--:|--:|---|\n");
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
