#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "touchstone/shapetracker/merge/merge_search.h"

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

/// The queries of MergeSearch for one inner view, answered with a bit set of the flat indices that
/// a box reaches: exact, in time about rank^2 * elements / 64.
class BitSearch {
 public:
  using Truth = MergeSearch::Truth;
  using Found = MergeSearch::Found;

  /// most_words: budget of bit-set words to visit.
  BitSearch(const FlatIndex& index, const FlatView& view, std::int64_t most_words);

  Found find(const Box& box);
  Truth is_affine(const Box& box, std::int64_t base, const Point& slopes);
  std::optional<std::int64_t> at(const Point& point) const;
  const Point& counterexample() const { return counterexample_; }
  bool carries_cancelled() const { return carries_cancelled_; }
  int nodes() const { return 0; }

 private:
  /// A direction of a box with its flat step made positive.
  struct Dim {
    std::int64_t stride;
    std::int64_t extent;
  };
  struct Reach {
    std::int64_t lowest;  // flat index of the corner from which all dims rise
    std::vector<Dim> dims;
  };
  /// The change of the address from one index to the next, by the carries between them.
  struct Carry {
    BitSet where;
    Wide jump;
  };

  bool spend(std::int64_t passes);
  Reach reach(const Box& box) const;
  std::optional<BitSet> reached(const Reach& reach);
  Truth locate(std::int64_t flat, const Box& box);
  Truth gains(const Box& box, const BitSet& all, std::size_t dim, std::int64_t slope);
  std::optional<std::int64_t> unequal(const BitSet& from, std::span<const Carry> carries,
                                      Wide missing);

  const FlatIndex& index_;
  const FlatView& view_;
  std::int64_t words_left_;
  BitSet valid_;
  Point located_, counterexample_;
  bool carries_cancelled_ = false;
};

}  // namespace touchstone::shapetracker
