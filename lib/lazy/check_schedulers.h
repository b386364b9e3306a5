#pragma once

#include <span>

#include "touchstone/lazy/schedule.h"

namespace touchstone::lazy {

/// SCHEDULER=check: what realize() does, with every scheduler. The schedule of rewriting is run
/// aside, in memory of its own, then that of fusion; `outputs` keep what the latter gave. Throws
/// Error naming output, element and both values where a bit differs (NaN is NaN). Meant for devices
/// whose result does not depend on what shares a kernel, as the reference's.
void realize_checked(std::span<const LazyBufferPtr> outputs, const symbolic::Values& values);

}  // namespace touchstone::lazy
