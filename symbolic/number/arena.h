#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

namespace touchstone::symbolic {

/// A bump allocator that is freed all at once. Pieces never move; destructors are not run.
class Arena {
 public:
  /// A copy of the items.
  template <class T>
  std::span<const T> keep(std::span<const T> items) {
    static_assert(alignof(T) <= kAlign);
    if (items.empty()) return {};
    T* const begin = static_cast<T*>(take(items.size_bytes()));
    std::uninitialized_copy(items.begin(), items.end(), begin);
    return {begin, items.size()};
  }
  /// Invalidates every piece; keeps the memory for reuse.
  void clear() {
    chunk_ = 0;
    next_ = chunks_.empty() ? nullptr : chunks_[0].memory.get();
    left_ = chunks_.empty() ? 0 : chunks_[0].size;
  }
  std::size_t bytes() const {
    std::size_t total = 0;
    for (const Chunk& c : chunks_) total += c.size;
    return total;
  }

 private:
  static constexpr std::size_t kAlign = 8;
  static constexpr std::size_t kFirst = 4096, kMost = std::size_t{1} << 20;
  struct Chunk {
    std::unique_ptr<std::byte[]> memory;
    std::size_t size;
  };

  void* take(std::size_t bytes) {
    bytes = (bytes + kAlign - 1) / kAlign * kAlign;
    while (left_ < bytes) open(bytes);
    void* const piece = next_;
    next_ += bytes;
    left_ -= bytes;
    return piece;
  }
  void open(std::size_t bytes) {
    if (next_) ++chunk_;
    if (chunk_ == chunks_.size()) {
      const std::size_t size =
          std::max(bytes, chunks_.empty() ? kFirst : std::min(kMost, 2 * chunks_.back().size));
      chunks_.push_back({std::make_unique_for_overwrite<std::byte[]>(size), size});
    }
    next_ = chunks_[chunk_].memory.get();
    left_ = chunks_[chunk_].size;
  }

  std::vector<Chunk> chunks_;
  std::size_t chunk_ = 0;
  std::byte* next_ = nullptr;
  std::size_t left_ = 0;
};

}  // namespace touchstone::symbolic
