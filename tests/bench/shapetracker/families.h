#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "touchstone/shapetracker/view/view.h"

namespace touchstone::bench {

/// Stacks of views of one kind, innermost first, unmerged; the same on every run and machine.
struct Family {
  std::string name;
  std::vector<std::vector<View>> stacks;
};

/// Pairs: neighbouring views where a movement operation needs a new view, and pairs made for single
/// features of the merge decision.
std::vector<Family> pair_families(int count);

/// Chains of 2 to 8 movement operations that needed more than one view.
std::vector<Family> chain_families(int count);

}  // namespace touchstone::bench
