#pragma once

#include <functional>
#include <optional>

#include "touchstone/device/config.h"
#include "touchstone/fuzz/area.h"
#include "touchstone/fuzz/program.h"
#include "touchstone/lazy/lazy_buffer.h"

namespace touchstone::fuzz {

/// The relation `work` of the area kernelize: the scheduler `ranges` computes in one kernel only
/// where there are no more kernels and loads by it than without, and no term of a reduce is added
/// more often, but for what is made of constants alone and where padding is. `make` builds the
/// program's result under a config.
std::optional<Checked> ranges_cost_more(const Program& program,
                                        const std::function<LazyBufferPtr(const Config&)>& make);

}  // namespace touchstone::fuzz
