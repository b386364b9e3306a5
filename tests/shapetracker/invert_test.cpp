#include "touchstone/shapetracker/invert/invert.h"

#include <gtest/gtest.h>

#include <rapidcheck/gtest.h>

#include <set>

#include "chains.h"
#include "errors.h"
#include "pairs.h"
#include "touchstone/shapetracker/invert/invert_steps.h"

namespace touchstone {
namespace {

using model::Chain;
using model::Ints;
using model::materialise;
using Order = std::vector<int>;

/// Facts from the array: whether every address below the largest is read, and each once.
struct Facts {
  std::int64_t size = 0, valid = 0;
  bool onto = false;
};

Facts facts_of(const model::Array& array) {
  std::set<std::int64_t> read;
  Facts facts;
  for (const std::int64_t address : array.address) {
    if (address < 0) continue;
    ++facts.valid;
    read.insert(address);
  }
  facts.size = read.empty() ? 0 : *read.rbegin() + 1;
  facts.onto = std::ssize(read) == facts.size;
  return facts;
}

TEST(Invert, OneViewIsUndoneByOneView) {
  const View base = View::contiguous({2, 3, 4});
  const Shape shape = {2, 3, 4};
  EXPECT_EQ(invert(base, shape), base);
  EXPECT_EQ(invert(base.permute(Order{2, 0, 1}), shape), View::strided({2, 3, 4}, {3, 1, 6}));
  EXPECT_EQ(invert(base.flip(Order{1}), shape), base.flip(Order{1}));
  EXPECT_EQ(invert(base.pad(Padding{{1, 0}, {0, 0}, {0, 2}}), shape),
            View::strided({2, 3, 4}, {18, 6, 1}, 18));
  EXPECT_EQ(invert(base.permute(Order{2, 1, 0}), {24}), std::nullopt);  // takes two
  EXPECT_EQ(invert(base.shrink(Mask{{0, 2}, {0, 3}, {0, 3}}), shape), std::nullopt);
  EXPECT_EQ(invert(base, {2, 3}), std::nullopt);  // another buffer's shape
  EXPECT_EQ(invert(View::contiguous({1, 3}).expand({2, 3}), {3}), View::contiguous({3}));
}

// Any view against enumeration: a returned inverse is right, and one exists if every address is
// read.
RC_GTEST_PROP(Invert, OfOneViewIsNeverWrong, ()) {
  for (int i = 0; i < 20; ++i) {
    const View any = model::any_stack(1)[0];
    if (any.nothing_valid()) continue;
    const View view = View::trusted(any.shape(), any.strides(),
                                    any.offset() - address_range(any).first, any.mask());
    const model::Array array = materialise(view);
    const Facts facts = facts_of(array);
    const std::optional<View> undone = invert(view, {facts.size});
    if (!undone) continue;
    RC_ASSERT(facts.onto);
    const Ints flat = materialise(*undone).address;
    RC_ASSERT(std::ssize(flat) == facts.size);
    for (std::int64_t y = 0; y < facts.size; ++y)
      RC_ASSERT(array.address.at(static_cast<std::size_t>(flat[static_cast<std::size_t>(y)])) == y);
  }
}

RC_GTEST_PROP(Invert, IsNeverWrong, ()) {
  for (int i = 0; i < 10; ++i) {
    const Chain chain = model::any_chain();
    const Facts facts = facts_of(chain.array);
    const Inverse inverse = invert(chain.tracker);
    if (inverse.bijection != (facts.onto && facts.valid == facts.size))
      RC_FAIL(fmt::format("bijection {};{}", inverse.bijection, chain.story));
    if (!inverse.tracker) continue;
    const Ints flat = materialise(*inverse.tracker).address;
    if (std::ssize(flat) != facts.size) RC_FAIL(inverse.tracker->str() + chain.story);
    for (std::int64_t y = 0; y < facts.size; ++y) {
      const std::int64_t element = flat[static_cast<std::size_t>(y)];
      if (element < 0 || chain.array.address[static_cast<std::size_t>(element)] != y)
        RC_FAIL(fmt::format("{} at {};{}", inverse.tracker->str(), y, chain.story));
    }
  }
}

TEST(Invert, UndoesWhatReachesEveryAddress) {
  int onto = 0, bijections = 0, undone = 0, one_to_one = 0;
  for (std::uint64_t i = 0; i < 3'000; ++i) {
    const Chain chain = model::chain_at(5, i);
    const Facts facts = facts_of(chain.array);
    const Inverse inverse = invert(chain.tracker);
    onto += facts.onto;
    bijections += facts.onto && facts.valid == facts.size;
    undone += inverse.tracker.has_value();
    one_to_one += inverse.bijection;
  }
  EXPECT_GT(bijections, 1'500);
  EXPECT_EQ(one_to_one, bijections);
  EXPECT_EQ(undone, onto);
}

// Addresses 10, 11, padding, 0 to 5, padding, 12 to 17, padding, 6 to 9: no digits invert them.
TEST(Invert, TurnsThatAreCutOff) {
  const ShapeTracker tracker({View::strided({2, 2, 8}, {6, -6, 1}, 6, Mask{{0, 2}, {0, 2}, {0, 6}}),
                              View::strided({24}, {1}, 4)});
  const Inverse inverse = invert(tracker);
  EXPECT_TRUE(inverse.bijection);
  EXPECT_EQ(materialise(*inverse.tracker).address,
            (Ints{4, 5, 6, 7, 8, 9, 20, 21, 22, 23, 0, 1, 12, 13, 14, 15, 16, 17}));
}

// Every second element of rows read twice: each once, but no order of digits locates it.
TEST(Invert, TurnedAxesAreUndoneAsTheirMirrorImageIs) {
  const ShapeTracker twice = ShapeTracker::contiguous({4, 1, 25}).expand({4, 2, 25});
  const ShapeTracker halves = twice.reshape({50, 2, 2}).stride(Ints{1, 1, 2});
  for (const ShapeTracker& tracker : {halves, halves.stride(Ints{-1, 1, 1})}) {
    const Inverse inverse = invert(tracker);
    EXPECT_TRUE(inverse.bijection);
    ASSERT_TRUE(inverse.tracker);
    const Ints forth = materialise(tracker).address, back = materialise(*inverse.tracker).address;
    ASSERT_EQ(std::ssize(back), 100);
    for (std::int64_t y = 0; y < 100; ++y)
      EXPECT_EQ(forth[static_cast<std::size_t>(back[static_cast<std::size_t>(y)])], y);
  }
}

void expect_inverted(const ShapeTracker& tracker) {
  const Ints addresses = materialise(tracker).address;
  const Facts facts = facts_of(materialise(tracker));
  ASSERT_TRUE(facts.onto);
  const Inverse inverse = invert(tracker);
  ASSERT_TRUE(inverse.tracker) << tracker.str();
  EXPECT_EQ(inverse.bijection, facts.valid == facts.size);
  const Ints flat = materialise(*inverse.tracker).address;
  ASSERT_EQ(std::ssize(flat), facts.size);
  for (std::size_t y = 0; y < flat.size(); ++y)
    ASSERT_EQ(addresses[static_cast<std::size_t>(flat[y])], static_cast<std::int64_t>(y));
}

// Twenty and more jumps need several consecutive flat indices.
TEST(Invert, MoreJumpsThanOneFlatIndexHolds) {
  expect_inverted(ShapeTracker({View::strided({3, 2, 3, 2, 2}, {1, 6, 12, 3, -24}, 24),
                                View::strided({6, 10}, {12, 1}, 1)}));
  expect_inverted(ShapeTracker({View::strided({2, 3, 3, 3, 2, 3}, {18, 1, 38, -35, 3, 6}, 70,
                                              Mask{{0, 2}, {0, 3}, {0, 2}, {0, 3}, {0, 2}, {0, 3}}),
                                View::strided({3, 2, 24}, {48, 162, 1}, 12)}));
}

// Any table is a stack of views.
RC_GTEST_PROP(Invert, StagesGiveTheirTable, ()) {
  const auto size = *rc::gen::inRange<std::size_t>(1, 40);
  const auto limit = *rc::gen::inRange<std::int64_t>(1, 60);
  const auto table = *rc::gen::container<Ints>(size, rc::gen::inRange<std::int64_t>(0, limit));
  const auto maps = shapetracker::stages_of(table, limit);
  RC_ASSERT(maps.has_value());
  const ShapeTracker stack(std::vector<View>(maps->rbegin(), maps->rend()));
  RC_ASSERT(materialise(stack).address == table);
}

TEST(Invert, Bijections) {
  const ShapeTracker transposed = ShapeTracker::contiguous({2, 3}).permute(Order{1, 0});
  const Inverse inverse = invert(transposed);
  EXPECT_TRUE(inverse.bijection);
  EXPECT_EQ(inverse.tracker, ShapeTracker({View::strided({2, 3}, {1, 2})}));
  const Inverse flipped = invert(ShapeTracker::contiguous({6}).stride(Ints{-1}));
  EXPECT_EQ(flipped.tracker, ShapeTracker({View::strided({6}, {-1}, 5)}));
  // Padding is allowed: only valid elements are inverted.
  const Inverse padded = invert(ShapeTracker::contiguous({2, 3}).pad(Padding{{1, 0}, {0, 2}}));
  EXPECT_TRUE(padded.bijection);
  EXPECT_EQ(padded.tracker, ShapeTracker({View::strided({2, 3}, {5, 1}, 5)}));
  EXPECT_TRUE(invert(ShapeTracker()).bijection);
}

TEST(Invert, RightInverses) {
  const Inverse expanded = invert(ShapeTracker::contiguous({1, 3}).expand({4, 3}));
  EXPECT_FALSE(expanded.bijection);
  EXPECT_EQ(materialise(*expanded.tracker).address, (Ints{0, 1, 2}));
  // Overlapping windows: y = i + 2 j with i < 4, j < 3. Every second j suffices.
  const Inverse windows = invert(ShapeTracker::contiguous({8}).as_strided({4, 3}, {1, 2}));
  ASSERT_TRUE(windows.tracker);
  EXPECT_EQ(materialise(*windows.tracker).address, (Ints{0, 3, 6, 9, 2, 5, 8, 11}));
}

TEST(Invert, AnAddressThatIsMissedHasNone) {
  EXPECT_EQ(invert(ShapeTracker::contiguous({6}).stride(Ints{2})).tracker, std::nullopt);
  EXPECT_EQ(invert(ShapeTracker::contiguous({6}).shrink(Mask{{2, 6}})).tracker, std::nullopt);
  // Shrink, then expand: rows 0 and 1 of 3, columns 0 and 1 of 3.
  const ShapeTracker part = ShapeTracker::contiguous({3, 3})
                                .shrink(Mask{{0, 2}, {0, 2}})
                                .reshape({2, 1, 2})
                                .expand({2, 2, 2});
  EXPECT_EQ(invert(part).tracker, std::nullopt);
}

TEST(Invert, NothingValid) {
  const Inverse inverse = invert(ShapeTracker::contiguous({0, 3}));
  EXPECT_TRUE(inverse.bijection);
  EXPECT_EQ(inverse.tracker->size(), sint(0));
}

TEST(Invert, LargeStacks) {
  const ShapeTracker tracker = ShapeTracker::contiguous({1 << 20, 1 << 10})
                                   .permute(Order{1, 0})
                                   .reshape({1 << 15, 1 << 15})
                                   .stride(Ints{-1, 1})
                                   .permute(Order{1, 0})
                                   .reshape({1 << 30});
  const Inverse inverse = invert(tracker);
  ASSERT_TRUE(inverse.bijection);
  for (const std::int64_t y : {0, 1, 77, 123456789, (1 << 30) - 1}) {
    const std::int64_t element =
        *inverse.tracker->at(model::unravel(y, concrete(inverse.tracker->shape())));
    EXPECT_EQ(tracker.at(Ints{element}), y);
  }
}

TEST(Invert, WantsNumbers) {
  expect_error<ShapeError>(
      [] { invert(ShapeTracker::contiguous({symbolic::variable("n", 1, 5)})); }, {"bind"});
}

}  // namespace
}  // namespace touchstone
