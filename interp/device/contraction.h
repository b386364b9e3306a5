#pragma once

#include <span>

#include "touchstone/interp/device/program.h"

namespace touchstone::interp {

/// True if `to` represents every finite number of `from`, both float types.
bool holds(DType to, DType from);

/// Sets `Contraction` of every node: where a contracting compiler may leave a product unrounded, on
/// the path from a product to an addition through nodes that pass it on unchanged except for sign
/// and type: NEG, the arms of a WHERE, a CAST to a wider type, and nodes that fold away, such as a
/// reduce of one term, x * 1, x + 0, MAX(x, x), or a CAST there and back.
/// order: the program's regions, each after those of its reduces.
void mark_contractions(KernelProgram& program, std::span<const int> order);

}  // namespace touchstone::interp
