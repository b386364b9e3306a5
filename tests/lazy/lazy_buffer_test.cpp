#include <gtest/gtest.h>

#include <limits>

#include "lazy_device.h"

namespace touchstone {
namespace {

class LazyBufferTest : public LazyTest {};

TEST_F(LazyBufferTest, MovementMakesViewsOfOneBase) {
  const auto x = counting({2, 3});
  const auto moved = x->permute(std::vector{1, 0})->pad({{1, 0}, {0, 0}})->reshape({8});
  EXPECT_FALSE(moved->is_base());
  EXPECT_EQ(moved->base_ptr(), x);
  EXPECT_EQ(moved->shape(), (Shape{8}));
}

TEST_F(LazyBufferTest, MovementThatMovesNothingGivesTheSameObject) {
  const auto x = counting({2, 3});
  EXPECT_EQ(x->reshape({2, 3}), x);
  EXPECT_EQ(x->permute(std::vector{0, 1}), x);
  EXPECT_EQ(x->expand({2, 3}), x);
  EXPECT_EQ(x->pad({{0, 0}, {0, 0}}), x);
  EXPECT_EQ(x->shrink({{0, 2}, {0, 3}}), x);
  EXPECT_EQ(x->stride(std::vector<std::int64_t>{1, 1}), x);
  EXPECT_EQ(x->permute(std::vector{1, 0})->permute(std::vector{1, 0}), x);
  EXPECT_EQ(x->reshape({6})->reshape({2, 3}), x);
}

TEST_F(LazyBufferTest, IdentitiesThatHoldBitForBitAreFolded) {
  const auto x = counting({4});
  EXPECT_EQ(mul(x, number(1, {4})), x);
  EXPECT_EQ(mul(number(1, {4}), x), x);
  EXPECT_EQ(LazyBuffer::e(Op::Div, {x, number(1, {4})}), x);
  EXPECT_EQ(LazyBuffer::e(Op::Sub, {x, number(0, {4})}), x);
  EXPECT_EQ(add(x, number(-0.0, {4})), x);
  const auto i = buffer(std::vector<int>{1, 2}, {2});
  const auto zero = LazyBuffer::constant(Scalar::of(0), {2}, "CPU");
  EXPECT_EQ(add(i, zero), i);
  EXPECT_EQ(add(zero, i), i);
}

TEST_F(LazyBufferTest, WhatChangesAZeroOrANanIsNotFolded) {
  const auto x = counting({4});
  EXPECT_NE(add(x, number(0, {4})), x);                                // -0.0 + 0.0 is 0.0
  EXPECT_NE(LazyBuffer::e(Op::Sub, {x, number(-0.0, {4})}), x);        // so is -0.0 - -0.0
  EXPECT_FALSE(mul(x, number(0, {4}))->constant_value().has_value());  // NaN * 0 is NaN
}

TEST_F(LazyBufferTest, NegAndCastOfAConstantAreConstants) {
  const auto minus = LazyBuffer::e(Op::Neg, {number(0, {2, 2})});
  EXPECT_EQ(minus->constant_value(), Scalar::of(-0.0F));
  EXPECT_EQ(number(2.75, {3})->cast(DType::Int8)->constant_value(), Scalar::of(std::int8_t{2}));
}

TEST_F(LazyBufferTest, APaddedConstantIsNoConstant) {
  const auto padded = number(1, {2})->pad({{1, 1}});
  EXPECT_FALSE(padded->constant_value().has_value());
  const auto x = counting({4});
  EXPECT_NE(mul(x, padded), x);
  EXPECT_EQ(values(mul(x, padded)), (Floats{0, 2, 3, 0}));
}

TEST_F(LazyBufferTest, NoElementsMakeAConstantAndTheIdentityOfAReduce) {
  const auto none = counting({2, 3})->shrink({{0, 2}, {1, 1}});
  EXPECT_TRUE(none->is_const_base());
  EXPECT_EQ(sum(none, {1})->constant_value(), Scalar::of(0.0F));
  EXPECT_EQ(none->r(Op::ReduceMax, {1})->constant_value(),
            Scalar::of(-std::numeric_limits<float>::infinity()));
  EXPECT_EQ(none->cast(DType::Int16)->r(Op::ReduceMax, {1})->constant_value(),
            Scalar::of(std::numeric_limits<std::int16_t>::min()));
  EXPECT_EQ(kernels({none, exp2(none)}), 0u);
}

TEST_F(LazyBufferTest, ReducesOfAConstantAreFoldedWhereExact) {
  EXPECT_EQ(sum(number(0.5, {8, 4}), {0, 1})->constant_value(), Scalar::of(16.0F));
  EXPECT_EQ(number(3, {8})->r(Op::ReduceMax, {0})->constant_value(), Scalar::of(3.0F));
  const auto bytes = LazyBuffer::constant(Scalar::of(std::int8_t{100}), {4}, "CPU");
  EXPECT_EQ(sum(bytes, {0})->constant_value(), Scalar::of(std::int8_t{-112}));
}

TEST_F(LazyBufferTest, AReduceOverAxesOfSizeOneIsNoReduce) {
  const auto x = counting({3, 1});
  EXPECT_EQ(sum(x, {1}), x);
}

TEST_F(LazyBufferTest, BadOperandsAreNamed) {
  const auto x = counting({2, 3});
  const auto i = buffer(std::vector<int>{1, 2, 3, 4, 5, 6}, {2, 3});
  EXPECT_THROW(add(x, counting({3, 2})), ShapeError);
  EXPECT_THROW(add(x, i), DTypeError);
  EXPECT_THROW(exp2(i), DTypeError);
  EXPECT_THROW(LazyBuffer::e(Op::Xor, {x, x}), DTypeError);
  EXPECT_THROW(LazyBuffer::e(Op::Where, {x, x, x}), DTypeError);
  EXPECT_THROW(LazyBuffer::e(Op::Add, {x}), Error);
  EXPECT_THROW(LazyBuffer::e(Op::Load, {}), Error);
  EXPECT_THROW(sum(x, {2}), ShapeError);
  EXPECT_THROW(sum(x, {0, 0}), ShapeError);
  EXPECT_THROW(x->bitcast(DType::Int64), DTypeError);
  EXPECT_THROW(x->reshape({5}), ShapeError);
  EXPECT_THROW(add(x, LazyBuffer::empty({2, 3}, DType::Float32, "OTHER")), BufferError);
  EXPECT_THROW(LazyBuffer::from_buffer(x->realized(), {7}), ShapeError);
}

TEST_F(LazyBufferTest, ReducesAreSplitAsInTinygrad) {
  const auto split = [](const Shape& shape, std::vector<int> axes) {
    return split_reduce(ShapeTracker::contiguous(shape), axes);
  };
  EXPECT_EQ(split({256, 128}, {0, 1}), (ReduceSplit{1, 128}));
  EXPECT_EQ(split({1024, 1024}, {0, 1}), (ReduceSplit{1, 256}));
  EXPECT_EQ(split({1 << 24}, {0}), (ReduceSplit{0, 256}));
  EXPECT_EQ(split({181, 181}, {0, 1}), std::nullopt);
  EXPECT_EQ(split({1024, 1024}, {1}), std::nullopt);
  EXPECT_EQ(split({65536, 4}, {0}), (ReduceSplit{0, 256}));
  const auto turned = ShapeTracker::contiguous({2048, 2048}).permute(std::vector{1, 0});
  EXPECT_EQ(split_reduce(turned, std::vector{0, 1}), (ReduceSplit{0, 256}));
}

}  // namespace
}  // namespace touchstone
