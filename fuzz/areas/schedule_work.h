#pragma once

#include <functional>
#include <optional>

#include "touchstone/device/config.h"
#include "touchstone/fuzz/area.h"
#include "touchstone/fuzz/program.h"
#include "touchstone/lazy/lazy_buffer.h"

namespace touchstone::fuzz {

/// The relation `work` of the area kernelize: by `ranges` there are no more kernels and loads than
/// without, and no term of a reduce is added more often, but for what is made of constants and
/// where padding is. Kernels and loads are not compared where the program gathers: a GATHER goes
/// into its reader afterwards, where one schedule may have a reader that takes it and the other
/// none. `make` builds the program's result under a config.
std::optional<Checked> ranges_cost_more(const Program& program,
                                        const std::function<LazyBufferPtr(const Config&)>& make);

}  // namespace touchstone::fuzz
