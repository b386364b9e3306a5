#pragma once

#include "touchstone/shapetracker/view/view.h"

namespace touchstone::shapetracker {

/// One digit of a flat index as a mixed-radix number: floor(flat / weight) mod size.
struct Digit {
  sint weight;
  sint size;
  sint stride;
  sint begin, end;  // valid values
};

/// A view as a function of the flat index of its elements: offset + sum(digit * stride).
struct Digits {
  std::vector<Digit> digits;  // fine to coarse; size 1 only if masked by variables
  sint offset;
};

/// The fewest digits found that agree with `view` at its valid points: neighbours are joined if the
/// finer is unmasked and the strides continue, or if the coarser has one valid value.
/// view.nothing_valid() must be false.
Digits join_digits(const View& view);

}  // namespace touchstone::shapetracker
