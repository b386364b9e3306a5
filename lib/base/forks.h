#pragma once

#include <atomic>

#include <pthread.h>

namespace touchstone {

/// Returns the number of forks between this process and the one that first called this. Threads and
/// GPU contexts do not survive a fork; their owners store this number to detect one.
inline int forks_deep() {
  static std::atomic<int> deep = 0;
  static const int watched = ::pthread_atfork(nullptr, nullptr, [] { ++deep; });
  return watched == 0 ? deep.load(std::memory_order_relaxed) : 0;
}

}  // namespace touchstone
