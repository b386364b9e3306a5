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
#include "touchstone/interp/oracle/verdict.h"

// A matcher for GoogleTest: a failing test says what the oracle says.
//
//   EXPECT_THAT(y, touchstone::testing::IsLegalFor(kernel).on(a, b));
//   EXPECT_THAT(y, touchstone::testing::IsLegalFor(kernel).on(a, b).under(Profile::named("cuda")));

namespace touchstone {

/// The first elements, for messages.
void PrintTo(const HostArray& array, std::ostream* out);

namespace testing {

/// An array as matchers take it: of a HostArray, a Buffer on any device or a pointer to one, a
/// contiguous range of a storage type (float, std::int32_t, bfloat16, ...), a std::vector<bool>.
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

/// Matches what a conforming device could have given as the output of a concrete kernel: verdict
/// PASS. A WEAK one, which says next to nothing, and a SUSPECT one, whose errors a fault explains
/// better than rounding does, match only where that is allowed.
class IsLegalFor {
 public:
  using is_gtest_matcher = void;

  explicit IsLegalFor(LazyOpPtr kernel) : kernel_(std::move(kernel)) {}

  /// The kernel's inputs, buffer 1 first.
  template <class... Inputs>
  IsLegalFor on(const Inputs&... inputs) const {
    IsLegalFor out = *this;
    (out.inputs_.push_back(as_host_array(inputs)), ...);
    return out;
  }
  /// The arithmetic that the device declares; Profile{} where this is not called.
  IsLegalFor under(Profile profile) const {
    IsLegalFor out = *this;
    out.profile_ = std::move(profile);
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
    *listener << "whose verdict is " << verdict.str();
    if (verdict.suspect() && !suspect_) return false;
    return verdict.outcome == Outcome::Pass || (weak_ && verdict.outcome == Outcome::Weak);
  }
  void DescribeTo(std::ostream* out) const;
  void DescribeNegationTo(std::ostream* out) const;

 private:
  Verdict judge(const HostArray& output) const;

  LazyOpPtr kernel_;
  std::vector<HostArray> inputs_;
  Profile profile_;
  bool weak_ = false, suspect_ = false;
};

}  // namespace testing
}  // namespace touchstone
