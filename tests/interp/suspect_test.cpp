#include "touchstone/interp/oracle/suspect.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <numeric>

#include <gmock/gmock.h>

#include "../support/traced_draws.h"
#include "kernels.h"
#include "touchstone/interp/oracle/verdict.h"

namespace touchstone {
namespace {

using test::buffer;

// x [rows, terms], y [columns, terms], and their product by float loops.
struct Product {
  std::int64_t rows = 32, columns = 32, terms = 0;
  std::vector<float> x, y;

  Product(std::int64_t terms_of_one, const std::function<float(test::Draws&)>& draw)
      : terms(terms_of_one) {
    test::TracedDraws random(3);
    for (std::int64_t i = 0; i < rows * terms; ++i) x.push_back(draw(random));
    for (std::int64_t i = 0; i < columns * terms; ++i) y.push_back(draw(random));
  }
  std::vector<float> plain(const std::vector<float>& a, const std::vector<float>& b,
                           std::int64_t first, std::int64_t last) const {
    std::vector<float> out;
    for (std::int64_t r = 0; r < rows; ++r)
      for (std::int64_t c = 0; c < columns; ++c) {
        float sum = 0;
        for (std::int64_t k = first; k < last; ++k)
          sum += a[static_cast<std::size_t>(r * terms + k)] *
                 b[static_cast<std::size_t>(c * terms + k)];
        out.push_back(sum);
      }
    return out;
  }
  std::vector<float> plain() const { return plain(x, y, 0, terms); }

  LazyOpPtr kernel() const {
    const auto load = [&](int idx, std::int64_t r, std::int64_t c) {
      return LazyOp::load(idx, DType::Float32,
                          ShapeTracker::contiguous({r, c, terms}).expand({rows, columns, terms}));
    };
    return test::store(LazyOp::reduce(
        Op::ReduceSum, LazyOp::binary(Op::Mul, load(1, rows, 1), load(2, 1, columns)), {2}));
  }
  Verdict judged(const std::vector<float>& answer, const Profile& profile = {}) const {
    const std::vector<BufferPtr> inputs{nullptr, buffer(x), buffer(y)};
    return judge(kernel(), test::raw(inputs), *buffer(answer), profile);
  }
};

// The explanation of an answer; a fault may also push an element or two out of bounds.
std::string explanation(const Product& p, const std::vector<float>& answer,
                        const Profile& profile = {}) {
  const Outcome outcome = p.judged(answer, profile).outcome;
  EXPECT_TRUE(outcome != Outcome::Unusable);
  const std::vector<BufferPtr> inputs{nullptr, buffer(p.x), buffer(p.y)};
  const ErrorEvidence e = error_evidence(p.kernel(), test::raw(inputs), *buffer(answer), profile);
  EXPECT_TRUE(outcome == Outcome::Fail ||
              p.judged(answer, profile).suspect() == e.suspicion.has_value());
  return e.suspicion ? e.suspicion->explanation : e.str();
}

float normal(test::Draws& random) { return random.normal<float>(); }
float positive(test::Draws& random) { return random.uniform(0.0F, 1.0F); }

// The significand without its `drop` low bits, rounded to nearest or truncated.
float shortened(float x, int drop, bool rounds) {
  const float unit = std::ldexp(1.0F, std::ilogb(x) - 23 + drop);
  return (rounds ? std::nearbyint(x / unit) : std::trunc(x / unit)) * unit;
}
std::vector<float> each(std::vector<float> v, const std::function<float(float)>& f) {
  for (float& x : v) x = f(x);
  return v;
}

TEST(Suspect, AProductOfFloatsAsItComesIsNotSuspect) {
  for (const auto& draw : {normal, positive}) {
    const Product p(1024, draw);
    const Verdict v = p.judged(p.plain());
    EXPECT_FALSE(v.suspect()) << v.str();
    ASSERT_TRUE(v.evidence && v.evidence->lambda);
    EXPECT_EQ(v.evidence->none, "");
    EXPECT_GE(v.evidence->elements, 100);
    EXPECT_GE(v.evidence->tests, 8);
    EXPECT_LT(*v.evidence->lambda, 1) << v.evidence->str();
  }
}

TEST(Suspect, EachFaultIsNamedThatTheBoundsOfALongSumHide) {
  const Product p(4096, normal);
  const auto of_operands = [&](int drop, bool rounds) {
    const auto cut = [&](float x) { return shortened(x, drop, rounds); };
    return p.plain(each(p.x, cut), each(p.y, cut), 0, p.terms);
  };
  EXPECT_EQ(explanation(p, of_operands(16, true)), "operands rounded to bfloat16");
  EXPECT_EQ(explanation(p, of_operands(13, true)), "operands rounded to TF32");
  EXPECT_EQ(explanation(p, of_operands(13, false)), "operands truncated to TF32");
  const std::vector<float> right = p.plain();
  const auto of_result = [&](const std::function<float(float)>& f) {
    return explanation(p, each(right, f));
  };
  EXPECT_EQ(of_result([](float x) { return shortened(x, 16, true); }), "bfloat16 result");
  EXPECT_EQ(of_result([](float x) { return shortened(x, 13, true); }), "float16 result");
  EXPECT_EQ(of_result([](float x) { return x + 0.05F; }).substr(0, 14), "shifted by 0.0");
  EXPECT_EQ(of_result([](float x) { return x * 1.0005F; }), "scaled by 1.0005");
  EXPECT_EQ(p.judged(each(right, [](float x) { return x + 0.05F; })).word(), "SUSPECT");
}

// Attention sums products exp2(x) * y; so do these kernels.
TEST(Suspect, NarrowStagesInsideAKernelAreNamed) {
  const Product p(512, normal);
  const auto load = [&](int idx, std::int64_t r, std::int64_t c) {
    return LazyOp::load(idx, DType::Float32,
                        ShapeTracker::contiguous({r, c, p.terms}).expand({32, 32, p.terms}));
  };
  const LazyOpPtr weights = LazyOp::unary(Op::Exp2, load(1, 32, 1));
  const LazyOpPtr kernel = test::store(
      LazyOp::reduce(Op::ReduceSum, LazyOp::binary(Op::Mul, weights, load(2, 1, 32)), {2}));
  const std::vector<BufferPtr> inputs{nullptr, buffer(p.x), buffer(p.y)};
  const auto found = [&](const std::vector<float>& x, const std::vector<float>& y,
                         float (*weight)(float), const Profile& profile = {}) {
    const std::vector<float> e = each(x, [&](float v) { return weight(std::exp2(v)); });
    const ErrorEvidence evidence =
        error_evidence(kernel, test::raw(inputs), *buffer(p.plain(e, y, 0, p.terms)), profile);
    return evidence.suspicion ? evidence.suspicion->explanation : evidence.none;
  };
  const auto same = [](float v) { return v; };
  EXPECT_EQ(found(p.x, p.y, same), "");
  EXPECT_THAT(found(p.x, p.y, [](float v) { return shortened(v, 16, true); }),
              testing::AnyOf("exponentials rounded to bfloat16",
                             "computed factors of sums rounded to bfloat16"));
  const std::string of_f16 = found(p.x, p.y, [](float v) { return shortened(v, 13, true); });
  EXPECT_THAT(of_f16, testing::HasSubstr("float16"));
  Profile tf32;
  tf32.product_digits = 11;
  EXPECT_EQ(found(
                p.x, p.y, [](float v) { return shortened(v, 13, true); }, tf32),
            "");
  const auto cut = [](float v) { return shortened(v, 13, false); };
  EXPECT_EQ(found(each(p.x, cut), p.y, same), "input 1 truncated to TF32");
}

TEST(Suspect, ATermThatIsMissingIsNamed) {
  // So many terms that the any-order bound is wider than a term.
  Product p(4096, positive);
  for (std::vector<float>* v : {&p.x, &p.y})
    for (std::size_t i = 0; i < v->size(); ++i)
      if (i % 4096 == 0 || i % 4096 == 4095) (*v)[i] /= 2;
  EXPECT_EQ(explanation(p, p.plain(p.x, p.y, 0, 4095)), "the last term of each sum is missing");
  EXPECT_EQ(explanation(p, p.plain(p.x, p.y, 1, 4096)), "the first term of each sum is missing");
}

TEST(Suspect, WhatTheProfileAllowsIsNotSuspect) {
  const Product p(2048, normal);
  const auto cut = [](float x) { return shortened(x, 13, false); };
  const std::vector<float> tf32 = p.plain(each(p.x, cut), each(p.y, cut), 0, p.terms);
  EXPECT_EQ(explanation(p, tf32), "operands truncated to TF32");
  const Verdict allowed = p.judged(tf32, Profile::named("tensorcore"));
  EXPECT_EQ(allowed.wrong, 0) << allowed.str();
  EXPECT_FALSE(allowed.suspect()) << allowed.str();
}

TEST(Suspect, ErrorsTooLargeForChanceHaveNoName) {
  const Product p(4096, normal);
  test::TracedDraws random(2);
  const auto with_noise = [&](float size) {
    return each(p.plain(), [&](float x) { return x + size * normal(random); });
  };
  EXPECT_EQ(explanation(p, with_noise(0.02F)).substr(0, 15), "errors of up to");
  EXPECT_FALSE(p.judged(with_noise(0.001F)).suspect());
}

// The natural order stays near 0, lanes do not.
TEST(Suspect, LanesOfOneSignAreNotSuspect) {
  constexpr std::size_t kRows = 300, kTerms = 4096;
  for (const std::size_t width : {2U, 8U, 64U}) {
    test::TracedDraws random(3);
    std::vector<float> x, answer;
    for (std::size_t r = 0; r < kRows; ++r) {
      std::vector<float> lanes(width);
      for (std::size_t i = 0; i < kTerms; ++i) {
        x.push_back((i % 2 == 0 ? 1.0F : -1.0F) * (1 + 0.01F * positive(random)));
        lanes[i % width] += x.back();
      }
      answer.push_back(std::accumulate(lanes.begin(), lanes.end(), 0.0F));
    }
    const std::vector<BufferPtr> inputs{nullptr, buffer(x)};
    const LazyOpPtr load = LazyOp::load(1, DType::Float32, ShapeTracker::contiguous({300, 4096}));
    const ErrorEvidence e = error_evidence(test::store(LazyOp::reduce(Op::ReduceSum, load, {1})),
                                           test::raw(inputs), *buffer(answer), {}, true);
    EXPECT_TRUE(e.none.empty() && !e.suspicion) << e.str();
  }
}

// Every partial sum truncated: biased, but within the bounds.
TEST(Suspect, TruncatingAccumulatorsAreNotSuspect) {
  for (const auto& draw : {normal, positive}) {
    const Product p(1024, draw);
    std::vector<float> answer;
    for (std::int64_t r = 0; r < p.rows; ++r)
      for (std::int64_t c = 0; c < p.columns; ++c) {
        float sum = 0;
        for (std::int64_t k = 0; k < p.terms; ++k) {
          const double next =
              static_cast<double>(p.x[static_cast<std::size_t>(r * p.terms + k)]) *
                  static_cast<double>(p.y[static_cast<std::size_t>(c * p.terms + k)]) +
              static_cast<double>(sum);
          sum = static_cast<float>(next);
          if (std::abs(static_cast<double>(sum)) > std::abs(next)) sum = std::nextafter(sum, 0.0F);
        }
        answer.push_back(sum);
      }
    const Verdict v = p.judged(answer);
    EXPECT_EQ(v.wrong, 0) << v.str();
    EXPECT_FALSE(v.suspect()) << v.str();
  }
}

TEST(Suspect, SaysWhyThereWasNothingToTest) {
  const std::vector<float> a(100, 0.3F);
  std::vector<BufferPtr> inputs{nullptr, buffer(a)};
  const LazyOpPtr x = LazyOp::load(1, DType::Float32, ShapeTracker::contiguous({100}));
  const ErrorEvidence map =
      error_evidence(test::store(LazyOp::unary(Op::Exp2, x)), test::raw(inputs), *buffer(a), {});
  EXPECT_NE(map.none.find("no sum"), std::string::npos) << map.none;
  const LazyOpPtr rows = LazyOp::load(1, DType::Float32, ShapeTracker::contiguous({50, 2}));
  const ErrorEvidence few =
      error_evidence(test::store(LazyOp::reduce(Op::ReduceSum, rows, {1})), test::raw(inputs),
                     *buffer(std::vector<float>(50, 0.6F)), {});
  EXPECT_NE(few.none.find("distinct elements"), std::string::npos) << few.none;
  EXPECT_FALSE(few.suspicion);
}

// Copies of one row are one observation, however many there are.
TEST(Suspect, CopiesOfARowSayAThingOnce) {
  test::TracedDraws random(1);
  std::vector<float> row, x;
  for (int i = 0; i < 300; ++i) row.push_back(normal(random));
  float sum = 0;
  for (const float v : row) sum += shortened(v, 16, true);
  for (int r = 0; r < 200; ++r)
    for (const float v : row) x.push_back(std::ldexp(v, r % 7));
  std::vector<float> answer;
  for (int r = 0; r < 200; ++r) answer.push_back(std::ldexp(sum, r % 7));
  const std::vector<BufferPtr> inputs{nullptr, buffer(x)};
  const LazyOpPtr load = LazyOp::load(1, DType::Float32, ShapeTracker::contiguous({200, 300}));
  const ErrorEvidence e = error_evidence(test::store(LazyOp::reduce(Op::ReduceSum, load, {1})),
                                         test::raw(inputs), *buffer(answer), {}, true);
  EXPECT_FALSE(e.suspicion) << e.str();
}

}  // namespace
}  // namespace touchstone
