#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace touchstone::shapetracker {

/// A set of numbers in [0, size), one bit each.
class BitSet {
 public:
  explicit BitSet(std::int64_t size)
      : size_(size), words_(static_cast<std::size_t>((size + 63) / 64), 0) {}

  void insert(std::int64_t number) { word(number) |= bit(number); }
  void insert_range(std::int64_t begin, std::int64_t end);  // [begin, end), clipped to size
  bool contains(std::int64_t number) const {
    return (words_[static_cast<std::size_t>(number / 64)] & bit(number)) != 0;
  }
  /// Adds member + by for every member, if within range. by >= 0.
  void insert_shifted(std::int64_t by);
  /// Keeps the members whose member + by is a member. by >= 0.
  void keep_with_successor(std::int64_t by);
  void keep_common(const BitSet& other);
  void remove(const BitSet& other);
  std::optional<std::int64_t> first() const;
  /// The first member that is not in `other`; first_common: that is.
  std::optional<std::int64_t> first_outside(const BitSet& other) const;
  std::optional<std::int64_t> first_common(const BitSet& other) const;

  /// Every k in [0, size) with low <= k mod span <= high. 0 <= low <= high < span.
  static BitSet periodic(std::int64_t size, std::int64_t span, std::int64_t low, std::int64_t high);

  std::int64_t words() const { return static_cast<std::int64_t>(words_.size()); }

 private:
  static std::uint64_t bit(std::int64_t number) { return std::uint64_t{1} << (number % 64); }
  std::uint64_t& word(std::int64_t number) { return words_[static_cast<std::size_t>(number / 64)]; }
  void cut_off();

  std::int64_t size_;
  std::vector<std::uint64_t> words_;
};

}  // namespace touchstone::shapetracker
