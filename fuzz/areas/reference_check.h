#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "touchstone/fuzz/judge/kernel_case.h"

/// The reference and the oracle, which judge the backends, are checked themselves.
namespace touchstone::fuzz {

/// The answer to a question of one case: what is wrong, if anything.
struct Reply {
  bool asked = true;  // false: the case is not one of which the question says anything
  std::optional<std::string> what{};
};

/// One answer to a kernel: no function or sum may be off, and no product stays unrounded.
Profile exact_profile();

/// The kernel over an axis more, long enough for threads to share its elements, or the terms of
/// a sum or a maximum of all of them, as `choice` says: in 1, 2 and 7 threads it has the same bits.
/// What differs.
Reply threads_differ(const KernelCase& c, std::uint64_t choice);

/// Where the oracle says that exact arithmetic leaves one answer, it takes `right`, and no
/// other: one element, the last one often, is changed by its lowest bit; now and then of the kernel
/// over an axis more, so that it is judged in parts. What it took.
Reply not_refused(const KernelCase& c, const HostArray& right, std::uint64_t choice);

/// Where `right`, the reference's answer, is not what the kernel is by definition
/// (kernel_value.h), of small kernels.
Reply untrue(const KernelCase& c, const HostArray& right);

/// The oracle takes no element that is twenty times as far from its value as rounding may lead in
/// any order of every sum, of small kernels. What it took, or nothing.
Reply taken_from_afar(const KernelCase& c, const HostArray& right, const Profile& profile,
                      std::uint64_t choice);

/// An element of an answer that the oracle refuses, beside the reference's and the definition's:
/// which of the two it bears out. Empty where the kernel is too large for that.
std::string borne_out(const KernelCase& c, const HostArray& output, const HostArray& right,
                      std::int64_t index);

}  // namespace touchstone::fuzz
