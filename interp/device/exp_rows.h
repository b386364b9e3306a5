#pragma once

#include <cstdint>

namespace touchstone::interp {

/// The most elements of a row.
inline constexpr std::int64_t kRow = 256;

/// out[i] = exp(x[i]), or 2^x[i], correctly rounded, for n <= kRow numbers; a lane of `ok` becomes
/// 0 where this form is not certain of the rounding, or |x[i]| >= 700.
void exp_row(const double* x, std::int64_t n, double* out, std::int64_t* ok);
void exp2_row(const double* x, std::int64_t n, double* out, std::int64_t* ok);

}  // namespace touchstone::interp
