// Axes of one element whose index is valid only for some values of a variable.
#include <gtest/gtest.h>

#include "chains.h"
#include "touchstone/shapetracker/index/index_expr.h"
#include "touchstone/shapetracker/merge/simplify.h"

namespace touchstone {
namespace {

using model::Ints;

sint n() { return symbolic::variable("n", 0, 5); }

/// Element n of four, or padding where n is 4 or 5.
ShapeTracker element_n() {
  return ShapeTracker::contiguous({4}).pad(Padding{{0, 2}}).shrink(Mask{{n(), n() + 1}});
}

// Every element reads address n, or padding from n = 4 on: when bound, merged, and as expressions.
void expect_reads_n(const ShapeTracker& tracker) {
  for (std::int64_t value = 0; value <= 5; ++value) {
    const std::int64_t right = value < 4 ? value : -1;
    for (const ShapeTracker& same : {tracker, merge_outermost(tracker), simplify(tracker)}) {
      const ShapeTracker bound = same.bind({{"n", value}});
      for (const std::int64_t address : model::materialise(bound).address)
        EXPECT_EQ(address, right) << "n = " << value << ": " << same.str();
      const IndexExpr expr = expr_node(same);
      symbolic::Values point{{"n", value}};
      for (std::int64_t i = 0; i < bound.size().as_int(); ++i) {
        point["idx"] = i;
        const bool valid = symbolic::evaluate(expr.valid, point) != 0;
        EXPECT_EQ(valid ? symbolic::evaluate(expr.index, point) : -1, right) << same.str();
      }
    }
  }
}

TEST(OneElement, KeepsASymbolicMaskWhenItGrows) { expect_reads_n(element_n().expand({3})); }
TEST(OneElement, KeepsASymbolicMaskAmongOnes) { expect_reads_n(element_n().reshape({1, 1})); }
TEST(OneElement, KeepsASymbolicMaskAsAScalar) { expect_reads_n(element_n().reshape({})); }
TEST(OneElement, KeepsASymbolicMaskGrownAndReshaped) {
  expect_reads_n(element_n().expand({6}).reshape({2, 3}));
  expect_reads_n(element_n().reshape({1, 1}).expand({2, 3}).permute(std::vector{1, 0}));
  expect_reads_n(element_n().expand({6}).shrink(Mask{{2, 5}}).stride(Ints{-1}));
}

TEST(OneElement, OfThreeAxesEachMaskedByItsVariable) {
  const sint a = symbolic::variable("a", 0, 2), b = symbolic::variable("b", 0, 2);
  const ShapeTracker tracker = ShapeTracker::contiguous({2, 2})
                                   .pad(Padding{{0, 1}, {1, 0}})
                                   .shrink(Mask{{a, a + 1}, {b, b + 1}})
                                   .reshape({1})
                                   .expand({5});
  for (std::int64_t i = 0; i <= 2; ++i)
    for (std::int64_t j = 0; j <= 2; ++j)
      for (const ShapeTracker& same : {tracker, simplify(tracker)})
        for (const std::int64_t address :
             model::materialise(same.bind({{"a", i}, {"b", j}})).address)
          EXPECT_EQ(address, i < 2 && j > 0 ? i * 2 + j - 1 : -1) << same.str();
}

TEST(Bind, RefusesWhatIsOutOfBounds) {
  EXPECT_THROW(element_n().bind({{"n", 6}}), ShapeError);
  EXPECT_THROW(element_n().bind({{"n", -1}}), ShapeError);
  EXPECT_NO_THROW(element_n().bind({{"m", 99}}));
}

}  // namespace
}  // namespace touchstone
