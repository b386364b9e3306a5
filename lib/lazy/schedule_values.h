#pragma once

#include "touchstone/ops/lazy_op.h"

namespace touchstone::lazy {

/// Of `values`, those of the variables of a kernel. Throws Error where one is missing.
symbolic::Values values_of(const LazyOpPtr& kernel, const symbolic::Values& values);

}  // namespace touchstone::lazy
