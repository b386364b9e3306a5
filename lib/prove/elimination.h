#pragma once

#include <functional>
#include <string>
#include <vector>

#include "touchstone/prove/polynomial.h"
#include "touchstone/prove/solver.h"

namespace touchstone::prove {

/// One question to the solver on the way of a proof: do the facts imply the goal?
struct Query {
  std::string goal;
  std::string script;  // SMT-LIB; without (check-sat)
  Answer answer = Answer::Unknown;
  std::string reason;
  double seconds = 0;
};

/// Proves a claim by taking its divisions out. Two lemmas carry it: for y != 0 every t is y*q + r
/// for one q and one r between 0 and y, which are t // y and t % y. So
/// - a number may be written as y*q + r with new variables q and r, by substitution where it has a
///   variable that stands alone in it; the witness says which, or the simplest division left;
/// - a division t by y whose quotient Q and remainder R can be stated is replaced by them, once
///   t == y*Q + R and R between 0 and y are proved.
/// In the end there is no division. Every step is a question to the solver; polynomial arithmetic
/// only finds what to ask.
class Elimination {
 public:
  using Ask = std::function<bool(const Exprs&, const std::vector<Expr>& facts, Expr goal)>;

  /// `ask` answers whether the facts imply the goal; false where it cannot tell.
  Elimination(const Claim& claim, Ask ask, std::vector<std::string>& steps);

  /// Whether the claim is proved.
  bool run();

 private:
  enum class Sign : std::uint8_t { Negative, Positive, Nonzero, Unknown };
  struct State {
    std::vector<Expr> facts, goals;
    std::vector<Expr> alternatives;  // conditions joined by `or`: proved case by case
    std::vector<Let> witness;        // to be written yet, in order
    std::vector<Let> written;        // now facts: number = divisor*quotient + remainder
    std::vector<Expr> divisors;      // of the numbers written
  };

  bool prove(State state);
  bool prove_cases(State& state);
  bool finish(State state);
  /// Gives a sum that a divisor multiplies in a comparison a name; false where there is none left.
  bool name_multiple(State& state);
  /// Uses an equation among the facts to replace a variable.
  bool use_equation(State& state);
  std::optional<Expr> next_division(const State& state) const;
  bool use_witness(State& state);
  void take_out(State& state, Expr division);
  /// A choice within a division is made case by case; false where there is none.
  bool split_choice(State& state, Expr division);
  /// Divides a variable of a product by a small number and takes its remainders case by case; false
  /// where that cannot help.
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
