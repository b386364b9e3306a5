#include "touchstone/shapetracker/view/view.h"

#include <gtest/gtest.h>

#include <unordered_set>

#include "errors.h"
#include "model.h"
#include "touchstone/shapetracker/merge/simplify.h"

namespace touchstone {
namespace {

using model::Ints;

constexpr std::int64_t kHuge = std::int64_t{1} << 62;

TEST(View, ContiguousIsRowMajor) {
  EXPECT_EQ(View::contiguous({2, 3, 4}).str(), "View((2, 3, 4), strides (12, 4, 1), offset 0)");
  EXPECT_EQ(View::contiguous({5}).str(), "View((5,), strides (1,), offset 0)");
  EXPECT_EQ(View::contiguous({}), View());
  EXPECT_EQ(View().at({}), 0);
}

TEST(View, AnAxisOfOneHasNoStride) {
  EXPECT_EQ(View::contiguous({3, 1, 2}).strides(), (Strides{2, 0, 1}));
  EXPECT_EQ(View::strided({1, 2}, {7, 1}, 3), View::strided({1, 2}, {0, 1}, 3));
}

TEST(View, AFullMaskIsAbsent) {
  EXPECT_EQ(View::strided({2, 3}, {3, 1}, 0, Mask{{0, 2}, {0, 3}}), View::contiguous({2, 3}));
}

TEST(View, AnAxisWithOneValidIndexHasItsStrideInTheOffset) {
  const View view = View::strided({4, 3}, {5, 1}, 2, Mask{{2, 3}, {0, 3}});
  EXPECT_EQ(view.strides(), (Strides{0, 1}));
  EXPECT_EQ(view.offset(), sint(12));
  EXPECT_EQ(view.at(Ints{2, 1}), 13);
  EXPECT_EQ(view.at(Ints{1, 1}), std::nullopt);
}

TEST(View, NothingValidIsOneView) {
  const View empty = View::strided({2, 3}, {0, 0}, 0, Mask{{0, 0}, {0, 0}});
  EXPECT_TRUE(empty.nothing_valid());
  EXPECT_EQ(View::strided({2, 3}, {3, 1}, 9, Mask{{1, 1}, {0, 3}}), empty);
  EXPECT_EQ(View::contiguous({4, 3}).pad(Padding{{2, 0}, {0, 0}}).shrink(Mask{{0, 2}, {0, 3}}),
            empty);
  EXPECT_EQ(empty.at(Ints{0, 0}), std::nullopt);
}

TEST(View, AnAxisOfSizeZeroIsContiguousAndHoldsNothing) {
  const View view = View::strided({2, 0, 3}, {7, 1, -1}, 4);
  EXPECT_EQ(view, View::contiguous({2, 0, 3}));
  EXPECT_TRUE(view.is_contiguous());
  EXPECT_TRUE(view.nothing_valid());
  EXPECT_EQ(view.size(), sint(0));
  EXPECT_EQ(View::contiguous({kHuge, kHuge, 0}).size(), sint(0));
}

TEST(View, MovementOperations) {
  const View view = View::contiguous({2, 3});
  EXPECT_EQ(view.permute(std::vector{1, 0}), View::strided({3, 2}, {1, 3}));
  EXPECT_EQ(view.pad(Padding{{1, 0}, {0, 2}}),
            View::strided({3, 5}, {3, 1}, -3, Mask{{1, 3}, {0, 3}}));
  EXPECT_EQ(view.shrink(Mask{{1, 2}, {1, 3}}), View::strided({1, 2}, {0, 1}, 4));
  EXPECT_EQ(view.stride(Ints{1, -2}), View::strided({2, 2}, {3, -2}, 2));
  EXPECT_EQ(View::contiguous({2, 1}).expand({2, 4}), View::strided({2, 4}, {1, 0}));
}

TEST(View, FlipTurnsAxesRound) {
  const View view = View::contiguous({2, 3});
  EXPECT_EQ(view.flip(std::vector{1}), View::strided({2, 3}, {3, -1}, 2));
  EXPECT_EQ(view.flip(std::vector{1, 0}), View::strided({2, 3}, {-3, -1}, 5));
  EXPECT_EQ(view.flip(std::vector<int>()), view);
  EXPECT_EQ(view.pad(Padding{{0, 0}, {0, 1}}).flip(std::vector{1}),
            View::strided({2, 4}, {3, -1}, 3, Mask{{0, 2}, {1, 4}}));
  EXPECT_EQ(View().flip(std::vector<int>()), View());
  expect_error<ShapeError>([&] { view.flip(std::vector{2}); }, {"flip: (2)", "0 to 1"});
  expect_error<ShapeError>([&] { view.flip(std::vector{-1}); }, {"flip: (-1)"});
  expect_error<ShapeError>([&] { view.flip(std::vector{0, 0}); }, {"(0, 0)", "each once"});
}

TEST(View, MinifyLeavesTheFewestAxes) {
  EXPECT_EQ(View::contiguous({2, 3, 1, 4}).minify(), View::contiguous({24}));
  EXPECT_EQ(View().minify(), View());
  EXPECT_EQ(View::contiguous({1, 1}).minify(), View());
  EXPECT_EQ(View::strided({2, 3, 4}, {4, 8, 1}).minify(), View::strided({2, 3, 4}, {4, 8, 1}));
  EXPECT_EQ(View::strided({5, 2, 3, 4}, {0, 12, 4, 1}).minify(), View::strided({5, 24}, {0, 1}));
  EXPECT_EQ(View::strided({5, 2, 3}, {0, 0, 0}, 7).minify(), View::strided({30}, {0}, 7));
  EXPECT_EQ(View::strided({4, 3}, {3, 1}, -3, Mask{{1, 3}, {0, 3}}).minify(),
            View::strided({12}, {1}, -3, Mask{{3, 9}}));
  EXPECT_EQ(View::contiguous({0, 3}).minify(), View::contiguous({0}));
  EXPECT_EQ(View::strided({2, 3}, {0, 0}, 0, Mask{{0, 0}, {0, 0}}).minify(),
            View::strided({6}, {0}, 0, Mask{{0, 0}}));
}

TEST(View, ConsecutiveIsRowMajorAtAnyOffset) {
  EXPECT_TRUE(View::strided({2, 3}, {3, 1}, 7).consecutive());
  EXPECT_FALSE(View::strided({2, 3}, {3, 1}, 7).is_contiguous());
  EXPECT_TRUE(View().consecutive());
  EXPECT_TRUE(View::contiguous({0, 3}).consecutive());
  EXPECT_FALSE(View::strided({2, 3}, {4, 1}).consecutive());
  EXPECT_FALSE(View::strided({3}, {1}, -1, Mask{{1, 3}}).consecutive());
}

TEST(View, ShrinkAndPadUndoEachOtherInsideTheView) {
  const View view = View::contiguous({4, 5});
  EXPECT_EQ(view.pad(Padding{{1, 2}, {3, 0}}).shrink(Mask{{1, 5}, {3, 8}}), view);
}

TEST(View, StrideOfAMaskRoundsItInwards) {
  // Indices 0..6, valid 1..5; every second: 0 2 4 6, valid 2 and 4.
  const View view = View::contiguous({5}).pad(Padding{{1, 1}});
  EXPECT_EQ(view.stride(Ints{2}), View::strided({4}, {2}, -1, Mask{{1, 3}}));
  EXPECT_EQ(view.stride(Ints{-3}), View::strided({3}, {0}, 2, Mask{{1, 2}}));
}

TEST(View, ExpandOfAMaskedAxisKeepsItAllOrNothing) {
  const View row = View::contiguous({1, 3}).pad(Padding{{0, 0}, {1, 1}});
  EXPECT_EQ(row.expand({2, 5}), View::strided({2, 5}, {0, 1}, -1, Mask{{0, 2}, {1, 4}}));
  EXPECT_TRUE(row.shrink(Mask{{0, 1}, {0, 1}}).expand({3, 1}).nothing_valid());
  EXPECT_TRUE(View::contiguous({1, 3}).expand({0, 3}).nothing_valid());
}

TEST(View, ReshapeKeepsOneViewWhereOneCanSayIt) {
  const View swapped = View::contiguous({2, 3, 4}).permute(std::vector{1, 0, 2});
  EXPECT_EQ(swapped.reshape({3, 2, 2, 2}), View::strided({3, 2, 2, 2}, {4, 12, 2, 1}));
  EXPECT_EQ(swapped.reshape({3, 8}), std::nullopt);
  EXPECT_EQ(swapped.reshape({3, 1, 2, 4, 1}), View::strided({3, 1, 2, 4, 1}, {4, 0, 12, 1, 0}));
  EXPECT_EQ(View::contiguous({6}).stride(Ints{-1}).reshape({2, 3}),
            View::strided({2, 3}, {-3, -1}, 5));
}

TEST(View, ReshapeOfAMaskNeedsTheValidElementsToBeABox) {
  const View padded = View::contiguous({2, 3}).pad(Padding{{1, 1}, {0, 0}});
  const auto reshape = [](const View& view, const Shape& shape) {
    return merge(view, View::contiguous(shape));
  };
  EXPECT_EQ(reshape(padded, {12}), View::strided({12}, {1}, -3, Mask{{3, 9}}));
  EXPECT_EQ(reshape(padded, {2, 2, 3}), std::nullopt);  // valid rows 1 and 2 straddle the halves
  EXPECT_EQ(reshape(padded, {6, 2}), std::nullopt);     // elements 3 to 8
  EXPECT_EQ(padded.reshape({4, 3, 1}),
            View::strided({4, 3, 1}, {3, 1, 0}, -3, Mask{{1, 3}, {0, 3}, {0, 1}}));
  // A size that the chunk does not divide: rows with 5 valid elements of 7 are no box.
  const View line = View::contiguous({5}).pad(Padding{{0, 7}});
  EXPECT_EQ(reshape(line, {3, 4}), std::nullopt);
  EXPECT_EQ(reshape(line, {2, 6}), View::strided({2, 6}, {0, 1}, 0, Mask{{0, 1}, {0, 5}}));
}

TEST(View, RankZeroCannotBeMasked) {
  const View hidden = View::contiguous({1}).pad(Padding{{1, 0}}).shrink(Mask{{0, 1}});
  EXPECT_TRUE(hidden.nothing_valid());
  EXPECT_EQ(hidden.reshape({}), std::nullopt);
  EXPECT_TRUE(hidden.reshape({1, 1})->nothing_valid());
}

TEST(View, EqualViewsHashAlike) {
  EXPECT_EQ(View::strided({1, 2}, {7, 1}).hash(), View::contiguous({1, 2}).hash());
  std::unordered_set<std::uint64_t> hashes;
  for (std::int64_t i = 0; i < 100; ++i) hashes.insert(View::strided({3, 4}, {i, 1}, i % 7).hash());
  EXPECT_EQ(hashes.size(), 100U);
}

TEST(View, ConstructionErrors) {
  expect_error<ShapeError>([] { View::contiguous({2, -3}); }, {"(2, -3)", "negative"});
  expect_error<ShapeError>([] { View::strided({2, 3}, {1}); }, {"(2, 3)", "1 strides", "each"});
  expect_error<ShapeError>([] { View::strided({2}, {1}, 0, Mask{}); }, {"0 mask ranges"});
  expect_error<ShapeError>(
      [] {
        View::strided({2}, {1}, 0, Mask{{0, 3}});
      },
      {"mask (0, 3)", "[0, 2)"});
  expect_error<ShapeError>([] { View::strided({2}, {1}, 0, Mask{{-1, 1}}); }, {"mask (-1, 1)"});
  expect_error<ShapeError>([] { View::strided({2}, {1}, 0, Mask{{2, 1}}); }, {"mask (2, 1)"});
}

TEST(View, MovementErrors) {
  const View view = View::contiguous({2, 3});
  expect_error<ShapeError>([&] { view.permute(std::vector{0}); },
                           {"permute", "1 entries", "(2, 3)"});
  expect_error<ShapeError>([&] { view.permute(std::vector{0, 0}); }, {"(0, 0)", "once"});
  expect_error<ShapeError>([&] { view.permute(std::vector{0, 2}); }, {"(0, 2)", "0 to 1"});
  expect_error<ShapeError>([&] { view.expand({2, 4}); }, {"axis 1", "size 1", "reshape"});
  expect_error<ShapeError>([&] { view.expand({2, -1}); }, {"axis 1", "negative"});
  expect_error<ShapeError>(
      [&] {
        view.pad(Padding{{0, 0}, {-1, 0}});
      },
      {"(-1, 0) on axis 1", "shrink"});
  expect_error<ShapeError>([&] { view.pad(Padding{}); }, {"pad", "0 entries"});
  expect_error<ShapeError>(
      [&] {
        view.shrink(Mask{{0, 2}, {2, 1}});
      },
      {"(2, 1) on axis 1", "begin <= end"});
  expect_error<ShapeError>([&] { view.shrink(Mask{{0, 2}, {0, 4}}); }, {"(0, 4) on axis 1", "pad"});
  expect_error<ShapeError>([&] { view.stride(Ints{0, 1}); }, {"step 0 on axis 0"});
  expect_error<ShapeError>([&] { view.stride(Ints{1, INT64_MIN}); }, {"axis 1", "64 bits"});
  expect_error<ShapeError>([&] { view.reshape({4}); }, {"(2, 3) has 6", "(4,) has 4", "agree"});
  expect_error<ShapeError>([&] { view.reshape({-2, -3}); }, {"(-2, -3)", "negative"});
  expect_error<ShapeError>([&] { view.at(Ints{0}); }, {"1 indices", "(2, 3)"});
  expect_error<ShapeError>([&] { view.at(Ints{0, 3}); }, {"index 3 of axis 1", "[0, 3)"});
}

TEST(View, NothingWrapsNearTheLimit) {
  expect_error<OverflowError>([] { View::contiguous({kHuge, 2}); }, {"64 bits"});
  expect_error<OverflowError>([] { elements(Shape{kHuge, kHuge}); }, {"64 bits can count"});
  expect_error<OverflowError>([] { View::strided({3}, {kHuge}, 0); }, {"address", "64 bits"});
  expect_error<OverflowError>([] { View::strided({3}, {-kHuge}, -1); }, {"address"});
  expect_error<OverflowError>([] { View::strided({2, 2}, {kHuge, kHuge}, 0); }, {"address"});
  expect_error<OverflowError>(
      [] {
        View::contiguous({kHuge}).pad(Padding{{kHuge, 0}});
      },
      {"fit in 64 bits"});
  const View repeated = View::contiguous({1, 1}).expand({kHuge, 2});
  EXPECT_EQ(repeated.at(Ints{kHuge - 1, 1}), 0);
  expect_error<OverflowError>([&] { repeated.size(); }, {"64 bits can count"});
  expect_error<OverflowError>([&] { repeated.reshape({2, kHuge}); }, {"64 bits"});
  const View large = View::contiguous({kHuge});
  EXPECT_EQ(large.at(Ints{kHuge - 1}), kHuge - 1);
  EXPECT_EQ(large.stride(Ints{-1}).at(Ints{0}), kHuge - 1);
  EXPECT_EQ(large.reshape({kHuge / 4, 4}), View::contiguous({kHuge / 4, 4}));
  EXPECT_EQ(large.stride(Ints{INT64_MAX}), View::contiguous({1}));
}

}  // namespace
}  // namespace touchstone
