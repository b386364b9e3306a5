#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "touchstone/fuzz/areas/reference_check.h"
#include "touchstone/fuzz/judge/kernel_case.h"
#include "touchstone/uop/linear_kernel.h"

namespace touchstone::fuzz {

/// Memory accesses of linear code.
struct CodeRun {
  std::int64_t reads = 0;                // reads of buffer elements, with repeats
  std::optional<std::string> outside{};  // the first access outside its buffer or array
};

/// Runs linear code step by step for these values of its variables. It evaluates index arithmetic
/// only, so indices made of loaded numbers are not checked. `sizes` holds the elements of each
/// buffer by its number; empty: count accesses only. Returns nothing for a run of more than `most`
/// steps.
std::optional<CodeRun> run_code(const LinearKernel& kernel, const symbolic::Values& values,
                                std::span<const std::int64_t> sizes, std::int64_t most);

/// Tests whether our code for the kernel, compiled and laid out by opts that `choice` draws,
/// accesses memory outside the case's buffers or its own arrays, even if no answer shows it. Not
/// asked of kernels that run long.
Reply reaches_outside(const KernelCase& c, std::uint64_t choice);

}  // namespace touchstone::fuzz
