#pragma once

#include <concepts>
#include <cstring>
#include <ostream>
#include <ranges>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <gmock/gmock-matchers.h>

#include "touchstone/device/device.h"
#include "touchstone/files/npy.h"
#include "touchstone/judging/judging.h"

// A GoogleTest matcher that reports the oracle's explanation:
//
//   EXPECT_THAT(y, touchstone::testing::IsLegalFor("softmax(x[4,9])").on(x));
//   EXPECT_THAT(y, touchstone::testing::IsLegalFor(kernel).on(a, b));
//   EXPECT_THAT(y, touchstone::testing::IsLegalFor(kernel).on(a, b).under(Profile::named("cuda")));

namespace touchstone {

/// Prints the first elements, for messages.
void PrintTo(const HostArray& array, std::ostream* out);

namespace testing {

/// Converts a matcher argument: a HostArray, a Buffer on any device or a pointer to one, a
/// contiguous range of a storage type (float, std::int32_t, bfloat16, ...), or a std::vector<bool>.
HostArray as_host_array(const HostArray& array);
HostArray as_host_array(const Buffer& buffer);
HostArray as_host_array(const BufferPtr& buffer);
HostArray as_host_array(const std::vector<bool>& values);
template <std::ranges::contiguous_range R>
requires std::ranges::sized_range<R> &&
    (!std::same_as<std::remove_cvref_t<std::ranges::range_value_t<R>>, bool>)HostArray
    as_host_array(const R& values) {
  using T = std::remove_cvref_t<std::ranges::range_value_t<R>>;
  HostArray array{dtype_v<T>, {static_cast<std::int64_t>(std::ranges::size(values))}, {}};
  array.bytes.resize(std::ranges::size(values) * sizeof(T));
  if (!array.bytes.empty())
    std::memcpy(array.bytes.data(), std::ranges::data(values), array.bytes.size());
  return array;
}

/// Matches outputs that a conforming device could give for a concrete kernel or a formula
/// (docs/define.md): verdict PASS. WEAK
/// (hardly conclusive) and SUSPECT (errors that a fault explains better than rounding) match only
/// if allowed.
class IsLegalFor {
 public:
  using is_gtest_matcher = void;

  explicit IsLegalFor(LazyOpPtr kernel) : kernel_{{std::move(kernel), {}}, {}} {}
  explicit IsLegalFor(std::string_view formula) : kernel_(formula_to_judge(formula)) {}

  /// The kernel's inputs, buffer 1 first.
  template <class... Inputs>
  IsLegalFor on(const Inputs&... inputs) const {
    IsLegalFor out = *this;
    (out.inputs_.push_back(as_host_array(inputs)), ...);
    return out;
  }
  /// The device's declared arithmetic; by default a formula's usual profile, or Profile{}.
  IsLegalFor under(Profile profile) const {
    IsLegalFor out = *this;
    out.kernel_.judging = kernel_.judging.under({{std::move(profile), "named by under()"}});
    return out;
  }
  IsLegalFor even_if_weak() const {
    IsLegalFor out = *this;
    out.weak_ = true;
    return out;
  }
  IsLegalFor even_if_suspect() const {
    IsLegalFor out = *this;
    out.suspect_ = true;
    return out;
  }

  template <class Output>
  bool MatchAndExplain(const Output& output, ::testing::MatchResultListener* listener) const {
    const Verdict verdict = judge(as_host_array(output));
    *listener << "whose verdict is " << kernel_.judging.str(verdict);
    if (verdict.suspect() && !suspect_) return false;
    return verdict.outcome == Outcome::Pass || (weak_ && verdict.outcome == Outcome::Weak);
  }
  void DescribeTo(std::ostream* out) const;
  void DescribeNegationTo(std::ostream* out) const;

 private:
  Verdict judge(const HostArray& output) const;

  KernelToJudge kernel_;
  std::vector<HostArray> inputs_;
  bool weak_ = false, suspect_ = false;
};

}  // namespace testing
}  // namespace touchstone
