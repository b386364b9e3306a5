#include <gtest/gtest.h>

#include "lazy_device.h"
#include "touchstone/device/config.h"
#include "touchstone/kernelize/limits.h"
#include "touchstone/ops/node_order.h"

// Kernels that would be too long for compilers.

namespace touchstone {
namespace {

using kernelize::kMostInKernel;

class LongWork : public LazyTest {
 protected:
  // The number of computed ops of each kernel.
  static std::vector<int> lengths(const std::vector<LazyBufferPtr>& outputs) {
    std::vector<int> all;
    for (const ScheduleItem& item : plan(outputs)) {
      if (item.kind != Op::Store) continue;
      int ops = 0;
      for (const LazyOp* node : ordered_nodes(item.ast))
        ops += is_elementwise(node->op()) || is_reduce(node->op()) ? 1 : 0;
      all.push_back(ops);
    }
    return all;
  }
  static LazyBufferPtr chain(LazyBufferPtr x, const LazyBufferPtr& b, int ops) {
    for (int i = 0; i < ops; ++i) x = i % 2 == 0 ? add(x, b) : LazyBuffer::e(Op::Max, {b, x});
    return x;
  }
};

TEST_F(LongWork, ChainsAreSeveralKernelsOfEqualLength) {
  const auto x = counting({3}), b = buffer(Floats{-1, 0, 2}, {3});
  EXPECT_EQ(lengths({chain(x, b, kMostInKernel)}), (std::vector{kMostInKernel}));
  EXPECT_EQ(lengths({chain(x, b, kMostInKernel + 1)}).size(), 2u);
  const auto all = lengths({chain(x, b, 20'000)});
  EXPECT_EQ(all.size(), 10u);
  for (const int n : all) EXPECT_LE(n, kMostInKernel);
  Floats wanted{1, 2, 3};
  const Floats step{-1, 0, 2};
  for (int i = 0; i < 20'000; ++i)
    for (std::size_t k = 0; k < 3; ++k)
      wanted[k] = i % 2 == 0 ? wanted[k] + step[k] : std::max(step[k], wanted[k]);
  EXPECT_EQ(values(chain(x, b, 20'000)), wanted);
}

TEST_F(LongWork, ValuesThatAreUsedTwiceCountOnce) {
  LazyBufferPtr x = counting({4});
  for (int i = 0; i < 40; ++i) x = add(mul(x, x), x);  // 2^40 as a tree
  EXPECT_EQ(lengths({x}), (std::vector{80}));
}

TEST_F(LongWork, IsCutWhereTheLeastIsKept) {
  const auto small = counting({1, 4}), large = counting({64, 4});
  const auto narrow = chain(small, counting({1, 4}), 1500);
  const auto wide = chain(add(narrow->expand({64, 4}), large), large, 1000);
  const std::vector<ScheduleItem> items = plan({wide});
  EXPECT_EQ(items.size(), 2u);
  EXPECT_EQ(max_elements(items[0].out->shape()), 4);
}

TEST_F(LongWork, StandsBeforeAndBehindReduces) {
  const auto x = counting({4, 6}), b = buffer(Floats(24, -1), {4, 6}),
             c = buffer(Floats(4, -1), {4, 1});
  const auto before = sum(chain(x, b, 5000), {1});
  const auto behind = chain(sum(x, {1}), c, 5000);
  for (const auto& out : {before, behind, chain(before, c, 5000)}) {
    for (const int n : lengths({out})) EXPECT_LE(n, kMostInKernel + 1);
    for (const ScheduleItem& item : plan({out})) {
      int reduces = 0;
      for (const LazyOp* node : ordered_nodes(item.ast)) reduces += is_reduce(node->op()) ? 1 : 0;
      EXPECT_LE(reduces, 1);
    }
  }
  Floats wanted;
  for (int row = 0; row < 4; ++row) {
    float total = 0;
    for (int k = 1; k <= 6; ++k) total += static_cast<float>(6 * row + k);
    wanted.push_back(std::max(-1.0F, total - 2500));
  }
  EXPECT_EQ(values(behind), wanted);
}

TEST_F(LongWork, ByRewritingIsCutAsWell) {
  const Floats step{-1, 0, 2};
  Floats wanted{1, 2, 3};
  for (int i = 0; i < 20'000; ++i)
    for (std::size_t k = 0; k < 3; ++k)
      wanted[k] = i % 2 == 0 ? wanted[k] + step[k] : std::max(step[k], wanted[k]);
  for (const Scheduler scheduler : {Scheduler::Kernelize, Scheduler::Ranges}) {
    Config config(Config::kDefaultOpt);
    config.scheduler = scheduler;
    const ConfigScope scope(config);
    const auto x = counting({3}), b = buffer(step, {3});
    EXPECT_EQ(lengths({chain(x, b, kMostInKernel)}), (std::vector{kMostInKernel}));
    EXPECT_EQ(lengths({chain(x, b, kMostInKernel + 1)}).size(), 2u);
    const auto all = lengths({chain(x, b, 20'000)});
    EXPECT_EQ(all.size(), 10u);
    for (const int n : all) EXPECT_LE(n, kMostInKernel);
    EXPECT_EQ(values(chain(x, b, 20'000)), wanted);
    // Split where the least is stored, around reduces, and in a tree of many terms.
    const auto narrow = chain(counting({1, 4}), counting({1, 4}), 1500);
    const auto large = counting({64, 4});
    const std::vector<ScheduleItem> items =
        plan({chain(add(narrow->expand({64, 4}), large), large, 1000)});
    EXPECT_LE(items.size(), 2u);
    const auto rows = counting({4, 6}), low = buffer(Floats(24, -1), {4, 6}),
               c = buffer(Floats(4, -1), {4, 1});
    const auto both = chain(sum(chain(rows, low, 5000), {1}), c, 5000);
    for (const int n : lengths({both})) EXPECT_LE(n, kMostInKernel + 1);
    std::vector<LazyBufferPtr> terms;
    for (int i = 0; i < 3000; ++i) terms.push_back(mul(number(i, {2}), counting({2})));
    while (terms.size() > 1) {
      std::vector<LazyBufferPtr> next;
      for (std::size_t i = 0; i + 1 < terms.size(); i += 2)
        next.push_back(add(terms[i], terms[i + 1]));
      if (terms.size() % 2 == 1) next.push_back(terms.back());
      terms = std::move(next);
    }
    for (const int n : lengths({terms[0]})) EXPECT_LE(n, kMostInKernel);
    EXPECT_EQ(values(terms[0]), (Floats{4498500, 8997000}));
  }
}

TEST_F(LongWork, AreManyOperandsOfOneResult) {
  std::vector<LazyBufferPtr> terms;
  for (int i = 0; i < 3000; ++i) terms.push_back(mul(number(i, {2}), counting({2})));
  while (terms.size() > 1) {
    std::vector<LazyBufferPtr> next;
    for (std::size_t i = 0; i + 1 < terms.size(); i += 2)
      next.push_back(add(terms[i], terms[i + 1]));
    if (terms.size() % 2 == 1) next.push_back(terms.back());
    terms = std::move(next);
  }
  for (const int n : lengths({terms[0]})) EXPECT_LE(n, kMostInKernel);
  EXPECT_EQ(values(terms[0]), (Floats{4498500, 8997000}));
}

}  // namespace
}  // namespace touchstone
