#pragma once

#include <cstdint>
#include <string_view>
#include <type_traits>
#include <vector>

namespace touchstone {

/// A deliberate fault at one place in our sources, used to show that the fuzzer finds it. The
/// mutants are defined in fuzz/mutants/; a build with TOUCHSTONE_MUTANTS contains all of them and
/// activates at most one.
struct Mutant {
  std::string_view name, area;
  std::string_view where;  // "symbolic/simplify/divide.cpp:71"
  std::string_view description;
};

/// All mutants in table order; empty in an ordinary build.
std::vector<Mutant> mutants();

/// Activates a mutant; call it before starting threads. The environment variable TOUCHSTONE_MUTANT
/// activates one from the start. Throws ParseError with the nearest name if the name is unknown or
/// the build has no mutants.
void select_mutant(std::string_view name);

/// True if the active mutant's code was executed since the last call.
bool mutant_reached();

#ifdef TOUCHSTONE_MUTANTS
inline std::uint32_t mutant_selected = 0;
inline bool mutant_was_reached = false;

/// The guard around woven-in code; false in constant expressions.
constexpr bool mutant_on(std::uint32_t number) {
  if (std::is_constant_evaluated()) return false;
  if (mutant_selected != number) [[likely]]
    return false;
  mutant_was_reached = true;
  return true;
}
#endif

}  // namespace touchstone
