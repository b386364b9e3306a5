#pragma once

#include <string_view>

namespace touchstone {

/// Whether the mutant repeats a mistake that was really made: it stands under "From history" in its
/// table. False for names that are not known.
bool mutant_from_history(std::string_view name);

}  // namespace touchstone
