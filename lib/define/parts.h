#pragma once

#include <string_view>

#include "touchstone/define/library.h"

// Parts of several definitions.

namespace touchstone::define {

/// Throws DTypeError, ShapeError.
void require_float(const Array& x, std::string_view what);
void require_rank(const Array& x, int least, std::string_view what, std::string_view of);

Array exp(const Array& x);
Array log(const Array& x);
Array count(std::int64_t n);
/// x / divisor, or x * (1 / divisor).
Array over(const Array& x, const Array& divisor, bool reciprocal);
/// A float32 that may be rounded to the narrow type of the operands.
Array stage(const Array& x, const Way& way);
/// A new axis before axis `at`, or behind all if that is the rank.
Array with_axis(const Array& x, int at, std::int64_t size = 1);
/// A number of that type.
Array typed(const Array& number, DType dtype);

}  // namespace touchstone::define
