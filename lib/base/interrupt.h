#pragma once

#include <atomic>

#include "touchstone/base/error.h"

namespace touchstone {

/// A computation was asked to stop and did. What it was building is dropped.
class Interrupted : public Error {
 public:
  Interrupted() : Error("interrupted") {}
};

/// A wish that long computations stop, which they look at now and then.
class Interrupt {
 public:
  /// From now on each `poll` throws, in every thread; true where that was asked for already. May be
  /// called by a signal handler.
  static bool request() { return wanted_.exchange(true); }
  static void clear() { wanted_.store(false); }
  /// Throws Interrupted where a request waits; costs one load.
  static void poll() {
    if (wanted_.load(std::memory_order_relaxed)) [[unlikely]]
      throw Interrupted();
  }

 private:
  inline static std::atomic<bool> wanted_ = false;
  static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler sets it");
};

}  // namespace touchstone
