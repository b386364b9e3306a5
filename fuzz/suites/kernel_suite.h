#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "touchstone/dtype/dtype.h"
#include "touchstone/fuzz/suites/suite.h"

namespace touchstone::fuzz {

struct KernelSuiteOptions {
  std::vector<std::string> names;  // definitions (docs/define.md) used in them; empty: all
  std::vector<DType> dtypes;       // empty: float32 and float16, and int32 where allowed
  std::uint64_t seed = 0;
};

/// Small whole kernels that single operations do not cover: softmax and normalisations, products,
/// convolutions, attention, masked, strided, flipped or gathered reads, axes of size 1 and 0. They
/// run on every family of probe inputs (probe.h), those that only move elements on three. Names
/// look like "softmax-8x17-float32-deep". Equal options give equal cases. Throws ParseError if a
/// name is no definition.
std::vector<SuiteCase> draw_kernel_suite(const KernelSuiteOptions& options);

}  // namespace touchstone::fuzz
