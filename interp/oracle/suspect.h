#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "touchstone/device/buffer.h"
#include "touchstone/interp/oracle/profile.h"
#include "touchstone/ops/lazy_op.h"

namespace touchstone {

/// A fault that explains the errors of an output better than rounding does.
struct Suspicion {
  std::string test;         // "operands", "result", "terms", "scale", "shift", "axis", "size"
  std::string explanation;  // "operands rounded to bfloat16"
  /// ln of the probability of so much agreement, or of so large an error, where errors are as the
  /// model has them, times the number of tests made.
  double log_p = 0;
  std::int64_t agree = 0, of = 0;  // errors nearer to what the fault gives than to 0, of how many

  std::string str() const;
};

/// The evidence of the errors of a legal output, together (docs/oracle.md, "Suspicion").
struct ErrorEvidence {
  std::int64_t elements = 0;  // whose errors were looked at
  int tests = 0;
  double least_log_p = 0;  // of the tests, times their number
  /// The largest (|error| - b) / (sqrt(n) u sum|v|), where b is what errors of one sign may come
  /// to, and the most likely it is to be exceeded in one of these elements where rounding errors
  /// are independent and of mean 0: N. J. Higham and T. Mary, "A new approach to probabilistic
  /// rounding error analysis" (2019), theorem 2.4. Only of kernels that are one sum.
  std::optional<double> lambda;
  double log_lambda_p = 0;
  std::optional<Suspicion> suspicion;
  std::string none;  // why no test was made

  std::string str() const;
};

/// Below this p an output is SUSPECT.
inline constexpr double kSuspectP = 1e-9;
/// Fewer elements than these, all different, are not looked at.
inline constexpr std::int64_t kLeastSuspects = 40;
/// A verdict looks at errors together where so many elements have more than one legal answer: of
/// fewer it would take longer than the verdict itself.
inline constexpr std::int64_t kLeastOpen = 256;

/// Tests the errors of `output` (on the host), which is legal, against those of a few faults.
/// `kernel` is valid and without variables. `thorough`: looks at more elements than a verdict can
/// afford.
ErrorEvidence error_evidence(const LazyOpPtr& kernel, std::span<Buffer* const> inputs,
                             const Buffer& output, const Profile& profile, bool thorough = false);

}  // namespace touchstone
