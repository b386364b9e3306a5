#pragma once

#include <functional>
#include <string_view>

#include "touchstone/define/library.h"

// Parts of several definitions.

namespace touchstone::define {

/// Throws DTypeError, ShapeError.
void require_float(const Array& x, std::string_view what);
void require_rank(const Array& x, int least, std::string_view what, std::string_view of);

/// One entry per axis; a single entry stands for all.
Sizes for_each_axis(const Sizes& values, std::size_t axes, std::string_view what);
/// [0, size) of each axis, for `shrink`.
Pairs whole_ranges(const Sizes& shape);

Array exp(const Array& x);
/// Losses, or their mean or sum.
Array reduced(const Array& losses, Reduction reduction, const Way& way);
Array log(const Array& x);
Array count(std::int64_t n);
/// x with all comparisons reversed: -x of floats, ~x of integers and bool.
Array reversed(const Array& x);
/// x / divisor, or x * (1 / divisor).
Array over(const Array& x, const Array& divisor, bool reciprocal);
/// A value that a profile may round by this name ("stores") and, if it `may_narrow`, a float32 that
/// may be rounded to the narrow type of the operands.
Array stage(const Array& x, const Way& way, std::string_view name, bool may_narrow = true);
/// A new axis before axis `at`, or behind all if that is the rank.
Array with_axis(const Array& x, int at, std::int64_t size = 1);
/// A number of that type.
Array typed(const Array& number, DType dtype);
/// Keys' kernel with a = -3/4 at a distance from 0 to 2.
Array keys(const Array& d);
/// A product of floats, or of integers and bool, as `prod` computes them. `total` adds the terms of
/// each product, `steps` is its number of factors less 1.
Array product(const Array& x, const Array& steps, const std::function<Array(const Array&)>& total);
Array product_of_integers(const Array& x, int axis, std::string_view what);

}  // namespace touchstone::define
