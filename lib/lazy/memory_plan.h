#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "touchstone/lazy/schedule.h"

namespace touchstone {

/// Where the results of a schedule lie that nobody needs after it: parts of one block a device,
/// each used again when what lies there is dead.
struct MemoryPlan {
  struct Place {
    std::int64_t offset = 0, bytes = 0;  // in the block of its device; multiples of 64
  };
  std::vector<std::optional<Place>> places;    // one an item; nullopt: memory of its own
  std::map<std::string, std::int64_t> blocks;  // bytes of each device's block
  std::int64_t unplanned = 0;                  // bytes of all planned results, side by side

  std::int64_t planned() const;  // bytes of all blocks
};

/// Plans the results that die with the schedule: those which only its items, its graph, and other
/// results hold. Random numbers, copies and kernels of concrete shape are planned; what assign()
/// made and CUSTOM are not. Time n log n.
MemoryPlan plan_memory(std::span<const ScheduleItem> items);

}  // namespace touchstone
