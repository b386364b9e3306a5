#pragma once

#include <cstddef>
#include <functional>
#include <new>
#include <unordered_map>
#include <utility>
#include <vector>

namespace touchstone::symbolic {

/// Memory for the lists of one call. A block goes back to the thread that drops it, which keeps it
/// for the next of its size, so that after a first while nothing asks the heap. Blocks beyond a
/// megabyte do go to the heap. Sanitized builds always ask the heap, to see each misuse.
void* pool_take(std::size_t bytes);
void pool_give(void* block, std::size_t bytes) noexcept;

/// An allocator of such memory for the standard containers.
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

/// A list that grows without the heap.
template <class T>
using List = std::vector<T, Pooled<T>>;

/// A hash table that grows without the heap.
template <class Key, class Value>
using Table = std::unordered_map<Key, Value, std::hash<Key>, std::equal_to<Key>,
                                 Pooled<std::pair<const Key, Value>>>;

}  // namespace touchstone::symbolic
