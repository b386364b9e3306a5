#pragma once

#include "touchstone/codegen/linearize.h"

namespace touchstone {

/// False where linearize(kernel, options) is what it is with merged axes, lanes and stages: there
/// are no axes to merge, or no lanes. Cheaper than to see by making both. `kernel` must be valid.
bool options_matter(const LazyOpPtr& kernel, const CodegenOptions& options);

}  // namespace touchstone
