// Layout of choices: which part of the sum around a maximum or `where` moves into its members, with
// which sign and factor, and which pairs form a clamp.
#include <algorithm>

#include "touchstone/symbolic/number/limits.h"
#include "touchstone/symbolic/write/extract_placement.h"

namespace touchstone::symbolic {

bool Extractor::chooses(const Sum& s, const Term& flag) const {
  const NodeData& n = c_[flag.atom];
  if (!n.boolean || abs(flag.coef).is_one() || !best_.contains(flag.atom)) return false;
  if (n.kind == NodeKind::Zero) return true;
  return !s.constant.is_zero() && (n.kind == NodeKind::Negative || n.kind == NodeKind::And);
}

/// True if one condition is 1 minus the other.
bool Extractor::opposite(Id a, Id b) const {
  const auto turns = [&](Id negation, Id flag) {
    const NodeData& n = c_[negation];
    return n.kind == NodeKind::Sum && n.first.is_one() && n.terms.size() == 1 &&
           n.terms[0].atom == flag && n.terms[0].coef == Int(-1);
  };
  return turns(a, b) || turns(b, a);
}

std::optional<Extractor::Choice> Extractor::choice_of(const Sum& work, const Term& t) {
  const NodeData& n = c_[t.atom];
  Choice r;
  r.coef = t.coef;
  const Id flag = n.kind == NodeKind::Select ? n.args[0] : t.atom;
  if (c_.kind(flag) == NodeKind::Zero) r.equation = c_[flag].args.data();
  r.terms.push_back(t);
  if (n.kind == NodeKind::Max) {
    r.members.emplace_back();
    for (const Id id : n.args) r.members.push_back(sum_of(id));
    if (n.args.size() > 1) return r;
    for (const Term& u : work.terms) {  // max(0, x) - max(0, x - d) is min(max(0, x), d)
      const NodeData& other = c_[u.atom];
      if (other.kind != NodeKind::Max || other.args.size() > 1 || u.coef != -t.coef) continue;
      const Sum gap = plus(r.members[1], sum_of(other.args[0]), -1);
      if (!gap.terms.empty()) continue;
      if (gap.constant.sign() < 0) {
        r.coef = u.coef;
        r.members[1] = sum_of(other.args[0]);
      }
      r.shape = Choice::Shape::Clamp;
      r.members.push_back({abs(gap.constant), {}});
      r.terms.push_back(u);
      return r;
    }
    return r;
  }
  r.shape = Choice::Shape::Select;
  if (n.kind == NodeKind::Select) {
    for (const Term& u : work.terms) {  // a choice under the opposite condition
      const NodeData& other = c_[u.atom];
      if (other.kind != NodeKind::Select || !opposite(n.args[0], other.args[0])) continue;
      const bool turned = c_.kind(n.args[0]) == NodeKind::Sum;
      const Term &yes = turned ? u : t, &no = turned ? t : u;
      r.condition = form_of(c_[yes.atom].args[0]);
      r.equation = nullptr;
      if (const NodeData& c = c_[c_[yes.atom].args[0]]; c.kind == NodeKind::Zero)
        r.equation = c.args.data();
      r.members = {plus(Sum{}, sum_of(c_[yes.atom].args[1]), yes.coef),
                   plus(Sum{}, sum_of(c_[no.atom].args[1]), no.coef)};
      r.coef = 1;
      r.terms.push_back(u);
      return r;
    }
    r.condition = form_of(n.args[0]);
    if (c_.kind(n.args[0]) == NodeKind::And)
      if (const int form = negation(n.args[0]); size(form) < size(r.condition)) r.failing = form;
    r.members = {sum_of(n.args[1]), Sum{}};
    return r;
  }
  if (!chooses(work, t)) return std::nullopt;
  r.condition = form_of(t.atom);
  r.coef = 1;
  r.members = {Sum{t.coef, {}}, Sum{}};
  return r;
}

/// The placements that move into the members the whole sum, all but its constant, or a term of the
/// choice's equation.
List<Extractor::Placement> Extractor::whole_placements(const Sum& work,
                                                       const Choice& choice) const {
  List<Placement> all;
  if (work.terms.empty() && work.constant.is_zero()) return all;
  int units = 0;
  for (const Int& unit : {choice.coef, -choice.coef, Int(1), Int(-1)}) {
    if (!divides(unit, choice.coef)) continue;
    const Int factor = floor_div(choice.coef, unit);
    Sum shift{0, {}};
    for (const Term& t : work.terms) {
      if (!divides(unit, t.coef)) break;
      shift.terms.push_back({floor_div(t.coef, unit), t.atom});
      if (choice.equation && work.terms.size() > 1 &&
          !coefficient(sum_of(*choice.equation), t.atom).is_zero())
        all.push_back({unit, factor, Sum{0, {shift.terms.back()}}});
    }
    if (shift.terms.size() < work.terms.size()) continue;
    if (!work.constant.is_zero() && !shift.terms.empty()) all.push_back({unit, factor, shift});
    if (divides(unit, work.constant)) {
      shift.constant = floor_div(work.constant, unit);
      all.push_back({unit, factor, std::move(shift)});
    }
    if (++units == 2) break;
  }
  return all;
}

int Extractor::lay_out_met(const Sum& member, const Choice& choice, int depth) {
  int best = lay_out_sum(member, depth);
  if (!choice.equation) return best;
  const Sum zero = sum_of(*choice.equation);
  for (const Term& t : zero.terms) {
    const Int own = coefficient(member, t.atom);
    if (!own.is_zero() && abs(t.coef).is_one())
      best = smaller_form(best, lay_out_sum(plus(member, zero, -own * t.coef), depth));
  }
  return best;
}

bool Extractor::has_choice(const Sum& s) const {
  return std::ranges::any_of(s.terms, [&](const Term& t) {
    return c_.kind(t.atom) == NodeKind::Max || c_.kind(t.atom) == NodeKind::Select;
  });
}

/// Takes the choice among members with a common term first and adds the term once.
int Extractor::grouped(ExprOp op, Members members, int depth) {
  Term common{0, 0};
  std::size_t most = 1;
  // Members with nested choices would not be recognized when read back.
  const bool groups = members.size() > 2 && members.size() <= kLimits.grouped_members &&
                      std::ranges::none_of(members, [&](const Sum& m) { return has_choice(m); });
  if (groups)
    for (const Sum& m : members)
      for (const Term& t : m.terms) {
        const auto count = static_cast<std::size_t>(std::ranges::count_if(
            members, [&](const Sum& s) { return coefficient(s, t.atom) == t.coef; }));
        if (count > most && count < members.size()) {
          most = count;
          common = t;
        }
      }
  List<int> forms;
  if (most == 1) {
    for (const Sum& m : members) forms.push_back(lay_out_sum(m, depth));
    return chained(op, forms);
  }
  Members inner;
  for (const Sum& m : members)
    if (coefficient(m, common.atom) == common.coef) inner.push_back(plus(m, Sum{0, {common}}, -1));
  Items sum;
  sum.push_back({1, grouped(op, std::move(inner), depth)});
  sum.push_back({common.coef, form_of(common.atom)});
  forms.push_back(join_plain(sum, 0));
  for (const Sum& m : members)
    if (coefficient(m, common.atom) != common.coef) forms.push_back(lay_out_sum(m, depth));
  return chained(op, forms);
}

int Extractor::lay_out_choice(const Choice& choice, const Placement& at, int depth) {
  const int next = choice.members.size() > 4 ? kLimits.absorbed_depth : depth + 1;
  Members members;
  for (const Sum& m : choice.members) members.push_back(plus(at.shift, m, at.factor));
  const bool turned = at.factor.sign() < 0;
  const ExprOp up = turned ? ExprOp::Min : ExprOp::Max, down = turned ? ExprOp::Max : ExprOp::Min;
  switch (choice.shape) {
    case Choice::Shape::Select:
      if (choice.failing >= 0)
        return apply(ExprOp::Where, {choice.failing, lay_out_sum(members[1], next),
                                     lay_out_sum(members[0], next)});
      return apply(ExprOp::Where, {choice.condition, lay_out_met(members[0], choice, next),
                                   lay_out_sum(members[1], next)});
    case Choice::Shape::Clamp: {
      const int low = lay_out_sum(members[0], next), rising = lay_out_sum(members[1], next);
      return apply(down, {apply(up, {rising, low}), lay_out_sum(members[2], next)});
    }
    case Choice::Shape::Max: break;
  }
  return grouped(up, std::move(members), next);
}

void Extractor::place(Sum& work, const Choice& choice, int depth, Items& items) {
  for (const Term& t : choice.terms) take(work, t);
  Placement at = best_placement(work, choice);
  int form = lay_out_choice(choice, at, depth);
  // If prices cannot predict what a member absorbs, compare the forms.
  const bool nested =
      std::ranges::any_of(choice.members, [&](const Sum& m) { return has_choice(m); });
  if (depth == 0 && (nested || choice.equation || choice.members.size() > 2)) {
    const auto total = [&](const Placement& p, int choice_form) {
      const Sum rest = plus(work, p.shift, -p.unit);
      const bool alone = rest.terms.empty() && rest.constant.is_zero();
      const std::size_t factor = abs(p.unit).is_one() ? 0 : 2;
      const std::size_t beside =
          alone ? (p.unit == Int(-1) ? 1 : 0) : size(lay_out_sum(rest, kLimits.absorbed_depth)) + 1;
      return size(choice_form) + factor + beside;
    };
    for (const Placement& p : whole_placements(work, choice)) {
      const int other = lay_out_choice(choice, p, depth);
      if (total(p, other) >= total(at, form)) continue;
      at = p;
      form = other;
    }
  }
  work = plus(work, at.shift, -at.unit);
  items.push_back({at.unit, form});
}

bool Extractor::divided(const Sum& work, Id choice) const {
  return std::ranges::any_of(work.terms, [&](const Term& t) {
    const NodeData& n = c_[t.atom];
    return n.is_quotient() && !coefficient(sum_of(n.args[0]), choice).is_zero();
  });
}

bool Extractor::absorb_choices(Sum& work, int depth, bool quotients_first, Items& items) {
  const Terms terms = work.terms;
  int choices = 0;
  bool left_some = false;
  for (const Term& t : terms) {
    const NodeKind kind = c_.kind(t.atom);
    if (kind != NodeKind::Max && kind != NodeKind::Select && !chooses(work, t)) continue;
    if (choices == kLimits.absorbed_choices) return left_some;
    if (quotients_first && terms.size() > 1 && divided(work, t.atom)) {
      left_some = true;
      continue;
    }
    const Int left = coefficient(work, t.atom);
    if (left.is_zero()) continue;
    const auto choice = choice_of(work, {left, t.atom});
    if (!choice) continue;
    ++choices;
    place(work, *choice, depth, items);
  }
  return left_some;
}

}  // namespace touchstone::symbolic
