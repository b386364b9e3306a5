#include <gtest/gtest.h>

#include <algorithm>

#include <gmock/gmock.h>

#include "harness.h"
#include "touchstone/codegen/bounds_proof.h"
#include "touchstone/codegen/linearize.h"

// Windows over a row: neighbouring terms read shifted lanes, and the precomputed array holds each
// element of the row once.

namespace touchstone {
namespace {

using Ints = std::vector<std::int32_t>;

// out[b, o, y, x] = sum over c, k of w[o, c, k] * row[b, y, c, at(x, k)], where at starts at
// `first` and advances by `step` with x and by `apart` with k; outside the row is 0.
struct Windows {
  std::int64_t outputs, height, lanes, channels, terms;
  std::int64_t step = 1, apart = 1;
  std::int64_t before = 0, after = 0;  // elements of padding
  std::int64_t batch = 1;
  bool squared = false;  // an op between the load and the product

  // The length of the row with its padding.
  std::int64_t reach() const { return (lanes - 1) * step + (terms - 1) * std::abs(apart) + 1; }
  std::int64_t length() const { return reach() - before - after; }
  std::int64_t first() const { return apart < 0 ? (terms - 1) * -apart : 0; }

  LazyOpPtr kernel() const {
    const Shape shape{batch, outputs, height, lanes, channels, terms};
    const auto w =
        LazyOp::load(1, DType::Int32,
                     ShapeTracker({View::strided(shape, {0, channels * terms, 0, 0, terms, 1})}));
    const std::int64_t padded = length() + before + after;
    const ShapeTracker rows = ShapeTracker::contiguous({batch, height, channels, length()})
                                  .pad({{0, 0}, {0, 0}, {0, 0}, {before, after}});
    ShapeTracker windows = rows;
    std::vector<View> views = rows.views();
    views.push_back(View::strided(
        shape, {height * channels * padded, 0, channels * padded, step, padded, apart}, first()));
    auto y = LazyOp::load(2, DType::Int32, ShapeTracker(views));
    if (squared) y = LazyOp::binary(Op::Mul, y, y);
    return stored(LazyOp::reduce(Op::ReduceSum, LazyOp::binary(Op::Mul, w, y), {4, 5}));
  }

  Ints by_loops(const Ints& w, const Ints& rows) const {
    Ints out;
    for (std::int64_t b = 0; b < batch; ++b)
      for (std::int64_t o = 0; o < outputs; ++o)
        for (std::int64_t y = 0; y < height; ++y)
          for (std::int64_t x = 0; x < lanes; ++x) {
            std::uint32_t sum = 0;
            for (std::int64_t c = 0; c < channels; ++c)
              for (std::int64_t k = 0; k < terms; ++k) {
                const std::int64_t at = first() + x * step + k * apart - before;
                if (at < 0 || at >= length()) continue;
                const auto seen = static_cast<std::uint32_t>(rows[static_cast<std::size_t>(
                    ((b * height + y) * channels + c) * length() + at)]);
                sum += static_cast<std::uint32_t>(
                           w[static_cast<std::size_t>((o * channels + c) * terms + k)]) *
                       (squared ? seen * seen : seen);
              }
            out.push_back(static_cast<std::int32_t>(sum));
          }
    return out;
  }
};

std::vector<Windows> all_windows() {
  return {
      {.outputs = 32, .height = 3, .lanes = 56, .channels = 5, .terms = 3, .before = 1, .after = 1},
      {.outputs = 32,
       .height = 2,
       .lanes = 130,
       .channels = 6,
       .terms = 7,
       .step = 2,
       .before = 3,
       .after = 3},
      {.outputs = 27,
       .height = 2,
       .lanes = 40,
       .channels = 4,
       .terms = 7,
       .step = 3,
       .before = 2,
       .after = 0,
       .batch = 2},
      {.outputs = 32,
       .height = 2,
       .lanes = 61,
       .channels = 4,
       .terms = 5,
       .apart = 4,
       .before = 9,
       .after = 2,
       .squared = true},
      {.outputs = 32,
       .height = 1,
       .lanes = 64,
       .channels = 3,
       .terms = 4,
       .apart = -1,
       .before = 3,
       .after = 3},
      {.outputs = 32,
       .height = 2,
       .lanes = 90,
       .channels = 3,
       .terms = 4,
       .apart = -2,
       .before = 0,
       .after = 6},
      {.outputs = 32, .height = 2, .lanes = 32, .channels = 3, .terms = 3, .step = 4, .before = 1},
      {.outputs = 32,
       .height = 2,
       .lanes = 32,
       .channels = 3,
       .terms = 3,
       .step = 2,
       .apart = 3,
       .before = 4},
      {.outputs = 32,
       .height = 1,
       .lanes = 48,
       .channels = 2,
       .terms = 40,
       .before = 20,
       .after = 19},
      {.outputs = 32, .height = 2, .lanes = 64, .channels = 3, .terms = 4, .step = 6, .apart = 2},
      {.outputs = 32,
       .height = 2,
       .lanes = 33,
       .channels = 3,
       .terms = 10,
       .step = 5,
       .before = 5,
       .after = 7}};
}

void expect_sums(Device& device) {
  for (const Windows& w : all_windows()) {
    const Ints weights = counting<std::int32_t>(w.outputs * w.channels * w.terms, -70);
    const Ints rows = counting<std::int32_t>(w.batch * w.height * w.channels * w.length(), 3);
    EXPECT_EQ(run<std::int32_t>(device, w.kernel(), {weights, rows}), w.by_loops(weights, rows))
        << str(w.kernel());
  }
}

TEST(Sliding, HoldsTheRightElementsAtTheSizesOfUse) { expect_sums(*TestDevice(laid_out({}, 3))); }

TEST(Sliding, HoldsTheRightElementsAtTinySizes) {
  expect_sums(*TestDevice(laid_out(kTinySizes, 4)));
  LayoutSizes rows = kTinySizes;
  rows.packed_bytes = 1 << 20;
  expect_sums(*TestDevice(laid_out(rows, 1)));
}

// The sizes of the arrays, in order.
Ints arrays(const Windows& w) {
  Ints sizes;
  for (const LinearStep& step : linearize(w.kernel()).steps)
    if (step.kind == StepKind::DefineAcc && std::holds_alternative<int>(step.arg) &&
        step.src.empty())
      sizes.push_back(std::get<int>(step.arg));
  return sizes;
}

// The size of the largest.
std::int64_t staged(const Windows& w) { return std::ranges::max(arrays(w)); }

// Rows of an image that is padded above: a block's first row may lie in the padding, which says
// nothing about the others.
TEST(Sliding, IsProvedForEachRowOfABlock) {
  const Shape shape{2, 5, 4, 34};
  const auto load = [](int buffer, const ShapeTracker& st) {
    return LazyOp::load(buffer, DType::Int32, st);
  };
  const ShapeTracker a({View::strided(shape, {0, 34, 0, 1})}),
      b({View::strided(shape, {5, 1, 0, 0})}),
      rows = ShapeTracker({View::strided({5, 3, 32}, {1, 40, 1})})
                 .pad({{0, 0}, {1, 0}, {1, 1}})
                 .reshape({1, 5, 4, 34})
                 .expand(shape);
  const LazyOpPtr kernel = stored(LazyOp::reduce(
      Op::ReduceSum,
      LazyOp::binary(Op::Mul, LazyOp::binary(Op::Mul, load(1, a), load(2, b)), load(3, rows)),
      {1}));
  const std::vector<Ints> inputs{counting<std::int32_t>(170, -50), counting<std::int32_t>(10, 2),
                                 counting<std::int32_t>(120, -3)};
  const Ints x = gathered(a, inputs[0]), y = gathered(b, inputs[1]), z = gathered(rows, inputs[2]);
  Ints sums(2 * 4 * 34, 0);
  for (std::size_t o = 0; o < 2; ++o)
    for (std::size_t k = 0; k < 5; ++k)
      for (std::size_t i = 0; i < 4UL * 34; ++i) {
        const std::size_t at = (o * 5 + k) * 4 * 34 + i;
        sums[o * 4 * 34 + i] += x[at] * y[at] * z[at];
      }
  EXPECT_EQ(run<std::int32_t>(*TestDevice(), kernel, inputs), sums);
  EXPECT_EQ(run<std::int32_t>(*TestDevice(laid_out(kTinySizes, 2)), kernel, inputs), sums);
}

// If the terms are no multiple of the step, some array elements belong to no term.
TEST(Sliding, ReadsNothingOutsideABuffer) {
  std::vector<Windows> all = all_windows();
  all.push_back({.outputs = 32, .height = 2, .lanes = 64, .channels = 8, .terms = 3, .step = 2});
  all.push_back({.outputs = 32, .height = 1, .lanes = 40, .channels = 8, .terms = 5, .step = 4});
  all.push_back({.outputs = 32,
                 .height = 2,
                 .lanes = 56,
                 .channels = 3,
                 .terms = 7,
                 .step = 2,
                 .before = 3,
                 .after = 2});
  for (const Windows& w : all)
    for (const LayoutSizes& sizes : {LayoutSizes{}, kTinySizes})
      EXPECT_TRUE(unproved_accesses(linearize(w.kernel(), {.sizes = sizes})).empty())
          << str(w.kernel());
  EXPECT_EQ(staged(all.back()), 3 * 2 * (56 + 3)) << "what is past the end is masked";
}

// Neighbouring phases are read in memory order, then separated.
TEST(Sliding, ReadsRowsOfPhasesAtOnce) {
  const std::vector<Windows> all = all_windows();
  const auto has = [](const Windows& w, std::int32_t size) {
    return std::ranges::count(arrays(w), size) == 1;
  };
  EXPECT_TRUE(has(all[2], 3 * (40 + 2)));
  EXPECT_THAT(arrays(all[10]), testing::Contains(5 * (33 + 1)));
  EXPECT_FALSE(has(all[9], 3 * (64 + 1))) << "every other element";
}

TEST(Sliding, KeepsAnElementOfTheRowOnce) {
  const std::vector<Windows> all = all_windows();
  EXPECT_EQ(staged(all[0]), 5 * (56 + 2));
  EXPECT_EQ(staged(all[2]), 4 * 3 * (40 + 2));
  EXPECT_EQ(staged(all[3]), 4 * (61 + 16));
  EXPECT_EQ(staged(all[4]), 3 * (64 + 3));
  EXPECT_EQ(staged(all[5]), 3 * (90 + 6));
  EXPECT_EQ(staged(all[6]), 3 * 3 * 32) << "no term is another lane's";
  EXPECT_EQ(staged(all[7]), 3 * 3 * 32) << "steps of 2 and of 3";
  EXPECT_EQ(staged(all[8]), 2 * (48 + 39));
}

}  // namespace
}  // namespace touchstone
