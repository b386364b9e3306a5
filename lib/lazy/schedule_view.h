#pragma once

#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "touchstone/lazy/schedule.h"

namespace touchstone::lazy {

/// The data that pictures and texts of a schedule have in common.
struct ScheduleView {
  struct Item {
    std::string name;        // kernel_name, or the load in lower case
    std::vector<int> reads;  // buffers
    int makes = 0;
    std::vector<int> from;     // items that make what is read, each once
    std::string flops, bytes;  // of kernels; symbolic costs as expressions
  };
  struct BufferFact {
    const LazyBuffer* base = nullptr;
    int made_by = -1;
  };
  explicit ScheduleView(std::span<const ScheduleItem> items);

  std::vector<Item> items;
  std::vector<BufferFact> buffers;  // of number i + 1
};

}  // namespace touchstone::lazy
