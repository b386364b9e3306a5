#pragma once

#include <span>

#include "touchstone/lazy/schedule.h"

namespace touchstone::lazy {

/// SCHEDULER=check: realizes `outputs` with every scheduler. First runs the rewriting schedules
/// aside, in their own memory, then the fusion schedule, whose results `outputs` keep. Throws Error
/// naming output, element and both values if a bit differs (all NaNs are equal). Use it on devices
/// whose results do not depend on fusion, such as the reference device.
void realize_checked(std::span<const LazyBufferPtr> outputs, const symbolic::Values& values);

}  // namespace touchstone::lazy
