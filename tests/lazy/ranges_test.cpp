#include <gtest/gtest.h>

#include <cmath>

#include "lazy_device.h"
#include "touchstone/device/config.h"

// Kernels of the scheduler `ranges`: their number, and that results are equal.

namespace touchstone {
namespace {

using Outputs = std::vector<LazyBufferPtr>;

Config by(Scheduler scheduler) {
  Config config;
  config.scheduler = scheduler;
  return config;
}

struct RangesTest : LazyTest {
  static std::size_t count(const Outputs& outputs) {
    const ConfigScope scope(by(Scheduler::Ranges));
    return kernels(outputs);
  }
  /// For a graph built anew each time: a kernel per node, and by ranges.
  template <class Make>
  static void expect_same(const Make& make) {
    Floats one_by_one, together;
    {
      Config config(0);
      config.lazy = false;
      const ConfigScope scope(config);
      one_by_one = values(make());
    }
    {
      const ConfigScope scope(by(Scheduler::Ranges));
      together = values(make());
    }
    ASSERT_EQ(one_by_one.size(), together.size());
    for (std::size_t i = 0; i < together.size(); ++i)
      EXPECT_EQ(std::signbit(one_by_one[i]), std::signbit(together[i])) << i;
    EXPECT_EQ(one_by_one, together);
  }
  static LazyBufferPtr most(const LazyBufferPtr& x, int axis) {
    return x->r(Op::ReduceMax, {axis});
  }
  static LazyBufferPtr less(const LazyBufferPtr& a, const LazyBufferPtr& b) {
    return LazyBuffer::e(Op::Sub, {a, b->expand(a->shape())});
  }
  static LazyBufferPtr softmax(const LazyBufferPtr& x, int axis) {
    const auto e = exp2(less(x, most(x, axis)));
    return LazyBuffer::e(Op::Div, {e, sum(e, {axis})->expand(x->shape())});
  }
  static LazyBufferPtr small(Shape shape) {  // keeps exp2 finite
    return LazyBuffer::e(Op::Mod, {counting(shape), number(5, shape)});
  }
};

TEST_F(RangesTest, ReducesOfOneLoopAreOneKernel) {
  EXPECT_EQ(count({add(sum(counting({4, 8}), {1}), most(counting({4, 8}), 1))}), 1U);
  for (const int axis : {0, 1}) {
    EXPECT_EQ(count({softmax(counting({4, 8}), axis)}), 1U);
    expect_same([&] { return softmax(small({4, 8}), axis); });
  }
  const auto centred_twice = [] {
    const auto y = less(small({3, 5, 2}), sum(small({3, 5, 2}), {1}));
    return less(y, sum(mul(y, y), {1}));
  };
  EXPECT_EQ(count({centred_twice()}), 1U);
  expect_same(centred_twice);
}

TEST_F(RangesTest, AReduceWhoseTermsAreReducesIsAKernelOfItsOwn) {
  const auto pooled = [] {  // sums, then the maximum of each two neighbours
    return most(sum(counting({6, 4}), {1})->reshape({3, 2}), 1);
  };
  EXPECT_EQ(count({pooled()}), 2U);
  expect_same(pooled);
}

// A matrix product with a product as its operand: computed once, not per column.
TEST_F(RangesTest, WorkIsNotRepeated) {
  const auto product = [](const LazyBufferPtr& a, const LazyBufferPtr& b) {
    const sint n = a->shape()[0], k = a->shape()[1], m = b->shape()[1];
    return sum(mul(a->reshape({n, k, 1})->expand({n, k, m}),
                   b->reshape({1, k, m})->expand({n, k, m})),
               {1})
        ->reshape({n, m});
  };
  const auto chain = [&] {
    return product(product(counting({3, 4}), counting({4, 5})), counting({5, 6}));
  };
  EXPECT_EQ(count({chain()}), 2U);
  expect_same(chain);
  // Overlapping windows read each sum more than once.
  const auto windows = [] {
    const auto s = sum(counting({6, 4}), {1})->reshape({6});
    return add(s->shrink({{0, 5}}), s->shrink({{1, 6}}));
  };
  EXPECT_EQ(count({windows()}), 2U);
  expect_same(windows);
  // Rows and columns at once: only one of them can be outermost.
  const auto both = [] {
    const auto x = small({4, 6});
    return add(less(x, sum(x, {0})), less(x, sum(x, {1})));
  };
  EXPECT_EQ(count({both()}), 2U);
  expect_same(both);
}

TEST_F(RangesTest, PaddingIsNoReasonForMemory) {
  for (const Op op : {Op::Exp2, Op::Log2, Op::Neg}) {
    const auto padded = [&] {
      const auto y = LazyBuffer::e(op, {counting({2, 3})});
      return sum(y->pad({{1, 0}, {2, 1}}), {0});
    };
    EXPECT_EQ(count({padded()}), 1U) << name(op);
    expect_same(padded);
  }
  const auto of_reduce = [] {  // of a reduce's result, and twice
    const auto y = exp2(sum(small({3, 4}), {1}))->pad({{1, 1}, {0, 0}});
    return LazyBuffer::e(Op::Neg, {y})->pad({{0, 0}, {1, 1}});
  };
  EXPECT_EQ(count({of_reduce()}), 1U);
  expect_same(of_reduce);
}

TEST_F(RangesTest, WhatOnlyCountsVanishes) {
  const auto arange = [](std::int64_t n) {  // 1, 2, ...: row sums of a triangle of ones
    const auto ones = number(1, {2 * n - 1});
    const auto wide = number(1, {n})->pad({{n - 1, 0}});
    const auto rows = wide->reshape({1, 2 * n - 1})
                          ->expand({n, 2 * n - 1})
                          ->reshape({n * (2 * n - 1)})
                          ->shrink({{0, n * (2 * n - 2)}})
                          ->reshape({n, 2 * n - 2});
    return sum(rows->shrink({{0, n}, {0, n}}), {1})->reshape({n});
  };
  const auto picked = [&] {  // x[3]
    const auto at = LazyBuffer::e(Op::CmpEq, {arange(6), number(3, {6})});
    return sum(LazyBuffer::e(Op::Where, {at, counting({6}), number(0, {6})}), {0});
  };
  EXPECT_EQ(count({picked()}), 1U);
  expect_same(picked);
}

TEST_F(RangesTest, OutputsAndWhatIsAskedForKeepTheirMemory) {
  const auto x = counting({4, 8});
  const auto s = sum(x, {1});
  const auto rest = less(x, s);
  EXPECT_EQ(count({rest, s}), 2U);
  const auto y = counting({4, 8});
  EXPECT_EQ(count({less(y, sum(y, {1})->contiguous())}), 2U);
}

// A value with a reduce that several kernels would recompute is stored.
TEST_F(RangesTest, OneKernelForWhatManyRead) {
  const auto graph = [] {
    const auto y = softmax(small({4, 8}), 1);
    return Outputs{sum(mul(y, y), {0, 1}), exp2(y)};
  };
  EXPECT_EQ(count(graph()), 3U);
}

// y is a product of buffers, read by a sum and by a kernel that reads both.
TEST_F(RangesTest, WhatSeveralReadIsStoredWhereThatMovesLess) {
  const auto read_twice = [](const LazyBufferPtr& y) {
    const auto rows = sum(y, {1})->expand(y->shape());
    return sum(LazyBuffer::e(Op::Max, {y, rows}), {0, 1});
  };
  const auto product = [](const std::vector<LazyBufferPtr>& factors) {
    LazyBufferPtr y = factors[0];
    for (std::size_t i = 1; i < factors.size(); ++i) y = mul(y, factors[i]);
    return y;
  };
  const auto of_all = [&](const std::vector<LazyBufferPtr>& factors) {
    return read_twice(product(factors));
  };
  const auto graph = [&](int wide, int narrow) {
    std::vector<LazyBufferPtr> factors;
    for (int i = 0; i < wide; ++i) factors.push_back(counting({4, 8}));
    for (int i = 0; i < narrow; ++i) factors.push_back(counting({1, 8})->expand({4, 8}));
    return of_all(factors);
  };
  // 2b buffers read against b, plus y stored and read twice.
  EXPECT_EQ(count({graph(3, 0)}), 2U);
  EXPECT_EQ(count({graph(4, 0)}), 3U);
  EXPECT_EQ(count({graph(2, 4)}), 2U);  // narrow ones load little
  expect_same([&] { return graph(3, 0); });
  expect_same([&] { return graph(4, 0); });
  // Reading a part of a product of whole buffers loads only that part.
  const auto part = [&](int factors) {
    std::vector<LazyBufferPtr> wide;
    for (int i = 0; i < factors; ++i) wide.push_back(counting({4, 4}));
    return read_twice(LazyBuffer::e(Op::Neg, {product(wide)->shrink({{0, 2}, {0, 4}})}));
  };
  EXPECT_EQ(count({part(3)}), 2U);
  EXPECT_EQ(count({part(4)}), 3U);
  expect_same([&] { return part(4); });
  // The second reader already reads the sources of y.
  const auto at_hand = [&] {
    const std::vector<LazyBufferPtr> x = {counting({4, 8}), counting({4, 8}), counting({4, 8}),
                                          counting({4, 8})};
    LazyBufferPtr other = x[0];
    for (const LazyBufferPtr& f : x) other = LazyBuffer::e(Op::Max, {other, f});
    return add(of_all(x)->expand({4, 8}), other);
  };
  EXPECT_EQ(count({at_hand()}), 2U);
}

TEST_F(RangesTest, SizesMayBeVariables) {
  const sint n = symbolic::variable("n", 1, 4);
  const ConfigScope scope(by(Scheduler::Ranges));
  const auto x = counting({4, 3})->shrink({{0, n}, {0, 3}});
  const auto y = less(x, sum(x, {1}))->contiguous();
  realize(Outputs{y}, {{"n", 2}});
  std::vector<float> out = y->realized()->read<float>();
  out.resize(6);
  EXPECT_EQ(out, (Floats{-5, -4, -3, -11, -10, -9}));
}

}  // namespace
}  // namespace touchstone
