// Stacks reduce to the least number of views and keep their meaning.
#include "touchstone/shapetracker/merge/reduce.h"

#include <gtest/gtest.h>

#include <rapidcheck/gtest.h>

#include "chains.h"
#include "greedy.h"
#include "touchstone/base/hash.h"
#include "touchstone/shapetracker/merge/same_map.h"
#include "touchstone/shapetracker/merge/simplify.h"

namespace touchstone {
namespace {

using model::Ints;
using model::materialise;
using model::strided;
using shapetracker::compare_maps;
using shapetracker::MergeSearch;
using shapetracker::Reduction;
using Views = std::vector<View>;
using Order = std::vector<int>;
using Truth = MergeSearch::Truth;

Views reduced(const Views& views) { return simplify(ShapeTracker(views)).views(); }

TEST(Reduce, AChainWhoseNeighboursDoNotMergeIsOneView) {
  const Views views = {strided({4, 2, 3}, {0, 1, 2}), strided({2, 2, 6}, {6, 12, 1}),
                       strided({4, 2, 3}, {6, 3, 1})};
  EXPECT_EQ(model::merge_neighbours(views).size(), 3U);
  EXPECT_EQ(reduced(views), (Views{strided({4, 2, 3}, {0, 1, 2})}));
}

// Axes 0 and 1 split after the first view, axes 2 and 3 after the second: no run merges.
TEST(Reduce, BlocksThatPartAtDifferentViewsAreTwoViews) {
  const ShapeTracker composed = ShapeTracker::contiguous({3, 2, 3, 2})
                                    .permute(Order{1, 0, 2, 3})
                                    .reshape({6, 3, 2})
                                    .permute(Order{0, 2, 1})
                                    .reshape({6, 6});
  EXPECT_EQ(model::merge_neighbours(composed.views()).size(), 3U);
  EXPECT_EQ(shapetracker::reduce_stack(composed.views()),
            (Views{strided({2, 3, 2, 3}, {6, 12, 1, 2}), View::contiguous({6, 6})}));
}

// Reverses the bits of an index, then the pairs of bits: the bits of each pair swap, which is one
// view of bits and one that reads them in order.
TEST(Reduce, BitsReversedTwiceAreTwoViews) {
  for (std::size_t bits = 4; bits <= 30; bits += bits < 20 ? 2 : 10) {
    const std::int64_t size = std::int64_t{1} << bits;
    const auto reversed = [](std::size_t axes) {
      Order order;
      for (std::size_t i = axes; i-- > 0;) order.push_back(static_cast<int>(i));
      return order;
    };
    const ShapeTracker composed = ShapeTracker::contiguous(Shape(bits, 2))
                                      .permute(reversed(bits))
                                      .reshape({size})
                                      .reshape(Shape(bits / 2, 4))
                                      .permute(reversed(bits / 2))
                                      .reshape({size});
    const Reduction found = shapetracker::reduce(composed.views());
    EXPECT_EQ(found.views.size(), 2U) << bits;
    EXPECT_FALSE(found.limited);
    const ShapeTracker simple(found.views);
    for (std::int64_t k = 0; k < size; k += 1 + size / 1000) {
      std::int64_t swapped = 0;
      for (std::size_t b = 0; b < bits; b += 2)
        swapped |= (k >> b & 1) << (b + 1) | (k >> (b + 1) & 1) << b;
      ASSERT_EQ(simple.at(Ints{k}), swapped);
    }
  }
}

TEST(Reduce, SaysWhereASearchEndedByALimit) {
  // At this size every position is tested, and no two views are found.
  const Views small = {strided({4, 3, 3}, {3, 1, 12}), strided({2, 3, 6}, {1, 12, 2}),
                       View::contiguous({34})};
  const Reduction seen = shapetracker::reduce(small);
  EXPECT_EQ(seen.views.size(), 3U);
  EXPECT_FALSE(seen.limited);
  const Order back{2, 1, 0};
  const ShapeTracker large = ShapeTracker::contiguous({101, 103, 107})
                                 .permute(back)
                                 .reshape({103, 107, 101})
                                 .permute(back)
                                 .reshape({101 * 103 * 107});
  const Reduction cut = shapetracker::reduce(large.views());
  EXPECT_EQ(cut.views.size(), 3U);
  EXPECT_TRUE(cut.limited);
}

// Up to 2^36 elements, reordered and regrouped, some dropped.
ShapeTracker large_chain(fuzz::Chooser& draws) {
  Shape shape;
  std::int64_t size = 1;
  for (std::int64_t rank = draws.between(2, 6); rank > 0; --rank) {
    const std::int64_t axis = draws.chance(1, 4) ? draws.between(500, 5000) : draws.between(2, 9);
    if (size > (std::int64_t{1} << 36) / axis) continue;
    shape.emplace_back(axis);
    size *= axis;
  }
  const auto shuffled = [&](const ShapeTracker& st) {
    Order order(st.shape().size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int>(i);
    for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[draws.below(i)]);
    return st.permute(order);
  };
  ShapeTracker st = ShapeTracker::contiguous(shape);
  for (std::int64_t turns = draws.between(1, 3); turns > 0; --turns) {
    st = shuffled(st).reshape({size});
    if (draws.chance(1, 3) && size > 8) {
      const std::int64_t begin = draws.between(0, 3), end = size - draws.between(0, 3);
      st = st.shrink(Mask{{begin, end}}).pad(Padding{{begin, size - end}});
    }
    if (draws.chance(1, 3)) st = st.flip(std::vector{0});
    Shape regrouped;  // joins neighbours
    for (const sint& axis : st.views()[0].shape())
      if (!regrouped.empty() && draws.chance(1, 2))
        regrouped.back() = regrouped.back() * axis;
      else
        regrouped.push_back(axis);
    if (model::count(concrete(regrouped)) == size) st = st.reshape(regrouped);
  }
  return st;
}

// Large stacks are read in windows; the result equals the input.
RC_GTEST_PROP(Reduce, LargeStacksSayWhatTheySaid, ()) {
  fuzz::RandomChooser draws(*rc::gen::arbitrary<std::uint64_t>(), 0);
  const ShapeTracker st = large_chain(draws);
  const std::int64_t size = st.size().as_int();
  const ShapeTracker simple = simplify(st);
  RC_ASSERT(simple.views().size() <= st.views().size());
  const Ints sizes = concrete(st.shape());
  for (int i = 0; i < 300; ++i) {
    std::int64_t k = draws.chance(1, 2) ? i : size - 1 - i;
    if (i > 100) k = static_cast<std::int64_t>(hash_mix(static_cast<std::uint64_t>(i), 5) >> 1);
    const Ints index = model::unravel(k % size, sizes);
    if (k >= 0 && simple.at(index) != st.at(index)) RC_FAIL(st.str() + " became " + simple.str());
  }
}

// Compares two views with three along their common flat index: some thousand boxes instead of a
// million elements.
TEST(Reduce, LongStacksTakeLittleWork) {
  const auto masked_rows = [](std::int64_t rows, std::int64_t row, std::int64_t first) {
    return strided({rows, row}, {row, 1}, -first * row, Mask{{first, rows - first}, {0, row}});
  };
  const Views stacks[] = {
      {strided({53, 87, 230}, {87, 1, 4611}), masked_rows(50, 23055, 2),
       strided({35, 53, 609}, {-32277, 609, 1}, 1097418)},
      {strided({190, 53, 253}, {-13409, -253, 1}, 2547457),
       strided({1416896}, {1}, 0, Mask{{0, 1416895}}), View::contiguous({1352, 2, 524})},
      {strided({191, 23, 232, 2}, {774, 2, 164088, 1}),
       strided({3, 8786, 4, 60}, {1019176, 116, 58, 1}, -118,
               Mask{{0, 2}, {0, 8786}, {2, 4}, {2, 60}}),
       strided({45, 264, 59, 4}, {140576, 368, 4, 1}, 132)}};
  for (const Views& stack : stacks)
    EXPECT_LT(shapetracker::reduce(stack).work, 40'000) << ShapeTracker(stack).str();
  std::int64_t work = 0;
  constexpr int kStacks = 300;
  for (std::uint64_t i = 0; i < kStacks; ++i) {
    fuzz::RandomChooser draws(1, i);
    const ShapeTracker st = large_chain(draws);
    const Reduction found = shapetracker::reduce(st.views());
    EXPECT_LT(found.work, 1 << 20) << st.str();
    work += found.work;
  }
  EXPECT_LT(work / kStacks, 60'000);
  EXPECT_GT(work, 0);
}

// Blocks that split at different views, one of them flipped and cropped: its digits start within a
// period.
TEST(Reduce, BlocksThatBeginWithinATurnAreTwoViews) {
  const ShapeTracker composed = ShapeTracker::contiguous({5, 4, 3, 2})
                                    .permute(Order{1, 0, 2, 3})
                                    .reshape({20, 3, 2})
                                    .shrink(Mask{{3, 18}, {0, 3}, {0, 2}})
                                    .stride(Ints{-1, 1, 1})
                                    .permute(Order{0, 2, 1})
                                    .reshape({15, 6});
  const Views views = shapetracker::reduce_stack(composed.views());
  EXPECT_EQ(views.size(), 2U);
  EXPECT_EQ(materialise(ShapeTracker(views)), materialise(composed));
}

// Rows of 5 through columns of 3: the axes of each block share carries.
TEST(Reduce, BlocksOfTwoAxesEachAreTwoViews) {
  const ShapeTracker composed = ShapeTracker::contiguous({5, 3, 4, 3})
                                    .permute(Order{1, 0, 2, 3})
                                    .reshape({15, 4, 3})
                                    .permute(Order{0, 2, 1})
                                    .reshape({5, 3, 12})
                                    .shrink(Mask{{0, 5}, {0, 2}, {0, 12}})
                                    .reshape({5, 2, 6, 2});
  ASSERT_EQ(model::merge_neighbours(composed.views()).size(), 3U);
  const Views views = shapetracker::reduce_stack(composed.views());
  EXPECT_EQ(views.size(), 2U) << composed.str() << " left as " << ShapeTracker(views).str();
  EXPECT_EQ(materialise(ShapeTracker(views)), materialise(composed));
}

RC_GTEST_PROP(Reduce, IsNoLongerThanMergingNeighbours, ()) {
  for (int i = 0; i < 15; ++i) {
    const model::Chain chain = model::any_chain(model::kReshapes, model::Keep::All);
    const Views& views = chain.tracker.views();
    const Views fewest = shapetracker::reduce_stack(views);
    if (materialise(ShapeTracker(fewest)) != chain.array) RC_FAIL("reduced:" + chain.story);
    RC_ASSERT(fewest.size() <= model::merge_last_two(views).size());
    RC_ASSERT(fewest.size() <= model::merge_neighbours(views).size());
    RC_ASSERT(shapetracker::reduce_stack(fewest) == fewest);
  }
}

// 200 views with no mergeable neighbours.
TEST(Reduce, ALongStackTakesNoLongTime) {
  Views views;
  for (int i = 0; i < 200; ++i) views.push_back(strided({7, 11, 13}, {1, 7, 77}));
  const Views fewest = reduced(views);
  EXPECT_GT(fewest.size(), 50U);
  EXPECT_LE(fewest.size(), 200U);
}

// A pair with the same addresses but a scaled flat index: the inner view has an additional axis of
// `factor`, only whose first index is read, and padding before the first row.
Views with_scaled_index(const Views& pair, std::int64_t factor, std::int64_t padding,
                        std::int64_t stride) {
  const View &inner = pair[0], &outer = pair[1];
  if (inner.rank() == 0) return pair;
  const std::int64_t row = inner.size().as_int() / inner.shape()[0].as_int() * factor;
  Ints shape = concrete(inner.shape()), strides = concrete(inner.strides());
  const std::int64_t offset = inner.offset().as_int() - padding * strides[0];
  Mask mask;
  for (std::size_t i = 0; i < shape.size(); ++i)
    mask.push_back(inner.mask() ? (*inner.mask())[i] : Range{0, shape[i]});
  mask[0] = {mask[0].first + padding, mask[0].second + padding};
  shape[0] += padding;
  shape.push_back(factor);
  strides.push_back(stride);
  mask.emplace_back(0, factor);
  Ints steps = concrete(outer.strides());
  for (std::int64_t& step : steps) step *= factor;
  return {strided(shape, strides, offset, mask),
          strided(concrete(outer.shape()), steps, outer.offset().as_int() * factor + padding * row,
                  outer.mask())};
}

RC_GTEST_PROP(CompareMaps, AgreesWithEnumeration, ()) {
  for (int i = 0; i < 30; ++i) {
    const Views one = model::any_stack(2);
    const View &inner = one.front(), &outer = one.back();
    if (one.size() != 2 || inner.nothing_valid() || outer.nothing_valid()) continue;
    fuzz::RandomChooser draws(*rc::gen::arbitrary<std::uint64_t>(), 0);
    Views other = one;
    if (draws.chance(1, 2)) {
      Mask mask = model::any_mask(draws, concrete(inner.shape()), 2);
      other[0] = View::strided(inner.shape(), inner.strides(), inner.offset(), mask);
      if (other[0].nothing_valid()) continue;
    }
    if (draws.chance(1, 2))
      other =
          with_scaled_index(other, draws.between(1, 3), draws.between(0, 2), draws.between(-3, 3));
    else if (draws.chance(1, 2))
      other.insert(other.begin() + 1, View::contiguous({inner.size()}));
    const auto at = [&](const Views& views, const Ints& index) {
      std::optional<std::int64_t> k = views.back().at(index);
      for (std::size_t v = views.size() - 1; k && v-- > 0;)
        k = views[v].at(model::unravel(*k, concrete(views[v].shape())));
      return k;
    };
    bool same = true;
    const Ints shape = concrete(outer.shape());
    for (std::int64_t n = 0; n < model::count(shape); ++n)
      same = same && at(one, model::unravel(n, shape)) == at(other, model::unravel(n, shape));
    const auto compared = compare_maps(one, other);
    RC_ASSERT(compared.same == (same ? Truth::Yes : Truth::No));
    if (!same) RC_ASSERT(at(one, compared.different) != at(other, compared.different));
  }
}

}  // namespace
}  // namespace touchstone
