// Equality, hashes and text of views depend only on the canonical form.
#include <gtest/gtest.h>

#include <rapidcheck/gtest.h>

#include <map>

#include "chains.h"
#include "pairs.h"
#include "touchstone/shapetracker/merge/simplify.h"

namespace touchstone {
namespace {

using model::Ints;
using model::strided;

TEST(Canonical, WhatIsNeverReadDoesNotCount) {
  const View plain = strided({1, 3}, {0, 2}, 5);
  EXPECT_EQ(strided({1, 3}, {7, 2}, 5), plain);
  EXPECT_EQ(strided({1, 3}, {7, 2}, 5).hash(), plain.hash());
  EXPECT_EQ(strided({1, 3}, {0, 2}, 5, Mask{{0, 1}, {0, 3}}), plain);
  EXPECT_EQ(strided({4}, {3}, 1, Mask{{2, 3}}), strided({4}, {0}, 7, Mask{{2, 3}}));
  EXPECT_EQ(strided({4, 2}, {3, 1}, 1, Mask{{2, 2}, {0, 1}}),
            strided({4, 2}, {0, 0}, 0, Mask{{0, 0}, {0, 0}}));
  const sint n = symbolic::variable("n", 1, 10);
  EXPECT_EQ(View::strided({n}, {3}, 1, Mask{{n - 1, n}}),
            View::strided({n}, {0}, n * 3 - 2, Mask{{n - 1, n}}));
}

TEST(Canonical, TextTellsViewsApart) {
  EXPECT_EQ(strided({2}, {1}).str(), "View((2,), strides (1,), offset 0)");
  EXPECT_EQ(View().str(), "View((), strides (), offset 0)");
  EXPECT_EQ(strided({3, 2}, {1, 3}, -1, Mask{{1, 3}, {0, 2}}).str(),
            "View((3, 2), strides (1, 3), offset -1, mask ((1, 3), (0, 2)))");
  EXPECT_EQ(ShapeTracker({strided({4}, {1}), strided({3}, {0})}).str(),
            "ShapeTracker(View((4,), strides (1,), offset 0), View((3,), strides (0,), offset 0))");
}

// Few shapes and small numbers, so that many views are the same function.
View small_view(fuzz::Chooser& draws) {
  const Ints shape = draws.chance(1, 2) ? Ints{2, 2} : Ints{1, 3};
  const Ints strides = {draws.between(0, 2), draws.between(0, 2)};
  return strided(shape, strides, draws.between(0, 1), model::any_mask(draws, shape, 2));
}

RC_GTEST_PROP(Canonical, EqualMeansTheSameFunctionTheSameHashAndTheSameText, ()) {
  fuzz::RandomChooser draws(*rc::gen::arbitrary<std::uint64_t>(), 0);
  const View a = small_view(draws), b = small_view(draws);
  const bool same = model::materialise(a) == model::materialise(b);
  RC_ASSERT((a == b) == same);
  RC_ASSERT((a.str() == b.str()) == same);
  RC_ASSERT((a.hash() == b.hash()) == same);  // no collisions among so few views
  RC_ASSERT(model::only_view(model::materialise(a)) == a);
}

RC_GTEST_PROP(Canonical, BindingGivesTheCanonicalView, ()) {
  const testing::VariableChain chain = *rc::gen::arbitrary<testing::VariableChain>();
  const View view = model::stack_of(chain).back();
  for (const symbolic::Values& values : chain.all_values()) {
    const View bound = view.bind(values);
    RC_ASSERT(model::only_view(model::materialise(bound)) == bound);
  }
}

RC_GTEST_PROP(Canonical, TrackersOfOneViewAreEqualWhereTheyReadTheSame, ()) {
  const model::Chain chain = model::any_chain(model::of_length(model::kEveryday, 1, 5));
  const ShapeTracker simple = simplify(chain.tracker);
  const std::optional<View> only = model::only_view(chain.array);
  RC_ASSERT(only.has_value() == (simple.views().size() == 1));
  if (!only) return;
  RC_ASSERT(simple == ShapeTracker({*only}));
  RC_ASSERT(simple.hash() == ShapeTracker({*only}).hash());
  RC_ASSERT(simple.str() == ShapeTracker({*only}).str());
}

}  // namespace
}  // namespace touchstone
