#pragma once

#include "touchstone/shapetracker/view/view.h"

namespace touchstone::shapetracker {

/// One digit of the mixed-radix number a flat index is: floor(flat / weight) mod size.
struct Digit {
  sint weight;
  sint size;
  sint stride;
  sint begin, end;  // the valid values
};

/// A view as a function of the flat index of its elements: offset + sum(digit * stride).
struct Digits {
  std::vector<Digit> digits;  // fine to coarse; of size 1 only where masked by variables
  sint offset;
};

/// The fewest digits found that say what `view` does at its valid points: neighbours are joined
/// where the finer is unmasked and the strides continue, or where the coarser has one valid value.
/// view.nothing_valid() must be false.
Digits join_digits(const View& view);

}  // namespace touchstone::shapetracker
