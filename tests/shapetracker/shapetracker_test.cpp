#include "touchstone/shapetracker/view/shapetracker.h"

#include <gtest/gtest.h>

#include "errors.h"
#include "model.h"
#include "touchstone/shapetracker/ask/access.h"
#include "touchstone/shapetracker/index/index_expr.h"
#include "touchstone/shapetracker/invert/contraction.h"
#include "touchstone/shapetracker/merge/simplify.h"

namespace touchstone {
namespace {

using model::Ints;
using Groups = std::vector<std::vector<int>>;
using Order = std::vector<int>;

ShapeTracker transposed() { return ShapeTracker::contiguous({3, 4}).permute(Order{1, 0}); }

TEST(ShapeTracker, ReshapeOfATransposeNeedsASecondView) {
  const ShapeTracker flat = transposed().reshape({2, 6});
  EXPECT_EQ(flat.views().size(), 2U);
  EXPECT_EQ(flat.at(Ints{0, 4}), 5);  // element 4 of 0 4 8 1 5 9 2 6 10 3 7 11
}

TEST(ShapeTracker, ReshapeBackIsOneViewAgain) {
  EXPECT_EQ(merge_outermost(transposed().reshape({12}).reshape({4, 3})), transposed());
}

TEST(ShapeTracker, APaddedTransposeStaysOneView) {
  const ShapeTracker padded = transposed().pad(Padding{{1, 1}, {0, 2}});
  EXPECT_EQ(padded.views().size(), 1U);
  EXPECT_EQ(padded.at(Ints{1, 2}), 8);
  EXPECT_EQ(padded.at(Ints{0, 0}), std::nullopt);
}

// VIEWS: neither pair of neighbours merges, but the three are one view.
TEST(ShapeTracker, ARunOfThreeViewsMayBeOneThoughNoTwoAre) {
  const ShapeTracker start = ShapeTracker::contiguous({3, 2}).permute(Order{1, 0});
  const ShapeTracker end = start.reshape({1, 2, 3})
                               .expand({4, 2, 3})
                               .reshape({2, 2, 6})
                               .permute(Order{1, 0, 2})
                               .reshape({4, 2, 3});
  const View expected = View::strided({4, 2, 3}, {0, 1, 2});
  EXPECT_EQ(merge_outermost(end).views(), std::vector{expected});
  const View views[] = {expected, View::strided({2, 2, 6}, {6, 12, 1}),
                        View::contiguous({4, 2, 3})};
  EXPECT_EQ(merge(views[0], views[1]), std::nullopt);
  EXPECT_EQ(merge(views[1], views[2]), std::nullopt);
  EXPECT_EQ(simplify(ShapeTracker({views[0], views[1], views[2]})), merge_outermost(end));
}

TEST(ShapeTracker, WhatReadsOnlyPaddingHasNothingValid) {
  const ShapeTracker hidden = ShapeTracker::contiguous({2, 2})
                                  .pad(Padding{{2, 0}, {0, 0}})
                                  .reshape({2, 4})
                                  .shrink(Mask{{0, 1}, {0, 4}});
  EXPECT_TRUE(hidden.nothing_valid());
  EXPECT_EQ(hidden.real_size(), 0);
  EXPECT_EQ(expr_idxs(hidden).valid, symbolic::Node(0));
  EXPECT_EQ(expr_idxs(hidden).index, symbolic::Node(0));
  EXPECT_EQ(real_strides(hidden), (std::vector<std::optional<sint>>{0, 0}));
  const ShapeTracker scalar = hidden.shrink(Mask{{0, 1}, {0, 1}}).reshape({});
  EXPECT_TRUE(scalar.nothing_valid());
  EXPECT_EQ(scalar.at({}), std::nullopt);
}

TEST(ShapeTracker, ExpressionsOfAxes) {
  const auto text = [](const ShapeTracker& tracker) {
    const IndexExpr expr = expr_idxs(tracker);
    return render(expr.index) + " if " + render(expr.valid);
  };
  EXPECT_EQ(text(ShapeTracker::contiguous({3, 4})), "idx0*4 + idx1 if 1");
  EXPECT_EQ(text(transposed()), "idx0 + idx1*4 if 1");
  EXPECT_EQ(text(ShapeTracker()), "0 if 1");
  EXPECT_EQ(text(ShapeTracker::contiguous({3, 1}).expand({3, 5})), "idx0 if 1");
  EXPECT_EQ(text(ShapeTracker::contiguous({0, 2})), "0 if 0");
  const IndexExpr flat = expr_node(transposed());  // idx%3*4 + idx//3, or shorter
  EXPECT_EQ(flat.valid, symbolic::Node(1));
  for (std::int64_t i = 0; i < 12; ++i)
    EXPECT_EQ(symbolic::evaluate(flat.index, {{"idx", i}}), i % 3 * 4 + i / 3);
  EXPECT_EQ(render(expr_node(ShapeTracker::contiguous({3, 4, 5})).index), "idx");
}

TEST(ShapeTracker, ExpressionsTakeIndicesFromOutside) {
  const symbolic::Node i = symbolic::variable("gid", 0, 11);
  const std::vector<symbolic::Node> indices = {floor_div(i, 3), floor_mod(i, 3)};
  const IndexExpr expr = expr_idxs(transposed(), indices);
  for (std::int64_t g = 0; g < 12; ++g)
    EXPECT_EQ(symbolic::evaluate(expr.index, {{"gid", g}}), transposed().at(Ints{g / 3, g % 3}));
  expect_error<ShapeError>([&] { expr_idxs(ShapeTracker::contiguous({2}), indices); },
                           {"2 indices", "(2,)"});
}

TEST(ShapeTracker, RealStrides) {
  using Strides = std::vector<std::optional<sint>>;
  const ShapeTracker padded = ShapeTracker::contiguous({3, 4}).pad(Padding{{1, 0}, {0, 0}});
  EXPECT_EQ(real_strides(padded), (Strides{std::nullopt, 1}));
  EXPECT_EQ(real_strides(padded, true), (Strides{4, 1}));
  EXPECT_TRUE(axis_is_masked(padded, 0));
  EXPECT_FALSE(axis_is_masked(padded, 1));
  EXPECT_EQ(unit_stride_axes(padded), (std::vector<int>{1}));
  EXPECT_EQ(unit_stride_axes(transposed()), (std::vector<int>{0}));
  // The address is idx0*2 + idx1%3*4 + idx1//3: only the first axis has a stride.
  EXPECT_EQ(real_strides(transposed().reshape({2, 6})), (Strides{2, std::nullopt}));
  EXPECT_EQ(real_strides(ShapeTracker::contiguous({1, 5}).expand({4, 5})), (Strides{0, 1}));
  expect_error<ShapeError>([&] { axis_is_masked(padded, 2); }, {"axis 2", "[0, 2)"});
}

TEST(ShapeTracker, RealOffsetIsWhereTheAddressesStart) {
  const ShapeTracker base = ShapeTracker::contiguous({4, 6});
  EXPECT_EQ(real_offset(base), sint(0));
  EXPECT_EQ(real_offset(base.shrink(Mask{{1, 3}, {2, 4}})), sint(8));
  EXPECT_EQ(real_offset(base.flip(std::vector{0, 1})), sint(23));
  EXPECT_EQ(real_offset(base.pad(Padding{{1, 0}, {2, 0}})), sint(-8));  // where nothing is valid
  EXPECT_EQ(real_offset(base.shrink(Mask{{1, 4}, {1, 4}}).reshape({9})), sint(7));
}

TEST(ShapeTracker, RealSizeIsTheReachOfValidElements) {
  const ShapeTracker square = ShapeTracker::contiguous({10, 10});
  EXPECT_EQ(square.real_size(), 100);
  EXPECT_EQ(square.pad(Padding{{2, 4}, {3, 1}}).real_size(), 100);
  EXPECT_EQ(square.shrink(Mask{{0, 3}, {0, 10}}).real_size(), 30);
  EXPECT_EQ(square.shrink(Mask{{9, 10}, {0, 2}}).real_size(), 92);
  EXPECT_EQ(square.stride(Ints{-1, -1}).real_size(), 100);
  EXPECT_EQ(ShapeTracker::contiguous({0, 4}).real_size(), 0);
  EXPECT_EQ(ShapeTracker().real_size(), 1);
}

TEST(ShapeTracker, AsStrided) {
  const ShapeTracker windows = ShapeTracker::contiguous({10}).as_strided({4, 3}, {2, 1}, 1);
  EXPECT_EQ(windows.views(), std::vector{View::strided({4, 3}, {2, 1}, 1)});
  // Indexes flat logical elements, not the buffer's.
  EXPECT_EQ(transposed().as_strided({3}, {1}, 0).at(Ints{1}), 4);
  expect_error<ShapeError>(
      [] {
        ShapeTracker::contiguous({10}).as_strided({4, 3}, {3, 1}, 0);
      },
      {"as_strided", "0 to 11", "[0, 10)"});
  expect_error<ShapeError>([] { ShapeTracker::contiguous({10}).as_strided({2}, {-1}, 0); },
                           {"-1 to 0"});
  EXPECT_TRUE(ShapeTracker::contiguous({0}).as_strided({0, 3}, {3, 1}, 5).nothing_valid());
}

TEST(ShapeTracker, FromAShapeAndStrides) {
  EXPECT_EQ(ShapeTracker::from_shape({2, 3}), ShapeTracker::contiguous({2, 3}));
  EXPECT_EQ(ShapeTracker::from_shape({2, 3}, {1, 2}),
            ShapeTracker({View::strided({2, 3}, {1, 2})}));
  expect_error<ShapeError>([] { ShapeTracker::from_shape({2, 3}, {1}); }, {"1 strides", "2 axes"});
  expect_error<ShapeError>([] { ShapeTracker::from_shape({2, 3}, {1, -1}); }, {"below the buffer"});
}

TEST(ShapeTracker, ConsecutiveOneView) {
  EXPECT_TRUE(ShapeTracker::contiguous({4, 6}).shrink(Mask{{1, 3}, {0, 6}}).consecutive());
  EXPECT_FALSE(ShapeTracker::contiguous({4, 6}).flip(std::vector{0}).consecutive());
  const ShapeTracker two =
      ShapeTracker::contiguous({2, 3}).permute(std::vector{1, 0}).reshape({6}).reshape({6, 1});
  EXPECT_FALSE(two.consecutive());
}

TEST(ShapeTracker, ComposeReadsOneTrackerThroughAnother) {
  const ShapeTracker twice = transposed() + ShapeTracker::contiguous({4, 3}).permute(Order{1, 0});
  EXPECT_EQ(merge_outermost(twice), ShapeTracker::contiguous({3, 4}));
  expect_error<ShapeError>([] { (void)(transposed() + ShapeTracker::contiguous({13})); },
                           {"compose", "0 to 12", "[0, 12)"});
}

TEST(ShapeTracker, AStackMustStayWithinItself) {
  const View six = View::contiguous({2, 3});
  EXPECT_EQ(simplify(ShapeTracker({six, View::contiguous({3, 2})})),
            ShapeTracker::contiguous({3, 2}));
  expect_error<ShapeError>([] { ShapeTracker(std::vector<View>{}); }, {"no views", "at least one"});
  expect_error<ShapeError>(
      [&] {
        ShapeTracker({six, View::contiguous({7})});
      },
      {"view 1", "0 to 6", "[0, 6)", "shrink or mask"});
  expect_error<ShapeError>([&] { ShapeTracker({six, View::strided({6}, {-1}, 4)}); }, {"-1 to 4"});
  expect_error<ShapeError>([] { ShapeTracker({View::strided({3}, {1}, -1)}); },
                           {"view 0", "address -1", "below the buffer"});
  // Outside the mask any address is allowed.
  const ShapeTracker masked({six, View::strided({8}, {1}, -1, Mask{{1, 7}})});
  EXPECT_EQ(masked.at(Ints{0}), std::nullopt);
  EXPECT_EQ(masked.at(Ints{1}), 0);
  EXPECT_EQ(masked.at(Ints{7}), std::nullopt);
}

TEST(ShapeTracker, Text) {
  EXPECT_EQ(ShapeTracker::contiguous({2}).pad(Padding{{1, 0}}).str(),
            "ShapeTracker(View((3,), strides (1,), offset -1, mask ((1, 3),)))");
}

TEST(Contraction, GroupsOldAxesByNewOnes) {
  const auto groups = [](const Shape& from, const Shape& to) { return get_contraction(from, to); };
  EXPECT_EQ(groups({2, 3, 4}, {6, 4}), (Groups{{0, 1}, {2}}));
  EXPECT_EQ(groups({1, 2, 3, 4}, {1, 6, 4}), (Groups{{}, {0, 1, 2}, {3}}));
  EXPECT_EQ(groups({2, 3}, {2, 3, 1}), (Groups{{0}, {1}, {}}));
  EXPECT_EQ(groups({2, 3, 4}, {24}), (Groups{{0, 1, 2}}));
  EXPECT_EQ(groups({2, 3, 4}, {4, 6}), std::nullopt);
  EXPECT_EQ(groups({2, 3}, {2}), std::nullopt);
  EXPECT_EQ(groups({0, 3}, {0, 3}), (Groups{{0}, {1}}));
  EXPECT_EQ(groups({2, 0}, {0, 2}), std::nullopt);
  EXPECT_EQ(groups({1, 1}, {}), Groups{});
  EXPECT_EQ(groups({}, {1, 1}), (Groups{{}, {}}));
}

}  // namespace
}  // namespace touchstone
