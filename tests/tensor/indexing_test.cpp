// take, gather, scatter_add and Embedding against loops by definition.
#include "touchstone/tensor/indexing.h"

#include <cstring>
#include <functional>
#include <limits>

#include "tensor_check.h"
#include "touchstone/device/config.h"
#include "touchstone/lazy/schedule.h"
#include "touchstone/ops/index_fault.h"
#include "touchstone/tensor/nn.h"
#include "touchstone/tensor/tensor_jit.h"

namespace touchstone {
namespace {

using Positions = std::vector<std::int64_t>;
using Words = std::vector<std::uint32_t>;

class Indexing : public OnDevice {
 protected:
  // Positions that are unknown until the kernel runs.
  Tensor computed(const Positions& at, const Shape& shape) const {
    return Tensor::from<std::int64_t>(at, shape, device()) +
           0 * Tensor::from<std::int64_t>({1}, {1}, device());
  }
  Tensor counting(const Shape& shape) const {
    Doubles values;
    for (std::int64_t i = 0; i < elements(shape).as_int(); ++i)
      values.push_back(static_cast<double>(i + 1));
    return make(values, shape);
  }
};
TOUCHSTONE_ON_DEVICES(Indexing);

std::size_t kernels_of(const Tensor& x) {
  std::size_t n = 0;
  for (const ScheduleItem& item : schedule(std::vector{x.lazy()}))
    n += item.kind == Op::Store ? 1 : 0;
  return n;
}

// Returns an impossible fault if there is none.
IndexFault fault_in(const std::function<void()>& f) {
  try {
    f();
  } catch (const IndexError& e) {
    return e.fault();
  }
  return {};
}
// The fault of computing `x`.
IndexFault fault_of(const Tensor& x) {
  return fault_in([&] { x.realize(); });
}

const Positions kNear = {0, 3, -1, -4, 2, 2, 2, 1};
const Positions kFar = {4,
                        -5,
                        1LL << 40,
                        -(1LL << 40),
                        std::numeric_limits<std::int64_t>::max(),
                        std::numeric_limits<std::int64_t>::min()};

TEST_P(Indexing, PositionsOutsideOfEveryIntegerType) {
  const Tensor x = make(some(12), {4, 3});
  const auto as = [&](Positions at, DType type) {
    if (is_unsigned(type))  // unsigned: no negative positions
      for (std::int64_t& p : at) p = p < 0 && p >= -4 ? p + 4 : p;
    return at;
  };
  for (const DTypeInfo& type : dtype_table) {
    if (!is_integer(type.dtype)) continue;
    for (const std::int64_t far : kFar) {
      Positions at = as(kNear, type.dtype);
      at[5] = at[7] = far;
      const Tensor places = computed(at, {8}).cast(type.dtype);
      const std::int64_t seen = places.cast(DType::Int64).read<std::int64_t>()[5];
      const bool inside = seen >= (is_unsigned(type.dtype) ? 0 : -4) && seen < 4;
      EXPECT_EQ(fault_of(take(x, places, 0)), inside ? IndexFault{} : (IndexFault{5, seen, 4}))
          << type.name << ' ' << far;
    }
  }
}

TEST_P(Indexing, KeepsTheBitsOfEveryType) {
  const Words words = {0x80000000, 0x7fc12345, 0xffc00001, 1,
                       0x7f800000, 0x3f800000, 0xc0490fdb, 0};
  const Tensor bits = Tensor::from<std::uint32_t>(words, {8}, device());
  const Positions at = {7, 0, 1, 1, 2, 3, 6};
  Words want;
  for (const std::int64_t p : at) want.push_back(words[static_cast<std::size_t>(p)]);
  const Tensor chosen = take(bits.bitcast(DType::Float32).contiguous(), computed(at, {7}), 0);
  EXPECT_EQ(chosen.bitcast(DType::UInt32).read<std::uint32_t>(), want);
  std::vector<Tensor> typed, taken;
  for (const DTypeInfo& type : dtype_table) {
    typed.push_back(
        Tensor::from<double>({-0.0, 1, 0, 3, -1}, {5}, "CPU").cast(type.dtype).to(device()));
    taken.push_back(take(typed.back(), Tensor::from<int>({4, 0, 3, -4}, {4}, device()), 0));
  }
  realize(taken);
  for (std::size_t t = 0; t < taken.size(); ++t) {
    EXPECT_EQ(taken[t].dtype(), typed[t].dtype());
    const auto host = [](const Tensor& x) {
      return x.to("CPU").cast(DType::Float64).read<double>();
    };
    const Doubles all_of = host(typed[t]), got = host(taken[t]);
    const Doubles wanted = {all_of[4], all_of[0], all_of[3], all_of[1]};
    // NOLINTNEXTLINE(bugprone-suspicious-memory-comparison): bit for bit
    EXPECT_EQ(std::memcmp(got.data(), wanted.data(), sizeof(double) * 4), 0) << t;
  }
}

TEST_P(Indexing, AnErrorNamesThePositionTheIndexAndTheAxis) {
  const Tensor x = counting({4, 3}), places = computed({0, 1, 4, -5, 2, 9}, {2, 3});
  const Tensor rows = take(x, places, 0);
  try {
    rows.read<double>();
    FAIL();
  } catch (const ShapeError& e) {
    EXPECT_STREQ(e.what(),
                 "index 4 (number 2 of the positions, from 0) is outside an axis of 4 elements; "
                 "expected 0 to 3");
  }
  // Repeatedly, and under any movement: values not needed are not computed.
  EXPECT_EQ(fault_of(rows), (IndexFault{2, 4, 4}));
  EXPECT_EQ(fault_of(rows.permute({2, 1, 0}).flip({0, 1}) * 2), (IndexFault{2, 4, 4}));
  EXPECT_EQ(fault_of(rows.sum({0, 2})), (IndexFault{2, 4, 4}));
  EXPECT_EQ(fault_of(rows.pad({{1, 1}, {2, 0}, {0, 1}}) + 1), (IndexFault{2, 4, 4}));
  const auto part = [&](const Mask& of) {  // of another node than `rows`, which needs all
    return take(x, computed({0, 1, 4, -5, 2, 9}, {2, 3}), 0).shrink(of) * 2;
  };
  EXPECT_EQ(fault_of(part({{1, 2}, {0, 3}, {0, 1}})), (IndexFault{3, -5, 4}));
  EXPECT_EQ(fault_of(part({{1, 2}, {2, 3}, {0, 1}})), (IndexFault{5, 9, 4}));
  EXPECT_EQ(fault_of(part({{0, 1}, {0, 2}, {0, 3}})), IndexFault{});
  // Padding evaluates nothing, although its positions would be 9 - 0 = 9.
  const Tensor ninth = 9 - computed({9, 7, 6}, {3});
  expect_near(take(x, ninth, 0).pad({{2, 1}, {1, 0}}).sum({1}), {0, 0, 6, 24, 33, 0});
  // On another axis, as in gather, in row-major order of a mask.
  EXPECT_EQ(fault_of(take(x, computed({2, 3}, {2}), 1)), (IndexFault{1, 3, 3}));
  EXPECT_EQ(fault_of(gather(x, 0, computed({0, 1, 2, 3, -5, 7}, {2, 3}))), (IndexFault{4, -5, 4}));
  EXPECT_EQ(fault_of(index(x, {computed({0, 4}, {2}), computed({1, 1}, {2})})),
            (IndexFault{1, -1, 12}));
  EXPECT_EQ(fault_of(index(x, {computed({0, 3}, {2}), computed({1, 3}, {2})})),
            (IndexFault{1, -2, 12}));
}

TEST_P(Indexing, EveryWayToTheGradientNamesTheFault) {
  Tensor x = counting({4, 3});
  x.set_requires_grad();
  const Tensor at = computed({0, 6, 1}, {3});
  EXPECT_EQ(fault_of(gradients(take(x, at, 0).sum(), {x})[0]), (IndexFault{1, 6, 4}));
  const Tensor source = counting({3});
  EXPECT_EQ(fault_of(scatter_add(counting({4}), 0, at, source)), (IndexFault{1, 6, 4}));
  EXPECT_EQ(fault_of(scatter(counting({4}), 0, at, source)), (IndexFault{1, 6, 4}));
  const Tensor wide = computed({0, 1, 2, -3, 1, 0}, {2, 3});
  for (const auto& f : {&scatter, &scatter_add})
    EXPECT_EQ(fault_of((*f)(counting({2, 3}), 0, wide, counting({2, 3}))), (IndexFault{2, 2, 2}));
  // The assigned value stays an error until reassigned; nothing else keeps the fault.
  Tensor kept = counting({4, 3});
  kept.realize();
  kept.assign(kept + take(x, at, 0).sum());
  EXPECT_THROW(kept.realize(), IndexError);
  EXPECT_THROW(kept.realize(), IndexError);
  kept.assign(counting({4, 3}) * 2);
  expect_near(take(kept, computed({0, 3}, {2}), 0), {2, 4, 6, 20, 22, 24});
}

TEST_P(Indexing, TablesSeenThroughAnyView) {
  const Tensor x = counting({4, 3, 2});
  const std::vector<Tensor> tables = {
      x.permute({2, 0, 1}),
      x.flip({0, 2}),
      x.pad({{1, 2}, {0, 0}, {1, 0}}),
      x.shrink({{1, 4}, {1, 3}, {0, 2}}),
      x.unsqueeze(0).expand({3, 4, 3, 2}).reshape({12, 3, 2}),
      x * 2 + 1,
      Tensor::full({3, 2, 2}, 5, {DType::Float64, device()}),
      Tensor::full({2, 2, 2}, 5, {DType::Float64, device()}).pad({{1, 0}, {0, 0}, {0, 1}})};
  const Positions places = {1, 0, -1, 1, 0, -2};
  std::vector<Expectation> all;
  for (const Tensor& table : tables)
    for (int axis = 0; axis < 3; ++axis) {
      const Doubles values = table.to("CPU").read<double>();
      const Sizes sizes = {table.size(0), table.size(1), table.size(2)};
      Doubles want;
      const auto element = [&](std::int64_t i, std::int64_t j, std::int64_t k, std::int64_t p) {
        std::int64_t at[] = {i, j, k};
        if (p < 0) p += sizes[static_cast<std::size_t>(axis)];
        at[axis] = p;
        return values[static_cast<std::size_t>((at[0] * sizes[1] + at[1]) * sizes[2] + at[2])];
      };
      // The two axes of the positions replace the axis.
      Sizes outer(sizes.begin(), sizes.begin() + axis),
          inner(sizes.begin() + axis + 1, sizes.end());
      for (std::int64_t o = 0; o < count(outer); ++o)
        for (const std::int64_t p : places)
          for (std::int64_t i = 0; i < count(inner); ++i)
            want.push_back(axis == 0   ? element(0, i / sizes[2], i % sizes[2], p)
                           : axis == 1 ? element(o, 0, i, p)
                                       : element(o / sizes[1], o % sizes[1], 0, p));
      const Tensor at = computed(places, {2, 3});
      const Tensor taken = take(table, at, axis);
      EXPECT_EQ(taken.rank(), 4);
      all.push_back({taken, want});
      if (axis != 1) continue;
      const Tensor host = Tensor::from<double>(want, taken.shape(), "CPU");
      const auto moved = [&](const std::function<Tensor(const Tensor&)>& f) {
        all.push_back({f(taken), f(host).read<double>()});
      };
      moved([](const Tensor& x) { return x.sum({0}); });
      moved([](const Tensor& x) { return x.permute({3, 1, 0, 2}).flip({1}) + 1; });
      moved([](const Tensor& x) { return x.pad({{1, 0}, {0, 1}, {0, 0}, {1, 1}}) + 1; });
    }
  expect_near(all);
}

TEST_P(Indexing, IsOneKernelWithWhatComesBeforeAndAfter) {
  const Tensor x = counting({6, 4}).contiguous();
  x.read<double>();
  const Tensor at = Tensor::from<std::uint32_t>({1, 5, 0}, {3}, device());
  at.read<std::uint32_t>();
  EXPECT_EQ(kernels_of(take(x, at, 0) * 2), 1u);
  EXPECT_EQ(kernels_of((take(x, at, 0) * 2).sum({1})), 1u);
  EXPECT_EQ(kernels_of(take(x, at, 0) + take(x, at, 0)), 1u);
  const Tensor y = counting({6}) * 2;
  EXPECT_EQ(kernels_of(take(y, at, 0)), 2u);  // one for computing the table
}

TEST_P(Indexing, JoinNoKernelPastItsLimits) {
  const Tensor x = counting({6, 4}).contiguous(), at = computed({1, 5, 0}, {3});
  x.read<double>();
  Tensor sum = counting({3, 4});
  for (int i = 0; i < 40; ++i) sum = sum + take(x * (i + 2.0), at, 0);
  Config config;
  config.scheduler = Scheduler::Ranges;
  for (const int most : {0, 4, 6}) {
    config.kernelize.max_kernel_buffers = most;
    std::size_t gathers = 0;
    for (const ScheduleItem& item : schedule(std::vector{sum.lazy()}, {}, config)) {
      for (const LazyOpPtr& node : toposort(item.ast)) gathers += node->op() == Op::Gather ? 1 : 0;
      EXPECT_LE(item.inputs.size() + 1, most == 0 ? SIZE_MAX : static_cast<std::size_t>(most));
    }
    EXPECT_EQ(gathers, 40U);
  }
}

TEST_P(Indexing, EverySchedulerGivesTheSame) {
  const Doubles values = some(20);
  const auto program = [&] {
    const Tensor x = make(values, {5, 4}) * 2, at = computed({3, 0, -1, 2}, {4});
    const Tensor rows = take(x, at, 0), twice = take(rows + 1, at, 1);
    Tensor weight = make(values, {10, 2});
    weight.set_requires_grad();
    const Tensor many = take(weight, computed({1, 0, 9, 1, 1, 3}, {2, 3}), 0) * 2;
    const Tensor slope = gradients((many * many).sum(), {weight})[0];
    return (slope.reshape({5, 4}).sum({1}).sum() + many.permute({2, 0, 1}).sum({1}).max()) *
           (rows.transpose(0, 1).sum({0}) + gather(x, 1, computed({3, 1, 0, 0, 2}, {5, 1})).sum()) *
           twice.max();
  };
  const Doubles want = program().read<double>();
  for (const Scheduler scheduler : {Scheduler::Kernelize, Scheduler::Ranges}) {
    Config config;
    config.scheduler = scheduler;
    const ConfigScope scope(config);
    expect_near(program(), want);
  }
  for (const Switch off : {Switch::MergeViews, Switch::ShufflePadOps, Switch::ShuffleMovementOps,
                           Switch::MergeElementwiseOps, Switch::RemoveMovementNops}) {
    Config config;
    config.set(off, false);
    const ConfigScope scope(config);
    expect_near(program(), want);
  }
}

TEST_P(Indexing, TheGradientOfEachRowIsTheSumInOrder) {
  constexpr std::int64_t kRows = 7, kSize = 3;
  Generator generator(1);
  nn::Embedding table(kRows, kSize, generator, {DType::Float32, device()});
  const Positions tokens = {3, 0, 3, 3, 6, -1};
  const Tensor weights = generator.normal({2, 3, kSize}, 0, 1, {DType::Float32, device()});
  const Tensor out = table(Tensor::from<std::int64_t>(tokens, {2, 3}, device()));
  EXPECT_EQ(out.shape(), (Shape{2, 3, kSize}));
  (out * weights).sum().backward();
  std::vector<double> want(kRows * kSize);
  const std::vector<float> g = weights.read<float>();
  for (std::size_t k = 0; k < tokens.size(); ++k)
    for (std::size_t i = 0; i < kSize; ++i)
      want[static_cast<std::size_t>(tokens[k] < 0 ? tokens[k] + kRows : tokens[k]) * kSize + i] +=
          static_cast<double>(g[k * kSize + i]);
  const std::vector<float> got = table.weight.grad()->read<float>();
  for (std::size_t i = 0; i < want.size(); ++i) EXPECT_EQ(got[i], static_cast<float>(want[i]));
}

TEST_P(Indexing, ScatterAddOfEveryType) {
  const Tensor at = computed({1, 0, 1, 2, -1, 1}, {2, 3});
  std::vector<Expectation> all;
  for (const DTypeInfo& type : dtype_table) {
    if (is_bool(type.dtype)) continue;
    const Tensor x = Tensor::from<int>({0, 1, 2, 3, 0, 1, 2, 0}, {2, 4}, device()).cast(type.dtype);
    const Tensor s = Tensor::from<int>({1, 0, 2, 1, 2, 1}, {2, 3}, device()).cast(type.dtype);
    all.push_back({scatter_add(x, 1, at, s), {0, 4, 2, 3, 0, 2, 3, 2}});
  }
  expect_near(all);
  const Tensor flags = Tensor::from<bool>({false, true, false}, {3}, device());
  EXPECT_EQ(
      scatter_add(flags, 0, computed({2, 2}, {2}), Tensor::from<bool>({true, false}, {2}, device()))
          .read<bool>(),
      (std::vector{false, true, true}));
  // Wraps, and rounds once.
  const Tensor small = Tensor::from<std::uint8_t>({200, 100}, {2}, device());
  EXPECT_EQ(
      scatter_add(Tensor::zeros({1}, {DType::UInt8, device()}), 0, computed({0, 0}, {2}), small)
          .read<std::uint8_t>(),
      (std::vector<std::uint8_t>{44}));
  const Tensor parts = Tensor::from<float>({0x1p24F, 1, 1, -0x1p24F}, {4}, device());
  EXPECT_EQ(scatter_add(Tensor::zeros({1}, {DType::Float32, device()}), 0,
                        computed({0, 0, 0, 0}, {4}), parts)
                .read<float>(),
            (std::vector{2.0F}));
}

TEST_P(Indexing, OfTablesAndPositionsWithoutElements) {
  const Tensor none = Tensor::zeros({0, 3}, {DType::Float64, device()});
  EXPECT_THROW(take(none, computed({0, -1}, {2}), 0), ShapeError);
  EXPECT_EQ(take(none, computed({}, {0}), 0).shape(), (Shape{0, 3}));
  EXPECT_EQ(take(counting({2, 3}), computed({}, {0}), 0).shape(), (Shape{0, 3}));
  EXPECT_EQ(take(none, computed({0, 1}, {2}), 1).shape(), (Shape{0, 2}));
  expect_near(take(counting({1}), computed({0, -1}, {2}), 0), {1, 1});
  EXPECT_EQ(fault_of(take(counting({1}), computed({0, -2, 1}, {3}), 0)), (IndexFault{1, -2, 1}));
  Tensor x = counting({2, 3});
  x.set_requires_grad();
  take(x, computed({}, {0}), 0).sum().backward();
  expect_near(*x.grad(), {0, 0, 0, 0, 0, 0});
  expect_near(take(counting({3}), computed({1}, {1}).squeeze(0), 0), {2});
}

TEST_P(Indexing, AJitReplaysWithNewPositionsAndTables) {
  Tensor weight = counting({5, 2}).cast(DType::Float32).contiguous();
  weight.set_requires_grad();
  TensorJit step([&](std::span<const Tensor> in) {
    const Tensor loss = (take(weight, in[0], 0) * in[1]).sum();
    return TensorJit::Tensors{loss, gradients(loss, {weight})[0]};
  });
  for (int i = 0; i < 5; ++i) {
    const std::vector<int> at = {i, (2 * i) % 5, 4 - i};
    const Tensor scale =
        Tensor::from<float>({1, 2, 3, 4, 5, static_cast<float>(i)}, {3, 2}, device());
    const auto out = step(std::vector{Tensor::from<int>(at, {3}, device()), scale});
    const std::vector<float> s = scale.read<float>();
    std::vector<float> want(10);
    float loss = 0;
    for (std::size_t k = 0; k < 6; ++k) {
      const std::size_t to = static_cast<std::size_t>(at[k / 2]) * 2 + k % 2;
      want[to] += s[k];
      loss += s[k] * static_cast<float>(to + 1);
    }
    EXPECT_EQ(out[0].item<float>(), loss);
    EXPECT_EQ(out[1].read<float>(), want);
  }
}

TEST_P(Indexing, TheNumberOfPositionsMayBeAVariable) {
  const sint n = symbolic::variable("n", 1, 6);
  Tensor weight = counting({5, 2});
  weight.set_requires_grad();
  const Tensor tokens = computed({4, 0, 3, 4, 1, -1}, {6});
  const auto rows = [&](const sint& size) { return take(weight, tokens.shrink({{0, size}}), 0); };
  const auto slope = [&](const sint& size) {
    const Tensor all = rows(size);
    return gradients((all * all).sum(), {weight})[0];
  };
  for (const std::int64_t size : {1, 4, 6}) {
    expect_near(rows(n).bind({{"n", size}}), rows(size).read<double>());
    expect_near(slope(n).bind({{"n", size}}), slope(size).read<double>());
  }
  const Tensor far = take(weight, computed({4, 0, 3, 7, 1, 5}, {6}).shrink({{0, n}}), 0);
  EXPECT_EQ(fault_in([&] { far.bind({{"n", 3}}).realize(); }), IndexFault{});
  EXPECT_EQ(fault_in([&] { far.bind({{"n", 5}}).realize(); }), (IndexFault{3, 7, 5}));
}

}  // namespace
}  // namespace touchstone
