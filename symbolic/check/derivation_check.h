#pragma once

#include <optional>
#include <string>

#include "touchstone/symbolic/check/derivation.h"
#include "touchstone/symbolic/check/ring.h"

namespace touchstone::symbolic {

/// The first step that is not right, and why.
struct Flaw {
  std::size_t chain;  // an assumption, or the number of assumptions for the expression itself
  std::size_t step;   // counts from 0; steps.size() where the chain does not end in the result
  std::string what;
  bool operator==(const Flaw&) const = default;
};

/// Replays a derivation without the simplifier. docs/symbolic.md lists what it asks of each step;
/// it relies on the table of rules, each proved apart, and the files beside this one. A derivation
/// that passes shows: at every point of the variables' bounds at which the assumptions have a value
/// and hold and the start has a value, the result has the same value. It claims nothing elsewhere.
std::optional<Flaw> find_flaw(Derivation& d);

/// The same for one step, taken at `whole` as it was before, with the first `known` assumptions;
/// nullopt where it is right. `Words::None` for who does not read them: they are dear to write.
enum class Words : bool { None, All };
std::optional<std::string> step_flaw(Derivation& d, Ring& ring, const DerivationStep& step,
                                     Expr whole, std::size_t known, Words words = Words::All);

}  // namespace touchstone::symbolic
