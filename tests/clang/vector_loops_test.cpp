#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>

#include "harness.h"
#include "touchstone/codegen/layout.h"
#include "touchstone/codegen/opts.h"

// Loops over lanes written as vectors, compared bit for bit with scalar loops: all lane counts,
// with and without conditions that keep accumulators in memory.

namespace touchstone {
namespace {

struct Case {
  std::int64_t rows, columns, terms;
  bool clamped;  // the result is max(sum, 0): no vector of fewer than eight lanes
  bool shifted;  // the result is sum * 3 - row of the bias
};

template <class T>
std::vector<T> numbers(std::int64_t count, std::uint32_t seed) {
  std::vector<T> all;
  for (std::int64_t i = 0; i < count; ++i) {
    seed = seed * 1664525U + 1013904223U;
    const std::uint32_t kind = seed >> 24;
    const T value = static_cast<T>(static_cast<std::int32_t>(seed >> 4)) / T{3'000'017};
    all.push_back(kind == 0   ? -T{0}
                  : kind == 1 ? std::numeric_limits<T>::infinity()
                  : kind == 2 ? std::numeric_limits<T>::denorm_min()
                              : value);
  }
  return all;
}

template <class T>
std::vector<T> by_loops(const Case& c, const std::vector<T>& x, const std::vector<T>& y,
                        const std::vector<T>& bias) {
  std::vector<T> out;
  const auto at = [](std::int64_t i) { return static_cast<std::size_t>(i); };
  for (std::int64_t i = 0; i < c.rows; ++i)
    for (std::int64_t j = 0; j < c.columns; ++j) {
      T sum = 0;
      for (std::int64_t k = 0; k < c.terms; ++k)
        sum += x[at(i * c.terms + k)] * y[at(k * c.columns + j)];
      if (c.shifted) sum = sum * T{3} - bias[at(j)];
      if (c.clamped && !std::isnan(sum)) sum = sum > 0 ? sum : T{0};
      out.push_back(sum);
    }
  return out;
}

template <class T>
LazyOpPtr kernel_of(const Case& c) {
  const Shape shape{c.rows, c.columns, c.terms}, out{c.rows, c.columns, 1};
  const auto view = [](const Shape& sizes, std::vector<sint> strides) {
    return ShapeTracker({View::strided(sizes, std::move(strides), 0)});
  };
  const auto x = LazyOp::load(1, dtype_v<T>, view(shape, {c.terms, 0, 1}));
  const auto y = LazyOp::load(2, dtype_v<T>, view(shape, {0, 1, c.columns}));
  LazyOpPtr value = LazyOp::reduce(Op::ReduceSum, LazyOp::binary(Op::Mul, x, y), {2});
  const auto constant = [&](double number) {
    return LazyOp::constant(Scalar::from_double(dtype_v<T>, number), view(out, {0, 0, 0}));
  };
  if (c.shifted)
    value = LazyOp::binary(Op::Sub, LazyOp::binary(Op::Mul, value, constant(3)),
                           LazyOp::load(3, dtype_v<T>, view(out, {0, 1, 0})));
  if (c.clamped) value = LazyOp::binary(Op::Max, value, constant(0));
  return stored(value);
}

template <class T>
bool same(T a, T b) {
  if (std::isnan(a) && std::isnan(b)) return true;
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  return std::bit_cast<Bits>(a) == std::bit_cast<Bits>(b);
}

template <class T>
void expect_right(const Case& c, const std::string& opts, int level) {
  ClangOptions options = ClangOptions::from_environment();
  options.codegen.opts = parse_opts(opts);
  options.codegen.contract = false;
  options.opt_level = level;
  const TestDevice device(options);
  const std::vector<T> x = numbers<T>(c.rows * c.terms, 1), y = numbers<T>(c.terms * c.columns, 2),
                       bias = numbers<T>(c.columns, 3);
  std::vector<std::vector<T>> inputs{x, y};
  if (c.shifted) inputs.push_back(bias);
  const std::vector<T> got = run<T>(*device, kernel_of<T>(c), inputs),
                       wanted = by_loops(c, x, y, bias);
  ASSERT_EQ(got.size(), wanted.size());
  for (std::size_t i = 0; i < got.size(); ++i)
    ASSERT_TRUE(same(got[i], wanted[i]))
        << opts << " -O" << level << ": element " << i << " is " << got[i] << ", not " << wanted[i];
}

TEST(VectorLoops, GiveTheBitsOfOneElementAtATime) {
  int turn = 0;
  for (const std::int64_t lanes : {2, 3, 4, 7, 8, 13, 16, 18, 28, 31, 34, 63, 64, 66, 129}) {
    for (const std::int64_t columns : {lanes, lanes + 5}) {
      const Case c{4, columns, 9, turn % 2 == 0, turn / 2 % 2 == 0};
      const std::string opts = fmt::format("lanes({})", lanes);
      const std::string layouts[] = {opts, opts + " block(0,2)",
                                     opts + " block(0,4) stage(24576) pack(0,65536)"};
      const std::string& layout = layouts[turn % 3];
      expect_right<float>(c, layout, turn % 2 == 0 ? 2 : 0);
      expect_right<double>(c, layout, turn % 2 == 0 ? 0 : 2);
      ++turn;
    }
  }
}

// Windows at the edge of an image: whole rows are masked, and lanes at both ends.
TEST(VectorLoops, OfMaskedLoadsReadNothingOutside) {
  constexpr std::int64_t kSize = 20, kChannels = 3, kOut = 16;
  const auto at = [](std::int64_t i) { return static_cast<std::size_t>(i); };
  const ShapeTracker padded =
      ShapeTracker::contiguous({kChannels, kSize, kSize}).pad(Padding{{0, 0}, {1, 1}, {1, 1}});
  // (out, y, x, channel, ky, kx)
  const Shape shape{kOut, kSize, kSize, kChannels, 3, 3};
  std::vector<View> views = padded.views();
  const std::int64_t row = kSize + 2;
  views.push_back(View::strided(shape, {0, row, 1, row * row, row, 1}, 0));
  const auto image = LazyOp::load(1, DType::Float32, ShapeTracker(views));
  const auto weight =
      LazyOp::load(2, DType::Float32, ShapeTracker({View::strided(shape, {27, 0, 0, 9, 3, 1}, 0)}));
  const auto kernel =
      stored(LazyOp::reduce(Op::ReduceSum, LazyOp::binary(Op::Mul, image, weight), {3, 4, 5}));
  const std::vector<float> x = numbers<float>(kChannels * kSize * kSize, 5),
                           w = numbers<float>(kOut * 27, 6);
  std::vector<float> wanted;
  for (std::int64_t o = 0; o < kOut; ++o)
    for (std::int64_t i = 0; i < kSize * kSize; ++i) {
      float sum = 0;
      for (std::int64_t k = 0; k < 27; ++k) {
        const std::int64_t dy = i / kSize + k / 3 % 3 - 1, dx = i % kSize + k % 3 - 1;
        const bool inside = dy >= 0 && dy < kSize && dx >= 0 && dx < kSize;
        sum += (inside ? x[at((k / 9 * kSize + dy) * kSize + dx)] : 0.0F) * w[at(o * 27 + k)];
      }
      wanted.push_back(sum);
    }
  for (const char* layout :
       {"", "lanes(20) block(0,4)", "lanes(16) block(0,4) stage(24576)",
        "reorder(1,0,2,3,4,5) lanes(20) block(1,4) stage(24576) pack(1,1048576)",
        "reorder(1,0,2,3,4,5) lanes(12) block(1,8) stage(24576) pack(1,1048576)"}) {
    ClangOptions options = ClangOptions::from_environment();
    options.codegen.contract = false;
    if (*layout != '\0') options.codegen.opts = parse_opts(layout);
    const TestDevice device(options);
    const std::vector<float> got = run<float>(*device, kernel, {x, w});
    for (std::size_t i = 0; i < wanted.size(); ++i)
      ASSERT_TRUE(same(got[i], wanted[i])) << layout << ": element " << i;
  }
}

// Windows over each image, in rows and columns with these distances.
struct ImageWindows {
  std::int64_t size, window, step, padding;
  Op op;  // Mul: sums of products with weights; Add: sums; Max: maxima, padded with -inf
  std::int64_t rows() const { return (size + 2 * padding - window) / step + 1; }
};

template <class T>
LazyOpPtr kernel_of(const ImageWindows& w) {
  const std::int64_t rows = w.rows(), wide = w.size + 2 * w.padding;
  const Shape shape{2, rows, rows, w.window, w.window};
  std::vector<View> views =
      ShapeTracker::contiguous({2, w.size, w.size})
          .pad(Padding{{0, 0}, {w.padding, w.padding}, {w.padding, w.padding}})
          .views();
  views.push_back(View::strided(shape, {wide * wide, wide * w.step, w.step, wide, 1}, 0));
  const ShapeTracker window(views);
  LazyOpPtr term = LazyOp::load(1, dtype_v<T>, window);
  const auto constant = [](const Scalar& value, const ShapeTracker& st) {
    return LazyOp::constant(value, st);
  };
  if (w.op == Op::Mul)
    term = LazyOp::binary(
        Op::Mul, term,
        LazyOp::load(
            2, dtype_v<T>,
            ShapeTracker({View::strided(shape, {w.window * w.window, 0, 0, w.window, 1}, 0)})));
  if (w.op == Op::Max)
    term = LazyOp::ternary(
        Op::Where, constant(Scalar::from_bits(DType::Bool, 1), window), term,
        constant(Scalar::from_double(dtype_v<T>, -std::numeric_limits<double>::infinity()),
                 ShapeTracker({View::strided(shape, {0, 0, 0, 0, 0}, 0)})));
  return stored(LazyOp::reduce(w.op == Op::Max ? Op::ReduceMax : Op::ReduceSum, term, {3, 4}));
}

template <class T>
std::vector<T> by_loops(const ImageWindows& w, const std::vector<T>& x,
                        const std::vector<T>& weights) {
  const auto at = [](std::int64_t i) { return static_cast<std::size_t>(i); };
  std::vector<T> out;
  for (std::int64_t i = 0; i < 2 * w.rows() * w.rows(); ++i) {
    const std::int64_t image = i / (w.rows() * w.rows());
    T most = -std::numeric_limits<T>::infinity(), sum = 0;
    for (std::int64_t k = 0; k < w.window * w.window; ++k) {
      const std::int64_t row = i / w.rows() % w.rows() * w.step + k / w.window - w.padding,
                         column = i % w.rows() * w.step + k % w.window - w.padding;
      const bool inside = row >= 0 && row < w.size && column >= 0 && column < w.size;
      const T value = inside ? x[at((image * w.size + row) * w.size + column)] : T{0};
      sum += w.op == Op::Mul ? value * weights[at(image * w.window * w.window + k)] : value;
      if (!inside || std::isnan(most)) continue;
      const bool more =
          value > most || std::isnan(value) || (value == most && !std::signbit(value));
      if (more) most = value;
    }
    out.push_back(w.op == Op::Max ? most : sum);
  }
  return out;
}

template <class T>
void expect_right(const ImageWindows& w, const std::string& opts, int level) {
  ClangOptions options = ClangOptions::from_environment();
  // An image with its rows may be one axis, without an axis before it.
  if (!opts.empty() && !refusal(kernel_of<T>(w), parse_opts(opts)))
    options.codegen.opts = parse_opts(opts);
  options.codegen.contract = false;
  options.opt_level = level;
  const TestDevice device(options);
  std::vector<T> x = numbers<T>(2 * w.size * w.size, 8);
  if (w.op == Op::Max)
    for (std::size_t i = 0; i < x.size(); i += 3)
      x[i] = i % 7 == 0 ? std::numeric_limits<T>::quiet_NaN() : i % 2 == 0 ? T{0} : -T{0};
  const std::vector<T> weights = numbers<T>(2 * w.window * w.window, 9);
  std::vector<std::vector<T>> inputs{x};
  if (w.op == Op::Mul) inputs.push_back(weights);
  const std::vector<T> got = run<T>(*device, kernel_of<T>(w), inputs),
                       wanted = by_loops(w, x, weights);
  ASSERT_EQ(got.size(), wanted.size());
  for (std::size_t i = 0; i < got.size(); ++i)
    ASSERT_TRUE(same(got[i], wanted[i]))
        << w.size << " by " << w.window << " step " << w.step << " padding " << w.padding << " "
        << opts << " -O" << level << ": element " << i << " is " << got[i] << ", not " << wanted[i];
}

// Terms are unrolled and rows share loads, elements are strided by two, and padding of a maximum is
// -inf: in the usual layout, with blocks of rows where they divide, and in others.
TEST(VectorLoops, OfWindowsGiveTheBitsOfOneElementAtATime) {
  int turn = 0;
  for (const Op op : {Op::Mul, Op::Add, Op::Max})
    for (const std::int64_t step : {1, 2, 3})
      for (const auto& [size, window, padding] :
           {std::tuple(9, 2, 0), std::tuple(16, 3, 1), std::tuple(37, 3, 1), std::tuple(24, 5, 2),
            std::tuple(65, 3, 0)}) {
        const ImageWindows w{size, window, step, padding, op};
        const std::string written = fmt::format("unroll({})", window * window),
                          rows = w.rows() % 2 == 0 ? "block(1,2) " : "";
        const std::string lanes =
            fmt::format("lanes({}) ", std::min<std::int64_t>(w.rows(), 10 + turn % 9));
        const std::string layouts[] = {"", lanes + rows + written, lanes + "unroll(2)",
                                       lanes + rows + "stage(4096)"};
        const std::string& layout = layouts[turn % 4];
        if (turn % 2 == 0)
          expect_right<float>(w, layout, turn % 3 == 0 ? 0 : 2);
        else
          expect_right<double>(w, layout, turn % 3 == 0 ? 0 : 2);
        ++turn;
      }
}

// Outer loops stay rolled unless an opt sets their unroll factor.
TEST(VectorLoops, RoundLoopsAreUnrolledAsAnOptSays) {
  ClangOptions options = ClangOptions::from_environment();
  std::vector<std::int32_t> x(5000);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<std::int32_t>(i * 37 % 5003);
  const auto load = LazyOp::load(1, DType::Int32, ShapeTracker::contiguous({5000}));
  const auto kernel = stored(LazyOp::reduce(Op::ReduceMax, load, {0}));
  for (const char* const opts : {"sums(4)", "sums(4) unroll(2)", "sums(64) unroll(3)"}) {
    options.codegen.opts = parse_opts(opts);
    const TestDevice device(options);
    EXPECT_EQ(run<std::int32_t>(*device, kernel, {x}), std::vector{std::ranges::max(x)}) << opts;
  }
}

TEST(VectorLoops, OfPeeledRowsHoldEveryElement) {
  const std::vector<float> x = numbers<float>(5 * 37, 3);
  const ShapeTracker padded = ShapeTracker::contiguous({5, 37}).pad(Padding{{1, 0}, {2, 1}});
  const auto load = LazyOp::load(1, DType::Float32, padded);
  const auto kernel = stored(LazyOp::binary(Op::Sub, load, LazyOp::unary(Op::Neg, load)));
  std::vector<float> wanted(6 * 40, 0.0F);
  for (std::size_t i = 0; i < 5; ++i)
    for (std::size_t j = 0; j < 37; ++j) wanted[(i + 1) * 40 + j + 2] = 2 * x[i * 37 + j];
  for (const char* const opts : {"peel(2,1)", "peel(1,1)", "peel(0,3)", "peel(3,0)", "peel(38,1)",
                                 "reorder(1,0) peel(1,4)", "peel(20,19) parallel(0)"}) {
    ClangOptions options = ClangOptions::from_environment();
    options.codegen.opts = parse_opts(opts);
    options.opt_level = 0;
    const TestDevice device(options);
    const std::vector<float> got = run<float>(*device, kernel, {x});
    for (std::size_t i = 0; i < wanted.size(); ++i)
      ASSERT_TRUE(got[i] == wanted[i]) << opts << ": element " << i;
  }
}

// Rows of few lanes, some masked: a mask may be the lane's number itself.
TEST(VectorLoops, OfFewLanesHaveEveryMask) {
  ClangOptions options = ClangOptions::from_environment();
  options.opt_level = 0;
  const TestDevice device(options);
  const std::vector<float> x{3, 5, 7, 11, 13, 17, 19, 23, 29};
  for (const std::int64_t lanes : {2, 3})
    for (const std::int64_t along : {0, 1, -1, 3})
      for (std::int64_t begin = 0; begin < lanes; ++begin)
        for (std::int64_t end = begin + 1; end <= lanes; ++end) {
          const std::int64_t offset = along < 0 ? 2 : 0;
          const View view =
              View::strided({2, lanes}, {1, along}, offset, Mask{{0, 2}, {begin, end}});
          const auto kernel = stored(LazyOp::load(1, DType::Float32, ShapeTracker({view})));
          std::vector<float> wanted;
          for (std::int64_t i = 0; i < 2; ++i)
            for (std::int64_t l = 0; l < lanes; ++l)
              wanted.push_back(l >= begin && l < end
                                   ? x[static_cast<std::size_t>(offset + i + l * along)]
                                   : 0.0F);
          EXPECT_EQ(run<float>(*device, kernel, {x}), wanted) << str(kernel);
        }
}

}  // namespace
}  // namespace touchstone
