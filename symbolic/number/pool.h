#pragma once

#include <bit>
#include <cstddef>
#include <functional>
#include <new>
#include <unordered_map>
#include <utility>
#include <vector>

namespace touchstone::symbolic {

/// Pooled memory for the lists of one call. A freed block is kept by the freeing thread for the
/// next request of its size class, so a warm thread never calls the heap. Blocks above a megabyte
/// use the heap, and so do all in sanitized builds, which then detect misuse.
inline void* pool_take(std::size_t bytes);
inline void pool_give(void* block, std::size_t bytes) noexcept;

namespace pool {

#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool kOn = false;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
inline constexpr bool kOn = false;
#else
inline constexpr bool kOn = true;
#endif
#else
inline constexpr bool kOn = true;
#endif

constexpr std::size_t kLeast = 6, kMost = 20;  // logarithms of the block sizes that are kept

struct Free {
  Free* next;
};

/// The thread's free blocks by size class. Plain data, so access needs no guard; another object
/// frees them when the thread ends.
extern constinit thread_local Free* lists[kMost + 1];

inline std::size_t size_class(std::size_t bytes) {
  const auto log = static_cast<std::size_t>(std::bit_width(bytes - 1));
  return log < kLeast ? kLeast : log;
}
void* take_new(std::size_t log, std::size_t bytes);
void give_back(void* block, std::size_t log) noexcept;

}  // namespace pool

inline void* pool_take(std::size_t bytes) {
  if (bytes == 0) bytes = 1;
  const std::size_t log = pool::size_class(bytes);
  if (!pool::kOn || log > pool::kMost || !pool::lists[log]) return pool::take_new(log, bytes);
  pool::Free* const block = pool::lists[log];
  pool::lists[log] = block->next;
  return block;
}

inline void pool_give(void* block, std::size_t bytes) noexcept {
  if (!block) return;
  if (bytes == 0) bytes = 1;
  const std::size_t log = pool::size_class(bytes);
  if (!pool::kOn || log > pool::kMost || !pool::lists[log]) return pool::give_back(block, log);
  pool::lists[log] = new (block) pool::Free{pool::lists[log]};
}

/// A standard allocator on the pool.
template <class T>
struct Pooled {
  using value_type = T;
  Pooled() = default;
  template <class U>
  Pooled(const Pooled<U>&) {}  // NOLINT(google-explicit-constructor)
  T* allocate(std::size_t n) {
    static_assert(alignof(T) <= alignof(std::max_align_t));
    return static_cast<T*>(pool_take(n * sizeof(T)));
  }
  void deallocate(T* block, std::size_t n) noexcept { pool_give(block, n * sizeof(T)); }
  template <class U>
  bool operator==(const Pooled<U>&) const {
    return true;
  }
};

/// A vector in pooled memory.
template <class T>
using List = std::vector<T, Pooled<T>>;

/// A hash table in pooled memory.
template <class Key, class Value>
using Table = std::unordered_map<Key, Value, std::hash<Key>, std::equal_to<Key>,
                                 Pooled<std::pair<const Key, Value>>>;

}  // namespace touchstone::symbolic
