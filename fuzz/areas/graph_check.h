#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "touchstone/device/config.h"
#include "touchstone/device/device.h"
#include "touchstone/fuzz/cases/program.h"
#include "touchstone/fuzz/engine/area.h"

namespace touchstone::fuzz {

/// The result of a check: whether the question applied, and the failure.
struct GraphChecked {
  bool asked = true;
  std::optional<Checked> wrong{};
};

/// The relation `graph` of the area kernelize: the program as a graph of UOps, without LazyBuffers,
/// which fold and order before the scheduler runs. Two of its values are wanted, memory is written
/// in place, and kernels run in sequence on `device`, the reference; each value must be
/// by_definition's. `choices` selects the values and the spelling of "cmpeq" and "realize". Not
/// asked of programs that gather, use another device, or have an assign that cannot be ordered
/// against its readers; if materialising reduces makes an order possible, the schedule must find
/// one.
GraphChecked graph_differs(const TensorProgram& program, std::uint64_t choices,
                           const Config& config, Device& device);

}  // namespace touchstone::fuzz
