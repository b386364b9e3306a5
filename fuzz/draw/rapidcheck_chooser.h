#pragma once

#include <rapidcheck.h>

#include <cstdint>
#include <vector>

#include "touchstone/fuzz/choice/chooser.h"

namespace touchstone::fuzz {

/// Choices as RapidCheck draws and shrinks them: one generated type, a list of numbers for a
/// ListChooser. Of use to programs that link RapidCheck alone; the library does not.
inline rc::Gen<std::vector<std::uint32_t>> any_choices(int most = 400) {
  return rc::gen::resize(most, rc::gen::container<std::vector<std::uint32_t>>(
                                   rc::gen::inRange<std::uint32_t>(0, 5040)));
}

}  // namespace touchstone::fuzz
