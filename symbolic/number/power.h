#pragma once

#include "touchstone/symbolic/number/integer.h"

namespace touchstone::symbolic {

/// 2^n.
inline Int power_of_two(int n) {
  Int p = 1;
  while (n-- > 0) p = p + p;
  return p;
}

}  // namespace touchstone::symbolic
