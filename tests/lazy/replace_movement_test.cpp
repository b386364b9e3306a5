#include "touchstone/lazy/replace_movement.h"

#include <gtest/gtest.h>

#include "lazy_device.h"

// Moves movement operations from a result to its operands.

namespace touchstone {
namespace {

using Kind = MovementOp::Kind;
using GraphOp = std::vector<MovementOp>;

class ReplaceMovement : public LazyTest {
 protected:
  // True if movement is applied to an op of the graph above memory.
  static bool moves_a_result(const LazyBufferPtr& x) {
    if (!x->is_base() && x->base().realized() == nullptr && !x->is_const_base()) return true;
    for (const LazyBufferPtr& s : x->base().srcs())
      if (moves_a_result(s)) return true;
    return false;
  }
};

TEST_F(ReplaceMovement, GivesTheSameElements) {
  const auto x = buffer(Floats{1, -2, 3, 0, 5, -6}, {2, 3}), y = counting({2, 3});
  const auto less = LazyBuffer::e(Op::CmpLt, {x, y});
  const LazyBufferPtr value = LazyBuffer::e(
      Op::Where, {less, add(x, mul(y, y)),
                  LazyBuffer::e(Op::Neg, {x})->cast(DType::Int32)->cast(DType::Float32)});
  const std::vector<GraphOp> ways = {
      {},
      {{.kind = Kind::Permute, .order = {1, 0}}},
      {{.kind = Kind::Reshape, .shape = {3, 2}}, {.kind = Kind::Permute, .order = {1, 0}}},
      {{.kind = Kind::Shrink, .ends = {{0, 1}, {1, 3}}}, {.kind = Kind::Expand, .shape = {4, 2}}},
      {{.kind = Kind::Stride, .steps = {-1, 2}}},
      {{.kind = Kind::Shrink, .ends = {{0, 0}, {0, 3}}}},
      {{.kind = Kind::Reshape, .shape = {1, 6}},
       {.kind = Kind::Expand, .shape = {2, 6}},
       {.kind = Kind::Stride, .steps = {1, -1}}}};
  for (const GraphOp& ops : ways) {
    LazyBufferPtr wanted = value;
    for (const MovementOp& op : ops)
      wanted = op.kind == Kind::Permute   ? wanted->permute(op.order)
               : op.kind == Kind::Reshape ? wanted->reshape(op.shape)
               : op.kind == Kind::Expand  ? wanted->expand(op.shape)
               : op.kind == Kind::Shrink  ? wanted->shrink(op.ends)
                                          : wanted->stride(op.steps);
    const LazyBufferPtr got = replace_with_movement_ops(value, ops);
    EXPECT_EQ(got->shape(), wanted->shape());
    EXPECT_FALSE(moves_a_result(got));
    if (elements(got->shape()) != sint(0)) {
      EXPECT_EQ(values(got), values(wanted));
    }
  }
}

TEST_F(ReplaceMovement, PaddingStaysAboveWhatMakesSomethingOfZeros) {
  const GraphOp pad = {{.kind = Kind::Pad, .ends = {{1, 2}}}};
  const auto x = counting({3});
  const auto below = replace_with_movement_ops(mul(x, x), pad);
  EXPECT_FALSE(moves_a_result(below));
  EXPECT_EQ(values(below), (Floats{0, 1, 4, 9, 0, 0}));
  const auto above = replace_with_movement_ops(LazyBuffer::e(Op::Exp2, {x}), pad);
  EXPECT_TRUE(moves_a_result(above));
  EXPECT_EQ(values(above), (Floats{0, 2, 4, 8, 0, 0}));
}

TEST_F(ReplaceMovement, EndsAtReducesAndMemory) {
  const GraphOp turn = {{.kind = Kind::Permute, .order = {1, 0}}};
  const auto total = sum(counting({2, 3}), {1});
  EXPECT_EQ(values(replace_with_movement_ops(add(total, total), turn)), (Floats{12, 30}));
  const auto kept = add(counting({2, 1}), counting({2, 1}))->contiguous();
  const auto turned = replace_with_movement_ops(add(kept, kept), turn);
  EXPECT_EQ(values(turned), (Floats{4, 8}));
}

TEST_F(ReplaceMovement, TakesLongAndSharedGraphs) {
  LazyBufferPtr x = counting({2, 2}), tree = x;
  for (int i = 0; i < 20'000; ++i) x = add(x, counting({2, 2}));
  for (int i = 0; i < 40; ++i) tree = add(mul(tree, tree), tree);  // 2^40 as a tree
  const GraphOp turn = {{.kind = Kind::Permute, .order = {1, 0}}};
  EXPECT_EQ(replace_with_movement_ops(x, turn)->shape(), (Shape{2, 2}));
  EXPECT_EQ(values(replace_with_movement_ops(tree, turn))[0], values(tree)[0]);
  EXPECT_THROW(replace_with_movement_ops(
                   x, GraphOp{{.kind = Kind::AsStrided, .shape = {2}, .strides = {1}}}),
               ShapeError);
  EXPECT_THROW(replace_with_movement_ops(x, GraphOp{{.kind = Kind::Permute, .order = {0, 0}}}),
               ShapeError);
}

}  // namespace
}  // namespace touchstone
