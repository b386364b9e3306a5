#pragma once

#include <rapidcheck.h>

#include <cstdint>
#include <vector>

#include "touchstone/fuzz/choice/chooser.h"

namespace touchstone::fuzz {

/// Choices drawn and shrunk by RapidCheck: one type, a list of numbers for a ListChooser. For
/// programs that link RapidCheck; the library does not.
inline rc::Gen<std::vector<std::uint32_t>> any_choices(int most = 400) {
  return rc::gen::resize(most, rc::gen::container<std::vector<std::uint32_t>>(
                                   rc::gen::inRange<std::uint32_t>(0, 5040)));
}

}  // namespace touchstone::fuzz
