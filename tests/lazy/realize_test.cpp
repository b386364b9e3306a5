#include <gtest/gtest.h>

#include <cmath>

#include "lazy_device.h"
#include "touchstone/device/config.h"
#include "touchstone/device/threefry.h"

namespace touchstone {
namespace {

class Realize : public LazyTest {};

TEST_F(Realize, GivesTheBaseItsBufferAndDropsTheGraph) {
  const auto x = counting({3});
  std::weak_ptr<LazyBuffer> middle;
  const auto out = [&] {
    const auto doubled = add(x, x);
    middle = doubled;
    return exp2(doubled);
  }();
  EXPECT_FALSE(middle.expired());
  realize(std::vector{out});
  EXPECT_TRUE(middle.expired());
  EXPECT_TRUE(out->srcs().empty());
  EXPECT_EQ(out->realized()->read<float>(), (Floats{4, 16, 64}));
  const auto before = out->realized();
  realize(std::vector{out});
  EXPECT_EQ(out->realized(), before);
}

TEST_F(Realize, IntermediateBuffersAreFreedAfterTheirLastUse) {
  const std::int64_t before = counters().mem_used;
  LazyBufferPtr x = counting({1024});
  for (int i = 0; i < 8; ++i) x = mul(x, number(0.5, {1024}))->contiguous();
  std::int64_t most = 0;
  struct Watch final : ExecutionObserver {
    explicit Watch(std::int64_t& most) : most_(most) {}
    void ran(const ScheduleItem&, Device&, std::span<Buffer* const>, double) override {
      most_ = std::max(most_, counters().mem_used);
    }
    std::int64_t& most_;
  } watch(most);
  {
    const ObserverScope scope(watch);
    realize(std::vector{x});
  }
  EXPECT_LE(most - before, 3 * 4096);
  x.reset();
  EXPECT_EQ(counters().mem_used, before);
}

TEST_F(Realize, PaddingIsZeroWhateverOpsMakeOfZeros) {
  const auto x = counting({3});
  const auto padded = exp2(x)->pad({{1, 1}});
  EXPECT_EQ(kernels({add(padded, number(0, {5}))}), 1u);
  {
    Config apart;
    apart.set(Switch::ShufflePadOps, false);
    const ConfigScope scope(apart);
    EXPECT_EQ(kernels({add(padded, number(0, {5}))}), 2u);
  }
  EXPECT_EQ(values(padded), (Floats{0, 2, 4, 8, 0}));
  const auto product = mul(x, x)->pad({{1, 1}});
  EXPECT_EQ(kernels({add(product, number(0, {5}))}), 1u);
  EXPECT_EQ(values(product), (Floats{0, 1, 4, 9, 0}));
  // Padding and cropping the other side keeps the size, but is still a pad.
  const auto shifted = exp2(x)->pad({{2, 0}})->shrink({{0, 3}});
  EXPECT_EQ(values(shifted), (Floats{0, 0, 2}));
  const auto negated = LazyBuffer::e(Op::Neg, {x})->pad({{1, 0}});
  EXPECT_FALSE(std::signbit(values(negated)[0]));
  EXPECT_EQ(values(add(x, number(5, {3}))->pad({{1, 0}})), (Floats{0, 6, 7, 8}));
}

TEST_F(Realize, ReducesOfPaddedWorkSeeZeros) {
  const auto x = counting({3});
  const auto padded = LazyBuffer::e(Op::Recip, {x})->pad({{3, 2}})->reshape({2, 4});
  EXPECT_EQ(values(padded->r(Op::ReduceMax, {1})), (Floats{1, 0.5}));
}

TEST_F(Realize, CopiesBetweenDevices) {
  const auto x = counting({2, 3});
  const auto far = x->permute(std::vector{1, 0})->copy_to_device("CLANG");
  EXPECT_EQ(far->device(), "CLANG");
  realize(std::vector{far});
  EXPECT_EQ(far->realized()->read<float>(), (Floats{1, 4, 2, 5, 3, 6}));
  EXPECT_EQ(values(far->copy_to_device("CPU:0")), (Floats{1, 4, 2, 5, 3, 6}));
  const auto flat = add(x, x)->reshape({6})->copy_to_device("clang");
  EXPECT_EQ(flat->shape(), (Shape{6}));
  EXPECT_EQ(kernels({flat}), 1u);
  EXPECT_EQ(x->copy_to_device("cpu"), x);
}

TEST_F(Realize, RandomIsTheStreamOfItsSeed) {
  const auto r = LazyBuffer::random({42, 10}, {2, 3}, "CPU");
  Floats expected(6);
  random_uniform(42, 10, expected);
  EXPECT_EQ(values(r), expected);
}

TEST_F(Realize, AConstantThatMustBeContiguousGetsMemory) {
  EXPECT_EQ(values(number(2.5, {2, 2})), (Floats{2.5, 2.5, 2.5, 2.5}));
  EXPECT_EQ(values(number(2.5, {2})->pad({{1, 0}})), (Floats{0, 2.5, 2.5}));
}

TEST_F(Realize, ShowsEveryItemToTheInnermostObserver) {
  struct Log final : ExecutionObserver {
    void ran(const ScheduleItem& item, Device& device, std::span<Buffer* const> buffers,
             double seconds) override {
      text += fmt::format("{} {} {};", name(item.kind), device.name(), buffers.size());
      if (item.kind == Op::Store) last = buffers[0]->read<float>();
      EXPECT_GE(seconds, 0);
    }
    std::string text;
    Floats last;
  } outer, inner;
  const ObserverScope outer_scope(outer);
  const auto r = LazyBuffer::random({1, 0}, {2}, "CPU");
  {
    const ObserverScope inner_scope(inner);
    realize(std::vector{r});
  }
  realize(std::vector{mul(r, number(0, {2}))});
  EXPECT_EQ(inner.text, "RAND CPU 1;");
  EXPECT_EQ(outer.text, "STORE CPU 2;");
  EXPECT_EQ(outer.last, (Floats{0, 0}));
}

TEST_F(Realize, WhatRanBeforeAnErrorStays) {
  const auto good = exp2(counting({2}));
  const auto lost = LazyBuffer::empty({2}, DType::Float32, "NOWHERE");
  EXPECT_THROW(realize(std::vector{good, lost}), Error);
  EXPECT_EQ(values(good), (Floats{2, 4}));
}

// All constants of one value on a device are views of one node.
TEST_F(Realize, NothingOnSeveralDevicesLeavesConstantsAsTheyAre) {
  const auto zero = [](const Shape& shape, const char* device) {
    return LazyBuffer::constant(Scalar::from_int(DType::Float32, 0), shape, device);
  };
  const std::string devices[] = {"CPU", "CPU:1"};
  const auto zeros = zero({2}, "CPU");
  const auto nothing = LazyBuffer::stack({zero({0, 2}, "CPU"), zero({0, 2}, "CPU:1")},
                                         Device::tuple(devices), {0, 2}, 0);
  realize(std::vector{nothing});
  EXPECT_TRUE(to_host(nothing).bytes.empty());
  EXPECT_EQ(values(zeros), (Floats{0, 0}));
}

TEST_F(Realize, SymbolicShapesRunForEveryValue) {
  const sint n(symbolic::variable("n", 1, 4));
  const auto x = counting({4, 2});
  for (const std::int64_t rows : {1, 3, 4}) {
    const auto total = sum(x->shrink({{0, n}, {0, 2}}), {0});
    realize(std::vector{total}, {{"n", rows}});
    const auto r = static_cast<float>(rows);
    EXPECT_EQ(total->realized()->read<float>(), (Floats{r * r, r * r + r}));
  }
}

TEST_F(Realize, AChainOf100000NodesIsFreedWithoutADeepStack) {
  LazyBufferPtr x = counting({2});
  for (int i = 0; i < 100000; ++i) x = exp2(x)->reshape({2, 1})->reshape({2});
  x.reset();
  SUCCEED();
}

}  // namespace
}  // namespace touchstone
