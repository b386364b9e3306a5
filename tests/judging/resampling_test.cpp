// Interpolation as libraries compute it, in float32 and in float64, and with the faults that people
// make.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "trial.h"

namespace touchstone {
namespace {

using test::drawn;
using test::Floats;
using test::Trial;

struct How {
  bool cubic = false, corners = false;
  // Faults.
  bool no_half = false, no_clamp = false;
  double a = -0.75;
};
using Plane = std::array<std::size_t, 2>;

// Indices and weights of the elements that make element i of an axis.
template <class R>
std::vector<std::pair<std::size_t, R>> taps(std::size_t i, std::size_t in, std::size_t out,
                                            const How& how) {
  const auto at = static_cast<R>(i), half = static_cast<R>(0.5);
  R p = how.corners   ? (out > 1 ? at * (static_cast<R>(in - 1) / static_cast<R>(out - 1)) : 0)
        : how.no_half ? at * (static_cast<R>(in) / static_cast<R>(out))
                      : (at + half) * (static_cast<R>(in) / static_cast<R>(out)) - half;
  if (!how.cubic && !how.no_clamp) p = std::max(p, R{0});
  const R low = std::floor(p), t = p - low;
  std::vector<std::pair<std::size_t, R>> all;
  const auto add = [&](int step, R weight) {
    const auto k = static_cast<std::int64_t>(low) + step;
    all.emplace_back(std::clamp<std::int64_t>(k, 0, static_cast<std::int64_t>(in) - 1), weight);
  };
  if (!how.cubic) {
    add(0, 1 - t);
    add(1, t);
    return all;
  }
  const auto a = static_cast<R>(how.a);
  const auto near = [&](R d) { return ((a + 2) * d - (a + 3)) * d * d + 1; };
  const auto far = [&](R d) { return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a; };
  add(-1, far(t + 1));
  add(0, near(t));
  add(1, near(1 - t));
  add(2, far(2 - t));
  return all;
}

template <class R>
Floats resized(const Floats& x, std::size_t planes, Plane in, Plane out, const How& how) {
  Floats y;
  for (std::size_t n = 0; n < planes; ++n)
    for (std::size_t i = 0; i < out[0]; ++i)
      for (std::size_t j = 0; j < out[1]; ++j) {
        R sum = 0;
        for (const auto& [row, weight] : taps<R>(i, in[0], out[0], how)) {
          R part = 0;
          for (const auto& [column, share] : taps<R>(j, in[1], out[1], how))
            part += share * static_cast<R>(x[(n * in[0] + row) * in[1] + column]);
          sum += weight * part;
        }
        y.push_back(static_cast<float>(sum));
      }
  return y;
}

constexpr std::size_t kPlanes = 2;
constexpr std::pair<Plane, Plane> kSizes[] = {{{5, 7}, {9, 4}},  {{4, 4}, {12, 8}},
                                              {{2, 3}, {41, 7}}, {{12, 10}, {4, 5}},
                                              {{4, 9}, {4, 9}},  {{23, 17}, {21, 9}}};

Trial trial_of(const Floats& x, Plane in, Plane out, const How& how) {
  return {fmt::format("interpolate(x[1,{},{},{}], size=[{},{}], mode={}, align_corners={})",
                      kPlanes, in[0], in[1], out[0], out[1], how.cubic ? "bicubic" : "bilinear",
                      how.corners ? 1 : 0),
          {x},
          {}};
}

TEST(Resampling, ByPositionsInFloat32AndInFloat64IsLegal) {
  test::Draws random(1);
  for (const auto& [in, out] : kSizes)
    for (const bool cubic : {false, true})
      for (const bool corners : {false, true}) {
        const How how{cubic, corners};
        Trial t = trial_of(drawn(random, kPlanes * in[0] * in[1], 1), in, out, how);
        SCOPED_TRACE(t.text);
        for (const bool wide : {false, true}) {
          t.out = wide ? resized<double>(t.in[0], kPlanes, in, out, how)
                       : resized<float>(t.in[0], kPlanes, in, out, how);
          const Verdict verdict = t.under(false);
          EXPECT_EQ(verdict.word(), "PASS") << verdict.str();
        }
      }
}

TEST(Resampling, FaultsAreSeen) {
  test::Draws random(2);
  for (const auto& [in, out] : kSizes) {
    if (in == out) continue;
    for (const bool cubic : {false, true})
      for (const bool corners : {false, true}) {
        const How how{cubic, corners};
        Trial t = trial_of(drawn(random, kPlanes * in[0] * in[1], 1), in, out, how);
        std::vector<How> faults{{cubic, !corners}};
        if (!corners) faults.push_back({.cubic = cubic, .no_half = true});
        if (cubic) faults.push_back({.cubic = true, .corners = corners, .a = -0.5});
        for (const How& fault : faults) {
          t.out = resized<float>(t.in[0], kPlanes, in, out, fault);
          const Verdict verdict = t.under(false);
          EXPECT_EQ(verdict.word(), "FAIL") << t.text << ": " << verdict.str();
        }
        t.out = resized<float>(t.in[0], kPlanes, in, out, how);
        t.out[t.out.size() / 2] += cubic ? 5e-4F : 5e-5F;
        EXPECT_EQ(t.under(false).word(), "FAIL") << t.text;
      }
  }
}

// An element with the weight 0 may be multiplied, as in PyTorch, or left out.
TEST(Resampling, AnInfinityOfWeightZeroMayCount) {
  for (const float y : {1.0F, NAN}) {
    const Trial t{"interpolate(x[3], size=6, mode=linear)",
                  {{1, INFINITY, 2}},
                  {y, INFINITY, INFINITY, INFINITY, INFINITY, 2}};
    EXPECT_NE(t.under(true).word(), "FAIL") << y << ": " << t.under(true).str();
  }
}

// PyTorch multiplies by a scale rounded to float32: 41 * (2 / 82) is less than 1.
TEST(Resampling, NearestElementsMayBeFoundInFloat32) {
  for (const std::size_t size : {82U, 164U, 60U}) {
    for (const bool exact : {false, true}) {
      Trial t{fmt::format("interpolate(x[2], size={}, mode={})", size,
                          exact ? "nearest_exact" : "nearest"),
              {{1, 2}},
              {}};
      const float scale = 2.0F / static_cast<float>(size);
      for (std::size_t i = 0; i < size; ++i) {
        const float p = (static_cast<float>(i) + (exact ? 0.5F : 0)) * scale;
        t.out.push_back(t.in[0][std::min<std::size_t>(static_cast<std::size_t>(p), 1)]);
      }
      EXPECT_EQ(t.under(true).word(), "PASS") << t.text << t.under(true).str();
      t.out[size / 2 + 1] = 1;
      EXPECT_EQ(t.under(true).word(), "FAIL") << t.text;
    }
  }
  Trial t{"interpolate(x[2], size=82)", {{1, 2}}, {}};
  for (std::size_t i = 0; i < 82; ++i) t.out.push_back(i < 42 ? 1 : 2);
  EXPECT_NE(t.under(true).form.find("float positions"), std::string::npos) << t.under(true).str();
}

// A wrong index, and a mean with another divisor.
TEST(Resampling, PoolsWithAFaultAreSeen) {
  const std::pair<std::string, Floats> rows[] = {
      {"avg_pool1d(x[5], size=2, stride=2, ceil_mode=1)", {1.5F, 3.5F, 2.5F}},
      {"avg_pool1d(x[5], size=2, stride=2, padding=1, count_include_pad=0)", {0.5F, 2.5F, 4.5F}},
      {"adaptive_avg_pool1d(x[5], size=2)", {2, 4.5F}},
      {"cast(max_pool1d_index(x[5], size=2, stride=2), f32)", {0, 3}},
      {"conv_transpose1d(reshape(x[5], [1,1,5]), w[1,1,1], stride=2)", {1, 1, 2, 2, 3, 3, 4, 4, 5}},
  };
  const Floats right[] = {
      {1.5F, 3.5F, 5}, {1, 2.5F, 4.5F}, {2, 4}, {1, 3}, {1, 0, 2, 0, 3, 0, 4, 0, 5}};
  for (std::size_t i = 0; i < std::size(rows); ++i) {
    Trial t{rows[i].first, {{1, 2, 3, 4, 5}}, rows[i].second};
    if (t.text.find("w[") != std::string::npos) t.in.push_back({1});
    EXPECT_EQ(t.under(true).word(), "FAIL") << t.text;
    t.out = right[i];
    EXPECT_EQ(t.under(true).word(), "PASS") << t.text << ": " << t.under(true).str();
  }
}

}  // namespace
}  // namespace touchstone
