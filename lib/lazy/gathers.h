#pragma once

#include <span>
#include <vector>

#include "touchstone/lazy/schedule.h"

namespace touchstone::lazy {

/// `st` with a new first axis that selects one of `rows` rows, each of shape `row`.
ShapeTracker with_rows(const ShapeTracker& st, const sint& rows, const Shape& row);

/// Merges each GATHER that is its own kernel into the kernel that reads it, and the computation of
/// its positions into the GATHER: if exactly one kernel reads it, through one view, without
/// repeating elements, and it is not an output. Assignments in between do not matter, because they
/// exchange memory. Merges at most 16 into one kernel, within the buffer limit of the config and
/// the device.
void join_gathers(std::vector<ScheduleItem>& items, std::span<const LazyBufferPtr> outputs,
                  const Config& config);

}  // namespace touchstone::lazy
