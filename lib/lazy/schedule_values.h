#pragma once

#include "touchstone/ops/lazy_op.h"

namespace touchstone::lazy {

/// Selects the values of a kernel's variables. Throws Error if one is missing.
symbolic::Values values_of(const LazyOpPtr& kernel, const symbolic::Values& values);

}  // namespace touchstone::lazy
