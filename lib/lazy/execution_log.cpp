#include "touchstone/lazy/execution_log.h"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <map>
#include <mutex>

#include <nlohmann/json.hpp>

#include "touchstone/device/config.h"
#include "touchstone/lazy/schedule_text.h"
#include "touchstone/shapetracker/index/index_expr.h"

namespace touchstone::lazy {
namespace {

struct File {
  std::ofstream out;
  std::string pending;  // events not written yet
  bool any = false;     // the file has an event
  int graphs = 0;
};

struct Files {
  std::mutex mutex;
  std::map<std::string, File> by_name;
  std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
  std::int64_t kernels = 0;
};

Files& files() {
  static Files only;
  return only;
}

void require(const std::ofstream& out, const std::string& name) {
  if (!out) throw SystemError(fmt::format("'{}' cannot be written", name));
}

std::string step_name(const Ran& ran) {
  return ran.kind == Op::Store ? kernel_name(ran.ast) : std::string(name(ran.kind));
}

void print_run(const Ran& ran, double seconds, int level) {
  const std::string_view mark = ran.replayed ? "jit" : "***";
  if (ran.kind != Op::Store) {
    fmt::print(stderr, "{} {:<6}      {:<22} {} bytes\n", mark, ran.device.name(), step_name(ran),
               ran.out != nullptr ? ran.out->bytes() : 0);
    return;
  }
  const LazyOpPtr ast = ran.values.empty() ? ran.ast : bind_variables(ran.ast, ran.values);
  const FlopCounter cost = get_lazyop_info(ast);
  const double ops = static_cast<double>(cost.flops.as_int());
  const double bytes = static_cast<double>(cost.total_mem().as_int());
  const double time = std::max(seconds, 1e-9);
  fmt::print(stderr,
             "{} {:<6} {:>4} {:<22} buffers {:<2} {:>10.2f} us / {:>8.2f} ms {:>8.2f} GFLOPS "
             "{:>8.2f} GB/s\n",
             mark, ran.device.name(), files().kernels, step_name(ran), cost.mem.size(),
             seconds * 1e6, counters().seconds * 1e3, ops / time / 1e9, bytes / time / 1e9);
  if (level >= 3) fmt::print(stderr, "{}", str(ran.ast));
  if (level >= 4)
    if (const std::string code = ran.device.runner(ran.ast)->source(); !code.empty())
      fmt::print(stderr, "{}\n", code);
  if (level >= 5)
    for (const LazyOpPtr& node : toposort(ast))
      if (const auto* b = std::get_if<MemBuffer>(&node->arg()))
        fmt::print(stderr, "    buffer {}: {}\n", b->idx, bounded_text(expr_idxs(b->st).index));
}

}  // namespace

void log_schedule(std::span<const ScheduleItem> items, const MemoryPlan& plan) {
  const Config& config = Config::current();
  if (config.debug >= 1)
    fmt::print(stderr, "schedule: {} steps; intermediates {} bytes, {} side by side\n",
               items.size(), plan.planned(), plan.unplanned);
  if (config.debug >= 6)
    for (std::size_t i = 0; i < plan.places.size(); ++i)
      if (plan.places[i])
        fmt::print(stderr, "    step {}: bytes [{}, {}) of {}\n", i, plan.places[i]->offset,
                   plan.places[i]->offset + plan.places[i]->bytes, items[i].out->device());
  if (config.graph.empty()) return;
  const std::scoped_lock lock(files().mutex);
  File& file = files().by_name[config.graph];
  if (!file.out.is_open()) file.out.open(config.graph, std::ios::trunc);
  require(file.out, config.graph);
  file.out << to_dot(items, fmt::format("schedule {}", file.graphs++)) << std::flush;
  require(file.out, config.graph);
}

bool logs_runs() {
  const Config& config = Config::current();
  return config.debug >= 2 || !config.trace.empty();
}

void log_run(const Ran& ran, double seconds, const ExecutionTimer& timer) {
  if (!logs_runs()) return;
  const Config& config = Config::current();
  const std::scoped_lock lock(files().mutex);
  if (ran.kind == Op::Store) ++files().kernels;
  if (config.debug >= 2) print_run(ran, seconds, config.debug);
  if (config.trace.empty()) return;
  using std::chrono::duration;
  using Micro = duration<double, std::micro>;
  nlohmann::ordered_json event = {
      {"name", step_name(ran)},
      {"cat", ran.kind == Op::Store ? "kernel" : "load"},
      {"ph", "X"},
      {"ts", Micro(timer.start - files().start).count()},
      {"dur", Micro(std::chrono::steady_clock::now() - timer.start).count()},
      {"pid", 1},
      {"tid", 1},
      {"args", {{"device", ran.device.name()}, {"buffers", ran.buffers}}}};
  if (ran.kind == Op::Store) event["args"]["seconds"] = seconds;
  if (ran.replayed) event["args"]["replayed"] = true;
  File& file = files().by_name[config.trace];
  file.pending += (file.any || !file.pending.empty() ? ",\n" : "\n") + event.dump();
}

void flush_log() {
  const std::string& name = Config::current().trace;
  if (name.empty()) return;
  const std::scoped_lock lock(files().mutex);
  File& file = files().by_name[name];
  if (!file.out.is_open()) {
    file.out.open(name, std::ios::trunc);
    file.out << "[\n]\n";
  }
  require(file.out, name);
  if (file.pending.empty()) return;
  file.out.seekp(-3, std::ios::end);  // before the closing bracket's line
  file.out << file.pending << "\n]\n" << std::flush;
  file.pending.clear();
  file.any = true;
  require(file.out, name);
}

}  // namespace touchstone::lazy
