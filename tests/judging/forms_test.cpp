// Composites as libraries compute them: each written as a loop of floats, without the project's
// arithmetic.
#include "touchstone/define/forms.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include <gmock/gmock.h>

#include "touchstone/base/error.h"
#include "touchstone/define/definitions.h"
#include "touchstone/interp/oracle/subkernel.h"
#include "trial.h"

namespace touchstone {
namespace {

using test::Floats;
using testing::HasSubstr;
using testing::StartsWith;

using test::drawn;
using test::Trial;

// Legal; one element moved by a twentieth is not.
void expect_legal(Trial trial) {
  SCOPED_TRACE(trial.text);
  const Verdict verdict = trial.under(true);
  EXPECT_EQ(verdict.word(), "PASS") << verdict.str();
  float& largest = *std::ranges::max_element(
      trial.out, {}, [](float v) { return std::isfinite(v) ? std::abs(v) : 0; });
  largest *= 1.05F;
  EXPECT_EQ(trial.under(true).word(), "FAIL");
}

// The same, with a form only.
void expect_form(const Trial& trial, const std::string& form) {
  EXPECT_EQ(trial.under(false).word(), "FAIL");
  const Verdict verdict = trial.under(true);
  EXPECT_THAT(verdict.form, HasSubstr(form)) << verdict.str();
  EXPECT_THAT(verdict.str(), HasSubstr("; legal as " + verdict.form));
  expect_legal(trial);
}

struct Moments {
  float mean = 0, variance = 0;
};
Moments moments_of(const float* x, std::size_t n) {
  double sum = 0, squares = 0;
  for (std::size_t i = 0; i < n; ++i) sum += static_cast<double>(x[i]);
  const double mean = sum / static_cast<double>(n);
  for (std::size_t i = 0; i < n; ++i)
    squares += (static_cast<double>(x[i]) - mean) * (static_cast<double>(x[i]) - mean);
  return {static_cast<float>(mean), static_cast<float>(squares / static_cast<double>(n))};
}

TEST(Forms, BatchNormWithScaleAndShiftFolded) {
  test::Draws random(1);
  for (int round = 0; round < 5; ++round) {
    const std::size_t n = 16, channels = 8, area = 30;
    Trial t{"batch_norm(x[16,8,30], m[8], v[8], w[8], b[8])",
            {drawn(random, n * channels * area, 1, 3), drawn(random, channels, 1, 3),
             drawn(random, channels, 0), drawn(random, channels, 1), drawn(random, channels, 1)},
            {}};
    for (float& v : t.in[2]) v = random.uniform(0.5F, 2.0F);
    for (std::size_t i = 0; i < n * channels * area; ++i) {
      const std::size_t c = i / area % channels;
      const float r = 1 / std::sqrt(t.in[2][c] + 1e-5F);
      const float scale = t.in[3][c] * r, shift = t.in[4][c] - t.in[1][c] * scale;
      t.out.push_back(t.in[0][i] * scale + shift);
    }
    expect_form(t, "batch_norm: folded");
  }
}

TEST(Forms, LayerAndGroupNormShifted) {
  test::Draws random(2);
  for (const char* const text :
       {"layer_norm(x[24,64], w[64], b[64])", "group_norm(x[12,8,16], groups=2, w=w[8], b=b[8])"}) {
    const bool is_group = text[0] == 'g';
    Trial t{text, {drawn(random, 24 * 64, 1, 20)}, {}};
    const std::size_t per = is_group ? 8 : 64;
    t.in.push_back(drawn(random, per, 1));
    t.in.push_back(drawn(random, per, 1));
    for (std::size_t row = 0; row < 24; ++row) {
      const Moments m = moments_of(&t.in[0][row * 64], 64);
      const float r = 1 / std::sqrt(m.variance + 1e-5F), shift = -m.mean * r;
      for (std::size_t i = 0; i < 64; ++i) {
        const std::size_t c = is_group ? row % 2 * 4 + i / 16 : i;
        const float x = t.in[0][row * 64 + i];
        t.out.push_back(is_group ? x * (r * t.in[1][c]) + (shift * t.in[1][c] + t.in[2][c])
                                 : (x * r + shift) * t.in[1][c] + t.in[2][c]);
      }
    }
    expect_legal(t);
  }
}

TEST(Forms, ScoresDividedByTheRootOfTheirSize) {
  test::Draws random(4);
  Trial t{"attention_scores(q[24,20], k[24,20])", {{}, {}}, {}};
  for (Floats& x : t.in)
    for (int i = 0; i < 24 * 20; ++i) x.push_back(static_cast<float>(random.index(9) - 4));
  for (std::size_t i = 0; i < 24; ++i)
    for (std::size_t j = 0; j < 24; ++j) {
      float sum = 0;
      for (std::size_t k = 0; k < 20; ++k) sum += t.in[0][i * 20 + k] * t.in[1][j * 20 + k];
      t.out.push_back(sum / std::sqrt(20.0F));
    }
  expect_form(t, "attention_scores: divided scores");
}

TEST(Forms, BiasAsTheFirstTerm) {
  test::Draws random(3);
  Trial t{"linear(x[32,16], w[8,16], b[8])",
          {drawn(random, 32 * 16, 1), drawn(random, 8 * 16, 1), drawn(random, 8, 100)},
          {}};
  for (std::size_t i = 0; i < 32; ++i)
    for (std::size_t j = 0; j < 8; ++j) {
      float sum = t.in[2][j];
      for (std::size_t k = 0; k < 16; ++k)
        sum = std::fma(t.in[0][i * 16 + k], t.in[1][j * 16 + k], sum);
      t.out.push_back(sum);
    }
  expect_form(t, "linear: bias first");

  Trial conv{"conv2d(x[2,3,6,5], w[4,3,3,3], b[4], padding=1)",
             {drawn(random, 2 * 3 * 6 * 5, 1), drawn(random, 4 * 3 * 9, 1), drawn(random, 4, 100)},
             {}};
  for (int n = 0; n < 2; ++n)
    for (int o = 0; o < 4; ++o)
      for (int y = 0; y < 6; ++y)
        for (int x = 0; x < 5; ++x) {
          float sum = conv.in[2][static_cast<std::size_t>(o)];
          for (int c = 0; c < 3; ++c)
            for (int i = 0; i < 9; ++i) {
              const int yy = y + i / 3 - 1, xx = x + i % 3 - 1;
              if (yy < 0 || yy >= 6 || xx < 0 || xx >= 5) continue;
              sum += conv.in[0][static_cast<std::size_t>(((n * 3 + c) * 6 + yy) * 5 + xx)] *
                     conv.in[1][static_cast<std::size_t>((o * 3 + c) * 9 + i)];
            }
          conv.out.push_back(sum);
        }
  expect_form(conv, "conv2d: bias first");
}

// As kernels that keep a running maximum compute it: exponents in base 2, scores that are divided
// at the end, weights rounded to the narrow type.
TEST(Forms, AttentionThatRoundsItsWeightsAndDividesLast) {
  test::Draws random(4);
  const std::size_t n = 24, d = 16;
  Trial t{"attention(q[24,16]:bf16, k[24,16]:bf16, v[24,16]:bf16)",
          {drawn(random, n * d, 1), drawn(random, n * d, 1), drawn(random, n * d, 1)},
          {},
          DType::BFloat16};
  const auto narrow = [](float x) { return convert<float>(convert<bfloat16>(x)); };
  for (Floats& values : t.in)
    for (float& v : values) v = narrow(v);
  for (std::size_t i = 0; i < n; ++i) {
    Floats scores(n);
    for (std::size_t j = 0; j < n; ++j)
      for (std::size_t k = 0; k < d; ++k) scores[j] += t.in[0][i * d + k] * t.in[1][j * d + k];
    const float most = *std::ranges::max_element(scores), by = 0.25F * 1.44269504F;
    float sum = 0;
    Floats weights(n);
    for (std::size_t j = 0; j < n; ++j) {
      const float e = std::exp2(scores[j] * by - most * by);
      sum += e;
      weights[j] = narrow(e);
    }
    for (std::size_t k = 0; k < d; ++k) {
      float y = 0;
      for (std::size_t j = 0; j < n; ++j) y += weights[j] * t.in[2][j * d + k];
      t.out.push_back(y / sum);
    }
  }
  expect_form(t, "attention: late");
}

// Each stage stored in float16, with scores of 16 and more: queries scaled first, by a scale in
// float32 as PyTorch, or rounded as NumPy and JAX; or both operands by its root.
TEST(Forms, AttentionThatStoresEachStageInFloat16) {
  const auto narrow = [](float x) { return convert<float>(convert<float16>(x)); };
  const std::size_t n = 12, d = 20;
  for (std::uint64_t seed = 1; seed <= 4; ++seed)
    for (const int way : {0, 1, 2}) {
      test::Draws random(seed);
      Trial t{"attention(q[12,20]:f16, k[12,20]:f16, v[12,20]:f16)",
              {drawn(random, n * d, 4), drawn(random, n * d, 4), drawn(random, n * d, 1)},
              {},
              DType::Float16};
      for (Floats& values : t.in)
        for (float& v : values) v = narrow(v);
      const float scale = 1 / std::sqrt(20.0F);
      Floats q = t.in[0], k = t.in[1];
      const float of_q = way == 0 ? scale : way == 1 ? narrow(scale) : std::sqrt(scale);
      for (float& x : q) x = narrow(x * of_q);
      if (way == 2)
        for (float& x : k) x = narrow(x * of_q);
      for (std::size_t i = 0; i < n; ++i) {
        Floats scores(n);
        for (std::size_t j = 0; j < n; ++j) {
          for (std::size_t m = 0; m < d; ++m) scores[j] += q[i * d + m] * k[j * d + m];
          scores[j] = narrow(scores[j]);
        }
        const float most = *std::ranges::max_element(scores);
        float sum = 0;
        for (float& s : scores) sum += s = std::exp(s - most);
        for (std::size_t m = 0; m < d; ++m) {
          float y = 0;
          for (std::size_t j = 0; j < n; ++j) y += narrow(scores[j] / sum) * t.in[2][j * d + m];
          t.out.push_back(y);
        }
      }
      const Verdict v = t.under(true);
      EXPECT_NE(v.outcome, Outcome::Fail) << seed << " " << way << " " << v.str();
    }
}

// float32 softmax whose sum, and no other stage, is kept in bfloat16.
TEST(Forms, AStageIsStoredInItsDeclaredType) {
  test::Draws random(41);
  const std::size_t n = 12, rows = 32;
  Trial t{"softmax(x[32,12])", {drawn(random, rows * n, 1)}, {}};
  for (std::size_t row = 0; row < rows; ++row) {
    const float* x = &t.in[0][row * n];
    const float most = *std::max_element(x, x + n);
    float sum = 0;
    for (std::size_t i = 0; i < n; ++i) sum += std::exp(x[i] - most);
    sum = convert<float>(convert<bfloat16>(sum));
    for (std::size_t i = 0; i < n; ++i) t.out.push_back(std::exp(x[i] - most) / sum);
  }
  EXPECT_THAT(t.under(true).cause, HasSubstr("legal if the stage 'sum' is stored as bfloat16"));
  t.stores = {{"sum", DType::BFloat16}};
  expect_legal(t);
  t.stores = {{"sum", DType::Float16}};
  EXPECT_EQ(t.under(true).word(), "FAIL");
  t.stores = {{"summ", DType::Float16}};
  EXPECT_THROW(t.under(true), ParseError);
}

TEST(Forms, LogSoftmaxThatSubtractsOnce) {
  test::Draws random(5);
  Trial t{"log_softmax(x[32,12])", {drawn(random, 32 * 12, 1, 300)}, {}};
  for (std::size_t row = 0; row < 32; ++row) {
    const float* x = &t.in[0][row * 12];
    const float most = *std::max_element(x, x + 12);
    float sum = 0;
    for (std::size_t i = 0; i < 12; ++i) sum += std::exp(x[i] - most);
    const float both = most + std::log(sum);
    for (std::size_t i = 0; i < 12; ++i) t.out.push_back(x[i] - both);
  }
  expect_form(t, "log_softmax: sum first");
}

// Without subtracting the maximum a softmax is right where nothing overflows.
TEST(Forms, SoftmaxWithoutItsMaximumOfSmallNumbersOnly) {
  for (const float shift : {0.0F, 100.0F}) {
    test::Draws random(6);
    Trial t{"log_softmax(x[16,12])", {drawn(random, 16 * 12, 10, shift)}, {}};
    for (std::size_t row = 0; row < 16; ++row) {
      float sum = 0;
      for (std::size_t i = 0; i < 12; ++i) sum += std::exp(t.in[0][row * 12 + i]);
      for (std::size_t i = 0; i < 12; ++i) t.out.push_back(t.in[0][row * 12 + i] - std::log(sum));
    }
    EXPECT_EQ(t.under(true).word(), shift == 0 ? "PASS" : "FAIL");
  }
}

// mean(x^2) - mean(x)^2 loses digits: legal only for who asks for it.
TEST(Forms, TheLessAccurateOnesMustBeNamed) {
  test::Draws random(7);
  Trial t{"var(x[20,50], axis=1)", {drawn(random, 1000, 1, 300)}, {}};
  for (std::size_t row = 0; row < 20; ++row) {
    float sum = 0, squares = 0;
    for (std::size_t i = 0; i < 50; ++i) {
      const float x = t.in[0][row * 50 + i];
      sum += x;
      squares += x * x;
    }
    t.out.push_back(squares / 50 - sum / 50 * (sum / 50));
  }
  EXPECT_EQ(t.under(true).word(), "FAIL");
  EXPECT_NE(t.under(true, {"moments"}).word(), "FAIL");
  EXPECT_EQ(t.under(true, {"reciprocal"}).word(), "FAIL");
  EXPECT_THROW(t.under(true, {"momnets"}), ParseError);
  try {
    define::require_form("momnets");
  } catch (const ParseError& e) {
    EXPECT_THAT(e.what(), StartsWith("there is no form 'momnets'; did you mean 'moments'?"));
  }
}

// A form adds no NaN, no infinity and no value of an empty mean.
TEST(Forms, MakeNoSpecialValuesLegal) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  test::Draws random(8);
  const Floats q = drawn(random, 32, 1);
  EXPECT_EQ((Trial{"attention(q[4,8], k[4,8], v[4,8], scale=-0.5)", {q, q, q}, Floats(32, kNan)})
                .under(true)
                .word(),
            "FAIL");
  EXPECT_EQ((Trial{"mean(x[2,0], axis=1)", {{}}, {0, 0}}).under(true).word(), "FAIL");
  Trial zero_row{"rms_norm(x[2,4]:f16, eps=1e-12)", {{1, 2, 3, 4, 0, 0, 0, 0}}, {}, DType::Float16};
  const float r = 1 / std::sqrt(7.5F);
  zero_row.out = {r, 2 * r, 3 * r, 4 * r, kNan, kNan, kNan, kNan};
  EXPECT_EQ(zero_row.under(true).word(), "FAIL");
}

// A reciprocal with an error of its own leaves infinity infinite: inf - inf is NaN by every form.
TEST(Forms, DoNotExcuseNumbersBesideAnInfinity) {
  const Floats x{1.5F, INFINITY, -1.375F, -1.75F, -0.0F, -1.25F, -0.75F, 0.0F, -1.75F, 0.875F};
  double mean = 0, squares = 0;
  for (std::size_t i = 0; i < 5; ++i) mean += static_cast<double>(x[2 * i]) / 5;
  for (std::size_t i = 0; i < 5; ++i) squares += std::pow(static_cast<double>(x[2 * i]) - mean, 2);
  const auto right = static_cast<float>(std::sqrt(squares / 4));
  for (const float wrong : {0.0F, 42.0F, 1e30F, std::numeric_limits<float>::max(), -1e30F}) {
    Trial t{"std(x[1,5,2], axis=-2, correction=1)", {x}, {right, wrong}};
    EXPECT_EQ(t.under(true).word(), "FAIL") << wrong;
    t.out[1] = NAN;
    EXPECT_EQ(t.under(true).word(), "PASS") << t.under(true).str();
  }
}

TEST(Forms, BinaryCrossEntropyOfLogitsInOtherTerms) {
  test::Draws random(9);
  const std::string text = "binary_cross_entropy_with_logits(x[900], t[900])";
  Trial textbook{text, {drawn(random, 900, 4), Floats(900)}, {}}, parts = textbook;
  for (float& t : textbook.in[1]) t = random.uniform(0.0F, 1.0F);
  parts.in = textbook.in;
  const auto softplus = [](float v) {
    return std::max(v, 0.0F) + std::log1p(std::exp(-std::abs(v)));
  };
  for (std::size_t i = 0; i < 900; ++i) {
    const float x = textbook.in[0][i], t = textbook.in[1][i];
    textbook.out.push_back(std::max(x, 0.0F) - x * t + std::log1p(std::exp(-std::abs(x))));
    parts.out.push_back(t * softplus(-x) + (1 - t) * softplus(x));
  }
  expect_form(textbook, "textbook");
  expect_form(parts, "parts");
}

TEST(Forms, HardswishAsOnnxHasIt) {
  test::Draws random(21);
  Trial onnx{"hardswish(x[4000])", {drawn(random, 4000, 2)}, {}}, scaled = onnx;
  for (const float x : onnx.in[0]) {
    onnx.out.push_back(x * std::max(0.0F, std::min(1.0F, x * (1.0F / 6) + 0.5F)));
    scaled.out.push_back(x * std::min(std::max(x + 3, 0.0F), 6.0F) * (1.0F / 6));
  }
  expect_form(onnx, "gate first");
  expect_legal(scaled);
}

// Zeros of a sorted row may have either sign, and nothing else may stand in their place.
TEST(Forms, SortedZerosAreZeros) {
  Trial t{"sort(x[6])", {{3, -0.0F, 0, 5, -0.0F, -2}}, {-2, 0, -0.0F, 0, 3, 5}};
  for (const char* const text : {"sort(x[6])", "exp(sort(x[6]))", "cast(sort(x[6]), f32)"}) {
    Trial one = t;
    one.text = text;
    if (one.text.starts_with("exp"))
      for (float& v : one.out) v = std::exp(v);
    EXPECT_EQ(one.under(true).word(), "PASS") << text << one.under(true).str();
    one.out[1] = 777;
    EXPECT_EQ(one.under(true).word(), "FAIL") << text;
  }
  Trial tied{"sort(exp(x[3]))", {{1, 1, 0}}, {1, std::exp(1.0F), std::exp(1.0F)}};
  EXPECT_NE(tied.under(true).word(), "FAIL");
  tied.out[1] = -1e30F;
  EXPECT_EQ(tied.under(true).word(), "FAIL");
}

// 0 divided by a number is 0, whatever the error of a quotient.
TEST(Forms, ZeroDividedIsZero) {
  Trial t{"hardsigmoid(x[4])", {{-5, -4, -3, 4}}, {0, 0, -0.0F, 1}};
  EXPECT_EQ(t.under(true).word(), "PASS") << t.under(true).str();
  t.out[0] = 1e-45F;
  EXPECT_EQ(t.under(true).word(), "FAIL");
}

TEST(Forms, ProfilesStoreTheirNames) {
  const Profile p = Profile::from_json(R"({"base": "library", "forms": ["folded", "moments"]})");
  EXPECT_EQ(p.forms, (std::vector<std::string>{"folded", "moments"}));
  EXPECT_EQ(Profile::from_json(p.to_json()).forms, p.forms);
  EXPECT_THROW(Profile::from_json(R"({"forms": [1]})"), ParseError);
  const Profile q = Profile::from_json(R"({"stores": {"P": "bfloat16"}})");
  EXPECT_EQ(q.stores, (std::vector<std::pair<std::string, DType>>{{"weights", DType::BFloat16}}));
  EXPECT_EQ(Profile::from_json(q.to_json()).stores, q.stores);
  EXPECT_THROW(Profile::from_json(R"({"stores": {"P": "int8"}})"), ParseError);
  EXPECT_THROW(Judging().under(ChosenProfile{Profile::from_json(R"({"forms": ["x"]})"), ""}),
               ParseError);
}

// log(2 pi)/2, 1.6733 and 1.0507 are no float32: libraries compute with the numbers, or round them.
TEST(Forms, ConstantsOfADefinitionMayBeExactOrRounded) {
  test::Draws random(21);
  constexpr std::size_t kCount = 4000;
  Trial nll{"gaussian_nll_loss(x[4000], t[4000], v[4000], full=1)",
            {drawn(random, kCount, 1), drawn(random, kCount, 1), drawn(random, kCount, 0.1F, 1)},
            {}};
  Trial selu{"selu(x[4000])", {drawn(random, kCount, 1)}, {}};
  const auto fill = [&](double log, auto one, bool is_exact) {
    nll.out.clear();
    selu.out.clear();
    const double alpha = 1.6732632423543772848170429916717,
                 scale = 1.0507009873554804934193349852946;
    for (std::size_t i = 0; i < kCount; ++i) {
      using R = decltype(one);
      const R x = nll.in[0][i] - nll.in[1][i], v = std::max(nll.in[2][i], 1e-6F);
      nll.out.push_back(static_cast<float>(R(0.5) * (std::log(v) + x * x / v) + R(log)));
      const R s = selu.in[0][i], a = is_exact ? R(alpha) : R(static_cast<float>(alpha));
      selu.out.push_back(static_cast<float>(R(scale) * (s > 0 ? s : a * std::expm1(s))));
    }
  };
  constexpr double kLog = 0.91893853320467274178032973640562;
  const auto is_legal = [](const Trial& t) { return t.under(true).outcome == Outcome::Pass; };
  fill(kLog, 1.0F, false);
  EXPECT_TRUE(is_legal(nll) && is_legal(selu));
  fill(kLog, 1.0, true);
  EXPECT_TRUE(is_legal(nll)) << nll.under(true).str();
  EXPECT_TRUE(is_legal(selu)) << selu.under(true).str();
  EXPECT_NE(nll.under(false).outcome, Outcome::Pass);
  fill(kLog + 1e-6, 1.0, true);
  EXPECT_FALSE(is_legal(nll));
  // A kernel that a device gets has the rounded number.
  for (const LazyOpPtr& n : interp::nodes_of(formula_to_judge(nll.text).ast))
    EXPECT_NE(n->dtype(), DType::Float64);
}

TEST(Forms, EachIsOfADefinitionAndDiffersFromIt) {
  for (const define::CompositeForm& form : define::composite_forms()) {
    std::string_view rest = form.of;
    while (!rest.empty()) {
      const std::size_t end = std::min(rest.find(' '), rest.size());
      EXPECT_NO_THROW(define::definition(rest.substr(0, end))) << form.name;
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
  }
  const auto count = [](std::string_view text) { return define::forms_of(text, {}).size(); };
  EXPECT_EQ(count("exp(x[3])"), 0);
  EXPECT_EQ(count("softmax(x[2,3])"), 4);
  EXPECT_EQ(count("softmax(x[2,3]) + mean(x)"), 14);
  EXPECT_EQ(count("attention(q[3,4], k[3,4], v[3,4])"), 7);
  EXPECT_EQ(count("attention(q[3,4]:f16, k[3,4]:f16, v[3,4]:f16)"), 13);
  EXPECT_LE(count("softmax(x[2,3]) + mean(x) + std(x) + log_softmax(x) + layer_norm(x)"),
            define::kMostForms);
  // Forms that nest more reduces than a kernel may are left out.
  std::string nested = "x[2,3]";
  for (int i = 0; i < 8; ++i) nested = "softmax(" + nested + ")";
  EXPECT_LE(count(nested), 4);
}

}  // namespace
}  // namespace touchstone
