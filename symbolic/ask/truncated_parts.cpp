#include "touchstone/symbolic/ask/truncated_parts.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "touchstone/base/error.h"
#include "touchstone/symbolic/expr/operators.h"
#include "touchstone/symbolic/expr/rebuild.h"
#include "touchstone/symbolic/node/context.h"

namespace touchstone::symbolic {

namespace {

bool is_truncation(ExprOp op) { return op == ExprOp::TruncDiv || op == ExprOp::TruncMod; }

/// Simplifies parts of one expression, each once.
class TruncatedParts {
 public:
  explicit TruncatedParts(const Question& question) : question_(question) {
    for (const auto& [variable, range] : question.variables) {
      last_ = std::max(last_, variable);
      if (range.is_point()) numbers_.emplace(variable, exprs_.constant(*range.lo));
    }
  }

  std::optional<Written> solve();

 private:
  struct Part {
    Expr expr;
    Interval bounds;
  };
  /// The smallest form of an expression over the question's variables and those that replace parts.
  Part simplified(Expr e);
  /// A form that keeps truncations; nullopt if one may be undefined where e is defined.
  std::optional<Expr> kept(Expr e);
  /// The same for e itself a truncation.
  Expr of_simplified_operands(Expr truncation);
  /// A simplified truncation inside another expression; nullopt if it must be defined and may not
  /// be.
  std::optional<Expr> part(Expr truncation, bool must_have_value);
  /// root with its parts replaced by `to`, simplified.
  Expr around(Expr root, const std::map<Expr, Expr>& to);
  /// The variable that replaces a part.
  Expr variable_for(Expr part, const Interval& bounds);
  /// For a variable that replaces tmod(x, y): x - y*v, where v replaces tdiv(x, y).
  std::optional<Expr> by_quotient(Expr variable);

  /// The truncations not nested in another one.
  std::set<Expr> outermost(Expr root) const;
  bool truncates(Expr root) const;
  /// True if all divisors are nonzero literals.
  bool divides_by_numbers(Expr root) const;
  /// The parts without which root is undefined too.
  std::set<Expr> needed(Expr root) const;

  const Question& question_;
  Exprs exprs_;
  Context scratch_;
  std::string last_;  // the last name; no variable has it as a proper prefix
  std::map<std::string, Expr, std::less<>> numbers_;  // one-valued variables
  std::map<Expr, Part> known_;
  std::map<std::string, Interval> bounds_;          // of variables that replace parts
  std::map<std::string, Expr, std::less<>> parts_;  // the parts that they replace
  std::map<Expr, Expr> variables_;                  // the variable for each such part
};

std::set<Expr> TruncatedParts::outermost(Expr root) const {
  std::set<Expr> found, seen{root};
  std::vector<Expr> todo{root};
  while (!todo.empty()) {
    const Expr e = todo.back();
    todo.pop_back();
    if (is_truncation(exprs_.op(e))) {
      found.insert(e);
      continue;
    }
    for (const Expr a : exprs_.args(e))
      if (seen.insert(a).second) todo.push_back(a);
  }
  return found;
}

bool TruncatedParts::truncates(Expr root) const {
  return std::ranges::any_of(exprs_.parts(root),
                             [&](Expr e) { return is_truncation(exprs_.op(e)); });
}

bool TruncatedParts::divides_by_numbers(Expr root) const {
  return std::ranges::all_of(exprs_.parts(root), [&](Expr e) {
    if (!divides(exprs_.op(e))) return true;
    const Expr divisor = exprs_.arg(e, 1);
    return exprs_.is_constant(divisor) && !exprs_.is_constant(divisor, 0);
  });
}

std::set<Expr> TruncatedParts::needed(Expr root) const {
  std::set<Expr> found{root};
  std::vector<Expr> todo{root};
  while (!todo.empty()) {
    const Expr e = todo.back();
    todo.pop_back();
    const ExprOp op = exprs_.op(e);
    if (op == ExprOp::And || op == ExprOp::Or) continue;  // an operand may decide the result
    const std::size_t count = op == ExprOp::Where ? 1 : exprs_.args(e).size();
    for (std::size_t i = 0; i < count; ++i)
      if (found.insert(exprs_.arg(e, i)).second) todo.push_back(exprs_.arg(e, i));
  }
  return found;
}

TruncatedParts::Part TruncatedParts::simplified(Expr e) {
  if (const auto known = known_.find(e); known != known_.end()) return known->second;
  Question question{question_.variables, question_.assumptions, render(exprs_, e)};
  question.variables.insert(question.variables.end(), bounds_.begin(), bounds_.end());
  Part best;
  {
    const Reading reading(question, scratch_);
    const Solution solution(reading, question, scratch_, Truncations::Opened);
    best = {parse_expr(exprs_, solution.text()), solution.bounds()};
  }
  if (truncates(e))
    if (const auto other = kept(e); other && exprs_.size(*other) < exprs_.size(best.expr)) {
      best.expr = *other;  // a shorter form may shrink again
      if (*other != e) best.expr = simplified(*other).expr;
    }
  return known_.emplace(e, best).first->second;
}

Expr TruncatedParts::of_simplified_operands(Expr truncation) {
  const Expr over = exprs_.arg(truncation, 0), by = exprs_.arg(truncation, 1);
  const Expr less = simplified(over).expr;
  return tidied(exprs_, exprs_.apply(exprs_.op(truncation), {less, simplified(by).expr}));
}

std::optional<Expr> TruncatedParts::part(Expr truncation, bool must_have_value) {
  if (must_have_value) {
    const Expr over = exprs_.arg(truncation, 0), by = exprs_.arg(truncation, 1);
    const Interval range = simplified(by).bounds;
    if (!(range.at_least(1) || range.at_most(-1)) || !divides_by_numbers(over) ||
        !divides_by_numbers(by))
      return std::nullopt;
  }
  return simplified(of_simplified_operands(truncation)).expr;
}

Expr TruncatedParts::variable_for(Expr part, const Interval& bounds) {
  const auto [at, fresh] = variables_.try_emplace(part);
  if (!fresh) return at->second;
  // Named by text, so that the result does not depend on the order of visits.
  std::string name = last_ + "_";
  for (const char c : render(exprs_, part))
    name += fmt::format("{:02x}", static_cast<unsigned char>(c));
  bounds_.emplace(name, bounds);
  parts_.emplace(name, part);
  return at->second = exprs_.variable(name);
}

std::optional<Expr> TruncatedParts::by_quotient(Expr variable) {
  if (exprs_.op(variable) != ExprOp::Variable) return std::nullopt;
  const auto part = parts_.find(exprs_.name(variable));
  if (part == parts_.end() || exprs_.op(part->second) != ExprOp::TruncMod) return std::nullopt;
  const Expr over = exprs_.arg(part->second, 0), by = exprs_.arg(part->second, 1);
  const auto quotient = variables_.find(exprs_.apply(ExprOp::TruncDiv, {over, by}));
  if (quotient == variables_.end()) return std::nullopt;
  return exprs_.apply(ExprOp::Sub, {over, exprs_.apply(ExprOp::Mul, {by, quotient->second})});
}

Expr TruncatedParts::around(Expr root, const std::map<Expr, Expr>& to) {
  const auto by = [&](Expr e) -> std::optional<Expr> {
    const auto found = to.find(e);
    return found == to.end() ? std::nullopt : std::optional(found->second);
  };
  const Expr rest = simplified(tidied(exprs_, replaced(exprs_, root, by))).expr;
  return tidied(exprs_, exprs_.substitute(rest, parts_));
}

std::optional<Expr> TruncatedParts::kept(Expr e) {
  if (is_truncation(exprs_.op(e))) return of_simplified_operands(e);
  const std::set<Expr> always = needed(e);
  std::map<Expr, Expr> to;
  for (const Expr truncation : outermost(e)) {
    const auto made = part(truncation, !always.contains(truncation));
    if (!made) return std::nullopt;
    to.emplace(truncation,
               truncates(*made) ? variable_for(*made, simplified(*made).bounds) : *made);
  }
  Expr best = around(e, to);
  bool joined = false;
  for (auto& [truncation, now] : to)
    if (const auto other = by_quotient(now)) {
      now = *other;
      joined = true;
    }
  if (joined)
    if (const Expr other = around(e, to); exprs_.size(other) < exprs_.size(best)) best = other;
  return best;
}

std::optional<Written> TruncatedParts::solve() {
  const Expr written = parse_expr(exprs_, question_.text);
  const Expr root = tidied(exprs_, exprs_.substitute(written, numbers_));
  if (!truncates(root)) return std::nullopt;
  const auto other = kept(root);
  if (!other) return std::nullopt;
  Expr best = *other;
  if (best != root)  // a shorter form may shrink again
    if (const Expr again = simplified(best).expr; exprs_.size(again) <= exprs_.size(best))
      best = again;
  return Written{render(exprs_, best), exprs_.size(best)};
}

}  // namespace

bool truncates(const Tape& tape) {
  for (Tape::Part p = 0; p < tape.parts(); ++p)
    if (is_truncation(tape.step(p).op)) return true;
  return false;
}

std::optional<Written> with_truncated_parts(const Question& question) {
  try {
    return TruncatedParts(question).solve();
  } catch (const ParseError&) {  // a part divides by 0 but does not affect the whole
    return std::nullopt;
  }
}

}  // namespace touchstone::symbolic
