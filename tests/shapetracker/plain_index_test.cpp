#include "touchstone/shapetracker/plain_index.h"

#include <gtest/gtest.h>

#include <rapidcheck/gtest.h>

#include "draws.h"
#include "model.h"
#include "touchstone/shapetracker/index_expr.h"
#include "touchstone/shapetracker/simplify.h"

namespace touchstone {
namespace {

using model::Draws;
using shapetracker::cost;
using shapetracker::IndexCost;
using shapetracker::plain_index;
using shapetracker::PlainIndex;

ShapeTracker digits_swapped() {
  return ShapeTracker::contiguous({10, 10})
      .permute(std::vector<int>{1, 0})
      .reshape({5, 2, 5, 2})
      .reshape({100});
}

TEST(ShapeTracker, MovementLooksForNoMerge) {
  const ShapeTracker composed =
      ShapeTracker::contiguous({2, 3}).permute(std::vector<int>{1, 0}).reshape({6}).reshape({3, 2});
  EXPECT_EQ(composed.views().size(), 2U);
  EXPECT_EQ(simplify(composed).views().size(), 1U);
  EXPECT_EQ(merge_outermost(composed).views().size(), 1U);
}

TEST(PlainIndex, WritesDownTheDefinition) {
  const PlainIndex plain = plain_index(digits_swapped().views());
  EXPECT_EQ(render(plain.exprs, plain.index), "idx0//20*2 + idx0//10%2 + idx0//2%5*20 + idx0%2*10");
  EXPECT_EQ(render(plain.exprs, plain.valid), "1");
  EXPECT_EQ(cost(plain), (IndexCost{3, 3, 18}));
}

TEST(PlainIndex, MasksAreConditions) {
  const ShapeTracker padded = ShapeTracker::contiguous({2, 3}).pad(Padding{{1, 0}, {0, 1}});
  const PlainIndex plain = plain_index(padded.views());
  EXPECT_EQ(render(plain.exprs, plain.index), "-3 + idx0*3 + idx1");
  EXPECT_EQ(render(plain.exprs, plain.valid), "idx0 >= 1 and idx1 < 3");
}

TEST(PlainIndex, NothingValidIsNeverRead) {
  const ShapeTracker nothing =
      ShapeTracker::contiguous({2}).shrink(Mask{{1, 1}}).pad(Padding{{1, 1}});
  const PlainIndex plain = plain_index(nothing.views());
  EXPECT_EQ(render(plain.exprs, plain.valid), "0");
}

TEST(IndexCost, OfASimplifiedExpressionCountsItsSteps) {
  const ShapeTracker st = ShapeTracker::contiguous({4, 4});
  EXPECT_EQ(cost(expr_idxs(st)).divisions, 0);
  EXPECT_EQ(cost(expr_idxs(digits_swapped())).divisions, 1);
  EXPECT_EQ(cost(expr_idxs(digits_swapped())).modulos, 0);
}

// What is written says what the views say, and the simplified expression never costs more
// divisions.
RC_GTEST_PROP(PlainIndex, IsWhatTheViewsRead, ()) {
  Draws draws(*model::any_draws(40));
  ShapeTracker st = ShapeTracker::contiguous({draws.between(1, 4), draws.between(1, 6)});
  for (std::int64_t count = draws.below(5); count > 0; --count) {
    const std::int64_t n = st.size().as_int();
    switch (draws.below(4)) {
      case 0: {
        std::vector<int> order;
        for (int axis = st.rank(); axis-- > 0;) order.push_back(axis);
        st = st.permute(order);
        break;
      }
      case 1:
        st = n % 2 == 0 ? st.reshape({2, n / 2}) : st.reshape({n});
        break;
      case 2:
        st = st.pad(Padding(static_cast<std::size_t>(st.rank()), {draws.below(2), draws.below(2)}));
        break;
      default:
        st = st.stride(std::vector<std::int64_t>(static_cast<std::size_t>(st.rank()), -1));
    }
  }
  const PlainIndex plain = plain_index(st.views());
  std::map<std::string, symbolic::Node> names;
  const model::Ints shape = concrete(st.shape());
  for (std::size_t axis = 0; axis < shape.size(); ++axis)
    names.emplace(fmt::format("idx{}", axis),
                  symbolic::variable(fmt::format("idx{}", axis), std::nullopt, std::nullopt));
  const symbolic::Node index = symbolic::parse(render(plain.exprs, plain.index), names);
  const symbolic::Node valid = symbolic::parse(render(plain.exprs, plain.valid), names);
  for (std::int64_t i = 0; i < model::count(shape); ++i) {
    const model::Ints point = model::unravel(i, shape);
    symbolic::Values values;
    for (std::size_t axis = 0; axis < shape.size(); ++axis)
      values[fmt::format("idx{}", axis)] = point[axis];
    const std::optional<std::int64_t> address = st.at(point);
    RC_ASSERT((symbolic::evaluate(valid, values) == 1) == address.has_value());
    if (address) RC_ASSERT(symbolic::evaluate(index, values) == *address);
  }
}

}  // namespace
}  // namespace touchstone
