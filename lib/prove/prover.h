#pragma once

#include "touchstone/prove/elimination.h"
#include "touchstone/prove/search.h"

namespace touchstone::prove {

enum class Verdict : std::uint8_t { Proved, Refuted, Unknown };

/// The method that decided a claim.
enum class Method : std::uint8_t {
  None,
  Elimination,  // divisions eliminated, see elimination.h
  Direct,       // one question, using the solver's own division
  Enumeration,  // every point of a finite claim evaluated
  Search,       // a counterexample among small points
  Model,        // a counterexample from the solver
  // Of decide/decide.h:
  Laws,      // the simplifier's steps
  Cases,     // one step of the checker, case by case
  Points,    // the same, at all points
  Residues,  // a number of each residue class evaluated
  Parts,     // each operand of an `and` decided
};

constexpr std::string_view name_of(Verdict verdict) {
  constexpr std::string_view kNames[] = {"proved", "refuted", "unknown"};
  return kNames[static_cast<std::size_t>(verdict)];
}
constexpr std::string_view name_of(Method method) {
  constexpr std::string_view kNames[] = {"none",   "elimination", "direct", "enumeration",
                                         "search", "model",       "laws",   "cases",
                                         "points", "residues",    "parts"};
  return kNames[static_cast<std::size_t>(method)];
}

struct Proof {
  Verdict verdict = Verdict::Unknown;
  Method method = Method::None;
  std::vector<std::string> steps;                // of an elimination, as text
  std::vector<Query> queries;                    // all questions to the solver, in order
  std::optional<Counterexample> counterexample;  // if refuted; checked by evaluation
  std::string reason;                            // if unknown
  std::string certificate;                       // lines of JSON that the checker accepts
  std::string confirmed;           // without one: what else speaks for the proof, from decide.h
  std::vector<std::string> tried;  // methods of decide.h without an answer, and why
  bool vacuous = false;            // proved because its conditions never hold
  double seconds = 0;              // wall-clock time

  /// With a certificate, or what else speaks for it.
  bool accept(Method how, std::string certified = "", std::string told = "");
  /// False, and nothing changes, without a counterexample.
  bool refute(Method how, std::optional<Counterexample> found);
};

struct Limits {
  std::size_t first_points = 3000;        // evaluated before asking the solver
  std::size_t first_enumerated = 20'000;  // points of a finite claim, likewise
  std::size_t last_points = 100'000;      // evaluated if the solver cannot decide
  std::size_t enumerated = 200'000;       // points of a finite claim, likewise
  unsigned step_effort = 400'000;         // solver steps per question of an elimination
  unsigned effort = 2'000'000;            // solver steps for the whole claim
  double step_seconds = 10;               // CPU time per question, then the solver is killed
  double elimination_seconds = 40;        // CPU time for all questions of an elimination
  double seconds = 30;                    // CPU time for the whole claim
};

/// Decides claims. Answers do not depend on earlier questions, nor on the machine unless a CPU time
/// limit is exceeded.
class Prover {
 public:
  explicit Prover(const Limits& limits = {}) : limits_(limits) {}

  Proof prove(const Claim& claim);
  /// Decides whether two expressions are equal wherever the conditions (joined by `and`; empty:
  /// none) hold and both are defined. Throws ParseError.
  Proof equal(std::string_view a, std::string_view b, std::string_view when = "") {
    return prove(equality(a, b, when));
  }
  /// The claim that `equal` decides.
  static Claim equality(std::string_view a, std::string_view b, std::string_view when);
  /// True if the conditions are found to hold nowhere that the left side is defined.
  bool claims_nothing(const Claim& claim);

 private:
  bool eliminate(const Claim& claim, Proof& proof);
  bool ask_directly(const Claim& claim, Proof& proof);
  /// All facts that hold where a claim applies; new parts are added to these exprs.
  static std::vector<Expr> facts_of(Exprs& exprs, const Claim& claim);
  bool ask(const Exprs& exprs, const std::vector<Expr>& facts, Expr goal, Proof& proof);
  /// Asks, and keeps the question with its answer.
  Reply put(Query query, unsigned effort, double seconds, Proof& proof);

  Limits limits_;
  Solver solver_;
};

/// Formats the questions of a proof as one SMT-LIB file with the expected answers.
std::string smt_file(const Claim& claim, const Proof& proof);

}  // namespace touchstone::prove
