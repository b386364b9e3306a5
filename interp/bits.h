#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "touchstone/dtype/scalar.h"

namespace touchstone {

/// One operation on elements, by the name under which `touchstone bits` knows it (docs/oracle.md):
/// exp2 log2 sin sqrt recip neg add sub mul div fma max.maximum max.maxnum mod.trunc mod.floor
/// div.trunc div.floor cmplt cmpeq xor sum dot cast:DST, and for float8 cast.saturate:DST and
/// cast.infinity:DST. All operands have one dtype. Returns the one
/// right answer, a float's rounded once; nothing where it is poison (an integer divided by 0, the
/// least by -1). Throws ParseError for an unknown name, DTypeError where the operation does not
/// take the dtype, ShapeError for a wrong count of operands.
std::optional<Scalar> scalar_answer(std::string_view op, DType dtype,
                                    std::span<const Scalar> operands);

/// The answer to a line `op<TAB>dtype<TAB>in[,in...]`. Floats are the digits of their bits in
/// hexadecimal, as many as the type has, or `nan`; integers are decimal; bools and comparisons 0 or
/// 1; `undef` is poison. Throws as above, and ParseError for other lines.
std::string bits_answer(std::string_view line);

}  // namespace touchstone
