#include "touchstone/uop/uop.h"

#include <gtest/gtest.h>

#include <thread>

#include <gmock/gmock.h>

#include "graphs.h"
#include "touchstone/uop/uop_map.h"

namespace touchstone {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(UOp, EqualPartsAreOneNode) {
  const UOp x = buffer(6);
  EXPECT_EQ(x.alu(GraphOp::Exp2), x.alu(GraphOp::Exp2));
  EXPECT_NE(x.alu(GraphOp::Exp2), x.alu(GraphOp::Sin));
  EXPECT_EQ(x.reshape({2, 3}), x.reshape({2, 3}));
  EXPECT_NE(x.reshape({2, 3}), x.reshape({3, 2}));
  EXPECT_NE(buffer(6), buffer(6));  // UNIQUE
}

TEST(UOp, TheTagDistinguishesAndMetadataDoesNot) {
  const UOp x = buffer(6), y = x.alu(GraphOp::Exp2);
  EXPECT_NE(y, y.with_tag(1));
  EXPECT_NE(y.with_tag(0), y.with_tag(1));
  EXPECT_EQ(y.with_tag(1).with_tag({}), y);
  y.set_metadata({{"exp2", "here"}});
  EXPECT_EQ(y, x.alu(GraphOp::Exp2));
  EXPECT_EQ(x.alu(GraphOp::Exp2).metadata()->at(0).name, "exp2");
  const UOpMetadata more = {{"exp2", "here"}, {"exp2", "there"}};
  y.add_metadata(more);
  EXPECT_EQ(y.metadata()->size(), 2U);  // each once
}

TEST(UOp, ConstantsOfEqualValueAndOtherBitsAreOtherNodes) {
  EXPECT_NE(number(0.0), number(-0.0));
  EXPECT_NE(UOp::constant(Scalar::of(false)), UOp::constant(Scalar::from_int(DType::Int32, 0)));
}

TEST(UOp, ANodeDiesWhenNobodyHoldsIt) {
  const std::int64_t before = living_uops();
  {
    const UOp x = buffer(4);
    const UOp y = x.alu(GraphOp::Sin).alu(GraphOp::Neg);
    EXPECT_EQ(living_uops(), before + 4);  // with UNIQUE
  }
  EXPECT_EQ(living_uops(), before);
}

TEST(UOp, NothingRecurses) {
  constexpr int kLong = 1'000'000;
  const std::int64_t before = living_uops();
  {
    UOp x = buffer(4);
    for (int i = 0; i < kLong; ++i) x = x.alu(i % 2 == 0 ? GraphOp::Sin : GraphOp::Neg);
    EXPECT_EQ(x.shape(), Shape{4});
    EXPECT_EQ(x.device(), std::vector<std::string>{"HOST"});
    EXPECT_EQ(x.toposort().size(), static_cast<std::size_t>(kLong) + 3);
    UOp y = buffer(4);
    for (int i = 0; i < kLong / 10; ++i) y = y.ask(i % 2 == 0 ? GraphOp::Detach : GraphOp::Fuse);
    EXPECT_EQ(y.size(), sint(4));
  }
  EXPECT_EQ(living_uops(), before);
}

TEST(UOp, ThreadsMeetTheSameNodes) {
  const std::int64_t before = living_uops();
  {
    const UOp x = buffer(4);
    std::vector<UOp> made(4);
    std::vector<std::thread> threads;
    for (std::size_t t = 0; t < made.size(); ++t)
      threads.emplace_back([&, t] {
        for (int round = 0; round < 200; ++round) {
          UOp y = x;
          for (int i = 0; i < 50; ++i) y = y.alu(i % 3 == 0 ? GraphOp::Sin : GraphOp::Neg);
          EXPECT_EQ(y.shape(), Shape{4});
          made[t] = y;
        }
      });
    for (std::thread& t : threads) t.join();
    for (const UOp& y : made) EXPECT_EQ(y, made[0]);
  }
  EXPECT_EQ(living_uops(), before);
}

TEST(UOp, MovementThatMovesNothingIsTheNodeItself) {
  const UOp x = buffer(6).reshape({2, 3});
  EXPECT_EQ(x.reshape({2, 3}), x);
  EXPECT_EQ(x.expand({2, 3}), x);
  EXPECT_EQ(x.permute({0, 1}), x);
  EXPECT_EQ(x.pad({{0, 0}, {0, 0}}), x);
  EXPECT_EQ(x.shrink({{0, 2}, {0, 3}}), x);
  EXPECT_EQ(x.flip({}), x);
  EXPECT_EQ(x.reshape({1, 6}).permute({1, 0}).op(), GraphOp::Permute);
  EXPECT_EQ(x.cast(DType::Float32), x);
}

TEST(UOp, MovementMovesTheTracker) {
  const UOp x = buffer(6).reshape({2, 3});
  const ShapeTracker st = ShapeTracker::contiguous({6}).reshape({2, 3});
  EXPECT_EQ(x.tracker(), st);
  const std::vector<int> turn = {1, 0}, last = {1};
  EXPECT_EQ(x.permute({1, 0}).tracker(), st.permute(turn));
  EXPECT_EQ(x.pad({{1, 0}, {0, 2}}).tracker(), st.pad({{1, 0}, {0, 2}}));
  EXPECT_EQ(x.shrink({{0, 1}, {1, 3}}).tracker(), st.shrink({{0, 1}, {1, 3}}));
  EXPECT_EQ(x.flip({1}).tracker(), st.flip(last));
  EXPECT_EQ(x.reshape({2, 3, 1}).expand({2, 3, 4}).shape(), (Shape{2, 3, 4}));
  EXPECT_EQ(x.permute({1, 0}).base().op(), GraphOp::Buffer);
}

TEST(UOp, ReduceSortsItsAxesAndDropsThoseOfSizeOne) {
  const UOp x = buffer(6).reshape({2, 1, 3});
  EXPECT_EQ(x.reduce(GraphOp::Add, {2, 1, 0}).arg_as<UOpReduce>().axes, (std::vector<int>{0, 2}));
  EXPECT_EQ(x.reduce(GraphOp::Add, {1}), x);
  EXPECT_EQ(x.reduce(GraphOp::Add, {}), x);
  EXPECT_EQ(x.reduce(GraphOp::Max, {2}).shape(), (Shape{2, 1, 1}));
  EXPECT_THROW(x.reduce(GraphOp::Add, {3}), ShapeError);
}

TEST(UOp, ShapesMayBeSymbolic) {
  const sint n(symbolic::variable("n", 1, 8));
  const UOp whole = buffer(16).reshape({8, 2});
  const UOp x = whole.shrink({{0, n}, {0, 2}});
  EXPECT_EQ(x.alu(GraphOp::Exp2).shape(), (Shape{n, 2}));
  EXPECT_EQ(x.reduce(GraphOp::Add, {0}).shape(), (Shape{1, 2}));
  EXPECT_EQ(x.size(), n * sint(2));
}

TEST(UOp, ConstLikeHasTypeShapeAndDevice) {
  const UOp x = buffer(6, DType::Int32).reshape({2, 3});
  const UOp c = x.const_like(2.0);
  EXPECT_EQ(c.value(), Scalar::from_int(DType::Int32, 2));
  EXPECT_EQ(c.shape(), x.shape());
  EXPECT_EQ(c.device(), x.device());
}

TEST(UOp, SourcesOfOtherShapesAreAnErrorThatNamesThem) {
  const UOp sum = buffer(6).alu(GraphOp::Add, {buffer(5)});
  try {
    sum.st();
    FAIL();
  } catch (const ShapeError& e) {
    EXPECT_THAT(e.what(), HasSubstr("ADD: sources of shapes (6,) and (5,)"));
  }
  EXPECT_THROW(sum.alu(GraphOp::Neg).st(), ShapeError);
  EXPECT_THROW(buffer(6).reshape({4}), ShapeError);
  EXPECT_THROW(UOp::make(GraphOp::Sin, DType::Float32, {UOp()}), AstError);
}

TEST(UOp, DevicesBuffersAndSizes) {
  const UOp several = UOp::device(std::vector<std::string>{"A", "B"});
  const UOp on_two = UOp::new_buffer(several, 4, DType::Float32);
  EXPECT_THAT(on_two.device(), ElementsAre("A", "B"));
  const UOp second = UOp::make(GraphOp::MSelect, DType::Float32, {on_two}, std::int64_t{1});
  EXPECT_THAT(second.device(), ElementsAre("B"));
  EXPECT_EQ(second.buf_uop(), second);
  const UOp a = buffer(4), b = UOp::new_buffer(UOp::device("B"), 4, DType::Float32);
  const UOp stack = UOp::make(GraphOp::MStack, DType::Float32, {a, b});
  EXPECT_THAT(stack.device(), ElementsAre("HOST", "B"));
  EXPECT_THAT(a.copy_to(UOp::device("C")).device(), ElementsAre("C"));
  EXPECT_EQ(a.reshape({2, 2}).assign(b.reshape({2, 2})).buf_uop(), a);
  EXPECT_THROW(a.alu(GraphOp::Sin).buf_uop(), AstError);
  const UOp part = UOp::make(GraphOp::BufferView, DType::Float32, {a}, Mask{{1, 2}});
  EXPECT_EQ(part.size(), sint(2));
  EXPECT_TRUE(UOp::constant(Scalar::of(1.0F)).device().empty());
}

TEST(UOp, AxesOfShards) {
  const UOp several = UOp::device(std::vector<std::string>{"A", "B"});
  const UOp shard = UOp::new_buffer(several, 6, DType::Float32).reshape({2, 3});
  const UOp x = UOp::make(GraphOp::Multi, DType::Float32, {shard}, std::int64_t{0});
  EXPECT_EQ(x.shape(), (Shape{4, 3}));
  EXPECT_EQ(x.axis(), 0);
  EXPECT_EQ(x.permute({1, 0}).axis(), 1);
  EXPECT_EQ(x.reduce(GraphOp::Add, {0}).axis(), std::nullopt);
  EXPECT_EQ(x.reduce(GraphOp::Add, {1}).axis(), 0);
  EXPECT_EQ(x.reshape({1, 4, 3}).axis(), 1);
  EXPECT_EQ(x.reshape({2, 2, 3}).axis(), 0);
  EXPECT_EQ(x.permute({1, 0}).reshape({3, 4, 1}).axis(), 1);
  EXPECT_THROW((void)x.permute({1, 0}).reshape({4, 3}).axis(), AstError);
  EXPECT_EQ(x.alu(GraphOp::Neg).axis(), 0);
}

TEST(UOp, BitcastRescalesTheLastAxis) {
  const UOp x = buffer(6).reshape({2, 3});
  EXPECT_EQ(x.bitcast(DType::Int16).shape(), (Shape{2, 6}));
  EXPECT_THROW(x.bitcast(DType::Float64).st(), ShapeError);
}

TEST(UOp, ToposortTakesSourcesFirstLeftToRightAndHonoursTheGate) {
  const UOp a = buffer(2), b = buffer(2), s = a.alu(GraphOp::Sin), sum = s.alu(GraphOp::Add, {b});
  const std::vector<UOp> order = sum.toposort();
  EXPECT_EQ(order.size(), 7U);
  EXPECT_EQ(order.back(), sum);
  EXPECT_EQ(order[3], s);
  EXPECT_EQ(order[5], b);
  const auto gated = sum.toposort([&](const UOp& u) { return u != s; });
  EXPECT_EQ(gated.size(), 4U);  // without s, and a under it
}

TEST(UOp, OpTables) {
  EXPECT_FALSE(info(GraphOp::Mod).keeps_zero);
  EXPECT_FALSE(info(GraphOp::Threefry).keeps_zero);
  EXPECT_FALSE(info(GraphOp::Recip).keeps_zero);
  EXPECT_TRUE(info(GraphOp::Add).keeps_zero);
  EXPECT_TRUE(always_contiguous(GraphOp::Gbarrier));
  EXPECT_FALSE(always_contiguous(GraphOp::Kernel));
}

TEST(UOp, ImagesAreTypesOfTheirOwnAndFloatsInArithmetic) {
  const UOp x = buffer(24);
  const UOpType half = UOpType::image(DType::Float16, 2, 3);
  const std::vector<UOpType> images{half, UOpType::image(DType::Float32, 2, 3),
                                    UOpType::image(DType::Float16, 3, 2),
                                    UOpType::image(DType::Float16, 1, 6), DType::Float32};
  for (const UOpType& a : images)
    for (const UOpType& b : images)
      EXPECT_EQ(UOp::make(GraphOp::Cast, a, {x}) == UOp::make(GraphOp::Cast, b, {x}), &a == &b);
  const ImageDType of(DType::Float16, {2, 3, 4});
  EXPECT_EQ(UOpType::image(of), half);
  EXPECT_EQ(half.image_dtype(), of);
  EXPECT_EQ(half.base, DType::Float32);
  const UOp i = UOp::make(GraphOp::Buffer, half, {UOp::unique(), kHost}, std::int64_t{24});
  EXPECT_EQ(i.line(), "BUFFER imageh((2, 3, 4)) 24");
  EXPECT_EQ(UOpType::image(DType::Float32, 1, 2).str(), "imagef((1, 2, 4))");
  EXPECT_EQ(i.reshape({2, 3, 4}).permute({1, 0, 2}).dtype(), half);
  EXPECT_EQ(add(i, x).dtype(), UOpType(DType::Float32));
  EXPECT_EQ(i.reduce(GraphOp::Add, {0}).dtype(), UOpType(DType::Float32));
  EXPECT_THROW((void)UOpType::image(DType::Int8, 2, 3).image_dtype(), DTypeError);
  EXPECT_THROW((void)UOpType::image(DType::Float16, 0, 3).image_dtype(), ShapeError);
}

TEST(UOp, TextSaysTheGraph) {
  const UOp x = number(2);
  EXPECT_EQ(x.alu(GraphOp::Add, {x}).str(), "   0 CONST f32 2.0\n   1 ADD f32 %0 %0\n");
}

}  // namespace
}  // namespace touchstone
