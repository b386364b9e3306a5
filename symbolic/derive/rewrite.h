#pragma once

#include <functional>
#include <optional>
#include <set>
#include <tuple>

#include "touchstone/symbolic/check/derivation.h"
#include "touchstone/symbolic/derive/ring_text.h"
#include "touchstone/symbolic/number/limits.h"

namespace touchstone::symbolic {

/// An instance of a rule as an equation between expressions.
struct Equation {
  std::string rule;
  std::vector<std::pair<std::string, Expr>> bindings;
  bool backwards = false;
  Expr from = 0, to = 0;
};

/// Folds trivial identities: x*1, x + 0, 2*3, x//1. The normal form is unchanged.
Expr fold_identities(Exprs& e, Expr root);

/// Finds where an equation applies in an expression and rewrites only that part.
class Rewriter {
 public:
  Rewriter(Derivation& d, Ring& ring) : d_(d), ring_(ring), text_(d.exprs, ring) {}

  /// Starts a chain of steps that may use the first `assumptions` assumptions.
  void know(std::size_t assumptions) {
    known_ = assumptions;
    most_work_ = ring_.work() + kLimits.derived_work;
  }
  /// Resets the budget of `use` to kLimits.tried_places, which bounds the cost of a failed search.
  void start() { tries_ = kLimits.tried_places; }

  /// Applies the equation once to the part of `whole` at `place`; nullopt if it fits nowhere or its
  /// condition is not implied there. The step passes the checker. With `complete`, only a sum that
  /// has all of the equation's several terms matches.
  std::optional<DerivationStep> use(const Equation& equation, Expr whole, const Path& place,
                                    bool complete = false);
  /// Rewrites the part to `after` by a cases step; nullopt if that does not prove it.
  std::optional<DerivationStep> cases(Expr whole, const Path& place, Expr after);
  /// The same by a cases or a points step.
  std::optional<DerivationStep> in_one(Expr whole, const Path& place, Expr after);
  /// Adds the facts that the step needs if its own are insufficient; reversing a step may need
  /// more.
  void state_facts(DerivationStep& step, Expr whole);

 private:
  /// Where to match: sums with all terms, other sums, whole parts equal to one side, quotients that
  /// are a term.
  enum class Pass : std::uint8_t { Complete, Sums, Whole, Atoms };
  struct Candidate {
    Expr after, context;
  };
  std::optional<DerivationStep> tried(const Equation& equation, Expr whole, const Path& path,
                                      const Candidate& c);
  std::vector<Candidate> candidates(const Equation& equation, Expr part, bool inner, Pass pass);
  void as_terms(const Equation& q, Expr part, bool complete, std::vector<Candidate>& out);
  void as_members(const Equation& q, Expr part, std::vector<Candidate>& out);
  void as_conjuncts(const Equation& q, Expr part, std::vector<Candidate>& out);
  Expr resembling(Expr part, PolyId target, PolyId added, Expr addition);
  void fewest_facts(DerivationStep& step, Expr whole);

  /// Steps that the checker rejected: rule, direction, bindings, parts, facts.
  using Refused = std::tuple<std::string, bool, std::vector<std::pair<std::string, Expr>>, Expr,
                             Expr, Expr, std::vector<Expr>>;

  Derivation& d_;
  Ring& ring_;
  RingText text_;
  std::set<Refused> refused_;
  std::size_t known_ = 0;
  std::int64_t most_work_ = kLimits.derived_work;  // ring_.work() at which to stop
  int tries_ = kLimits.tried_places;
};

}  // namespace touchstone::symbolic
