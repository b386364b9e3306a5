#pragma once

#include <memory>
#include <string>
#include <vector>

#include "touchstone/cli/program/verbs.h"
#include "touchstone/codegen/fault.h"
#include "touchstone/fuzz/areas/areas.h"
#include "touchstone/fuzz/areas/kernel_backend.h"
#include "touchstone/fuzz/engine/runner.h"

namespace touchstone::cli {

/// The areas that the options name, in order. Throws ParseError for an unknown area or a missing
/// backend.
std::vector<fuzz::AreaPlan> fuzz_plans(const FuzzOptions& options);

/// Starts of kernel_backends' process backends.
const std::shared_ptr<fuzz::SharedStarts>& backend_starts();

/// TinyCC, and the same with other options of our code generator.
fuzz::KernelBackends tcc_backends(Fault fault);

/// The backends of the area kernel; throws as above.
fuzz::KernelBackends kernel_backends(const FuzzOptions& options);

}  // namespace touchstone::cli
