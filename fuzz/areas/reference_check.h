#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "touchstone/fuzz/kernel_case.h"

/// The reference and the oracle, which judge the backends, are checked themselves.
namespace touchstone::fuzz {

/// The kernel over an axis more, long enough for threads to share its elements, or the terms of
/// a sum or a maximum of all of them, as `choice` says: in 1, 2 and 7 threads it has the same bits.
/// What differs, or nothing.
std::optional<std::string> threads_differ(const KernelCase& c, std::uint64_t choice);

/// Where the oracle says that exact arithmetic leaves one answer, it takes `right`, and no
/// other: one element, the last one often, is changed by its lowest bit. What it took, or nothing.
std::optional<std::string> not_refused(const KernelCase& c, const HostArray& right,
                                       std::uint64_t choice);

}  // namespace touchstone::fuzz
