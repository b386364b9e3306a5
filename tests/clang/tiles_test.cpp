// Kernels that read across their write order, against plain loops over their elements.
#include "touchstone/codegen/tiles.h"

#include <gtest/gtest.h>

#include "harness.h"
#include "touchstone/shapetracker/merge/simplify.h"

namespace touchstone {
namespace {

using Integers = std::vector<std::int32_t>;

LazyOpPtr copied(const ShapeTracker& st) {
  return stored(LazyOp::load(1, DType::Int32, simplify(st)));
}

bool in_tiles(const ShapeTracker& st) {
  return codegen::plan_tiles(copied(st), LayoutSizes{}).has_value();
}

std::vector<ShapeTracker> turned() {
  const auto packed = [](Shape shape) { return ShapeTracker::contiguous(std::move(shape)); };
  const std::vector<int> swap{1, 0}, last{0, 2, 1}, round{2, 0, 1}, mirror{2, 1, 0};
  using Steps = std::vector<std::int64_t>;
  return {packed({64, 96}).permute(swap),
          packed({32, 33}).permute(swap),
          packed({1000, 40}).permute(swap),
          packed({40, 1000}).permute(swap).stride(Steps{-1, 1}),
          packed({96, 64}).stride(Steps{1, -1}).permute(swap),
          packed({3, 64, 32}).permute(last),
          packed({5, 32, 64}).permute(round),
          packed({64, 5, 36}).permute(mirror),
          packed({36, 1, 64}).permute(mirror),
          packed({64, 200}).shrink(Mask{{0, 64}, {3, 99}}).permute(swap)};
}

TEST(CrosswiseTiles, HoldTheRightElements) {
  std::vector<LazyOpPtr> kernels;
  for (const ShapeTracker& st : turned()) kernels.push_back(copied(st));
  for (const bool tiny : {false, true})
    for (const int threads : {1, 3}) {
      ClangOptions options = ClangOptions::from_environment();
      options.threads = threads;
      options.parallel_work = 1;
      if (tiny) options.codegen.sizes = kTinySizes;
      const TestDevice device(options);
      (*device).prepare(kernels);
      std::size_t i = 0;
      for (const ShapeTracker& st : turned()) {
        const Integers values = counting<std::int32_t>(buffers_of(kernels[i]).back().size);
        EXPECT_EQ(run<std::int32_t>(*device, kernels[i], {values}), gathered(st, values))
            << st.str();
        ++i;
      }
    }
}

TEST(CrosswiseTiles, AreForLoadsThatLieAcrossAlone) {
  const std::vector<int> swap{1, 0};
  std::size_t tiled = 0;
  for (const ShapeTracker& st : turned()) tiled += in_tiles(st) ? 1 : 0;
  EXPECT_EQ(tiled, turned().size());
  EXPECT_FALSE(in_tiles(ShapeTracker::contiguous({64, 37}).permute(swap)));  // 37 has no part
  EXPECT_FALSE(in_tiles(ShapeTracker::contiguous({64, 64})));
  EXPECT_FALSE(in_tiles(ShapeTracker::contiguous({64, 4}).permute(swap)));
  EXPECT_FALSE(
      in_tiles(ShapeTracker::contiguous({64, 64}).permute(swap).pad(Padding{{1, 0}, {0, 0}})));
}

// Two arrays of different types, and one buffer read in both orders.
TEST(CrosswiseTiles, SeveralLoadsOfAKernel) {
  const std::int64_t n = 64, m = 96;
  const ShapeTracker rows = ShapeTracker::contiguous({m, n});
  const ShapeTracker columns = ShapeTracker::contiguous({n, m}).permute(std::vector<int>{1, 0});
  const auto whole = [](int i, const ShapeTracker& st) {
    return LazyOp::load(i, DType::Int32, st);
  };
  const LazyOpPtr kernel =
      stored(LazyOp::binary(Op::Sub, LazyOp::binary(Op::Mul, whole(1, columns), whole(2, columns)),
                            LazyOp::binary(Op::Add, whole(1, rows), whole(3, columns))));
  const Integers a = counting<std::int32_t>(n * m), b = counting<std::int32_t>(n * m, 7),
                 c = counting<std::int32_t>(n * m, -9);
  Integers right;
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < n; ++j) {
      const auto across = static_cast<std::size_t>(j * m + i);
      right.push_back(a[across] * b[across] - (a[static_cast<std::size_t>(i * n + j)] + c[across]));
    }
  const TestDevice device;
  EXPECT_EQ(run<std::int32_t>(*device, kernel, {a, b, c}), right);
}

}  // namespace
}  // namespace touchstone
