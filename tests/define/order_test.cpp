// Positions, order, running extremes, truth and products against the loops of fuzz/definitions:
// with ties, zeros of both signs, infinities and NaN, of every type; and right and wrong results
// judged.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <random>

#include "../interp/kernels.h"
#include "touchstone/define/text.h"
#include "touchstone/fuzz/definitions/calls.h"
#include "touchstone/interp/oracle/verdict.h"

namespace touchstone::define {
namespace {

using Row = std::vector<double>;

BufferPtr stored(DType dtype, const Row& values) {
  std::string bytes;
  for (const double x : values) {
    const std::uint64_t bits = Scalar::from_double(dtype, x).bits();
    bytes.append(reinterpret_cast<const char*>(&bits), itemsize(dtype));
  }
  BufferPtr made = test::buffer(dtype, std::ssize(values));
  made->copy_in(std::as_bytes(std::span(bytes)));
  return made;
}
Row read(const Buffer& b) {
  std::string bytes(static_cast<std::size_t>(b.size()) * itemsize(b.dtype()), '\0');
  b.copy_out(std::as_writable_bytes(std::span(bytes)));
  Row values;
  for (std::size_t at = 0; at < bytes.size(); at += itemsize(b.dtype())) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, bytes.data() + at, itemsize(b.dtype()));
    values.push_back(Scalar::from_bits(b.dtype(), bits).to_double());
  }
  return values;
}
Row computed(const std::string& text, const BufferPtr& x) {
  const LazyOpPtr kernel = parse(text).kernel();
  std::int64_t size = 1;
  for (const sint& s : kernel->shape()) size *= s.as_int();
  const BufferPtr out = test::buffer(kernel->dtype(), size);
  run_kernel(test::reference(), kernel, test::raw({out, x}));
  return read(*out);
}
Outcome judged(const std::string& text, const BufferPtr& x, const Row& output,
               const char* profile = nullptr) {
  const Formula formula = parse(text);
  const LazyOpPtr kernel = formula.kernel();
  const BufferPtr out = stored(kernel->dtype(), output);
  return judge(kernel, test::raw({out, x}), *out,
               Profile::named(profile != nullptr ? profile : usual_profile(formula.is_loose)))
      .outcome;
}
std::string input(DType dtype, const Sizes& shape) {
  return "x" + str(shape) + ":" + std::string(info(dtype).short_name);
}

// Along an axis; the values are those of fuzz/definitions.
const char* const kCalls[] = {"argmax",
                              "argmin",
                              "argmax last=1",
                              "argmin keep=1 last=1",
                              "cummax",
                              "cummin",
                              "cummax_index",
                              "cummin_index",
                              "sort",
                              "sort descending=1",
                              "argsort",
                              "argsort descending=1",
                              "top_k k=2",
                              "top_k k=2 largest=0",
                              "top_k_index k=2",
                              "top_k_index k=2 largest=0",
                              "any",
                              "all keep=1",
                              "count_nonzero"};
std::string text_of(std::string call, const std::string& x, int axis) {
  std::string rest = call.substr(std::min(call.find(' '), call.size()));
  for (std::size_t at = rest.find(' '); at != rest.npos; at = rest.find(' ', at + 2))
    rest.replace(at, 1, ", ");
  return fmt::format("{}({}, axis={}{})", call.substr(0, call.find(' ')), x, axis, rest);
}
// Of a type without infinities some are open.
bool is_open(const fuzz::defined::Near& cell) { return std::isinf(cell.e); }
std::vector<fuzz::defined::Near> defined_as(const std::string& call, const Row& x, DType dtype,
                                            const Sizes& shape, int axis) {
  fuzz::defined::Array array{dtype, shape, {}};
  for (const double v : x) array.cells.emplace_back(v);
  return fuzz::defined::define(fuzz::Call::parse(fmt::format("call kernel.{} axis={}", call, axis)),
                               {array})
      .at(0)
      .cells;
}

// Zeros are equal.
bool same(double a, double b) { return (std::isnan(a) && std::isnan(b)) || a == b; }

constexpr DType kTypes[] = {DType::Bool,       DType::Int8,       DType::UInt8,   DType::Int32,
                            DType::UInt64,     DType::Int64,      DType::Float16, DType::BFloat16,
                            DType::Float8E4M3, DType::Float8E5M2, DType::Float32, DType::Float64};

// Few different values, so that there are ties.
Row drawn(DType dtype, std::size_t n, std::mt19937& random) {
  const Row values = is_float(dtype)
                         ? Row{-INFINITY, -2, -0.5, -0.0, 0, 1, 1.5, 3, INFINITY, NAN}
                         : Row{0, 1, 2, 3, 5, 100, is_unsigned(dtype) ? 7.0 : -7.0, -1, -128, 0};
  // One row in three has only numbers, one in three many NaN.
  const auto kinds = std::vector<std::size_t>{values.size() - 1, values.size(), 3}[random() % 3];
  Row x;
  for (std::size_t i = 0; i < n; ++i) x.push_back(values[values.size() - 1 - random() % kinds]);
  if (kinds + 1 == values.size())
    std::ranges::replace_if(
        x, [](double v) { return std::isnan(v); }, 1.0);
  return read(*stored(dtype, x));
}

TEST(Order, IsThatOfLoops) {
  std::mt19937 random(3);
  for (const DType dtype : kTypes)
    for (const std::size_t n : {2U, 3U, 8U, 21U})
      for (int round = 0; round < 3; ++round) {
        // (2, n, 3): the axis is the middle one.
        Row x(6 * n);
        std::vector<Row> rows;
        for (std::size_t r = 0; r < 6; ++r) {
          rows.push_back(drawn(dtype, n, random));
          for (std::size_t i = 0; i < n; ++i) x[(r / 3 * n + i) * 3 + r % 3] = rows[r][i];
        }
        const BufferPtr given = stored(dtype, x), row = stored(dtype, rows[0]);
        const auto size = static_cast<std::int64_t>(n);
        for (const std::string call : kCalls) {
          const int axis = round == 0 ? 1 : -2;
          const std::string all = text_of(call, input(dtype, {2, size, 3}), axis);
          const Row got = computed(all, given);
          const auto wanted = defined_as(call, x, dtype, {2, size, 3}, axis);
          ASSERT_EQ(got.size(), wanted.size()) << all;
          for (std::size_t i = 0; i < wanted.size(); ++i)
            ASSERT_TRUE(is_open(wanted[i]) || same(got[i], static_cast<double>(wanted[i].v)))
                << all << " of " << fmt::format("{}", fmt::join(x, " ")) << ": element " << i
                << " is " << got[i] << ", not " << static_cast<double>(wanted[i].v);
          const std::string one = text_of(call, input(dtype, {size}), 0);
          const auto of_row = defined_as(call, rows[0], dtype, {size}, 0);
          if (std::ranges::any_of(of_row, is_open)) continue;
          Row right;
          for (const fuzz::defined::Near& cell : of_row)
            right.push_back(static_cast<double>(cell.v));
          Row wrong = right;
          wrong.back() = is_bool(parse(one).value.dtype()) ? 1 - wrong.back()
                         : wrong.back() == 1               ? 2
                                                           : 1;
          EXPECT_EQ(judged(one, row, right), Outcome::Pass) << one;
          EXPECT_EQ(judged(one, row, wrong), Outcome::Fail) << one;
        }
      }
}

TEST(Order, HasTypesAndShapes) {
  struct Expected {
    const char* text;
    DType dtype;
    Sizes shape;
  };
  const Expected expected[] = {
      {"argmax(x[2,3])", DType::Int64, {}},
      {"argmax(x[2,3], keep=1)", DType::Int64, {1, 1}},
      {"argmax(x[2,3], axis=[0,1])", DType::Int64, {}},
      {"argmin(x[2,3]:bool, axis=0)", DType::Int64, {3}},
      {"argmin(x[], keep=1)", DType::Int64, {}},
      {"argmax(x[2,0,3], axis=-1)", DType::Int64, {2, 0}},
      {"cummax(x[2,0]:i8)", DType::Int8, {2, 0}},
      {"cummin_index(x[0,2]:f16)", DType::Int64, {0, 2}},
      {"sort(x[3,0])", DType::Float32, {3, 0}},
      {"argsort(x[3,0])", DType::Int64, {3, 0}},
      {"top_k(x[3,4]:bf16, 0)", DType::BFloat16, {3, 0}},
      {"top_k_index(x[3,4], 3, axis=0)", DType::Int64, {3, 4}},
      {"prod(x[2,3]:f16, axis=1, keep=1)", DType::Float16, {2, 1}},
      {"prod(x[2,3]:i8)", DType::Int8, {}},
      {"cumprod(x[2,3]:bf16, axis=0)", DType::BFloat16, {2, 3}},
      {"any(x[2,3,4], axis=[0,2])", DType::Bool, {3}},
      {"all(x[2,3], keep=1)", DType::Bool, {1, 1}},
      {"count_nonzero(x[2,3]:bool, axis=1)", DType::Int64, {2}},
  };
  for (const Expected& e : expected) {
    const Formula formula = parse(e.text);
    EXPECT_EQ(formula.value.dtype(), e.dtype) << e.text;
    EXPECT_EQ(formula.value.shape(), e.shape) << e.text;
    EXPECT_NO_THROW(formula.kernel()) << e.text;
  }
}

TEST(Order, OfWrongArgumentsIsAnError) {
  const std::pair<const char*, const char*> errors[] = {
      {"argmax(x[2,0], axis=1)", "axis 1 of shape [2,0] has no element"},
      {"argmin(x[0])", "has no element"},
      {"argmax(x[2,3,4], axis=[0,1])", "one axis or all of [2,3,4], not 2"},
      {"argmax(x[2,3], axis=2)", "axis 2 is not in"},
      {"sort(x[])", "of a scalar"},
      {"cummax(x[3], axis=1)", "axis 1 is not in"},
      {"top_k(x[3], k=4)", "k = 4 is not in [0, 3]"},
      {"top_k_index(x[3], k=-1)", "k = -1 is not in [0, 3]"},
      {"prod(x[1025]:i32)", "1025 factors; at most 1024"},
      {"prod(x[5000000])", "5000000 factors; at most 4194304"},
      {"cumprod(x[513]:i32)", "513 factors; at most 512"},
      {"prod(x[2,3], axis=[0,0])", "given twice"},
  };
  for (const auto& [text, message] : errors) {
    try {
      parse(text);
      ADD_FAILURE() << text;
    } catch (const Error& e) {
      EXPECT_NE(std::string(e.what()).find(message), std::string::npos) << text << ": " << e.what();
    }
  }
  EXPECT_NO_THROW(parse("prod(x[1024]:u8)").kernel());
  EXPECT_NO_THROW(parse("cumprod(x[512]:i64)").kernel());
}

TEST(Order, OfTheLargestIntegersIsExact) {
  constexpr std::uint64_t most = ~std::uint64_t{0};
  constexpr auto least = std::numeric_limits<std::int64_t>::min();
  const auto of = [](const std::string& text, const auto& x) {
    return test::run<typename std::decay_t<decltype(x)>::value_type>(parse(text).kernel()->src()[0],
                                                                     {test::buffer(x)});
  };
  using Unsigned = std::vector<std::uint64_t>;
  using Signed = std::vector<std::int64_t>;
  EXPECT_EQ(of("sort(x[4]:u64)", Unsigned{most, 0, most - 1, 5}), (Unsigned{0, 5, most - 1, most}));
  EXPECT_EQ(of("top_k(x[3]:u64, 2)", Unsigned{most - 1, 3, most}), (Unsigned{most, most - 1}));
  EXPECT_EQ(of("cummin(x[3]:i64)", Signed{-3, least, 4}), (Signed{-3, least, least}));
  EXPECT_EQ(of("argmin(x[4]:i64, axis=0)", Signed{least + 1, least, 0, least}), Signed{1});
  EXPECT_EQ(of("argmax(x[2,2,2]:i64, axis=0)", Signed{1, 2, 3, 4, 1, 3, 2, 9}),
            (Signed{0, 1, 0, 1}));
  EXPECT_EQ(of("prod(x[3]:i64)", Signed{least + 1, 3, 5}),
            Signed{static_cast<std::int64_t>((std::uint64_t{1} << 63) + 15)});
  EXPECT_EQ(of("cumprod(x[4]:u64)", Unsigned{most, 2, most, 7}), (Unsigned{most, most - 1, 2, 14}));
}

// Of computed elements the legal positions and values are those that rounding allows.
TEST(Order, OfComputedElements) {
  const Row x = {0.25, 3, -1, 2.5, NAN, 2.75, -7, 0.5};
  const BufferPtr given = stored(DType::Float32, x);
  for (const auto& [text, right, wrong] : std::vector<std::tuple<std::string, Row, Row>>{
           {"argmin(exp(slice(x[8], [0], [4])), last=1)", {2}, {0}},
           {"argmax(exp(slice(x[8], [0], [4])))", {1}, {3}},
           {"sort(relu(x[8]))",
            {0, 0, 0.25, 0.5, 2.5, 2.75, 3, NAN},
            {0, 0, 0.25, 0.5, 2.75, 2.5, 3, NAN}},
           {"argsort(x[8] * 3 + 1)", {6, 2, 0, 7, 3, 5, 1, 4}, {6, 2, 0, 7, 5, 3, 1, 4}},
           {"top_k_index(exp(x[8]), 3)", {4, 1, 5}, {4, 5, 1}}}) {
    EXPECT_EQ(judged(text, given, right), Outcome::Pass) << text;
    EXPECT_EQ(judged(text, given, wrong), Outcome::Fail) << text;
  }
}

// ---- products

float in_order(const std::vector<float>& x) {
  return std::accumulate(x.begin(), x.end(), 1.0F, std::multiplies<>());
}
float in_pairs(const std::vector<float>& x) {
  if (x.size() == 1) return x[0];
  const auto middle = x.begin() + std::ssize(x) / 2;
  return in_pairs({x.begin(), middle}) * in_pairs({middle, x.end()});
}
Row of_floats(const std::vector<float>& x) { return {x.begin(), x.end()}; }

TEST(Products, AreLegalInEveryOrder) {
  std::mt19937 random(5);
  for (const std::size_t n : {1U, 2U, 3U, 8U, 100U, 1000U, 4096U})
    for (int round = 0; round < 4; ++round) {
      std::vector<float> x(n);
      // So that no partial product overflows in any order.
      const float range = std::min(0.9F, 200.0F / static_cast<float>(n));
      for (float& v : x)
        v = (random() % 2 == 0 ? -1.0F : 1.0F) *
            std::exp2(std::uniform_real_distribution<float>(-range, range)(random));
      const BufferPtr given = stored(DType::Float32, of_floats(x));
      const std::string text = fmt::format("prod(x[{}])", n);
      const double exact = std::accumulate(x.begin(), x.end(), 1.0, std::multiplies<>());
      std::vector<float> products = {in_order(x), in_pairs(x), in_order({x.rbegin(), x.rend()})};
      for (int i = 0; i < 3; ++i) {
        std::ranges::shuffle(x, random);
        products.push_back(in_order(x));
        products.push_back(in_pairs(x));
      }
      for (const float product : products)
        EXPECT_EQ(judged(text, given, {static_cast<double>(product)}), Outcome::Pass)
            << n << ": " << product << " for " << exact;
      const double units = 2.0 * static_cast<double>(n + 1) * 0x1p-24;
      for (const double factor : {1 + units, 1 - units, -1.0, 0.0, 2.0})
        EXPECT_EQ(judged(text, given, {exact * factor}), Outcome::Fail) << n << " " << factor;
      for (const double other : {static_cast<double>(INFINITY), static_cast<double>(NAN)})
        EXPECT_EQ(judged(text, given, {other}), Outcome::Fail) << n << " " << other;
    }
}

TEST(Products, AtTheEndsOfTheRange) {
  struct Case {
    Row x, legal, illegal;
  };
  constexpr double inf = INFINITY, nan = NAN;
  const Case cases[] = {
      {{0x1p100, 0x1p-100, 0x1p100, -0x1p-100}, {-1, -inf, -0.0, nan}, {1, inf}},
      {{0x1p100, 0x1p100, 0.5}, {inf}, {1, -inf, nan, 0}},
      {{0x1p-100, 0x1p-100, 0x1p90}, {0x1p-110, 0}, {0x1p-50, inf, nan}},
      {{0x1.8p-75, 0x1.8p-75, 0x1p20}, {0x1.2p-129, 0x1p-129}, {-0x1p-149, 0x1p-126}},
      {{3, 0, -5}, {-0.0}, {1e-3, nan, -15}},
      {{0x1p100, 0x1p100, 0}, {0, nan}, {1, inf, 0x1p127}},
      {{inf, -2, 0.5}, {-inf}, {inf, nan, 0}},
      {{inf, 0, 2}, {nan}, {0, inf}},
      {{nan, 2, 0}, {nan}, {0}},
      {{-0.0, 0, 2}, {-0.0}, {1}},
      {{0x1p-126, 0.5}, {0x1p-127}, {0, 0x1p-126}},
      {{2, 3, 4}, {24}, {24.01, 23.99}},
  };
  for (const Case& c : cases) {
    const BufferPtr given = stored(DType::Float32, c.x);
    const std::string text = fmt::format("prod(x[{}])", c.x.size());
    const std::string what = fmt::format("{}", fmt::join(c.x, " "));
    for (const double y : c.legal)
      EXPECT_NE(judged(text, given, {y}), Outcome::Fail) << what << ": " << y;
    for (const double y : c.illegal)
      EXPECT_EQ(judged(text, given, {y}), Outcome::Fail) << what << ": " << y;
    EXPECT_TRUE(same(computed(text, given)[0], c.legal[0]))
        << what << ": " << computed(text, given)[0];
  }
}

TEST(Products, FlushSubnormalsWhereTheProfileDoes) {
  const BufferPtr given = stored(DType::Float32, {0x1p-100, 0x1p-30, 0x1p20});
  EXPECT_EQ(judged("prod(x[3])", given, {0}, "glibc"), Outcome::Fail);
  EXPECT_NE(judged("prod(x[3])", given, {0}, "opencl"), Outcome::Fail);
  EXPECT_EQ(judged("prod(x[3])", given, {1}, "opencl"), Outcome::Fail);
}

TEST(Products, OfOtherTypes) {
  std::mt19937 random(9);
  for (const DType dtype : kTypes)
    for (const std::size_t n : {0U, 1U, 2U, 5U, 9U}) {
      Row x;
      for (std::size_t i = 0; i < n; ++i)
        x.push_back((random() % 2 == 0 ? 0.5 : 1.5) + static_cast<double>(random() % 2));
      if (!is_float(dtype)) std::ranges::transform(x, x.begin(), [](double v) { return 2 * v; });
      x = read(*stored(dtype, x));
      const BufferPtr given = stored(dtype, x);
      const std::string in = input(dtype, {static_cast<std::int64_t>(n)});
      Row running;
      double product = 1;
      for (const double v : x) running.push_back(product *= v);
      // Of up to 4 significant bits each, so exact in float32 and rounded once; integers wrap.
      const std::string text = "prod(" + in + ")", up_to = "cumprod(" + in + ")";
      const auto wrapped = [&](double v) {
        if (is_float(dtype) || is_bool(dtype)) return read(*stored(dtype, {v}))[0];
        const auto bits = static_cast<std::uint64_t>(v);
        return Scalar::from_bits(dtype, bits).to_double();
      };
      std::ranges::transform(running, running.begin(), wrapped);
      const Row all = computed(text, given), each = computed(up_to, given);
      ASSERT_NEAR(all[0], wrapped(product), 1e-14 * std::abs(product)) << text;
      for (std::size_t i = 0; i < n; ++i)
        ASSERT_NEAR(each[i], running[i], 1e-14 * std::abs(running[i])) << up_to;
      EXPECT_NE(judged(text, given, {wrapped(product)}), Outcome::Fail) << text;
      EXPECT_NE(judged(up_to, given, running), Outcome::Fail) << up_to;
      if (n < 2) continue;
      running[1] = is_bool(dtype) ? 1 - running[1] : running[1] == 1 ? 2 : 1;
      EXPECT_EQ(judged(up_to, given, running), Outcome::Fail) << up_to;
    }
  EXPECT_EQ(computed("prod(x[3,0], axis=1)", stored(DType::Float32, {})), (Row{1, 1, 1}));
  EXPECT_EQ(
      computed("prod(x[2,2,2]:i32, axis=[2,0])", stored(DType::Int32, {1, 2, 3, 4, 5, 6, 7, 8})),
      (Row{60, 672}));
  EXPECT_EQ(
      computed("prod(x[2,2,2], axis=[0,-1])", stored(DType::Float32, {1, 2, 3, 4, 5, 6, 7, 8})),
      (Row{60, 672}));
}

// Positions are not sums over all earlier ones.
TEST(Order, OfAMillionElements) {
  std::vector<float> x(1'000'000);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>((i * 7919) % 999'983);
  const auto most = std::ranges::max_element(x) - x.begin();
  EXPECT_EQ(computed("argmax(x[1000000])", test::buffer(x)), Row{static_cast<double>(most)});
}

}  // namespace
}  // namespace touchstone::define
