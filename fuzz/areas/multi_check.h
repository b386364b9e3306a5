#pragma once

#include <optional>
#include <string>
#include <vector>

#include "touchstone/fuzz/cases/program.h"
#include "touchstone/fuzz/engine/area.h"

namespace touchstone::fuzz {

/// Where the relation `multi` computes. All devices are the definition's.
struct MultiDevices {
  std::string one;                   // without shards
  std::vector<std::string> several;  // 1 of them to all
};

/// The relation `multi` of the area kernelize: the program on 1 to all of several devices, each
/// input whole on all or sharded along an axis that the text chooses, gives the bits that one
/// device gives where it adds up the shards of a sum in the order that docs/multi.md says, by the
/// naive allreduce and by the ring; and those of `right`, the program's own, where no such sum is
/// of floats. What the shards do not allow is done after a copy of the whole to all devices.
/// `every`: naively and as a ring, on each number of devices.
std::optional<Checked> multi_differs(const Program& program, const std::string& text,
                                     const std::string& right, const MultiDevices& on, bool every);

}  // namespace touchstone::fuzz
