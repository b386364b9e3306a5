#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <vector>

#include "../support/draws.h"
#include "kernels.h"
#include "touchstone/interp/oracle/verdict.h"

// Rearranged arithmetic: terms and factors are drawn as a polynomial, which is written in one
// way as a kernel and computed in others here.

namespace touchstone {
namespace {

using Product = std::vector<int>;         // the factors' inputs
using Polynomial = std::vector<Product>;  // a sum of products
constexpr std::int64_t kCount = 16;

LazyOpPtr in(int i) { return LazyOp::load(i, DType::Float32, ShapeTracker::contiguous({kCount})); }

LazyOpPtr written(const Polynomial& p) {
  LazyOpPtr sum;
  for (const Product& factors : p) {
    LazyOpPtr product;
    for (const int f : factors) product = product ? LazyOp::binary(Op::Mul, product, in(f)) : in(f);
    sum = sum ? LazyOp::binary(Op::Add, sum, product) : product;
  }
  return sum;
}

// Another way: terms and factors in a drawn order, those with a common first factor taken together,
// and partial results joined two by two.
float rearranged(Polynomial p, const std::function<float(int)>& value, test::Draws& draw) {
  const auto folded = [&](std::vector<float> parts, auto join) {
    while (parts.size() > 1) {
      const std::size_t i = draw.below(parts.size());
      const float a = parts[i];
      parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(i));
      const std::size_t j = draw.below(parts.size());
      parts[j] = join(parts[j], a);
    }
    return parts[0];
  };
  std::vector<float> sums;
  while (!p.empty()) {
    const int first = p.back()[draw.below(p.back().size())];
    Polynomial inner, rest;
    for (Product& factors : p) {
      const auto at = std::find(factors.begin(), factors.end(), first);
      if (factors.size() > 1 && at != factors.end() &&
          (&factors == &p.back() || draw.chance(1, 2))) {
        factors.erase(at);
        inner.push_back(factors);
      } else if (&factors == &p.back()) {
        sums.push_back(value(first));
      } else {
        rest.push_back(factors);
      }
    }
    if (!inner.empty()) {
      std::vector<float> products;
      for (const Product& factors : inner) {
        std::vector<float> values;
        for (const int f : factors) values.push_back(value(f));
        products.push_back(folded(values, [](float a, float b) { return a * b; }));
      }
      sums.push_back(value(first) * folded(products, [](float a, float b) { return a + b; }));
    }
    p = rest;
  }
  return folded(sums, [](float a, float b) { return a + b; });
}

struct Drawn {
  Polynomial polynomial;
  std::vector<std::vector<float>> inputs{{}};
  Drawn(test::Draws& draw) {
    const int variables = static_cast<int>(draw.between(2, 5));
    for (int i = 0; i < variables; ++i) {
      std::vector<float>& x = inputs.emplace_back();
      const float scale = std::exp2(static_cast<float>(draw.between(-8, 8)));
      for (std::int64_t k = 0; k < kCount; ++k) x.push_back(scale * draw.normal<float>());
    }
    for (std::int64_t t = draw.between(2, 6); t > 0; --t) {
      Product& factors = polynomial.emplace_back();
      for (std::int64_t f = draw.between(1, 3); f > 0; --f)
        factors.push_back(1 + static_cast<int>(draw.below(static_cast<std::uint64_t>(variables))));
    }
  }
  std::vector<BufferPtr> buffers() const {
    std::vector<BufferPtr> all{nullptr};
    for (std::size_t i = 1; i < inputs.size(); ++i) all.push_back(test::buffer(inputs[i]));
    return all;
  }
};

Profile rearranging() { return Profile::from_json(R"({"reassociates": true})"); }

TEST(Reassociated, EveryRearrangementOfAPolynomialIsLegal) {
  test::TracedDraws draw(1);
  int strict_fails = 0;
  for (int round = 0; round < 300; ++round) {
    const Drawn d(draw);
    const std::vector<BufferPtr> inputs = d.buffers();
    std::vector<float> got;
    for (std::size_t i = 0; i < kCount; ++i)
      got.push_back(rearranged(
          d.polynomial, [&](int v) { return d.inputs[static_cast<std::size_t>(v)][i]; }, draw));
    const LazyOpPtr kernel = test::store(written(d.polynomial));
    const BufferPtr out = test::buffer(got);
    const Verdict v = judge(kernel, test::raw(inputs), *out, rearranging());
    ASSERT_NE(v.outcome, Outcome::Fail) << round << ": " << v.str();
    strict_fails += judge(kernel, test::raw(inputs), *out, Profile()).outcome == Outcome::Fail;
  }
  EXPECT_GT(strict_fails, 30);
}

TEST(Reassociated, AMissingTermAndAWrongConstantFail) {
  const auto x = test::buffer<float>(std::vector<float>(kCount, 3)),
             y = test::buffer<float>(std::vector<float>(kCount, 0.5F));
  const std::vector<BufferPtr> inputs{nullptr, x, y};
  const LazyOpPtr kernel =
      test::store(written({{1, 2}, {1}, {2}, {2, 2}}));  // 1.5 + 3 + 0.5 + 0.25
  const auto judged = [&](float result) {
    const auto out = test::buffer<float>(std::vector<float>(kCount, result));
    return judge(kernel, test::raw(inputs), *out, rearranging()).outcome;
  };
  EXPECT_EQ(judged(5.25F), Outcome::Pass);
  EXPECT_EQ(judged(5.0F), Outcome::Fail);
  EXPECT_EQ(judged(5.2500238F), Outcome::Fail);  // 50 numbers away
}

// (a + b) - a is b exactly where terms cancel; a quotient of products may be a product of
// quotients.
TEST(Reassociated, TermsAndFactorsMayCancel) {
  const auto judged = [](const LazyOpPtr& value, std::vector<float> a, std::vector<float> b,
                         const std::vector<float>& result, const Profile& profile) {
    a.resize(kCount, a[0]);
    b.resize(kCount, b[0]);
    const std::vector<BufferPtr> inputs{nullptr, test::buffer(a), test::buffer(b)};
    std::vector<float> all(kCount, result[0]);
    return judge(test::store(value), test::raw(inputs), *test::buffer(all), profile).outcome;
  };
  const auto sum = LazyOp::binary(Op::Sub, LazyOp::binary(Op::Add, in(1), in(2)), in(1));
  EXPECT_EQ(judged(sum, {1e8F}, {1}, {1}, Profile()), Outcome::Fail);
  EXPECT_NE(judged(sum, {1e8F}, {1}, {1}, rearranging()), Outcome::Fail);
  const auto quotient = LazyOp::binary(Op::Div, LazyOp::binary(Op::Mul, in(1), in(2)), in(1));
  EXPECT_NE(judged(quotient, {0.1F}, {0.7F}, {0.7F}, rearranging()), Outcome::Fail);
  EXPECT_EQ(judged(quotient, {0.1F}, {0.7F}, {0.70001F}, rearranging()), Outcome::Fail);
  // Where a rearranged product overflows, nothing is claimed.
  const auto product = LazyOp::binary(Op::Mul, LazyOp::binary(Op::Mul, in(1), in(2)), in(1));
  EXPECT_EQ(judged(product, {1e30F}, {1e-30F}, {HUGE_VALF}, rearranging()), Outcome::Weak);
  EXPECT_EQ(judged(product, {1e30F}, {1e-30F}, {HUGE_VALF}, Profile()), Outcome::Fail);
}

}  // namespace
}  // namespace touchstone
