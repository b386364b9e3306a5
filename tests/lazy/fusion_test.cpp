#include <gtest/gtest.h>

#include <rapidcheck/gtest.h>

#include <bit>
#include <cmath>

#include "lazy_device.h"

namespace touchstone {
namespace {

std::int64_t any_in(std::int64_t low, std::int64_t high) {
  return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange(low, high + 1));
}

// A step of a drawn program on earlier values; numbers are reduced to the valid range.
struct Step {
  int what = 0;
  std::vector<std::int64_t> numbers;
};
constexpr int kMoves = 6, kUnaries = 5, kBinaries = 6;
constexpr int kKinds = kMoves + kUnaries + kBinaries + 4;

std::vector<Step> any_program() {
  std::vector<Step> program(static_cast<std::size_t>(any_in(1, 24)));
  for (Step& step : program) {
    step.what = static_cast<int>(any_in(0, kKinds - 1));
    for (int i = 0; i < 6; ++i) step.numbers.push_back(any_in(0, 999));
  }
  return program;
}

LazyBufferPtr number(double value, const LazyBufferPtr& like) {
  return LazyBuffer::constant(Scalar::from_double(like->dtype(), value), like->shape(),
                              like->device());
}

LazyBufferPtr move(const LazyBufferPtr& x, int what, const std::vector<std::int64_t>& n) {
  const std::int64_t a = x->shape()[0].as_int(), b = x->shape()[1].as_int();
  switch (what) {
    case 0: return x->permute(std::vector{1, 0});
    case 1: return a * b <= 40 ? x->pad({{n[0] % 2, n[1] % 2}, {n[2] % 2, n[3] % 3}}) : x;
    case 2: return x->shrink({{a > 1 ? n[0] % 2 : 0, a}, {0, b > 1 ? b - n[1] % 2 : b}});
    case 3: return x->stride(std::vector<std::int64_t>{n[0] % 2 ? 1 : -1, n[1] % 2 ? 2 : -1});
    case 4: return x->expand({a == 1 ? 1 + n[0] % 3 : a, b == 1 ? 1 + n[1] % 3 : b});
    default: return b % 2 == 0 ? x->reshape({2 * a, b / 2}) : x->reshape({b, a});
  }
}

LazyBufferPtr unary(const LazyBufferPtr& x, int what) {
  constexpr Op kOps[] = {Op::Neg, Op::Exp2, Op::Recip, Op::Sin, Op::Sqrt};
  return LazyBuffer::e(kOps[what], {x});
}

// y cropped and padded to the shape of x.
LazyBufferPtr fit(const LazyBufferPtr& y, const LazyBufferPtr& x) {
  Mask keep;
  Padding fill;
  for (std::size_t i = 0; i < 2; ++i) {
    const std::int64_t have = y->shape()[i].as_int(), want = x->shape()[i].as_int();
    keep.emplace_back(0, std::min(have, want));
    fill.emplace_back(0, std::max<std::int64_t>(0, want - have));
  }
  return y->shrink(keep)->pad(fill);
}

LazyBufferPtr binary(const LazyBufferPtr& x, const LazyBufferPtr& other, int what) {
  constexpr Op kOps[] = {Op::Add, Op::Mul, Op::Sub, Op::Max, Op::CmpLt, Op::Div};
  const LazyBufferPtr y = fit(other, x);
  return LazyBuffer::e(kOps[what], {x, y})->cast(x->dtype());
}

LazyBufferPtr run_step(const Step& step, const std::vector<LazyBufferPtr>& values) {
  const auto& n = step.numbers;
  const LazyBufferPtr& x = values[static_cast<std::size_t>(n[4]) % values.size()];
  const LazyBufferPtr& y = values[static_cast<std::size_t>(n[5]) % values.size()];
  int what = step.what;
  if (what < kMoves) return move(x, what, n);
  if ((what -= kMoves) < kUnaries) return unary(x, what);
  if ((what -= kUnaries) < kBinaries) return binary(x, y, what);
  const std::vector<int> axes = n[0] % 3 == 2 ? std::vector{0, 1} : std::vector{int(n[0] % 3)};
  switch (what - kBinaries) {
    case 0: return x->r(Op::ReduceSum, axes);
    case 1: return x->r(Op::ReduceMax, axes);
    case 2: return LazyBuffer::e(Op::Add, {x, number(static_cast<double>(n[0] % 5) - 2, x)});
    default:
      return LazyBuffer::e(Op::Where, {LazyBuffer::e(Op::CmpLt, {x, fit(y, x)}), x, fit(y, x)});
  }
}

enum class How { NodeByNode, Fused };

// The bits of all outputs of a program: the last values and one from the middle.
std::vector<std::vector<std::uint32_t>> run(const std::vector<Step>& program, How how) {
  std::vector<float> start;
  for (int i = 0; i < 12; ++i) start.push_back(static_cast<float>(i % 5) - 1.5F);
  const BufferPtr buffer = std::make_shared<Buffer>(Device::get("CPU"), DType::Float32, 12);
  buffer->write<float>(start);
  std::vector<LazyBufferPtr> values{LazyBuffer::from_buffer(buffer, {3, 4}),
                                    LazyBuffer::from_buffer(buffer, {12, 1})};
  for (const Step& step : program) {
    values.push_back(run_step(step, values));
    if (how == How::NodeByNode) {
      values.back() = values.back()->contiguous();
      realize(std::vector{values.back()});
    }
  }
  std::vector<LazyBufferPtr> outputs;
  for (const std::size_t i : {values.size() - 1, values.size() / 2})
    outputs.push_back(values[i]->contiguous());
  for (const ScheduleItem& item : schedule(outputs))
    if (item.ast) validate_kernel(item.ast);
  realize(outputs);
  std::vector<std::vector<std::uint32_t>> bits;
  for (const LazyBufferPtr& output : outputs) {
    auto& of_output = bits.emplace_back();
    if (!output->realized()) continue;
    for (const float v : output->realized()->read<float>())
      of_output.push_back(std::isnan(v) ? 0x7fc00000 : std::bit_cast<std::uint32_t>(v));
  }
  return bits;
}

// The device rounds every op the same in any kernel, so fusion must not change a bit.
RC_GTEST_PROP(Fusion, GivesTheBitsOfRunningNodeByNode, ()) {
  register_interpreted_device();
  const std::vector<Step> program = any_program();
  RC_ASSERT(run(program, How::Fused) == run(program, How::NodeByNode));
}

Config any_config() {
  Config config(static_cast<int>(any_in(0, Config::kMostOpt)));
  if (any_in(0, 2) > 0)
    config.switches = static_cast<std::uint32_t>(any_in(0, (1 << kSwitchCount) - 1));
  config.lazycache = any_in(0, 3) > 0;
  config.lazy = any_in(0, 7) > 0;
  config.memory_planner = any_in(0, 1) > 0;
  return config;
}

RC_GTEST_PROP(Fusion, GivesTheSameBitsUnderAnyConfig, ()) {
  register_interpreted_device();
  const std::vector<Step> program = any_program();
  const auto wanted = run(program, How::Fused);
  for (int i = 0; i < 3; ++i) {
    const Config config = any_config();
    const ConfigScope scope(config);
    RC_LOG() << "OPT " << config.opt << ", switches " << config.switches << '\n';
    RC_ASSERT(run(program, How::Fused) == wanted);
  }
}

class FusionSwitches : public LazyTest {};

TEST_F(FusionSwitches, EachDecidesOneThing) {
  const auto count = [](int opt, Switch which, bool on, const auto& make) {
    const ConfigScope scope{Config(opt).set(which, on)};
    return kernels({make()});
  };
  const auto padded = [] { return exp2(exp2(counting({4, 1}))->pad({{1, 1}, {0, 0}})); };
  EXPECT_EQ(count(2, Switch::ShufflePadOps, true, padded), 1u);
  EXPECT_EQ(count(2, Switch::ShufflePadOps, false, padded), 2u);
  const auto spread = [] {
    const auto x = counting({4, 1});
    return mul(add(x, x)->expand({4, 4}), sum(counting({4, 4, 8}), {2})->reshape({4, 4}));
  };
  EXPECT_EQ(count(2, Switch::RecomputeBeforeExpand, true, spread), 1u);
  EXPECT_EQ(count(2, Switch::RecomputeBeforeExpand, false, spread), 2u);
  EXPECT_EQ(count(2, Switch::MergeOneReduceIntoElementwise, false, spread), 2u);
  const auto turned = [] {
    const auto s = sum(counting({4, 5, 8}), {2})->reshape({4, 5});
    return add(s->permute(std::vector{1, 0}), counting({5, 4}));
  };
  EXPECT_EQ(count(2, Switch::PushPermutes, true, turned), 1u);
  EXPECT_EQ(count(2, Switch::PushPermutes, false, turned), 2u);
  const auto reshaped = [] {
    const auto s = sum(counting({4, 6, 8}), {2})->reshape({2, 2, 6});
    return add(s->permute(std::vector{1, 0, 2}), counting({2, 2, 6}));
  };
  EXPECT_EQ(count(4, Switch::PushReshapes, true, reshaped), 1u);
  EXPECT_EQ(count(4, Switch::PushReshapes, false, reshaped), 2u);
  const auto stored = [] { return exp2(exp2(counting({4}))->contiguous()); };
  EXPECT_EQ(count(2, Switch::PushContiguous, true, stored), 1u);
  EXPECT_EQ(count(2, Switch::PushContiguous, false, stored), 2u);
  const auto chain = [] { return exp2(exp2(counting({4}))); };
  EXPECT_EQ(count(2, Switch::MergeElementwiseOps, false, chain), 2u);
  const auto before = [] { return sum(exp2(counting({4})), {0}); };
  EXPECT_EQ(count(2, Switch::MergeElementwiseIntoReduce, false, before), 2u);
}

}  // namespace
}  // namespace touchstone
