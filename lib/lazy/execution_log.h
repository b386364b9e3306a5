#pragma once

#include <chrono>
#include <span>

#include "touchstone/device/buffer.h"
#include "touchstone/device/device.h"
#include "touchstone/lazy/memory_plan.h"

namespace touchstone::lazy {

/// When a step began, and since when that is counted in traces.
struct ExecutionTimer {
  std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
};

/// Logs a schedule before it runs, as Config::current() asks: DEBUG (to standard error) and
/// GRAPH, to whose file each schedule is added. Throws SystemError where a file cannot be written.
void log_schedule(std::span<const ScheduleItem> items, const MemoryPlan& plan);
/// A step that ran, of a schedule or of a replay (jit.h).
struct Ran {
  Op kind = Op::Store;
  const LazyOpPtr& ast;  // kernels only
  const symbolic::Values& values;
  Device& device;
  const Buffer* out;    // null where nothing is kept
  std::size_t buffers;  // with that
  bool replayed = false;
};
/// Whether Config::current() asks for log_run.
bool logs_runs();
/// The same about a step: DEBUG, and TRACE, to whose file it is added. Steps of a replay are
/// marked.
void log_run(const Ran& ran, double seconds, const ExecutionTimer& timer);
/// Writes what log_run has added; the file is whole JSON each time.
void flush_log();

}  // namespace touchstone::lazy
