#pragma once

#include "touchstone/symbolic/write/extract.h"

namespace touchstone::symbolic {

/// coef * a choice between members.
struct Extractor::Choice {
  enum class Shape : std::uint8_t {
    Max,     // the largest member
    Clamp,   // min(max(member 0, member 1), member 2)
    Select,  // member 0 where the condition holds, else member 1
  };
  Shape shape = Shape::Max;
  Int coef;
  int condition = -1;  // a form
  int failing = -1;    // the form of its negation, if that is shorter
  Members members;
  Terms terms;                   // of the sum that the choice represents
  const Id* equation = nullptr;  // of a Select on an equation: the node that is 0 where it holds
};

/// unit * (the choice between factor * member + shift).
struct Extractor::Placement {
  Int unit, factor;
  Sum shift;
};

}  // namespace touchstone::symbolic
