#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "touchstone/shapetracker/view/view.h"

namespace touchstone::bench {

/// Stacks of views of one kind, innermost first, as they are before anything is merged; the same
/// for every run and machine.
struct Family {
  std::string name;
  std::vector<std::vector<View>> stacks;
};

/// Pairs: the two neighbours that meet where a movement operation needs a new view, and pairs made
/// for one feature each of the merge decision.
std::vector<Family> pair_families(int count);

/// Whole chains of 2 to 8 movement operations that took more than one view.
std::vector<Family> chain_families(int count);

}  // namespace touchstone::bench
