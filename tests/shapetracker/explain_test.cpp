// Every merge explanation is tested by a checker that only evaluates views.
#include "touchstone/shapetracker/merge/explain.h"

#include <gtest/gtest.h>

#include <rapidcheck/gtest.h>

#include "chains.h"
#include "pairs.h"
#include "touchstone/shapetracker/ask/check.h"

namespace touchstone {
namespace {

using model::Ints;
using model::strided;
using shapetracker::check;
using shapetracker::check_view;
using shapetracker::check_witness;
using shapetracker::explain_merge;
using shapetracker::Explanation;
using shapetracker::merge_stack;
using shapetracker::MergeAnswer;
using shapetracker::Witness;
using Stack = std::vector<View>;

std::size_t most_points(const Stack& stack, const Witness& witness) {
  const auto rank = static_cast<std::size_t>(stack.back().rank());
  return witness.kind == Witness::Kind::Hole ? 2 * rank + 1 : 4;
}

void require_checked(const Stack& stack, const Explanation& why) {
  const auto checked = check(stack, why);
  if (!checked.accepted)
    RC_FAIL(fmt::format("{} on {}: {}; {}", stack.back().str(), stack.front().str(), why.str(),
                        checked.text));
  if (why.witness && why.witness->points.size() > most_points(stack, *why.witness))
    RC_FAIL("too many points: " + why.str());
}

RC_GTEST_PROP(Explain, EveryAnswerPassesTheChecker, ()) {
  for (int i = 0; i < 60; ++i) {
    const Stack stack = model::any_stack(2);
    const Explanation why = explain_merge(stack);
    require_checked(stack, why);
    RC_ASSERT(why.result.view == merge_stack(stack).view);
    RC_ASSERT(why.result.answer != MergeAnswer::OverBudget);
    // The same, by bit sets alone.
    const Explanation by_bits = explain_merge(stack, {0, 1000, 0, 0, 0});
    RC_ASSERT(by_bits.result.view == why.result.view);
    RC_ASSERT(by_bits.result.answer == why.result.answer);
    require_checked(stack, by_bits);
    // Point by point.
    const Explanation by_points = explain_merge(stack, {0, 0, 0, 0, 1000});
    RC_ASSERT(by_points.result.by_points == (by_bits.result.by_bits));
    RC_ASSERT(by_points.result.view == why.result.view);
    RC_ASSERT(by_points.result.answer == why.result.answer);
    require_checked(stack, by_points);
    // By lists of sums, if applicable.
    const Explanation by_sums = explain_merge(stack, {0, 0, 1000, 0, 0});
    if (by_sums.result.answer == MergeAnswer::OverBudget) continue;
    RC_ASSERT(by_sums.result.view == why.result.view);
    require_checked(stack, by_sums);
    // A merge decided beyond boxes is not decided twice.
    RC_ASSERT(explain_merge(stack, merge_stack(stack, {0, 0, 1000, 0, 0})).str() == by_sums.str());
  }
}

RC_GTEST_PROP(Explain, StacksOfThreeToo, ()) {
  for (int i = 0; i < 40; ++i) {
    const Stack stack = model::any_stack(3);
    require_checked(stack, explain_merge(stack));
  }
}

std::string reason_of(const Stack& stack) {
  const Explanation why = explain_merge(stack);
  EXPECT_TRUE(check(stack, why).accepted) << why.str();
  return why.reason ? shapetracker::name(*why.reason) : "none";
}

TEST(Explain, NamesTheClassOfAMerge) {
  EXPECT_EQ(reason_of({View::contiguous({4})}), "one view");
  EXPECT_EQ(reason_of({View::contiguous({2, 6}), View::contiguous({4, 3})}), "coalesced");
  EXPECT_EQ(reason_of({strided({2, 6}, {1, 2}), View::contiguous({2, 3, 2})}), "level-affine");
  const View rows = strided({3, 4}, {10, 1}, 0, Mask{{0, 3}, {0, 2}});
  EXPECT_EQ(reason_of({rows, strided({2}, {9})}), "masked");
  EXPECT_EQ(reason_of({rows, strided({2}, {1}, 2)}), "empty");
  EXPECT_EQ(reason_of({strided({2, 4, 3}, {-3, -1, 0}, 20), strided({2, 2}, {10, 2})}),
            "carry-cancel");
}

std::string why_not(const Stack& stack) {
  const Explanation why = explain_merge(stack);
  EXPECT_TRUE(why.witness && check_witness(stack, *why.witness).accepted) << why.str();
  return why.str();
}

TEST(Explain, AWitnessIsPlainNumbers) {
  EXPECT_EQ(why_not({strided({2, 3}, {1, 2}), View::contiguous({6})}),
            "no single view: the address changes differently from (0) to (1) than from (2) to (3)");
  const View rows = strided({3, 4}, {10, 1}, 0, Mask{{0, 3}, {0, 2}});
  EXPECT_EQ(why_not({rows, View::contiguous({12})}),
            "no single view: (3) is padding although it lies between (0), (9), which are not");
  const View nothing = strided({2}, {0}, 0, Mask{{0, 0}});
  EXPECT_EQ(why_not({nothing, View()}),
            "no single view: the only point is padding, and a view of rank 0 has no axis to mask");
}

TEST(Explain, AViewBeyond64BitsIsNone) {
  // Addresses 0 and 2^61 at indices 6 and 7: the offset would be -6 * 2^61.
  const std::int64_t big = std::int64_t{1} << 61;
  EXPECT_EQ(
      why_not({strided({2}, {big}), strided({8}, {1}, -6, Mask{{6, 8}})}),
      "no single view: the view that fits around (6) has an offset or a stride beyond 64 bits");
}

TEST(Explain, TheCheckerRefusesWhatIsNotShown) {
  const Stack stack = {strided({2, 3}, {1, 2}), View::contiguous({6})};
  using Kind = Witness::Kind;
  const auto accepts = [&](Kind kind, std::vector<Ints> points) {
    return check_witness(stack, {kind, std::move(points)}).accepted;
  };
  EXPECT_TRUE(accepts(Kind::Bend, {{0}, {1}, {2}, {3}}));
  EXPECT_FALSE(accepts(Kind::Bend, {{0}, {1}, {1}, {2}}));  // equal points
  EXPECT_FALSE(accepts(Kind::Bend, {{0}, {1}, {2}, {4}}));  // steps of 1 and 2
  EXPECT_FALSE(accepts(Kind::Bend, {{0}, {1}, {2}}));       // one point missing
  EXPECT_FALSE(accepts(Kind::Bend, {{0}, {1}, {5}, {6}}));  // out of range
  EXPECT_FALSE(accepts(Kind::Hole, {{0}, {2}, {1}}));       // 1 is valid
  EXPECT_FALSE(accepts(Kind::NoAxis, {{}}));
  EXPECT_FALSE(accepts(Kind::TooFar, {{0}}));
  EXPECT_FALSE(accepts(Kind::Hole, {}));
  const Stack masked = {strided({6}, {1}, 0, Mask{{0, 3}}), View::contiguous({6})};
  EXPECT_FALSE(check_witness(masked, {Kind::Hole, {{0}, {2}, {4}}}).accepted);  // not the midpoint
  EXPECT_FALSE(check_witness(masked, {Kind::Hole, {{0}, {5}, {4}}}).accepted);  // 5 is not valid
  EXPECT_FALSE(check_view(stack, View::contiguous({6})).accepted);
  EXPECT_FALSE(check_view(stack, View::contiguous({2, 3})).accepted);
  EXPECT_FALSE(check_view(masked, View::contiguous({6})).accepted);
  EXPECT_FALSE(check(stack, {{MergeAnswer::NoSuchView, std::nullopt}, {}, {}}).accepted);
}

TEST(Explain, OverTheBudgetClaimsNothing) {
  const Stack stack = model::subset_sum({3, 34, 4, 12, 5, 2, 21, 55}, 31);
  const Explanation why = explain_merge(stack, {3, 0, 0, 0, 0});
  EXPECT_EQ(why.str(), "over budget: not decided after 4 boxes");
  EXPECT_EQ(why.witness, std::nullopt);
  EXPECT_FALSE(check(stack, why).complete);
}

TEST(Explain, BitsDecideWhatBoxesDoNot) {
  const Ints parts = {3, 34, 4, 12, 5, 2, 21, 55};
  for (std::int64_t wanted = 1; wanted < 136; wanted += 3) {
    const Stack stack = model::subset_sum(parts, wanted);
    const Explanation why = explain_merge(stack, {1, 1000, 0, 0, 0});
    EXPECT_TRUE(why.result.by_bits);
    EXPECT_EQ(why.result.answer, merge_stack(stack).answer);
    EXPECT_TRUE(check(stack, why).accepted) << why.str();
  }
}

}  // namespace
}  // namespace touchstone
