// Sharded graphs against loops over whole arrays.
#include <gtest/gtest.h>

#include <gmock/gmock.h>

#include "../support/error_of.h"
#include "graph_runner.h"
#include "touchstone/fuzz/choice/chooser.h"
#include "touchstone/interp/device/interpreted.h"
#include "touchstone/kernelize/multi.h"

namespace touchstone {
namespace {

using kernelize::part_of;
using test::error_of;
using ::testing::HasSubstr;
using Graph = std::function<UOp(const std::vector<UOp>&)>;

std::vector<std::string> names(std::size_t n, const std::string& kind = "CPU") {
  std::vector<std::string> all;
  for (std::size_t i = 0; i < n; ++i)
    all.push_back(Device::canonical(kind + ":" + std::to_string(i)));
  return all;
}
UOp tuple(std::size_t n) { return UOp::device(names(n)); }

Numbers counted(std::vector<std::int64_t> shape, int seed) {
  std::int64_t n = 1;
  for (const std::int64_t s : shape) n *= s;
  Numbers all{std::move(shape), {}};
  for (std::int64_t i = 0; i < n; ++i)
    all.values.push_back(static_cast<double>((i * 37 + seed * 11) % 19 - 9));
  return all;
}

// A leaf: its content and sharding axis; -1: replicated.
struct Leaf {
  Numbers values;
  int axis;
};

UOp put(GraphRunner& runner, const Leaf& leaf, std::size_t n) {
  const UOp x = runner.given(leaf.values, "CPU").copy_to(tuple(n));
  return leaf.axis < 0 ? x : part_of(x, leaf.axis, n).multi(leaf.axis);
}

Numbers plain(const std::vector<Leaf>& leaves, const Graph& graph) {
  PlainNumbers plainly;
  std::vector<UOp> whole;
  for (const Leaf& leaf : leaves) {
    const auto size = static_cast<std::int64_t>(leaf.values.values.size());
    const UOp buffer = UOp::new_buffer(UOp::device("CPU"), size, DType::Float32);
    Numbers flat = leaf.values;
    flat.shape = {size};
    plainly.give(buffer, flat);
    whole.push_back(buffer.reshape(shape_of(leaf.values)));
  }
  return plainly.of(graph(whole));
}

void expect_same(const std::vector<Leaf>& leaves, std::size_t n, const Graph& graph,
                 const Config& config = Config()) {
  GraphRunner runner(config);
  std::vector<UOp> sharded;
  for (const Leaf& leaf : leaves) sharded.push_back(put(runner, leaf, n));
  const Numbers got = runner.run(graph(sharded)), wanted = plain(leaves, graph);
  EXPECT_EQ(got.shape, wanted.shape);
  EXPECT_EQ(got.values, wanted.values) << n << " devices";
}

UOp add(const UOp& a, const UOp& b) { return a.alu(GraphOp::Add, {b}); }

class MultiGraph : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { register_interpreted_device(); }
};

TEST_F(MultiGraph, AluTakesOperandsOfAnyAxis) {
  for (const std::size_t n : {2U, 3U})
    for (int a = -1; a < 3; ++a)
      for (int b = -1; b < 3; ++b) {
        const std::vector<Leaf> leaves = {{counted({6, 12, 6}, 1), a}, {counted({6, 12, 6}, 2), b}};
        expect_same(leaves, n, [](const auto& x) { return add(x[0], x[1].alu(GraphOp::Neg)); });
        expect_same(leaves, n, [](const auto& x) {
          const UOp less = x[0].alu(GraphOp::CmpLt, {x[1]});
          return less.alu(GraphOp::Where, {x[1], x[0].const_like(2.0)});
        });
      }
}

TEST_F(MultiGraph, ReduceOverItsAxisIsAnAllreduce) {
  for (const std::size_t n : {2U, 4U})
    for (const GraphOp op : {GraphOp::Add, GraphOp::Max})
      for (int axis = -1; axis < 2; ++axis)
        for (const std::vector<int>& axes : {std::vector{0}, std::vector{1}, std::vector{0, 1}})
          expect_same({{counted({4, 8}, 3), axis}}, n,
                      [&](const auto& x) { return x[0].reduce(op, axes); });
  // One row per device: nothing is left to reduce there.
  expect_same({{counted({3, 2}, 3), 0}}, 3,
              [](const auto& x) { return x[0].reduce(GraphOp::Add, {0}); });
}

TEST_F(MultiGraph, MovementKeepsShardsTogether) {
  const std::vector<Leaf> rows = {{counted({4, 6}, 1), 0}}, columns = {{counted({4, 6}, 1), 1}};
  for (const std::size_t n : {2U, 4U}) {
    expect_same(rows, n, [](const auto& x) { return x[0].reshape({4, 2, 3}); });
    expect_same(rows, n, [](const auto& x) { return x[0].reshape({24}); });
    expect_same(rows, n, [](const auto& x) { return x[0].reshape({1, 4, 6, 1}); });
    expect_same(rows, n, [](const auto& x) { return x[0].permute({1, 0}).alu(GraphOp::Neg); });
    expect_same(rows, n, [](const auto& x) { return x[0].flip({1}); });
    expect_same(rows, n, [](const auto& x) { return x[0].pad({{0, 0}, {2, 1}}); });
    expect_same(rows, n, [](const auto& x) { return x[0].shrink({{0, 4}, {1, 5}}); });
    expect_same(rows, n, [](const auto& x) {
      return x[0]
          .reduce(GraphOp::Add, {1})
          .expand({4, 5})
          .alu(GraphOp::Mul, {x[0].shrink({{0, 4}, {0, 5}})});
    });
  }
  for (const std::size_t n : {2U, 3U}) {
    expect_same(columns, n, [](const auto& x) { return x[0].permute({1, 0}).reshape({6, 2, 2}); });
    expect_same(columns, n, [](const auto& x) { return x[0].flip({0}).pad({{1, 0}, {0, 0}}); });
  }
}

TEST_F(MultiGraph, OneShardIsTakenToAllDevices) {
  for (const std::size_t n : {2U, 3U, 5U})
    for (std::size_t i = 0; i < n; ++i) {
      const auto k = static_cast<std::int64_t>(i), rows = static_cast<std::int64_t>(2 * n);
      expect_same({{counted({rows, 3}, 5), 0}}, n, [&](const auto& x) {
        return x[0].shrink({{2 * k, 2 * k + 2}, {0, 3}});
      });
    }
}

TEST_F(MultiGraph, CopiesGatherBitForBit) {
  for (const std::size_t n : {2U, 3U})
    for (int axis = 0; axis < 2; ++axis) {
      expect_same({{counted({6, 6}, 1), axis}}, n,
                  [](const auto& x) { return x[0].copy_to(UOp::device("CPU:7")); });
      expect_same({{counted({6, 6}, 1), axis}}, n,
                  [&](const auto& x) { return x[0].copy_to(tuple(n)); });
      expect_same({{counted({6, 6}, 1), axis}}, n,
                  [&](const auto& x) { return x[0].copy_to(tuple(n + 2)); });
    }
  // -0, infinities and NaN payloads are preserved.
  GraphRunner runner;
  Numbers odd{{4}, {-0.0, 0.0, -INFINITY, NAN}};
  const UOp x = put(runner, {odd, 0}, 2);
  const Numbers got = runner.run(x.copy_to(UOp::device("CPU")));
  EXPECT_TRUE(std::signbit(got.values[0]));
  EXPECT_FALSE(std::signbit(got.values[1]));
  EXPECT_EQ(got.values[2], -INFINITY);
  EXPECT_TRUE(std::isnan(got.values[3]));
}

TEST_F(MultiGraph, AskedOfShardsAndCasts) {
  expect_same({{counted({4, 6}, 1), 1}}, 2, [](const auto& x) {
    return x[0]
        .contiguous()
        .ask(GraphOp::Detach)
        .cast(DType::Int32)
        .ask(GraphOp::Fuse)
        .ask(GraphOp::ContiguousBackward);
  });
}

TEST_F(MultiGraph, AssignsGoToTheMemoryOfEachDevice) {
  GraphRunner runner;
  const UOp target = UOp::new_buffer(tuple(2), 6, DType::Float32).reshape({2, 3}).multi(0);
  const UOp value = put(runner, {counted({4, 3}, 1), 0}, 2);
  EXPECT_EQ(runner.run(target.assign(value)), counted({4, 3}, 1));
  Numbers twice = counted({4, 3}, 1);
  for (double& v : twice.values) v += v;
  EXPECT_EQ(runner.run(target.assign(add(target, target))), twice);
  EXPECT_EQ(runner.run(target), twice);  // the memory itself

  const auto refused = [&](const UOp& t, const UOp& v) {
    return error_of([&] { runner.run(t.assign(v)); });
  };
  const UOp square = UOp::new_buffer(tuple(2), 8, DType::Float32);
  EXPECT_THAT(
      refused(square.reshape({2, 4}).multi(0), put(runner, {counted({4, 4}, 1), 1}, 2)),
      HasSubstr("the target is sharded along axis 0, but the value is sharded along axis 1"));
  EXPECT_THAT(refused(square.reshape({2, 4}).multi(0), put(runner, {counted({4, 4}, 1), -1}, 2)),
              HasSubstr("the value is not sharded"));
}

// Readers of one device's part run before all parts are written.
TEST_F(MultiGraph, AnAssignWaitsForThoseThatReadAPart) {
  for (const bool swapped : {false, true}) {
    GraphRunner runner;
    const UOp memory = UOp::new_buffer(tuple(2), 6, DType::Float32);
    const UOp target = memory.reshape({2, 3}).multi(0);
    runner.run(target.assign(put(runner, {counted({4, 3}, 1), 0}, 2)));
    const UOp waits = put(runner, {counted({6}, 4), -1}, 2).contiguous().reduce(GraphOp::Max, {0});
    const UOp old = add(memory.mselect(1).copy_to(UOp::device("CPU")),
                        waits.mselect(0).contiguous().expand({6}));
    const UOp next = target.assign(add(target, target));
    std::vector<Numbers> got =
        runner.run(swapped ? std::vector{next, old} : std::vector{old, next});
    if (swapped) std::swap(got[0], got[1]);
    Numbers wanted{{6}, {}};
    const Numbers x = counted({4, 3}, 1), w = counted({6}, 4);
    const double most = *std::ranges::max_element(w.values);
    for (std::size_t i = 6; i < 12; ++i) wanted.values.push_back(x.values[i] + most);
    EXPECT_EQ(got[0], wanted);
  }
}

TEST_F(MultiGraph, AllreduceByRingAndNaively) {
  for (const std::size_t n : {2U, 3U, 4U, 5U})
    for (const std::int64_t columns : {1, 7, 32, 96, 97})
      for (const GraphOp op : {GraphOp::Add, GraphOp::Max})
        for (const int ring : {0, 2}) {
          Config config;
          config.kernelize.ring = ring;
          expect_same(
              {{counted({static_cast<std::int64_t>(n), columns}, 1), 0}}, n,
              [&](const auto& x) { return x[0].reduce(op, {0}); }, config);
        }
}

TEST_F(MultiGraph, ARingIsForManyElementsOnThreeDevicesOrMore) {
  const auto copied = [](std::size_t n, std::int64_t columns, int ring) {
    Config config;
    config.kernelize.ring = ring;
    GraphRunner runner(config);
    const UOp x = put(runner, {counted({static_cast<std::int64_t>(n), columns}, 1), 0}, n);
    const UOp stored = x.contiguous();
    runner.run(stored);
    runner.copied = 0;
    runner.run(stored.reduce(GraphOp::Add, {0}));
    return runner.copied - columns * static_cast<std::int64_t>(n - 1);  // x itself, once more
  };
  const auto naive = [](std::int64_t n, std::int64_t columns) { return n * (n - 1) * columns; };
  const auto ring = [](std::int64_t n, std::int64_t columns) { return 2 * (n - 1) * columns; };
  EXPECT_EQ(copied(3, 256'000, 1), naive(3, 256'000));
  EXPECT_EQ(copied(3, 256'001, 1), ring(3, 256'001));
  EXPECT_EQ(copied(2, 256'001, 1), naive(2, 256'001));
  EXPECT_EQ(copied(3, 256'001, 0), naive(3, 256'001));
  EXPECT_EQ(copied(2, 64, 2), ring(2, 64));
}

TEST_F(MultiGraph, ChunksOfARing) {
  using Chunks = std::vector<std::pair<std::int64_t, std::int64_t>>;
  EXPECT_EQ(kernelize::ring_chunks(8 * 32, 3), (Chunks{{0, 96}, {96, 192}, {192, 256}}));  // 3 3 2
  EXPECT_EQ(kernelize::ring_chunks(10, 3), (Chunks{{0, 4}, {4, 8}, {8, 10}}));
  EXPECT_EQ(kernelize::ring_chunks(256'001, 3),
            (Chunks{{0, 85334}, {85334, 170668}, {170668, 256001}}));
  EXPECT_EQ(kernelize::ring_chunks(2, 3), (Chunks{{0, 2}, {2, 2}, {2, 2}}));
}

TEST_F(MultiGraph, ShardingCopiesNoMoreThanTheShards) {
  GraphRunner runner;
  const UOp x = put(runner, {counted({8, 4}, 1), 0}, 4);
  runner.run(x.alu(GraphOp::Neg));
  EXPECT_EQ(runner.copied, 24);  // the first shard stays in place
}

// One device's part is only padding and has no memory.
TEST_F(MultiGraph, PartsThatAreAllPadding) {
  for (const std::size_t n : {2U, 3U})
    expect_same({{counted({2, 3}, 1), -1}, {counted({6, 3}, 2), 0}}, n, [](const auto& x) {
      return add(x[0].pad({{4, 0}, {0, 0}}), x[1]);
    });
}

// Parts with different views per device, larger than the data copied.
TEST_F(MultiGraph, PartsOfWhatIsPaddedBeforeItIsCopied) {
  for (const std::size_t n : {2U, 4U}) {
    GraphRunner runner;
    const Numbers two = counted({2}, 1);
    const UOp padded = runner.given(two, "CPU:9").pad({{3, 3}});
    Numbers wanted{{8}, {0, 0, 0, two.values[0], two.values[1], 0, 0, 0}};
    for (double& v : wanted.values) v = -v;
    const UOp x = part_of(padded.copy_to(tuple(n)), 0, n).multi(0);
    const Numbers got = runner.run(x.alu(GraphOp::Neg));
    EXPECT_EQ(got.values, wanted.values);
  }
}

/// Transforms a value, using leaves of equal size.
using Step = std::function<UOp(const UOp& x, const std::vector<UOp>& leaves)>;

Step draw_step(fuzz::Chooser& chooser, std::int64_t size) {
  const int axis = chooser.index(2);
  const std::int64_t amount = chooser.between(1, 2);
  switch (chooser.below(9)) {
    case 0: return [](const UOp& x, const auto& leaves) { return add(x, leaves[1]); };
    case 1: return [](const UOp& x, const auto&) { return x.contiguous(); };
    case 2: return [](const UOp& x, const auto&) { return x.permute({1, 0}); };
    case 3: return [axis](const UOp& x, const auto&) { return x.flip({axis}); };
    case 4:
      return [axis](const UOp& x, const auto&) {
        return x.reduce(GraphOp::Add, {axis}).expand(x.shape());
      };
    case 5:
      return [axis](const UOp& x, const auto&) {
        return x.reduce(GraphOp::Max, {axis}).expand(x.shape()).alu(GraphOp::Sub, {x});
      };
    case 6:
      return [axis, amount](const UOp& x, const auto&) {
        Padding around(2, {0, 0});
        around[static_cast<std::size_t>(axis)] = {amount, 0};
        return x.pad(around).shrink({{0, x.shape()[0]}, {0, x.shape()[1]}});
      };
    case 7:
      return [size](const UOp& x, const auto&) {
        return x.reshape({2, size * size / 2}).reshape({size, size});
      };
    default:
      return [](const UOp& x, const auto& leaves) {
        return x.alu(GraphOp::CmpLt, {leaves[0]}).alu(GraphOp::Where, {leaves[1], x});
      };
  }
}

Config draw_config(fuzz::Chooser& chooser) {
  Config config;
  config.kernelize.ring = chooser.chance(1, 2) ? 2 : 0;
  config.kernelize.dont_group_reduces = chooser.chance(1, 2);
  config.kernelize.fuse_arange = chooser.chance(1, 2);
  config.scheduler = chooser.chance(1, 2) ? Scheduler::Ranges : Scheduler::Kernelize;
  return config;
}

// Any step that the shards allow, after any other, under any options.
TEST_F(MultiGraph, RandomGraphs) {
  constexpr std::uint64_t kSeed = 7, kGraphs = 120;
  std::size_t steps = 0, refused = 0;
  for (std::uint64_t graph = 0; graph < kGraphs; ++graph) {
    SCOPED_TRACE(::testing::Message() << "graph " << graph << " of seed " << kSeed);
    fuzz::RandomChooser chooser(kSeed, graph);
    const auto n = static_cast<std::size_t>(chooser.between(2, 5));
    const auto size = static_cast<std::int64_t>(n) * 2;
    std::vector<Leaf> leaves;
    for (const int seed : {1, 2})
      leaves.push_back({counted({size, size}, seed), chooser.index(3) - 1});
    // A step that the shards do not allow is skipped in both.
    GraphRunner trial;
    std::vector<UOp> sharded;
    for (const Leaf& leaf : leaves) sharded.push_back(put(trial, leaf, n));
    std::vector<Step> chain;
    UOp at = sharded[0];
    for (std::int64_t left = chooser.between(1, 5); left > 0; --left) {
      Step step = draw_step(chooser, size);
      const UOp next = step(at, sharded);
      if (error_of([&] { kernelize_graph(UOp::sink({next})); }) != "no error") {
        ++refused;
        continue;
      }
      at = next;
      chain.push_back(std::move(step));
    }
    steps += chain.size();
    expect_same(
        leaves, n,
        [&](const std::vector<UOp>& x) {
          UOp out = x[0];
          for (const Step& step : chain) out = step(out, x);
          return out;
        },
        draw_config(chooser));
  }
  EXPECT_GT(steps, 250U);
  EXPECT_GT(refused, 30U);
}

// Devices of a tuple run one kernel; only the device number differs.
TEST_F(MultiGraph, KernelsOfATupleAreOne) {
  GraphRunner runner;
  const UOp whole = put(runner, {counted({4, 4}, 1), -1}, 2).contiguous();
  const UOp rows = put(runner, {counted({4, 4}, 2), 0}, 2).contiguous();
  const UOp sink = UOp::sink({add(rows, whole).contiguous()});
  const UOp done = result_of(kernelize_graph(sink), sink);
  int with_number = 0;
  for (const UOp& assign : order_of_kernels(done)) {
    if (assign.src(0).device().size() == 1) continue;
    const LoweredKernel kernel = lower_kernel(assign);
    for (const symbolic::Node& v : variables_of(kernel.ast))
      with_number += symbolic::variable_name(v) == kDeviceNumber ? 1 : 0;
  }
  EXPECT_EQ(with_number, 1);
}

TEST_F(MultiGraph, WhatWouldTearShardsIsRefused) {
  GraphRunner runner;
  const UOp rows = put(runner, {counted({4, 6}, 1), 0}, 2);
  const auto why = [&](const UOp& u) { return error_of([&] { runner.run(u); }); };
  EXPECT_THAT(why(rows.reshape({3, 8})), HasSubstr("RESHAPE cannot move items between shards"));
  EXPECT_THAT(why(put(runner, {counted({4, 6}, 1), 1}, 2).reshape({24})),
              HasSubstr("(4, 6), sharded along axis 1 into 2, to (24,)"));
  EXPECT_THAT(why(rows.pad({{1, 0}, {0, 0}})), HasSubstr("that axis cannot be padded"));
  EXPECT_THAT(why(rows.flip({0})), HasSubstr("that axis cannot be flipped"));
  EXPECT_THAT(why(rows.shrink({{0, 3}, {0, 6}})), HasSubstr("(0, 3) of that axis is not a shard"));
  EXPECT_THAT(why(rows.shrink({{1, 3}, {0, 6}})), HasSubstr("not a shard"));
  EXPECT_THAT(why(rows.shrink({{2, 4}, {0, 5}})), HasSubstr("in a separate step"));
  EXPECT_THAT(why(put(runner, {counted({2, 1}, 1), 0}, 2)
                      .alu(GraphOp::Neg)
                      .view(ShapeTracker::contiguous({1}))),
              HasSubstr("only movement ops can move shards"));
  EXPECT_THAT(why(add(rows, runner.given(counted({4, 6}, 1), "CPU"))), HasSubstr("one place"));
  EXPECT_THAT(error_of([&] {
                put(runner, {counted({4, 6}, 1), 0}, 3);
              }),
              HasSubstr("multi axis uneven: axis 0 of (4, 6) does not divide into 3 shards"));
  EXPECT_THAT(why(add(rows, put(runner, {counted({4, 6}, 1), -1}, 3))), HasSubstr("one place"));
  EXPECT_THAT(error_of([&] {
                put(runner, {counted({4, 6}, 1), 2}, 2);
              }),
              HasSubstr("there is no axis 2 in (4, 6)"));
  const UOp twice = UOp::device(std::vector<std::string>{"CPU", "CPU"});
  EXPECT_THAT(why(rows.copy_to(twice)), HasSubstr("CPU is given twice"));
}

}  // namespace
}  // namespace touchstone
