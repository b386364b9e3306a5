#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "touchstone/dtype/float8.h"
#include "touchstone/dtype/scalar.h"

namespace touchstone {

/// The correct result of one elementwise operation, under its name in `touchstone bits`
/// (docs/oracle.md): exp2 log2 sin sqrt recip neg add sub mul div fma max.maximum max.maxnum
/// mod.trunc mod.floor div.trunc div.floor cmplt cmpeq xor sum dot cast:DST, for float8 also
/// cast.saturate:DST and cast.infinity:DST; and every elementwise name of the op table (max, mod,
/// mulacc, where, reduce_sum, ...), in upper or lower case. All operands have one dtype, except the
/// bool condition of where. Floats are rounded once; nullopt for poison (an integer divided by 0,
/// the least by -1). Throws ParseError for an unknown name, DTypeError for an unsupported dtype,
/// ShapeError for a wrong number of operands.
std::optional<Scalar> scalar_answer(std::string_view op, DType dtype,
                                    std::span<const Scalar> operands);

/// The correct results if 8-bit floats overflow as in a profile: one, or two for
/// Float8Overflow::Either if they differ; none for poison. An infinite result counts as overflow.
/// An op that names its mode (cast.saturate:DST) keeps it. Throws like scalar_answer.
std::vector<Scalar> scalar_answers(std::string_view op, DType dtype,
                                   std::span<const Scalar> operands, Float8Overflow overflow);

/// The names, and the differences between similar ones.
std::string bits_names();

/// Answers a line `op<TAB>dtype<TAB>in[,in...]`. Floats are written as the hexadecimal digits of
/// their bits, as many as the type has, or `nan`; integers in decimal; bools and comparisons as 0
/// or 1; poison as `undef`; `|` separates two results of scalar_answers. Throws like scalar_answer,
/// and ParseError for other lines.
std::string bits_answer(std::string_view line, Float8Overflow overflow = Float8Overflow::AsDefined);

}  // namespace touchstone
