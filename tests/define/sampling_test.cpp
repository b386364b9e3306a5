// Sampling against loops over the elements near each position, sequences of cells, names that
// libraries use, and arguments that do not fit. NumPy beside other definitions:
// tests/python/beside.py.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include <gmock/gmock.h>

#include "../interp/kernels.h"
#include "../support/error_of.h"
#include "touchstone/define/definitions.h"
#include "touchstone/define/text.h"
#include "touchstone/interp/oracle/verdict.h"

namespace touchstone::define {
namespace {

using Numbers = std::vector<float>;

Outcome judged(const std::string& text, const Numbers& output, std::vector<BufferPtr> buffers) {
  const Formula formula = parse(text);
  buffers.insert(buffers.begin(), test::buffer<float>(output));
  return judge(formula.kernel(), test::raw(buffers), *buffers[0],
               Profile::named(usual_profile(formula.is_loose)))
      .outcome;
}
// The right result is legal, and one with an element off by 1 % is not.
void expect_judged(const std::string& text, Numbers right, const std::vector<BufferPtr>& buffers) {
  EXPECT_EQ(judged(text, right, buffers), Outcome::Pass) << text;
  *std::ranges::max_element(right, {}, [](float v) { return std::abs(v); }) *= 1.01F;
  EXPECT_EQ(judged(text, right, buffers), Outcome::Fail) << text;
}

Numbers drawn(std::size_t count, unsigned state) {
  Numbers out;
  for (std::size_t i = 0; i < count; ++i) {
    state = state * 1664525U + 1013904223U;
    out.push_back((static_cast<float>(state >> 8) * 0x1p-23F - 1) * 2);
  }
  return out;
}

struct Plane {
  const Numbers& x;
  int rows, columns;
  double at(int i, int j, bool clamps) const {
    if (clamps) i = std::clamp(i, 0, rows - 1), j = std::clamp(j, 0, columns - 1);
    const bool inside = i >= 0 && j >= 0 && i < rows && j < columns;
    return inside ? x[static_cast<std::size_t>(i * columns + j)] : 0;
  }
};

double bounced(double at, int n, bool corners) {  // steps back at the ends until it is inside
  const double low = corners ? 0 : -0.5, high = corners ? n - 1 : n - 0.5;
  while (n > 1 && (at < low || at > high)) at = at < low ? 2 * low - at : 2 * high - at;
  return std::clamp<double>(at, 0, n - 1);
}
double weight_of(double d, bool cubic) {
  d = std::abs(d);
  if (!cubic) return std::max(0.0, 1 - d);
  const double a = -0.75;
  return d < 1   ? (a + 2) * d * d * d - (a + 3) * d * d + 1
         : d < 2 ? a * d * d * d - 5 * a * d * d + 8 * a * d - 4 * a
                 : 0;
}

TEST(GridSample, IsASumOfTheElementsNearEachPosition) {
  for (const std::string mode : {"bilinear", "nearest", "bicubic"})
    for (const std::string border : {"zeros", "border", "reflection"})
      for (const bool corners : {false, true}) {
        if (mode == "bicubic" && border == "reflection") continue;
        constexpr int kRows = 3, kColumns = 5, kPoints = 12;
        const Numbers x = drawn(kRows * kColumns, 5), grid = drawn(2 * kPoints, 9);
        Numbers want;
        for (std::size_t p = 0; p < kPoints; ++p) {
          const auto position = [&](float g, int n) {
            const double at = corners ? (g + 1.0) / 2 * (n - 1) : ((g + 1.0) * n - 1) / 2;
            return border == "reflection"                    ? bounced(at, n, corners)
                   : border == "border" && mode != "bicubic" ? std::clamp<double>(at, 0, n - 1)
                                                             : at;
          };
          const double v = position(grid[2 * p + 1], kRows), u = position(grid[2 * p], kColumns);
          const Plane plane{x, kRows, kColumns};
          double sum = 0;
          for (int i = -9; i < 15; ++i)
            for (int j = -9; j < 15; ++j)
              sum += (mode == "nearest" ? (std::nearbyint(v) == i && std::nearbyint(u) == j ? 1 : 0)
                                        : weight_of(v - i, mode == "bicubic") *
                                              weight_of(u - j, mode == "bicubic")) *
                     plane.at(i, j, border != "zeros");
          want.push_back(static_cast<float>(sum));
        }
        expect_judged(fmt::format("grid_sample(x[1,1,{},{}], g[1,3,4,2], mode={}, padding_mode={}, "
                                  "align_corners={})",
                                  kRows, kColumns, mode, border, corners ? 1 : 0),
                      want, {test::buffer<float>(x), test::buffer<float>(grid)});
      }
  // Far from an infinity and beside NaN positions: 0, not NaN.
  const Numbers got = test::run<float>(
      parse("grid_sample(x[1,1,1,3], g[1,1,2,2])").kernel()->src()[0],
      {test::buffer<float>({INFINITY, 2, 3}), test::buffer<float>({0.7F, 0, NAN, 0})});
  EXPECT_NEAR(got[0], 2.865F, 0.2F);
  EXPECT_EQ(got[1], 0);
}

TEST(AffineGrid, IsThetaTimesThePositions) {
  const Numbers theta = drawn(12, 3);
  for (const bool corners : {false, true}) {
    Numbers want;
    for (std::size_t n = 0; n < 2; ++n)
      for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 4; ++j)
          for (std::size_t k = 0; k < 2; ++k) {
            const auto at = [&](int p, int of) {
              return corners ? 2.0 * p / (of - 1) - 1 : (2.0 * p + 1) / of - 1;
            };
            const float* row = &theta[n * 6 + k * 3];
            want.push_back(static_cast<float>(row[0] * at(j, 4) + row[1] * at(i, 3) + row[2]));
          }
    expect_judged(
        fmt::format("affine_grid(t[2,2,3], size=[3,4], align_corners={})", corners ? 1 : 0), want,
        {test::buffer<float>(theta)});
  }
  EXPECT_EQ(parse("affine_grid(t[2,3,4], size=[2,1,5])").value.shape(), (Sizes{2, 2, 1, 5, 3}));
}

TEST(RoiAlign, IsTheMeanOfSamplesInEachBin) {
  constexpr int kRows = 6, kColumns = 7, kSamples = 2;
  const Numbers x = drawn(2 * kRows * kColumns, 7),
                rois = {0, 0, 6, 5, 1.5F, 2, 2, 2.25F, -3, -3, 4, 9};
  const std::vector<std::int64_t> batch = {0, 1, 0};
  for (const bool aligned : {false, true}) {
    Numbers want;
    for (std::size_t r = 0; r < 3; ++r)
      for (int p = 0; p < 2; ++p)
        for (int q = 0; q < 3; ++q) {
          const Numbers plane(x.begin() + batch[r] * kRows * kColumns,
                              x.begin() + (batch[r] + 1) * kRows * kColumns);
          const auto samples = [&](std::size_t low, int bin, int bins) {
            const double begin = rois[4 * r + low] - (aligned ? 0.5 : 0),
                         end = rois[4 * r + low + 2] - (aligned ? 0.5 : 0),
                         size = (aligned ? end - begin : std::max(end - begin, 1.0)) / bins;
            return std::pair(begin + bin * size + size / 4, begin + bin * size + 3 * size / 4);
          };
          const auto [y0, y1] = samples(1, p, 2);
          const auto [x0, x1] = samples(0, q, 3);
          double sum = 0;
          for (const double y : {y0, y1})
            for (const double u : {x0, x1}) {
              if (y < -1 || y > kRows || u < -1 || u > kColumns) continue;
              for (int i = 0; i < kRows; ++i)
                for (int j = 0; j < kColumns; ++j)
                  sum += weight_of(std::clamp<double>(y, 0, kRows - 1) - i, false) *
                         weight_of(std::clamp<double>(u, 0, kColumns - 1) - j, false) *
                         plane[static_cast<std::size_t>(i * kColumns + j)];
            }
          want.push_back(static_cast<float>(sum / (kSamples * kSamples)));
        }
    expect_judged(fmt::format("roi_align(x[2,1,{},{}], r[3,4], b[3]:i64, size=[2,3], "
                              "sampling_ratio={}, aligned={})",
                              kRows, kColumns, kSamples, aligned ? 1 : 0),
                  want, {test::buffer<float>(x), test::buffer<float>(rois), test::buffer(batch)});
  }
}

// All steps from the states before them; the first from the initial one.
TEST(Cells, JudgeASequenceFromItsOwnStates) {
  constexpr std::size_t kSteps = 40, kIn = 3, kHidden = 2;
  const Numbers x = drawn(kSteps * kIn, 1), w = drawn(kHidden * kIn, 2),
                u = drawn(kHidden * kHidden, 3), first = drawn(kHidden, 4);
  Numbers before = first, states;
  for (std::size_t t = 0; t < kSteps; ++t)
    for (std::size_t i = 0; i < kHidden; ++i) {
      const float* h = t == 0 ? first.data() : &states[(t - 1) * kHidden];
      double sum = 0;
      for (std::size_t k = 0; k < kIn; ++k) sum += w[i * kIn + k] * x[t * kIn + k];
      for (std::size_t k = 0; k < kHidden; ++k) sum += u[i * kHidden + k] * h[k];
      states.push_back(static_cast<float>(std::tanh(sum)));
    }
  before.insert(before.end(), states.begin(), states.end() - kHidden);
  expect_judged("rnn_cell(x[40,3], h[40,2], w[2,3], u[2,2])", states,
                {test::buffer<float>(x), test::buffer<float>(before), test::buffer<float>(w),
                 test::buffer<float>(u)});
}

TEST(Spellings, OfLibrariesAreAcceptedOrNameTheRightOne) {
  const std::pair<const char*, const char*> kSame[] = {
      {"clip(x[3], min=0, max=1)", "clamp(x[3], low=0, high=1)"},
      {"swish(x[3])", "silu(x[3])"},
      {"cat(x[3], y[2], dim=0)", "concat(x[3], y[2], axis=0)"},
      {"amax(x[3,4], dim=1, keepdim=true)", "max(x[3,4], axis=1, keep=1)"},
      {"permute_dims(x[3,4], dims=[1,0])", "permute(x[3,4], order=[1,0])"},
      {"max_pool1d(x[2,5], kernel_size=2)", "max_pool1d(x[2,5], size=2)"},
      {"topk(x[5], 2, dim=0)", "top_k(x[5], k=2, axis=0)"}};
  for (const auto& [typed, right] : kSame)
    EXPECT_TRUE(same(parse(typed).kernel(), parse(right).kernel())) << typed;
  EXPECT_TRUE(parse("swish(x[3])").called.contains("silu"));
  for (const auto& [text, why] : {std::pair{"squeeze(x[1,3])", "write reshape(x, shape=[..])"},
                                  {"flatten(x[2,3])", "write reshape(x, shape=[n,-1])"},
                                  {"gt(x[3], y[3])", "write x > y"},
                                  {"softmax(x[3], dimension=0)", "no argument 'dimension'"}})
    EXPECT_THAT(test::error_of([&] { parse(text); }), testing::HasSubstr(why)) << text;
}

TEST(Formulas, AreLooseAndNarrowOnesRoundOnce) {
  for (const Definition& d : definitions())
    EXPECT_TRUE(d.make != nullptr || d.is_loose) << d.signature;
  EXPECT_EQ(parse("lerp(x[2]:f16, y[2]:f16, 0.3)").value.dtype(), DType::Float16);
  EXPECT_EQ(parse("lerp(x[2]:f16, y[2], 0.3)").value.dtype(), DType::Float32);
  EXPECT_EQ(parse("isnan(x[2]:bf16)").value.dtype(), DType::Bool);
  // Forms reach through a formula.
  EXPECT_TRUE(parse("softmin(x[2,3])").called.contains("softmax"));
  const Numbers got = test::run<float>(parse("softshrink(x[4], lambd=1)").kernel()->src()[0],
                                       {test::buffer<float>({3, -3, 0.5F, NAN})});
  EXPECT_EQ(Numbers(got.begin(), got.end() - 1), (Numbers{2, -2, 0}));
  EXPECT_TRUE(std::isnan(got[3]));
}

TEST(Definitions, ThatDoNotFitSayWhy) {
  const char* const kErrors[][2] = {
      {"grid_sample(x[1,2,3], g[1,3,1])", "must be (n, channels, 2 or 3 sizes)"},
      {"grid_sample(x[2,1,3,4], g[1,3,3,2])", "must be (n, channels, 2 or 3 sizes)"},
      {"grid_sample(x[1,1,3,4]:i32, g[1,3,3,2])", "grid_sample"},
      {"grid_sample(x[1,1,3,4], g[1,3,3,2], mode=bicubic, padding_mode=reflection)", "bicubic"},
      {"affine_grid(t[1,2,3], size=3)", "2 sizes take (n, 2, 3)"},
      {"affine_grid(t[1,2,3], size=[0,3])", "a size of 0 is not positive"},
      {"roi_align(x[1,1,3,4], r[2,4], b[1]:i32, size=2, sampling_ratio=1)", "(boxes)"},
      {"roi_align(x[1,1,3,4], r[2,4], b[2]:i32, size=2, sampling_ratio=0)", "depend on the boxes"},
      {"lp_pool1d(x[4], p=0, size=2)", "p = 0 is not positive"},
      {"pad(x[0], before=1, after=0, mode=edge)", "axis 0 of [0] is empty"},
      {"pad(x[3], before=1, after=0, mode=mirror)", "mode is one of constant, reflect"},
      {"center_crop_pad(x[3], size=[2,2])", "2 sizes for 1 axes"},
      {"center_crop_pad(x[3], size=-1)", "a size of -1"},
      {"depth_to_space(x[3,2,2], block=2)", "channels divisible by 2 * 2"},
      {"depth_to_space(x[4,2,2], block=0)", "channels divisible by 0 * 0"},
      {"space_to_depth(x[4,2,3], block=2)", "rows and columns divisible by 2"},
      {"tile(x[3], times=-1)", "tile: -1 times"},
      {"searchsorted(x[2,2], y[3])", "must have one axis"},
      {"reverse_sequence(x[4,3], n[4]:i32)", "one integer for each place"},
      {"reverse_sequence(x[4,3], n[3])", "one integer for each place"},
      {"gather_nd(x[2,3], i[4,3]:i32)", "must have between 1 and 2 entries"},
      {"gather_nd(x[2,3], i[4,1]:i32, batch_dims=1)", "the first 1 axes"},
      {"dynamic_slice(x[4], s[2]:i32, size=2)", "start [2] and sizes [2] for the 1 axes"},
      {"dynamic_slice(x[4], s[1]:i32, size=5)", "5 elements of axis 0"},
      {"dynamic_update_slice(x[4], u[2]:f16, s[1]:i32)", "cast one of them"},
      {"scatter(x[3]:i32, i[1024]:i32, u[1024]:i32, reduce=mul)", "at most 1024"},
      {"copysign(x[3]:i32, y[3]:i32)", "copysign takes floats"},
      {"clz(x[3])", "clz takes integers"},
      {"softmin(x[3], axis=1)", "softmin: axis 1 is not in [-1, 1)"},
  };
  for (const auto& [text, why] : kErrors)
    EXPECT_THAT(test::error_of([&] { parse(text); }), testing::HasSubstr(why)) << text;
}

}  // namespace
}  // namespace touchstone::define
