// Per-device work on shards: table rows, random numbers, variable sizes, assignment.
#include <gtest/gtest.h>

#include <map>

#include <gmock/gmock.h>

#include "touchstone/interp/device/interpreted.h"
#include "touchstone/lazy/jit.h"
#include "touchstone/lazy/realize.h"
#include "touchstone/ops/index_fault.h"
#include "touchstone/tensor/generator.h"
#include "touchstone/tensor/indexing.h"

namespace touchstone {
namespace {

using Names = std::vector<std::string>;
using Floats = std::vector<float>;

// Counts the steps of each kind on each device.
struct Steps final : ExecutionObserver {
  std::map<std::pair<Op, std::string>, int> count;
  void ran(const ScheduleItem& item, Device& device, std::span<Buffer* const> /*buffers*/,
           double /*seconds*/) override {
    Op kind = item.kind;
    if (kind == Op::Store && item.ast->src()[0]->op() == Op::Gather) kind = Op::Gather;
    ++count[{kind, device.name()}];
  }
  int of(Op kind, const std::string& device) const {
    const auto it = count.find({kind, device});
    return it == count.end() ? 0 : it->second;
  }
  int all(Op kind) const {
    int n = 0;
    for (const auto& [key, times] : count) n += key.first == kind ? times : 0;
    return n;
  }
};

class MultiRows : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { register_interpreted_device(); }
  static Names on(int n) {
    Names all;
    for (int i = 0; i < n; ++i) all.push_back("CPU:" + std::to_string(i));
    return all;
  }
  // Eighths, whose sums are exact in any order.
  static Tensor make(const Shape& shape, int seed) {
    Floats values;
    std::int64_t n = 1;
    for (const sint& s : shape) n *= s.as_int();
    for (std::int64_t i = 0; i < n; ++i)
      values.push_back(static_cast<float>((i * 7 + seed * 5) % 17 - 8) / 8);
    return Tensor::from(values, shape);
  }
  static Tensor positions(const Shape& shape, std::int64_t below) {
    std::vector<std::int64_t> values;
    std::int64_t n = 1;
    for (const sint& s : shape) n *= s.as_int();
    for (std::int64_t i = 0; i < n; ++i) values.push_back((i * i + 3 * i + 1) % below);
    return Tensor::from(values, shape);
  }
  static Floats values(const Tensor& x) { return x.read<float>(); }
  static Tensor placed(const Tensor& x, int n, int axis) {
    const Tensor there = axis < 0 ? x.to(on(n)) : x.shard(on(n), axis);
    return there.contiguous().realize();
  }
};

// Rows of a table, and elements along an axis, in every placement, with gradients.
TEST_F(MultiRows, EveryPlacementLooksUpAndAddsUpAsOneDevice) {
  const Tensor table = make({5, 4, 6}, 1), at = positions({6, 4}, 5),
               along = positions({3, 4, 6}, 5);
  for (const int n : {1, 2})
    for (int of_table = -1; of_table < 3; ++of_table)
      for (int of_positions = -1; of_positions < 3; ++of_positions) {
        if (n == 2 && of_table == 0) continue;  // 5 rows
        SCOPED_TRACE(fmt::format("{} devices, table {}, positions {}", n, of_table, of_positions));
        const auto check = [&](const Tensor& where, const auto& look_up) {
          const auto run = [&](const Tensor& given_table, const Tensor& given) {
            Tensor t = given_table.detach();
            t.set_requires_grad();
            const Tensor found = look_up(t, given);
            (found * make(found.shape(), 3).shard_like(found)).sum().backward();
            return std::pair{found.detach(), *t.grad()};
          };
          const auto [found, slope] =
              run(placed(table, n, of_table), placed(where, n, of_positions));
          const auto [right, right_slope] = run(table, where);
          EXPECT_EQ(values(found), values(right));
          EXPECT_EQ(values(slope), values(right_slope));
          EXPECT_EQ(slope.shard_axis(),
                    n == 1 || of_table < 0 ? std::nullopt : std::optional(of_table));
        };
        if (of_positions < 2)
          check(at, [](const Tensor& t, const Tensor& p) { return take(t, p, 0); });
        if (n == 2 && of_positions == 0) continue;  // 3 of them
        check(along, [](const Tensor& t, const Tensor& p) { return gather(t, 0, p); });
      }
}

TEST_F(MultiRows, EachDeviceLooksUpItsOwnWithoutCopies) {
  const Tensor table = placed(make({5, 6}, 1), 3, -1), at = placed(positions({9}, 5), 3, 0);
  Steps steps;
  {
    const ObserverScope scope(steps);
    const Tensor rows = take(table, at, 0).contiguous().realize();
    EXPECT_EQ(rows.shard_axis(), 0);
  }
  EXPECT_EQ(steps.all(Op::From), 0);
  for (const std::string& name : Device::names_in(table.device()))
    EXPECT_EQ(steps.of(Op::Gather, name), 1) << name;
}

TEST_F(MultiRows, ShardsGoToAsManyOtherDevicesOneByOne) {
  const Tensor x = make({4, 6}, 1);
  for (const int axis : {0, 1}) {
    const Tensor there = placed(x, 2, axis);
    Steps steps;
    const ObserverScope scope(steps);
    const Tensor moved = there.shard({"CPU:2", "CPU:3"}, axis).contiguous().realize();
    EXPECT_EQ(steps.of(Op::From, "CPU:2"), 1);
    EXPECT_EQ(steps.of(Op::From, "CPU:3"), 1);
    EXPECT_EQ(steps.all(Op::From), 2);
    EXPECT_EQ(moved.shard_axis(), axis);
    EXPECT_EQ(values(moved), values(x));
    EXPECT_EQ(values(there.shard({"CPU:1", "CPU"}, axis)), values(x));
  }
}

// With sharded positions: position 7 of the whole.
TEST_F(MultiRows, APositionOutsideIsNamedByItsNumberInTheWhole) {
  const Tensor at = Tensor::from<std::int64_t>({0, 1, 2, 3, 4, 0, 1, 9}, {8});
  for (const int axis : {-1, 0}) try {
      take(make({5, 2}, 1).to(on(4)), at.to(on(4)).shard_like(placed(at, 4, axis)), 0).realize();
      FAIL() << "9 is no row of 5";
    } catch (const IndexError& e) {
      EXPECT_EQ(e.fault(), (IndexFault{7, 9, 5}));
    }
}

TEST_F(MultiRows, RandomNumbersAreDrawnOnEachDevice) {
  Generator one(7), several(7);
  const Tensor right = one.uniform({4, 3});
  Steps steps;
  const ObserverScope scope(steps);
  const Tensor there = several.uniform({4, 3}, 0, 1, {DType::Float32, Device::tuple(on(2))});
  const Tensor parts = there.shard(on(2), 0).contiguous().realize();
  EXPECT_EQ(steps.all(Op::From), 0);
  EXPECT_EQ(steps.of(Op::Rand, "CPU"), 1);
  EXPECT_EQ(steps.of(Op::Rand, "CPU:1"), 1);
  EXPECT_EQ(parts.read<float>(), right.read<float>());
}

TEST_F(MultiRows, SizesThatAreVariablesAreBoundOnEachDevice) {
  const sint n(symbolic::variable("n", 1, 6));
  const Tensor x = make({4, 6}, 1);
  for (const int axis : {-1, 0}) {
    const Tensor there = placed(x, 2, axis);
    const auto open = [&](const Tensor& of) {
      return (of.shrink({{0, 4}, {0, n}}) * 2 + 1).contiguous();
    };
    for (const std::int64_t value : {1, 3, 6}) {
      const Tensor bound = open(there).bind({{"n", value}});
      EXPECT_EQ(bound.shard_axis(), there.shard_axis());
      EXPECT_EQ(bound.devices(), there.devices());
      EXPECT_EQ(bound.read<float>(), (x.shrink({{0, 4}, {0, value}}) * 2 + 1).read<float>());
      EXPECT_EQ(bound.sum({1}).read<float>(),
                (x.shrink({{0, 4}, {0, value}}) * 2 + 1).sum({1}).read<float>());
    }
  }
}

// The memory stays, and readers of the old values get them; also when replayed by a jit.
TEST_F(MultiRows, EachDeviceAssignsToItsOwnMemory) {
  const Tensor x = make({4, 6}, 1), more = make({4, 6}, 2);
  for (const int axis : {-1, 0, 1}) {
    SCOPED_TRACE(axis);
    const LazyBufferPtr old = placed(x, 2, axis).lazy(), step = placed(more, 2, axis).lazy();
    const auto memory = [](const LazyBufferPtr& of) {
      std::vector<const Buffer*> all;
      for (const LazyBufferPtr& part : of->parts()) all.push_back(part->realized().get());
      return all;
    };
    const std::vector<const Buffer*> before = memory(old);
    const LazyBufferPtr doubled = LazyBuffer::e(Op::Add, {old, old});
    const LazyBufferPtr now = old->assign(LazyBuffer::e(Op::Add, {old, step}));
    realize(std::vector{now});
    EXPECT_EQ(memory(now), before);
    EXPECT_EQ(now->axis(), old->axis());
    EXPECT_EQ(values(Tensor(now)), values(x + more));
    EXPECT_EQ(values(Tensor(doubled)), values(x * 2));
    EXPECT_EQ(values(Tensor(old)), values(x));

    const LazyBufferPtr state = placed(x, 2, axis).lazy();
    TinyJit jit([&](std::span<const LazyBufferPtr> in) {
      return TinyJit::Tensors{state->assign(LazyBuffer::e(Op::Add, {state, in[0]}))};
    });
    (void)jit(std::vector{step});  // restores the state; its parts hold the old values
    const Tensor second(jit(std::vector{step})[0]);
    EXPECT_EQ(values(second), values(x + more));
    for (int i = 2; i < 5; ++i)
      EXPECT_EQ(values(Tensor(jit(std::vector{step})[0])), values(x + more * i)) << i;
  }
}

}  // namespace
}  // namespace touchstone
