#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace touchstone::process {

/// The environment variables that a program inherits: two lists in environment.cpp. No other
/// variable passes, so that a stray one (CPATH, CCC_OVERRIDE_OPTIONS) cannot silently change
/// results.
enum class Inherits : std::uint8_t {
  Tool,     // a compiler or linker: search paths; messages in English
  Backend,  // an external backend: also Python, GPU and library settings
  Whole,    // everything
};

/// Returns a program's environment as "NAME=VALUE": `changes`, then the inherited variables.
std::vector<std::string> environment_for(Inherits kind, const std::vector<std::string>& changes);

/// The environment of a Tool as one text; part of the cache key of its results.
std::string tool_environment();

}  // namespace touchstone::process
