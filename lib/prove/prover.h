#pragma once

#include "touchstone/prove/elimination.h"
#include "touchstone/prove/search.h"

namespace touchstone::prove {

enum class Verdict : std::uint8_t { Proved, Refuted, Unknown };

/// The method that decided a claim.
enum class Method : std::uint8_t {
  None,
  Elimination,  // divisions stated and taken out, see elimination.h
  Direct,       // one question, with the solver's own division
  Enumeration,  // every point of a finite claim evaluated
  Search,       // a counterexample found among small points
  Model,        // a counterexample the solver found
};
std::string_view name_of(Verdict verdict);
std::string_view name_of(Method method);

struct Proof {
  Verdict verdict = Verdict::Unknown;
  Method method = Method::None;
  std::vector<std::string> steps;                // of an elimination, in words
  std::vector<Query> queries;                    // every question to the solver, in order
  std::optional<Counterexample> counterexample;  // of a refutation; checked by evaluation
  std::string reason;                            // of an Unknown
  bool vacuous = false;                          // proved, since its conditions never hold
  double seconds = 0;                            // wall clock
};

struct Limits {
  std::size_t first_points = 3000;        // evaluated before the solver is asked
  std::size_t first_enumerated = 20'000;  // points of a finite claim, likewise
  std::size_t last_points = 100'000;      // and after it could not tell
  std::size_t enumerated = 200'000;       // points of a finite claim, after it could not tell
  unsigned step_effort = 400'000;         // solver steps for one question of an elimination
  unsigned effort = 2'000'000;            // and for the claim as a whole
  double step_seconds = 10;         // processor time for one question, then the solver is killed
  double elimination_seconds = 40;  // processor time for all questions of an elimination
  double seconds = 30;              // and for the claim as a whole
};

/// Decides claims. The answer does not depend on what was asked before, and not on the machine
/// unless a limit of processor time is met.
class Prover {
 public:
  explicit Prover(const Limits& limits = {}) : limits_(limits) {}

  Proof prove(const Claim& claim);
  /// Whether two expressions are equal wherever the conditions (joined by `and`, empty: none) hold
  /// and both are defined. Throws ParseError.
  Proof equal(std::string_view a, std::string_view b, std::string_view when = "");

 private:
  bool eliminate(const Claim& claim, Proof& proof);
  void ask_directly(const Claim& claim, Proof& proof);
  /// All that is known where a claim says something; the new parts are of these exprs.
  static std::vector<Expr> facts_of(Exprs& exprs, const Claim& claim);
  /// Whether the conditions are seen to hold nowhere that the left side has a value.
  bool claims_nothing(const Claim& claim);
  bool ask(const Exprs& exprs, const std::vector<Expr>& facts, Expr goal, Proof& proof);

  Limits limits_;
  Solver solver_;
};

/// The questions of a proof as one SMT-LIB file, each with what is expected of it.
std::string smt_file(const Claim& claim, const Proof& proof);

}  // namespace touchstone::prove
