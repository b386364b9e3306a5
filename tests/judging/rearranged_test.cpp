// Products and convolutions by fast algorithms, written as kernels write them: illegal unless they
// are declared, and then judged no wider than they need.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <complex>
#include <functional>
#include <numbers>

#include <gmock/gmock.h>

#include "trial.h"

namespace touchstone {
namespace {

using test::drawn;
using test::Floats;
using test::Trial;

template <std::size_t Tile>
struct Winograd;

template <>
struct Winograd<2> {
  using Seen = std::array<float, 4>;
  static Seen input(const Seen& d) { return {d[0] - d[2], d[1] + d[2], d[2] - d[1], d[1] - d[3]}; }
  static Seen weight(const std::array<float, 3>& g) {
    const float ends = g[0] + g[2];
    return {g[0], (ends + g[1]) * 0.5F, (ends - g[1]) * 0.5F, g[2]};
  }
  static std::array<float, 2> output(const Seen& m) {
    return {m[0] + m[1] + m[2], m[1] - m[2] - m[3]};
  }
};

template <>
struct Winograd<4> {
  using Seen = std::array<float, 6>;
  static Seen input(const Seen& d) {
    const float a = d[4] - 4 * d[2], b = d[3] - 4 * d[1], c = d[4] - d[2], e = 2 * (d[3] - d[1]);
    return {4 * d[0] - 5 * d[2] + d[4], a + b, a - b, c + e, c - e, 4 * d[1] - 5 * d[3] + d[5]};
  }
  static Seen weight(const std::array<float, 3>& g) {
    const float s = -(g[0] + g[2]) / 6, q = g[0] / 24 + g[2] / 6;
    return {g[0] / 4, s - g[1] / 6, s + g[1] / 6, q + g[1] / 12, q - g[1] / 12, g[2]};
  }
  static std::array<float, 4> output(const Seen& m) {
    const float p = m[1] + m[2], n = m[1] - m[2], q = m[3] + m[4], r = m[3] - m[4];
    return {m[0] + p + q, n + 2 * r, p + 4 * q, n + 8 * r + m[5]};
  }
};

// f along both axes of a square.
template <std::size_t To, std::size_t From, class F>
std::array<std::array<float, To>, To> twice(const std::array<std::array<float, From>, From>& x,
                                            F f) {
  std::array<std::array<float, From>, To> rows{};
  for (std::size_t j = 0; j < From; ++j) {
    std::array<float, From> column{};
    for (std::size_t i = 0; i < From; ++i) column[i] = x[i][j];
    const auto changed = f(column);
    for (std::size_t i = 0; i < To; ++i) rows[i][j] = changed[i];
  }
  std::array<std::array<float, To>, To> out{};
  for (std::size_t i = 0; i < To; ++i) out[i] = f(rows[i]);
  return out;
}

// Some inputs far larger than others: results without these lose digits, as tiles share them.
void spread(Floats& x) {
  for (std::size_t i = 0; i < x.size(); i += 37) x[i] *= 3000;
}

// conv2d of (2, channels, 10, 9), unpadded, with (4, channels, 3, 3): (2, 4, 8, 7).
template <std::size_t Tile>
Trial convolution(std::size_t channels) {
  constexpr std::size_t kSide = Tile + 2, kRows = 8, kColumns = 7;
  using W = Winograd<Tile>;
  test::Draws random(Tile + channels);
  Trial t{fmt::format("conv2d(x[2,{0},10,9], w[4,{0},3,3])", channels),
          {drawn(random, 2 * channels * 90, 1), drawn(random, 4 * channels * 9, 1)},
          Floats(2 * 4 * kRows * kColumns)};
  spread(t.in[0]);
  for (std::size_t n = 0; n < 2; ++n)
    for (std::size_t o = 0; o < 4; ++o)
      for (std::size_t i = 0; i < kRows; i += Tile)
        for (std::size_t j = 0; j < kColumns; j += Tile) {
          std::array<std::array<float, kSide>, kSide> sums{};
          for (std::size_t c = 0; c < channels; ++c) {
            std::array<std::array<float, kSide>, kSide> seen{};
            std::array<std::array<float, 3>, 3> window{};
            for (std::size_t a = 0; a < kSide; ++a)
              for (std::size_t b = 0; b < kSide; ++b)
                if (i + a < 10 && j + b < 9)
                  seen[a][b] = t.in[0][((n * channels + c) * 10 + i + a) * 9 + j + b];
            for (std::size_t a = 0; a < 3; ++a)
              for (std::size_t b = 0; b < 3; ++b)
                window[a][b] = t.in[1][((o * channels + c) * 3 + a) * 3 + b];
            const auto d = twice<kSide>(seen, W::input), g = twice<kSide>(window, W::weight);
            for (std::size_t a = 0; a < kSide; ++a)
              for (std::size_t b = 0; b < kSide; ++b) sums[a][b] += d[a][b] * g[a][b];
          }
          const auto y = twice<Tile>(sums, W::output);
          for (std::size_t a = 0; a < Tile && i + a < kRows; ++a)
            for (std::size_t b = 0; b < Tile && j + b < kColumns; ++b)
              t.out[((n * 4 + o) * kRows + i + a) * kColumns + j + b] = y[a][b];
        }
  return t;
}

// Legal only as declared; elements off by `seen` of the largest are not.
void expect_only_as(const Trial& trial, const std::string& form, float seen) {
  SCOPED_TRACE(trial.text);
  EXPECT_EQ(trial.under(true).word(), "FAIL");
  EXPECT_EQ(trial.under(true, {form}).outcome, Outcome::Pass) << trial.under(true, {form}).str();
  float largest = 0;
  for (const float v : trial.out) largest = std::max(largest, std::abs(v));
  for (std::size_t i = 1; i < trial.out.size(); i += trial.out.size() / 2) {
    Trial off = trial;
    off.out[i] += largest * seen;
    EXPECT_EQ(off.under(true, {form}).word(), "FAIL") << i;
  }
}

TEST(Rearranged, WinogradMustBeDeclared) {
  expect_only_as(convolution<4>(4), "winograd 4", 1e-3F);
  EXPECT_EQ(convolution<2>(4).under(true, {"winograd 2"}).outcome, Outcome::Pass);
  EXPECT_EQ(convolution<4>(4).under(true, {"winograd 2"}).word(), "FAIL");
  const Verdict explained = convolution<4>(4).under(true);
  EXPECT_THAT(explained.cause, testing::HasSubstr("winograd 4")) << explained.cause;
}

TEST(Rearranged, WinogradOfOneAxis) {
  test::Draws random(3);
  Trial t{"conv1d(x[2,16,31], w[3,16,3], b[3])",
          {drawn(random, 2 * 16 * 31, 1), drawn(random, 3 * 16 * 3, 1), drawn(random, 3, 1)},
          Floats(2 * 3 * 29)};
  spread(t.in[0]);
  for (std::size_t n = 0; n < 2; ++n)
    for (std::size_t o = 0; o < 3; ++o)
      for (std::size_t i = 0; i < 29; i += 4) {
        std::array<float, 6> sums{};
        for (std::size_t c = 0; c < 16; ++c) {
          std::array<float, 6> seen{};
          for (std::size_t a = 0; a < 6 && i + a < 31; ++a)
            seen[a] = t.in[0][(n * 16 + c) * 31 + i + a];
          const float* const w = &t.in[1][(o * 16 + c) * 3];
          const auto d = Winograd<4>::input(seen), g = Winograd<4>::weight({w[0], w[1], w[2]});
          for (std::size_t a = 0; a < 6; ++a) sums[a] += d[a] * g[a];
        }
        const auto y = Winograd<4>::output(sums);
        for (std::size_t a = 0; a < 4 && i + a < 29; ++a)
          t.out[(n * 3 + o) * 29 + i + a] = y[a] + t.in[2][o];
      }
  expect_only_as(t, "winograd 4", 1e-3F);
}

TEST(Rearranged, StrassenMustBeDeclared) {
  constexpr std::size_t kN = 24, kHalf = kN / 2;
  test::Draws random(4);
  Trial t{"matmul(a[24,24], b[24,24])", {drawn(random, kN * kN, 1), drawn(random, kN * kN, 1)}, {}};
  // Quarters of very different sizes: where digits are lost.
  for (std::size_t i = 0; i < kN * kN; ++i)
    if (i / kN < kHalf && i % kN < kHalf) t.in[0][i] *= 1000;
  using Block = Floats;
  const auto block = [&](const Floats& x, std::size_t row, std::size_t column) {
    Block out;
    for (std::size_t i = 0; i < kHalf * kHalf; ++i)
      out.push_back(x[(row * kHalf + i / kHalf) * kN + column * kHalf + i % kHalf]);
    return out;
  };
  const auto plus = [](const Block& a, const Block& b, float sign) {
    Block out;
    for (std::size_t i = 0; i < a.size(); ++i) out.push_back(a[i] + sign * b[i]);
    return out;
  };
  const auto times = [](const Block& a, const Block& b) {
    Block out(kHalf * kHalf);
    for (std::size_t i = 0; i < kHalf; ++i)
      for (std::size_t k = 0; k < kHalf; ++k)
        for (std::size_t j = 0; j < kHalf; ++j)
          out[i * kHalf + j] += a[i * kHalf + k] * b[k * kHalf + j];
    return out;
  };
  const Block a11 = block(t.in[0], 0, 0), a12 = block(t.in[0], 0, 1), a21 = block(t.in[0], 1, 0),
              a22 = block(t.in[0], 1, 1), b11 = block(t.in[1], 0, 0), b12 = block(t.in[1], 0, 1),
              b21 = block(t.in[1], 1, 0), b22 = block(t.in[1], 1, 1);
  const Block m1 = times(plus(a11, a22, 1), plus(b11, b22, 1)), m2 = times(plus(a21, a22, 1), b11),
              m3 = times(a11, plus(b12, b22, -1)), m4 = times(a22, plus(b21, b11, -1)),
              m5 = times(plus(a11, a12, 1), b22), m6 = times(plus(a21, a11, -1), plus(b11, b12, 1)),
              m7 = times(plus(a12, a22, -1), plus(b21, b22, 1));
  const std::array<Block, 4> c{plus(plus(plus(m1, m4, 1), m5, -1), m7, 1), plus(m3, m5, 1),
                               plus(m2, m4, 1), plus(plus(plus(m1, m2, -1), m3, 1), m6, 1)};
  for (std::size_t i = 0; i < kN; ++i)
    for (std::size_t j = 0; j < kN; ++j)
      t.out.push_back(c[i / kHalf * 2 + j / kHalf][i % kHalf * kHalf + j % kHalf]);
  expect_only_as(t, "strassen", 1e-4F);
}

void transform(std::vector<std::complex<float>>& x, float sign) {
  const std::size_t n = x.size();
  if (n == 1) return;
  std::vector<std::complex<float>> even, odd;
  for (std::size_t i = 0; i < n; ++i) (i % 2 == 0 ? even : odd).push_back(x[i]);
  transform(even, sign);
  transform(odd, sign);
  for (std::size_t k = 0; k < n / 2; ++k) {
    const float angle =
        sign * 2 * std::numbers::pi_v<float> * static_cast<float>(k) / static_cast<float>(n);
    const std::complex<float> turned =
        odd[k] * std::complex<float>(std::cos(angle), std::sin(angle));
    x[k] = even[k] + turned;
    x[k + n / 2] = even[k] - turned;
  }
}

TEST(Rearranged, FourierMustBeDeclared) {
  constexpr std::size_t kSize = 50, kWindow = 9, kN = 64;
  test::Draws random(5);
  Trial t{"conv1d(x[1,1,50], w[1,1,9])", {drawn(random, kSize, 1), drawn(random, kWindow, 1)}, {}};
  for (std::size_t i = 0; i < kSize / 2; ++i) t.in[0][i] *= 1e-4F;  // where digits are lost
  std::vector<std::complex<float>> x(kN), w(kN);
  for (std::size_t i = 0; i < kSize; ++i) x[i] = t.in[0][i];
  for (std::size_t i = 0; i < kWindow; ++i) w[i] = t.in[1][i];
  transform(x, -1);
  transform(w, -1);
  for (std::size_t i = 0; i < kN; ++i) x[i] *= std::conj(w[i]);
  transform(x, 1);
  for (std::size_t i = 0; i + kWindow <= kSize; ++i) t.out.push_back(x[i].real() / kN);
  expect_only_as(t, "fourier", 1e-3F);
}

// Along the rows, then along the columns, of a padded plane.
TEST(Rearranged, FourierOfAPlane) {
  constexpr std::size_t kRows = 12, kColumns = 14, kWindow = 5, kN = 16;
  using Plane = std::vector<std::vector<std::complex<float>>>;
  test::Draws random(7);
  Trial t{"conv2d(x[1,1,12,14], w[1,1,5,5])",
          {drawn(random, kRows * kColumns, 1), drawn(random, kWindow * kWindow, 1)},
          {}};
  for (std::size_t i = 0; i < kRows * kColumns / 2; ++i) t.in[0][i] *= 1e-4F;
  const auto turned = [](const Plane& x) {
    Plane y(kN, std::vector<std::complex<float>>(kN));
    for (std::size_t i = 0; i < kN; ++i)
      for (std::size_t j = 0; j < kN; ++j) y[j][i] = x[i][j];
    return y;
  };
  const auto both_axes = [&](Plane x, float sign) {
    for (int axis = 0; axis < 2; ++axis) {
      for (auto& row : x) transform(row, sign);
      x = turned(x);
    }
    return x;
  };
  Plane x(kN, std::vector<std::complex<float>>(kN)), w = x;
  for (std::size_t i = 0; i < kRows; ++i)
    for (std::size_t j = 0; j < kColumns; ++j) x[i][j] = t.in[0][i * kColumns + j];
  for (std::size_t i = 0; i < kWindow; ++i)
    for (std::size_t j = 0; j < kWindow; ++j) w[i][j] = t.in[1][i * kWindow + j];
  x = both_axes(x, -1);
  w = both_axes(w, -1);
  for (std::size_t i = 0; i < kN; ++i)
    for (std::size_t j = 0; j < kN; ++j) x[i][j] *= std::conj(w[i][j]);
  x = both_axes(x, 1);
  for (std::size_t i = 0; i + kWindow <= kRows; ++i)
    for (std::size_t j = 0; j + kWindow <= kColumns; ++j)
      t.out.push_back(x[i][j].real() / (kN * kN));
  expect_only_as(t, "fourier", 1e-2F);
}

// What an algorithm is not made for is judged as the definition.
TEST(Rearranged, OtherConvolutionsAreJudgedAsDefined) {
  test::Draws random(6);
  Trial t{"conv1d(x[1,2,12], w[1,2,3], stride=2)", {drawn(random, 24, 1), drawn(random, 6, 1)}, {}};
  for (std::size_t i = 0; i < 5; ++i) {
    float sum = 0;
    for (std::size_t c = 0; c < 2; ++c)
      for (std::size_t k = 0; k < 3; ++k) sum += t.in[0][c * 12 + 2 * i + k] * t.in[1][c * 3 + k];
    t.out.push_back(sum);
  }
  for (const char* const form : {"winograd 2", "winograd 4", "fourier"}) {
    EXPECT_EQ(t.under(true, {form}).word(), "PASS") << form;
    Trial off = t;
    off.out[2] *= 1.0001F;
    EXPECT_EQ(off.under(true, {form}).word(), "FAIL") << form;
  }
}

}  // namespace
}  // namespace touchstone
