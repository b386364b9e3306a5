#pragma once

#include <optional>
#include <string>
#include <vector>

#include "touchstone/fuzz/cases/program.h"
#include "touchstone/fuzz/engine/area.h"

namespace touchstone::fuzz {

/// Devices of the relation `multi`, all interpreted.
struct MultiDevices {
  std::string one;                   // the unsharded run
  std::vector<std::string> several;  // sharded runs use the first 1 to all of them
};

/// The relation `multi` of the area kernelize. The program runs on 1 to all of several devices,
/// each input replicated or sharded along an axis that the text chooses. The result has the bits of
/// one device that adds the shards of a sum in the order of docs/multi.md, with the naive and the
/// ring allreduce; without such a sum of floats, also the bits of `right`, the program's own.
/// Operations that the shards do not allow run after a copy of the whole to all devices. `every`:
/// naively and as a ring, on each number of devices.
std::optional<Checked> multi_differs(const TensorProgram& program, const std::string& text,
                                     const std::string& right, const MultiDevices& on, bool every);

}  // namespace touchstone::fuzz
