#include "touchstone/shapetracker/index/plain_index.h"

#include <gtest/gtest.h>

#include <rapidcheck/gtest.h>

#include "chains.h"
#include "touchstone/shapetracker/index/index_expr.h"
#include "touchstone/shapetracker/index/shortest_index.h"
#include "touchstone/shapetracker/merge/simplify.h"

namespace touchstone {
namespace {

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

// The index yields the views' addresses, and simplifying never adds divisions.
RC_GTEST_PROP(PlainIndex, IsWhatTheViewsRead, ()) {
  const ShapeTracker st = model::any_chain({}, model::Keep::All).tracker;
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

// The shortest expression costs no more than the composed one and has the same values.
RC_GTEST_PROP(ShortestIndex, CostsNoMoreThanTheComposedOne, ()) {
  for (int round = 0; round < 4; ++round) {
    const model::ChainKind& kind = round % 2 == 0 ? model::kPermutes : model::kReshapes;
    const model::Chain chain =
        model::any_chain(model::of_length(model::dense(kind), 8, 20), model::Keep::All);
    const ShapeTracker simple = simplify(chain.tracker);
    const PlainIndex shortest = shapetracker::cheapest_index(simple, chain.tracker.views());
    const PlainIndex composed = plain_index(chain.tracker.views());
    if (shapetracker::cheaper(cost(composed), cost(shortest))) RC_FAIL(chain.story);
    const IndexExpr expr = shapetracker::shortest_idxs(simple, axis_indices(simple));
    if (shapetracker::cheaper(cost(expr_idxs(simple)), cost(expr))) RC_FAIL(chain.story);
    symbolic::Exprs nodes;  // the text parsed to nodes again
    std::map<std::string, symbolic::Node> names;
    for (std::size_t axis = 0; axis < chain.array.shape.size(); ++axis)
      names.emplace(shortest.indices[axis],
                    symbolic::variable(shortest.indices[axis], 0, std::int64_t{1} << 20));
    const symbolic::Node index = symbolic::parse(render(shortest.exprs, shortest.index), names),
                         valid = symbolic::parse(render(shortest.exprs, shortest.valid), names);
    for (std::int64_t i = 0; i < std::ssize(chain.array.address); i += 1 + i % 3) {
      symbolic::Values values;
      const model::Ints at = model::unravel(i, chain.array.shape);
      for (std::size_t axis = 0; axis < at.size(); ++axis)
        values[shortest.indices[axis]] = at[axis];
      const auto read = [&](const symbolic::Node& address, const symbolic::Node& condition) {
        return symbolic::evaluate(condition, values) != 0 ? symbolic::evaluate(address, values)
                                                          : -1;
      };
      const std::int64_t wanted = chain.array.address[static_cast<std::size_t>(i)];
      if (read(index, valid) != wanted || read(expr.index, expr.valid) != wanted)
        RC_FAIL(fmt::format("{}: {} if {}, or {} if {}", chain.story, render(index), render(valid),
                            render(expr.index), render(expr.valid)));
    }
  }
}

// An expression with more parts than can be counted is not expanded.
TEST(ShortestIndex, OfHundredsOfOperationsIsAText) {
  const model::ChainKind turns{400, 400, {model::Kind::Reshape, model::Kind::Permute}, true};
  const ShapeTracker st = model::chain_at(3, 0, turns, model::Keep::All).tracker;
  const ShapeTracker simple = simplify(st);
  const PlainIndex plain = shapetracker::cheapest_index(simple, st.views());
  EXPECT_LT(shapetracker::bounded_text(plain.exprs, plain.index).size(), 100U);
  EXPECT_LT(bounded_text(expr_idxs(simple).index).size(), 100U);
  EXPECT_LE(cost(plain).divisions, cost(plain_index(st.views())).divisions);
}

TEST(ShortestIndex, ConditionsOnOneIndexBecomeARangeOrAResidue) {
  const symbolic::Node x = symbolic::variable("x", 0, 20);
  // Reads every third element of a reversed axis; two of three are padding.
  const View digits = View::strided({7, 3}, {1, 0}, 0, Mask{{0, 7}, {2, 3}});
  const View row = View::contiguous({21});
  const IndexExpr one = shapetracker::shortest_idxs(ShapeTracker({digits, row}), std::vector{x});
  EXPECT_EQ(render(one.valid), "x%3 == 2");
  EXPECT_EQ(render(one.index), "x//3");
  // The same reversed, with a second mask on other digits: in effect -x%3 != 0 and x%3 != 1.
  const View back = View::strided({21}, {-1}, 20);
  const View ends = View::strided({7, 3}, {3, 1}, 0, Mask{{0, 7}, {0, 2}});
  const View starts = View::strided({7, 3}, {1, 0}, 0, Mask{{0, 7}, {0, 1}});
  const IndexExpr turned =
      shapetracker::shortest_idxs(ShapeTracker({starts, ends, back}), std::vector{x});
  EXPECT_EQ(render(turned.valid), "x%3 == 2");
  EXPECT_EQ(render(turned.index), "6 - x//3");
  const View first = View::strided({3, 7}, {0, 1}, 0, Mask{{1, 2}, {0, 7}});
  const IndexExpr run = shapetracker::shortest_idxs(ShapeTracker({first, row}), std::vector{x});
  EXPECT_EQ(render(run.index), "x - 7");
}

}  // namespace
}  // namespace touchstone
