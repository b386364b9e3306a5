#pragma once

#include <cstdint>
#include <string_view>
#include <type_traits>
#include <vector>

namespace touchstone {

/// A fault of one place in one of our own sources, to show that the fuzzer finds it. The tables in
/// fuzz/mutants/ hold them; only a build with TOUCHSTONE_MUTANTS has them woven in, all of them, of
/// which at most one is on.
struct Mutant {
  std::string_view name, area;
  std::string_view where;  // "symbolic/simplify/divide.cpp:71"
  std::string_view description;
};

/// In the order of the tables; empty in an ordinary build.
std::vector<Mutant> mutants();

/// Puts one on from now; before threads start. Where the environment has TOUCHSTONE_MUTANT, that
/// one is on from the start. Throws ParseError with the nearest name, or where the build holds
/// none.
void select_mutant(std::string_view name);

/// Whether the place of the one that is on was come to since this was last asked.
bool mutant_reached();

#ifdef TOUCHSTONE_MUTANTS
inline std::uint32_t mutant_selected = 0;
inline bool mutant_was_reached = false;

/// The guard of woven code; false in constant expressions.
constexpr bool mutant_on(std::uint32_t number) {
  if (std::is_constant_evaluated()) return false;
  if (mutant_selected != number) [[likely]]
    return false;
  mutant_was_reached = true;
  return true;
}
#endif

}  // namespace touchstone
