#pragma once

#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "touchstone/lazy/schedule.h"

namespace touchstone::lazy {

/// The common data of schedule pictures and texts.
struct ScheduleView {
  struct Item {
    std::string name;        // kernel_name, or the load op in lower case
    std::vector<int> reads;  // buffer numbers
    int makes = 0;
    std::vector<int> from;     // distinct items that write what it reads
    std::string flops, bytes;  // of kernels; symbolic costs are expressions
  };
  struct BufferFact {
    const LazyBuffer* base = nullptr;
    int made_by = -1;
  };
  explicit ScheduleView(std::span<const ScheduleItem> items);

  std::vector<Item> items;
  std::vector<BufferFact> buffers;  // of buffer i + 1
};

}  // namespace touchstone::lazy
