#pragma once

#include "touchstone/symbolic/node/context.h"

namespace touchstone::symbolic {

/// constant + the sum of coef * atom; atoms distinct and sorted by `compare`, coefficients nonzero.
/// The simplifier's working form of every expression.
struct Linear {
  Int constant;
  Terms terms;

  bool is_constant() const { return terms.empty(); }
  bool operator==(const Linear&) const = default;
};

/// The node as a sum.
Linear linear_of(const Context& context, Id id);

/// The term of the atom, or null.
inline const Term* find_term(std::span<const Term> terms, Id atom) {
  for (const Term& t : terms)
    if (t.atom == atom) return &t;
  return nullptr;
}

/// to += factor * what; both sorted by `compare`, and distinct lists.
void add_terms(const Context& context, Terms& to, std::span<const Term> what, const Int& factor);

}  // namespace touchstone::symbolic
