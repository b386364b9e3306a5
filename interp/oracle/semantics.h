#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "touchstone/ops/op.h"

// The meaning of every op by cells, op times type class, in words and tested examples.
// docs/semantics.md is generated from it.

namespace touchstone {

/// Classes of element types, as a set.
using TypeClasses = std::uint8_t;
inline constexpr TypeClasses kFloats = 1, kSigned = 2, kUnsigned = 4, kBools = 8;
constexpr TypeClasses class_of(DType d) {
  return is_float(d) ? kFloats : is_bool(d) ? kBools : is_unsigned(d) ? kUnsigned : kSigned;
}

/// One op on some classes. Examples read "operands = result", separated by "; ", operands by ", ";
/// a reduce's operands are its terms. A result in brackets is one of several legal ones. Examples
/// hold for every type of the classes, except that float8_e4m3 has no infinities: there a result of
/// inf is the largest number, and examples with an operand of inf do not apply.
struct SemanticsCell {
  Op op;
  TypeClasses classes;
  std::string_view rule;
  std::string_view examples;
};
/// In the order of the op table; exactly one cell for every elementwise op except CAST and every
/// reduce, with each class of types that it supports.
std::span<const SemanticsCell> semantics_table();

/// CAST, by the classes of its two types; examples name the types, "300.7 float32 to uint8 = 255".
struct CastCell {
  TypeClasses from, to;
  std::string_view rule;
  std::string_view examples;
};
/// Exactly one cell for every pair of classes.
std::span<const CastCell> cast_table();

/// "all", "floats", "integers and bool".
std::string classes_text(TypeClasses classes);

/// The page in Markdown.
std::string semantics_page();

}  // namespace touchstone
