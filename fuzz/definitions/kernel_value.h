#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "touchstone/fuzz/judge/kernel_case.h"

namespace touchstone::fuzz {

/// A kernel's output by definition (docs/semantics.md), element by element, in code that shares
/// nothing with the interpreter: floats by MPFR, integers in 128 bits, addresses by counting.
struct KernelValue {
  DType dtype = DType::Float32;
  std::vector<std::uint64_t> bits;  // of each element of the output buffer
  /// Elements that may be anything: they depend on an integer division by 0 or a NaN's bits.
  std::vector<bool> open;
  /// A generous first-order bound on the error over all summation orders, with products rounded or
  /// not; infinity if there is no bound.
  std::vector<double> radius;

  bool is_nan(std::size_t i) const;
  /// All NaNs agree; anything else by its bits.
  bool agrees(std::size_t i, std::uint64_t other) const;
  double number(std::size_t i) const;  // of a float
};

/// Nothing if a node has more than kMostDefined elements or the kernel's positions are checked.
std::optional<KernelValue> kernel_value(const KernelCase& c, std::size_t output_elements);
inline constexpr std::int64_t kMostDefined = 512;

}  // namespace touchstone::fuzz
