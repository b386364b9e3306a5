#pragma once

#include <gtest/gtest.h>

#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "touchstone/clang/clang_device.h"
#include "touchstone/interp/device/interpreted.h"
#include "touchstone/tensor/functional.h"
#include "touchstone/tensor/generator.h"

namespace touchstone {

using Doubles = std::vector<double>;
using Sizes = std::vector<std::int64_t>;

inline void register_devices() {
  register_interpreted_device();
  register_clang_device();
}

/// Tests on the interpreted and on the compiled device.
class OnDevice : public ::testing::TestWithParam<std::string> {
 protected:
  static void SetUpTestSuite() { register_devices(); }
  const std::string& device() const { return GetParam(); }
  Tensor make(const Doubles& values, const Shape& shape) const {
    return Tensor::from<double>(values, shape, device());
  }
};
#define TOUCHSTONE_ON_DEVICES(Suite)                                          \
  INSTANTIATE_TEST_SUITE_P(Devices, Suite, ::testing::Values("CPU", "CLANG"), \
                           [](const auto& info) { return info.param; })

inline std::int64_t count(const Sizes& sizes) {
  std::int64_t n = 1;
  for (const std::int64_t s : sizes) n *= s;
  return n;
}
inline Shape shape_of(const Sizes& sizes) { return {sizes.begin(), sizes.end()}; }

/// Values in [low, high], deterministic for a seed.
inline Doubles some(std::int64_t n, double low = -2, double high = 2, std::uint64_t seed = 1) {
  Doubles values;
  std::uint64_t state = seed * 0x9e3779b97f4a7c15ULL + 1;
  for (std::int64_t i = 0; i < n; ++i) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    values.push_back(low + (high - low) * static_cast<double>(state >> 11) / 9007199254740992.0);
  }
  return values;
}

/// A uniform number in [low, high] (inRange alone starts out small).
inline std::int64_t any_in(std::int64_t low, std::int64_t high) {
  return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange(low, high + 1));
}

/// A named property for a number of cases; TOUCHSTONE_FUZZ_CASES overrides it.
template <class Property>
void expect_holds(std::string_view name, int cases, Property property, bool shrink = true) {
  const char* asked = std::getenv("TOUCHSTONE_FUZZ_CASES");
  rc::detail::TestParams params = rc::detail::configuration().testParams;
  params.maxSuccess = asked != nullptr ? std::max(1, std::atoi(asked)) : cases;
  params.disableShrinking = !shrink;
  rc::detail::TestMetadata data;
  data.id = data.description = std::string(name);
  const rc::detail::TestResult result = rc::detail::checkTestable(property, data, params);
  if (result.template is<rc::detail::SuccessResult>()) return;
  std::ostringstream message;
  rc::detail::printResultMessage(result, message);
  ADD_FAILURE() << name << ": " << message.str();
}

inline Doubles read_doubles(const Tensor& x) { return x.cast(DType::Float64).read<double>(); }

/// Equal up to rounding: a few ULP of a float64 sum of some terms.
inline void expect_near(const Tensor& x, const Doubles& wanted, double relative = 1e-12) {
  const Doubles got = read_doubles(x);
  ASSERT_EQ(got.size(), wanted.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (std::isnan(wanted[i])) {
      EXPECT_TRUE(std::isnan(got[i])) << "at " << i;
    } else if (std::isinf(wanted[i])) {
      EXPECT_EQ(got[i], wanted[i]) << "at " << i;
    } else {
      EXPECT_NEAR(got[i], wanted[i], relative * std::max(1.0, std::abs(wanted[i]))) << "at " << i;
    }
  }
}

/// Batches expectations: realized in one schedule, so that the compiler starts once.
struct Expectation {
  Tensor tensor;
  Doubles wanted;
};
inline void expect_near(std::vector<Expectation> all, double relative = 1e-12) {
  std::vector<Tensor> wide;
  for (const Expectation& e : all) wide.push_back(e.tensor.cast(DType::Float64).contiguous());
  realize(wide);
  for (std::size_t i = 0; i < all.size(); ++i) {
    SCOPED_TRACE(i);
    expect_near(wide[i], all[i].wanted, relative);
  }
}

/// Compares central differences of `f`, summed over its result, in float64 on the CPU device, with
/// backward(), for all elements of all inputs.
inline void expect_gradients(const std::function<Tensor(const std::vector<Tensor>&)>& f,
                             const std::vector<std::pair<Doubles, Shape>>& inputs,
                             double tolerance = 1e-6) {
  const auto weighted = [&](const std::vector<Tensor>& xs) {
    const Tensor out = f(xs);  // weighted, so that no symmetry hides a misplaced element
    return (out * Tensor::from<double>(some(out.elements(), 0.5, 1.5, 9), out.shape())).sum();
  };
  std::vector<Tensor> xs;
  for (const auto& [values, shape] : inputs) {
    xs.push_back(Tensor::from<double>(values, shape));
    xs.back().set_requires_grad();
  }
  weighted(xs).backward();
  for (std::size_t which = 0; which < inputs.size(); ++which) {
    ASSERT_TRUE(xs[which].grad().has_value()) << "input " << which;
    ASSERT_EQ(xs[which].grad()->shape(), inputs[which].second);
    const Doubles got = xs[which].grad()->read<double>();
    for (std::size_t i = 0; i < got.size(); ++i) {
      constexpr double kStep = 1e-5;
      double sides[2];
      for (const int side : {0, 1}) {
        std::vector<Tensor> moved;
        for (std::size_t j = 0; j < inputs.size(); ++j) {
          Doubles values = inputs[j].first;
          if (j == which) values[i] += side == 0 ? -kStep : kStep;
          moved.push_back(Tensor::from<double>(values, inputs[j].second));
        }
        sides[side] = weighted(moved).item<double>();
      }
      const double wanted = (sides[1] - sides[0]) / (2 * kStep);
      EXPECT_NEAR(got[i], wanted, tolerance * std::max(1.0, std::abs(wanted)))
          << "input " << which << ", element " << i;
    }
  }
}

}  // namespace touchstone
