#pragma once

#include <cstdint>
#include <map>
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
  /// ln of the probability of so much agreement, or of so large an error, under the error model,
  /// times the number of tests.
  double log_p = 0;
  std::int64_t agree = 0, of = 0;  // errors nearer to the fault's than to 0, and their total number

  std::string str() const;
};

/// The joint evidence of the errors of a legal output (docs/oracle.md, "Suspicion").
struct ErrorEvidence {
  std::int64_t elements = 0;  // number of elements examined
  int tests = 0;
  double least_log_p = 0;  // least of the tests, times their number
  /// The largest (|error| - b) / (u sqrt(sum s^2)), with b the possible bias of one sign and s the
  /// partial sums in an order that is independent of the values (SumFacts::energy), and a bound on
  /// the probability that one of these elements exceeds it if rounding errors are independent with
  /// mean 0: Azuma and Hoeffding's inequality, as in N. J. Higham and T. Mary, "A new approach to
  /// probabilistic rounding error analysis" (2019), theorem 2.4, for the partial sums of a random
  /// order, whose squares are distributed as Cramer and von Mises' statistic (T. W. Anderson and
  /// D. A. Darling, 1952). Only for kernels that are one sum.
  std::optional<double> lambda;
  double log_lambda_p = 0;
  std::optional<Suspicion> suspicion;
  /// By number of missing terms: the rows (elements that share a sum) in which this fault changes a
  /// rounded result. Empty if the errors are smaller than such a fault's.
  std::map<std::int64_t, std::int64_t> rows_of_missing;
  std::string none;  // why no test was made

  std::string str() const;
};

/// An output with p below this is SUSPECT.
inline constexpr double kSuspectP = 1e-9;
/// Minimal number of distinct elements, with more than one legal result, for the tests.
inline constexpr std::int64_t kLeastSuspects = 40;

/// Tests the errors of the legal `output` (on the host) against those of a few faults. `kernel`
/// must be valid and without variables. `thorough` examines more elements than a verdict can
/// afford.
ErrorEvidence error_evidence(const LazyOpPtr& kernel, std::span<Buffer* const> inputs,
                             const Buffer& output, const Profile& profile, bool thorough = false);

}  // namespace touchstone
