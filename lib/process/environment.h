#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace touchstone::process {

/// Which of our variables a program gets: the two lists in environment.cpp. No other variable
/// passes, so that a stray one (CPATH, CCC_OVERRIDE_OPTIONS) changes no result unseen.
enum class Inherits : std::uint8_t {
  Tool,     // a compiler, a linker: what finds programs and libraries; it speaks English
  Backend,  // somebody else's backend: also the settings of Python, of GPUs and of libraries
  Whole,    // all of them
};

/// The variables of a program, "NAME=VALUE": `changes`, then those of ours that it gets.
std::vector<std::string> environment_for(Inherits kind, const std::vector<std::string>& changes);

/// The variables of a Tool as one text: part of the key under which its results are kept.
std::string tool_environment();

}  // namespace touchstone::process
