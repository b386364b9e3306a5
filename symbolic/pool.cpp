#include "touchstone/symbolic/pool.h"

#include <array>
#include <bit>

#if defined(__SANITIZE_ADDRESS__)
#define TOUCHSTONE_POOL 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TOUCHSTONE_POOL 0
#endif
#endif
#ifndef TOUCHSTONE_POOL
#define TOUCHSTONE_POOL 1
#endif

namespace touchstone::symbolic {

namespace {

constexpr std::size_t kLeast = 6, kMost = 20;  // logarithms of the block sizes that are kept

struct Free {
  Free* next;
};

thread_local bool gone = false;  // the thread is ending, and its lists are given back already

struct FreeLists {
  std::array<Free*, kMost + 1> first{};
  FreeLists() = default;
  FreeLists(const FreeLists&) = delete;
  FreeLists& operator=(const FreeLists&) = delete;
  ~FreeLists() {
    gone = true;
    for (Free* block : first)
      while (block) {
        Free* const next = block->next;
        ::operator delete(block);
        block = next;
      }
  }
};

thread_local FreeLists lists;

std::size_t size_class(std::size_t bytes) {
  const auto log = static_cast<std::size_t>(std::bit_width(bytes - 1));
  return log < kLeast ? kLeast : log;
}

}  // namespace

void* pool_take(std::size_t bytes) {
  if (bytes == 0) bytes = 1;
  const std::size_t log = size_class(bytes);
  if (TOUCHSTONE_POOL == 0 || log > kMost || gone)
    return ::operator new (log > kMost ? bytes : std::size_t{1} << log);
  Free*& first = lists.first[log];
  if (!first) return ::operator new (std::size_t{1} << log);
  Free* const block = first;
  first = block->next;
  return block;
}

void pool_give(void* block, std::size_t bytes) noexcept {
  if (!block) return;
  if (bytes == 0) bytes = 1;
  const std::size_t log = size_class(bytes);
  if (TOUCHSTONE_POOL == 0 || log > kMost || gone) return ::operator delete(block);
  Free*& first = lists.first[log];
  first = new (block) Free{first};
}

}  // namespace touchstone::symbolic
