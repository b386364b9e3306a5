#pragma once

#include <span>
#include <vector>

#include "touchstone/lazy/schedule.h"

namespace touchstone::lazy {

/// `st` with an axis in front that chooses from `rows` of what it views, each of the shape `row`.
ShapeTracker with_rows(const ShapeTracker& st, const sint& rows, const Shape& row);

/// Where a GATHER is a kernel of its own, puts it into the kernel that reads it, and what computes
/// its positions into it: where one kernel reads it, through one view, no element twice, and it is
/// no output. What is assigned to in between does not matter: memories are exchanged. Up to 16 into
/// one kernel, and no more buffers than the config and the device let it have.
void join_gathers(std::vector<ScheduleItem>& items, std::span<const LazyBufferPtr> outputs,
                  const Config& config);

}  // namespace touchstone::lazy
