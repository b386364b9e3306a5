#pragma once

#include <functional>
#include <string>

#include "touchstone/interp/verdict.h"
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

/// Runs `judge`, which is interrupted when its time is over: UNUSABLE then, with that reason. What
/// does not heed the interruption for 5 s more ends the process, with kExitBad.
Verdict judge_within(const WorkLimits& limits, const std::function<Verdict()>& judge,
                     const std::string& option = "--timeout");

}  // namespace touchstone::cli
