// Stacks with variables as one view, for every value at once.
#include "touchstone/shapetracker/symbolic_merge.h"

#include <gtest/gtest.h>

#include <rapidcheck/gtest.h>

#include <chrono>
#include <cstdlib>
#include <random>

#include "errors.h"
#include "symbolic_pairs.h"
#include "touchstone/shapetracker/check.h"

namespace touchstone {
namespace {

using model::bound;
using model::Draws;
using model::v;
using model::w;
using shapetracker::check_witness;
using shapetracker::merge_stack;
using shapetracker::MergeAnswer;
using shapetracker::symbolic_merge;
using shapetracker::SymbolicResult;
using Order = std::vector<int>;

std::string merged(const View& inner, const View& outer) {
  const View stack[] = {inner, outer};
  return symbolic_merge(stack).str();
}

TEST(SymbolicMerge, JoinsAndSplitsAxes) {
  const View columns = View::contiguous({v(), 4, w()}).permute(Order{1, 0, 2});
  EXPECT_EQ(merged(columns, View::contiguous({2, 2, v(), w()})),
            "merged: View((2, 2, v, w), strides (w*2, w, w*4, 1), offset 0)");
  const View turned = View::contiguous({v(), w()}).stride(model::Ints{-1, -1});
  EXPECT_EQ(merged(turned, View::contiguous({v() * w()})),
            "merged: View((v*w,), strides (-1,), offset v*w - 1)");
}

TEST(SymbolicMerge, NeedsNoCommonFactors) {
  // Rows of a padded array: (v, 2w) of which the right half is read.
  const View rows = View::contiguous({v(), w() * 2});
  const View right = View::strided({v(), w()}, {w() * 2, 1}, w());
  EXPECT_EQ(merged(rows, right), "merged: View((v, w), strides (w*2, 1), offset w)");
  EXPECT_EQ(merged(rows.stride(model::Ints{-1, 1}), right),
            "merged: View((v, w), strides (w*-2, 1), offset w*(v*2 - 1))");
}

std::vector<View> any_pair_from(std::mt19937& random) {
  std::vector<int> numbers(120);
  for (int& number : numbers) number = static_cast<int>(random() % (27720U * 7));
  Draws draws(std::move(numbers));
  return model::any_symbolic_pair(draws);
}

/// What became of some pairs. Everything is held against every element at every value.
struct Counts {
  int pairs = 0, mergeable = 0, proved = 0, refuted = 0, left = 0;
  double seconds = 0;
};

void count(const std::vector<View>& pair, Counts& counts) {
  const auto start = std::chrono::steady_clock::now();
  const SymbolicResult result = symbolic_merge(pair);
  counts.seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  ++counts.pairs;
  bool mergeable = true;
  model::each_value([&](const symbolic::Values& values) {
    const std::vector<View> stack = bound(pair, values);
    mergeable = mergeable && merge_stack(stack).answer == MergeAnswer::Merged;
    if (result.view) {
      ASSERT_TRUE(model::same_everywhere(stack, result.view->bind(values)))
          << pair[0].str() << " " << pair[1].str() << ": " << result.str();
    }
  });
  counts.mergeable += mergeable;
  counts.proved += result.answer == MergeAnswer::Merged;
  counts.refuted += result.answer == MergeAnswer::NoSuchView;
  if (result.answer == MergeAnswer::NoSuchView) {
    ASSERT_FALSE(mergeable) << result.str();
    const auto check = check_witness(bound(pair, result.values), *result.witness);
    ASSERT_TRUE(check.accepted) << result.str() << check.text;
  }
  if (result.answer == MergeAnswer::OverBudget && mergeable) {
    ++counts.left;
    if (std::getenv("TOUCHSTONE_SHOW"))
      std::printf("%s | %s: %s\n", pair[0].str().c_str(), pair[1].str().c_str(),
                  result.str().c_str());
  }
}

TEST(DISABLED_Figures, OfSymbolicPairs) {
  std::mt19937 random(9);
  Counts counts;
  while (counts.pairs < 2400) count(any_pair_from(random), counts);
  std::printf("%d pairs, %d mergeable, %d proved, %d refuted, %d not proved; %.1f us a pair\n",
              counts.pairs, counts.mergeable, counts.proved, counts.refuted, counts.left,
              counts.seconds / counts.pairs * 1e6);
}

}  // namespace
}  // namespace touchstone
