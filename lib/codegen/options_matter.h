#pragma once

#include "touchstone/codegen/linearize.h"

namespace touchstone {

/// Returns false if axis merging, lanes and stages have no effect on linearize(kernel, options).
/// Cheaper than linearizing both ways. `kernel` must be valid.
bool options_matter(const LazyOpPtr& kernel, const CodegenOptions& options);

}  // namespace touchstone
