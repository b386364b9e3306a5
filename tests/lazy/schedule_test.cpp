#include <gtest/gtest.h>

#include <chrono>
#include <set>

#include "../support/sanitized.h"
#include "lazy_device.h"
#include "touchstone/kernelize/limits.h"

namespace touchstone {
namespace {

class Schedule : public LazyTest {
  ConfigScope by_fusion_{Config()};
};

TEST_F(Schedule, ElementwiseWorkIsOneKernel) {
  const auto a = counting({4}), b = counting({4}), c = counting({4});
  const auto items = plan({add(mul(a, b), c)});
  ASSERT_EQ(items.size(), 1u);
  EXPECT_EQ(items[0].inputs, (std::vector{a, b, c}));
  EXPECT_EQ(kernel_name(items[0].ast), "E_4");
}

TEST_F(Schedule, AReduceTakesTheElementwiseWorkAroundIt) {
  const auto x = counting({4, 8}), bias = counting({4, 1});
  EXPECT_EQ(kernels({exp2(add(sum(exp2(x), {1}), bias))}), 1u);
}

TEST_F(Schedule, WorkBehindAReduceMayHaveAnotherShapeOfTheSameElements) {
  const auto x = counting({4, 8}), bias = counting({4});
  const auto out = add(sum(x, {1})->reshape({4}), bias);
  EXPECT_EQ(kernels({out}), 1u);
  EXPECT_EQ(values(out), (Floats{37, 102, 167, 232}));
}

TEST_F(Schedule, TwoReducesAreTwoKernels) {
  const auto x = counting({4, 8});
  EXPECT_EQ(kernels({sum(exp2(sum(x, {1})), {0})}), 2u);
  EXPECT_EQ(kernels({add(sum(x, {1}), x->r(Op::ReduceMax, {1}))}), 2u);
  EXPECT_EQ(kernels({x->r(Op::ReduceMax, {0})->reshape({8, 1}), sum(x, {1})}), 2u);
}

TEST_F(Schedule, WorkIsDoneBeforeAnExpandNotForEveryCopy) {
  const auto x = counting({4, 1}), y = counting({4, 8});
  const auto power = exp2(x);
  EXPECT_EQ(kernels({mul(power->expand({4, 8}), y)}), 2u);
  EXPECT_EQ(kernels({mul(x->expand({4, 8}), y)}), 1u);
  EXPECT_EQ(kernels({mul(number(3, {4, 8}), y)}), 1u);
}

TEST_F(Schedule, AReduceReadTwiceByOneKernelIsFusedAndByTwoIsNot) {
  const auto s = sum(counting({4, 8}), {1});
  EXPECT_EQ(kernels({mul(exp2(s), add(s, counting({4, 1})))}), 1u);
  EXPECT_EQ(kernels({exp2(s), add(s, counting({4, 1}))}), 3u);
}

TEST_F(Schedule, AReduceSeenPermutedIsNotFused) {
  const auto s = sum(counting({4, 5, 8}), {2})->reshape({4, 5});
  EXPECT_EQ(kernels({add(s->permute(std::vector{1, 0}), counting({5, 4}))}), 2u);
  EXPECT_EQ(kernels({add(s, counting({4, 5}))}), 1u);
}

TEST_F(Schedule, TheChainBehindAReduceThatCannotGoOnIsKept) {
  // Elementwise work stays with the first reduce; the second reads its result.
  const auto s = exp2(sum(counting({4, 4, 8}), {2}));
  const auto items = plan({sum(s, {0})});
  ASSERT_EQ(items.size(), 2u);
  EXPECT_EQ(items[0].out, s);
  EXPECT_EQ(items[1].inputs, std::vector{s});
}

TEST_F(Schedule, LoadsComeFirstAndEachBufferOnce) {
  const auto r = LazyBuffer::random({7, 0}, {4}, "CPU");
  const auto e = LazyBuffer::empty({4}, DType::Float32, "CPU");
  const auto shared = exp2(add(r, e));
  const auto far = shared->copy_to_device("CLANG");
  const auto items = plan({shared, exp2(far), add(shared, r), shared});
  std::set<const LazyBuffer*> made;
  for (const ScheduleItem& item : items) {
    for (const LazyBufferPtr& input : item.inputs)
      EXPECT_TRUE(input->realized() || made.contains(input.get()));
    EXPECT_TRUE(made.insert(item.out.get()).second);
    std::set<LazyBufferPtr> distinct(item.inputs.begin(), item.inputs.end());
    EXPECT_EQ(distinct.size(), item.inputs.size());
  }
  std::vector<Op> kinds;
  for (const ScheduleItem& item : items) kinds.push_back(item.kind);
  EXPECT_EQ(kinds, (std::vector{Op::Rand, Op::Empty, Op::Store, Op::From, Op::Store, Op::Store}));
}

TEST_F(Schedule, RealizedBuffersAndConstantsNeedNoWork) {
  EXPECT_TRUE(plan({counting({4}), number(2, {4}), counting({4})->pad({{1, 1}})}).empty());
}

TEST_F(Schedule, OneBufferThroughTwoViewsIsOneInput) {
  const auto x = counting({4, 4});
  const auto items = plan({add(x, x->permute(std::vector{1, 0}))});
  ASSERT_EQ(items.size(), 1u);
  EXPECT_EQ(items[0].inputs, std::vector{x});
}

TEST_F(Schedule, ContiguousMakesABoundary) {
  const auto x = counting({4, 4});
  const auto inner = exp2(x)->contiguous();
  EXPECT_EQ(kernels({exp2(inner)}), 2u);
  EXPECT_EQ(kernels({exp2(x->permute(std::vector{1, 0})->contiguous())}), 2u);
  EXPECT_EQ(kernels({number(2, {4})->contiguous()}), 1u);
}

// The kernels of a graph with all kinds of decisions, as text.
std::string text_of(const std::vector<ScheduleItem>& items) {
  std::string text;
  for (const ScheduleItem& item : items)
    text += item.ast ? str(item.ast) : std::string(name(item.kind)) + "\n";
  return text;
}

class ScheduleText : public LazyTest {
 protected:
  static std::string once(bool keep_everything) {
    std::vector<LazyBufferPtr> held;
    const auto keep = [&](LazyBufferPtr x) {
      if (keep_everything) held.push_back(x);
      return x;
    };
    const auto x = keep(counting({8, 16}));
    const auto m = keep(keep(x->r(Op::ReduceMax, {1}))->expand({8, 16}));
    const auto e = keep(exp2(keep(LazyBuffer::e(Op::Sub, {x, m}))));
    const auto s = keep(keep(sum(e, {1}))->expand({8, 16}));
    const auto soft = keep(LazyBuffer::e(Op::Div, {e, s}));
    const auto padded = keep(keep(soft->pad({{1, 1}, {0, 0}}))->reshape({10, 4, 4}));
    return text_of(plan({sum(padded, {1, 2}), mul(soft, soft)}));
  }
};

TEST_F(ScheduleText, DoesNotDependOnWhatIsStillHeldOrOnAddresses) {
  const std::string first = once(false);
  std::vector<std::unique_ptr<char[]>> noise;
  for (std::size_t i = 1; i < 200; ++i) noise.push_back(std::make_unique<char[]>(37 * i));
  EXPECT_EQ(once(true), first);
  EXPECT_EQ(once(false), first);
}

double seconds_for_chain(int length) {
  const auto one = LazyBuffer::constant(Scalar::of(0.5F), {4}, "CPU");
  LazyBufferPtr x = LazyBuffer::empty({4}, DType::Float32, "CPU");
  for (int i = 0; i < length; ++i) x = LazyBuffer::e(i % 2 ? Op::Add : Op::Mul, {x, one});
  const auto start = std::chrono::steady_clock::now();
  const auto items = schedule(std::vector{x});
  const int kernels = (length + kernelize::kMostInKernel - 1) / kernelize::kMostInKernel;
  EXPECT_EQ(items.size(), 1 + static_cast<std::size_t>(kernels));
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

TEST_F(Schedule, AGraphOf100000NodesNeedsNoDeepStackAndLinearTime) {
  seconds_for_chain(1000);
  const double small = seconds_for_chain(10000), large = seconds_for_chain(100000);
  EXPECT_LT(large, 40 * small + 0.5) << small << " s for a tenth of it";
  EXPECT_LT(large, test::kSanitized ? 60 : 10);
}

TEST_F(Schedule, AGraphOfManyDiamondsIsWalkedOncePerNode) {
  LazyBufferPtr x = counting({4});
  for (int i = 0; i < 20000; ++i) x = add(x, exp2(x));
  EXPECT_EQ(kernels({x}), 20u);  // of at most 2048 nodes
}

TEST_F(Schedule, ManyReducesIntoOneChainStayNearLinear) {
  LazyBufferPtr x = counting({4, 1});
  for (int i = 0; i < 2000; ++i) x = add(x, sum(counting({4, 3}), {1}));
  EXPECT_EQ(kernels({x}), 2000u);
}

TEST_F(Schedule, WorkSeenThroughVeryManyViewsGetsMemory) {
  // A running sum by doubling: the first term's views double at each step.
  constexpr std::int64_t kSize = 1 << 12;
  LazyBufferPtr x = mul(counting({kSize}), number(0, {kSize}));
  x = add(x, number(1, {kSize}));
  for (std::int64_t step = 1; step < kSize; step *= 2)
    x = add(x, x->pad({{step, 0}})->shrink({{0, kSize}}));
  std::size_t nodes = 0;
  for (const ScheduleItem& item : plan({x})) nodes += toposort(item.ast).size();
  EXPECT_LT(nodes, 2000u);
  Floats expected;
  for (std::int64_t i = 0; i < kSize; ++i) expected.push_back(static_cast<float>(i + 1));
  EXPECT_EQ(values(x), expected);
}

// The kernel of the next sum reads each x, and the next x reads it twice; nothing requests memory.
LazyBufferPtr sums_of_itself(int steps) {
  constexpr std::int64_t kSide = 3;
  LazyBufferPtr x = LazyBuffer::empty({kSide, kSide}, DType::Float32, "CPU");
  for (int i = 0; i < steps; ++i) {
    const auto total = x->r(Op::ReduceSum, {0, 1})->expand({kSide, kSide});
    const auto turned = LazyBuffer::e(Op::Exp2, {x->permute(std::vector{1, 0})});
    x = LazyBuffer::e(Op::Add, {LazyBuffer::e(Op::Mul, {x, total}), turned});
  }
  return x;
}

struct Work {
  std::size_t kernels = 0, nodes = 0;  // over all ASTs
};

Work work_of(const LazyBufferPtr& x) {
  Work work;
  for (const ScheduleItem& item : schedule(std::vector{x}))
    if (item.kind == Op::Store) {
      work.kernels += 1;
      work.nodes += toposort(item.ast).size();
    }
  return work;
}

TEST_F(Schedule, WorkThatManyKernelsWouldDoAgainIsDoneOnce) {
  // One kernel per sum, and one more for every few, each of constant size.
  const Work some = work_of(sums_of_itself(250)), more = work_of(sums_of_itself(500));
  EXPECT_LT(more.kernels, 2 * 500u);
  EXPECT_LE(more.kernels, 2 * some.kernels);
  EXPECT_LE(more.nodes, 2 * some.nodes + 100);
  EXPECT_LT(more.nodes, 500u * 3 * kernelize::kMostShared);
  const std::string text = text_of(schedule(std::vector{sums_of_itself(30)}));
  const auto noise = sums_of_itself(7);
  EXPECT_EQ(text_of(schedule(std::vector{sums_of_itself(30)})), text);
}

TEST_F(Schedule, WorkThatOneKernelDoesNeedsNoMemoryHoweverLong) {
  LazyBufferPtr x = counting({4, 8});
  for (int i = 0; i < 500; ++i) x = add(x, exp2(x));
  EXPECT_EQ(kernels({sum(x, {1})}), 1u);
  EXPECT_EQ(kernels({sum(x, {1}), sum(exp2(x), {0})}), 3u);  // two kernels: x is a third
  LazyBufferPtr little = counting({4, 8});
  for (int i = 0; i < 5; ++i) little = add(little, exp2(little));
  EXPECT_EQ(kernels({sum(little, {1}), sum(exp2(little), {0})}), 2u);
}

TEST_F(Schedule, WorkDoneOnceHasTheBitsOfWorkDoneByEachKernel) {
  const auto make = [] {
    LazyBufferPtr x = mul(counting({3, 3}), number(1.0 / 64, {3, 3}));
    for (int i = 0; i < 40; ++i) {
      const auto total = x->r(Op::ReduceSum, {0, 1})->expand({3, 3});
      x = LazyBuffer::e(Op::Sub, {mul(x, total), exp2(x->permute(std::vector{1, 0}))});
      x = mul(x, number(1.0 / 16, {3, 3}));
    }
    return values(x);
  };
  const Floats fused = make();
  const ConfigScope plain{Config(0)};
  EXPECT_EQ(make(), fused);
}

TEST_F(Schedule, AGraphOf100000NodesWithASumAStepIsScheduledInTime) {
  constexpr int kSteps = test::kSanitized ? 4'000 : 25'000;
  const auto graph = sums_of_itself(kSteps);  // 4 nodes a step
  const auto start = std::chrono::steady_clock::now();
  const std::size_t made = schedule(std::vector{graph}).size();
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  RecordProperty("seconds", std::to_string(took.count()));
  EXPECT_GE(made, std::size_t{kSteps});
  EXPECT_LT(made, std::size_t{kSteps * 6 / 5});
  EXPECT_LT(took.count(), 60);
}

TEST_F(Schedule, AnUnboundVariableIsNamed) {
  const sint n(symbolic::variable("n", 1, 4));
  const auto x = counting({4, 2})->shrink({{0, n}, {0, 2}});
  const auto out = exp2(x)->contiguous();
  try {
    schedule(std::vector{out});
    FAIL() << "n has no value";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("'n'"), std::string::npos) << error.what();
  }
  const auto items = schedule(std::vector{out}, {{"n", 3}, {"other", 1}});
  EXPECT_EQ(items.back().var_vals, (symbolic::Values{{"n", 3}}));
}

}  // namespace
}  // namespace touchstone
