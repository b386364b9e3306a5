// Functions of layers and reductions at their limits: value and gradient beside those of the limit
// form, and narrow floats beside the same function of float64.
#include <cmath>
#include <functional>
#include <limits>

#include "../support/error_of.h"
#include "tensor_check.h"
#include "touchstone/tensor/functional.h"
#include "touchstone/tensor/tensor_jit.h"

namespace touchstone {
namespace {

using Numbers = std::vector<double>;
using F = std::function<Tensor(const Tensor&)>;

constexpr double kInf = std::numeric_limits<double>::infinity();

class Limits : public OnDevice {
 protected:
  Tensor of(const Numbers& values, DType dtype = DType::Float32) const {
    return Tensor::from(values, {values.size()}).cast(dtype).to(device());
  }
};
TOUCHSTONE_ON_DEVICES(Limits);

struct Row {
  const char* what;
  F f;
  Numbers x, value, gradient;  // of the sum
};

void expect_near(const Numbers& got, const Numbers& wanted, const std::string& what) {
  ASSERT_EQ(got.size(), wanted.size()) << what;
  for (std::size_t i = 0; i < got.size(); ++i)
    EXPECT_TRUE(got[i] == wanted[i] ||
                std::fabs(got[i] - wanted[i]) <= 2e-6 * std::max(1e-9, std::fabs(wanted[i])))
        << what << ", element " << i << ": " << got[i] << ", not " << wanted[i];
}

TEST_P(Limits, ValuesAndGradientsAreThoseOfTheLimitForm) {
  const auto like = [this](const Tensor& x, const Numbers& values) {
    return of(values, x.dtype());
  };
  const auto bce = [&](const Numbers& wanted, Reduction reduction = Reduction::None) {
    return [=](const Tensor& p) { return binary_cross_entropy(p, like(p, wanted), reduction); };
  };
  const auto logits = [&](const Numbers& wanted) {
    return [=](const Tensor& x) {
      return binary_cross_entropy_with_logits(x, like(x, wanted), Reduction::None);
    };
  };
  const auto none = Reduction::None;
  const Row rows[] = {
      {"bce at 0 and 1", bce({0, 1, 1, 0}), {0, 1, 0, 1}, {0, 0, 100, 100}, {1, -1, 0, 0}},
      {"hypot at 0",
       [&](const Tensor& x) {
         return hypot(x, like(x, {0, 0, 4}));
       },
       {0, -2, 3},
       {0, 2, 5},
       {0, -1, 0.6}},
      {"atan2 at 0",
       [&](const Tensor& y) {
         return atan2(y, like(y, {0, 1}));
       },
       {0, 0},
       {0, 0},
       {0, 1}},
      {"bce of a sigmoid",
       [&](const Tensor& x) {
         return bce({1, 0, 1})(x.sigmoid());
       },
       {200, -200, 0},
       {0, 0, std::log(2)},
       {0, 0, -0.5}},
      {"bce of logits",
       logits({1, 0, 1, 0, 0.5, 1}),
       {200, -200, -200, 200, 0, 0},
       {0, 0, 200, 200, std::log(2), std::log(2)},
       {0, 0, -1, 1, 0, -0.5}},
      {"bce of logits, precise",
       logits({1, 0}),
       {30, -30},
       {9.357622968839737e-14, 9.357622968839737e-14},
       {-9.357622968839737e-14, 9.357622968839737e-14}},
      {"bce of infinite logits",
       logits({1, 0, 0, 1}),
       {kInf, -kInf, kInf, -kInf},
       {0, 0, kInf, kInf},
       {0, 0, 1, -1}},
      {"std of equal elements", [](const Tensor& x) { return x.std(); }, {3, 3, 3}, {0}, {0, 0, 0}},
      {"std of elements far from 0",
       [](const Tensor& x) { return x.std(); },
       {1e6, 1e6, 1e6},
       {0},
       {0, 0, 0}},
      {"var of equal elements", [](const Tensor& x) { return x.var(); }, {3, 3, 3}, {0}, {0, 0, 0}},
      {"logsumexp of -inf",
       [](const Tensor& x) { return x.logsumexp({0}); },
       {-kInf, -kInf},
       {-kInf},
       {0, 0}},
      {"logsumexp beside -inf",
       [](const Tensor& x) { return x.logsumexp({0}); },
       {-kInf, 2},
       {2},
       {0, 1}},
      {"logsumexp of large",
       [](const Tensor& x) { return x.logsumexp({0}); },
       {3e38, 0},
       {3e38},
       {1, 0}},
      {"softmax beside -inf",
       [](const Tensor& x) { return softmax(x); },
       {-kInf, 2},
       {0, 1},
       {0, 0}},
      {"softmax of large",
       [](const Tensor& x) { return softmax(x); },
       {3e38, -3e38},
       {1, 0},
       {0, 0}},
      {"log_softmax of large",
       [](const Tensor& x) { return log_softmax(x); },
       {1e38, 1e38},
       {-std::log(2), -std::log(2)},
       {0, 0}},
      {"layer_norm of equal elements",
       [](const Tensor& x) { return layer_norm(x, 1); },
       {5, 5, 5},
       {0, 0, 0},
       {0, 0, 0}},
      {"layernorm of zeros", [](const Tensor& x) { return layernorm(x); }, {0, 0}, {0, 0}, {0, 0}},
      {"rms_norm of zeros",
       [](const Tensor& x) { return rms_norm(x); },
       {0, 0},
       {0, 0},
       {1e3, 1e3}},
      {"instance_norm of one",
       [](const Tensor& x) {
         return instance_norm(x.reshape({1, 2, 1})).flatten();
       },
       {7, -7},
       {0, 0},
       {0, 0}},
      {"l1_loss at 0",
       [&](const Tensor& x) {
         return l1_loss(x, like(x, {1, 1}), none);
       },
       {1, kInf},
       {0, kInf},
       {0, 1}},
      {"huber_loss",
       [&](const Tensor& x) {
         return huber_loss(x, like(x, {0, 0, 0}), 1, none);
       },
       {kInf, -3e38, 0},
       {kInf, 3e38, 0},
       {1, -1, 0}},
      {"mse_loss at 0",
       [&](const Tensor& x) {
         return mse_loss(x, like(x, {1, 1}), none);
       },
       {1, 1},
       {0, 0},
       {0, 0}},
      {"cross_entropy of -inf",
       [this](const Tensor& x) {
         return cross_entropy(x.reshape({1, 2}), Tensor::from<int>({1}, {1}).to(device()));
       },
       {-kInf, 1},
       {0},
       {0, 0}},
      {"attention to one key",
       [&](const Tensor& x) {
         return scaled_dot_product_attention(x.reshape({1, 2}), x.reshape({1, 2}),
                                             x.reshape({1, 2}),
                                             {.mask = like(x, {0}).reshape({1, 1})})
             .flatten();
       },
       {1, 2},
       {1, 2},
       {1, 1}},
  };
  for (const Row& row : rows)
    for (const DType dtype : {DType::Float32, DType::Float64}) {
      const std::string what = fmt::format("{} in {}", row.what, name(dtype));
      Tensor x = of(row.x, dtype);
      x.set_requires_grad();
      const Tensor y = row.f(x);
      expect_near(y.reshape({-1}).double_().to("CPU").read<double>(), row.value, what);
      y.sum().backward();
      expect_near(x.grad()->double_().to("CPU").read<double>(), row.gradient, what + ", gradient");
    }
}

// Logistic regression of separable points: the loss goes to 0 and the weights stay numbers.
TEST_P(Limits, LogisticRegressionSeparates) {
  Tensor w = of({30, 1});
  w.set_requires_grad();
  const Tensor x = Tensor::from({{1.0F, 2.0F}, {-1.0F, -3.0F}}).to(device()), y = of({1, 0});
  for (int i = 0; i < 3; ++i) {
    w.zero_grad();
    const Tensor loss = binary_cross_entropy(x.matmul(w).sigmoid(), y);
    loss.backward();
    EXPECT_LT(loss.item<float>(), 1e-6F);
    const NoGrad scope;
    w -= *w.grad();
  }
  EXPECT_TRUE(w.isfinite().all().item<bool>());
}

TEST_P(Limits, NarrowFloatsAreRoundedOnceAtTheEnd) {
  const std::pair<const char*, F> functions[] = {
      {"mean", [](const Tensor& x) { return x.mean(); }},
      {"std", [](const Tensor& x) { return x.std(); }},
      {"logsumexp", [](const Tensor& x) { return x.logsumexp({0}); }},
      {"cumsum", [](const Tensor& x) { return (x / 16).cumsum(0); }},
      {"softmax", [](const Tensor& x) { return softmax(x / 256); }},
      {"log_softmax", [](const Tensor& x) { return log_softmax(x); }},
      {"layernorm", [](const Tensor& x) { return layernorm(x); }},
      {"layer_norm",
       [](const Tensor& x) {
         return layer_norm(x, 1, {x, x});
       }},
      {"rms_norm", [](const Tensor& x) { return rms_norm(x); }},
      {"group_norm",
       [](const Tensor& x) {
         return group_norm(x.reshape({1, 2, 4}), 2);
       }},
      {"attention",
       [](const Tensor& x) {
         const Tensor rows = x.reshape({2, 4});
         return scaled_dot_product_attention(rows, rows, rows);
       }},
  };
  for (const auto& [what, f] : functions)
    for (const DType dtype : {DType::Float16, DType::BFloat16}) {
      const Tensor x = of({0, 200, 400, 600, 800, 1000, 1200, 1400}, dtype);
      const Tensor got = f(x), wanted = f(x.double_());
      const Tensor once = wanted.double_().cast(got.dtype()).double_();
      const Numbers a = got.double_().reshape({-1}).to("CPU").read<double>(),
                    b = once.reshape({-1}).to("CPU").read<double>();
      const double unit = dtype == DType::Float16 ? 0x1p-10 : 0x1p-7;
      for (std::size_t i = 0; i < a.size(); ++i)
        EXPECT_NEAR(a[i], b[i], unit * std::max(std::fabs(b[i]), 1e-3))
            << what << " of " << name(dtype) << ", element " << i;
    }
  const Tensor many = Tensor::ones({70000}, {DType::Float16, device()});
  EXPECT_EQ(many.mean().float_().item<float>(), 1);
  EXPECT_NEAR(softmax(many).float_().max().item<float>(), 1.0 / 70000, 1e-7);
  EXPECT_EQ(of({0, 1000}, DType::Float16).std().float_().item<float>(), 707);
}

TEST_P(Limits, LabelsOutOfRangeNeverMakeAStep) {
  Tensor w = Tensor::from({{1.0F, 2.0F}, {3.0F, 4.0F}}).to(device());
  w.set_requires_grad();
  const Tensor labels = Tensor::from<int>({0, 4}, {2}).to(device()) + 1;  // computed
  EXPECT_THROW(cross_entropy(w, labels), ShapeError);
  TensorJit step([&](const Tensor& at) {
    w.zero_grad();
    const Tensor loss = cross_entropy(w, at + 0);
    loss.backward();
    return loss;
  });
  const Tensor good = Tensor::from<int>({0, 1}, {2}).to(device());
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(std::isfinite(step(good).item<float>()));
  EXPECT_TRUE(std::isnan(step(labels).item<float>()));
  EXPECT_TRUE(w.grad()->isnan().any().item<bool>());
  const CrossEntropyArgs ignores{.ignore_index = -1};
  w.zero_grad();
  cross_entropy(w, Tensor::from<int>({0, -1}, {2}).to(device()), ignores).backward();
  EXPECT_TRUE(w.grad()->isfinite().all().item<bool>());
}

TEST_P(Limits, BitsAndRemaindersAreThoseOfPython) {
  const auto whole = [this](const std::vector<std::int64_t>& v, DType dtype) {
    return Tensor::from(v, {v.size()}).cast(dtype).to(device());
  };
  const auto read = [](const Tensor& t) {
    return t.cast(DType::Int64).to("CPU").read<std::int64_t>();
  };
  const std::vector<std::int64_t> a = {-7, 7, -7, 7, -6, 6, 0, 127, -128},
                                  b = {2, 2, -2, -2, 3, -3, 5, -128, 127};
  for (const DType dtype : {DType::Int8, DType::Int32, DType::Int64}) {
    const Tensor x = whole(a, dtype), y = whole(b, dtype);
    const auto q = read(floor_div(x, y)), r = read(remainder(x, y)), both = read(x & y),
               either = read(x | y);
    for (std::size_t i = 0; i < a.size(); ++i) {
      const auto floor = static_cast<std::int64_t>(
          std::floor(static_cast<double>(a[i]) / static_cast<double>(b[i])));
      EXPECT_EQ(q[i], floor);
      EXPECT_EQ(r[i], a[i] - floor * b[i]);
      EXPECT_EQ(both[i], a[i] & b[i]) << a[i] << " & " << b[i] << " in " << name(dtype);
      EXPECT_EQ(either[i], a[i] | b[i]);
    }
  }
  constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
  const std::vector<std::int64_t> wide = {kMost, -1, 1LL << 62, -kMost - 1, 0x1234567890abcdef};
  const auto masked = read(whole(wide, DType::Int64) & Number(std::int64_t{0x0f0f0f0f0f0f0f0f}));
  for (std::size_t i = 0; i < wide.size(); ++i) EXPECT_EQ(masked[i], wide[i] & 0x0f0f0f0f0f0f0f0f);
  Tensor x = of({5.5, -5.5, 1});
  x.set_requires_grad();
  const Tensor r = remainder(x, 2.0);
  expect_near(r.double_().to("CPU").read<double>(), {1.5, 0.5, 1}, "remainder");
  r.sum().backward();
  expect_near(x.grad()->double_().to("CPU").read<double>(), {1, 1, 1}, "its gradient");
  EXPECT_EQ(floor_div(of({1}, DType::Float64), 0.1).to("CPU").read<double>(), Numbers{9});
}

}  // namespace
}  // namespace touchstone
