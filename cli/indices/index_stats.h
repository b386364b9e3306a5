#pragma once

#include <functional>
#include <vector>

#include "touchstone/ops/lazy_op.h"

namespace touchstone::cli {

/// Prints the index cost of kernels' accesses: as composed, with views merged, and with the index
/// simplified too. Calls `kernels` twice, the first time with merging off. `as_json`: a JSON object
/// per line instead of a table.
void print_index_stats(const std::function<std::vector<LazyOpPtr>()>& kernels,
                       bool as_json = false);

}  // namespace touchstone::cli
