#pragma once

#include <atomic>

#include "touchstone/fuzz/engine/run_log.h"

namespace touchstone::fuzz {

/// Makes findings of an area smaller, each in a process of its own, until enough are or `stop` is
/// set; of those that become one case one is left. Throws SystemError where the log cannot be
/// written: then, too, every finding is in the result.
void shrink_findings(const AreaPlan& plan, const RunOptions& options, const std::atomic<bool>& stop,
                     RunLog& log, AreaResult& result);

}  // namespace touchstone::fuzz
