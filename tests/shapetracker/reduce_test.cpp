// Stacks become no longer than they must, and say what they said.
#include "touchstone/shapetracker/reduce.h"

#include <gtest/gtest.h>

#include <rapidcheck/gtest.h>

#include "chains.h"
#include "greedy.h"
#include "touchstone/shapetracker/same_map.h"
#include "touchstone/shapetracker/simplify.h"

namespace touchstone {
namespace {

using model::Draws;
using model::Ints;
using model::materialise;
using model::strided;
using shapetracker::compare_maps;
using shapetracker::MergeSearch;
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

// Axes 0 and 1 part after the first view, axes 2 and 3 after the second: no run is one view.
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

// The same with one of them flipped and cut, so that its digits begin within a turn.
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
    Draws draws(*model::any_draws());
    const model::Chain chain = model::any_chain(draws, model::kReshapeOp, 2, 8, model::Keep::All);
    const Views& views = chain.tracker.views();
    const Views fewest = shapetracker::reduce_stack(views);
    if (materialise(ShapeTracker(fewest)) != chain.array) RC_FAIL("reduced:" + chain.story);
    RC_ASSERT(fewest.size() <= model::merge_last_two(views).size());
    RC_ASSERT(fewest.size() <= model::merge_neighbours(views).size());
    RC_ASSERT(shapetracker::reduce_stack(fewest) == fewest);
  }
}

// 200 views of which no two neighbours are one.
TEST(Reduce, ALongStackTakesNoLongTime) {
  Views views;
  for (int i = 0; i < 200; ++i) views.push_back(strided({7, 11, 13}, {1, 7, 77}));
  const Views fewest = reduced(views);
  EXPECT_GT(fewest.size(), 50U);
  EXPECT_LE(fewest.size(), 200U);
}

RC_GTEST_PROP(CompareMaps, AgreesWithEnumeration, ()) {
  for (int i = 0; i < 30; ++i) {
    Draws draws(*model::any_draws(160));
    const View inner = model::any_inner(draws);
    const View outer = model::any_outer(draws, inner);
    if (inner.nothing_valid() || outer.nothing_valid()) continue;
    const Views one = {inner, outer};
    Views other = one;
    if (draws.one_in(2)) {
      Mask mask = model::any_mask(draws, concrete(inner.shape()), 2);
      other[0] = View::strided(inner.shape(), inner.strides(), inner.offset(), mask);
      if (other[0].nothing_valid()) continue;
    }
    if (draws.one_in(2)) other.insert(other.begin() + 1, View::contiguous({inner.size()}));
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
