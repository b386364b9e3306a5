#pragma once

#include <functional>
#include <vector>

#include "touchstone/ops/lazy_op.h"

namespace touchstone::cli {

/// Prints what the accesses of kernels cost: as composed, with views merged, and with the index
/// simplified too. `kernels` is called twice, the first time while no views are merged.
/// Where `as_json`, a JSON object a line instead of a table.
void print_index_stats(const std::function<std::vector<LazyOpPtr>()>& kernels,
                       bool as_json = false);

}  // namespace touchstone::cli
