#include "touchstone/symbolic/simplify/match.h"

#include <algorithm>
#include <string>

#include "touchstone/symbolic/expr/operators.h"
#include "touchstone/symbolic/simplify/simplifier.h"

namespace touchstone::symbolic {

namespace {

using Op = Pattern::Op;
using Root = Rule::Root;

/// The factor with value * ratio == s; nullopt if there is none.
std::optional<Int> ratio(const Linear& s, const Linear& value) {
  if (value.terms.empty()) {
    if (!s.terms.empty() || value.constant.is_zero() || !divides(value.constant, s.constant))
      return std::nullopt;
    return floor_div(s.constant, value.constant);
  }
  if (s.terms.size() != value.terms.size()) return std::nullopt;
  if (!divides(value.terms[0].coef, s.terms[0].coef)) return std::nullopt;
  const Int r = floor_div(s.terms[0].coef, value.terms[0].coef);
  for (std::size_t i = 0; i < s.terms.size(); ++i)
    if (s.terms[i].atom != value.terms[i].atom || s.terms[i].coef != value.terms[i].coef * r)
      return std::nullopt;
  return s.constant == value.constant * r ? std::optional(r) : std::nullopt;
}

}  // namespace

std::optional<Bindings> Matcher::match(const CompiledRule& rule, std::span<const Linear> subjects) {
  rule_ = &rule;
  const std::vector<CompiledRule::Part>& parts = rule.patterns().parts;
  for (std::size_t i = 0; i < parts.size(); ++i)
    if (!may_match(parts[i].pattern, subjects[i].terms, parts.size() == 1)) return std::nullopt;
  Bindings bindings;
  const bool found = match_from(0, subjects, nullptr, bindings);
  return found ? std::optional(std::move(bindings)) : std::nullopt;
}

bool Matcher::may_match(const Pattern& pattern, std::span<const Term> terms, bool unbound) const {
  std::size_t atoms = 0;
  bool open = false;  // can match any terms
  for (const Pattern::Item& item : pattern.items) {
    if (Pattern::is_comparison(item.op)) return may_match(item.args[0], terms, unbound);
    if (item.op != Op::Variable)
      ++atoms;
    else
      open |= item.factor != 0 || !is_constant_letter(item.letter);
  }
  if (open && !unbound) return true;
  if (!open && terms.size() > atoms) return false;
  Bindings none;
  return std::ranges::all_of(pattern.items, [&](const Pattern::Item& item) {
    return item.op == Op::Variable || std::ranges::any_of(terms, [&](const Term& t) {
             return may_stand(item, t, none) && parts_may_match(item, t.atom);
           });
  });
}

bool Matcher::may_match(const Pattern& pattern, Id node) const {
  const NodeData& n = s_.context()[node];
  const Term alone[] = {{1, node}};
  const bool listed = n.kind == NodeKind::Sum || n.kind == NodeKind::Constant;
  return may_match(pattern, listed ? n.terms : std::span<const Term>(alone), false);
}

bool Matcher::parts_may_match(const Pattern::Item& item, Id atom) const {
  const NodeData& n = s_.context()[atom];
  switch (item.op) {
    case Op::Quotient:
    case Op::Remainder: {
      if (n.kind != NodeKind::Digit)
        return may_match(item.args[1], n.args[1]) && may_match(item.args[0], n.args[0]);
      const Pattern* dividend = &item.args[0];
      if (item.op == Op::Remainder && !n.first.is_one()) {  // x // a % d
        if (dividend->items.size() != 1 || dividend->items[0].op != Op::Quotient) return false;
        dividend = &dividend->items[0].args[0];
      }
      return may_match(item.args[1], std::span<const Term>(), false) &&
             may_match(*dividend, n.args[0]);
    }
    case Op::TruncQuotient:
    case Op::TruncRemainder:
      return may_match(item.args[1], n.args[1]) && may_match(item.args[0], n.args[0]);
    case Op::Maximum: return may_match(item.args[0], n.args[0]);
    default: return true;
  }
}

bool Matcher::match_from(std::size_t i, std::span<const Linear> subjects, const Goal* goals,
                         Bindings& bindings) {
  const std::vector<CompiledRule::Part>& parts = rule_->patterns().parts;
  const std::size_t n = parts.size();
  if (i == n) return solve(goals, bindings);
  // Match the last part first: the divisor of a quotient restricts more than its dividend.
  const Root root = rule_->rule.root;
  const bool divides = root == Root::Quotient || root == Root::Remainder;
  const std::size_t at = divides ? i : n - 1 - i;
  const Goal goal{&parts[at].pattern, 0, subjects[at], goals};
  return match_from(i + 1, subjects, &goal, bindings);
}

bool Matcher::take_bound(Goal& goal, const Bindings& bindings) {
  const Pattern& p = *goal.pattern;
  for (std::size_t i = 0; i < p.items.size(); ++i) {
    const Pattern::Item& item = p.items[i];
    if ((goal.done >> i & 1) || item.op != Op::Variable) continue;
    const Linear* value = bindings.find(item.letter);
    const Linear* factor = item.factor ? bindings.find(item.factor) : nullptr;
    if (!value || (item.factor && !factor)) continue;
    s_.add(goal.subject, *value, -(factor ? item.coef * factor->constant : item.coef));
    goal.done |= std::uint32_t{1} << i;
  }
  return true;
}

bool Matcher::solve_atom(const Pattern::Item& item, const Term& term, const Goal& rest,
                         Bindings& bindings) {
  const NodeData& n = s_.context()[term.atom];
  const std::size_t before = bindings.size();
  if (item.factor && !bindings.find(item.factor)) {
    if (!divides(item.coef, term.coef)) return false;
    bindings.bind(item.factor, Linear{floor_div(term.coef, item.coef), {}});
  } else {
    const Int factor = item.factor ? bindings.find(item.factor)->constant : Int(1);
    if (term.coef != item.coef * factor) return false;
  }
  const auto unless = [&](bool found) {
    if (!found) bindings.forget(before);
    return found;
  };
  const auto want = [&](const Pattern& p, Linear value, const Goal* goals) {
    return Goal{&p, 0, std::move(value), goals};
  };
  switch (item.op) {
    case Op::Variable:
      bindings.bind(item.letter, Linear{0, {Term{1, term.atom}}});
      return unless(solve(&rest, bindings));
    case Op::Quotient:
    case Op::Remainder:
    case Op::TruncQuotient:
    case Op::TruncRemainder: {
      const bool quotient = item.op == Op::Quotient;
      if (has_divisor(n.kind)) {  // of the item's kind, by may_stand
        const Goal divisor = want(item.args[1], s_.linear(n.args[1]), &rest);
        const Goal dividend = want(item.args[0], s_.linear(n.args[0]), &divisor);
        return unless(solve(&dividend, bindings));
      }
      if (quotient ? !n.is_quotient() : !n.is_digit()) return unless(false);
      if (quotient || n.first.is_one()) {
        const Goal divisor = want(item.args[1], Linear{quotient ? n.first : n.second, {}}, &rest);
        const Goal dividend = want(item.args[0], s_.linear(n.args[0]), &divisor);
        return unless(solve(&dividend, bindings));
      }
      // x // a % d is one digit
      const Pattern& inner = item.args[0];
      if (inner.items.size() != 1 || inner.items[0].op != Op::Quotient ||
          !inner.constant.is_zero() || !inner.items[0].coef.is_one())
        return unless(false);
      const Goal turns = want(item.args[1], Linear{floor_div(n.second, n.first), {}}, &rest);
      const Goal divisor = want(inner.items[0].args[1], Linear{n.first, {}}, &turns);
      const Goal dividend = want(inner.items[0].args[0], s_.linear(n.args[0]), &divisor);
      return unless(solve(&dividend, bindings));
    }
    case Op::Maximum: {
      if (n.kind != NodeKind::Max || n.args.size() != 1) return unless(false);
      const Goal member = want(item.args[0], s_.linear(n.args[0]), &rest);
      return unless(solve(&member, bindings));
    }
    case Op::Product: {
      if (n.kind != NodeKind::Product || n.args.size() != 2) return unless(false);
      for (const std::size_t first : {std::size_t{0}, std::size_t{1}}) {
        const Goal second = want(item.args[1], s_.linear(n.args[1 - first]), &rest);
        const Goal one = want(item.args[0], s_.linear(n.args[first]), &second);
        const std::size_t bound = bindings.size();
        if (solve(&one, bindings)) return true;
        bindings.forget(bound);
      }
      return unless(false);
    }
    default: return unless(false);
  }
}

bool Matcher::may_stand(const Pattern::Item& item, const Term& term,
                        const Bindings& bindings) const {
  const Linear* const factor = item.factor ? bindings.find(item.factor) : nullptr;
  if (item.factor && !factor) {
    if (!divides(item.coef, term.coef)) return false;
  } else if (term.coef != (factor ? item.coef * factor->constant : item.coef)) {
    return false;
  }
  const NodeData& n = s_.context()[term.atom];
  switch (item.op) {
    case Op::Quotient: return n.kind == NodeKind::Div || n.is_quotient();
    case Op::Remainder: return n.kind == NodeKind::Mod || n.is_digit();
    case Op::TruncQuotient: return n.kind == NodeKind::TruncDiv;
    case Op::TruncRemainder: return n.kind == NodeKind::TruncMod;
    case Op::Maximum: return n.kind == NodeKind::Max && n.args.size() == 1;
    case Op::Product: return n.kind == NodeKind::Product && n.args.size() == 2;
    default: return true;
  }
}

/// True if the subject has more terms, or a constant, than the remaining pattern items can match.
bool Matcher::left_over(const Goal& goal) {
  std::size_t most = 0;
  bool numbers = false;
  for (std::size_t i = 0; i < goal.pattern->items.size(); ++i) {
    if (goal.done >> i & 1) continue;
    const Pattern::Item& item = goal.pattern->items[i];
    if (Pattern::is_comparison(item.op)) return false;
    if (item.op == Op::Variable && (item.factor != 0 || !is_constant_letter(item.letter)))
      return false;
    if (item.op == Op::Variable)
      numbers = true;
    else
      ++most;
  }
  return goal.subject.terms.size() > most || (!numbers && !goal.subject.constant.is_zero());
}

bool Matcher::solve(const Goal* goals, Bindings& bindings) {
  if (!goals) return holds(bindings);
  Goal goal = *goals;
  const Pattern& p = *goal.pattern;
  if (goal.done == 0) goal.subject.constant -= p.constant;
  take_bound(goal, bindings);
  if (left_over(goal)) return false;
  // An atom, or a variable with a factor, can match any term.
  const Pattern::Item *constant = nullptr, *rest = nullptr;
  for (std::size_t i = 0; i < p.items.size(); ++i) {
    if (goal.done >> i & 1) continue;
    const Pattern::Item& item = p.items[i];
    if (item.op == Op::Variable && item.factor == 0) {
      (is_constant_letter(item.letter) ? constant : rest) = &item;
      continue;
    }
    if (Pattern::is_comparison(item.op)) {
      // For a flag, continue with the sum compared with 0.
      const Goal compared{&item.args[0], 0, std::move(goal.subject), goal.next};
      return solve(&compared, bindings);
    }
    if (item.op == Op::Variable && bindings.find(item.letter)) {  // its factor is unknown
      const auto times = ratio(goal.subject, *bindings.find(item.letter));
      if (!times || !divides(item.coef, *times)) return false;
      bindings.bind(item.factor, Linear{floor_div(*times, item.coef), {}});
      goal.subject = Linear();
      goal.done |= std::uint32_t{1} << i;
      return solve(&goal, bindings);
    }
    const std::uint32_t done = goal.done | std::uint32_t{1} << i;
    if (done == goal.done) return false;
    for (std::size_t at = 0; at < goal.subject.terms.size(); ++at) {
      const Term& t = goal.subject.terms[at];
      if (!may_stand(item, t, bindings)) continue;
      Goal left{goal.pattern, done, goal.subject, goal.next};
      left.subject.terms.erase(left.subject.terms.begin() + at);
      const std::size_t before = bindings.size();
      if (solve_atom(item, t, left, bindings)) return true;
      bindings.forget(before);
    }
    return false;
  }
  if (rest) {
    Linear value = goal.subject;
    if (constant) value.constant = 0;
    if (!constant || !value.terms.empty()) {
      for (const Term& t : value.terms)
        if (!divides(rest->coef, t.coef)) return false;
      if (!divides(rest->coef, value.constant)) return false;
      for (Term& t : value.terms) t.coef = floor_div(t.coef, rest->coef);
      value.constant = floor_div(value.constant, rest->coef);
    }
    s_.add(goal.subject, value, -rest->coef);
    bindings.bind(rest->letter, std::move(value));
  }
  if (constant) {
    if (!goal.subject.is_constant() || !divides(constant->coef, goal.subject.constant))
      return false;
    bindings.bind(constant->letter, Linear{floor_div(goal.subject.constant, constant->coef), {}});
    goal.subject = Linear();
  }
  if (!goal.subject.is_constant() || !goal.subject.constant.is_zero()) return false;
  return solve(goal.next, bindings);
}

namespace {

/// The value of an expression whose variables are bound to constants; nullopt if some are not.
std::optional<Int> constant_of(const Exprs& x, Expr e, const Bindings& bindings) {
  const ExprOp op = x.op(e);
  if (op == ExprOp::Constant) return x.value(e);
  if (op == ExprOp::Variable) {
    const Linear* const value = bindings.find(x.name(e)[0]);
    return value->is_constant() ? std::optional(value->constant) : std::nullopt;
  }
  if (x.args(e).size() != 2) return std::nullopt;
  const auto a = constant_of(x, x.arg(e, 0), bindings);
  const auto b = a ? constant_of(x, x.arg(e, 1), bindings) : std::nullopt;
  if (!b) return std::nullopt;
  switch (op) {
    case ExprOp::Add: return *a + *b;
    case ExprOp::Sub: return *a - *b;
    case ExprOp::Mul: return *a * *b;
    case ExprOp::Mod: return b->is_zero() ? std::nullopt : std::optional(floor_mod(*a, *b));
    case ExprOp::Div: return b->is_zero() ? std::nullopt : std::optional(floor_div(*a, *b));
    case ExprOp::Ne: return Int(*a == *b ? 0 : 1);
    case ExprOp::Lt: return Int(*a < *b ? 1 : 0);
    case ExprOp::Le: return Int(*a <= *b ? 1 : 0);
    case ExprOp::Gt: return Int(*b < *a ? 1 : 0);
    case ExprOp::Ge: return Int(*b <= *a ? 1 : 0);
    case ExprOp::Eq: return Int(*a == *b ? 1 : 0);
    default: return std::nullopt;
  }
}

}  // namespace

bool Matcher::holds(const Bindings& bindings) {
  for (const char letter : rule_->patterns().letters)
    if (!bindings.find(letter)) return false;
  const CompiledRule::Outcome& outcome = rule_->outcome();
  return std::ranges::all_of(outcome.conditions, [&](Expr condition) {
    if (const auto known = constant_of(outcome.exprs, condition, bindings)) return known->is_one();
    return evaluate(outcome.exprs, condition, bindings) == Linear{1, {}};
  });
}

std::optional<Linear> Matcher::result(const CompiledRule& rule, const Bindings& bindings) {
  undefined_ = false;
  Linear r = evaluate(rule.outcome().exprs, rule.outcome().rhs, bindings);
  if (undefined_) return std::nullopt;
  return r;
}

bool Matcher::says_nothing(const CompiledRule& rule, const Bindings& bindings,
                           const Linear& subject) {
  const CompiledRule::Outcome& outcome = rule.outcome();
  if (rule.rule.root != Root::Equal || outcome.exprs.op(outcome.rhs) != ExprOp::Eq) return false;
  undefined_ = false;
  Linear gap = evaluate(outcome.exprs, outcome.exprs.arg(outcome.rhs, 0), bindings);
  s_.add(gap, evaluate(outcome.exprs, outcome.exprs.arg(outcome.rhs, 1), bindings), -1);
  return !undefined_ && (gap == subject || gap == -subject);
}

bool Matcher::is_zero(const Linear& divisor) {
  if (!divisor.is_constant() || !divisor.constant.is_zero()) return false;
  undefined_ = true;
  return true;
}

Linear Matcher::evaluate(const Exprs& x, Expr e, const Bindings& bindings) {
  if (x.op(e) == ExprOp::Constant) return Linear{x.value(e), {}};
  if (x.op(e) == ExprOp::Variable) return *bindings.find(x.name(e)[0]);
  SmallVector<Linear, 2> args;
  for (const Expr a : x.args(e)) args.push_back(evaluate(x, a, bindings));
  if (divides(x.op(e)) && is_zero(args[1])) return {};
  return s_.operate(x.op(e), args);
}

}  // namespace touchstone::symbolic
