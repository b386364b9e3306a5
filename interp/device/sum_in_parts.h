#pragma once

#include <array>
#include <cstddef>

namespace touchstone::detail {

/// Doubles that add up exactly to a run of floats, most significant first.
struct SumParts {
  std::array<double, 3> part{};
  int count = 0;  // 0: not found
};

/// Terms of one run, at most.
inline constexpr std::size_t kMostInParts = 1024;

/// The sum of x[0] ... x[n - 1], n in [1, kMostInParts], without rounding. Found unless a term is
/// NaN or infinite, all are zeros, or their exponents lie too far apart: some 60 binades and more.
/// digits: that each term has, 24 unless it came from a narrower type.
SumParts sum_in_parts(const float* x, std::size_t n, int digits);
/// The same; exponents may lie some 80 binades apart, and must not be near the format's ends.
SumParts sum_in_parts(const double* x, std::size_t n);

}  // namespace touchstone::detail
