#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "touchstone/device/device.h"
#include "touchstone/interp/oracle/profile.h"
#include "touchstone/interp/oracle/suspect.h"

namespace touchstone {

enum class Outcome : std::uint8_t {
  Pass,      // every element is legal, and that says something
  Fail,      // an element is not legal: a bug
  Weak,      // nothing illegal, but most legal intervals are too wide to mean much
  Unusable,  // nothing could be judged: the kernel, its inputs or its output do not fit together
};
std::string_view name(Outcome outcome);

/// Of the elements' widths: half of the elements have none larger than `median`, nine in ten none
/// larger than `most`, and none is larger than `largest`. Infinity: nothing bounds them.
struct Widths {
  double median = 0, most = 0, largest = 0;
};

/// Fewer errors than these are no statistics.
inline constexpr std::int64_t kStatistics = 1000;

/// The oracle's verdict on one kernel run by a candidate, with its evidence.
struct Verdict {
  Outcome outcome = Outcome::Pass;
  std::int64_t checked = 0;     // elements looked at
  std::int64_t wrong = 0;       // outside their legal set
  std::int64_t weak = 0;        // legal sets too wide to mean anything
  std::int64_t blunt = 0;       // wider than a sharp one's (docs/oracle.md), the weak among them
  std::int64_t determined = 0;  // exactly one legal answer
  /// Errors that would not be seen: the span of each element's legal numbers as a share of its
  /// larger end, and in units in the last place of the output's type.
  Widths relative, ulp;
  /// The widest legal interval among elements that are not weak, in units in the last place of the
  /// output's type; 0 says that bits had to match.
  double power_ulp = 0;
  /// How many inputs of the kernel were judged, and on how many of them most elements are sharp.
  int inputs = 1, sharp_inputs = 0;

  /// Errors of the elements that have an interval narrow enough to mean something, in half widths:
  /// (candidate - middle) / half, between -1 and 1 where legal. What no single element shows.
  std::int64_t errors = 0;
  double mean_error = 0, variance = 0;

  /// The errors taken together, where nothing is illegal and not every element is determined.
  std::optional<ErrorEvidence> evidence;

  std::string advice;  // Weak: what would make the verdict sharper, where that is known

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

  /// Every element is legal, but a fault explains their errors better than rounding does.
  bool suspect() const {
    return (outcome == Outcome::Pass || outcome == Outcome::Weak) && evidence &&
           evidence->suspicion;
  }
  /// "PASS", "FAIL", "WEAK", "UNUSABLE"; "SUSPECT" in place of PASS and WEAK.
  std::string_view word() const;

  /// One line: "PASS: 640 elements, each with one legal answer; no probes" or
  /// "FAIL: 1 of 640 elements; first at (3, 7): REDUCE_SUM float32 gave 0x3f800000 (1.0), legal is
  /// ...".
  std::string str() const;
  /// In words what the verdict could not have seen, as "an error of 0.3 % in half of the elements
  /// and 1.2 % in one would pass"; empty where every element has one legal answer.
  std::string unseen() const;
};

/// Judges what `candidate` holds as the output of `kernel` on `inputs` (inputs[i] is buffer i;
/// inputs[0] is ignored), against the legal results under `profile` (docs/oracle.md). Buffers may
/// be on any device. An element is sharp where its legal numbers span at most the share of their
/// larger end that leaves half of the type's digits claimed, weak above a sixteenth or where
/// nothing bounds them; the verdict is WEAK where most elements are not sharp. Never throws for
/// what a candidate did.
Verdict judge(const LazyOpPtr& kernel, std::span<Buffer* const> inputs, const Buffer& candidate,
              const Profile& profile = {}, const symbolic::Values& values = {});

/// The joint verdict on several inputs of one kernel (its own, and probes of other families):
/// the first FAIL, else the first UNUSABLE, else PASS where at least one is sharp, else
/// WEAK. Counts are added; widths are those of the sharpest input, since an error that it shows
/// needs no other. A suspicion on any of them stays one. UNUSABLE where there are none.
Verdict combine(std::span<const Verdict> verdicts);

}  // namespace touchstone
