#pragma once

#include <memory>
#include <string>
#include <vector>

#include "touchstone/fuzz/areas/areas.h"
#include "touchstone/fuzz/areas/kernel_backend.h"
#include "touchstone/fuzz/engine/runner.h"
#include "verbs.h"

namespace touchstone::cli {

/// The areas that options name, in their order. Throws ParseError on a name that is none, or a
/// backend that is not there.
std::vector<fuzz::AreaPlan> fuzz_plans(const FuzzOptions& options);

/// How often a backend that is a process was started for kernel_backends.
const std::shared_ptr<fuzz::SharedStarts>& backend_starts();

/// The backends of the area kernel; throws as above.
fuzz::KernelBackends kernel_backends(const FuzzOptions& options);

}  // namespace touchstone::cli
