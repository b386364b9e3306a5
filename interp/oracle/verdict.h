#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "touchstone/device/device.h"
#include "touchstone/interp/oracle/profile.h"
#include "touchstone/interp/oracle/sampling.h"
#include "touchstone/interp/oracle/suspect.h"

namespace touchstone {

enum class Outcome : std::uint8_t {
  Pass,      // every element is legal, and most are sharp
  Fail,      // an element is illegal: a bug
  Weak,      // nothing illegal, but most legal intervals are too wide to be meaningful
  Unusable,  // nothing could be judged: kernel, inputs and output do not fit together
};
std::string_view name(Outcome outcome);

/// Quantiles of the elements' widths: half are at most `median`, nine in ten at most `most`, all at
/// most `largest`. Infinity: unbounded.
struct Widths {
  double median = 0, most = 0, largest = 0;
};

/// Minimal number of errors for statistics.
inline constexpr std::int64_t kStatistics = 1000;

/// The oracle's verdict on one kernel run by a candidate, with its evidence.
struct Verdict {
  Outcome outcome = Outcome::Pass;
  std::int64_t checked = 0;        // number of elements
  std::int64_t wrong = 0;          // outside their legal set
  std::int64_t weak = 0;           // legal set too wide to be meaningful
  std::int64_t blunt = 0;          // wider than sharp (docs/oracle.md), including weak
  std::int64_t determined = 0;     // exactly one legal result
  std::optional<Sampled> sampled;  // set if only some elements were judged
  /// Size of errors that would go unnoticed: the span of each element's legal numbers relative to
  /// its larger end, and in units in the last place of the output's type.
  Widths relative, ulp;
  /// The widest legal interval among elements that are not weak, in units in the last place of the
  /// output's type; 0 if bits had to match.
  double power_ulp = 0;
  /// Number of inputs judged, and of those on which most elements are sharp.
  int inputs = 1, sharp_inputs = 0;

  /// Errors of the elements with a meaningfully narrow interval, in half widths: (candidate -
  /// middle) / half, between -1 and 1 if legal. Shows effects that no single element does.
  std::int64_t errors = 0;
  double mean_error = 0, variance = 0;

  /// Joint tests of the errors, if nothing is illegal and not every element is determined.
  std::optional<ErrorEvidence> evidence;

  std::string form;    // of a definition: the form under which it is legal; empty: as it says
  std::string cause;   // Fail, Weak: "legal if a zero may have either sign"; empty: not searched
  std::string advice;  // Weak: how to make the verdict sharper, if known

  // The first wrong element, in row-major order.
  Op op = Op::Store;  // the op of the stored result
  DType dtype = DType::Float32;
  std::int64_t index = -1;       // flat
  std::vector<std::int64_t> at;  // per axis
  std::string subject;           // what was computed, "softmax(x[2,3])"; empty: `op` and `dtype`
  std::string operands;          // "x = 0.5, y = 2"; empty: not known, or many
  Scalar candidate, low, high;   // legal numbers are [low, high] if `number`
  bool number = false;
  bool apart = false;  // only numbers near `low` or near `high`
  bool nan = false;    // NaN is legal
  std::string why;  // Unusable: what does not fit. Fail: the limit that statistics exceed, or how
                    // the candidate broke without an output

  /// True if every element is legal but a fault explains the errors better than rounding does.
  bool suspect() const {
    return (outcome == Outcome::Pass || outcome == Outcome::Weak) && evidence &&
           evidence->suspicion;
  }
  /// "PASS", "FAIL", "WEAK", "UNUSABLE"; "SUSPECT" instead of PASS and WEAK.
  std::string_view word() const;

  /// One line: "PASS: 640 elements, each with one legal answer; no probes" or "FAIL: 1 of 640
  /// elements; first at (3, 7): REDUCE_SUM float32 gave 0x3f800000 (1.0), legal is ...".
  std::string str() const;
  /// The size of errors that would go unnoticed, in words; empty if every element has one legal
  /// result.
  std::string unseen() const;
};

/// Judges `candidate` as the output of `kernel` on `inputs` (inputs[i] is buffer i; inputs[0] is
/// ignored) against the legal results under `profile` (docs/oracle.md). Buffers may be on any
/// device. If the kernel is too large for `sampling`, some of its elements are judged. An element
/// is sharp if the relative width of its legal numbers is at most sharp_width (width.h), weak above
/// a sixteenth or if unbounded; the verdict is WEAK if most elements are not sharp. Never throws
/// for a candidate's faults.
Verdict judge(const LazyOpPtr& kernel, std::span<Buffer* const> inputs, const Buffer& candidate,
              const Profile& profile = {}, const symbolic::Values& values = {},
              const Sampling& sampling = {});

/// The joint verdict on several inputs of one kernel (its own, and probes of other families): the
/// first FAIL, else the first UNUSABLE, else PASS if at least one is sharp, else WEAK. Counts are
/// added; widths are those of the sharpest input, since one input suffices to expose an error. A
/// suspicion on any of them remains. UNUSABLE if empty.
Verdict combine(std::span<const Verdict> verdicts);

}  // namespace touchstone
