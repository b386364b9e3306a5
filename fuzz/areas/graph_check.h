#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "touchstone/device/config.h"
#include "touchstone/device/device.h"
#include "touchstone/fuzz/cases/program.h"
#include "touchstone/fuzz/engine/area.h"

namespace touchstone::fuzz {

/// What a check has to say of a case: whether it could be asked, and what is wrong.
struct GraphChecked {
  bool asked = true;
  std::optional<Checked> wrong{};
};

/// The relation `graph` of the area kernelize: the program as a graph of UOps, without LazyBuffers,
/// which fold and order before the scheduler sees anything. Two of its values are wanted, memory is
/// written in place, and kernels run one after the other on `device`, the reference: each value is
/// that of by_definition. `choices`: which values, and how "cmpeq" and "realize" are written. Not
/// asked of programs that gather or use another device, and where an assign and its readers cannot
/// be ordered; where reduces that get memory allow an order, there is one.
GraphChecked graph_differs(const Program& program, std::uint64_t choices, const Config& config,
                           Device& device);

}  // namespace touchstone::fuzz
