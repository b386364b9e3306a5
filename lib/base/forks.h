#pragma once

#include <atomic>

#include <pthread.h>

namespace touchstone {

/// How many forks lie between this process and the first one that asked. Threads, and the context
/// of a GPU, do not outlive a fork: who holds some keeps this number beside them.
inline int forks_deep() {
  static std::atomic<int> deep = 0;
  static const int watched = ::pthread_atfork(nullptr, nullptr, [] { ++deep; });
  return watched == 0 ? deep.load(std::memory_order_relaxed) : 0;
}

}  // namespace touchstone
