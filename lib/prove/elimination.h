#pragma once

#include <functional>
#include <string>
#include <vector>

#include "touchstone/prove/polynomial.h"
#include "touchstone/prove/solver.h"

namespace touchstone::prove {

/// One question to the solver in a proof: do the facts imply the goal?
struct Query {
  std::string goal;
  std::string script;  // SMT-LIB; without (check-sat)
  Answer answer = Answer::Unknown;
  std::string reason;
  double seconds = 0;
};

/// Proves a claim by eliminating its divisions. It rests on two lemmas: for y != 0 every t equals
/// y*q + r for exactly one q and one r between 0 and y, namely t // y and t % y. So
/// - a number may be written as y*q + r with new variables q and r, by substitution if a variable
///   stands alone in it; the witness chooses the number, or else the simplest remaining division;
/// - a division t by y with candidates Q and R for quotient and remainder is replaced by them once
///   t == y*Q + R, with R between 0 and y, is proved.
/// The result has no divisions. The solver proves every step; polynomial arithmetic only suggests
/// candidates.
class Elimination {
 public:
  using Ask = std::function<bool(const Exprs&, const std::vector<Expr>& facts, Expr goal)>;

  /// `ask` returns true if the facts imply the goal; false if undecided.
  Elimination(const Claim& claim, Ask ask, std::vector<std::string>& steps);

  /// True if the claim is proved.
  bool run();

 private:
  enum class Sign : std::uint8_t { Negative, Positive, Nonzero, Unknown };
  struct State {
    std::vector<Expr> facts, goals;
    std::vector<Expr> alternatives;  // conditions joined by `or`, proved case by case
    std::vector<Let> witness;        // still to be applied, in order
    std::vector<Let> written;        // applied, hence facts: number = divisor*quotient + remainder
    std::vector<Expr> divisors;      // of the applied numbers
  };

  bool prove(State state);
  bool prove_cases(State& state);
  bool finish(State state);
  /// Names a sum that a comparison multiplies by a divisor; false if there is none.
  bool name_multiple(State& state);
  /// Replaces a variable by means of an equation among the facts.
  bool use_equation(State& state);
  std::optional<Expr> next_division(const State& state) const;
  bool use_witness(State& state);
  void take_out(State& state, Expr division);
  /// Splits a `where` inside a division into cases; false if there is none.
  bool split_choice(State& state, Expr division);
  /// Writes a variable of a product modulo a small number and splits on its remainder; false if
  /// that cannot help.
  bool split_residues(State& state, Expr divisor, const Polynomial& number);
  bool state_quotient(State& state, Expr division, const Division& found, Sign sign);
  std::optional<Division> known_quotient(const State& state, const Division& found, Expr divisor);
  void write_number(State& state, const Let& let, Sign sign);
  void guard_division(State& state, Expr division);

  Expr apply(ExprOp op, Expr a, Expr b) { return e_.apply(op, {a, b}); }
  Expr between(Expr remainder, Expr divisor, Sign sign);
  Expr sum_of(const Let& let);
  std::optional<Polynomial> polynomial(const State& state, Expr root);
  bool divided(Expr root) const;
  bool implied(const State& state, Expr goal);
  Sign sign_of(const State& state, Expr divisor);
  void split_by_sign(State& state, Expr divisor);
  void split_narrow_ranges(State& state);
  void replace(State& state, const std::function<Expr(Expr)>& rewrite);
  void replace_variable(State& state, Expr variable, Expr by);
  void replace_parts(State& state, const std::function<std::optional<Expr>(Expr)>& by);
  void replace_part(State& state, Expr part, Expr value);
  void replace_division(State& state, Expr divided, Expr divisor, Expr quotient, Expr remainder);
  Expr fresh(const char* stem);
  std::string show(Expr root) const { return render(e_, root); }

  Claim claim_;
  Exprs& e_;
  Ask ask_;
  std::vector<std::string>& steps_;
  std::vector<std::string> names_;
  std::map<std::pair<std::vector<Expr>, Expr>, bool> answers_;
  int questions_left_ = 400;
};

}  // namespace touchstone::prove
