#pragma once

#include <span>

#include "touchstone/interp/device/program.h"

namespace touchstone::interp {

/// Whether every finite number of `from` is one of `to`, both floats.
bool holds(DType to, DType from);

/// Fills in `Contraction` of every node: where a compiler that contracts may leave a product
/// unrounded. That is on the way from a product to an addition, over nodes that hand it on as it is
/// but for its sign and its type, such as a NEG, the arms of a WHERE, a CAST to a wider type, and
/// what folding leaves of x * 1, x + 0, MAX(x, x), a reduce of one term or a CAST there and back.
/// `order`: the program's regions, each after those of its reduces.
void mark_contractions(Program& program, std::span<const int> order);

}  // namespace touchstone::interp
