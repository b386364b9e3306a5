#pragma once

#include <atomic>

#include "touchstone/base/error.h"

namespace touchstone {

/// Thrown by a computation that stops on request. Its partial result is discarded.
class Interrupted : public Error {
 public:
  Interrupted() : Error("interrupted") {}
};

/// A process-wide request to stop, which long computations poll.
class Interrupt {
 public:
  /// Makes each later `poll` throw, in every thread; returns true if a request was already pending.
  /// Safe to call from a signal handler.
  static bool request() { return wanted_.exchange(true); }
  static void clear() { wanted_.store(false); }
  /// Throws Interrupted if a request is pending; costs one load.
  static void poll() {
    if (wanted_.load(std::memory_order_relaxed)) [[unlikely]]
      throw Interrupted();
  }

 private:
  inline static std::atomic<bool> wanted_ = false;
  static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler sets it");
};

}  // namespace touchstone
