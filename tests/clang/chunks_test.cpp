#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "harness.h"

// Loops over the output in chunks, written past the caches or with short sines; compared bit for
// bit with plain loops.

namespace touchstone {
namespace {

ClangOptions with(std::int64_t past_cache_bytes) {
  ClangOptions options = ClangOptions::from_environment();
  options.codegen.sizes.past_cache_bytes = past_cache_bytes;
  options.threads = 3;
  options.parallel_work = 1;
  return options;
}

bool is_in(std::string_view what, const TestDevice& device, const LazyOpPtr& kernel) {
  return device.device->runner(kernel)->source().find(what) != std::string::npos;
}

template <class T>
std::vector<T> numbers(std::int64_t n) {
  std::vector<T> out;
  for (std::int64_t i = 0; i < n; ++i) out.push_back(static_cast<T>(i * 7 % 101 - 40));
  return out;
}

template <class T>
void expect_the_same(const LazyOpPtr& kernel, std::int64_t input) {
  const TestDevice past(with(256)), through(with(std::int64_t{1} << 40));
  EXPECT_TRUE(is_in("write_past_cache(", past, kernel)) << str(kernel);
  EXPECT_FALSE(is_in("write_past_cache(", through, kernel));
  const std::vector<T> x = numbers<T>(input), got = run<T>(*past, kernel, {x}),
                       wanted = run<T>(*through, kernel, {x});
  EXPECT_EQ(got, wanted) << str(kernel);
}

template <class T>
LazyOpPtr squares(const ShapeTracker& st) {
  const auto x = LazyOp::load(1, dtype_v<T>, st);
  return stored(LazyOp::binary(Op::Mul, x, x));
}

TEST(Chunks, PastTheCachesHoldEveryElement) {
  for (const std::int64_t n : {256, 1023, 1024, 1025, 5000, 70'001}) {
    expect_the_same<float>(squares<float>(ShapeTracker::contiguous({n})), n);
    expect_the_same<std::int8_t>(squares<std::int8_t>(ShapeTracker::contiguous({n})), n);
  }
  expect_the_same<double>(squares<double>(ShapeTracker::contiguous({3000})), 3000);
  expect_the_same<std::uint16_t>(squares<std::uint16_t>(ShapeTracker::contiguous({3000})), 3000);
  // Rows that are strided, reversed, masked and broadcast.
  for (const ShapeTracker& st : {ShapeTracker({View::strided({70, 130}, {131, 1}, 5)}),
                                 ShapeTracker({View::strided({70, 130}, {130, -1}, 129)}),
                                 ShapeTracker::contiguous({68, 130}).pad({{1, 1}, {0, 0}}),
                                 ShapeTracker({View::strided({70, 130}, {0, 1}, 0)})})
    expect_the_same<float>(squares<float>(st), 9200);
}

TEST(Chunks, PastTheCachesKeepToMemoryOfAnyAlignment) {
  constexpr std::int64_t kElements = 3000;
  const LazyOpPtr kernel = squares<float>(ShapeTracker::contiguous({kElements}));
  const TestDevice device(with(256));
  const std::vector<float> x = numbers<float>(kElements);
  Buffer in(*device, DType::Float32, kElements);
  in.write<float>(x);
  const auto memory = std::make_shared<std::vector<float>>(kElements + 64);
  for (std::size_t offset = 16; offset < 34; ++offset) {
    std::ranges::fill(*memory, -1.0F);
    Buffer out(*device, DType::Float32, kElements, memory->data() + offset, memory);
    Buffer* const buffers[] = {&out, &in};
    run_kernel(*device, kernel, buffers);
    for (std::size_t i = 0; i < memory->size(); ++i) {
      const bool inside = i >= offset && i < offset + kElements;
      const float square = inside ? x[i - offset] * x[i - offset] : -1.0F;
      ASSERT_EQ((*memory)[i], square) << "element " << i << " of an output from " << offset;
    }
  }
}

// Tiles whose reads are prefetched, also beyond the last one.
TEST(Chunks, OfTilesHoldEveryElement) {
  const TestDevice device(with(256));
  for (const auto& [rows, columns] : {std::pair(64, 64), std::pair(192, 128), std::pair(70, 320)}) {
    const auto across = LazyOp::load(1, DType::Float32,
                                     ShapeTracker({View::strided({rows, columns}, {1, rows}, 0)}));
    const auto along = LazyOp::load(1, DType::Float32, ShapeTracker::contiguous({rows, columns}));
    const LazyOpPtr kernel = stored(LazyOp::binary(Op::Sub, across, along));
    expect_the_same<float>(kernel, rows * columns);
    EXPECT_TRUE(is_in("__builtin_prefetch(", device, kernel));
  }
}

// Prefetching beyond the end of the input changes no value.
TEST(Chunks, AskAheadForWhatLiesSideBySide) {
  const TestDevice past(with(256)), through(with(std::int64_t{1} << 40));
  const auto expect_asked = [&]<class T>(const LazyOpPtr& kernel, std::int64_t input, T) {
    EXPECT_TRUE(is_in("__builtin_prefetch(", past, kernel)) << str(kernel);
    EXPECT_FALSE(is_in("__builtin_prefetch(", through, kernel));
    const std::vector<T> x = numbers<T>(input);
    EXPECT_EQ(run<T>(*past, kernel, {x}), run<T>(*through, kernel, {x})) << str(kernel);
  };
  for (const std::int64_t n : {256, 300, 1000, 4096, 70'001}) {
    const auto one = [&]<class T>(Op op, T zero) {
      const auto x = LazyOp::load(1, dtype_v<T>, ShapeTracker::contiguous({n}));
      expect_asked(stored(LazyOp::reduce(op, x, {0})), n, zero);
    };
    one(Op::ReduceSum, float{});
    one(Op::ReduceMax, float{});
    one(Op::ReduceSum, double{});
    one(Op::ReduceMax, std::uint8_t{});
    expect_asked(squares<float>(ShapeTracker::contiguous({n})), n, float{});
    expect_asked(squares<std::int8_t>(ShapeTracker::contiguous({n})), n, std::int8_t{});
  }
  for (const std::int64_t terms : {130, 257})
    for (const auto& axes : {std::vector<int>{1}, std::vector<int>{0, 1}}) {
      const auto x = LazyOp::load(1, DType::Float32,
                                  ShapeTracker({View::strided({9, terms}, {terms + 3, 1}, 2)}));
      expect_asked(stored(LazyOp::reduce(Op::ReduceMax, x, axes)), 9 * terms + 40, float{});
    }
}

// Rows of a few vectors are written as vectors, not in chunks.
TEST(Chunks, OfRowsOfVectorsAreNone) {
  for (const std::int64_t columns : {64, 100, 128, 129, 40, 33}) {
    const TestDevice past(with(256)), through(with(std::int64_t{1} << 40));
    const auto row =
        LazyOp::load(1, DType::Float32, ShapeTracker({View::strided({70, columns}, {0, 1}, 0)}));
    const auto all = LazyOp::load(1, DType::Float32, ShapeTracker::contiguous({70, columns}));
    const LazyOpPtr kernel = stored(LazyOp::binary(Op::Add, all, row));
    EXPECT_EQ(is_in("write_past_cache(", past, kernel), columns == 129);
    const std::vector<float> x = numbers<float>(70 * columns);
    EXPECT_EQ(run<float>(*past, kernel, {x}), run<float>(*through, kernel, {x})) << columns;
  }
}

TEST(Chunks, OfShortRowsAreNone) {
  const TestDevice device(with(256));
  const LazyOpPtr rows = squares<float>(ShapeTracker({View::strided({70, 60}, {61, 1}, 0)}));
  EXPECT_FALSE(is_in("write_past_cache(", device, rows));
}

// All numbers below 2^22, or one in `step`, and their neighbourhood, of both signs.
void expect_equal_sines(std::uint32_t step) {
  constexpr std::uint32_t kEnd = std::bit_cast<std::uint32_t>(0x1p22F);
  constexpr std::int64_t kRow = 8, kAtOnce = std::int64_t{1} << 22;
  ClangOptions options = with(std::int64_t{1} << 40);
  const TestDevice shortly(options);
  options.codegen.merge_axes = false;
  const TestDevice fully(options);
  const auto sine = [](const Shape& shape) {
    return stored(
        LazyOp::unary(Op::Sin, LazyOp::load(1, DType::Float32, ShapeTracker::contiguous(shape))));
  };
  const LazyOpPtr whole = sine({kAtOnce}), rows = sine({kAtOnce / kRow, kRow});
  ASSERT_TRUE(is_in("near_sin_f32(", shortly, whole));
  ASSERT_FALSE(is_in("near_sin_f32(", fully, rows));
  std::vector<float> x;
  const auto compare = [&] {
    x.resize(kAtOnce);
    const std::vector<float> got = run<float>(*shortly, whole, {x}),
                             wanted = run<float>(*fully, rows, {x});
    for (std::size_t i = 0; i < x.size(); ++i)
      ASSERT_TRUE(std::bit_cast<std::uint32_t>(got[i]) == std::bit_cast<std::uint32_t>(wanted[i]) ||
                  (std::isnan(got[i]) && std::isnan(wanted[i])))
          << "sine of " << x[i] << ": " << got[i] << ", not " << wanted[i];
    x.clear();
  };
  for (std::uint64_t bits = 0; bits < kEnd; bits += step) {
    const float at = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    x.push_back(at);
    x.push_back(-at);
    if (std::ssize(x) == kAtOnce) compare();
  }
  // Small and large arguments in one chunk, with and without fused products.
  for (const float end : {0x1p13F, 0x1p22F})
    for (std::uint32_t i = 0; i < 3000; ++i)
      x.push_back(std::bit_cast<float>(std::bit_cast<std::uint32_t>(end) - 1500 + i) *
                  (i % 2 == 0 ? 1.0F : -1.0F));
  for (const float far : {HUGE_VALF, -HUGE_VALF, std::nanf(""), 3e38F, -1e30F, -0.0F})
    x.insert(x.end(), {far, 0.5F});
  compare();
}

TEST(Chunks, OfShortSinesHaveTheBitsOfTheOthers) {
  expect_equal_sines(std::getenv("TOUCHSTONE_FUZZ_CASES") != nullptr ? 1 : 211);
}

}  // namespace
}  // namespace touchstone
