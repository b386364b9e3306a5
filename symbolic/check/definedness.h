#pragma once

#include <optional>
#include <span>
#include <vector>

#include "touchstone/symbolic/check/entailment.h"

namespace touchstone::symbolic {

/// A division whose divisor is not a nonzero literal.
struct Division {
  Expr written;  // the divisor
  PolyId divisor;
  std::vector<Expr> where;  // evaluated wherever all of these hold
  PolyId guard;             // 1 there, 0 elsewhere
};

/// True if each divisor is a nonzero literal.
bool has_value(const Exprs& e, Expr root);

/// The divisions evaluated with an expression. An operand of `and` or `or` counts only where the
/// other operand does not decide the result.
std::vector<Division> divisions_of(Exprs& e, Ring& ring, Expr root);

/// Shows, within one step's budget, that expressions have a value at every point where the facts
/// hold and every evaluated division in `computed` has a nonzero divisor.
class Definedness {
 public:
  Definedness(Exprs& e, Ring& ring, std::span<const Expr> facts, std::vector<Division> computed);

  /// The first divisor, as written, that may be 0 at such a point; nullopt if there is none.
  std::optional<Expr> zero_divisor(Expr root);
  /// Assumes from now on that `root` has a value at those points, as zero_divisor has shown.
  void assume_value(Expr root);
  /// The facts, with the divisors known to be nonzero.
  const Entailment& facts() const { return facts_; }
  Entailment& facts() { return facts_; }
  std::span<const Division> computed() const { return computed_; }

 private:
  void add(Division x);
  bool not_zero(const Division& x);

  Exprs& e_;
  Ring& ring_;
  Entailment::Budget budget_;  // shared by all questions and by copies
  Entailment facts_;
  std::vector<Division> computed_;
};

}  // namespace touchstone::symbolic
