#pragma once

#include <string_view>

namespace touchstone {

/// True if the mutant repeats a mistake that was really made, that is, if it stands under "From
/// history" in its table. False for unknown names.
bool mutant_from_history(std::string_view name);

}  // namespace touchstone
