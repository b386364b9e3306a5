// The cause of a FAIL: results with one known fault or property each, computed by loops.
#include "touchstone/judging/cause.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include <gmock/gmock.h>

#include "trial.h"

namespace touchstone {
namespace {

using test::drawn;
using test::Floats;
using test::Trial;
using testing::HasSubstr;

float narrow(float x) { return convert<float>(convert<bfloat16>(x)); }
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
  EXPECT_EQ(product_with(narrow, same).under(true).cause,
            "legal if the factors of products are rounded to bfloat16");
  EXPECT_THAT(product_with(same, narrow).under(true).cause,
              HasSubstr("legal if the accumulator is "));
  EXPECT_EQ(product_with(same, same, 0, 23).under(true).cause,
            "explained if the last term of each sum is missing");
  EXPECT_EQ(product_with(same, same, 1).under(true).cause,
            "explained if the first term of each sum is missing");
  EXPECT_EQ(product_with(same, [](float x) { return x * 1.02F; }).under(true).cause,
            "no known declaration or fault explains all of it");
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
              HasSubstr("first at (1): tanh(x[3]) gave 0x3f800000 (1.0) for x = 1.0, legal is"));
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

}  // namespace
}  // namespace touchstone
