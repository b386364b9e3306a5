#pragma once

#include <chrono>
#include <span>

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
/// The same about a step that ran: DEBUG, and TRACE, to whose file it is added.
void log_run(const ScheduleItem& item, Device& device, double seconds, const ExecutionTimer& timer);
/// Writes what log_run has added; the file is whole JSON each time.
void flush_log();

}  // namespace touchstone::lazy
