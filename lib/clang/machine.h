#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "touchstone/clang/clang_options.h"

namespace touchstone {

/// What kernels' layouts depend on.
struct Machine {
  std::string registers;                // "32 of 64 bytes (AVX-512)"
  std::int64_t accumulators = 0;        // float32 numbers in half of the vector registers
  std::int64_t vector = 0;              // float32 numbers in one
  std::int64_t l1 = 0, l2 = 0, l3 = 0;  // bytes of data caches; 0: the system does not say
  int threads = 1;

  bool operator==(const Machine&) const = default;
};

/// The processor, as the options use it; caches from the system's tables.
Machine this_machine(const ClangOptions& options);

/// A size of layouts and what it follows from: "L1 49152 bytes", "stage", "24576 bytes: half".
struct LayoutReason {
  std::string fact, opts, size;
};

/// The default sizes, adapted to a machine. What is unknown keeps its default. Results do not
/// depend on them.
LayoutSizes sizes_for(const Machine& machine);
std::vector<LayoutReason> reasons_for(const Machine& machine);

}  // namespace touchstone
