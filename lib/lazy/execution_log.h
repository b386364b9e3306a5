#pragma once

#include <chrono>
#include <span>

#include "touchstone/device/buffer.h"
#include "touchstone/device/device.h"
#include "touchstone/lazy/memory_plan.h"

namespace touchstone::lazy {

/// The start time of a step, on the clock of the traces.
struct ExecutionTimer {
  std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
};

/// Logs a schedule before it runs, as Config::current() requests: DEBUG (to standard error) and
/// GRAPH (appended to its file). Throws SystemError if a file cannot be written.
void log_schedule(std::span<const ScheduleItem> items, const MemoryPlan& plan);
/// A step that ran, in a schedule or a replay (jit.h).
struct Ran {
  Op kind = Op::Store;
  const LazyOpPtr& ast;  // kernels only
  const symbolic::Values& values;
  Device& device;
  const Buffer* out;    // null if there is no result
  std::size_t buffers;  // including `out`
  bool replayed = false;
};
/// True if Config::current() requests log_run.
bool logs_runs();
/// Logs a step: DEBUG, and TRACE (appended to its file). Marks steps of a replay.
void log_run(const Ran& ran, double seconds, const ExecutionTimer& timer);
/// Writes the events of log_run; each time the file is complete JSON.
void flush_log();

}  // namespace touchstone::lazy
