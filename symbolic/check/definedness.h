#pragma once

#include <optional>
#include <span>
#include <vector>

#include "touchstone/symbolic/check/entailment.h"

namespace touchstone::symbolic {

/// A division whose divisor is not written as a number other than 0.
struct Division {
  Expr written;  // the divisor
  PolyId divisor;
  std::vector<Expr> where;  // the division is evaluated wherever all of these hold
  PolyId guard;             // 1 there, else 0
};

/// True if each divisor is written as a number other than 0.
bool has_value(const Exprs& e, Expr root);

/// The divisions that evaluating an expression carries out. An operand of `and` or `or` counts only
/// where the other operand does not decide.
std::vector<Division> divisions_of(Exprs& e, Ring& ring, Expr root);

/// Within the budget of a step, shows that expressions have a value at every point where the facts
/// hold and every division in `computed` that is evaluated there has a divisor other than 0.
class Definedness {
 public:
  Definedness(Exprs& e, Ring& ring, std::span<const Expr> facts, std::vector<Division> computed);

  /// The first divisor, as written, that may be 0 at such a point; nullopt if there is none.
  std::optional<Expr> zero_divisor(Expr root);
  /// From now on `root` has a value at those points as well: zero_divisor has said so.
  void assume_value(Expr root);
  /// The facts, and of the divisors those that are never 0 there.
  const Entailment& facts() const { return facts_; }
  Entailment& facts() { return facts_; }
  std::span<const Division> computed() const { return computed_; }

 private:
  void add(Division x);
  bool not_zero(const Division& x);

  Exprs& e_;
  Ring& ring_;
  Entailment::Budget budget_;  // of all questions, also those of copies
  Entailment facts_;
  std::vector<Division> computed_;
};

}  // namespace touchstone::symbolic
