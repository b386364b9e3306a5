#pragma once

#include <unordered_map>
#include <vector>

#include "touchstone/lazy/schedule.h"

namespace touchstone::lazy {

/// Runs schedules in its own memory without changing any LazyBuffer: assignments have no effect
/// outside, and the same graph can be run again with other variable values.
class Aside {
 public:
  void run(const ScheduleItem& item);
  /// The result for a base; null if it needed no work.
  BufferPtr made(const LazyBuffer& base) const;
  /// The result on each device, for a base on several.
  std::vector<BufferPtr> parts(const LazyBuffer& base) const;

 private:
  BufferPtr memory_of(const LazyBuffer& base) const;

  std::unordered_map<const LazyBuffer*, BufferPtr> made_;
  std::unordered_map<const LazyBuffer*, std::vector<BufferPtr>> parts_;
  std::vector<LazyBufferPtr> held_;  // keeps addresses from being reused
};

}  // namespace touchstone::lazy
