#include "touchstone/symbolic/write/extract.h"

#include <algorithm>
#include <limits>

#include "touchstone/symbolic/expr/operators.h"
#include "touchstone/symbolic/node/linear.h"
#include "touchstone/symbolic/number/limits.h"

namespace touchstone::symbolic {

namespace {

std::size_t plus_saturated(std::size_t a, std::size_t b) {
  const std::size_t most = std::numeric_limits<std::size_t>::max();
  return a > most - b ? most : a + b;
}

}  // namespace

Extractor::Sum Extractor::plus(const Sum& a, const Sum& b, const Int& factor) const {
  Sum r{a.constant + b.constant * factor, a.terms};
  if (!factor.is_zero()) add_terms(c_, r.terms, b.terms, factor);
  return r;
}

int Extractor::constant(const Int& value) {
  Form& f = forms_.emplace_back();
  f.value = value;
  f.largest = abs(value).small().value_or(std::numeric_limits<std::int64_t>::max());
  if (purpose_ == For::Code) f.bounds = Interval::point(value);
  return static_cast<int>(forms_.size()) - 1;
}

int Extractor::apply(ExprOp op, std::initializer_list<int> args) {
  std::size_t total = 1;
  std::int64_t largest = 0;
  for (const int a : args) {
    total = plus_saturated(total, size(a));
    largest = std::max(largest, forms_[static_cast<std::size_t>(a)].largest);
  }
  const Form& left = forms_[static_cast<std::size_t>(*args.begin())];
  if (op == ExprOp::Sub && left.op == ExprOp::Constant && left.value.is_zero()) --total;
  Form& f = forms_.emplace_back();
  f.op = op;
  f.size = total;
  f.largest = largest;
  for (const int a : args) f.args.push_back(a);
  if (purpose_ == For::Code)
    f.bounds = bounds_of(op, f.args.size(), [&](std::size_t i) -> const Interval& {
      return forms_[static_cast<std::size_t>(f.args[i])].bounds;
    });
  return static_cast<int>(forms_.size()) - 1;
}

int Extractor::chained(ExprOp op, std::span<const int> parts) {
  int r = parts[0];
  for (const int part : parts.subspan(1)) r = apply(op, {r, part});
  return r;
}

int Extractor::scaled(int form, const Int& factor) {
  if (factor.is_one()) return form;
  const int within = scaled_modulo(form, factor);
  return within >= 0 ? within : apply(ExprOp::Mul, {form, constant(factor)});
}

int Extractor::scaled_modulo(int form, const Int& factor) {
  const auto at = [&](int i) -> const Form& { return forms_[static_cast<std::size_t>(i)]; };
  const auto number = [&](int i) { return at(i).op == ExprOp::Constant ? &at(i).value : nullptr; };
  if (purpose_ == For::Code || factor.sign() < 0 || at(form).op != ExprOp::Mod) return -1;
  const Form& dividend = at(at(form).args[0]);
  const Int* divisor = number(at(form).args[1]);
  if (!divisor || divisor->sign() < 0) return -1;
  int part = -1;
  Int coefficient;
  if (dividend.op == ExprOp::Mul && number(dividend.args[1])) {
    part = dividend.args[0];
    coefficient = *number(dividend.args[1]) * factor;
  } else if (dividend.op == ExprOp::Sub && number(dividend.args[0]) &&
             number(dividend.args[0])->is_zero()) {
    part = dividend.args[1];
    coefficient = (*divisor - 1) * factor;
  }
  if (part < 0 || coefficient > Int(kLimits.folded_number) ||
      *divisor * factor > Int(kLimits.folded_number))
    return -1;
  const Int period = *divisor * factor;
  const int whole = apply(ExprOp::Mul, {part, constant(coefficient)});
  return apply(ExprOp::Mod, {whole, constant(period)});
}

int Extractor::extract(Id root, std::span<const Id> nodes) {
  if (const int* known = best_.find(root)) return *known;
  List<Id> found;
  if (nodes.empty()) nodes = found = reachable(c_, root);
  // A sum needs its own form only where it occurs as a whole.
  IdMap<bool> wanted;
  wanted.set(root, true);
  for (const Id id : nodes) {
    const NodeData& n = c_[id];
    const std::size_t whole =
        n.kind == NodeKind::Select ? 1
        : n.kind == NodeKind::Negative || n.kind == NodeKind::Zero || n.kind == NodeKind::Max
            ? 0
            : n.args.size();
    for (const Id arg : n.args.first(whole)) wanted.set(arg, true);
  }
  // A choice that occurs only in sums is usually laid out with its neighbours. On its own it is
  // laid out on demand, except in large expressions.
  const bool later = nodes.size() <= kLimits.later_nodes;
  for (const Id id : nodes) {
    if (best_.contains(id)) continue;
    const NodeKind kind = c_.kind(id);
    if (purpose_ == For::Text && (kind == NodeKind::Sum || (later && kind == NodeKind::Max)) &&
        !wanted.contains(id))
      continue;
    const int form = lay_out(id);
    if (purpose_ == For::Code) {
      Form& f = forms_[static_cast<std::size_t>(form)];
      f.bounds = meet(f.bounds, c_.bounds(id));
    }
    best_.emplace(id, form);
  }
  return best_.at(root);
}

int Extractor::form_of(Id id) {
  if (const int* const known = best_.find(id)) return *known;
  const int form = lay_out(id);
  best_.emplace(id, form);
  return form;
}

int Extractor::lay_out(Id id) {
  const NodeData& n = c_[id];
  switch (n.kind) {
    case NodeKind::Constant: return constant(n.first);
    case NodeKind::Variable: {
      Form f;
      f.op = ExprOp::Variable;
      f.name = n.name;
      f.bounds = n.bounds;
      forms_.push_back(std::move(f));
      return static_cast<int>(forms_.size()) - 1;
    }
    case NodeKind::Product: {
      List<int> parts;
      for (const Id a : n.args) parts.push_back(form_of(a));
      return chained(ExprOp::Mul, parts);
    }
    case NodeKind::Digit: return lay_out_digit(n);
    case NodeKind::Div: return apply(ExprOp::Div, {form_of(n.args[0]), form_of(n.args[1])});
    case NodeKind::Mod: return apply(ExprOp::Mod, {form_of(n.args[0]), form_of(n.args[1])});
    case NodeKind::TruncDiv:
      return apply(ExprOp::TruncDiv, {form_of(n.args[0]), form_of(n.args[1])});
    case NodeKind::TruncMod:
      return apply(ExprOp::TruncMod, {form_of(n.args[0]), form_of(n.args[1])});
    case NodeKind::Negative: return compared(sum_of(n.args[0]), ExprOp::Lt);
    case NodeKind::Zero: return compared(sum_of(n.args[0]), ExprOp::Eq);
    case NodeKind::And: {
      List<int> parts;
      for (const Id a : n.args) {
        const Sum s = sum_of(a);
        const bool turned = s.constant.is_one() && s.terms.size() == 1 &&
                            s.terms[0].coef == Int(-1) && c_[s.terms[0].atom].boolean;
        parts.push_back(form_of(a));
        if (turned)
          parts.back() = smaller_form(parts.back(), apply(ExprOp::Not, {form_of(s.terms[0].atom)}));
      }
      return chained(ExprOp::And, parts);
    }
    case NodeKind::Select:
    case NodeKind::Max: return absorbed(sum_of(id), 0, {});
    case NodeKind::Sum: break;
  }
  return lay_out_sum(sum_of(id));
}

int Extractor::lay_out_digit(const NodeData& n) {
  const Sum dividend = sum_of(n.args[0]);
  if (n.second.is_zero()) return quotient(dividend, form_of(n.args[0]), n.first, 1);
  return lay_out_digit(n, dividend, form_of(n.args[0]));
}

int Extractor::lay_out_digit(const NodeData& n, Sum dividend, int whole) {
  const int near = lay_out_sum(nearest(std::move(dividend), n.second), 1);
  int r = size(near) < size(whole) ? near : whole;  // of equals the one that is seldom negative
  if (!n.first.is_one()) r = apply(ExprOp::Div, {r, constant(n.first)});
  return apply(ExprOp::Mod, {r, constant(floor_div(n.second, n.first))});
}

int Extractor::complement(Id digit) {
  if (const int* const known = complements_.find(digit)) return *known;
  const NodeData& n = c_[digit];
  Sum other = sum_of(n.args[0]);
  other.constant = n.second - 1 - other.constant;
  for (Term& t : other.terms) t.coef = n.second - t.coef;
  const int form = lay_out_digit(n, other, lay_out_sum(other, 1));
  complements_.emplace(digit, form);
  return form;
}

int Extractor::negated_part(Id part) {
  const NodeData& n = c_[part];
  if (n.kind == NodeKind::Negative)
    return compared(plus(Sum{-1, {}}, sum_of(n.args[0]), -1), ExprOp::Lt);
  if (n.kind == NodeKind::Zero) return compared(sum_of(n.args[0]), ExprOp::Ne);
  const Sum s = sum_of(part);
  if (s.constant.is_one() && s.terms.size() == 1 && s.terms[0].coef == Int(-1))
    return form_of(s.terms[0].atom);
  return apply(ExprOp::Not, {form_of(part)});
}

int Extractor::negation(Id atom) {
  const NodeData& n = c_[atom];
  if (n.kind != NodeKind::And) return negated_part(atom);
  const int plain = apply(ExprOp::Not, {form_of(atom)});
  List<int> parts;  // De Morgan
  for (const Id a : n.args) parts.push_back(negated_part(a));
  return smaller_form(plain, chained(ExprOp::Or, parts));
}

int Extractor::compared(const Sum& s, ExprOp strict) {
  Sum left, right;
  bool choices_left = false, choices_right = false;
  for (const Term& t : s.terms) {
    const bool on_left = t.coef.sign() > 0;
    (on_left ? left : right).terms.push_back({abs(t.coef), t.atom});
    if (c_.kind(t.atom) == NodeKind::Max) (on_left ? choices_left : choices_right) = true;
  }
  int best = sides(left, right, s.constant, strict);
  for (const int constant : {0, -1}) {
    Sum work = s;
    if (constant < 0 && strict != ExprOp::Lt) break;
    const Items items = turn_digits(work, constant);
    if (items.empty()) continue;
    Sum low, high;
    Items low_items, high_items;
    for (const Term& t : work.terms)
      (t.coef.sign() > 0 ? low : high).terms.push_back({abs(t.coef), t.atom});
    for (const Item& i : items)
      (i.coef.sign() > 0 ? low_items : high_items).push_back({abs(i.coef), i.form});
    const bool swap = strict != ExprOp::Lt && low.terms.empty() && low_items.empty();
    const int a = lay_out_with(low, 0, std::move(low_items));
    const int b = lay_out_with(high, 0, std::move(high_items));
    const ExprOp op = constant < 0 ? ExprOp::Le : strict;
    best = smaller_form(best, swap ? apply(op, {b, a}) : apply(op, {a, b}));
  }
  // A choice may be on the other side from the terms that its members share.
  for (const bool to_left : {true, false}) {
    if (s.terms.size() < 2 || !(to_left ? choices_right : choices_left)) continue;
    left.terms.clear();
    right.terms.clear();
    for (const Term& t : s.terms) {
      const bool choice = c_.kind(t.atom) == NodeKind::Max;
      const bool on_left = choice ? to_left : t.coef.sign() > 0;
      (on_left ? left : right).terms.push_back({on_left ? t.coef : -t.coef, t.atom});
    }
    if (!left.terms.empty()) best = smaller_form(best, sides(left, right, s.constant, strict));
  }
  return best;
}

int Extractor::sides(Sum left, Sum right, const Int& constant, ExprOp strict) {
  left.constant = 0;
  right.constant = 0;
  // A choice may absorb the constant better if the comparison is not strict.
  const auto holds_choice = [&](const Sum& s) {
    return std::ranges::any_of(s.terms,
                               [&](const Term& t) { return c_.kind(t.atom) == NodeKind::Max; });
  };
  if (strict == ExprOp::Lt && !constant.is_zero() && constant != Int(-1) && !left.terms.empty() &&
      !right.terms.empty() && (holds_choice(left) || holds_choice(right))) {
    const Int next = constant + Int(1);
    Sum low = left, high = right;
    (next.sign() > 0 ? low : high).constant = abs(next);
    (constant.sign() > 0 ? left : right).constant = abs(constant);
    const int less = apply(ExprOp::Lt, {lay_out_sum(left), lay_out_sum(right)});
    return smaller_form(less, apply(ExprOp::Le, {lay_out_sum(low), lay_out_sum(high)}));
  }
  if (right.terms.empty()) {
    right.constant = -constant;
  } else if (left.terms.empty()) {
    left.constant = constant;
  } else if (strict == ExprOp::Lt && constant == Int(-1)) {
    return apply(ExprOp::Le, {lay_out_sum(left), lay_out_sum(right)});
  } else {
    (constant.sign() > 0 ? left : right).constant = abs(constant);
  }
  const int a = lay_out_sum(left), b = lay_out_sum(right);
  const bool swap = strict != ExprOp::Lt && left.terms.empty();
  return swap ? apply(strict, {b, a}) : apply(strict, {a, b});
}

}  // namespace touchstone::symbolic
