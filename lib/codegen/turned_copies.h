#pragma once

#include <cstdint>
#include <map>

#include "touchstone/uop/linear_kernel.h"

namespace touchstone::codegen {

/// A loop over lanes around one over kSide terms that transposes elements of 4 bytes: read where
/// terms are adjacent, written where lanes are adjacent.
struct TurnedCopy {
  static constexpr std::int64_t kSide = 16;
  std::int64_t lanes = 0;  // minimum number
  int terms = 0;           // loop step of the inner loop
  int load = 0, assign = 0;
  std::int64_t from_apart = 0;  // elements between two lanes when read
  std::int64_t to_apart = 0;    // elements between two terms when written
};

/// Keyed by the loop over lanes.
std::map<int, TurnedCopy> turned_copies(const LinearKernel& kernel);

}  // namespace touchstone::codegen
