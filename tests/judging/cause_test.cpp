// The cause of a FAIL: results with one known fault or property each, computed by loops.
#include "touchstone/judging/cause.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <numeric>

#include <gmock/gmock.h>

#include "trial.h"

namespace touchstone {
namespace {

using test::drawn;
using test::Floats;
using test::Trial;
using testing::HasSubstr;
using testing::Not;

float narrow(float x) { return convert<float>(convert<bfloat16>(x)); }
float half(float x) { return convert<float>(convert<float16>(x)); }
float same(float x) { return x; }
// 10 stored bits, cut.
float tf32(float x) { return std::bit_cast<float>(std::bit_cast<std::uint32_t>(x) & ~0x1fffU); }

// Products of (16, 24) by (24, 8): factors, sums and results pass through these functions.
Trial product_with(const std::function<float(float)>& factor,
                   const std::function<float(float)>& sum_of, std::size_t first = 0,
                   std::size_t last = 24) {
  test::Draws random(11);
  Trial t{"matmul(x[16,24], y[24,8])", {drawn(random, 16 * 24, 1), drawn(random, 24 * 8, 1)}, {}};
  for (std::size_t i = 0; i < 16; ++i)
    for (std::size_t j = 0; j < 8; ++j) {
      float sum = 0;
      for (std::size_t k = first; k < last; ++k)
        sum = sum_of(sum + factor(t.in[0][i * 24 + k]) * factor(t.in[1][k * 8 + j]));
      t.out.push_back(sum);
    }
  return t;
}

TEST(Cause, OfProducts) {
  EXPECT_EQ(product_with(same, same).under(true).cause, "");
  EXPECT_EQ(product_with(tf32, same).under(true).cause,
            "legal if the factors of products are rounded to TF32");
  EXPECT_THAT(product_with(narrow, same).under(true).cause,
              HasSubstr("legal if the factors of products are rounded to bfloat16, which lets"));
  EXPECT_EQ(product_with(same, narrow).under(true).cause,
            "explained if terms are added in their order in bfloat16");
  EXPECT_EQ(product_with(same, half).under(true).cause,
            "explained if terms are added in their order in float16");
  EXPECT_EQ(product_with(same, same, 0, 23).under(true).cause,
            "explained if the last term of each sum is missing");
  EXPECT_EQ(product_with(same, same, 1).under(true).cause,
            "explained if the first term of each sum is missing");
  EXPECT_EQ(product_with(same, [](float x) { return x * 1.02F; }).under(true).cause,
            "no known declaration or fault explains all of it");
  Trial scaled = product_with(same, same);
  for (float& v : scaled.out) v *= 1.0001F;
  EXPECT_EQ(scaled.under(true).cause, "each result is 1.0001 times the right one");
  Trial shifted = product_with(same, same);
  for (float& v : shifted.out) v += 0.25F;
  EXPECT_EQ(shifted.under(true).cause, "each result is the right one + 0.25");
}

// Products of 8-bit floats in groups of 32 with the running sum, all cut to 14 bits of the largest.
// The rest of the formula is in float32: no declared accumulator has these results.
TEST(Cause, NarrowSumsInTurnHaveTheTypeOfTheProgram) {
  for (const auto& [round, type] : {std::pair(&narrow, "bfloat16"), std::pair(&half, "float16")}) {
    test::Draws random(12);
    constexpr std::size_t kRows = 24, kTerms = 1000;
    Trial t{"mean(x[24,1000], axis=1)", {drawn(random, kRows * kTerms, 1, 0.2F)}, {}};
    for (std::size_t r = 0; r < kRows; ++r) {
      float sum = 0;
      for (std::size_t k = 0; k < kTerms; ++k) sum = round(sum + t.in[0][r * kTerms + k]);
      t.out.push_back(sum / kTerms);
    }
    EXPECT_EQ(t.under(true).cause,
              std::string("explained if terms are added in their order in ") + type);
  }
}

TEST(Cause, OfMatrixUnitsThatKeepFourteenBits) {
  test::Draws random(12);
  constexpr std::size_t kK = 256;
  Trial t{"sum(cast(x[8,256]:f8e4m3, f32) * cast(y[8,256]:f8e4m3, f32), axis=1)",
          {},
          {},
          DType::Float8E4M3};
  for (int i = 0; i < 2; ++i) {
    t.in.push_back(drawn(random, 8 * kK, 1, 1));
    for (float& v : t.in.back())
      v = convert<float>(convert<float8_e4m3>(std::clamp(v, -8.0F, 8.0F)));
  }
  for (std::size_t row = 0; row < 8; ++row) {
    double sum = 0;
    for (std::size_t k = 0; k < kK; k += 32) {
      std::vector<double> terms{sum};
      for (std::size_t i = row * kK + k; i < row * kK + k + 32; ++i)
        terms.push_back(static_cast<double>(t.in[0][i]) * static_cast<double>(t.in[1][i]));
      double largest = 0;
      for (const double v : terms) largest = std::max(largest, std::abs(v));
      const double unit = std::ldexp(1.0, std::ilogb(largest) - 13);
      sum = 0;
      for (const double v : terms) sum += std::trunc(v / unit) * unit;
    }
    t.out.push_back(static_cast<float>(sum));
  }
  t.out_dtype = DType::Float32;
  EXPECT_EQ(t.under(true).word(), "FAIL");
  EXPECT_THAT(t.under(true).cause, HasSubstr("sums are cut to 14 bits, as in Hopper's"));
}

// As a kernel of 64 lanes that forgets the terms left over, or its last block.
TEST(Cause, OfSeveralMissingTerms) {
  test::Draws random(15);
  const auto softmax_without = [&](std::size_t n, std::size_t missing) {
    Trial t{fmt::format("softmax(x[2,{}])", n), {drawn(random, 2 * n, 1)}, {}};
    for (std::size_t row = 0; row < 2; ++row) {
      const float* x = t.in[0].data() + row * n;
      double sum = 0;
      for (std::size_t i = 0; i + missing < n; ++i) sum += std::exp(static_cast<double>(x[i]));
      for (std::size_t i = 0; i < n; ++i)
        t.out.push_back(static_cast<float>(std::exp(static_cast<double>(x[i])) / sum));
    }
    return t.under(true).cause;
  };
  EXPECT_EQ(softmax_without(8000, 32), "explained if the last 32 terms of each sum are missing");
  EXPECT_EQ(softmax_without(1000, 1000 % 64),
            "explained if the last 40 terms of each sum are missing");
  EXPECT_EQ(softmax_without(1000, 1), "explained if the last term of each sum is missing");
  EXPECT_EQ(product_with(same, same, 0, 16).under(true).cause,
            "explained if the last 8 terms of each sum are missing");
  EXPECT_EQ(product_with(same, same, 2).under(true).cause,
            "explained if the first 2 terms of each sum are missing");
}

// Rows of softmax, log softmax, layer norm (with the last terms missing in both sums), mean or sum.
Trial rows_without(std::string_view op, std::size_t rows, std::size_t n, std::size_t missing,
                   DType type = DType::Float32, bool truncates = false) {
  test::Draws random(16);
  Trial t{fmt::format("{}(x[{},{}]:{}{})", op, rows, n, type == DType::Float32 ? "f32" : "bf16",
                      op == "mean" || op == "sum" ? ", axis=1" : ""),
          {},
          {},
          type};
  t.in.push_back(drawn(random, rows * n, 1));
  if (type == DType::BFloat16)
    for (float& v : t.in[0]) v = narrow(v);
  for (std::size_t row = 0; row < rows; ++row) {
    const float* const x = t.in[0].data() + row * n;
    const auto sum = [&](const std::function<float(float)>& term) {
      float total = 0;
      for (std::size_t i = 0; i + missing < n; ++i) {
        const double next = static_cast<double>(total) + static_cast<double>(term(x[i]));
        total = static_cast<float>(next);
        if (truncates && std::abs(static_cast<double>(total)) > std::abs(next))
          total = std::nextafter(total, 0.0F);
      }
      return total;
    };
    if (op == "mean" || op == "sum") {
      t.out.push_back(sum(same) / (op == "sum" ? 1.0F : static_cast<float>(n)));
      continue;
    }
    const float mean = sum(same) / static_cast<float>(n),
                variance = sum([&](float v) { return (v - mean) * (v - mean); });
    const float r = 1 / std::sqrt(variance / static_cast<float>(n) + 1e-5F);
    const float powers = sum([](float v) { return std::exp(v); }), log = std::log(powers);
    for (std::size_t i = 0; i < n; ++i)
      t.out.push_back(op == "softmax"       ? std::exp(x[i]) / powers
                      : op == "log_softmax" ? x[i] - log
                                            : (x[i] - mean) * r);
  }
  return t;
}

// Terms missing within the bounds of a sum in any order: each element is legal.
TEST(Cause, OfMissingTermsThatEachElementHides) {
  const auto found = [](const Trial& t) {
    const Verdict v = t.under(true);
    return v.suspect() && v.outcome != Outcome::Fail ? v.evidence->suspicion->explanation : v.str();
  };
  constexpr const char* kEight = "the last 8 terms of each sum are missing";
  EXPECT_EQ(found(rows_without("softmax", 48, 32000, 8)), kEight);
  EXPECT_EQ(found(rows_without("log_softmax", 48, 32000, 8)), kEight);
  EXPECT_EQ(found(rows_without("layer_norm", 48, 32000, 8)), kEight);
  EXPECT_EQ(found(rows_without("mean", 64, 32000, 8)), kEight);
  EXPECT_EQ(found(rows_without("sum", 64, 32000, 1)), "the last term of each sum is missing");
  for (const char* op : {"softmax", "log_softmax", "layer_norm", "mean", "sum"})
    for (const DType type : {DType::Float32, DType::BFloat16}) {
      for (const bool truncates : {false, true}) {
        const Verdict v = rows_without(op, 48, 4096, 0, type, truncates).under(true);
        EXPECT_FALSE(v.suspect() || v.outcome == Outcome::Fail) << op << ": " << v.str();
      }
    }
}

// Each is legal under a wider declaration, too.
TEST(Cause, OfNarrowResults) {
  test::Draws random(17);
  Trial sum{"sum(x[8,3000]:f16, axis=1)", {drawn(random, 24000, 0.1F, 1)}, {}, DType::Float16};
  const auto half = [](float v) { return convert<float>(convert<float16>(v)); };
  for (float& v : sum.in[0]) v = half(v);
  for (std::size_t row = 0; row < 8; ++row) {
    float total = 0;
    for (std::size_t i = 0; i < 3000; ++i) total = half(total + sum.in[0][row * 3000 + i]);
    sum.out.push_back(total);
  }
  EXPECT_EQ(sum.under(true).cause, "legal if terms are added in their order in float16");
  Trial tiny{"x[16] * 0.5", {drawn(random, 16, 0x1p-128F)}, {}};
  for (const float v : tiny.in[0]) tiny.out.push_back(v * 0);
  EXPECT_EQ(tiny.under(true).cause, "legal if subnormal results may be zero");
  Trial gelu{"gelu(x[64])", {drawn(random, 64, 1)}, {}};
  for (const float v : gelu.in[0]) {
    const double x = static_cast<double>(v);
    gelu.out.push_back(static_cast<float>(
        0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)))));
  }
  EXPECT_EQ(gelu.under(true).cause, "explained if gelu is gelu_tanh");
}

// Rows whose exponentials overflow.
TEST(Cause, OfSoftmaxWithoutItsMaximum) {
  test::Draws random(16);
  Trial t{"softmax(x[4,16])", {drawn(random, 64, 60)}, {}};
  for (std::size_t row = 0; row < 4; ++row) {
    float sum = 0;
    for (std::size_t i = 0; i < 16; ++i) sum += std::exp(t.in[0][row * 16 + i]);
    for (std::size_t i = 0; i < 16; ++i) t.out.push_back(std::exp(t.in[0][row * 16 + i]) / sum);
  }
  EXPECT_THAT(t.under(true).cause,
              HasSubstr("legal in the form unshifted: without subtracting the maximum"));
}

TEST(Cause, OfElementsInTheWrongPlaces) {
  const Trial right = product_with(same, same);
  const auto moved = [&](const std::function<std::size_t(std::size_t, std::size_t)>& from) {
    Trial t = right;
    for (std::size_t i = 0; i < 16; ++i)
      for (std::size_t j = 0; j < 8; ++j) t.out[i * 8 + j] = right.out[from(i, j)];
    return t.under(true).cause;
  };
  EXPECT_EQ(moved([](auto i, auto j) { return (i * 8 + j) % 16 * 8 + (i * 8 + j) / 16; }),
            "explained if the result is written with its first axis as the fastest");
  EXPECT_EQ(moved([](auto i, auto j) { return (i == 0 ? 15 : i - 1) * 8 + j; }),
            "explained if results stand one place too late on axis 0");
  EXPECT_EQ(moved([](auto i, auto j) { return i * 8 + (j + 1) % 8; }),
            "explained if results stand one place too early on axis 1");
  EXPECT_EQ(moved([](auto i, auto j) { return i * 8 + 7 - j; }),
            "explained if the results are reversed on axis 1");
  Trial unwritten = right;
  std::fill(unwritten.out.begin() + 100, unwritten.out.end(), 0.0F);
  EXPECT_EQ(unwritten.under(true).cause,
            "each wrong element is 0.0; wrong are all from (12, 4) on");
  Trial column = right;
  for (std::size_t i = 0; i < 16; ++i) column.out[i * 8 + 7] = 9 + static_cast<float>(i);
  EXPECT_THAT(column.under(true).cause,
              HasSubstr("wrong are only elements with index 7 on axis 1"));
}

// What would explain the wrong elements, but not for a reason.
TEST(Cause, IsNotFoundInEqualElements) {
  const Trial shifted{"x[8] * 2", {Floats(8, 1)}, {99, 2, 2, 2, 2, 2, 2, 2}};
  EXPECT_EQ(shifted.under(true).cause, "no known declaration or fault explains all of it");
  const Trial zeros{"x[8] * 2", {{1, 2, 3, 4, 5, 6, 7, 8}}, Floats(8, 0)};
  EXPECT_EQ(zeros.under(true).cause, "each wrong element is 0.0");
  const Trial factor{"x[6] + x", {{NAN, 1, 2, 3, 4, 5}}, {5, 3, 6, 9, 12, 15}};
  EXPECT_EQ(factor.under(true).cause, "no known declaration or fault explains all of it");
  const Trial one{"x[6] + x", {{NAN, NAN, NAN, NAN, NAN, 1}}, {NAN, NAN, NAN, NAN, NAN, 2.25F}};
  EXPECT_THAT(one.under(true).cause, Not(HasSubstr("each result")));
}

TEST(Cause, OfInputsReadInTheWrongOrder) {
  test::Draws random(13);
  const Floats x = drawn(random, 48, 1), y = drawn(random, 48, 1);
  Trial minus{"x[6,8] - y[6,8]", {x, y}, {}};
  for (std::size_t i = 0; i < 48; ++i) minus.out.push_back(y[i] * 2 - x[i] * 2);
  EXPECT_EQ(minus.under(true).cause, "each result is -2 times the right one");
  Trial over{"x[6,8] / y[6,8]", {x, y}, {}};
  for (std::size_t i = 0; i < 48; ++i) over.out.push_back(y[i] / x[i]);
  EXPECT_EQ(over.under(true).cause, "explained if x and y are exchanged");
  Trial sum{"sum(x[6,8], axis=1)", {x}, {}};
  for (std::size_t i = 0; i < 6; ++i) {
    float row = 0;
    for (std::size_t j = 0; j < 8; ++j) row += x[j * 6 + i];
    sum.out.push_back(row);
  }
  EXPECT_EQ(sum.under(true).cause, "explained if x is read with its first axis as the fastest");
}

// Faults whose size a wide accumulator would cover, too.
TEST(Cause, OfWrongConstants) {
  test::Draws random(14);
  const Floats x = drawn(random, 4 * 64, 1, 3);
  const auto norm = [&](double divisor, double eps) {
    Trial t{"layer_norm(x[4,64], eps=0.001)", {x}, {}};
    for (std::size_t i = 0; i < 4; ++i) {
      double mean = 0, variance = 0;
      for (std::size_t j = 0; j < 64; ++j) mean += static_cast<double>(x[i * 64 + j]) / 64;
      for (std::size_t j = 0; j < 64; ++j)
        variance += std::pow(static_cast<double>(x[i * 64 + j]) - mean, 2) / divisor;
      for (std::size_t j = 0; j < 64; ++j)
        t.out.push_back(static_cast<float>((static_cast<double>(x[i * 64 + j]) - mean) /
                                           std::sqrt(variance + eps)));
    }
    return t.under(true);
  };
  EXPECT_EQ(norm(64, 1e-3).word(), "PASS");
  EXPECT_EQ(norm(63, 1e-3).cause, "explained if the sum of squares is divided by n - 1 (63)");
  EXPECT_EQ(norm(64, 0).cause, "explained if eps is 0");
  // The scores are read three times.
  Trial scores{"attention(q[4,16], k[8,16], v[8,4])",
               {drawn(random, 64, 1), drawn(random, 128, 1), drawn(random, 32, 1)},
               {}};
  for (std::size_t i = 0; i < 4; ++i) {
    std::vector<double> e(8);
    double sum = 0;
    for (std::size_t j = 0; j < 8; ++j) {
      double score = 0;
      for (std::size_t d = 0; d < 16; ++d)
        score += static_cast<double>(scores.in[0][i * 16 + d] * scores.in[1][j * 16 + d]);
      sum += e[j] = std::exp(score);
    }
    for (std::size_t c = 0; c < 4; ++c) {
      double value = 0;
      for (std::size_t j = 0; j < 8; ++j)
        value += e[j] / sum * static_cast<double>(scores.in[2][j * 4 + c]);
      scores.out.push_back(static_cast<float>(value));
    }
  }
  EXPECT_EQ(scores.under(true).cause, "explained if the factor 0.25 is 1");
}

TEST(Cause, OfAnotherEpsilon) {
  test::Draws random(16);
  for (const double eps : {0.0, 1e-3, 1e-5, 1e-8}) {
    Trial t{"rms_norm(x[4,64])", {drawn(random, 4 * 64, 0.01F)}, {}};
    for (std::size_t i = 0; i < 4; ++i) {
      double squares = 0;
      for (std::size_t j = 0; j < 64; ++j)
        squares += std::pow(static_cast<double>(t.in[0][i * 64 + j]), 2) / 64;
      for (std::size_t j = 0; j < 64; ++j)
        t.out.push_back(static_cast<float>(static_cast<double>(t.in[0][i * 64 + j]) /
                                           std::sqrt(squares + eps)));
    }
    EXPECT_EQ(t.under(true).cause, fmt::format("explained if eps is {}", eps));
  }
}

// E[x^2] - m^2 of data far from 0; sums of squares divided by n - 1.
TEST(Cause, OfVariancesByMomentsAndOtherDivisors) {
  test::Draws random(17);
  Trial moments{"var(x[8,64], axis=1)", {drawn(random, 8 * 64, 1, 100)}, {}};
  Trial sample = moments;
  for (std::size_t i = 0; i < 8; ++i) {
    float sum = 0, squares = 0;
    double mean = 0, spread = 0;
    for (std::size_t j = 0; j < 64; ++j) {
      const float x = moments.in[0][i * 64 + j];
      sum += x;
      squares += x * x;
      mean += static_cast<double>(x) / 64;
    }
    for (std::size_t j = 0; j < 64; ++j)
      spread += std::pow(static_cast<double>(moments.in[0][i * 64 + j]) - mean, 2);
    moments.out.push_back(squares / 64 - sum / 64 * (sum / 64));
    sample.out.push_back(static_cast<float>(spread / 63));
  }
  EXPECT_THAT(moments.under(true).cause, HasSubstr("legal in the form moments: var = (sum(x*x)"));
  EXPECT_EQ(sample.under(true).cause,
            "explained if the sum of squares is divided by n - 1 (63), as with correction=1");
}

TEST(Cause, OfADivisorThatDoesNotCountTheTerms) {
  test::Draws random(19);
  Trial t{"sum(x[8,8], axis=1) / 4", {drawn(random, 64, 1, 3)}, {}};
  for (std::size_t i = 0; i < 8; ++i)
    t.out.push_back(std::accumulate(t.in[0].begin() + static_cast<std::ptrdiff_t>(8 * i),
                                    t.in[0].begin() + static_cast<std::ptrdiff_t>(8 * i + 8), 0.F) /
                    3);
  EXPECT_EQ(t.under(true).cause, "explained if the divisor 4 is 3");
}

TEST(Cause, OfFormsThatAProfileExcludes) {
  test::Draws random(18);
  Trial t{"batch_norm(x[16,8], mean[8], var[8], w[8], b[8])",
          {drawn(random, 128, 2, 1), drawn(random, 8, 1), drawn(random, 8, 0.1F, 1),
           drawn(random, 8, 1), drawn(random, 8, 1)},
          {}};
  for (std::size_t i = 0; i < 128; ++i) {
    const std::size_t c = i % 8;
    const double variance = static_cast<double>(t.in[2][c] + 1e-5F);
    const float scale = static_cast<float>(1 / std::sqrt(variance)) * t.in[3][c];
    t.out.push_back(std::fma(t.in[0][i], scale, std::fma(-t.in[1][c], scale, t.in[4][c])));
  }
  t.profile = Profile::named("ieee");
  EXPECT_EQ(t.under(true).word(), "PASS") << "of all forms";
  EXPECT_EQ(t.under(true, {"definition"}).cause,
            "legal in the form folded: x*s + (b - mean*s), s = r*w");
}

TEST(Cause, OfTheSignOfAZero) {
  Trial t{"-x[2]", {{-0.0F, -1}}, {-0.0F, 1}};
  EXPECT_EQ(t.under(true).cause, "only the sign of zeros is wrong");
}

// One result per element of the text's only input.
Trial each(const std::string& text, const Floats& x, const std::function<float(float)>& f) {
  Trial t{text, {x}, {}};
  for (const float v : x) t.out.push_back(f(v));
  return t;
}

TEST(Cause, OfSingleOperations) {
  test::Draws random(12);
  const Floats x = drawn(random, 64, 2);
  EXPECT_EQ(each("-x[64]", x, [](float v) { return v; }).under(true).cause,
            "explained if the sign is wrong");
  EXPECT_EQ(each("x[64] + 1", x, [](float v) { return narrow(v + 1); }).under(true).cause,
            "explained if the result is rounded to bfloat16");
  EXPECT_EQ(each("x[64] + 1", x, [](float v) { return narrow(v) + 1; }).under(true).cause,
            "explained if x is rounded to bfloat16");
  const Floats zeros(64, -0.0F);
  EXPECT_EQ(each("x[64] * 1", zeros, [](float) { return 0.0F; }).under(true).cause,
            "legal if a zero may have either sign");
  Floats tiny = x;
  for (std::size_t i = 0; i < 8; ++i) tiny[i] *= 0x1p-130F;
  const auto flushed = [](float v) { return std::abs(v * 0.5F) < 0x1p-126F ? v * 0 : v * 0.5F; };
  EXPECT_EQ(each("x[64] * 0.5", tiny, flushed).under(true).cause,
            "legal if subnormal results may be zero");
  const auto by_ulps = [](float v) {
    const float right = std::tanh(v);
    return right + 12 * (std::nextafter(right, 2.0F) - right);
  };
  EXPECT_EQ(each("tanh(x[64])", Floats(64, 0.3F), by_ulps).under(true).cause,
            "legal if tanh has errors of 16 ULP");
}

TEST(Cause, IsSaidInTheUsersWords) {
  Trial t{"softmax(x[2,3])", {{0, 0, 0, 0, 0, 0}}, Floats(6, 0.5F)};
  const Verdict v = t.under(true);
  EXPECT_EQ(v.at, (std::vector<std::int64_t>{0, 0}));
  EXPECT_THAT(v.str(),
              HasSubstr("first at (0, 0): softmax(x[2,3]) gave 0x3f000000 (0.5), legal is"));
  const Trial each_element = each("tanh(x[3])", {0, 1, 2}, [](float v) { return v; });
  EXPECT_THAT(each_element.under(true).str(),
              HasSubstr("first at (1): tanh(x[3]) gave 0x3f800000 (1.0) for x = 1.0 "
                        "(exactly 0.761594156), legal is"));
  Trial all{"sum(x[3])", {{1, 2, 3}}, {7}};
  EXPECT_THAT(all.under(true).str(), HasSubstr("FAIL: 1 of 1 element; sum(x[3]) gave"));
  Trial none{"cast(arange(3), f32)", {}, {0, 1, 3}};
  EXPECT_THAT(none.under(true).str(), HasSubstr("first at (2): cast(arange(3), f32) gave"));
  Trial many{"matmul(x[4,4], y[4,4])", {Floats(16, 1), Floats(16, 1)}, Floats(16, 5)};
  EXPECT_EQ(many.under(true).at, (std::vector<std::int64_t>{0, 0}));
}

// A WEAK verdict lists the faults that the inputs cannot show.
TEST(Cause, OfWeakVerdictsIsWhatIsNotSeen) {
  Trial t{"sum(x[2,64], axis=1)", {Floats(128)}, {0, 0}};
  for (std::size_t i = 0; i < 128; ++i) t.in[0][i] = i % 2 == 0 ? 1e4F : -1e4F;
  t.in[0][63] += 1e-3F;
  t.in[0][127] += 1e-3F;
  const Verdict v = t.under(true);
  EXPECT_EQ(v.word(), "WEAK") << v.str();
  EXPECT_THAT(v.cause, HasSubstr("also legal: "));
}

// Beside MPFR, which the search does not use for these types.
TEST(Cause, AFunctionHasItsExactValueInTheMessage) {
  Trial t{"gelu(x[3])", {{0.5F, -0.31000715F, 2.0F}}, {}};
  const float right = 0.34573123F;
  t.out = {right, -0.11726886F, 1.9544997F};
  const std::string said = t.under(true).str();
  EXPECT_THAT(said, HasSubstr("(exactly -0.1172688")) << said;
  EXPECT_THAT(said, testing::ContainsRegex("; [0-9.]+ ULP below it\\)")) << said;
  Trial f64{"tanh(x[2]:f64)", {{1, 2}}, {0.5F, 0.25F}, DType::Float64};
  EXPECT_THAT(f64.under(true).str(), HasSubstr("(exactly 0.761594155955764"))
      << f64.under(true).str();
}

// Each result is legal, and elements of equal inputs share their rounding errors.
TEST(Cause, MissingTermsShowUnderTheRoundingOfBfloat16) {
  test::Draws random(5);
  constexpr std::size_t kRows = 64, kTerms = 32'000;
  Trial t{"softmax(x[64,32000]:bf16)", {drawn(random, kRows * kTerms, 1)}, {}, DType::BFloat16};
  for (float& x : t.in[0]) x = narrow(x);
  for (const std::size_t missing : {std::size_t{32}, std::size_t{0}}) {
    t.out.clear();
    for (std::size_t r = 0; r < kRows; ++r) {
      const float* const row = t.in[0].data() + r * kTerms;
      float sum = 0;
      for (std::size_t k = 0; k + missing < kTerms; ++k) sum += std::exp(row[k]);
      for (std::size_t k = 0; k < kTerms; ++k) t.out.push_back(std::exp(row[k]) / sum);
    }
    const Verdict v = t.under(true);
    EXPECT_EQ(v.word(), missing == 0 ? "PASS" : "SUSPECT") << v.str();
    if (missing > 0) {
      EXPECT_THAT(v.str(), HasSubstr("the last 32 terms of each sum are missing"));
    }
  }
}

}  // namespace
}  // namespace touchstone
