#pragma once

#include <optional>
#include <string>

#include "touchstone/symbolic/derivation.h"
#include "touchstone/symbolic/ring.h"

namespace touchstone::symbolic {

/// The first step that is not right, and why.
struct Flaw {
  std::size_t chain;  // an assumption, or the number of assumptions for the expression itself
  std::size_t step;   // counts from 0; steps.size() where the chain does not end in the result
  std::string what;
  bool operator==(const Flaw&) const = default;
};

/// Replays a derivation without the simplifier. Each step must be an instance of its rule: the part
/// has the normal form (ring.h) of the context around one side, becomes that around the other, and
/// the rule's condition follows from the facts (entailment.h), which must be among what is known at
/// that place; and the new part divides by 0 nowhere where the old one does not. The parts must
/// stand where the path says, and the chain must be unbroken from start to result. What it relies
/// on: the table of rules, each proved apart, and the files beside this one. A derivation that
/// passes shows that start and result are equal at every point of the variables' bounds where the
/// assumptions hold and nothing divides by 0.
std::optional<Flaw> find_flaw(Derivation& d);

/// The same for one step, taken at `whole` as it was before, with the first `known` assumptions;
/// nullopt where it is right. `Words::None` for who does not read them: they are dear to write.
enum class Words : bool { None, All };
std::optional<std::string> step_flaw(Derivation& d, Ring& ring, const DerivationStep& step,
                                     Expr whole, std::size_t known, Words words = Words::All);

}  // namespace touchstone::symbolic
