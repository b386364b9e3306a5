#include "touchstone/symbolic/truncated_parts.h"

#include <algorithm>
#include <map>
#include <set>

#include "touchstone/base/error.h"
#include "touchstone/symbolic/context.h"
#include "touchstone/symbolic/expr.h"
#include "touchstone/symbolic/operators.h"

namespace touchstone::symbolic {

namespace {

bool is_truncation(ExprOp op) { return op == ExprOp::TruncDiv || op == ExprOp::TruncMod; }

/// One question after another about parts of an expression.
class TruncatedParts {
 public:
  explicit TruncatedParts(const Question& question) : question_(question) {}

  std::optional<Written> solve();

 private:
  /// The truncations that stand in no other, each once.
  std::set<Expr> outermost(Expr root) const;
  bool truncates(Expr root) const;
  /// Whether all divisors in it are numbers but 0.
  bool divides_by_numbers(Expr root) const;

  struct Part {
    Expr expr;
    Interval bounds;
  };
  /// The same question about a part, or about an expression in further variables.
  Part ask(Expr part, const std::map<std::string, Interval>& further = {});
  /// Those parts of root without a value of which it has none either.
  std::set<Expr> needed(Expr root) const;
  /// A truncation of simplified operands; nullopt where it may have no value though it must have.
  std::optional<Part> simplified(Expr truncation, bool must_have_value);
  /// Finds what the outermost truncations of root become; false where one may have no value though
  /// root has one.
  bool stand_for_parts(Expr root);
  /// Of a variable that stands for tmod(x, y): x - y*v, where v stands for tdiv(x, y).
  std::optional<Expr> by_quotient(Expr variable);
  Expr replaced(Expr root);
  /// root simplified around what its truncations became.
  Written around(Expr root);

  const Question& question_;
  Exprs exprs_;
  Context scratch_;
  std::map<Expr, Expr> to_;                         // what truncations became
  std::map<std::string, Interval> bounds_;          // of variables that stand for parts
  std::map<std::string, Expr, std::less<>> parts_;  // those parts
  std::map<Expr, Expr> variables_;                  // of each such part its variable
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

TruncatedParts::Part TruncatedParts::ask(Expr part,
                                         const std::map<std::string, Interval>& further) {
  Question question{question_.variables, question_.assumptions, render(exprs_, part)};
  question.variables.insert(question.variables.end(), further.begin(), further.end());
  const Reading reading(question, scratch_);
  const Solution solution(reading, question, scratch_);
  return {parse_expr(exprs_, solution.text()), solution.bounds()};
}

std::set<Expr> TruncatedParts::needed(Expr root) const {
  std::set<Expr> found{root};
  std::vector<Expr> todo{root};
  while (!todo.empty()) {
    const Expr e = todo.back();
    todo.pop_back();
    const ExprOp op = exprs_.op(e);
    if (op == ExprOp::And || op == ExprOp::Or) continue;  // one part may decide
    const std::size_t count = op == ExprOp::Where ? 1 : exprs_.args(e).size();
    for (std::size_t i = 0; i < count; ++i)
      if (found.insert(exprs_.arg(e, i)).second) todo.push_back(exprs_.arg(e, i));
  }
  return found;
}

std::optional<TruncatedParts::Part> TruncatedParts::simplified(Expr truncation,
                                                               bool must_have_value) {
  const ExprOp op = exprs_.op(truncation);
  const Expr dividend = exprs_.arg(truncation, 0), divisor = exprs_.arg(truncation, 1);
  const Part over = ask(dividend), by = ask(divisor);
  if (must_have_value) {
    const bool not_zero =
        (by.bounds.lo && by.bounds.lo->sign() > 0) || (by.bounds.hi && by.bounds.hi->sign() < 0);
    if (!not_zero || !divides_by_numbers(dividend) || !divides_by_numbers(divisor))
      return std::nullopt;
  }
  return ask(tidied(exprs_, exprs_.apply(op, {over.expr, by.expr})));
}

std::optional<Expr> TruncatedParts::by_quotient(Expr variable) {
  const auto part = std::ranges::find(variables_, variable, &std::pair<const Expr, Expr>::second);
  if (part == variables_.end() || exprs_.op(part->first) != ExprOp::TruncMod) return std::nullopt;
  const Expr over = exprs_.arg(part->first, 0), by = exprs_.arg(part->first, 1);
  const auto quotient = variables_.find(exprs_.apply(ExprOp::TruncDiv, {over, by}));
  if (quotient == variables_.end()) return std::nullopt;
  return exprs_.apply(ExprOp::Sub, {over, exprs_.apply(ExprOp::Mul, {by, quotient->second})});
}

Expr TruncatedParts::replaced(Expr root) {
  std::map<Expr, Expr> now = to_;
  for (const Expr e : exprs_.parts(root)) {
    if (now.contains(e)) continue;
    std::vector<Expr> args;
    for (const Expr a : exprs_.args(e)) args.push_back(now.at(a));
    now.emplace(e, args.empty() ? e : exprs_.apply(exprs_.op(e), args));
  }
  return now.at(root);
}

bool TruncatedParts::stand_for_parts(Expr root) {
  std::map<std::string, Part> kept;  // by their text, so that their order is always the same
  std::map<Expr, std::string> texts;
  const std::set<Expr> always = needed(root);
  for (const Expr e : outermost(root)) {
    const auto part = simplified(e, !always.contains(e));
    if (!part) return false;
    if (!truncates(part->expr)) {
      to_.emplace(e, part->expr);
      continue;
    }
    const std::string text = render(exprs_, part->expr);
    kept.emplace(text, *part);
    texts.emplace(e, text);
  }
  std::string last;  // what is behind the last name is no variable's, and stands behind them
  for (const auto& [variable, range] : question_.variables) last = std::max(last, variable);
  for (const auto& [text, part] : kept) {
    const std::string stands = last + "_" + std::to_string(bounds_.size());
    bounds_.emplace(stands, part.bounds);
    parts_.emplace(stands, part.expr);
    variables_.emplace(part.expr, exprs_.variable(stands));
  }
  for (const auto& [e, text] : texts) to_.emplace(e, variables_.at(kept.at(text).expr));
  return true;
}

Written TruncatedParts::around(Expr root) {
  const Expr rest = ask(tidied(exprs_, replaced(root)), bounds_).expr;
  const Expr whole = tidied(exprs_, exprs_.substitute(rest, parts_));
  return {render(exprs_, whole), exprs_.size(whole)};
}

std::optional<Written> TruncatedParts::solve() {
  std::map<std::string, Expr, std::less<>> numbers;
  for (const auto& [variable, range] : question_.variables)
    if (range.is_point()) numbers.emplace(variable, exprs_.constant(*range.lo));
  const Expr written = parse_expr(exprs_, question_.text);
  const Expr root = tidied(exprs_, exprs_.substitute(written, numbers));
  if (is_truncation(exprs_.op(root))) {
    const Expr over = exprs_.arg(root, 0), by = exprs_.arg(root, 1);
    const Expr made = exprs_.apply(exprs_.op(root), {ask(over).expr, ask(by).expr});
    return Written{render(exprs_, made), exprs_.size(made)};
  }
  if (!stand_for_parts(root)) return std::nullopt;
  Written best = around(root);
  bool joined = false;
  for (auto& [e, now] : to_)
    if (const auto other = by_quotient(now)) {
      now = *other;
      joined = true;
    }
  if (joined)
    if (Written other = around(root); other.size < best.size) best = std::move(other);
  return best;
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
  } catch (const ParseError&) {  // a part divides by 0 that the whole leaves out
    return std::nullopt;
  }
}

}  // namespace touchstone::symbolic
