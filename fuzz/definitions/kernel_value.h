#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "touchstone/fuzz/judge/kernel_case.h"

namespace touchstone::fuzz {

/// The output of a kernel by definition (docs/semantics.md), one element at a time, in code that
/// shares nothing with the interpreter: floats by MPFR, integers in 128 bits, addresses by
/// counting.
struct KernelValue {
  DType dtype = DType::Float32;
  std::vector<std::uint64_t> bits;  // of each element of the output buffer
  /// Elements that may be anything: made of an integer's division by 0, or of the bits of a NaN.
  std::vector<bool> open;
  /// How far from the value any order of every sum, with products rounded or not, may lead in
  /// first-order bounds, each of them generous; infinity where this says nothing.
  std::vector<double> radius;

  bool is_nan(std::size_t i) const;
  /// NaN is NaN, whatever its bits; anything else is its bits.
  bool agrees(std::size_t i, std::uint64_t other) const;
  double number(std::size_t i) const;  // of a float
};

/// Nothing where a node has more than kMostDefined elements or a kernel's positions are checked.
std::optional<KernelValue> kernel_value(const KernelCase& c, std::size_t output_elements);
inline constexpr std::int64_t kMostDefined = 512;

}  // namespace touchstone::fuzz
