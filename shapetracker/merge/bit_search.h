#pragma once

#include "touchstone/shapetracker/merge/bit_set.h"
#include "touchstone/shapetracker/merge/merge_search.h"

namespace touchstone::shapetracker {

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
