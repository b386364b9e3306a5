#include "touchstone/shapetracker/merge/bit_set.h"

#include <algorithm>
#include <bit>

namespace touchstone::shapetracker {
namespace {

constexpr std::uint64_t kAll = ~std::uint64_t{0};

std::int64_t number_of(std::size_t word, std::uint64_t bits) {
  return static_cast<std::int64_t>(word) * 64 + std::countr_zero(bits);
}

}  // namespace

void BitSet::cut_off() {
  if (size_ % 64 != 0) words_.back() &= kAll >> (64 - size_ % 64);
}

void BitSet::insert_range(std::int64_t begin, std::int64_t end) {
  end = std::min(end, size_);
  if (begin >= end) return;
  const auto first = static_cast<std::size_t>(begin / 64),
             last = static_cast<std::size_t>((end - 1) / 64);
  const std::uint64_t head = kAll << (begin % 64), tail = kAll >> (63 - (end - 1) % 64);
  if (first == last) {
    words_[first] |= head & tail;
    return;
  }
  words_[first] |= head;
  std::fill(words_.begin() + static_cast<std::ptrdiff_t>(first) + 1,
            words_.begin() + static_cast<std::ptrdiff_t>(last), kAll);
  words_[last] |= tail;
}

void BitSet::insert_shifted(std::int64_t by) {
  if (by == 0 || by >= size_) return;
  const auto jump = static_cast<std::size_t>(by / 64);
  const auto slide = static_cast<unsigned>(by % 64);
  // From the top: a word is read before it is overwritten.
  for (std::size_t i = words_.size(); i-- > jump;) {
    std::uint64_t moved = words_[i - jump] << slide;
    if (slide != 0 && i > jump) moved |= words_[i - jump - 1] >> (64 - slide);
    words_[i] |= moved;
  }
  cut_off();
}

void BitSet::keep_with_successor(std::int64_t by) {
  const auto jump = static_cast<std::size_t>(by / 64);
  const auto slide = static_cast<unsigned>(by % 64);
  for (std::size_t i = 0; i < words_.size(); ++i) {
    std::uint64_t moved = i + jump < words_.size() ? words_[i + jump] >> slide : 0;
    if (slide != 0 && i + jump + 1 < words_.size()) moved |= words_[i + jump + 1] << (64 - slide);
    words_[i] &= moved;
  }
}

void BitSet::keep_common(const BitSet& other) {
  for (std::size_t i = 0; i < words_.size(); ++i) words_[i] &= other.words_[i];
}

void BitSet::remove(const BitSet& other) {
  for (std::size_t i = 0; i < words_.size(); ++i) words_[i] &= ~other.words_[i];
}

std::optional<std::int64_t> BitSet::first() const {
  for (std::size_t i = 0; i < words_.size(); ++i)
    if (words_[i] != 0) return number_of(i, words_[i]);
  return std::nullopt;
}

std::optional<std::int64_t> BitSet::first_outside(const BitSet& other) const {
  for (std::size_t i = 0; i < words_.size(); ++i)
    if (const std::uint64_t bits = words_[i] & ~other.words_[i]; bits != 0)
      return number_of(i, bits);
  return std::nullopt;
}

std::optional<std::int64_t> BitSet::first_common(const BitSet& other) const {
  for (std::size_t i = 0; i < words_.size(); ++i)
    if (const std::uint64_t bits = words_[i] & other.words_[i]; bits != 0)
      return number_of(i, bits);
  return std::nullopt;
}

BitSet BitSet::periodic(std::int64_t size, std::int64_t span, std::int64_t low, std::int64_t high) {
  BitSet set(size);
  if (span >= 512) {
    for (std::int64_t start = 0; start < size; start += span)
      set.insert_range(start + low, start + high + 1);
  } else {
    set.insert_range(low, high + 1);
    for (std::int64_t have = span; have < size; have *= 2) set.insert_shifted(have);
  }
  return set;
}

}  // namespace touchstone::shapetracker
