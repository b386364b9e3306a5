#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "touchstone/device/device.h"
#include "touchstone/interp/profile.h"

namespace touchstone {

enum class Outcome : std::uint8_t {
  Pass,      // every element is legal, and that says something
  Fail,      // an element is not legal: a bug
  Weak,      // nothing illegal, but most legal intervals are too wide to mean anything
  Unusable,  // nothing could be judged: the kernel, its inputs or its output do not fit together
};
std::string_view name(Outcome outcome);

/// Fewer errors than these are no statistics.
inline constexpr std::int64_t kStatistics = 1000;

/// What the oracle says of one kernel run by a candidate, with its evidence.
struct Verdict {
  Outcome outcome = Outcome::Pass;
  std::int64_t checked = 0;     // elements looked at
  std::int64_t wrong = 0;       // outside their legal set
  std::int64_t weak = 0;        // legal sets too wide to mean anything
  std::int64_t determined = 0;  // exactly one legal answer
  /// Power: the widest legal interval among elements that are not weak, in units in the last place
  /// of the output's type; 0 says that bits had to match.
  double power_ulp = 0;

  /// Errors of the elements that have an interval narrow enough to mean something, in half widths:
  /// (candidate - middle) / half, between -1 and 1 where legal. What no single element shows.
  std::int64_t errors = 0;
  double mean_error = 0, variance = 0;

  // The first wrong element, in row-major order.
  Op op = Op::Store;  // the op whose result is stored
  DType dtype = DType::Float32;
  std::int64_t index = -1;       // flat
  std::vector<std::int64_t> at;  // per axis
  Scalar candidate, low, high;   // legal numbers are [low, high] where `number`
  bool number = false;
  bool nan = false;  // NaN is legal
  std::string why;   // Unusable: what does not fit; Fail by statistics: which limit. Fail: how it
                     // broke, where it gave no output

  /// One line: "PASS, 640 elements, 640 determined" or
  /// "FAIL at (3, 7): REDUCE_SUM gave 0x3f800000 (1), legal is [...]".
  std::string str() const;
};

/// Judges what `candidate` holds as the output of `kernel` on `inputs` (inputs[i] is buffer i;
/// inputs[0] is ignored), against the legal results under `profile` (docs/oracle.md). Buffers may
/// be on any device. An element's interval is weak where it spans more than a sixteenth of its
/// larger end; the verdict is WEAK where most elements are. Never throws for what a candidate did.
Verdict judge(const LazyOpPtr& kernel, std::span<Buffer* const> inputs, const Buffer& candidate,
              const Profile& profile = {}, const symbolic::Values& values = {});

}  // namespace touchstone
