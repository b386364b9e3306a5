// How choices are written: which part of the sum around a maximum or a where goes into its members,
// with which sign and factor, and which pairs of them are one clamp.
#include "touchstone/symbolic/extract_placement.h"

namespace touchstone::symbolic {

bool Extractor::chooses(const Sum& s, const Term& flag) const {
  const NodeData& n = c_[flag.atom];
  if (!n.boolean || abs(flag.coef).is_one() || !best_.contains(flag.atom)) return false;
  if (n.kind == Kind::Zero) return true;
  return !s.constant.is_zero() && (n.kind == Kind::Negative || n.kind == Kind::And);
}

std::optional<Extractor::Choice> Extractor::choice_of(const Sum& work, const Term& t) {
  const NodeData& n = c_[t.atom];
  Choice r;
  r.coef = t.coef;
  r.terms.push_back(t);
  if (n.kind == Kind::Max) {
    r.members.emplace_back();
    for (const Id id : n.args) r.members.push_back(sum_of(id));
    if (n.args.size() > 1) return r;
    for (const Term& u : work.terms) {  // max(0, x) - max(0, x - d) is min(max(0, x), d)
      const NodeData& other = c_[u.atom];
      if (other.kind != Kind::Max || other.args.size() > 1 || u.coef != -t.coef) continue;
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
  if (n.kind == Kind::Select) {
    r.condition = best_.at(n.args[0]);
    r.members = {sum_of(n.args[1]), Sum{}};
    return r;
  }
  if (!chooses(work, t)) return std::nullopt;
  r.condition = best_.at(t.atom);
  r.coef = 1;
  r.members = {Sum{t.coef, {}}, Sum{}};
  return r;
}

void Extractor::place(Sum& work, const Choice& choice, int depth, Items& items) {
  for (const Term& t : choice.terms) work = plus(work, Sum{0, {Term{1, t.atom}}}, -t.coef);
  const Placement at = best_placement(work, choice);
  work = plus(work, at.shift, -at.unit);
  const int next = choice.members.size() > 4 ? kDeepest : depth + 1;
  List<int> forms;
  for (const Sum& m : choice.members)
    forms.push_back(lay_out_sum(plus(at.shift, m, at.factor), next));
  const bool turned = at.factor.sign() < 0;
  const StepOp up = turned ? StepOp::Min : StepOp::Max, down = turned ? StepOp::Max : StepOp::Min;
  int form = -1;
  switch (choice.shape) {
    case Choice::Shape::Select:
      form = apply(StepOp::Where, {choice.condition, forms[0], forms[1]});
      break;
    case Choice::Shape::Clamp:
      form = apply(down, {apply(up, {forms[1], forms[0]}), forms[2]});
      break;
    case Choice::Shape::Max:
      form = chained(up, forms);
  }
  items.push_back({at.unit, form});
}

void Extractor::absorb_choices(Sum& work, int depth, Items& items) {
  constexpr int kMost = 4;
  const Terms terms = work.terms;
  int choices = 0;
  for (const Term& t : terms) {
    const Kind kind = c_[t.atom].kind;
    if (kind != Kind::Max && kind != Kind::Select && !chooses(work, t)) continue;
    if (choices == kMost) return;
    const Int left = coefficient(work, t.atom);
    if (left.is_zero()) continue;
    const auto choice = choice_of(work, {left, t.atom});
    if (!choice) continue;
    ++choices;
    place(work, *choice, depth, items);
  }
}

}  // namespace touchstone::symbolic
