// Sums in the order that their kernel declares, compared bit for bit with a loop in that order.
#include <gtest/gtest.h>

#include <cmath>

#include "../support/traced_draws.h"
#include "harness.h"
#include "touchstone/codegen/linearize.h"
#include "touchstone/interp/oracle/declared_profile.h"
#include "touchstone/interp/oracle/verdict.h"

namespace touchstone {
namespace {

ShapeTracker packed_view(Shape shape) { return ShapeTracker::contiguous(std::move(shape)); }

std::vector<float> drawn_terms(std::size_t count, unsigned seed) {
  test::TracedDraws random(seed);
  std::vector<float> values(count);
  for (float& v : values) v = std::ldexp(static_cast<float>(random.below(65536)) - 32768, -9);
  return values;
}

// As a profile declares it: fills running sums in turn, then adds the upper half to the lower half.
float added(const std::vector<float>& terms, std::size_t lanes) {
  std::vector<float> sums(lanes);
  for (std::size_t i = 0; i < terms.size(); ++i) sums[i % lanes] += terms[i];
  for (std::size_t half = lanes / 2; half > 0; half /= 2)
    for (std::size_t i = 0; i < half; ++i) sums[i] += sums[half + i];
  return sums[0];
}

std::size_t lanes_of(const LazyOpPtr& kernel, const CodegenOptions& options = {}) {
  return static_cast<std::size_t>(linearize(kernel, options).running_sums);
}

// Rows of `inner` terms, with `outer` other terms of the reduce before them.
LazyOpPtr row_sums(std::int64_t rows, std::int64_t outer, std::int64_t inner) {
  const auto view = packed_view({outer, rows, inner}).permute(std::vector<int>{1, 0, 2});
  return stored(LazyOp::reduce(Op::ReduceSum, LazyOp::load(1, DType::Float32, view), {1, 2}));
}

void expect_declared_order(Device& device, std::int64_t rows, std::int64_t outer,
                           std::int64_t inner, std::size_t lanes) {
  SCOPED_TRACE(fmt::format("{} rows of {} x {}", rows, outer, inner));
  const LazyOpPtr kernel = row_sums(rows, outer, inner);
  EXPECT_EQ(lanes_of(kernel), lanes);
  const auto at = [](std::int64_t i) { return static_cast<std::size_t>(i); };
  const std::vector<float> x = drawn_terms(at(rows * outer * inner), 3);
  const std::vector<float> sums = run<float>(device, kernel, {x});
  for (std::int64_t r = 0; r < rows; ++r) {
    std::vector<float> terms;
    for (std::int64_t o = 0; o < outer; ++o)
      for (std::int64_t i = 0; i < inner; ++i) terms.push_back(x[at((o * rows + r) * inner + i)]);
    EXPECT_EQ(sums[at(r)], added(terms, lanes)) << r;
  }
}

TEST(RunningSums, MeetTheirTermsInTheDeclaredOrder) {
  for (const int threads : {1, 3}) {
    ClangOptions options = ClangOptions::from_environment();
    options.threads = threads;
    options.parallel_work = 1;
    const TestDevice device(options);
    std::vector<LazyOpPtr> kernels;
    for (const std::int64_t inner :
         {2, 3, 7, 8, 9, 15, 16, 17, 31, 63, 64, 65, 100, 255, 1000, 5000})
      for (const std::int64_t rows : {1, 3, 5}) kernels.push_back(row_sums(rows, 1, inner));
    for (const std::int64_t inner : {2, 3, 8, 10, 16, 21, 63, 64, 72, 80})
      for (const std::int64_t outer : {2, 4, 5, 19}) kernels.push_back(row_sums(3, outer, inner));
    (*device).prepare(kernels);  // in few compiler runs
    for (const std::int64_t inner :
         {2, 3, 7, 8, 9, 15, 16, 17, 31, 63, 64, 65, 100, 255, 1000, 5000})
      for (const std::int64_t rows : {1, 3, 5}) expect_declared_order(*device, rows, 1, inner, 16);
    // Rows whose terms start at any of the running sums, where these pay.
    for (const std::int64_t inner : {2, 3, 8, 10, 16, 21, 63, 64, 72, 80})
      for (const std::int64_t outer : {2, 4, 5, 19})
        expect_declared_order(*device, 3, outer, inner, inner % 16 == 0 || inner > 64 ? 16 : 1);
  }
}

// One kernel for every size, bound to a variable.
TEST(RunningSums, OfAVariableNumberOfTermsHaveTheSameBits) {
  const symbolic::Node n = symbolic::variable("n", 1, 100);
  const auto view = ShapeTracker({View::strided({3, sint(n)}, {100, 1}, 0)});
  const LazyOpPtr any =
      stored(LazyOp::reduce(Op::ReduceSum, LazyOp::load(1, DType::Float32, view), {1}));
  EXPECT_EQ(lanes_of(any), 16U);
  const TestDevice device;
  const std::vector<float> x = drawn_terms(300, 11);
  for (const std::int64_t size : {1, 2, 5, 15, 16, 17, 33, 99, 100}) {
    const std::vector<float> sums = run<float>(*device, any, {x}, {{"n", size}});
    for (std::size_t r = 0; r < 3; ++r) {
      const auto first = x.begin() + static_cast<std::ptrdiff_t>(r * 100);
      EXPECT_EQ(sums[r], added({first, first + size}, 16)) << size;
    }
  }
}

// Also where running sums do not pay: any number of terms, and very many rows.
TEST(RunningSums, MeetTheTermsOfRowsInTheDeclaredOrder) {
  ClangOptions options = ClangOptions::from_environment();
  options.codegen.opts = parse_opts("sums(16)");
  const TestDevice device(options);
  std::vector<std::pair<std::int64_t, std::int64_t>> all{{3000, 7}, {6000, 3}, {1200, 25}};
  for (const std::int64_t inner : {2, 3, 5, 7, 8, 10, 13, 15, 17, 21, 25, 31, 33, 63})
    for (const std::int64_t outer : {2, 5, 16, 19}) all.emplace_back(outer, inner);
  std::vector<LazyOpPtr> kernels;
  for (const auto& [outer, inner] : all) kernels.push_back(row_sums(2, outer, inner));
  (*device).prepare(kernels);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto [outer, inner] = all[i];
    const auto at = [](std::int64_t k) { return static_cast<std::size_t>(k); };
    const std::vector<float> x = drawn_terms(at(2 * outer * inner), 3);
    const std::vector<float> sums = run<float>(*device, kernels[i], {x});
    for (std::int64_t r = 0; r < 2; ++r) {
      std::vector<float> terms;
      for (std::int64_t o = 0; o < outer; ++o)
        for (std::int64_t k = 0; k < inner; ++k) terms.push_back(x[at((o * 2 + r) * inner + k)]);
      EXPECT_EQ(sums[at(r)], added(terms, 16)) << outer << ' ' << inner;
    }
  }
}

// A variable number of rows with a variable number of terms: the same bits as the kernel with these
// numbers, whose axes may merge.
TEST(RunningSums, OfRowsOfAVariableNumberOfTermsHaveTheSameBits) {
  const symbolic::Node n = symbolic::variable("n", 1, 40), m = symbolic::variable("m", 1, 9);
  const auto of = [](const sint& outer, const sint& inner, const sint& stride) {
    const auto view = ShapeTracker({View::strided({2, outer, inner}, {360, stride, 1}, 0)});
    return stored(LazyOp::reduce(Op::ReduceSum, LazyOp::load(1, DType::Float32, view), {1, 2}));
  };
  const LazyOpPtr apart = of(sint(m), sint(n), 40), together = of(sint(m), sint(n), sint(n));
  ClangOptions options = ClangOptions::from_environment();
  options.codegen.opts = parse_opts("sums(16)");
  const TestDevice device(options);
  const std::vector<float> x = drawn_terms(720, 12);
  for (const auto& [outer, inner] : std::vector<std::pair<std::int64_t, std::int64_t>>{
           {1, 1}, {1, 40}, {9, 1}, {9, 40}, {2, 16}, {3, 5}, {9, 10}, {7, 17}, {8, 31}}) {
    const symbolic::Values values{{"m", outer}, {"n", inner}};
    for (const bool is_apart : {false, true}) {
      const std::int64_t stride = is_apart ? 40 : inner;
      std::vector<float> wanted;
      for (std::int64_t r = 0; r < 2; ++r) {
        std::vector<float> terms;
        for (std::int64_t o = 0; o < outer; ++o)
          for (std::int64_t i = 0; i < inner; ++i)
            terms.push_back(x[static_cast<std::size_t>(r * 360 + o * stride + i)]);
        wanted.push_back(added(terms, 16));
      }
      EXPECT_EQ(run<float>(*device, is_apart ? apart : together, {x}, values), wanted)
          << outer << ' ' << inner << ' ' << is_apart;
      if (inner == 1) continue;  // a column
      EXPECT_EQ(run<float>(*device, of(outer, inner, stride), {x}), wanted)
          << outer << ' ' << inner << ' ' << is_apart;
    }
  }
}

TEST(RunningSums, AreOneWhereTheSourcesOrderIsAskedFor) {
  ClangOptions options = ClangOptions::from_environment();
  options.codegen.order = TermOrder::Source;
  const TestDevice device(options);
  const LazyOpPtr kernel = row_sums(2, 1, 1000);
  EXPECT_EQ(lanes_of(kernel, options.codegen), 1U);
  const std::vector<float> x = drawn_terms(2000, 5);
  const std::vector<float> sums = run<float>(*device, kernel, {x});
  EXPECT_EQ(sums[0], added({x.begin(), x.begin() + 1000}, 1));
  EXPECT_EQ(sums[1], added({x.begin() + 1000, x.end()}, 1));
}

// Softmax without division: a maximum, a sum that depends on it, an output as long as both.
TEST(RunningSums, OfAReduceOfAReduce) {
  const std::int64_t rows = 3, columns = 300;
  const auto x = LazyOp::load(1, DType::Float32, packed_view({rows, columns}));
  const auto most = LazyOp::reduce(Op::ReduceMax, x, {1});
  const LazyOpPtr kernel = stored(most);
  const std::vector<float> values = drawn_terms(900, 9);
  const TestDevice device;
  const std::vector<float> maxima = run<float>(*device, kernel, {values});
  for (std::size_t r = 0; r < 3; ++r)
    EXPECT_EQ(maxima[r],
              *std::max_element(values.begin() + static_cast<std::ptrdiff_t>(r * 300),
                                values.begin() + static_cast<std::ptrdiff_t>(r * 300 + 300)));
}

TEST(RunningSums, NarrowTypesAndDoublesToo) {
  const auto x = LazyOp::load(1, DType::Float64, packed_view({2, 777}));
  const LazyOpPtr kernel = stored(LazyOp::reduce(Op::ReduceSum, x, {1}));
  EXPECT_EQ(lanes_of(kernel), 16U);
  std::vector<double> values(1554);
  test::TracedDraws random(1);
  for (double& v : values) v = std::ldexp(static_cast<double>(random.bits() >> 32), -30);
  const TestDevice device;
  const std::vector<double> sums = run<double>(*device, kernel, {values});
  for (std::size_t r = 0; r < 2; ++r) {
    std::vector<double> lanes(16);
    for (std::size_t i = 0; i < 777; ++i) lanes[i % 16] += values[r * 777 + i];
    for (std::size_t half = 8; half > 0; half /= 2)
      for (std::size_t i = 0; i < half; ++i) lanes[i] += lanes[half + i];
    EXPECT_EQ(sums[r], lanes[0]);
  }
}

TEST(RunningSums, AreNotForTermsThatLieApart) {
  const auto columns = LazyOp::load(1, DType::Float32, packed_view({1000, 8}));
  EXPECT_EQ(lanes_of(stored(LazyOp::reduce(Op::ReduceSum, columns, {0}))), 1U);
  const auto turned = packed_view({8, 1000}).stride(std::vector<std::int64_t>{1, -1});
  EXPECT_EQ(
      lanes_of(stored(LazyOp::reduce(Op::ReduceSum, LazyOp::load(1, DType::Float32, turned), {1}))),
      1U);
}

// A sum in another order is legal if any order is, and wrong if one is declared.
TEST(RunningSums, LeaveTheOracleOneAnswer) {
  const TestDevice device;
  const LazyOpPtr kernel = row_sums(1, 1, 1000);
  std::vector<float> x(1000);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = 1.0F / static_cast<float>(i + 1);
  ASSERT_NE(added(x, 16), added(x, 1));
  Buffer out(*device, DType::Float32, 1), in(*device, DType::Float32, 1000);
  in.write(std::span<const float>(x));
  Buffer* const both[] = {&out, &in};
  const Profile lanes = declared_profile((*device).runner(kernel)->profile());
  const auto outcome = [&](float sum, const Profile& profile) {
    out.write(std::span<const float>(&sum, 1));
    return judge(kernel, both, out, profile).outcome;
  };
  EXPECT_EQ(outcome(added(x, 16), lanes), Outcome::Pass);
  EXPECT_EQ(outcome(added(x, 1), lanes), Outcome::Fail);
  EXPECT_NE(outcome(added(x, 1), Profile()), Outcome::Fail);
}

TEST(RunningSums, AreWhatTheProfileOfTheKernelSays) {
  const TestDevice device;
  for (const LazyOpPtr& kernel : {row_sums(2, 1, 1000), row_sums(2, 3, 72)}) {
    const Profile lanes = declared_profile(device.device->runner(kernel)->profile());
    EXPECT_EQ(lanes.order, SumOrder::Folded);
    EXPECT_EQ(lanes.block, 16);
    EXPECT_FALSE(lanes.contracts);
  }
  const auto columns = LazyOp::load(1, DType::Float32, packed_view({1000, 8}));
  const LazyOpPtr in_turn = stored(LazyOp::reduce(Op::ReduceSum, columns, {0}));
  EXPECT_EQ(declared_profile(device.device->runner(in_turn)->profile()).order,
            SumOrder::Sequential);
}

// Sums of products, by the definition of either arithmetic: along columns in sequence, along rows
// in lanes.
TEST(RunningSums, LeaveProductsUnroundedWhereThatIsDeclared) {
  constexpr std::int64_t kTerms = 500;
  constexpr auto kCount = static_cast<std::size_t>(kTerms);
  std::vector<float> x = drawn_terms(2 * kCount, 5), y = drawn_terms(2 * kCount, 6);
  for (float& v : x) v /= 3;  // no product fits in 24 bits
  for (const bool contract : {false, true})
    for (const bool along_rows : {false, true}) {
      SCOPED_TRACE(fmt::format("fused: {}, along rows: {}", contract, along_rows));
      const auto factor = [&](int buffer) {
        const ShapeTracker view = packed_view({kTerms, 2});
        return LazyOp::load(
            buffer, DType::Float32,
            along_rows ? packed_view({2, kTerms}) : view.permute(std::vector<int>{1, 0}));
      };
      const LazyOpPtr kernel =
          stored(LazyOp::reduce(Op::ReduceSum, LazyOp::binary(Op::Mul, factor(1), factor(2)), {1}));
      ClangOptions options = ClangOptions::from_environment();
      options.codegen.contract = contract;
      const TestDevice device(options);
      const Profile declared = declared_profile((*device).runner(kernel)->profile());
      EXPECT_EQ(declared.contracts, contract);
      const std::size_t lanes = lanes_of(kernel, options.codegen);
      EXPECT_EQ(lanes, along_rows ? 16U : 1U);
      const std::vector<float> sums = run<float>(*device, kernel, {x, y});
      for (std::size_t r = 0; r < 2; ++r) {
        std::vector<float> fused(lanes), rounded(lanes);
        for (std::size_t i = 0; i < kCount; ++i) {
          const std::size_t at = along_rows ? r * kCount + i : i * 2 + r;
          fused[i % lanes] = std::fma(x[at], y[at], fused[i % lanes]);
          rounded[i % lanes] += x[at] * y[at];
        }
        ASSERT_NE(added(fused, lanes), added(rounded, lanes));
        EXPECT_EQ(sums[r], added(contract ? fused : rounded, lanes)) << r;
      }
      Buffer out(*device, DType::Float32, 2), a(*device, DType::Float32, 2 * kTerms),
          b(*device, DType::Float32, 2 * kTerms);
      out.write(std::span<const float>(sums));
      a.write(std::span<const float>(x));
      b.write(std::span<const float>(y));
      Buffer* const all[] = {&out, &a, &b};
      EXPECT_EQ(judge(kernel, all, out, declared).outcome, Outcome::Pass);
      Profile other = declared;
      other.contracts = false;
      EXPECT_EQ(judge(kernel, all, out, other).outcome, contract ? Outcome::Fail : Outcome::Pass);
    }
}

// Terms that are no products, or are first rounded to another type, leave nothing unrounded.
TEST(RunningSums, OfOtherTermsAreJudgedToTheLastBit) {
  ClangOptions options = ClangOptions::from_environment();
  options.codegen.contract = true;
  const auto x = LazyOp::load(1, DType::Float32, packed_view({3, 40}));
  const auto narrow = LazyOp::load(1, DType::Float16, packed_view({3, 40}));
  const auto sum = [](const LazyOpPtr& term) {
    return stored(LazyOp::reduce(Op::ReduceSum, term, {1}));
  };
  for (const LazyOpPtr& kernel :
       {sum(x), sum(LazyOp::binary(Op::Add, LazyOp::binary(Op::Mul, x, x), x)),
        sum(LazyOp::binary(Op::Mul, narrow, narrow)),
        stored(LazyOp::reduce(Op::ReduceMax, LazyOp::binary(Op::Mul, x, x), {1})),
        stored(LazyOp::binary(Op::Add, LazyOp::binary(Op::Mul, x, x), x))})
    EXPECT_FALSE(linearize(kernel, options.codegen).contract) << str(kernel);
  EXPECT_TRUE(linearize(sum(LazyOp::binary(Op::Mul, x, x)), options.codegen).contract);
}

}  // namespace
}  // namespace touchstone
