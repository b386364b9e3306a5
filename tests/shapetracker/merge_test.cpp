#include "touchstone/shapetracker/merge/merge.h"

#include <gtest/gtest.h>

#include <rapidcheck/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "../support/traced_draws.h"
#include "chains.h"
#include "errors.h"
#include "pairs.h"
#include "touchstone/shapetracker/ask/check.h"
#include "touchstone/shapetracker/merge/explain.h"
#include "touchstone/shapetracker/merge/simplify.h"

namespace touchstone {
namespace {

using model::any_mask;
using model::Ints;
using model::merge_by_enumeration;
using model::strided;
using model::subset_sum;
using shapetracker::merge_stack;
using shapetracker::MergeAnswer;

RC_GTEST_PROP(Merge, FindsExactlyTheViewsThatExist, ()) {
  for (int i = 0; i < 60; ++i) {
    const std::vector<View> stack = model::any_stack(2);
    const View &inner = stack.front(), &outer = stack.back();
    const auto found = merge(inner, outer);
    const auto wanted = merge_by_enumeration(inner, outer);
    if (found != wanted)
      RC_FAIL(fmt::format("{} on {}: found {}, wanted {}", outer.str(), inner.str(),
                          found ? found->str() : "none", wanted ? wanted->str() : "none"));
  }
}

// One in 97 of the pairs of an unmasked inner view of shape (2..3)^3 with strides -1..2 and an
// outer one of shape (2, 2, 2) with strides -5..5: small, but with every kind of carry relation.
TEST(Merge, ASliceOfTheSmallUniverse) {
  std::int64_t pairs = 0, merged = 0;
  for (std::int64_t code = 0; code < 8 * 64 * 1331; code += 97) {
    std::int64_t rest = code;
    const auto digit = [&](std::int64_t n) {
      const std::int64_t value = rest % n;
      rest /= n;
      return value;
    };
    Ints shape, strides, steps;
    for (int i = 0; i < 3; ++i) shape.push_back(2 + digit(2));
    for (int i = 0; i < 3; ++i) strides.push_back(digit(4) - 1);
    std::int64_t low = 0, high = 0;
    for (int i = 0; i < 3; ++i) {
      steps.push_back(digit(11) - 5);
      (steps.back() < 0 ? low : high) += steps.back();
    }
    const View inner = strided(shape, strides, 60);
    for (std::int64_t offset = -low; offset + high < model::count(shape); ++offset) {
      const View outer = strided({2, 2, 2}, steps, offset);
      const auto found = merge(inner, outer);
      ASSERT_EQ(found, merge_by_enumeration(inner, outer)) << outer.str() << " on " << inner.str();
      ++pairs;
      merged += found.has_value();
    }
  }
  EXPECT_GT(pairs, 20000);
  EXPECT_GT(merged, 3000);
  EXPECT_LT(merged, pairs / 2);
}

TEST(Merge, DecidesSubsetSums) {
  const Ints parts = {3, 34, 4, 12, 5, 2, 21, 55};
  for (std::int64_t wanted = 1; wanted < 136; ++wanted) {
    bool solvable = false;
    for (unsigned subset = 0; subset < 256; ++subset) {
      std::int64_t sum = 0;
      for (std::size_t i = 0; i < parts.size(); ++i)
        if (subset >> i & 1U) sum += parts[i];
      solvable = solvable || sum == wanted;
    }
    const auto result = merge_stack(subset_sum(parts, wanted));
    EXPECT_EQ(result.answer, solvable ? MergeAnswer::NoSuchView : MergeAnswer::Merged) << wanted;
    EXPECT_EQ(result.view && result.view->nothing_valid(), !solvable) << wanted;
  }
}

// Whether some of the parts sum to `wanted`; combines all sums of each half.
bool subset_exists(const Ints& parts, std::int64_t wanted) {
  std::vector<std::set<std::int64_t>> sums(2, {0});
  for (std::size_t i = 0; i < parts.size(); ++i) {
    std::set<std::int64_t>& half = sums[i % 2];
    for (const std::int64_t sum : std::vector(half.begin(), half.end()))
      half.insert(sum + parts[i]);
  }
  return std::ranges::any_of(sums[0],
                             [&](std::int64_t sum) { return sums[1].contains(wanted - sum); });
}

// Too many subsets for boxes, too large numbers for bit sets.
TEST(Merge, DecidesSubsetSumsOfLargeNumbers) {
  test::TracedDraws random(3);
  int solvable = 0, by_sums = 0;
  for (int i = 0; i < 40; ++i) {
    Ints parts;
    std::int64_t wanted = 0;
    const std::uint64_t most = i % 2 == 0 ? 30'000 : 1'000'000'000'000;
    for (int n = 18 + i % 9; n > 0; --n) {
      parts.push_back(static_cast<std::int64_t>(random.below(most)) + 1);
      if (random.chance(1, 2)) wanted += parts.back();
    }
    if (i % 3 != 0) wanted += static_cast<std::int64_t>(random.below(most)) - 1;
    const auto result = merge_stack(subset_sum(parts, wanted));
    const bool exists = subset_exists(parts, wanted);
    EXPECT_EQ(result.answer, exists ? MergeAnswer::NoSuchView : MergeAnswer::Merged) << i;
    solvable += exists;
    by_sums += result.by_sums;
  }
  EXPECT_GT(solvable, 10);
  EXPECT_LT(solvable, 30);
  EXPECT_GT(by_sums, 10);
}

// Every second element masked in rows of 2^40: the mask repeats.
TEST(Merge, SumsAreMetModuloTheRow) {
  const std::int64_t row = std::int64_t{1} << 40;
  test::TracedDraws random(4);
  for (const bool exists : {true, false}) {
    Ints parts, shape(20, 2);
    std::int64_t only = 1;
    for (int n = 0; n < 20; ++n) {
      parts.push_back(static_cast<std::int64_t>(random.below(1U << 30)) * 4 + (n % 2) * row);
      if (n % 3 == 0) only += parts.back() % row;
    }
    if (exists) --only;
    const View inner = strided({32, row}, {0, 1}, 0, Mask{{0, 32}, {only, only + 1}});
    const auto result = merge_stack(std::vector<View>{inner, strided(shape, parts)});
    EXPECT_EQ(result.view && result.view->nothing_valid(), !exists);
    EXPECT_NE(result.answer, MergeAnswer::OverBudget);
  }
}

// When boxes, sums and bits fail, up to 2^22 points decide.
TEST(Merge, PointsDecideWhatIsLeft) {
  test::TracedDraws random(7);
  for (const int count : {14, 18}) {
    Ints parts;
    std::int64_t wanted = 1;
    for (int i = 0; i < count; ++i) {
      parts.push_back(2 * random.between(1'000'000, 1'009'999));
      if (i % 2 == 1) wanted += parts.back();
    }
    const auto none = merge_stack(model::subset_sum_unmasked(parts, wanted));  // an odd sum
    EXPECT_EQ(none.answer, MergeAnswer::Merged);
    EXPECT_TRUE(none.by_points);
    const auto stack = model::subset_sum_unmasked(parts, wanted - 1);
    const auto some = shapetracker::explain_merge(stack);
    EXPECT_EQ(some.result.answer, MergeAnswer::NoSuchView);
    EXPECT_TRUE(shapetracker::check(stack, some).accepted);
  }
}

TEST(Merge, OverTheBudgetIsNotMerged) {
  const auto stack = subset_sum({3, 34, 4, 12, 5, 2, 21, 55}, 31);
  const auto result = merge_stack(stack, {3, 0, 0, 0, 0});
  EXPECT_EQ(result.answer, MergeAnswer::OverBudget);
  EXPECT_EQ(result.view, std::nullopt);
  EXPECT_GT(merge_stack(stack).nodes, 3);
}

TEST(Merge, CarriesThatCancelAreFound) {
  // Jumps of 1 and -1: neither floor is affine, but their sum is.
  const View inner = strided({2, 4, 3}, {-3, -1, 0}, 20);
  std::int64_t merged = 0;
  for (std::int64_t a = 1; a < 12; ++a)
    for (std::int64_t b = 1; a + b < 24; ++b) {
      const View outer = strided({2, 2}, {a, b});
      EXPECT_EQ(merge(inner, outer), merge_by_enumeration(inner, outer)) << outer.str();
      merged += merge(inner, outer).has_value();
    }
  EXPECT_GT(merged, 0);
}

TEST(Merge, AffineInsideTheValidBoxIsEnough) {
  // Rows of 4 with columns 0 and 1 valid; every third element from 0 to 9 leaves 0 and 9.
  const View inner = strided({3, 4}, {10, 1}, 0, Mask{{0, 3}, {0, 2}});
  const View outer = strided({2}, {9});
  EXPECT_EQ(merge(inner, outer), strided({2}, {21}));
  EXPECT_EQ(merge(inner, strided({4}, {3})), std::nullopt);
}

TEST(Merge, NothingValidMergesWithAnything) {
  const View nothing = strided({2, 3}, {0, 0}, 0, Mask{{0, 0}, {0, 0}});
  EXPECT_TRUE(merge(nothing, View::contiguous({3, 2}))->nothing_valid());
  EXPECT_EQ(merge(View::contiguous({9}), nothing), nothing);
  EXPECT_EQ(merge(nothing, View()), std::nullopt);  // rank 0 cannot be masked
  EXPECT_EQ(merge(View::contiguous({0}), View::contiguous({3, 0})), View::contiguous({3, 0}));
}

TEST(Merge, LargeSizes) {
  const std::int64_t big = std::int64_t{1} << 61;
  const View reversed = strided({big}, {-1}, big - 1);
  EXPECT_EQ(merge(reversed, reversed), strided({big}, {1}));
  EXPECT_EQ(merge(reversed, View::contiguous({big / 8, 8})),
            strided({big / 8, 8}, {-8, -1}, big - 1));
  const View swapped = strided({big / 8, 8}, {1, big / 8});
  EXPECT_EQ(merge(swapped, View::contiguous({big})), std::nullopt);
  EXPECT_EQ(merge(swapped, View::contiguous({big / 16, 2, 4, 2})),
            strided({big / 16, 2, 4, 2}, {2, 1, big / 4, big / 8}));
  const View padded = strided({big}, {1}, -5, Mask{{5, big - 5}});
  EXPECT_EQ(merge(padded, View::contiguous({2, big / 2})), std::nullopt);
  EXPECT_EQ(merge(padded, strided({big - 10}, {1}, 5)), View::contiguous({big - 10}));
}

TEST(Merge, MalformedStacksAreRejected) {
  const View six = strided({2, 3}, {1, 2});
  expect_error<ShapeError>([&] { merge(six, View::contiguous({7})); },
                           {"addresses 0 to 6", "6 elements", "mask or shrink"});
  expect_error<ShapeError>([&] { merge(six, strided({2}, {-1})); }, {"-1 to 0"});
  expect_error<ShapeError>([&] { merge(View::contiguous({6}), View::contiguous({7})); },
                           {"addresses 0 to 6"});
  expect_error<ShapeError>([] { merge_stack({}); }, {"no views"});
  const std::vector<View> symbolic = {six, View::contiguous({symbolic::variable("n", 1, 6)})};
  expect_error<ShapeError>([&] { merge_stack(symbolic); }, {"variables", "bind"});
}

// Too many elements to test each: merged views must agree at corners and random points.
RC_GTEST_PROP(Merge, LargePairsAgreeAtSamples, ()) {
  fuzz::RandomChooser draws(*rc::gen::arbitrary<std::uint64_t>(), 0);
  Ints shape, strides;
  std::int64_t weight = 1;
  for (std::int64_t i = draws.between(1, 4); i > 0; --i) {
    shape.push_back(draws.between(1, 40) * draws.between(1, 40));
    strides.push_back(draws.chance(1, 3) ? -weight : weight);
    weight *= shape.back();
  }
  const View inner = strided(shape, strides, weight, any_mask(draws, shape, 3));
  Ints wanted;
  for (std::int64_t rest = weight; rest > 1;) {
    const std::int64_t want = draws.between(2, 60);
    const std::int64_t size = rest % want == 0 ? want : rest % 7 == 0 ? 7 : std::gcd(rest, want);
    wanted.push_back(size == 1 ? rest : size);
    rest /= wanted.back();
  }
  View outer = View::contiguous(model::to_shape(wanted));
  Mask keep;
  for (const std::int64_t size : wanted)
    keep.emplace_back(draws.chance(1, 3) ? size / 3 : 0,
                      draws.chance(1, 3) ? size - size / 3 : size);
  outer = outer.shrink(keep);
  const std::vector<View> stack = {inner, outer};
  const auto result = merge_stack(stack);
  if (!result.view) return;
  const Ints extents = concrete(outer.shape());
  for (int i = 0; i < 30; ++i) {
    Ints index;
    for (const std::int64_t size : extents)
      index.push_back(draws.chance(1, 2) ? draws.between(0, size - 1)
                                         : draws.between(0, 1) * (size - 1));
    const auto k = outer.at(index);
    const auto address = k ? inner.at(model::unravel(*k, shape)) : std::nullopt;
    if (result.view->at(index) != address)
      RC_FAIL(fmt::format("{} on {} is not {}", outer.str(), inner.str(), result.view->str()));
  }
}

}  // namespace
}  // namespace touchstone
