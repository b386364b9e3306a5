#include "touchstone/clang/machine.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "harness.h"

// Layout sizes that follow from a processor, and results that do not.

namespace touchstone {
namespace {

constexpr std::int64_t kKib = 1 << 10, kMib = 1 << 20;

const Machine kAvx512{"", 256, 16, 48 * kKib, 2 * kMib, 300 * kMib, 2};
const Machine kAvx2{"", 64, 8, 32 * kKib, 512 * kKib, 16 * kMib, 2};
const Machine kSmall{"", 64, 8, 16 * kKib, 256 * kKib, 0, 1};

TEST(Machine, CachesAndRegistersSetTheSizes) {
  EXPECT_EQ(sizes_for({}), LayoutSizes{});
  EXPECT_EQ(sizes_for(kAvx512), LayoutSizes{});
  const LayoutSizes narrow = sizes_for(kAvx2);
  EXPECT_EQ(narrow.block_rows * narrow.block_lanes, 64);
  EXPECT_EQ(narrow.block_lanes, 16);
  EXPECT_EQ(narrow.staged_bytes, 16 * kKib);
  EXPECT_EQ(narrow.packed_bytes, 256 * kKib);
  EXPECT_EQ(narrow.past_cache_bytes, 16 * kMib);
  EXPECT_EQ(sizes_for(kSmall).packed_bytes, 128 * kKib);
  EXPECT_EQ(sizes_for(kSmall).past_cache_bytes, LayoutSizes{}.past_cache_bytes);
}

TEST(Machine, IsTheOneThatKernelsAreCompiledFor) {
  ClangOptions options;
  options.threads = 3;
  EXPECT_EQ(this_machine(options).threads, 3);
  EXPECT_EQ(for_this_machine(options).sizes, sizes_for(this_machine(options)));
  options.codegen.sizes = kTinySizes;  // chosen by the caller
  EXPECT_EQ(for_this_machine(options).sizes, kTinySizes);
  for (const LayoutReason& reason : reasons_for(kSmall)) EXPECT_FALSE(reason.size.empty());
}

std::vector<std::uint32_t> bits(const std::vector<float>& values) {
  std::vector<std::uint32_t> out;
  for (const float v : values) out.push_back(std::bit_cast<std::uint32_t>(v));
  return out;
}

std::vector<float> numbers(std::int64_t count) {
  std::vector<float> out;
  for (std::int64_t i = 0; i < count; ++i)
    out.push_back(static_cast<float>(std::sin(static_cast<double>(i) * 0.7)));
  return out;
}

// Float sums whose last bits depend on their order.
TEST(Machine, BitsDoNotDependOnIt) {
  const auto product = [](std::int64_t m, std::int64_t k, std::int64_t n, bool transposed) {
    const Shape shape{m, n, k};
    const auto load = [&](int buffer, const std::vector<std::int64_t>& strides) {
      return LazyOp::load(
          buffer, DType::Float32,
          ShapeTracker({View::strided(shape, {strides[0], strides[1], strides[2]}, 0)}));
    };
    const auto y = transposed ? load(2, {0, k, 1}) : load(2, {0, 1, n});
    return stored(
        LazyOp::reduce(Op::ReduceSum, LazyOp::binary(Op::Mul, load(1, {k, 0, 1}), y), {2}));
  };
  const auto transposed_sum = [](std::int64_t n) {
    const auto load = [&](int buffer, std::int64_t row, std::int64_t column) {
      return LazyOp::load(buffer, DType::Float32,
                          ShapeTracker({View::strided({n, n}, {row, column}, 0)}));
    };
    return stored(LazyOp::binary(Op::Add, load(1, n, 1), load(2, 1, n)));
  };
  for (const auto& [kernel, size] : {std::pair(product(17, 70, 130, false), std::int64_t{70 * 130}),
                                     std::pair(product(40, 300, 65, true), std::int64_t{300 * 65}),
                                     std::pair(product(1, 1000, 3, true), std::int64_t{3000}),
                                     std::pair(transposed_sum(100), std::int64_t{10000})}) {
    std::vector<std::uint32_t> first;
    for (const Machine& machine : {kAvx512, kAvx2, kSmall}) {
      ClangOptions options = ClangOptions::from_environment();
      options.codegen.sizes = sizes_for(machine);
      options.opt_level = 1;
      const TestDevice device(options);
      const auto got = bits(run<float>(*device, kernel, {numbers(size), numbers(size)}));
      if (first.empty()) first = got;
      EXPECT_EQ(got, first) << str(kernel);
    }
  }
}

}  // namespace
}  // namespace touchstone
