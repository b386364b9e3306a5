#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "touchstone/lazy/schedule.h"

namespace touchstone {

/// The placement of a schedule's temporary results in one block per device, reusing space when a
/// result is dead.
struct MemoryPlan {
  struct Place {
    std::int64_t offset = 0, bytes = 0;  // in the block of its device; multiples of 64
  };
  std::vector<std::optional<Place>> places;    // one per item; nullopt: memory of its own
  std::map<std::string, std::int64_t> blocks;  // bytes of each device's block
  std::int64_t unplanned = 0;                  // total bytes of planned results without reuse

  std::int64_t planned() const;  // total bytes of all blocks
};

/// Plans the results that die with the schedule: those referenced only by its items, its graph and
/// other such results. Random numbers, copies and kernels of concrete shape are planned; results of
/// assign() and CUSTOM are not. Takes O(n log n) time.
MemoryPlan plan_memory(std::span<const ScheduleItem> items);

}  // namespace touchstone
