#pragma once

#include <string_view>

#include "touchstone/ops/op.h"

namespace touchstone {

/// The types as text for messages: "integers and floats".
std::string_view accepted(OpTypes types);

}  // namespace touchstone
