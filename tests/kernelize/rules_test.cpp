#include "touchstone/kernelize/rules.h"

#include <gtest/gtest.h>

#include <gmock/gmock.h>

#include "touchstone/kernelize/elements.h"
#include "touchstone/kernelize/kernels.h"
#include "touchstone/kernelize/multi.h"
#include "touchstone/uop/rewrite.h"

namespace touchstone::kernelize {
namespace {

// A graph's text, independent of buffer names.
std::string shape_of(const UOp& u) {
  std::string text;
  UOpMap<std::size_t> number;
  for (const UOp& n : u.toposort()) {
    const std::size_t at = number.size();
    number.emplace(n, at);
    text += n.op() == GraphOp::Unique ? "UNIQUE" : n.line();
    for (const UOp& s : n.src()) text += fmt::format(" %{}", *number.find(s));
    text += "\n";
  }
  return text;
}

void hold(const PatternMatcher& rules, std::size_t without) {
  for (const auto& rule : rules.rules()) {
    if (!rule->examples) {
      ASSERT_GT(without--, 0U) << rule->name << " has no example";
      continue;
    }
    EXPECT_FALSE(rule->why.empty()) << rule->name;
    const PatternMatcher alone({*rule});
    for (const RuleExample& e : rule->examples()) {
      Simplifying shared{Config::current()};
      const UOp got = alone.rewrite(e.before, RewriteContext(shared));
      if (!e.after)
        EXPECT_FALSE(got) << rule->name << " should leave\n"
                          << e.before.str() << "gives\n"
                          << got.str();
      else if (!got)
        ADD_FAILURE() << rule->name << " leaves\n" << e.before.str();
      else
        EXPECT_EQ(shape_of(got), shape_of(e.after)) << rule->name << " of\n" << e.before.str();
    }
  }
}

TEST(Rules, GiveWhatTheirExamplesSayAndLeaveTheNearestOther) {
  hold(merge_views(), 0);
  hold(arithmetic(), 0);
  hold(simplify_tensors(), 0);
  hold(fuse(), 0);
  hold(replace_contiguous(), 2);  // below
  hold(shard_rules(), 0);
  hold(allreduce_rules(), 0);
  hold(placement_rules(), 0);
  hold(stored_stacks(), 0);
}

UOp array(const Shape& shape, DType d = DType::Float32) {
  return as_shape(UOp::new_buffer(UOp::device("HOST"), max_elements(shape), d), shape);
}

UOp simplified(const UOp& u) {
  Simplifying shared{Config::current()};
  return graph_rewrite(u, simplification(), RewriteContext(shared));
}

TEST(Rules, WhatIsStoredIsReadInsteadOfComputedAgain) {
  const UOp s = array({2, 3}).alu(GraphOp::Sin);
  const UOp stored = s.permute({1, 0}).contiguous();
  const UOp reader = s.alu(GraphOp::Neg);
  const UOp both = simplified(UOp::sink({stored, reader}));
  EXPECT_EQ(both.src(1).src(0).base().op(), GraphOp::Contiguous);
  EXPECT_EQ(both.src(1).src(0).shape(), (Shape{2, 3}));
}

TEST(Rules, FoldsOfFloatsThatAreWrongAreNotMade) {
  const UOp x = array({4}), y = array({4});
  EXPECT_EQ(simplified(x.alu(GraphOp::Fdiv, {x})).op(), GraphOp::Fdiv);
  EXPECT_EQ(simplified(x.alu(GraphOp::Mul, {y}).alu(GraphOp::Fdiv, {y})).op(), GraphOp::Fdiv);
  EXPECT_EQ(simplified(x.alu(GraphOp::Mul, {x.const_like(0.0)})).op(), GraphOp::Mul);
  EXPECT_EQ(simplified(x.alu(GraphOp::Add, {x.const_like(0.0)})).op(), GraphOp::Add);
}

TEST(Rules, ACopyOfAPaddedConstantStaysPadded) {
  const UOp c = array({2}).const_like(3.0).pad({{1, 1}});
  const UOp there = simplified(c.copy_to(UOp::device("THERE")));
  ASSERT_EQ(there.op(), GraphOp::View);
  EXPECT_TRUE(there.arg_as<ShapeTracker>().masked());
  EXPECT_EQ(there.base().op(), GraphOp::Const);
  EXPECT_EQ(there.device(), std::vector<std::string>{"THERE"});
}

TEST(Split, TakesTheFirstAxisThatHasADivisorAndWhoseNeighboursLieApart) {
  const Config config;
  const std::vector<int> one = {0}, both = {0, 1};
  EXPECT_EQ(split_of(ShapeTracker::contiguous({32768}), one, config), (Split{0, 256}));
  EXPECT_EQ(split_of(ShapeTracker::contiguous({32767}), one, config), std::nullopt);
  EXPECT_EQ(split_of(ShapeTracker::contiguous({8 * 4099}), one, config), (Split{0, 8}));
  EXPECT_EQ(split_of(ShapeTracker::contiguous({7 * 4999}), one, config), std::nullopt);
  const ShapeTracker copies = ShapeTracker::contiguous({1, 512}).expand({128, 512});
  EXPECT_EQ(split_of(copies, both, config), (Split{1, 256}));
  const std::vector<int> last = {1};
  EXPECT_EQ(split_of(ShapeTracker::contiguous({1 << 16, 32768}), last, config), (Split{1, 64}));
  // Each part has fewer terms than the whole, so splitting ends at any threshold.
  Config least;
  least.reduceop_split_threshold = 2;
  EXPECT_EQ(split_of(ShapeTracker::contiguous({9}), one, least), std::nullopt);
  EXPECT_EQ(split_of(ShapeTracker::contiguous({144}), one, least), (Split{0, 72}));
  // With ranges, many rows are not split.
  Config ranges;
  ranges.scheduler = Scheduler::Ranges;
  EXPECT_EQ(split_of(ShapeTracker::contiguous({256, 65536}), last, ranges), std::nullopt);
  EXPECT_EQ(split_of(ShapeTracker::contiguous({255, 65536}), last, ranges), (Split{1, 256}));
  Config off;
  off.kernelize.split_reduceop = false;
  EXPECT_EQ(split_of(ShapeTracker::contiguous({32768}), one, off), std::nullopt);
}

TEST(Rules, ASplitReduceHasTheShapeOfTheWhole) {
  const UOp x = array({2, 32768}, DType::Int32).reduce(GraphOp::Add, {1});
  const UOp split = simplified(x);
  EXPECT_EQ(split.shape(), (Shape{2, 1}));
  int reduces = 0;
  for (const UOp& u : split.toposort()) reduces += u.op() == GraphOp::ReduceAxis ? 1 : 0;
  EXPECT_EQ(reduces, 2);
}

}  // namespace
}  // namespace touchstone::kernelize
