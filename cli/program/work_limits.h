#pragma once

#include <functional>
#include <string>

#include "touchstone/cli/program/verbs.h"
#include "touchstone/interp/oracle/verdict.h"
#include "touchstone/ops/kernel_json.h"

namespace touchstone::cli {

/// Throws ParseError if the kernel cannot possibly finish within the limits, judging by the
/// values that it computes, of those that `sampling` leaves, and its buffers' bytes. Call it before
/// reading the buffers. `options` names the options that set the limits, as "--timeout, --memory".
void require_feasible(const KernelFile& kernel, const WorkLimits& limits, const Sampling& sampling,
                      const std::string& options = "--timeout, --memory");

/// Limits this process's additional data memory from now on; 0: no limit. Exceeding it throws
/// std::bad_alloc, with 512 MiB left for cleanup. No limit under sanitizers, whose own memory would
/// count.
void limit_memory(const WorkLimits& limits);
/// Removes the limit; true if one was set.
bool restore_memory_limit();

/// Runs `work` and interrupts it when its time is over; then returns false. Work that ignores the
/// interruption for 5 s more ends the process with kExitBad. A nested call ends with the outer one
/// at the latest.
bool done_within(const WorkLimits& limits, const std::function<void()>& work);
/// The message for a verdict that ran over time.
std::string over_time(const WorkLimits& limits, const std::string& option);
/// The same for a verdict: UNUSABLE, with that message, when its time is over.
Verdict judge_within(const WorkLimits& limits, const std::function<Verdict()>& judge,
                     const std::string& option = "--timeout");
/// The same for a whole verb, from reading its input to writing its output, with its memory limited
/// too. Throws SystemError naming the limit reached.
int run_within(const WorkLimits& limits, const std::function<int()>& run);

}  // namespace touchstone::cli
