#pragma once

#include <functional>
#include <string>

#include "touchstone/interp/oracle/verdict.h"
#include "touchstone/ops/kernel_json.h"
#include "verbs.h"

namespace touchstone::cli {

/// Throws ParseError where the kernel could not possibly be done within the limits: by the number
/// of elements that its nodes have, and the bytes of its buffers. To be asked before they are read.
/// `options` names those that set the limits, as "--timeout, --memory".
void require_feasible(const KernelFile& kernel, const WorkLimits& limits,
                      const std::string& options = "--timeout, --memory");

/// From now on this process gets that much more memory for its data at most; 0: no limit. What asks
/// for more gets std::bad_alloc, and 512 MiB to tidy up with. Under sanitizers, whose own memory
/// would count, nothing is limited.
void limit_memory(const WorkLimits& limits);
/// Takes those back; true where they were given.
bool restore_memory_limit();

/// Runs `work`, which is interrupted when its time is over; false then. What does not heed the
/// interruption for 5 s more ends the process, with kExitBad. Within another call of these three
/// the time ends with that one's at the latest.
bool done_within(const WorkLimits& limits, const std::function<void()>& work);
/// What is said of a verdict then.
std::string over_time(const WorkLimits& limits, const std::string& option);
/// The same for a verdict: UNUSABLE, with that reason, when its time is over.
Verdict judge_within(const WorkLimits& limits, const std::function<Verdict()>& judge,
                     const std::string& option = "--timeout");
/// The same for a whole verb, from reading its input to writing its output; its memory is limited,
/// too. Throws SystemError naming the limit that it reached.
int run_within(const WorkLimits& limits, const std::function<int()>& run);

}  // namespace touchstone::cli
