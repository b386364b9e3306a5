#include "touchstone/symbolic/number/pool.h"

namespace touchstone::symbolic::pool {

constinit thread_local Free* lists[kMost + 1] = {};

namespace {

thread_local bool gone = false;  // the thread is exiting and has freed its lists

/// Frees the thread's blocks at exit.
struct Owner {
  bool here = true;
  Owner() = default;
  Owner(const Owner&) = delete;
  Owner& operator=(const Owner&) = delete;
  ~Owner() {
    gone = true;
    for (Free*& first : lists)
      while (first) ::operator delete(std::exchange(first, first->next));
  }
};

thread_local Owner owner;

}  // namespace

void* take_new(std::size_t log, std::size_t bytes) {
  return ::operator new (log > kMost ? bytes : std::size_t{1} << log);
}

void give_back(void* block, std::size_t log) noexcept {
  if (!kOn || log > kMost || gone) return ::operator delete(block);
  // A nonempty list was started here, on a thread whose owner frees it at exit.
  if (owner.here) lists[log] = new (block) Free{nullptr};
}

}  // namespace touchstone::symbolic::pool
