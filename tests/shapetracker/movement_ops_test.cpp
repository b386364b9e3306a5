// A tracker as movement operations, and the correspondence of axes of two shapes.
#include "touchstone/shapetracker/invert/movement_ops.h"

#include <gtest/gtest.h>

#include <rapidcheck/gtest.h>

#include "chains.h"
#include "errors.h"
#include "pairs.h"
#include "touchstone/shapetracker/invert/contraction.h"
#include "touchstone/shapetracker/merge/simplify.h"

namespace touchstone {
namespace {

using model::Array;
using model::Ints;
using model::materialise;
using model::strided;
using Kind = MovementOp::Kind;
using Order = std::vector<int>;
using symbolic::Node;

ShapeTracker replay(const std::vector<MovementOp>& ops, const sint& elements) {
  ShapeTracker tracker = ShapeTracker::contiguous({elements});
  for (const MovementOp& op : ops) tracker = merge_outermost(apply(tracker, op));
  return tracker;
}

std::string story(const std::vector<MovementOp>& ops) {
  std::string text;
  for (const MovementOp& op : ops) text += (text.empty() ? "" : ", ") + op.str();
  return text;
}

bool uses_as_strided(const std::vector<MovementOp>& ops) {
  return std::ranges::any_of(ops, [](const MovementOp& op) { return op.kind == Kind::AsStrided; });
}

std::string ops_of(const ShapeTracker& tracker) { return story(to_movement_ops(tracker)); }
std::string ops_of(const View& view) { return ops_of(ShapeTracker({view})); }

TEST(MovementOps, ArePlainWhereTheViewIs) {
  EXPECT_EQ(ops_of(View::contiguous({6})), "");
  EXPECT_EQ(ops_of(View::contiguous({2, 3})), "reshape (2, 3)");
  EXPECT_EQ(ops_of(View()), "reshape ()");
  EXPECT_EQ(ops_of(strided({3, 2}, {1, 3})), "reshape (2, 3), permute (1, 0)");
  EXPECT_EQ(ops_of(strided({6}, {-1}, 5)), "stride (-1)");
  EXPECT_EQ(ops_of(strided({3}, {-2}, 4)), "stride (-2)");
  EXPECT_EQ(ops_of(strided({3, 4}, {0, 1})), "reshape (1, 4), expand (3, 4)");
  EXPECT_EQ(ops_of(strided({4}, {1}, -1, Mask{{1, 3}})), "pad ((1, 1),)");
  EXPECT_EQ(ops_of(strided({2, 2}, {3, 1}, 1)),
            "shrink ((1, 6),), pad ((0, 1),), reshape (2, 3), shrink ((0, 2), (0, 2))");
  EXPECT_EQ(ops_of(View::contiguous({0, 3})), "reshape (0, 3)");
}

TEST(MovementOps, MakeWindowsOfARepeatedAxis) {
  const View windows = strided({4, 3}, {1, 1});
  EXPECT_EQ(ops_of(windows),
            "reshape (1, 6), expand (5, 6), reshape (30,), shrink ((0, 28),), reshape (4, 7), "
            "shrink ((0, 4), (0, 3))");
  EXPECT_EQ(replay(to_movement_ops(ShapeTracker({windows})), 6).views(), std::vector{windows});
}

TEST(MovementOps, GoBeyondABufferWhereNothingIsRead) {
  // The inner view spans 12 elements; the outer reads the first 6.
  const ShapeTracker tracker({strided({4, 3}, {3, -1}, 2), strided({3, 2}, {2, 1})});
  EXPECT_EQ(tracker.real_size(), 6);
  EXPECT_EQ(ops_of(tracker).substr(0, 15), "pad ((0, 6),), ");
  EXPECT_EQ(materialise(replay(to_movement_ops(tracker), 6)), materialise(tracker));
}

TEST(MovementOps, OfALargerBufferCutItFirst) {
  const ShapeTracker tracker({strided({2, 3}, {3, 1}, 4)});
  EXPECT_EQ(story(to_movement_ops(tracker, 100)), "shrink ((4, 10),), reshape (2, 3)");
  expect_error<ShapeError>([&] { to_movement_ops(tracker, 9); }, {"10 elements", "has 9"});
}

TEST(MovementOps, AreAsStridedOnlyWhereAShapeWouldBeTooLarge) {
  const std::int64_t big = std::int64_t{1} << 31;
  // The repeated axis would have 2^93 elements.
  const ShapeTracker windows({strided({big, 2}, {big, big})});
  const auto ops = to_movement_ops(windows);
  ASSERT_TRUE(uses_as_strided(ops));
  EXPECT_EQ(replay(ops, windows.real_size()), windows);
  const ShapeTracker rows({strided({big, 2}, {1024, 1})});
  EXPECT_FALSE(uses_as_strided(to_movement_ops(rows)));
  EXPECT_EQ(replay(to_movement_ops(rows), rows.real_size()), rows);
}

TEST(MovementOps, KeepVariables) {
  const Node n = symbolic::variable("n", 1, 10), m = symbolic::variable("m", 2, 5);
  const auto round_trip = [&](const ShapeTracker& tracker) {
    const auto ops = to_movement_ops(tracker, 1000);
    const ShapeTracker back = replay(ops, 1000);
    for (const std::int64_t value : {1, 2, 7, 10})
      for (const std::int64_t other : {2, 5}) {
        const symbolic::Values values = {{"n", value}, {"m", other}};
        EXPECT_EQ(materialise(back.bind(values)), materialise(tracker.bind(values))) << story(ops);
      }
    return story(ops);
  };
  EXPECT_EQ(round_trip(ShapeTracker::contiguous({n, 4})), "shrink ((0, n*4),), reshape (n, 4)");
  EXPECT_EQ(round_trip(ShapeTracker::contiguous({n, 4}).permute(Order{1, 0})),
            "shrink ((0, n*4),), reshape (n, 4), permute (1, 0)");
  round_trip(ShapeTracker::contiguous({n, m, 3}).pad(Padding{{1, 0}, {0, n}, {0, 0}}));
  round_trip(ShapeTracker::contiguous({n, m}).stride(Ints{-1, -1}));
  round_trip(ShapeTracker::contiguous({1, m}).expand({n, m}).permute(Order{1, 0}));
  // The order of strides depends on the values.
  const auto ops = to_movement_ops(ShapeTracker({View::strided({2, 2}, {n, m})}), 1000);
  EXPECT_EQ(story(ops), "as_strided (2, 2) strides (n, m) offset 0");
}

// Uses operations without concrete numbers: an intermediate size may not be provably positive.
TEST(MovementOps, WithVariablesAreTakenByApply) {
  const Node n = symbolic::variable("n", 2, 6);
  const ShapeTracker tracker =
      ShapeTracker::contiguous({3, n}).stride(Ints{-1, -2}).pad(Padding{{0, n}, {0, 0}});
  const sint elements = tracker.real_size();
  const ShapeTracker made = replay(to_movement_ops(tracker), elements);
  for (std::int64_t value = 2; value <= 6; ++value)
    EXPECT_EQ(materialise(made.bind({{"n", value}})), materialise(tracker.bind({{"n", value}})));
}

Array of_chain(const std::vector<MovementOp>& ops, std::int64_t elements) {
  return materialise(replay(ops, elements));
}

RC_GTEST_PROP(MovementOps, GiveTheSameAddressesForEveryChain, ()) {
  const model::Chain chain = model::any_chain();
  const auto ops = to_movement_ops(chain.tracker);
  RC_ASSERT(!uses_as_strided(ops));
  if (of_chain(ops, chain.tracker.real_size()) != chain.array) RC_FAIL(chain.story + story(ops));
}

RC_GTEST_PROP(MovementOps, GiveTheSameAddressesForEveryView, ()) {
  const View any = model::any_stack(1)[0];
  const std::int64_t low = any.nothing_valid() ? 0 : address_range(any).first.as_int();
  const View view = View::trusted(
      any.shape(), any.strides(),
      any.nothing_valid() ? 0 : any.offset() + std::max<std::int64_t>(0, -low), any.mask());
  const ShapeTracker tracker({view});
  const std::int64_t elements = tracker.real_size() + *rc::gen::inRange<std::int64_t>(0, 4);
  const auto ops = to_movement_ops(tracker, elements);
  RC_ASSERT(!uses_as_strided(ops));
  if (of_chain(ops, elements) != materialise(tracker)) RC_FAIL(view.str() + ": " + story(ops));
}

// ---- contraction ---------------------------------------------------------------------------

TEST(Contraction, OfReducedAxesTakesAxesOfSizeOne) {
  const auto groups = [](const Shape& from, const Shape& to, const Order& reduced) {
    return get_contraction_with_reduce(from, to, reduced);
  };
  EXPECT_EQ(groups({4, 1}, {4, 1}, {1}), (Contraction{{0}, {1}}));
  EXPECT_EQ(groups({1, 4}, {1, 4}, {0}), (Contraction{{0}, {1}}));
  EXPECT_EQ(get_contraction(Shape{1, 4}, Shape{1, 4}), (Contraction{{}, {0, 1}}));
  EXPECT_EQ(groups({2, 1, 1, 3}, {2, 1, 3}, {1}), (Contraction{{0}, {1}, {2, 3}}));
  EXPECT_EQ(groups({2, 3, 1}, {2, 1, 3}, {1}), std::nullopt);
  EXPECT_EQ(groups({1, 1, 5}, {1, 1, 1, 5}, {0, 2}), (Contraction{{0}, {}, {1}, {2}}));
  EXPECT_EQ(groups({1, 1, 5}, {1, 1, 1, 5}, {0, 1, 2}), std::nullopt);
  EXPECT_EQ(groups({2, 3, 4}, {6, 4}, {0}), (Contraction{{0, 1}, {2}}));
  EXPECT_EQ(groups({5}, {5, 1}, {1}), std::nullopt);
  EXPECT_EQ(groups({5, 1}, {5, 1, 1}, {2}), (Contraction{{0}, {}, {1}}));
  expect_error<ShapeError>([&] { groups({2}, {2}, {1}); }, {"axis 1", "[0, 1)"});
  expect_error<ShapeError>([&] { groups({2}, {2}, {-1}); }, {"axis -1"});
  const Node n = symbolic::variable("n", 1, 10);
  EXPECT_EQ(groups({n, 2, 1}, {sint(n) * 2, 1}, {1}), (Contraction{{0, 1}, {2}}));
}

TEST(Contraction, OfSizesBeyondCountingIsNone) {
  const std::int64_t big = std::int64_t{1} << 40;
  EXPECT_EQ(get_contraction(Shape{big, big}, Shape{big}), std::nullopt);
  EXPECT_EQ(get_contraction(Shape{big, big}, Shape{big, big}), (Contraction{{0}, {1}}));
  EXPECT_EQ(get_contraction(Shape{big, big, 0}, Shape{0}), (Contraction{{0, 1, 2}}));
}

bool groups_fit(const Ints& from, const Ints& to, const std::vector<bool>& wanted, std::size_t i,
                std::size_t next) {
  if (i == to.size()) return next == from.size();
  std::int64_t product = 1;
  for (std::size_t end = next; end <= from.size(); ++end) {
    if (end > next) product *= from[end - 1];
    if (product == to[i] && (end > next || !wanted[i]) && groups_fit(from, to, wanted, i + 1, end))
      return true;
  }
  return false;
}

// Against all ways to cut the old axes into groups.
RC_GTEST_PROP(Contraction, IsFoundExactlyWhereThereIsOne, ()) {
  fuzz::RandomChooser draws(*rc::gen::arbitrary<std::uint64_t>(), 0);
  Ints from, to;
  for (std::int64_t i = draws.between(0, 5); i > 0; --i) from.push_back(draws.between(0, 3));
  for (std::size_t i = 0; i < from.size();) {  // joins some of them, with ones between
    if (draws.chance(1, 3)) to.push_back(1);
    std::int64_t product = 1;
    for (std::int64_t n = draws.between(1, 2); n > 0 && i < from.size(); --n) product *= from[i++];
    to.push_back(draws.chance(1, 10) ? draws.between(0, 4) : product);
  }
  if (to.empty()) to.push_back(1);
  std::vector<bool> wanted(to.size(), false);
  Order reduced;
  for (std::size_t i = 0; i < to.size(); ++i)
    if (draws.chance(1, 3)) {
      wanted[i] = true;
      reduced.push_back(static_cast<int>(i));
    }
  const auto groups =
      get_contraction_with_reduce(model::to_shape(from), model::to_shape(to), reduced);
  RC_ASSERT(groups.has_value() == groups_fit(from, to, wanted, 0, 0));
  if (!groups) return;
  RC_ASSERT(groups->size() == to.size());
  int next = 0;
  for (std::size_t i = 0; i < to.size(); ++i) {
    std::int64_t product = 1;
    RC_ASSERT(!wanted[i] || !(*groups)[i].empty());
    for (const int axis : (*groups)[i]) {
      RC_ASSERT(axis == next++);
      product *= from[static_cast<std::size_t>(axis)];
    }
    RC_ASSERT(product == to[i]);
  }
  RC_ASSERT(next == static_cast<int>(from.size()));
}

}  // namespace
}  // namespace touchstone
