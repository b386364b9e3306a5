#include "touchstone/lazy/memory_plan.h"

#include <gtest/gtest.h>

#include <rapidcheck/gtest.h>

#include <algorithm>

#include "lazy_device.h"

namespace touchstone {
namespace {

class Plan : public LazyTest {};

TEST_F(Plan, AChainNeedsTwoPlaces) {
  LazyBufferPtr x = counting({1024});
  for (int i = 0; i < 10; ++i) x = add(x, number(i + 1, {1024}))->contiguous();
  const auto items = schedule(std::vector{x});
  const MemoryPlan plan = plan_memory(items);
  EXPECT_EQ(plan.unplanned, 9 * 4096);  // the last one is an output
  EXPECT_EQ(plan.planned(), 2 * 4096);
  EXPECT_FALSE(plan.places.back().has_value());
}

TEST_F(Plan, WhatIsHeldOutsideHasMemoryOfItsOwn) {
  const auto kept = exp2(counting({16}))->contiguous();
  const auto middle = exp2(kept)->contiguous();
  const auto view = middle->reshape({4, 4});  // holds its base
  const auto out = exp2(exp2(exp2(middle)->contiguous())->contiguous())->contiguous();
  const auto items = schedule(std::vector{out});
  const MemoryPlan plan = plan_memory(items);
  std::size_t planned = 0;
  for (std::size_t i = 0; i < items.size(); ++i) {
    planned += plan.places[i] ? 1 : 0;
    if (items[i].out == kept || items[i].out == middle || items[i].out == out) {
      EXPECT_FALSE(plan.places[i].has_value()) << i;
    }
  }
  EXPECT_EQ(planned, 2u);
}

TEST_F(Plan, WhatAnUnrealizedTensorOfSomebodyReadsIsKept) {
  LazyBufferPtr middle = exp2(counting({16}))->contiguous();
  const LazyBufferPtr later = exp2(middle), out = exp2(exp2(middle)->contiguous());
  const std::weak_ptr<LazyBuffer> alive = middle;
  middle.reset();
  ASSERT_FALSE(alive.expired());
  const auto items = schedule(std::vector{out});
  EXPECT_EQ(plan_memory(items).unplanned, 64);  // without the input of `later`
  realize(std::vector{out});
  EXPECT_NE(alive.lock()->realized(), nullptr);
  EXPECT_EQ(values(later), values(exp2(exp2(counting({16})))));
}

// Random graphs of kernels that read some earlier results.
std::vector<LazyBufferPtr> drawn(std::uint64_t seed, int steps) {
  std::vector<LazyBufferPtr> all{LazyBuffer::random({seed, 0}, {7}, "CPU")};
  for (int i = 0; i < steps; ++i) {
    const auto pick = [&](std::uint64_t k) {
      return all[(seed * 31 + static_cast<std::uint64_t>(i) * k) % all.size()];
    };
    const auto cut = [](const LazyBufferPtr& x, std::int64_t n) {
      return x->reshape({max_elements(x->shape())})->shrink({{0, std::min<std::int64_t>(n, 7)}});
    };
    const std::int64_t n = 7;
    const auto sum = LazyBuffer::e(Op::Add, {cut(pick(7), n), cut(pick(13), n)});
    const std::int64_t wide =
        1 + static_cast<std::int64_t>(seed + static_cast<std::uint64_t>(i)) % 40;
    all.push_back(sum->reshape({1, n})->expand({wide, n})->contiguous());
  }
  return {all.back(), all[all.size() / 2]};
}

RC_GTEST_PROP(MemoryPlan, NeverPutsTwoLivingResultsInOnePlace, ()) {
  register_interpreted_device();
  const auto seed = *rc::gen::inRange<std::uint64_t>(0, 1000);
  const auto outputs = drawn(seed, static_cast<int>(*rc::gen::inRange(1, 40)));
  const auto items = schedule(outputs);
  const touchstone::MemoryPlan plan = plan_memory(items);
  std::vector<std::size_t> last(items.size());
  for (std::size_t i = 0; i < items.size(); ++i) {
    last[i] = i;
    for (std::size_t j = i + 1; j < items.size(); ++j)
      if (std::ranges::find(items[j].inputs, items[i].out) != items[j].inputs.end()) last[i] = j;
  }
  for (std::size_t i = 0; i < items.size(); ++i)
    for (std::size_t j = i + 1; j < items.size(); ++j) {
      if (!plan.places[i] || !plan.places[j] || last[i] < j) continue;
      const auto &a = *plan.places[i], &b = *plan.places[j];
      RC_ASSERT(a.offset + a.bytes <= b.offset || b.offset + b.bytes <= a.offset);
    }
  RC_ASSERT(plan.planned() <= plan.unplanned);
}

RC_GTEST_PROP(MemoryPlan, ChangesNoBit, ()) {
  register_interpreted_device();
  const auto seed = *rc::gen::inRange<std::uint64_t>(0, 1000);
  const int steps = static_cast<int>(*rc::gen::inRange(1, 30));
  const auto run = [&](bool planned) {
    Config config;
    config.memory_planner = planned;
    const ConfigScope scope(config);
    const auto outputs = drawn(seed, steps);
    realize(outputs);
    std::vector<std::vector<float>> all;
    for (const auto& output : outputs) all.push_back(output->realized()->read<float>());
    return all;
  };
  RC_ASSERT(run(true) == run(false));
}

}  // namespace
}  // namespace touchstone
