#pragma once

#include <functional>
#include <optional>

#include "touchstone/device/config.h"
#include "touchstone/fuzz/cases/program.h"
#include "touchstone/fuzz/engine/area.h"
#include "touchstone/lazy/lazy_buffer.h"

namespace touchstone::fuzz {

/// The relation `work` of the area kernelize: by `ranges` kernels move no more between them and
/// memory than without, and no term of a reduce is added more often, but for what is made of
/// constants and where padding is. What is moved are elements, loaded and stored: a value that
/// several kernels compute again costs them loads, and one that has memory costs a kernel, a store
/// and a load for each reader, so that loads alone tell nothing. More kernels are right where they
/// move fewer bytes. Neither is compared where the program gathers: a GATHER goes into its reader
/// afterwards, where one schedule may have a reader that takes it and the other none. `make` builds
/// the program's result under a config.
std::optional<Checked> ranges_cost_more(const Program& program,
                                        const std::function<LazyBufferPtr(const Config&)>& make);

}  // namespace touchstone::fuzz
