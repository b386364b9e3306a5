#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "touchstone/fuzz/areas/reference_check.h"
#include "touchstone/fuzz/judge/kernel_case.h"
#include "touchstone/uop/linear_kernel.h"

namespace touchstone::fuzz {

/// What linear code does to memory.
struct CodeRun {
  std::int64_t reads = 0;                // elements of buffers, as often as they are read
  std::optional<std::string> outside{};  // the first access outside its buffer or array
};

/// Runs linear code step by step, for these values of its variables; of values only those of
/// indices are computed, so that an index made of loaded numbers is not looked at. `sizes`: the
/// elements of each buffer by its number, or empty where accesses are only counted. Nothing of a
/// run of more than `most` steps.
std::optional<CodeRun> run_code(const LinearKernel& kernel, const symbolic::Values& values,
                                std::span<const std::int64_t> sizes, std::int64_t most);

/// Whether our own code for the kernel, as compiled and laid out by opts that `choice` draws, reads
/// or writes outside the case's buffers or its own arrays, also where no answer shows it. Not asked
/// of kernels that run long.
Reply reaches_outside(const KernelCase& c, std::uint64_t choice);

}  // namespace touchstone::fuzz
