#pragma once

#include <unordered_map>
#include <vector>

#include "touchstone/lazy/schedule.h"

namespace touchstone::lazy {

/// Runs schedules in memory of its own, without touching a LazyBuffer: what is assigned to stays as
/// it is, and the same graph can be run again, with other values of its variables.
class Aside {
 public:
  void run(const ScheduleItem& item);
  /// Null where it needed no work.
  BufferPtr made(const LazyBuffer& base) const;
  /// Of a base on several devices, what each has.
  std::vector<BufferPtr> parts(const LazyBuffer& base) const;

 private:
  BufferPtr memory_of(const LazyBuffer& base) const;

  std::unordered_map<const LazyBuffer*, BufferPtr> made_;
  std::unordered_map<const LazyBuffer*, std::vector<BufferPtr>> parts_;
  std::vector<LazyBufferPtr> held_;  // so that no address is used again
};

}  // namespace touchstone::lazy
