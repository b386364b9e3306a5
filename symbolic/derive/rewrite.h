#pragma once

#include <functional>
#include <optional>
#include <set>
#include <tuple>

#include "touchstone/symbolic/check/derivation.h"
#include "touchstone/symbolic/derive/ring_text.h"
#include "touchstone/symbolic/number/limits.h"

namespace touchstone::symbolic {

/// An equation between expressions: an instance of a rule.
struct Equation {
  std::string rule;
  std::vector<std::pair<std::string, Expr>> bindings;
  bool backwards = false;
  Expr from = 0, to = 0;
};

/// The expression without what needs no thought: x*1, x + 0, 2*3, x//1. Its normal form stays.
Expr fold_identities(Exprs& e, Expr root);

/// Finds where in an expression an equation can be used, and writes the result so that what is not
/// concerned stays as it is.
class Rewriter {
 public:
  Rewriter(Derivation& d, Ring& ring) : d_(d), ring_(ring), text_(d.exprs, ring) {}

  /// A chain of steps begins, in which the first n assumptions may be used.
  void know(std::size_t assumptions) {
    known_ = assumptions;
    most_work_ = ring_.work() + kLimits.derived_work;
  }
  /// From now on `use` may try kLimits.tried_places places, so that what no equation explains costs
  /// little.
  void start() { tries_ = kLimits.tried_places; }

  /// Uses the equation once in the part of `whole` at `place`; nullopt where it fits nowhere or its
  /// condition does not follow from what is known there. The step passes the checker.
  /// `complete` asks for a sum that has all terms of the equation, and that it has several.
  std::optional<DerivationStep> use(const Equation& equation, Expr whole, const Path& place,
                                    bool complete = false);
  /// The part becomes `after`, by cases; nullopt where that does not show it.
  std::optional<DerivationStep> cases(Expr whole, const Path& place, Expr after);
  /// The same, or at all points.
  std::optional<DerivationStep> in_one(Expr whole, const Path& place, Expr after);
  /// The facts that a step needs, where those that it has do not do: turned around it may need
  /// more.
  void state_facts(DerivationStep& step, Expr whole);

 private:
  /// Where to look: at sums, at parts that are one side as they stand, at quotients that are a
  /// term.
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

  /// What the checker refused, and would again: a rule, its bindings, the parts, the facts.
  using Refused = std::tuple<std::string, bool, std::vector<std::pair<std::string, Expr>>, Expr,
                             Expr, Expr, std::vector<Expr>>;

  Derivation& d_;
  Ring& ring_;
  RingText text_;
  std::set<Refused> refused_;
  std::size_t known_ = 0;
  std::int64_t most_work_ = kLimits.derived_work;  // of the ring
  int tries_ = kLimits.tried_places;
};

}  // namespace touchstone::symbolic
