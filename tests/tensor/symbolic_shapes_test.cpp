#include <gtest/gtest.h>

#include <cmath>

#include <gmock/gmock.h>

#include "../support/error_of.h"
#include "touchstone/clang/clang_device.h"
#include "touchstone/interp/device/interpreted.h"
#include "touchstone/tensor/functional.h"
#include "touchstone/tensor/indexing.h"
#include "touchstone/tensor/networks.h"
#include "touchstone/tensor/tensor_jit.h"

// Tensors with variable sizes, against the same with numbers.

namespace touchstone {
namespace {

using test::error_of;
using ::testing::HasSubstr;
using Floats = std::vector<float>;

class SymbolicShapes : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    register_interpreted_device();
    register_clang_device();
  }
  static Tensor counting(const Shape& shape, const std::string& device = "CPU") {
    Floats values;
    for (std::int64_t i = 0; i < elements(shape).as_int(); ++i)
      values.push_back(std::sin(static_cast<float>(3 * i + 1)));
    return Tensor::from(values, shape, device);
  }
  static sint variable(const char* name, std::int64_t low, std::int64_t high) {
    return symbolic::variable(name, low, high);
  }

  // Compares a function of a tensor and a size: every value of the size as a number, and as a
  // variable, captured once by a jit.
  using Sized = std::function<Tensor(const Tensor& x, const sint& n)>;
  static void expect_same_bits(const Tensor& x, const Sized& f, std::int64_t low, std::int64_t high,
                               std::int64_t step) {
    const sint n = variable("n", low, high);
    TensorJit jit([&](const Tensor& in) { return f(in, n); });
    const std::size_t kernels = [&] {
      for (int i = 0; i < 2; ++i) jit(x, {{"n", high}});
      return jit.captured();
    }();
    for (std::int64_t value = low; value <= high; value += step) {
      const Tensor fixed = f(x, value), bound = f(x, n).bind({{"n", value}});
      EXPECT_EQ(bound.shape(), fixed.shape()) << value;
      EXPECT_EQ(bound.read<float>(), fixed.read<float>()) << value;
      const Tensor replayed = jit(x, {{"n", value}}).bind({{"n", value}});
      EXPECT_EQ(replayed.shape(), fixed.shape()) << value;
      EXPECT_EQ(replayed.read<float>(), fixed.read<float>()) << value;
    }
    EXPECT_EQ(jit.captured(), kernels);
  }
  static void expect_same_bits(const Sized& f, std::int64_t low, std::int64_t high) {
    expect_same_bits(counting({4, 9}).realize(), f, low, high, 1);
    // Each size compiles a kernel.
    expect_same_bits(counting({4, 9}, "CLANG").realize(), f, low, high, high - low);
  }
};

TEST_F(SymbolicShapes, MovementAndElementwiseWork) {
  const Tensor x = counting({4, 9}).realize();
  expect_same_bits(
      x, [](const Tensor& t, const sint& n) { return t.narrow(1, 0, n) * 2; }, 0, 9, 1);
  expect_same_bits(
      x, [](const Tensor& t, const sint& n) { return t.narrow(1, n, 2).exp2(); }, 0, 7, 1);
  expect_same_bits(
      x, [](const Tensor& t, const sint& n) { return t.narrow(1, 0, n).transpose(); }, 1, 9, 1);
  expect_same_bits(
      x,
      [](const Tensor& t, const sint& n) {
        return t.narrow(1, 0, n).reshape({2, 2, n}) + 1;
      },
      1, 9, 1);
  expect_same_bits(
      x,
      [](const Tensor& t, const sint& n) {
        return t.narrow(1, 0, n).reshape({n, -1});
      },
      1, 9, 1);
  expect_same_bits(
      x,
      [](const Tensor& t, const sint& n) {
        return t.narrow(1, 0, n).reshape({-1, n});
      },
      1, 9, 1);
  expect_same_bits(
      x, [](const Tensor& t, const sint& n) { return t.narrow(1, 0, n).flatten().unsqueeze(0); }, 1,
      9, 1);
  expect_same_bits(
      x,
      [](const Tensor& t, const sint& n) {
        return t.narrow(0, 1, 1).expand({n, 9}).contiguous();
      },
      0, 5, 1);
}

TEST_F(SymbolicShapes, PartsOfVariableSizesAreJoined) {
  expect_same_bits(
      [](const Tensor& x, const sint& n) {
        return Tensor::cat({x.narrow(1, 0, n), x.narrow(1, 3, 2)}, 1);
      },
      0, 9);
  expect_same_bits(
      [](const Tensor& x, const sint& n) {
        return Tensor::cat({x.narrow(1, 0, n), -x, x.narrow(1, 0, n).exp2()}, 1);
      },
      0, 9);
  expect_same_bits(
      [](const Tensor& x, const sint& n) {
        return Tensor::stack({x.narrow(1, 0, n), x.narrow(1, 0, n) * 3}, 0);
      },
      1, 9);
}

TEST_F(SymbolicShapes, VariableAxesAreReduced) {
  expect_same_bits([](const Tensor& x, const sint& n) { return x.narrow(1, 0, n).sum({1}); }, 0, 9);
  expect_same_bits([](const Tensor& x, const sint& n) { return x.narrow(1, 0, n).max({1}); }, 1, 9);
  expect_same_bits([](const Tensor& x, const sint& n) { return x.narrow(1, 0, n).sum({0}); }, 1, 9);
  expect_same_bits([](const Tensor& x, const sint& n) { return x.narrow(1, 0, n).mean({1}); }, 1,
                   9);
  expect_same_bits([](const Tensor& x, const sint& n) { return x.narrow(1, 0, n).mean(); }, 1, 9);
  expect_same_bits([](const Tensor& x, const sint& n) { return softmax(x.narrow(1, 0, n)); }, 1, 9);
  expect_same_bits([](const Tensor& x, const sint& n) { return log_softmax(x.narrow(0, 0, n)); }, 1,
                   4);
}

TEST_F(SymbolicShapes, ProductsAndAttentionTakeThem) {
  expect_same_bits(
      [](const Tensor& x, const sint& n) {
        const Tensor part = x.narrow(1, 0, n);
        return part.matmul(part.transpose());
      },
      1, 9);
  expect_same_bits(
      [](const Tensor& x, const sint& n) {
        const Tensor part = x.narrow(1, 0, n);
        return part.transpose().matmul(part);
      },
      1, 9);
  for (const bool causal : {false, true})
    expect_same_bits(
        [&](const Tensor& x, const sint& n) {
          const Tensor rows = x.transpose().narrow(0, 0, n);
          return scaled_dot_product_attention(rows, rows * 0.5, rows + 1, {.causal = causal});
        },
        1, 9);
}

TEST_F(SymbolicShapes, TwoVariablesAtATime) {
  const Tensor x = counting({5, 7}).realize();
  const sint n = variable("n", 1, 5), m = variable("m", 0, 7);
  const Tensor part = x.narrow(0, 0, n).narrow(1, 0, m),
               sums = part.sum({1}) + part.shape()[0].max().value();
  for (std::int64_t i = 1; i <= 5; ++i)
    for (std::int64_t j = 0; j <= 7; ++j)
      EXPECT_EQ(sums.bind({{"n", i}, {"m", j}}).read<float>(),
                (x.narrow(0, 0, i).narrow(1, 0, j).sum({1}) + 5).read<float>());
}

// Gradients of weights beside a variable axis, against the same with numbers.
TEST_F(SymbolicShapes, GradientsGoThroughThem) {
  for (const char* const device : {"CPU", "CLANG"}) {
    const Tensor x = counting({9, 4}, device);
    Tensor w = (counting({4, 4}, device) * 1.5).contiguous();
    w.set_requires_grad();
    const auto column = [](const Tensor& a) {
      return (a.shrink({{0, a.shape()[0]}, {0, 1}}).squeeze(1) * 3).abs().long_();  // 0 to 2
    };
    const std::vector<std::pair<const char*, std::function<Tensor(const Tensor&)>>> functions = {
        {"sum", [&](const Tensor& a) { return a.matmul(w).square().sum(); }},
        {"mean", [&](const Tensor& a) { return a.matmul(w).square().mean(); }},
        {"var", [&](const Tensor& a) { return a.matmul(w).var({0}).sum(); }},
        {"std",
         [&](const Tensor& a) {
           return a.matmul(w).std({0, 1}, 0);
         }},
        {"max", [&](const Tensor& a) { return a.matmul(w).max({0}).sum(); }},
        {"softmax", [&](const Tensor& a) { return softmax(a.matmul(w), 0).square().sum(); }},
        {"attention",
         [&](const Tensor& a) {
           const Tensor q = a.matmul(w).unsqueeze(0);
           return scaled_dot_product_attention(q, q, q, {.causal = true}).square().sum();
         }},
        {"cat",
         [&](const Tensor& a) {
           return Tensor::cat({a.matmul(w), w}).square().sum();
         }},
        {"flip and pad",
         [&](const Tensor& a) {
           return (a.matmul(w).flip({0}).pad({{1, 2}, {0, 0}}) + 1).square().sum();
         }},
        {"cross_entropy", [&](const Tensor& a) { return cross_entropy(a.matmul(w), column(a)); }},
        {"take", [&](const Tensor& a) { return take(w, column(a), 0).square().sum(); }},
        {"gather", [&](const Tensor& a) {
           return gather(a.matmul(w), 1, column(a).unsqueeze(1)).square().sum();
         }}};
    for (const auto& [name, f] : functions) {
      const Tensor open = gradients(f(x.shrink({{0, variable("n", 1, 9)}, {0, 4}})), {w})[0];
      for (const std::int64_t n : {2, 5, 9}) {
        const Tensor fixed = gradients(f(x.shrink({{0, n}, {0, 4}})), {w})[0];
        const Floats got = open.bind({{"n", n}}).read<float>(), wanted = fixed.read<float>();
        for (std::size_t i = 0; i < wanted.size(); ++i)
          EXPECT_NEAR(got[i], wanted[i], 1e-5 * (1 + std::abs(wanted[i]))) << name << ' ' << n;
      }
    }
  }
}

TEST_F(SymbolicShapes, WhatNeedsANumberSaysSo) {
  const sint n = variable("n", 1, 6);
  const Tensor x = counting({6, 2}).shrink({{0, n}, {0, 2}});
  EXPECT_THAT(error_of([&] { x.cumsum(0); }),
              HasSubstr("cumsum: a size of shape (n, 2) is the variable n, where a number is "
                        "needed; bind() it first"));
  EXPECT_THAT(error_of([&] { (void)x.elements(); }), HasSubstr("is the variable n"));
  EXPECT_THAT(
      error_of([&] { scatter(Tensor::zeros({4}), 0, (x.sum({1}) * 0).long_(), x.sum({1})); }),
      HasSubstr("expected numbers, not variables"));
}

TEST_F(SymbolicShapes, WhatDoesNotFitIsNamed) {
  const Tensor x = counting({4, 9});
  const sint n = variable("n", 1, 12);
  EXPECT_THAT(error_of([&] { x.narrow(1, 0, n); }), HasSubstr("elements 0 to n are outside"));
  EXPECT_THAT(error_of([&] { x.narrow(1, 0, variable("k", -1, 3)); }), HasSubstr("are outside"));
  const Tensor part = x.narrow(1, 0, variable("k", 1, 9));
  EXPECT_THAT(error_of([&] { part.reshape({3, -1}); }), HasSubstr("not a multiple of the 3"));
  EXPECT_THAT(error_of([&] { part.bind({}); }), HasSubstr("variable k, which has no value"));
  EXPECT_THAT(error_of([&] {
                part.bind({{"k", 10}});
              }),
              HasSubstr("k is 10, which is outside [1, 9]"));
  EXPECT_THAT(error_of([&] { (part * 2).realize(); }), HasSubstr("k"));
  EXPECT_THAT(error_of([&] { (void)part.size(1); }), HasSubstr("k"));
}

class GptText : public SymbolicShapes {
 protected:
  static models::Gpt net(const std::string& device, std::int64_t context = 12) {
    Generator generator(5);
    return models::Gpt({17, context, 8, 2, 2}, generator, {.device = device});
  }
};

TEST_F(GptText, ATokenAtATimeHasTheBitsOfTheWhole) {
  for (const char* const device : {"CPU", "CLANG"}) {
    const bool compiles = device == std::string("CLANG");
    const models::Gpt gpt = net(device);
    const std::vector<std::int64_t> text{3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8};
    const sint position = variable("position", 0, 11);
    models::Gpt::Cache fixed = gpt.cache(1), cache = gpt.cache(1);
    TensorJit step([&](const Tensor& token) { return gpt.next(token, position, cache); });
    for (std::size_t at = 0; at < text.size(); ++at) {
      const std::vector<std::int64_t> known(text.begin(), text.begin() + static_cast<int>(at) + 1);
      const auto length = static_cast<std::int64_t>(known.size());
      const Tensor token = Tensor::from<std::int64_t>({text[at]}, {1, 1}, device);
      const Floats jitted = step(token, {{"position", length - 1}}).read<float>();
      if (compiles && at != 4 && at != 11) continue;
      const Floats whole =
          gpt(Tensor::from(known, {1, length}, device)).narrow(1, length - 1, 1).read<float>();
      EXPECT_EQ(jitted, whole) << device << " " << at;
      if (compiles) continue;
      EXPECT_EQ(gpt.next(token, length - 1, fixed).read<float>(), whole) << at;
    }
    EXPECT_GT(step.captured(), 0u);
  }
}

TEST_F(GptText, IsWrittenByOneSetOfKernels) {
  const models::Gpt gpt = net("CPU");
  models::GptWriter writer(gpt);
  const auto likeliest = [&](std::vector<std::int64_t> text, std::size_t count) {
    while (count-- > 0) {
      const auto length = static_cast<std::int64_t>(text.size());
      const Floats last =
          gpt(Tensor::from(text, {1, length}, "CPU")).narrow(1, length - 1, 1).read<float>();
      text.push_back(std::ranges::max_element(last) - last.begin());
    }
    return text;
  };
  EXPECT_EQ(writer({7}, 5), likeliest({7}, 5));
  const std::size_t kernels = writer.captured();
  EXPECT_GT(kernels, 0u);
  EXPECT_EQ(writer({2, 16, 0}, 9), likeliest({2, 16, 0}, 9));
  EXPECT_EQ(writer({7}, 0), (std::vector<std::int64_t>{7}));
  EXPECT_EQ(writer.captured(), kernels);
  const auto last_of_all = [](std::span<const float> logits) {
    return static_cast<std::int64_t>(logits.size()) - 1;
  };
  EXPECT_EQ(writer({1, 2}, 3, last_of_all), (std::vector<std::int64_t>{1, 2, 16, 16, 16}));
  EXPECT_THAT(error_of([&] { writer({}, 1); }), HasSubstr("expected a prompt"));
  EXPECT_THAT(error_of([&] { writer({1}, 12); }), HasSubstr("12 tokens together at most"));
  EXPECT_THAT(error_of([&] { writer({1, 17}, 1); }), HasSubstr("token 1 is 17"));
}

}  // namespace
}  // namespace touchstone
