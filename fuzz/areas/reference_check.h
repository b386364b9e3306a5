#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "touchstone/fuzz/judge/kernel_case.h"

// Checks of the reference and the oracle, which judge the backends.
namespace touchstone::fuzz {

/// The answer to a question about one case: the mistake, if any.
struct Reply {
  bool asked = true;  // false: the question does not apply
  std::optional<std::string> what{};
};

/// A profile that leaves one answer: no function or sum may be off, no product stays unrounded.
Profile exact_profile();

/// Returns the difference between runs in 1, 2 and 7 threads, which must have the same bits. The
/// kernel gets one more axis, long enough for threads to share its elements, or the terms of a sum
/// or maximum over all of them, as `choice` selects.
Reply threads_differ(const KernelCase& c, std::uint64_t choice);

/// Where exact arithmetic leaves one answer, the oracle must accept `right` and refuse it with the
/// lowest bit of one element changed, often the last; sometimes with one more axis, so that it is
/// judged in parts. Returns the answer it judged wrongly.
Reply not_refused(const KernelCase& c, const HostArray& right, std::uint64_t choice);

/// Returns where `right`, the reference's answer to a small kernel, differs from the definition
/// (kernel_value.h).
Reply untrue(const KernelCase& c, const HostArray& right);

/// The oracle must refuse an element twenty times further off than any summation order may lead, in
/// small kernels. Returns what it accepted, or nothing.
Reply taken_from_afar(const KernelCase& c, const HostArray& right, const Profile& profile,
                      std::uint64_t choice);

/// Describes a refused element beside the reference's and the definition's, and which of the two
/// the definition supports. Empty if the kernel is too large.
std::string borne_out(const KernelCase& c, const HostArray& output, const HostArray& right,
                      std::int64_t index);

}  // namespace touchstone::fuzz
