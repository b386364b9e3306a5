#pragma once

#include <cstdint>
#include <map>

#include "touchstone/uop/linear_kernel.h"

namespace touchstone::codegen {

/// A loop over lanes round one over terms, kSide of them, which copies an element of 4 bytes from
/// where those of the terms are neighbours to where those of the lanes are.
struct TurnedCopy {
  static constexpr std::int64_t kSide = 16;
  std::int64_t lanes = 0;  // at least so many
  int terms = 0;           // the inner loop
  int load = 0, assign = 0;
  std::int64_t from_apart = 0;  // elements between those of two lanes, where they are read
  std::int64_t to_apart = 0;    // and between those of two terms, where they are written
};

/// By the loop over lanes.
std::map<int, TurnedCopy> turned_copies(const LinearKernel& kernel);

}  // namespace touchstone::codegen
