// Views whose sizes, strides and masks contain variables.
#include <gtest/gtest.h>

#include <rapidcheck/gtest.h>

#include "errors.h"
#include "model.h"
#include "touchstone/shapetracker/ask/access.h"
#include "touchstone/shapetracker/index/index_expr.h"
#include "touchstone/shapetracker/index/plain_index.h"
#include "touchstone/shapetracker/merge/simplify.h"

namespace touchstone {
namespace {

using model::Ints;
using symbolic::Node;
using Order = std::vector<int>;

Node n() { return symbolic::variable("n", 1, 10); }
Node m() { return symbolic::variable("m", 2, 5); }

TEST(SymbolicSize, ContiguousStridesAreProducts) {
  const View view = View::contiguous({n(), m(), 3});
  EXPECT_EQ(view.strides(), (Strides{m() * 3, 3, 1}));
  EXPECT_TRUE(view.is_contiguous());
  EXPECT_FALSE(view.is_concrete());
  EXPECT_EQ(view.size(), sint(n() * m() * 3));
}

TEST(SymbolicSize, MovementKeepsVariables) {
  const View view = View::contiguous({n(), 4});
  EXPECT_EQ(view.permute(Order{1, 0}), View::strided({4, n()}, {1, 4}));
  EXPECT_EQ(view.shrink(Mask{{0, n()}, {1, 3}}), View::strided({n(), 2}, {4, 1}, 1));
  EXPECT_EQ(view.pad(Padding{{0, 0}, {1, n()}}),
            View::strided({n(), n() + 5}, {4, 1}, -1, Mask{{0, n()}, {1, 5}}));
  EXPECT_EQ(View::contiguous({1, 4}).expand({n(), 4}), View::strided({n(), 4}, {0, 1}));
  EXPECT_EQ(view.stride(Ints{-1, 1}), View::strided({n(), 4}, {-4, 1}, (n() - 1) * 4));
  EXPECT_EQ(view.shrink(Mask{{n() - 1, n()}, {0, 4}}),
            View::strided({1, 4}, {0, 1}, (n() - 1) * 4));
}

TEST(SymbolicSize, MaxSizeIsTheProductOfTheLargest) {
  EXPECT_EQ(View::contiguous({n(), m(), 3}).max_size(), 150);
  EXPECT_EQ(ShapeTracker::contiguous({n() - 1, 4}).max_size(), 36);
  EXPECT_EQ(View().max_size(), 1);
  const Node open = symbolic::variable("o", std::int64_t{0}, std::nullopt);
  expect_error<ShapeError>([&] { View::contiguous({open}).max_size(); }, {"max_size", "upper"});
  const Node big = symbolic::variable("b", 1, std::int64_t{1} << 40);
  EXPECT_THROW(View::contiguous({big, big}).max_size(), OverflowError);
}

// A variable may have the name of an axis index.
TEST(SymbolicSize, VariablesAreNoAxes) {
  const Node rows = symbolic::variable("idx0", 1, 4);
  const ShapeTracker tracker =
      ShapeTracker::contiguous({rows, 3}).permute(Order{1, 0}).reshape({rows * 3});
  const IndexExpr expr = expr_idxs(tracker);
  EXPECT_EQ(render(expr.index), "idx_0//idx0 + idx_0%idx0*3");
  EXPECT_EQ(real_strides(tracker), std::vector<std::optional<sint>>{std::nullopt});
  const ShapeTracker row = ShapeTracker::contiguous({rows + 1, 4, 3}).permute(Order{1, 0, 2});
  EXPECT_EQ(real_strides(row.reshape({4, (rows + 1) * 3}))[0], sint(3));
  EXPECT_FALSE(axis_is_masked(row.reshape({4, (rows + 1) * 3}), 0));
}

// Sizes that are empty for all values: n*(1 - n) for n in 0..1.
TEST(SymbolicSize, NothingIsReadWhereNoValuesLeaveAnElement) {
  const Node o = symbolic::variable("n", 0, 1);
  const ShapeTracker tracker = ShapeTracker::contiguous({m() - o, sint(1) - o, o});
  const IndexExpr flat = expr_node(tracker), by_axis = expr_idxs(tracker);
  EXPECT_EQ(render(flat.valid), "0");
  EXPECT_EQ(render(by_axis.valid), "0");
  const shapetracker::PlainIndex plain = shapetracker::plain_index(tracker.views());
  EXPECT_EQ(render(plain.exprs, plain.valid), "0");
}

TEST(SymbolicSize, SubstitutePutsExpressionsForVariables) {
  const ShapeTracker tracker = ShapeTracker::contiguous({n(), m()}).permute(Order{1, 0});
  const Node k = symbolic::variable("k", 2, 5);
  EXPECT_EQ(tracker.substitute({{"n", k * 2}}),
            ShapeTracker::contiguous({k * 2, m()}).permute(Order{1, 0}));
  // Simultaneous: substituted expressions are not substituted again.
  EXPECT_EQ(tracker.substitute({{"n", m()}, {"m", k}}),
            ShapeTracker::contiguous({m(), k}).permute(Order{1, 0}));
  EXPECT_EQ(tracker.substitute({{"n", 3}, {"m", 2}}),
            ShapeTracker::contiguous({3, 2}).permute(Order{1, 0}));
  EXPECT_EQ(tracker.substitute({{"x", 3}}), tracker);
  expect_error<ShapeError>(
      [&] {
        tracker.substitute({{"m", k + 1}});
      },
      {"substitute: m = k + 1", "2 to 5"});
  expect_error<ShapeError>([&] { tracker.substitute({{"n", 11}}); }, {"n = 11", "1 to 10"});
}

TEST(SymbolicSize, ReshapeOfContiguous) {
  const ShapeTracker tracker = ShapeTracker::contiguous({n(), 4});
  EXPECT_EQ(tracker.reshape({n() * 4}), ShapeTracker::contiguous({n() * 4}));
  EXPECT_EQ(tracker.reshape({n(), 2, 2}), ShapeTracker::contiguous({n(), 2, 2}));
  EXPECT_EQ(tracker.reshape({1, n(), 1, 4}).views().size(), 1U);
}

TEST(SymbolicSize, ReshapeGroupByGroup) {
  const View view = View::contiguous({4, n(), 6}).permute(Order{1, 0, 2});
  EXPECT_EQ(view.reshape({n(), 2, 2, 6}), View::strided({n(), 2, 2, 6}, {6, n() * 12, n() * 6, 1}));
  EXPECT_EQ(view.reshape({n(), 4, 3, 1, 2}),
            View::strided({n(), 4, 3, 1, 2}, {6, n() * 6, 2, 0, 1}));
  EXPECT_EQ(view.reshape({n(), 24}), std::nullopt);
  const View padded = View::contiguous({n(), 4}).pad(Padding{{0, 0}, {0, 4}});
  EXPECT_EQ(padded.reshape({n(), 2, 4}), std::nullopt);  // two groups, one of them merged
  EXPECT_EQ(merge(padded, View::contiguous({n(), 2, 4})),
            View::strided({n(), 2, 4}, {4, 0, 1}, 0, Mask{{0, n()}, {0, 1}, {0, 4}}));
  const View columns = View::contiguous({2, n(), m()}).permute(Order{1, 2, 0});
  EXPECT_EQ(columns.reshape({n() * m(), 2}), View::strided({n() * m(), 2}, {1, n() * m()}));
}

TEST(SymbolicSize, ReshapePushesAViewWhereNoOneViewIsFound) {
  const ShapeTracker tracker =
      ShapeTracker::contiguous({4, n()}).permute(Order{1, 0}).reshape({n() * 4});
  EXPECT_EQ(tracker.views().size(), 2U);
  EXPECT_EQ(tracker.bind({{"n", 3}}).at(Ints{1}), 3);
  EXPECT_EQ(simplify(tracker.bind({{"n", 1}})), ShapeTracker::contiguous({4}));
}

TEST(SymbolicSize, ExpressionsHoldTheVariables) {
  const ShapeTracker tracker = ShapeTracker::contiguous({n(), 4}).permute(Order{1, 0});
  EXPECT_EQ(render(expr_idxs(tracker).index), "idx0 + idx1*4");
  const ShapeTracker padded = ShapeTracker::contiguous({3, n()}).pad(Padding{{0, 0}, {2, 0}});
  const IndexExpr expr = expr_idxs(padded);
  EXPECT_EQ(symbolic::evaluate(expr.index, {{"idx0", 2}, {"idx1", 5}, {"n", 7}}), 17);
  EXPECT_EQ(symbolic::evaluate(expr.valid, {{"idx0", 2}, {"idx1", 1}, {"n", 7}}), 0);
  EXPECT_EQ(real_strides(padded, true), (std::vector<std::optional<sint>>{n(), 1}));
  EXPECT_EQ(padded.real_size(), 30);
}

TEST(SymbolicSize, VariablesAreListedOnce) {
  const ShapeTracker tracker = ShapeTracker::contiguous({n(), m(), n()});
  EXPECT_EQ(tracker.vars(), (std::vector<Node>{m(), n()}));
  EXPECT_TRUE(ShapeTracker::contiguous({3}).vars().empty());
}

TEST(SymbolicSize, ValuesAreBoundWithinTheirBounds) {
  const ShapeTracker tracker = ShapeTracker::contiguous({n(), m()});
  const symbolic::Values values = {{"n", 4}, {"m", 2}, {"other", 7}};
  EXPECT_EQ(tracker.bind(values), ShapeTracker::contiguous({4, 2}));
  expect_error<ShapeError>([&] { tracker.bind({{"m", 1}, {"n", 1}}); }, {"m = 1"});
}

TEST(SymbolicSize, InequalitiesOfProductsAreProved) {
  const sint size = n() * n() - n() * 2 + 1;  // (n - 1)^2
  EXPECT_EQ(View::contiguous({size}).size(), size);
  EXPECT_NO_THROW(View::contiguous({n() * m()}).shrink(Mask{{n(), n() * m()}}));
  expect_error<ShapeError>([] { View::contiguous({n() * m() - n() * 3}); }, {"depends"});
}

TEST(SymbolicSize, WhatCannotBeCountedIsAnError) {
  const std::int64_t big = std::int64_t{1} << 62;
  expect_error<OverflowError>([&] { View::contiguous({m(), big}); }, {"64 bits", "all values"});
  const View some = View::contiguous({n(), big});  // with n = 1
  EXPECT_EQ(some.bind({{"n", 1}}), View::contiguous({1, big}));
  expect_error<OverflowError>([&] { some.bind({{"n", 2}}); }, {"64 bits"});
  expect_error<OverflowError>(
      [&] {
        View::strided({n(), 2}, {big, 1}).bind({{"n", 4}});
      },
      {"64 bits"});
}

TEST(SymbolicSize, BindGivesTheConcreteView) {
  const View view = View::contiguous({n(), m()}).pad(Padding{{1, 0}, {0, m()}});
  EXPECT_EQ(view.bind({{"n", 4}, {"m", 3}}), View::contiguous({4, 3}).pad(Padding{{1, 0}, {0, 3}}));
  EXPECT_EQ(view.bind({{"n", 4}}).bind({{"m", 3}}), view.bind({{"n", 4}, {"m", 3}}));
  // An axis found to have one element loses its stride.
  EXPECT_EQ(View::contiguous({n(), 3}).bind({{"n", 1}}), View::contiguous({1, 3}));
  expect_error<ShapeError>(
      [] {
        View::contiguous({n()}).bind({{"n", -2}});
      },
      {"n = -2", "1 to 10"});
}

TEST(SymbolicSize, WhatTheBoundsDoNotDecideIsAnError) {
  const View view = View::contiguous({n(), 4});
  expect_error<ShapeError>(
      [&] {
        view.shrink(Mask{{0, 5}, {0, 4}});
      },
      {"shrink", "5 <= n", "depends on the variables"});
  expect_error<ShapeError>([&] { view.expand({m(), 4}); }, {"axis 0", "size 1"});
  expect_error<ShapeError>(
      [&] {
        view.reshape({m(), 4});
      },
      {"reshape", "depends on the variables"});
  expect_error<ShapeError>([&] { view.reshape({n(), 5}); }, {"has n*5", "agree"});
  expect_error<ShapeError>([&] { View::contiguous({n() - 3}); }, {"depends on the variables"});
  expect_error<ShapeError>([&] { view.at(Ints{0, 0}); }, {"n"});
  expect_error<ShapeError>([&] { concrete(view.shape()); }, {"n"});
  expect_error<ShapeError>([] { ShapeTracker::contiguous({n()}).as_strided({m()}, {1}); },
                           {"as_strided", "depends on the variables"});
}

// Residues and quotients of variables are no polynomials: each value is tested.
TEST(SymbolicSize, FewValuesAreDecidedOneByOne) {
  const sint n = symbolic::variable("n", 1, 3), many = symbolic::variable("n", 1, 3000);
  const auto half_up = [](const sint& v) { return floor_div(v * 3 + 1, 2); };
  const auto doubled = [](const sint& v) { return v * (v * 3 + floor_mod(v, 2)); };
  EXPECT_NO_THROW(View::contiguous({n * 2, half_up(n)}).reshape({doubled(n)}));
  expect_error<ShapeError>(
      [&] {
        View::contiguous({n * 2, half_up(n)}).reshape({doubled(n) + floor_div(n, 3)});
      },
      {"depends on the variables"});
  // For many values a law decides, or nothing: the second pair of sizes differs at the last value.
  EXPECT_NO_THROW(View::contiguous({many * 2, half_up(many)}).reshape({doubled(many)}));
  expect_error<ShapeError>(
      [&] {
        View::contiguous({many * 2, half_up(many)})
            .reshape({doubled(many) + floor_div(many, 3000)});
      },
      {"depends on the variables"});
  const sint v = symbolic::variable("n", 2, 4);
  const ShapeTracker whole = ShapeTracker::contiguous({v, v * 2});
  EXPECT_NO_THROW(whole + whole.stride(Ints{2, 1}));
}

TEST(SymbolicSize, NothingIsReadWhereASizeIsZero) {
  const sint n = symbolic::variable("n", 0, 1);
  const View inner = View::contiguous({6, n, 1, 6});
  EXPECT_NO_THROW(
      ShapeTracker({inner, View::strided({3, n * 6, 1}, {n * 6 - 4, n * 6, 0}, n * 6 - 6)
                               .shrink(Mask{{1, 2}, {0, n}, {0, 1}})}));
  const View whole = View::contiguous({n, 6});
  EXPECT_NO_THROW(ShapeTracker({whole, View::strided({n, 3}, {1, 1}, 3)}));
  expect_error<ShapeError>(
      [&] {
        ShapeTracker({whole, View::strided({n, 3}, {1, 1}, 4)});
      },
      {"reads addresses"});
}

// A mask that begins at 2 is empty on an axis of 1.
TEST(SymbolicSize, AMaskMayBeEmptyForSomeValues) {
  const sint n = symbolic::variable("n", 1, 4);
  const View view = View::contiguous({3}).pad(Padding{{2, 0}}).shrink(Mask{{0, n}});
  EXPECT_EQ(View::strided(view.shape(), view.strides(), view.offset(), view.mask()), view);
  EXPECT_TRUE(view.bind({{"n", 1}}).nothing_valid());
  EXPECT_EQ(view.bind({{"n", 4}}), View::contiguous({3}).pad(Padding{{2, 0}}).shrink(Mask{{0, 4}}));
  expect_error<ShapeError>([&] { View::strided({n}, {1}, 0, Mask{{5, n}}); }, {"mask (5, n)"});
}

TEST(SymbolicSize, AStackIsCheckedForAllValues) {
  const View inner = View::contiguous({n(), m()});
  EXPECT_NO_THROW(ShapeTracker({inner, View::contiguous({m(), n()})}));
  EXPECT_NO_THROW(ShapeTracker({inner, View::strided({n(), m()}, {-m(), -1}, n() * m() - 1)}));
  expect_error<ShapeError>(
      [&] {
        ShapeTracker({inner, View::contiguous({m(), n() + 1})});
      },
      {"view 1"});
}

}  // namespace
}  // namespace touchstone
