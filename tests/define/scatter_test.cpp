// Reads, writes and sums by position against loops over indices.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include <gmock/gmock.h>

#include "../interp/kernels.h"
#include "../support/error_of.h"
#include "touchstone/define/text.h"
#include "touchstone/interp/oracle/verdict.h"

namespace touchstone::define {
namespace {

template <class R, class... T>
std::vector<R> result_of(const std::string& text, const std::vector<T>&... inputs) {
  return test::run<R>(parse(text).kernel()->src()[0], {test::buffer<T>(inputs)...});
}

template <class R, class... T>
Outcome judged(const std::string& text, const std::vector<R>& output,
               const std::vector<T>&... inputs) {
  const Formula formula = parse(text);
  const std::vector<BufferPtr> buffers{test::buffer<R>(output), test::buffer<T>(inputs)...};
  return judge(formula.kernel(), test::raw(buffers), *buffers[0],
               Profile::named(usual_profile(formula.is_loose)))
      .outcome;
}

template <class T>
bool is_same(T a, T b) {
  if constexpr (std::is_floating_point_v<T>)
    return (std::isnan(a) && std::isnan(b)) || (a == b && std::signbit(a) == std::signbit(b));
  else
    return a == b;
}
template <class T>
void expect_same(const std::vector<T>& got, const std::vector<T>& want, const std::string& what) {
  ASSERT_EQ(got.size(), want.size()) << what;
  for (std::size_t i = 0; i < got.size(); ++i)
    EXPECT_TRUE(is_same(got[i], want[i]))
        << what << " element " << i << ": " << +got[i] << ", not " << +want[i];
}

constexpr float kInfinity = INFINITY, kNaN = NAN;

// The same elements as an input and as a computed table.
const char* const kTables[] = {"x[6]", "where(x[6] == x, x, x)"};

TEST(Reads, KeepBitsAndCountFromTheEnd) {
  const std::vector<float> x = {-0.0F, kNaN, kInfinity, -kInfinity, 1e-45F, 3};
  const std::vector<std::int32_t> at = {0, 1, 2, 3, 4, 5, -1, -6, 6, -7, 2000000000};
  const std::vector<float> want = {-0.0F, kNaN,  kInfinity, -kInfinity, 1e-45F, 3,
                                   3,     -0.0F, 0,         0,          0};
  for (const std::string table : kTables) {
    const std::string call = "(" + table + ", i[11]:i32, axis=0)";
    expect_same(result_of<float>("take_along" + call, x, at), want, table);
    expect_same(result_of<float>("index_select" + call, x, at), want, table);
    const std::vector<std::uint8_t> bytes = {255, 5};  // unsigned ones do not
    expect_same(result_of<float>("index_select(" + table + ", i[2]:u8)", x, bytes), {0, 3}, table);
  }
  expect_same(
      result_of<std::int8_t>("take_along(-x[3]:i8, i[4]:i8)", std::vector<std::int8_t>{-128, 5, 0},
                             std::vector<std::int8_t>{0, 1, 2, 3}),
      {-128, -5, 0, 0}, "integers");
}

TEST(Reads, OfShorterAndEmptyIndices) {
  std::vector<float> x(12);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i);
  const std::vector<std::int64_t> at = {3, 2, 1, 0, -1, -2};
  for (const std::string table : {"x[3,4]", "x[3,4] * 1"}) {
    expect_same(result_of<float>("take_along(" + table + ", i[2,3]:i64)", x, at),
                {3, 2, 1, 4, 7, 6}, table);
    expect_same(result_of<float>("index_select(" + table + ", i[3,2]:i64, axis=-1)", x, at),
                {3, 2, 1, 0, 3, 2, 7, 6, 5, 4, 7, 6, 11, 10, 9, 8, 11, 10}, table);
    // x of size 1 is repeated.
    expect_same(
        result_of<float>("take_along(slice(" + table + ", [2,0], [3,4]), i[2,3]:i64)", x, at),
        {11, 10, 9, 8, 11, 10}, table);
  }
  EXPECT_EQ(parse("take_along(x[3,4], i[3,0]:i64)").value.shape(), (Sizes{3, 0}));
  EXPECT_EQ(parse("index_select(x[3,4], i[]:i64)").value.shape(), (Sizes{4}));
  for (const std::string table : {"x[0,2]", "exp2(x[0,2])"})
    expect_same(result_of<float>("index_select(" + table + ", i[2]:i64)", std::vector<float>{},
                                 std::vector<std::int64_t>{0, -1}),
                {0, 0, 0, 0}, table);
}

// The element at the places `at`, where the axis has `n` elements and negative ones count from the
// end; -1 outside.
std::int64_t place_in(std::int64_t at, std::int64_t n) {
  const std::int64_t place = at < 0 ? at + n : at;
  return place < n ? std::max<std::int64_t>(place, -1) : -1;
}

template <class T>
T combined_by(const std::string& by, T a, T b) {
  if (by == "none") return b;
  if constexpr (std::is_floating_point_v<T>) {
    if (by == "add") return a + b;
    if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<T>::quiet_NaN();
  } else if (by == "add") {  // wraps
    return static_cast<T>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
  }
  return by == "max" ? std::max(a, b) : std::min(a, b);
}

// x: (3, 5, 2), with its middle axis written.
template <class T>
void expect_scatters(const std::vector<T>& values, const std::string& type) {
  constexpr std::int64_t n = 5, m = 7;
  std::vector<T> x, updates;
  std::vector<std::int32_t> at;
  unsigned state = 5;
  const auto drawn = [&](std::size_t below) {
    state = state * 1664525U + 1013904223U;
    return (state >> 16) % below;
  };
  for (int i = 0; i < 3 * n * 2; ++i) x.push_back(values[drawn(values.size())]);
  for (int i = 0; i < 3 * m * 2; ++i) updates.push_back(values[drawn(values.size())]);
  for (int i = 0; i < 3 * m * 2; ++i) at.push_back(static_cast<std::int32_t>(drawn(13)) - 6);
  for (const std::string by : {"none", "add", "max", "min"}) {
    std::vector<T> want = x;
    for (std::int64_t i = 0; i < 3; ++i)
      for (std::int64_t k = 0; k < m; ++k)
        for (std::int64_t j = 0; j < 2; ++j) {
          const auto from = static_cast<std::size_t>((i * m + k) * 2 + j);
          const std::int64_t to = place_in(at[from], n);
          if (to < 0) continue;
          T& cell = want[static_cast<std::size_t>((i * n + to) * 2 + j)];
          cell = combined_by(by, cell, updates[from]);
        }
    for (const std::string& table :
         {"x[3,5,2]:" + type, "where(x[3,5,2]:" + type + " == x, x, x)"}) {
      const std::string text =
          "scatter(" + table + ", i[3,7,2]:i32, u[3,7,2]:" + type + ", axis=-2, reduce=" + by + ")";
      expect_same(result_of<T>(text, x, at, updates), want, text);
      EXPECT_EQ(judged(text, want, x, at, updates), Outcome::Pass) << text;
    }
  }
}

TEST(Scatter, IsWhatLoopsGive) {
  expect_scatters<float>({1, 2.5F, -7, 0.125F, 12, -3}, "f32");
  expect_scatters<std::int32_t>({1, -2, INT32_MIN, INT32_MAX, 0}, "i32");
  expect_scatters<std::uint8_t>({1, 200, 255, 0, 9}, "u8");
  expect_scatters<std::int64_t>({1, -200, INT64_MIN, 0, 9}, "i64");
}

TEST(Scatter, OfBoolIsLogic) {
  const auto of_bool = [](const std::string& by) {
    return result_of<std::uint8_t>(
        "cast(scatter(cast(x[4]:u8, bool), i[3]:i32, cast(u[3]:u8, bool), reduce=" + by + "), u8)",
        std::vector<std::uint8_t>{0, 1, 0, 1}, std::vector<std::int32_t>{0, 1, 3},
        std::vector<std::uint8_t>{1, 0, 0});
  };
  using Bytes = std::vector<std::uint8_t>;
  EXPECT_EQ(of_bool("none"), (Bytes{1, 0, 0, 0}));
  EXPECT_EQ(of_bool("add"), (Bytes{1, 1, 0, 1}));
  EXPECT_EQ(of_bool("max"), (Bytes{1, 1, 0, 1}));
  EXPECT_EQ(of_bool("min"), (Bytes{0, 0, 0, 0}));
}

TEST(Scatter, LeavesOtherElementsAlone) {
  const std::vector<float> x = {-0.0F, kNaN, kInfinity, -kInfinity, -0.0F, 1};
  const std::vector<std::int32_t> at = {4, 5, 6, -7};
  const std::vector<float> updates = {2, kNaN, kNaN, kInfinity};
  const std::string call = "scatter(x[6], i[4]:i32, u[4], reduce=";
  expect_same(result_of<float>(call + "none)", x, at, updates),
              {-0.0F, kNaN, kInfinity, -kInfinity, 2, kNaN}, "none");
  expect_same(result_of<float>(call + "add)", x, at, updates),
              {-0.0F, kNaN, kInfinity, -kInfinity, 2, kNaN}, "add");
  expect_same(result_of<float>(call + "max)", x, at, updates),
              {-0.0F, kNaN, kInfinity, -kInfinity, 2, kNaN}, "max");
  expect_same(result_of<float>(call + "min)", x, at, updates),
              {-0.0F, kNaN, kInfinity, -kInfinity, -0.0F, kNaN}, "min");
  // A number, and a shorter index.
  expect_same(result_of<float>("scatter(x[2,3], i[1,2]:i32, 7, axis=1)", x,
                               std::vector<std::int32_t>{2, 0}),
              {7, kNaN, 7, -kInfinity, -0.0F, 1}, "number");
  expect_same(result_of<float>("scatter(x[2,3], i[1,2]:i32, u[2,2], reduce=add)", x,
                               std::vector<std::int32_t>{1, 1}, updates),
              {-0.0F, kNaN, kInfinity, -kInfinity, kNaN, 1}, "shorter");
  expect_same(result_of<float>("scatter(x[6], i[0]:i32, u[0], reduce=max)", x,
                               std::vector<std::int32_t>{}, std::vector<float>{}),
              x, "no updates");
}

TEST(Scatter, SumsInAnyOrderButOfAllTerms) {
  std::vector<float> x = {0.1F, 1e4F}, updates;
  std::vector<std::int32_t> at;
  for (int i = 0; i < 40; ++i) {
    updates.push_back(0.37F * static_cast<float>(i) - 5.1F);
    at.push_back(i % 3 - 1);  // every third at the end
  }
  std::vector<float> up = x, down = x, later = {0, 0}, less = x;
  for (std::size_t i = 0; i < 40; ++i) {
    const auto to = [&](std::size_t k) { return static_cast<std::size_t>(place_in(at[k], 2)); };
    up[to(i)] += updates[i];
    down[to(39 - i)] += updates[39 - i];
    later[to(i)] += updates[i];
    if (i != 20) less[to(i)] += updates[i];
  }
  const std::string text = "scatter(x[2], i[40]:i32, u[40], reduce=add)";
  const std::string rows = "index_add(x[2], i[40]:i32, u[40])";
  for (const std::string& one : {text, rows,
                                 std::string("scatter_nd(x[2], reshape(i[40]:i32, "
                                             "[40,1]), u[40], reduce=add)")}) {
    EXPECT_EQ(judged(one, up, x, at, updates), Outcome::Pass) << one;
    EXPECT_EQ(judged(one, down, x, at, updates), Outcome::Pass) << one;
    EXPECT_EQ(judged(one, std::vector{later[0] + x[0], later[1] + x[1]}, x, at, updates),
              Outcome::Pass);
    EXPECT_EQ(judged(one, less, x, at, updates), Outcome::Fail) << one;
    EXPECT_EQ(judged(one, x, x, at, updates), Outcome::Fail) << one;
  }
}

TEST(Scatter, NdPicksByTheFirstAxes) {
  std::vector<float> x(24);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i);
  const std::vector<std::int32_t> at = {0, 0, -1, -1, 1, 3, 0, -4};  // (1, 3) and (0, -4): outside
  const std::vector<float> updates = {10, 20, 30, 40, 50, 60, 70, 80,
                                      90, 10, 20, 30, 40, 50, 60, 70};
  std::vector<float> want = x, sums = x;
  for (std::size_t r = 0; r < 4; ++r) {
    want[r] = updates[r];
    want[20 + r] = updates[4 + r];
    sums[r] += updates[r];
    sums[20 + r] += updates[4 + r];
  }
  const std::string call = "scatter_nd(x[2,3,4], i[2,2,2]:i32, u[2,2,4]";
  expect_same(result_of<float>(call + ")", x, at, updates), want, "none");
  expect_same(result_of<float>(call + ", reduce=add)", x, at, updates), sums, "add");
  EXPECT_EQ(judged(call + ")", want, x, at, updates), Outcome::Pass);
  EXPECT_EQ(judged(call + ")", sums, x, at, updates), Outcome::Fail);
}

TEST(Segments, AreCombined) {
  const std::vector<float> x = {1, 2, kNaN, -4, 5, 6, -0.0F, 7, 9, 10};
  const std::vector<std::int32_t> at = {2, 0, 2, -1, 4};  // -1 and 4: dropped
  const auto of = [&](const std::string& name) {
    return result_of<float>(name + "(x[5,2], i[5]:i32, segments=4)", x, at);
  };
  expect_same(of("segment_sum"), {kNaN, -4, 0, 0, 6, 8, 0, 0}, "sum");
  expect_same(of("segment_max"), {kNaN, -4, -kInfinity, -kInfinity, 5, 6, -kInfinity, -kInfinity},
              "max");
  expect_same(of("segment_min"), {kNaN, -4, kInfinity, kInfinity, 1, 2, kInfinity, kInfinity},
              "min");
  expect_same(
      result_of<std::uint8_t>("segment_min(x[2]:u8, i[2]:i8, segments=2)",
                              std::vector<std::uint8_t>{9, 200}, std::vector<std::int8_t>{1, 1}),
      {255, 9}, "bytes");
}

TEST(EmbeddingBag, OfNothingIsZeroAndRowsOutsideAre) {
  const std::vector<float> table = {1, 2, -3, 4};
  const std::vector<std::int32_t> at = {0, 1, 1, 2, -1, -1};
  const auto of = [&](const std::string& mode) {
    return result_of<float>("embedding_bag(t[2,2], i[3,2]:i32, mode=" + mode + ")", table, at);
  };
  expect_same(of("sum"), {-2, 6, -3, 4, 0, 0}, "sum");
  expect_same(of("mean"), {-1, 3, -1.5F, 2, 0, 0}, "mean");
  expect_same(of("max"), {1, 4, 0, 4, 0, 0}, "max");
  expect_same(result_of<float>("embedding_bag(t[2,2], i[3,2]:i32, w[3,2], mode=sum)", table, at,
                               std::vector<float>{2, 0.5F, -1, 9, 9, 9}),
              {0.5F, 6, 3, -4, 0, 0}, "weighted");
  for (const std::string mode : {"sum", "mean", "max"})
    expect_same(result_of<float>("embedding_bag(t[2,2], i[2,0]:i32, mode=" + mode + ")", table,
                                 std::vector<std::int32_t>{}),
                {0, 0, 0, 0}, mode);
}

struct Pool {
  Sizes size, stride, padding;
};
// Each window's gradient goes to the element that a loop of comparisons ends with.
std::vector<float> to_maxima(const std::vector<float>& x, const std::vector<float>& gradient,
                             std::int64_t rows, std::int64_t columns, const Pool& p) {
  std::vector<float> out(x.size());
  std::size_t next = 0;
  for (std::int64_t i = -p.padding[0]; i + p.size[0] <= rows + p.padding[0]; i += p.stride[0])
    for (std::int64_t j = -p.padding[1]; j + p.size[1] <= columns + p.padding[1];
         j += p.stride[1]) {
      std::int64_t best = -1;
      for (std::int64_t a = i; a < i + p.size[0]; ++a)
        for (std::int64_t b = j; b < j + p.size[1]; ++b) {
          if (a < 0 || b < 0 || a >= rows || b >= columns) continue;
          const float v = x[static_cast<std::size_t>(a * columns + b)];
          if (best < 0 || v > x[static_cast<std::size_t>(best)] || std::isnan(v))
            best = a * columns + b;
        }
      out[static_cast<std::size_t>(best)] += gradient[next++];
    }
  return out;
}

TEST(SelectAndScatter, GivesEachWindowsGradientToItsMaximum) {
  const Pool pools[] = {{{2, 2}, {2, 2}, {0, 0}},
                        {{3, 3}, {2, 1}, {1, 1}},
                        {{1, 3}, {3, 2}, {0, 1}},
                        {{6, 7}, {1, 1}, {0, 0}},
                        {{2, 2}, {4, 5}, {1, 1}}};
  for (const bool special : {false, true})
    for (const Pool& p : pools) {
      std::vector<float> x, gradient;
      for (unsigned i = 0; i < 42; ++i)
        x.push_back(!special      ? static_cast<float>(i * 7 % 5)
                    : i % 11 == 3 ? kNaN
                    : i % 3 == 0  ? -kInfinity
                    : i % 4 == 1  ? -0.0F
                                  : -kInfinity);
      const auto count = [&](std::size_t k, std::int64_t n) {
        return (n + 2 * p.padding[k] - p.size[k]) / p.stride[k] + 1;
      };
      const std::int64_t outer[] = {count(0, 6), count(1, 7)};
      for (std::int64_t i = 0; i < outer[0] * outer[1]; ++i)
        gradient.push_back(static_cast<float>(i + 1));
      const std::string text =
          fmt::format("select_and_scatter(x[6,7], g[{},{}], size={}, stride={}, padding={})",
                      outer[0], outer[1], str(p.size), str(p.stride), str(p.padding));
      std::vector<float> want = to_maxima(x, gradient, 6, 7, p);
      expect_same(result_of<float>(text, x, gradient), want, text);
      EXPECT_EQ(judged(text, want, x, gradient), Outcome::Pass) << text;
      std::ranges::reverse(want);
      EXPECT_EQ(judged(text, want, x, gradient), Outcome::Fail) << text;
    }
  // One axis, with others before it, and a gradient of another type.
  expect_same(result_of<std::int32_t>("select_and_scatter(x[2,4], g[2,2]:i32, size=2, stride=[2])",
                                      std::vector<float>{1, 1, 0, 5, 9, 2, 3, 3},
                                      std::vector<std::int32_t>{1, 2, 3, 4}),
              {1, 0, 0, 2, 3, 0, 4, 0}, "one axis");
}

TEST(Scatter, OfInputsThatDoNotFitIsAnError) {
  const char* const kErrors[][2] = {
      {"take_along(x[3,4], i[3]:i32)", "must have the same sizes except on axis 1"},
      {"take_along(x[3,4], i[4,2]:i32)", "must have the same sizes except on axis 1"},
      {"take_along(x[3,4], i[1,2]:i32)", "expand the index, as NumPy does, or slice x"},
      {"take_along(x[3], i[3])", "take_along: positions must be integers, not float32"},
      {"take_along(x[3], i[3]:bool)", "positions must be integers, not bool"},
      {"take_along(x[3], i[3]:i32, axis=1)", "axis 1 is not in [-1, 1)"},
      {"index_select(x[], i[3]:i32)", "axis 0 of a scalar"},
      {"scatter(x[3], i[2,2]:i32, u[2,2])", "scatter: the index [2,2] must fit inside"},
      {"scatter(x[3,4], i[2,5]:i32, u[2,5])", "except on axis 0, inside x [3,4]"},
      {"scatter(x[3], i[4]:i32, u[3])", "must fit inside the updates [3]"},
      {"scatter(x[3], i[3]:i32, u[3]:f16)", "x is float32 and the updates are float16; cast one"},
      {"scatter(x[3], i[3]:i32, u[3], reduce=mean)", "reduce is one of none, add, max, min, mul"},
      {"scatter(x[3], i[3]:i32, u[3], reduce=1)", "reduce is one of none, add, max, min"},
      {"index_add(x[3,2], i[2,1]:i32, u[2,2])", "index_add: the index [2,1] must have one axis"},
      {"index_add(x[3,2], i[2]:i32, u[2])", "must have the same rank"},
      {"index_add(x[3,2], i[2]:i32, u[3,2])", "2 positions in [3,2] take [2,2]"},
      {"scatter_nd(x[3,2], i[4,3]:i32, u[4])", "must have between 1 and 2 entries"},
      {"scatter_nd(x[3,2], i[]:i32, u[4])", "must have between 1 and 2 entries"},
      {"scatter_nd(x[3,2], i[4,1]:i32, u[4])", "the updates are [4]; the index [4,1] and x [3,2]"},
      {"segment_sum(x[3,2], i[2]:i32, segments=2)", "must have as many rows as the index"},
      {"segment_max(x[3,2], i[3]:i32, segments=-1)", "segment_max: -1 segments"},
      {"embedding_bag(t[3,2], i[3]:i32)", "must be (bags, n)"},
      {"embedding_bag(t[3,2], i[3,1]:i32, w[3,1])", "weights need mode=sum"},
      {"embedding_bag(t[3,2], i[3,1]:i32, w[3], mode=sum)", "must have the shape of the index"},
      {"embedding_bag(t[3,2], i[3,1]:i32, mode=min)", "mode is one of sum, mean, max"},
      {"select_and_scatter(x[4], g[4], size=2)", "the gradient [4] must be [3]"},
      {"select_and_scatter(x[4]:i32, g[3], size=2)", "takes floats, not int32; cast x"},
      {"select_and_scatter(x[4], g[3], size=[2,2])", "has fewer than 2 axes"},
      {"select_and_scatter(x[4], g[3], size=2, stride=[1,1])", "stride has 2 entries for 1 axes"},
      {"select_and_scatter(x[4], g[3], size=2, stride=0)", "stride 0 must be positive"},
  };
  for (const auto& [text, why] : kErrors)
    EXPECT_THAT(test::error_of([&] { parse(text); }), testing::HasSubstr(why)) << text;
}

}  // namespace
}  // namespace touchstone::define
