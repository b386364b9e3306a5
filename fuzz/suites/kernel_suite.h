#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "touchstone/dtype/dtype.h"
#include "touchstone/fuzz/suites/suite.h"

namespace touchstone::fuzz {

struct KernelSuiteOptions {
  std::vector<std::string> names;  // definitions (docs/define.md) that occur in them; empty: all
  std::vector<DType> dtypes;       // empty: float32 and float16, and int32 for what takes it
  std::uint64_t seed = 0;
};

/// Whole kernels, small, where single operations do not go: softmax and normalisations, products,
/// convolutions, attention, reads that are masked, strided, flipped or gathered, axes of size 1 and
/// 0; on every family of probe inputs (probe.h), those that only move elements on three of them.
/// Named as "softmax-8x17-float32-deep". The same options give the same cases. Throws ParseError
/// where a name is no definition.
std::vector<SuiteCase> draw_kernel_suite(const KernelSuiteOptions& options);

}  // namespace touchstone::fuzz
