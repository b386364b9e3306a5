#pragma once

#include <optional>
#include <string>

#include "touchstone/symbolic/check/derivation.h"
#include "touchstone/symbolic/check/ring.h"

namespace touchstone::symbolic {

/// The first wrong step and the reason.
struct Flaw {
  std::size_t chain;  // index of the assumption; the number of assumptions means the main chain
  std::size_t step;   // from 0; steps.size() if the chain does not end in its result
  std::string what;
  bool operator==(const Flaw&) const = default;
};

/// Replays a derivation without the simplifier; docs/symbolic.md lists the checks of each step. It
/// trusts the rule table, whose rules are proved separately, and the files of this folder. If it
/// passes, then at every point within the variables' bounds where the assumptions have a value and
/// hold and the start has a value, the result has the same value. Elsewhere it guarantees nothing.
std::optional<Flaw> find_flaw(Derivation& d);

/// Checks one step applied to `whole` with the first `known` assumptions; nullopt if it is correct.
/// Use `Words::None` if the message is not read: messages are expensive.
enum class Words : bool { None, All };
std::optional<std::string> step_flaw(Derivation& d, Ring& ring, const DerivationStep& step,
                                     Expr whole, std::size_t known, Words words = Words::All);

}  // namespace touchstone::symbolic
