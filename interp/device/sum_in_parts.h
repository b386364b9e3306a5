#pragma once

#include <array>
#include <cstddef>

namespace touchstone::detail {

/// Doubles whose exact sum is that of a run of floats, most significant first.
struct SumParts {
  std::array<double, 3> part{};
  int count = 0;  // 0: not found
};

/// Maximal number of terms of one run.
inline constexpr std::size_t kMostInParts = 1024;

/// The exact sum of x[0] ... x[n - 1], n in [1, kMostInParts]. Not found if a term is NaN or
/// infinite, all are zeros, or exponents differ by some 60 binades or more.
/// digits: precision of the terms, 24 unless they came from a narrower type.
SumParts sum_in_parts(const float* x, std::size_t n, int digits);
/// The same; exponents may differ by some 80 binades, and must not be near the format's ends.
SumParts sum_in_parts(const double* x, std::size_t n);

}  // namespace touchstone::detail
