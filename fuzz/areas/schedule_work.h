#pragma once

#include <functional>
#include <optional>

#include "touchstone/device/config.h"
#include "touchstone/fuzz/cases/program.h"
#include "touchstone/fuzz/engine/area.h"
#include "touchstone/lazy/lazy_buffer.h"

namespace touchstone::fuzz {

/// The relation `work` of the area kernelize. With `ranges` kernels move no more elements and
/// reduce no term more often than without, except for reduces of constants and around padding.
/// Elements moved are loads plus stores: recomputing a value in several kernels costs loads;
/// materialising it costs a kernel, a store and one load per reader. Extra kernels are right if
/// they move fewer bytes. Neither is compared if the program gathers: a GATHER is fused into its
/// reader afterwards, possibly in one schedule only. `make` builds the program's result under a
/// config.
std::optional<Checked> ranges_cost_more(const TensorProgram& program,
                                        const std::function<LazyBufferPtr(const Config&)>& make);

}  // namespace touchstone::fuzz
