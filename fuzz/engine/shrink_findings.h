#pragma once

#include <atomic>

#include "touchstone/fuzz/engine/run_log.h"

namespace touchstone::fuzz {

/// Shrinks findings of an area, each in its own process, until enough are shrunk or `stop` is set;
/// findings with equal shrunk cases are merged. Throws SystemError if the log cannot be written;
/// the result still holds every finding.
void shrink_findings(const AreaPlan& plan, const RunOptions& options, const std::atomic<bool>& stop,
                     RunLog& log, AreaResult& result);

}  // namespace touchstone::fuzz
