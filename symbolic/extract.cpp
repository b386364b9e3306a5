#include "touchstone/symbolic/extract.h"

#include <algorithm>
#include <limits>

#include "touchstone/symbolic/order.h"

namespace touchstone::symbolic {

namespace {

Interval bounds_of(const Form& f, const std::vector<Form>& forms) {
  const auto arg = [&](std::size_t i) -> const Interval& {
    return forms[static_cast<std::size_t>(f.args[i])].bounds;
  };
  switch (f.op) {
    case StepOp::Const:
      return Interval::point(f.value);
    case StepOp::Var:
      return f.bounds;
    case StepOp::Add:
      return arg(0) + arg(1);
    case StepOp::Sub:
      return arg(0) + arg(1) * Int(-1);
    case StepOp::Mul:
      return arg(0) * arg(1);
    case StepOp::FloorDiv:
      return floor_div(arg(0), arg(1));
    case StepOp::FloorMod:
      return arg(1).is_point() && arg(1).lo->sign() > 0 ? floor_mod(arg(0), *arg(1).lo)
                                                        : floor_mod(arg(0), arg(1));
    case StepOp::Max:
      return larger(arg(0), arg(1));
    case StepOp::Min:
      return larger(arg(0) * Int(-1), arg(1) * Int(-1)) * Int(-1);
    case StepOp::Where:
      return hull(arg(1), arg(2));
    default:
      return Interval{Int(0), Int(1)};
  }
}

std::size_t plus_saturated(std::size_t a, std::size_t b) {
  const std::size_t most = std::numeric_limits<std::size_t>::max();
  return a > most - b ? most : a + b;
}

}  // namespace

Extractor::Sum Extractor::sum_of(Id id) const {
  const NodeData& n = c_[id];
  if (n.kind == Kind::Constant) return {n.first, {}};
  if (n.kind == Kind::Sum) return {n.first, Terms(n.terms.begin(), n.terms.end())};
  return {0, {Term{1, id}}};
}

Extractor::Sum Extractor::plus(const Sum& a, const Sum& b, const Int& factor) const {
  Sum r{a.constant + b.constant * factor, a.terms};
  for (const Term& t : b.terms) {
    const auto at = std::ranges::lower_bound(
        r.terms, t.atom, [&](Id x, Id y) { return compare(c_, x, y) < 0; }, &Term::atom);
    if (at != r.terms.end() && at->atom == t.atom) {
      at->coef += t.coef * factor;
      if (at->coef.is_zero()) r.terms.erase(at);
    } else {
      r.terms.insert(at, Term{t.coef * factor, t.atom});
    }
  }
  return r;
}

int Extractor::constant(const Int& value) {
  Form f;
  f.value = value;
  f.bounds = Interval::point(value);
  forms_.push_back(std::move(f));
  return static_cast<int>(forms_.size()) - 1;
}

int Extractor::apply(StepOp op, std::initializer_list<int> args) {
  Form f;
  f.op = op;
  for (const int a : args) {
    f.args.push_back(a);
    f.size = plus_saturated(f.size, size(a));
  }
  const Form& left = forms_[static_cast<std::size_t>(f.args[0])];
  if (op == StepOp::Sub && left.op == StepOp::Const && left.value.is_zero()) --f.size;
  f.bounds = bounds_of(f, forms_);
  forms_.push_back(std::move(f));
  return static_cast<int>(forms_.size()) - 1;
}

int Extractor::chained(StepOp op, std::span<const int> parts) {
  int r = parts[0];
  for (const int part : parts.subspan(1)) r = apply(op, {r, part});
  return r;
}

int Extractor::scaled(int form, const Int& factor) {
  return factor.is_one() ? form : apply(StepOp::Mul, {form, constant(factor)});
}

int Extractor::extract(Id root) {
  if (const auto known = best_.find(root); known != best_.end()) return known->second;
  for (const Id id : reachable(c_, root)) {
    if (best_.contains(id)) continue;
    const int form = lay_out(id);
    Form& f = forms_[static_cast<std::size_t>(form)];
    f.bounds = meet(f.bounds, c_[id].bounds);
    best_.emplace(id, form);
  }
  return best_.at(root);
}

int Extractor::lay_out(Id id) {
  const NodeData& n = c_[id];
  switch (n.kind) {
    case Kind::Constant:
      return constant(n.first);
    case Kind::Variable: {
      Form f;
      f.op = StepOp::Var;
      f.name = n.name;
      f.bounds = n.bounds;
      forms_.push_back(std::move(f));
      return static_cast<int>(forms_.size()) - 1;
    }
    case Kind::Product: {
      std::vector<int> parts;
      for (const Id a : n.args) parts.push_back(best_.at(a));
      return chained(StepOp::Mul, parts);
    }
    case Kind::Digit: {
      int r = best_.at(n.args[0]);
      if (!n.first.is_one()) r = apply(StepOp::FloorDiv, {r, constant(n.first)});
      if (n.second.is_zero()) return r;
      return apply(StepOp::FloorMod, {r, constant(floor_div(n.second, n.first))});
    }
    case Kind::Div:
      return apply(StepOp::FloorDiv, {best_.at(n.args[0]), best_.at(n.args[1])});
    case Kind::Mod:
      return apply(StepOp::FloorMod, {best_.at(n.args[0]), best_.at(n.args[1])});
    case Kind::Negative:
      return compared(sum_of(n.args[0]), StepOp::Lt);
    case Kind::Zero:
      return compared(sum_of(n.args[0]), StepOp::Eq);
    case Kind::And: {
      std::vector<int> parts;
      for (const Id a : n.args) parts.push_back(best_.at(a));
      return chained(StepOp::And, parts);
    }
    case Kind::Select:
      return apply(StepOp::Where, {best_.at(n.args[0]), best_.at(n.args[1]), constant(0)});
    case Kind::Max:
    case Kind::Sum:
      break;
  }
  return lay_out_sum(sum_of(id));
}

int Extractor::negation(Id atom) {
  const NodeData& n = c_[atom];
  if (n.kind == Kind::Zero) return compared(sum_of(n.args[0]), StepOp::Ne);
  const int plain = apply(StepOp::Not, {best_.at(atom)});
  if (n.kind != Kind::And) return plain;
  std::vector<int> parts;  // De Morgan
  for (const Id a : n.args) {
    const Sum s = sum_of(a);
    const NodeData& part = c_[a];
    if (part.kind == Kind::Negative) {
      Sum flipped = plus(Sum{-1, {}}, sum_of(part.args[0]), -1);
      parts.push_back(compared(flipped, StepOp::Lt));
    } else if (part.kind == Kind::Zero) {
      parts.push_back(compared(sum_of(part.args[0]), StepOp::Ne));
    } else if (s.constant.is_one() && s.terms.size() == 1 && s.terms[0].coef == Int(-1)) {
      parts.push_back(best_.at(s.terms[0].atom));
    } else {
      parts.push_back(apply(StepOp::Not, {best_.at(a)}));
    }
  }
  return smaller_form(chained(StepOp::Or, parts), plain);
}

int Extractor::compared(const Sum& s, StepOp strict) {
  Sum left, right;
  for (const Term& t : s.terms)
    (t.coef.sign() > 0 ? left : right).terms.push_back({abs(t.coef), t.atom});
  if (right.terms.empty()) {
    right.constant = -s.constant;
  } else if (left.terms.empty()) {
    left.constant = s.constant;
  } else if (strict == StepOp::Lt && s.constant == Int(-1)) {
    return apply(StepOp::Le, {lay_out_sum(left), lay_out_sum(right)});
  } else {
    (s.constant.sign() > 0 ? left : right).constant = abs(s.constant);
  }
  const int a = lay_out_sum(left), b = lay_out_sum(right);
  const bool swap = strict != StepOp::Lt && left.terms.empty();
  return swap ? apply(strict, {b, a}) : apply(strict, {a, b});
}

int Extractor::lay_out_sum(const Sum& s, int depth) {
  if (s.terms.size() == 1 && s.constant.is_one() && s.terms[0].coef == Int(-1)) {
    const Kind kind = c_[s.terms[0].atom].kind;
    if (kind == Kind::Zero || kind == Kind::And) return negation(s.terms[0].atom);
  }
  const int choice = choice_sum(s, depth);
  return choice >= 0 ? choice : plain_sum(s);
}

int Extractor::choice_sum(const Sum& s, int depth) {
  constexpr int kDepth = 3;  // a choice in a choice in a choice; what is deeper stays an atom
  if (depth >= kDepth) return -1;
  const Term* only = nullptr;
  for (const Term& t : s.terms) {
    if (c_[t.atom].kind != Kind::Max || (t.coef != Int(1) && t.coef != Int(-1))) continue;
    if (only) return -1;
    only = &t;
  }
  if (!only) return -1;
  const NodeData& n = c_[only->atom];
  const Sum rest = plus(s, Sum{0, {*only}}, -1);
  const int next = n.args.size() > 4 ? kDepth : depth + 1;
  std::vector<int> parts{lay_out_sum(rest, next)};
  for (const Id a : n.args) parts.push_back(lay_out_sum(plus(rest, sum_of(a), only->coef), next));
  return chained(only->coef.sign() > 0 ? StepOp::Max : StepOp::Min, parts);
}

int Extractor::plain_sum(const Sum& s) {
  int r = -1;
  const auto atom_form = [&](const Term& t) { return best_.at(t.atom); };
  for (const Term& t : s.terms) {
    if (t.coef.sign() < 0) continue;
    const int part = scaled(atom_form(t), t.coef);
    r = r < 0 ? part : apply(StepOp::Add, {r, part});
  }
  bool spent = s.constant.is_zero();
  if (r < 0 && (s.constant.sign() > 0 || s.terms.empty())) {
    r = constant(s.constant);
    spent = true;
  }
  for (const Term& t : s.terms) {
    if (t.coef.sign() > 0) continue;
    if (r >= 0)
      r = apply(StepOp::Sub, {r, scaled(atom_form(t), -t.coef)});
    else if (t.coef == Int(-1))
      r = apply(StepOp::Sub, {constant(0), atom_form(t)});
    else
      r = scaled(atom_form(t), t.coef);
  }
  if (spent) return r;
  if (s.constant.sign() > 0) return apply(StepOp::Add, {r, constant(s.constant)});
  return apply(StepOp::Sub, {r, constant(-s.constant)});
}

}  // namespace touchstone::symbolic
