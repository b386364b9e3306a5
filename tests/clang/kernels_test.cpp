#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "../support/traced_draws.h"
#include "harness.h"
#include "touchstone/clang/clang_device.h"
#include "touchstone/fuzz/draw/draw_kernel.h"
#include "touchstone/interp/device/interpreted.h"

namespace touchstone {
namespace {

constexpr DType kF32 = DType::Float32;
using Floats = std::vector<float>;

Device& device() {
  static const TestDevice only;
  return *only;
}

ShapeTracker dense(Shape shape) { return ShapeTracker::contiguous(std::move(shape)); }

void expect_gathers(std::initializer_list<ShapeTracker> views) {
  std::vector<LazyOpPtr> kernels;
  for (const ShapeTracker& st : views) kernels.push_back(stored(LazyOp::load(1, DType::Int32, st)));
  device().prepare(kernels);
  for (const LazyOpPtr& kernel : kernels) {
    const ShapeTracker& st = kernel->src()[0]->buffer().st;
    const auto buffer = counting<std::int32_t>(buffers_of(kernel).back().size);
    EXPECT_EQ(run<std::int32_t>(device(), kernel, {buffer}), gathered(st, buffer)) << st.str();
  }
}

using Steps = std::vector<std::int64_t>;

TEST(ClangViews, NegativeStridesReadBackwards) {
  expect_gathers({dense({3, 5}).stride(Steps{-1, -2}), dense({7}).stride(Steps{-1})});
}

TEST(ClangViews, MasksGiveZero) {
  expect_gathers({dense({3, 5}).pad(Padding{{1, 2}, {0, 3}}),
                  dense({4}).pad(Padding{{2, 2}}).shrink(Mask{{1, 3}}),
                  dense({4}).pad(Padding{{2, 0}}).shrink(Mask{{0, 2}}),  // nothing valid
                  dense({4, 4}).pad(Padding{{1, 1}, {1, 1}}).stride(Steps{-2, 3})});
}

TEST(ClangViews, StacksOfViewsCompose) {
  const std::vector<int> swap{1, 0};
  expect_gathers(
      {dense({4, 6}).permute(swap).reshape({3, 8}),
       dense({4, 6}).permute(swap).reshape({24}).pad(Padding{{3, 2}}).reshape({29}),
       dense({2, 3}).pad(Padding{{1, 0}, {0, 1}}).permute(swap).reshape({2, 6}).permute(swap),
       dense({5}).pad(Padding{{1, 2}}).reshape({2, 4}).pad(Padding{{0, 1}, {1, 1}}).reshape({18})});
}

TEST(ClangViews, SizesOneAndNone) {
  expect_gathers({dense({}), dense({1, 1, 1}), dense({1, 4, 1}).expand({1, 4, 1}), dense({3, 0, 2}),
                  dense({1, 4}).expand({3, 4})});
}

TEST(ClangViews, MaskedConstantIsZeroWhereMasked) {
  const auto st = dense({2}).pad(Padding{{1, 1}});
  const auto kernel = stored(LazyOp::constant(Scalar::of<float>(2.5f), st));
  EXPECT_EQ(run<float>(device(), kernel, {}), (Floats{0, 2.5f, 2.5f, 0}));
}

TEST(ClangReduce, OfNothingGivesTheInitialValue) {
  const auto empty = LazyOp::load(1, kF32, dense({2, 0}));
  EXPECT_EQ(run<float>(device(), stored(LazyOp::reduce(Op::ReduceSum, empty, {1})), {{}}),
            (Floats{0, 0}));
  EXPECT_EQ(run<float>(device(), stored(LazyOp::reduce(Op::ReduceMax, empty, {1})), {{}}),
            Floats(2, -std::numeric_limits<float>::infinity()));
  const auto ints = LazyOp::load(1, DType::Int16, dense({0}));
  EXPECT_EQ(run<std::int16_t>(device(), stored(LazyOp::reduce(Op::ReduceMax, ints, {0})), {{}}),
            std::vector<std::int16_t>{-32768});
}

TEST(ClangReduce, NestsAndStandsBesideOthers) {
  // For each i: the sum over j of (max over k of x[i][j][k]), minus the sum of all x[i].
  const auto x = LazyOp::load(1, kF32, dense({2, 3, 4}));
  const auto most = LazyOp::reduce(Op::ReduceMax, x, {2});
  const auto outer = LazyOp::reduce(Op::ReduceSum, most, {1});
  const auto all = LazyOp::reduce(Op::ReduceSum, x, {1, 2});
  const auto kernel = stored(LazyOp::binary(Op::Sub, outer, all));
  const Floats in = counting<float>(24, -5);
  Floats want;
  for (std::size_t i = 0; i < 2; ++i) {
    float total = 0, of_most = 0;
    for (std::size_t j = 0; j < 3; ++j) {
      float row = -INFINITY;
      for (std::size_t k = 0; k < 4; ++k) {
        row = std::max(row, in[i * 12 + j * 4 + k]);
        total += in[i * 12 + j * 4 + k];
      }
      of_most += row;
    }
    want.push_back(of_most - total);
  }
  EXPECT_EQ(run<float>(device(), kernel, {in}), want);
}

TEST(ClangReduce, OfAnInvariantAddsItEachTime) {
  const auto x = LazyOp::load(1, kF32, dense({3, 1}).expand({3, 5}));
  EXPECT_EQ(run<float>(device(), stored(LazyOp::reduce(Op::ReduceSum, x, {1})), {{1, 2, 3}}),
            (Floats{5, 10, 15}));
  const auto c = LazyOp::constant(Scalar::of<float>(0.5f), dense({}).reshape({1}).expand({6}));
  EXPECT_EQ(run<float>(device(), stored(LazyOp::reduce(Op::ReduceSum, c, {0})), {}), Floats{3});
}

TEST(ClangReduce, SumsInOrder) {
  const auto x = LazyOp::load(1, kF32, dense({1000}).stride(Steps{-1}));
  Floats in(1000);
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = 1.0f / static_cast<float>(i + 1);
  float want = 0;
  for (std::size_t i = in.size(); i-- > 0;) want += in[i];
  EXPECT_EQ(run<float>(device(), stored(LazyOp::reduce(Op::ReduceSum, x, {0})), {in}),
            Floats{want});
}

TEST(ClangReduce, MatmulIsTheTripleLoop) {
  constexpr std::int64_t kM = 5, kN = 37, kK = 19;
  const std::vector<int> swap{1, 0};
  const auto a = LazyOp::load(1, kF32, dense({kM, 1, kK}).expand({kM, kN, kK}));
  const auto b = LazyOp::load(
      2, kF32, dense({kK, kN}).permute(swap).reshape({1, kN, kK}).expand({kM, kN, kK}));
  const auto kernel = stored(LazyOp::reduce(Op::ReduceSum, LazyOp::binary(Op::Mul, a, b), {2}));
  test::TracedDraws random(7);
  Floats x(kM * kK), y(kK * kN);
  for (float& v : x) v = random.normal<float>();
  for (float& v : y) v = random.normal<float>();
  for (const bool fuses : {false, true}) {
    ClangOptions options = ClangOptions::from_environment();
    options.codegen.contract = fuses;
    const TestDevice device(options);
    Floats want;
    for (std::size_t i = 0; i < kM; ++i)
      for (std::size_t j = 0; j < kN; ++j) {
        float sum = 0;
        for (std::size_t k = 0; k < kK; ++k) {
          const float product = x[i * kK + k] * y[k * kN + j];
          sum = fuses ? std::fma(x[i * kK + k], y[k * kN + j], sum) : sum + product;
        }
        want.push_back(sum);
      }
    EXPECT_EQ(run<float>(*device, kernel, {x, y}), want) << fuses;
  }
}

TEST(ClangLanes, NeverChangeABit) {
  // All placements of tiles: one, several, overlapping; unit and other strides; masks; reduces
  // below and beside the one in lanes.
  std::vector<LazyOpPtr> kernels;
  const auto add = [&](LazyOpPtr x, Op op, std::vector<int> axes) {
    kernels.push_back(stored(LazyOp::reduce(op, std::move(x), std::move(axes))));
  };
  for (const std::int64_t n : {4, 7, 63, 64, 65, 100, 130}) {
    const auto columns = LazyOp::load(1, kF32, dense({9, n}));
    const auto rows = LazyOp::load(1, kF32, dense({n, 9}));
    const auto padded = LazyOp::load(
        1, kF32, dense({9, n}).pad(Padding{{0, 1}, {2, 1}}).shrink(Mask{{0, 10}, {1, n + 2}}));
    add(columns, Op::ReduceSum, {0});
    add(rows, Op::ReduceSum, {1});
    add(padded, Op::ReduceSum, {0});
    add(rows, Op::ReduceMax, {1});
    const auto blocks = LazyOp::load(1, kF32, dense({3, 3, n}));
    const auto most = LazyOp::reduce(Op::ReduceMax, blocks, {1});
    add(most, Op::ReduceSum, {0});
    kernels.push_back(stored(LazyOp::binary(Op::Sub, LazyOp::reduce(Op::ReduceMax, blocks, {0, 1}),
                                            LazyOp::reduce(Op::ReduceSum, blocks, {0, 1}))));
  }
  // Parts shared by lanes or rows: ops, masks, reduces inside and beside them.
  for (const std::int64_t n : {8, 65, 100}) {
    const Shape all{5, n, 9};
    const auto of = [&](const ShapeTracker& st) { return LazyOp::load(1, kF32, st.expand(all)); };
    const auto row = LazyOp::unary(Op::Neg, of(dense({5, 1, 9})));
    const auto masked =
        LazyOp::unary(Op::Exp2, of(dense({5, 1, 8}).pad(Padding{{0, 0}, {0, 0}, {1, 0}})));
    const auto turned = of(dense({1, n, 9}));
    const auto below = LazyOp::binary(Op::Mul, row, LazyOp::unary(Op::Neg, turned));
    add(LazyOp::binary(Op::Mul, row, turned), Op::ReduceSum, {2});
    add(LazyOp::binary(Op::Add, LazyOp::binary(Op::Mul, masked, row), turned), Op::ReduceMax, {2});
    add(below, Op::ReduceSum, {0, 2});
    kernels.push_back(stored(
        LazyOp::binary(Op::Sub, LazyOp::reduce(Op::ReduceSum, below, {2}),
                       LazyOp::reduce(Op::ReduceMax, LazyOp::binary(Op::Add, turned, row), {2}))));
  }
  ClangOptions plain = ClangOptions::from_environment();
  plain.codegen.lanes = false;
  plain.codegen.merge_axes = false;
  const TestDevice scalar(plain);
  device().prepare(kernels);
  (*scalar).prepare(kernels);
  test::TracedDraws random(5);
  Floats in(2000);
  for (float& v : in) v = random.normal<float>();
  for (const LazyOpPtr& k : kernels)
    EXPECT_EQ(run<float>(device(), k, {in}), run<float>(*scalar, k, {in}))
        << str(k) << device().runner(k)->source();
}

TEST(ClangSymbolic, OneRunnerServesEverySize) {
  const auto n = symbolic::variable("n", 1, 9);
  const auto x = LazyOp::load(1, kF32, dense({n, 4}));
  const auto doubled = stored(LazyOp::binary(Op::Add, x, x));
  const auto rows = stored(LazyOp::reduce(Op::ReduceSum, x, {0}));
  const RunnerPtr once = device().runner(doubled);
  for (const std::int64_t size : {1, 2, 5, 9}) {
    const Floats in = counting<float>(size * 4);
    Floats twice = in, sums(4, 0);
    for (std::size_t i = 0; i < in.size(); ++i) {
      twice[i] *= 2;
      sums[i % 4] += in[i];
    }
    EXPECT_EQ(run<float>(device(), doubled, {in}, {{"n", size}}), twice);
    EXPECT_EQ(run<float>(device(), rows, {in}, {{"n", size}}), sums);
  }
  EXPECT_EQ(device().runner(doubled), once);
}

TEST(ClangSymbolic, SizesAndOffsetsMayBeExpressions) {
  // The last two of n elements, then n zeros.
  const auto n = symbolic::variable("n", 2, 8);
  const auto st = dense({n}).shrink(Mask{{sint(n) - 2, n}}).pad(Padding{{0, n}});
  const auto kernel = stored(LazyOp::load(1, kF32, st));
  for (const std::int64_t size : {2, 3, 8}) {
    const Floats in = counting<float>(size);
    Floats want(static_cast<std::size_t>(size) + 2, 0);
    want[0] = in[in.size() - 2];
    want[1] = in[in.size() - 1];
    EXPECT_EQ(run<float>(device(), kernel, {in}, {{"n", size}}), want);
  }
}

TEST(ClangSymbolic, NoRowsGiveTheInitialValueAndReadNothing) {
  const auto n = symbolic::variable("n", 0, 8);
  const auto x = LazyOp::load(1, kF32, dense({1, 3}).expand({n, 3}));
  const auto kernel = stored(LazyOp::reduce(Op::ReduceMax, x, {0}));
  EXPECT_EQ(run<float>(device(), kernel, {{}}, {{"n", 0}}), Floats(3, -INFINITY));
  EXPECT_EQ(run<float>(device(), kernel, {{1, 2, 3}}, {{"n", 2}}), (Floats{1, 2, 3}));
}

TEST(ClangKernel, DeepExpressionsCompile) {
  const auto st = dense({4});
  LazyOpPtr x = LazyOp::load(1, DType::Int32, st);
  const LazyOpPtr one = LazyOp::load(2, DType::Int32, st);
  for (int i = 0; i < 3000; ++i) x = LazyOp::binary(i % 2 == 0 ? Op::Add : Op::Xor, x, one);
  std::vector<std::int32_t> want{10, 20, 30, 40};
  for (std::int32_t& v : want)
    for (int i = 0; i < 3000; ++i) v = i % 2 == 0 ? v + 3 : v ^ 3;
  EXPECT_EQ(run<std::int32_t>(device(), stored(x), {{10, 20, 30, 40}, {3, 3, 3, 3}}), want);
}

TEST(ClangKernel, OutputMayBeAnInputToo) {
  const auto kernel =
      stored(LazyOp::load(1, kF32, dense({6}).stride(std::vector<std::int64_t>{-1})));
  Buffer both(device(), kF32, 6);
  both.write(std::span<const float>(counting<float>(6)));
  const std::vector<Buffer*> given{&both, &both};
  run_kernel(device(), kernel, given);
  EXPECT_EQ(both.read<float>(), (Floats{6, 5, 4, 3, 2, 1}));
}

TEST(ClangThreads, AnyNumberGivesTheSameBits) {
  constexpr std::int64_t kRows = 301, kColumns = 1201;
  const auto x = LazyOp::load(1, kF32, dense({kRows, kColumns}));
  const auto rows = stored(LazyOp::reduce(Op::ReduceSum, LazyOp::unary(Op::Sin, x), {1}));
  const auto each = stored(LazyOp::unary(Op::Exp2, LazyOp::unary(Op::Sin, x)));
  Floats in(kRows * kColumns);
  test::TracedDraws random(11);
  for (float& v : in) v = random.normal<float>();
  std::vector<Floats> sums, all;
  for (const int threads : {1, 2, 3, 7}) {
    ClangOptions options = ClangOptions::from_environment();
    options.threads = threads;
    const TestDevice threaded(options);
    for (int again = 0; again < 3; ++again) {
      sums.push_back(run<float>(*threaded, rows, {in}));
      all.push_back(run<float>(*threaded, each, {in}));
    }
  }
  for (const Floats& s : sums) EXPECT_EQ(s, sums.front());
  for (const Floats& a : all) EXPECT_EQ(a, all.front());
}

TEST(ClangKernel, DrawnKernelsAgreeWithTheReference) {
  const auto reference = make_interpreted_device("REFERENCE");
  constexpr Op kOps[] = {Op::Add, Op::Sub, Op::Mul, Op::Max, Op::Xor, Op::Div, Op::Mod};
  constexpr std::int64_t kMost = 512;  // elements of a buffer
  std::vector<LazyOpPtr> kernels;
  for (std::uint64_t i = 0; i < 100; ++i) {
    fuzz::RandomChooser chooser(2024, i);
    const std::vector<std::int64_t> shape = {chooser.between(1, 4), chooser.between(1, 5)};
    const auto load = [&](int idx) {
      ShapeTracker st = fuzz::draw_view(chooser, shape);
      while (st.real_size() > kMost) st = fuzz::draw_view(chooser, shape);
      return LazyOp::load(idx, DType::Int32, st);
    };
    LazyOpPtr x = load(1);
    for (std::int64_t more = chooser.between(1, 3); more > 0; --more)
      x = LazyOp::binary(kOps[chooser.below(std::size(kOps))], x, load(2));
    if (chooser.chance(1, 2))
      x = LazyOp::reduce(chooser.chance(1, 2) ? Op::ReduceSum : Op::ReduceMax, x,
                         chooser.chance(1, 2) ? std::vector<int>{1} : std::vector<int>{0, 1});
    kernels.push_back(stored(x));
  }
  device().prepare(kernels);
  fuzz::RandomChooser chooser(2025, 0);
  std::vector<std::int32_t> in(kMost), other(kMost);
  for (auto& v : in) v = static_cast<std::int32_t>(chooser.below(std::uint64_t{1} << 32));
  for (auto& v : other) v = static_cast<std::int32_t>(chooser.between(-3, 3));
  for (const LazyOpPtr& k : kernels)
    EXPECT_EQ(run<std::int32_t>(device(), k, {in, other}),
              run<std::int32_t>(*reference, k, {in, other}))
        << str(k) << device().runner(k)->source();
}

TEST(ClangFaults, EachShowsOnAKernelThatHoldsIt) {
  const auto x = LazyOp::load(1, kF32, dense({3, 3}));
  const auto padded = LazyOp::load(1, kF32, dense({3, 3}).pad(Padding{{1, 0}, {0, 0}}));
  const auto ints = LazyOp::cast(x, DType::Int32);
  const auto minus_two =
      LazyOp::constant(Scalar::from_int(DType::Int32, -2), dense({1, 1}).expand({3, 3}));
  const std::vector<std::pair<Fault, LazyOpPtr>> cases = {
      {Fault::DropLastReduce, stored(LazyOp::reduce(Op::ReduceSum, x, {1}))},
      {Fault::MaskOffByOne, stored(padded)},
      {Fault::StrideSwapped, stored(x)},
      {Fault::IntDivFloors, stored(LazyOp::cast(LazyOp::binary(Op::Div, ints, minus_two), kF32))},
      {Fault::MaxWithoutNan, stored(LazyOp::reduce(Op::ReduceMax, x, {1}))},
  };
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Floats in{1, 2, 3, 4, nan, 6, 7, 8, 9};
  const auto text = [](const Floats& values) { return fmt::format("{}", fmt::join(values, " ")); };
  for (const auto& [fault, kernel] : cases) {
    ClangOptions options = ClangOptions::from_environment();
    options.fault = fault;
    const TestDevice faulty(options);
    EXPECT_TRUE(holds_fault(kernel, fault)) << name(fault);
    EXPECT_NE(text(run<float>(*faulty, kernel, {in})), text(run<float>(device(), kernel, {in})))
        << name(fault);
  }
}

}  // namespace
}  // namespace touchstone
