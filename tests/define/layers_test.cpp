// Attention with masks, losses, activations, cells and complex numbers: special values, types, and
// arguments that do not fit. Formulas are compared with loops in definitions_test.cpp.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include <gmock/gmock.h>

#include "../interp/kernels.h"
#include "../support/error_of.h"
#include "touchstone/define/text.h"

namespace touchstone::define {
namespace {

constexpr float kInf = INFINITY, kNan = NAN;
using Numbers = std::vector<float>;

// A formula of float32 inputs, in order.
Numbers value(const std::string& text, const std::vector<Numbers>& inputs) {
  std::vector<BufferPtr> buffers;
  for (const Numbers& x : inputs) buffers.push_back(test::buffer<float>(x));
  return test::run<float>(parse(text).kernel()->src()[0], buffers);
}

struct Special {
  std::string text;
  std::vector<Numbers> in;
  Numbers out;
  float error = 1e-6F;
};
void expect_values(const Special& s) {
  const Numbers got = value(s.text, s.in);
  ASSERT_EQ(got.size(), s.out.size()) << s.text;
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (std::isnan(s.out[i]) || std::isinf(s.out[i]) || s.out[i] == 0)
      EXPECT_TRUE(std::isnan(s.out[i]) ? std::isnan(got[i]) : got[i] == s.out[i])
          << s.text << " element " << i << ": " << got[i] << ", not " << s.out[i];
    else
      EXPECT_NEAR(got[i], s.out[i], s.error * std::abs(s.out[i])) << s.text << " element " << i;
  }
}

TEST(MaskedAttention, RowsWithoutAKeyAreNanOrZero) {
  const std::string call = "attention(q[2,1], k[2,1], v[2,1], m[2,2] ";
  const Numbers q{1, 1}, k{5, 5}, v{2, 4};
  const std::vector<Special> rows = {
      {call + "< 1)", {q, k, v, {0, 0, 1, 1}}, {3, kNan}},
      {call + "< 1, empty=nan)", {q, k, v, {0, 1, 1, 1}}, {2, kNan}},
      {call + "< 1, empty=zero)", {q, k, v, {0, 0, 1, 1}}, {3, 0}},
      {call + ", empty=zero)", {q, k, v, {0, -kInf, -kInf, -kInf}}, {2, 0}},
      {call + ", empty=zero)", {q, k, v, {0, 0, kNan, -kInf}}, {3, kNan}},
      // A score that is masked does not matter; a value does, since 0 NaN is NaN.
      {call + "< 1)", {q, {5, kNan}, v, {0, 1, 0, 1}}, {2, 2}},
      {call + "< 1)", {q, k, {2, kNan}, {0, 1, 0, 1}}, {kNan, kNan}},
      // The weights without an empty row are 0; so is 0 inf in forms, but not here.
      {call + "< 1, empty=zero)", {q, k, {2, kInf}, {0, 0, 1, 1}}, {kInf, kNan}},
      {"masked_softmax(x[2,2], m[2,2] < 1)", {{0, 0, 7, 7}, {0, 0, 1, 1}}, {0.5, 0.5, kNan, kNan}},
      {"masked_softmax(x[2,2], m[2,1], empty=zero)", {{0, 0, 7, 7}, {1, -kInf}}, {0.5, 0.5, 0, 0}},
  };
  for (const Special& s : rows) expect_values(s);
  EXPECT_EQ(parse("attention(q[2,3], k[0,3], v[0,4])").value.shape(), (Sizes{2, 4}));
}

TEST(MaskedAttention, TypesAndHeadsAreThoseOfTheQueries) {
  for (const char* text :
       {"attention(q[4,3]:bf16, k[5,3]:bf16, v[5,2]:bf16, m[4,5]:bf16)",
        "attention(q[4,3]:bf16, k[5,3]:bf16, v[5,2]:bf16, m[4,5], dropout=d[4,5]:bf16)",
        "attention_scores(q[4,3]:bf16, k[5,3]:bf16, m[5]:f32)"})
    EXPECT_EQ(parse(text).value.dtype(), DType::BFloat16) << text;
  EXPECT_EQ(parse("attention(q[4,3], k[5,3], v[5,2], m[5]:f64)").value.dtype(), DType::Float32);
  EXPECT_EQ(parse("attention(q[6,4,3], k[2,5,3], v[2,5,2])").value.shape(), (Sizes{6, 4, 2}));
  EXPECT_EQ(parse("attention(q[6,4,3], k[5,3], v[5,2])").value.shape(), (Sizes{6, 4, 2}));
}

TEST(Losses, OfSpecialNumbers) {
  const float log2 = std::log(2.0F), soft = std::log1p(std::exp(-1.0F));
  const std::vector<Special> rows = {
      {"binary_cross_entropy(x[4], t[4])", {{0, 1, 0, 1}, {0, 1, 1, 0}}, {0, 0, 100, 100}},
      {"binary_cross_entropy(x[3], t[3])", {{-1, 2, kNan}, {0.5, 0.5, 1}}, {kNan, kNan, kNan}},
      {"binary_cross_entropy_with_logits(x[4], t[4])",
       {{0, -1, kInf, kNan}, {0, 1, 1, 0}},
       {log2, 1 + soft, kNan, kNan}},
      {"kl_div(x[4], t[4])", {{-1, -2, -kInf, -1}, {0, 1, 0, kNan}}, {0, 2, kNan, kNan}},
      {"smooth_l1_loss(x[3], t[3], beta=0)", {{0, -3, kInf}, {0, 1, 0}}, {0, 4, kInf}},
      {"huber_loss(x[4], t[4], delta=2)", {{0, 2, 3, kNan}, {1, 0, 0, 0}}, {0.5, 2, 4, kNan}},
      {"mse_loss(x[2], t[2], reduction=mean)", {{1, 2}, {3, 5}}, {6.5}},
      {"mse_loss(x[3,1], t[2])", {{1, 2, 3}, {0, 1}}, {1, 0, 4, 1, 9, 4}},
      {"l1_loss(x[2], t[2], reduction=sum)", {{1, -kInf}, {3, 5}}, {kInf}},
      {"dropout(x[3], m[3] < 1, p=0.5)", {{3, kNan, -2}, {0, 1, 0}}, {6, 0, -4}},
      {"dropout(x[2], m[2], p=0.5)", {{3, kNan}, {1, 0}}, {6, kNan}},
      {"cross_entropy(x[3], cast(t[], i32))", {{0, 0, 0}, {1}}, {std::log(3.0F)}},
      {"cross_entropy(x[2,2], cast(t[2], i32), reduction=mean)", {{0, 0, 1, 1}, {-100, 9}}, {kNan}},
      {"cross_entropy(x[2,2], cast(t[2], i32), reduction=sum)", {{0, 0, 1, 1}, {-100, 9}}, {0}},
      {"cross_entropy(x[2,2], cast(t[2], i32), label_smoothing=1)",
       {{0, 0, 0, 0}, {-1, 1}},
       {0, log2}},
      // A class whose probability is 0 counts if smoothed only.
      {"cross_entropy(x[1,2], cast(t[1], i32))", {{0, -kInf}, {0}}, {0}},
      {"cross_entropy(x[1,2], cast(t[1], i32), label_smoothing=0.5)", {{0, -kInf}, {0}}, {kInf}},
      // Of probabilities; their mean divides by the number of rows, also with weights.
      {"cross_entropy(x[2,2], t[2,2])",
       {{0, 0, -1, 1}, {0.25, 0.5, 1, 0}},
       {0.75F * log2, 2 + std::log1p(std::exp(-2.0F))}},
      {"cross_entropy(x[2,2], t[2,2], w[2], reduction=mean)",
       {{0, 0, 0, 0}, {0.25, 0.75, 1, 0}, {4, 8}},
       {5.5F * log2}},
      {"cross_entropy(x[1,2], t[1,2], label_smoothing=0.5)", {{0, 0}, {3, 0}}, {2 * log2}},
      {"cross_entropy(x[2], t[2], reduction=sum)", {{0, -kInf}, {1, 0}}, {kNan}},
      {"nll_loss(x[2,2], cast(t[2], i32), ignore_index=0)", {{-1, -2, -3, kNan}, {0, 0}}, {0, 0}},
      {"nll_loss(x[2,2], cast(t[2], i32))", {{-1, -2, -3, kNan}, {1, 0}}, {2, 3}},
  };
  for (const Special& s : rows) expect_values(s);
}

TEST(Losses, OfProbabilitiesThatDoNotFitAreErrors) {
  for (const auto& [text, why] :
       {std::pair{"cross_entropy(x[2,3], t[2,3], ignore_index=1)", "for numbers of classes"},
        {"cross_entropy(x[2,3], t[2])", "has probabilities [2,3], not [2]"},
        {"cross_entropy(x[2,3], t[2,3]:i64)", "has targets [2], not [2,3]"},
        {"cross_entropy(x[2,3], t[2]:bool)", "integers, or probabilities, not bool"},
        {"nll_loss(x[2,3], t[2,3])", "integers, not float32"}})
    EXPECT_THAT(test::error_of([&] { (void)parse(text); }), testing::HasSubstr(why)) << text;
}

// Class 150 is not -106, its number in 8 bits.
TEST(Losses, TargetsOfNarrowTypesNameTheirOwnClass) {
  Numbers x(200);
  x[44] = x[150] = 1000;
  const auto kernel = parse("cross_entropy(x[1,200], t[1]:i8)").kernel()->src()[0];
  const auto of = [&](std::int8_t target) {
    return test::run<float>(kernel,
                            {test::buffer<float>(x), test::buffer<std::int8_t>({target})})[0];
  };
  EXPECT_NEAR(of(44), std::log(2.0F), 1e-4F);
  EXPECT_EQ(of(-106), 0);
  EXPECT_EQ(of(-100), 0);
  EXPECT_NEAR(of(43), 1000 + std::log(2.0F), 1e-3F);
}

TEST(Activations, OfSpecialNumbers) {
  const Numbers x{kInf, -kInf, kNan, 0, 1, -1};
  const float e = std::expm1(-1.0F), scale = 1.0507009873554805F, alpha = 1.6732632423543772F;
  const std::vector<Special> rows = {
      {"leaky_relu(x[6])", {x}, {kInf, -kInf, kNan, 0, 1, -0.01F}},
      {"prelu(x[6], w[1])", {x, {2}}, {kInf, -kInf, kNan, 0, 1, -2}},
      {"prelu(x[1,3,2], w[3])", {x, {1, 2, 3}}, {kInf, -kInf, kNan, 0, 1, -3}},
      {"elu(x[6])", {x}, {kInf, -1, kNan, 0, 1, e}},
      {"celu(x[6], alpha=2)", {x}, {kInf, -2, kNan, 0, 1, 2 * std::expm1(-0.5F)}},
      {"selu(x[6])", {x}, {kInf, -scale * alpha, kNan, 0, scale, scale * alpha * e}},
      {"clamp(x[6], low=-0.5)", {x}, {kInf, -0.5, kNan, 0, 1, -0.5}},
      {"clamp(x[6], low=3, high=2)", {x}, {2, 2, kNan, 2, 2, 2}},
      {"hardtanh(2*x[6])", {x}, {1, -1, kNan, 0, 1, -1}},
      {"relu6(9*x[6])", {x}, {6, 0, kNan, 0, 6, 0}},
      {"hardsigmoid(x[6])", {x}, {1, 0, kNan, 0.5, 4.0F / 6, 2.0F / 6}},
      {"hardswish(x[6])", {x}, {kInf, kNan, kNan, 0, 4.0F / 6, -2.0F / 6}},
      {"softsign(x[6])", {x}, {kNan, kNan, kNan, 0, 0.5, -0.5}},
      {"logsigmoid(x[6])", {x}, {0, -kInf, kNan, -std::log(2.0F), -0.31326169F, -1.3132617F}},
      {"threshold(x[6], threshold=0, value=7)", {x}, {kInf, 7, kNan, 7, 1, 7}},
      {"glu(x[6])", {x}, {kInf, -kInf, kNan}},
      {"swiglu(x[3], y[3])", {{0, 1, kNan}, {5, 2, 0}}, {0, 1.4621172F, kNan}},
  };
  for (const Special& s : rows) expect_values(s);
  const Numbers zero = value("clamp(x[2], low=-1, high=1)", {{-0.0F, 0.0F}});
  EXPECT_TRUE(std::signbit(zero[0]) && !std::signbit(zero[1]));
  EXPECT_EQ(test::run<std::uint8_t>(parse("relu6(x[3]:u8)").kernel()->src()[0],
                                    {test::buffer<std::uint8_t>({0, 6, 255})}),
            (std::vector<std::uint8_t>{0, 6, 6}));
}

// A shifted 1 transforms to powers of a root of unity: multiples of a quarter turn are exact.
TEST(Transforms, HaveExactQuartersAndRoundedCoefficients) {
  for (const std::size_t n : {1U, 4U, 6U, 8U, 12U, 30U, 64U})
    for (const bool inverse : {false, true}) {
      Numbers x(2 * n * n);  // row r: a 1 at r
      for (std::size_t r = 0; r < n; ++r) x[2 * (r * n + r)] = static_cast<float>(inverse ? n : 1);
      const Numbers y = value(fmt::format("{}(x[{},{},2])", inverse ? "idft" : "dft", n, n), {x});
      for (std::size_t r = 0; r < n; ++r)
        for (std::size_t k = 0; k < n; ++k) {
          const std::size_t turn = r * k % n;
          const float *at = &y[2 * (r * n + k)], sign = inverse ? 1 : -1;
          if (4 * turn % n == 0) {
            constexpr float kCos[] = {1, 0, -1, 0}, kSin[] = {0, 1, 0, -1};
            EXPECT_EQ(at[0], kCos[4 * turn / n]) << n;
            EXPECT_EQ(at[1], sign * kSin[4 * turn / n]) << n;
            continue;
          }
          const long double angle = 2 * std::numbers::pi_v<long double> *
                                    static_cast<long double>(turn) / static_cast<long double>(n);
          if (8 * turn % n != 0 || inverse) {
            EXPECT_NEAR(at[0], static_cast<float>(std::cos(angle)), 1e-7) << n;
            EXPECT_NEAR(at[1], sign * static_cast<float>(std::sin(angle)), 1e-7) << n;
          } else {
            EXPECT_EQ(at[0], static_cast<float>(std::cos(angle))) << n;
            EXPECT_EQ(at[1], -static_cast<float>(std::sin(angle))) << n;
          }
        }
    }
}

TEST(Layers, KeepNarrowTypes) {
  for (const char* type : {"f16", "bf16", "f8e4m3", "f64"}) {
    const std::string cell = "(x[2,3]:T, h[2,2]:T, {0}w[{1},3]:T, u[{1},2]:T)";
    for (const std::string& text :
         {"rnn_cell" + fmt::format(fmt::runtime(cell), "", 2),
          "lstm_cell" + fmt::format(fmt::runtime(cell), "c[2,2]:T, ", 8),
          "gru_cell" + fmt::format(fmt::runtime(cell), "", 6),
          std::string("rope(x[3,4]:T, c[3,2]:T, s[3,2]:T)"), std::string("dft(x[4,2]:T)"),
          std::string("complex_matmul(x[2,3,2]:T, y[3,2,2]:T)"),
          std::string("cross_entropy(x[2,3]:T, t[2]:i32, w[3]:T, reduction=mean)"),
          std::string("mse_loss(x[3]:T, y[3]:T, reduction=mean)"), std::string("mish(x[3]:T)"),
          std::string("swiglu(x[4]:T)"), std::string("dropout(x[3]:T, k[3]:T)")}) {
      std::string typed = text;
      for (std::size_t at; (at = typed.find(":T")) != std::string::npos;)
        typed.replace(at + 1, 1, type);
      EXPECT_EQ(parse(typed).kernel()->dtype(), parse_dtype(type)) << typed;
    }
  }
}

TEST(Layers, RefuseWhatDoesNotFit) {
  const char* const rows[][2] = {
      {"attention(q[2,3], k[4,3], v[4,3], m[2,5])", "the mask does not fit the scores"},
      {"attention(q[2,3], k[4,3], v[4,3], m[3,2,4])", "the mask does not fit the scores"},
      {"attention(q[2,3], k[4,3], v[4,3], m[2,4]:i32)", "a mask is bool"},
      {"attention(q[2,3], k[4,3], v[4,3], dropout=m[2,4]:bool)", "dropout"},
      {"attention(q[2,3], k[4,3], v[4,3], empty=one)", "empty is one of nan, zero"},
      {"attention(q[6,2,3], k[4,4,3], v[4,4,3])", "do not broadcast"},
      {"cross_entropy(x[2,3], t[3]:i32)", "(n, classes, ...)"},
      {"cross_entropy(x[2,3,4], t[2]:i32)", "(n, classes, ...)"},
      {"cross_entropy(x[], t[]:i32)", "cross_entropy"},
      {"cross_entropy(x[2,3], t[2]:i32, w[2])", "a number for each class"},
      {"cross_entropy(x[2,3], t[2]:i32, label_smoothing=1.5)", "[0, 1]"},
      {"cross_entropy(x[2,3], t[2]:i32, label_smoothing=x)", "a number"},
      {"cross_entropy(x[2,3], t[2]:i32, reduction=avg)", "one of none, mean, sum"},
      {"mse_loss(x[3]:i32, t[3])", "takes floats"},
      {"kl_div(x[], t[], reduction=batchmean)", "batchmean"},
      {"dropout(x[3], k[3], p=2)", "[0, 1]"},
      {"dropout(x[3], k[3]:i32)", "takes floats"},
      {"elu(x[3]:i32)", "takes floats"},
      {"prelu(x[2,3], w[2])", "channels"},
      {"glu(x[3])", "no halves"},
      {"rope(x[3,5], c[3,2], s[3,2])", "must be even"},
      {"rope(x[3,4], c[3,3], s[3,2])", "must be 2 or 4"},
      {"rnn_cell(x[2,3], h[2,4], w[4,4], u[4,4])", "w_ih"},
      {"lstm_cell(x[2,3], h[2,4], c[2,3], w[16,3], u[16,4])", "must agree"},
      {"gru_cell(x[2,3], h[2,4], w[12,3], u[12,4], b[4])", "b_ih"},
      {"complex_mul(x[2,3], y[2,2])", "size 2"},
      {"complex_matmul(x[2,3,2], y[2,3,2])", "sizes 3 and 2 differ"},
      {"dft(x[0,2])", "expected 1 to"},
      {"dft(x[2000,2])", "expected 1 to"},
      {"dft(x[4,2]:i32)", "takes floats"},
  };
  for (const auto& [text, part] : rows) try {
      parse(text).kernel();
      ADD_FAILURE() << text;
    } catch (const Error& e) {
      EXPECT_NE(std::string(e.what()).find(part), std::string::npos) << text << ": " << e.what();
    }
}

}  // namespace
}  // namespace touchstone::define
