#include <gtest/gtest.h>

#include <gmock/gmock.h>

#include "lazy_device.h"
#include "touchstone/device/config.h"

namespace touchstone {
namespace {

using Outputs = std::vector<LazyBufferPtr>;

Config kernelizing() {
  Config config;
  config.scheduler = Scheduler::Kernelize;
  return config;
}

struct KernelizedTest : LazyTest {
  static std::size_t count(const Outputs& outputs, const Config& config = kernelizing()) {
    const ConfigScope scope(config);
    return kernels(outputs);
  }
  static Floats computed(const LazyBufferPtr& x, const Config& config = kernelizing()) {
    const ConfigScope scope(config);
    return values(x);
  }
  static LazyBufferPtr relu(const LazyBufferPtr& x) {
    return LazyBuffer::e(Op::Max, {x, number(0, x->shape())});
  }
};

TEST_F(KernelizedTest, ReducesAndWhatFollowsThem) {
  const auto x = [] { return counting({4, 8}); };
  EXPECT_EQ(count({relu(sum(x(), {1}))}), 1U);
  EXPECT_EQ(count({add(sum(x(), {1}), sum(exp2(x()), {1}))}), 2U);
  const std::vector<int> turn = {1, 0};
  const auto y = x(), s = sum(y, {1});
  EXPECT_EQ(count({add(s->reshape({2, 2})->permute(turn), counting({2, 2}))}), 2U);
  EXPECT_EQ(count({sum(sum(x(), {1})->reshape({2, 2}), {0})}), 2U);
  EXPECT_EQ(computed(relu(sum(x(), {1}))), (Floats{36, 100, 164, 228}));
  EXPECT_EQ(computed(add(s->reshape({2, 2})->permute(turn), counting({2, 2}))),
            (Floats{37, 166, 103, 232}));
}

TEST_F(KernelizedTest, PadsThatWouldBeFilledWithAnotherNumber) {
  const auto x = counting({3});
  EXPECT_EQ(count({sum(exp2(x)->pad({{1, 2}}), {0})}), 2U);
  EXPECT_EQ(count({sum(add(x, x)->pad({{1, 2}}), {0})}), 1U);
  EXPECT_EQ(computed(sum(exp2(x)->pad({{1, 2}}), {0})), Floats{14});
  EXPECT_EQ(computed(LazyBuffer::e(Op::Neg, {x})->pad({{1, 0}})), (Floats{0, -1, -2, -3}));
  const auto zeros = mul(x, number(0, {3}));
  EXPECT_EQ(computed(LazyBuffer::e(Op::Mod, {zeros, x})->pad({{1, 0}})), (Floats{0, 0, 0, 0}));
}

TEST_F(KernelizedTest, AnExpandIsComputedOnce) {
  const auto x = counting({4, 1});
  const auto wide = exp2(exp2(x))->expand({4, 8});
  EXPECT_EQ(count({sum(mul(wide, counting({4, 8})), {1})}), 2U);
}

// Other readers of an assigned buffer get its old value.
TEST_F(KernelizedTest, WriteAfterReadIsKept) {
  const ConfigScope scope(kernelizing());
  for (const bool assign_first : {false, true}) {
    const auto a = counting({4}), b = counting({4}), c = counting({4});
    const auto r = sum(b, {0})->reshape({1})->expand({4});
    const auto x = add(a, mul(r, number(0.4, {4})))->contiguous();
    const auto next = a->assign(mul(c, number(2, {4})));
    Outputs both = assign_first ? Outputs{next, x} : Outputs{x, next};
    realize(both);
    EXPECT_EQ(x->realized()->read<float>(), (Floats{5, 6, 7, 8}));
    EXPECT_EQ(next->realized()->read<float>(), (Floats{2, 4, 6, 8}));
  }
}

TEST_F(KernelizedTest, AssignsReadWhatTheyReplace) {
  const ConfigScope scope(kernelizing());
  const auto a = counting({2, 2});
  const auto more = a->assign(add(a, number(1, {2, 2})));
  EXPECT_EQ(values(more), (Floats{2, 3, 4, 5}));
  const std::vector<int> turn = {1, 0};
  const auto turned = more->assign(add(more, more->permute(turn)));
  EXPECT_EQ(values(turned), (Floats{4, 7, 7, 10}));
  // Two assigns that read each other.
  const auto p = counting({2}), q = mul(counting({2}), number(10, {2}))->contiguous();
  realize(Outputs{q});
  const auto p2 = p->assign(add(q, number(0, {2}))), q2 = q->assign(add(p, number(0, {2})));
  realize(Outputs{p2, q2});
  EXPECT_EQ(p2->realized()->read<float>(), (Floats{10, 20}));
  EXPECT_EQ(q2->realized()->read<float>(), (Floats{1, 2}));
}

TEST_F(KernelizedTest, LawsOfFloatsThatDoNotHoldAreNotUsed) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const auto x = buffer<float>({nan, -0.0F, 0.0F, 3.0F}, {4});
  const auto zero = number(0, {4});
  const Floats times = computed(mul(x, zero));
  EXPECT_TRUE(std::isnan(times[0]));
  EXPECT_TRUE(std::signbit(times[1]));
  EXPECT_FALSE(std::signbit(computed(add(x, zero))[1]));
  const Floats over = computed(LazyBuffer::e(Op::Div, {x, x}));
  EXPECT_TRUE(std::isnan(over[0]) && std::isnan(over[1]) && std::isnan(over[2]));
  const Floats back = computed(LazyBuffer::e(Op::Div, {mul(x, zero), zero}));
  EXPECT_TRUE(std::isnan(back[3]));
}

TEST_F(KernelizedTest, NoKernelHasMoreBuffersThanTheLimit) {
  LazyBufferPtr total = counting({4});
  for (int i = 0; i < 31; ++i) total = add(total, counting({4}));
  Config config = kernelizing();
  config.kernelize.max_kernel_buffers = 8;
  {
    const ConfigScope scope(config);
    const auto items = plan({total});
    EXPECT_GT(items.size(), 3U);
    for (const ScheduleItem& item : items) EXPECT_LE(item.inputs.size() + 1, 8U);
  }
  EXPECT_EQ(count({total}), 1U);
  EXPECT_EQ(computed(total, config), (Floats{32, 64, 96, 128}));
}

TEST_F(KernelizedTest, EachBufferIsMadeBeforeItIsRead) {
  const ConfigScope scope(kernelizing());
  const auto x = exp2(sum(counting({4, 8}), {1}))->expand({4, 8});
  const auto y = sum(mul(x, counting({4, 8})), {0});
  const auto items = plan({y, add(y, y)});
  const auto again = plan({y, add(y, y)});
  ASSERT_EQ(items.size(), again.size());
  std::vector<const LazyBuffer*> made;
  for (std::size_t i = 0; i < items.size(); ++i) {
    for (const LazyBufferPtr& input : items[i].inputs)
      EXPECT_TRUE(input->realized() != nullptr ||
                  std::ranges::find(made, input.get()) != made.end());
    made.push_back(items[i].out.get());
    EXPECT_TRUE(same(items[i].ast, again[i].ast));
  }
}

TEST_F(KernelizedTest, LoadsAndCopies) {
  const ConfigScope scope(kernelizing());
  const auto random = LazyBuffer::random({1, 0}, {4}, "CPU");
  const auto there = add(random, number(1, {4}))->copy_to_device("CLANG");
  const auto items = plan({there});
  ASSERT_EQ(items.size(), 3U);
  EXPECT_EQ(items[0].kind, Op::Rand);
  EXPECT_EQ(items[1].kind, Op::Store);
  EXPECT_EQ(items[2].kind, Op::From);
  realize(Outputs{there});
  EXPECT_GE(there->realized()->read<float>()[0], 1.0F);
}

TEST_F(KernelizedTest, OutputsThatAreEqualHaveMemoryOfTheirOwn) {
  const ConfigScope scope(kernelizing());
  const auto x = counting({4});
  const auto a = exp2(x)->contiguous();
  const auto b = a->reshape({2, 2})->contiguous();
  const auto c = LazyBuffer::e(Op::Max, {x, x});
  realize(Outputs{a, b});
  EXPECT_EQ(a->realized()->read<float>(), b->realized()->read<float>());
  EXPECT_EQ(values(c), (Floats{1, 2, 3, 4}));
}

TEST_F(KernelizedTest, CheckRunsBothAndKeepsTheResult) {
  Config config;
  config.scheduler = Scheduler::Check;
  const ConfigScope scope(config);
  const auto a = counting({2, 2});
  const auto b = a->assign(add(exp2(a), sum(a, {0})->expand({2, 2})));
  realize(Outputs{b});
  EXPECT_EQ(b->realized()->read<float>(), (Floats{6, 10, 12, 22}));
  EXPECT_EQ(a->realized()->read<float>(), (Floats{1, 2, 3, 4}));
  int calls = 0;
  const auto counts = std::make_shared<CustomFunction>(
      CustomFunction{"counts", [&](Buffer& out, std::span<Buffer* const>) {
                       out.write<float>(std::vector<float>{static_cast<float>(++calls)});
                     }});
  const auto other = LazyBuffer::custom(counts, {}, {1}, DType::Float32, "CPU");
  try {
    realize(Outputs{exp2(other)});
    FAIL();
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), ::testing::HasSubstr(
                              "element 0 of output 0 is 8.0 by fusion, but 2.0 by kernelize"));
  }
}

TEST_F(KernelizedTest, AnAssignOfABufferCopiesIt) {
  const ConfigScope scope(kernelizing());
  const auto a = counting({3}), b = mul(counting({3}), number(2, {3}))->contiguous();
  realize(Outputs{b});
  const auto next = a->assign(b);
  realize(Outputs{next});
  EXPECT_EQ(next->realized()->read<float>(), (Floats{2, 4, 6}));
  // The assign is an output too.
  const auto c = counting({1}), w = c->assign(mul(counting({1}), number(3, {1})));
  const auto nothing = w->pad({{1, 0}})->shrink({{0, 1}});
  const auto again = LazyBuffer::e(Op::Sub, {w, nothing});
  realize(Outputs{again, w});
  EXPECT_EQ(again->realized()->read<float>(), Floats{3});
  const auto row = counting({1, 3}), column = row->reshape({3, 1});
  EXPECT_EQ(values(column->assign(add(column, column))), (Floats{2, 4, 6}));
}

// Each link would double all earlier views.
TEST_F(KernelizedTest, ChainsThatDoubleTheirViewsStaySmall) {
  const ConfigScope scope(kernelizing());
  LazyBufferPtr x = counting({2, 3});
  const std::vector<std::int64_t> back = {-1, 1}, other = {1, -1};
  for (int i = 0; i < 40; ++i) x = add(x->stride(back), add(x->stride(other), x));
  for (const ScheduleItem& item : plan({x})) EXPECT_LT(toposort(item.ast).size(), 2000U);
}

}  // namespace
}  // namespace touchstone
