#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "touchstone/dtype/float8.h"
#include "touchstone/dtype/scalar.h"

namespace touchstone {

/// One operation on elements, by the name under which `touchstone bits` knows it (docs/oracle.md):
/// exp2 log2 sin sqrt recip neg add sub mul div fma max.maximum max.maxnum mod.trunc mod.floor
/// div.trunc div.floor cmplt cmpeq xor sum dot cast:DST, and for float8 cast.saturate:DST and
/// cast.infinity:DST; and by every name of the op table that is an operation on elements (max, mod,
/// mulacc, where, reduce_sum, ...), in upper or lower case. All operands have one dtype, but for
/// the bool that where takes first. Returns the one right answer, a float's rounded once; nothing
/// where it is poison (an integer divided by 0, the least by -1). Throws ParseError for an unknown
/// name, DTypeError where the operation does not take the dtype, ShapeError for a wrong count of
/// operands.
std::optional<Scalar> scalar_answer(std::string_view op, DType dtype,
                                    std::span<const Scalar> operands);

/// The right answers where floats of 8 bits overflow as a profile says: one, or two with
/// Float8Overflow::Either where they differ; none where it is poison. An infinite result counts as
/// too large. An op that names its mode (cast.saturate:DST) keeps it. Throws as above.
std::vector<Scalar> scalar_answers(std::string_view op, DType dtype,
                                   std::span<const Scalar> operands, Float8Overflow overflow);

/// The names, and how those that one could take for each other differ.
std::string bits_names();

/// The answer to a line `op<TAB>dtype<TAB>in[,in...]`. Floats are the digits of their bits in
/// hexadecimal, as many as the type has, or `nan`; integers are decimal; bools and comparisons 0 or
/// 1; `undef` is poison; `|` stands between two answers of scalar_answers. Throws as above, and
/// ParseError for other lines.
std::string bits_answer(std::string_view line, Float8Overflow overflow = Float8Overflow::AsDefined);

}  // namespace touchstone
