// How choices are written: which part of the sum around a maximum or a where goes into its members,
// with which sign and factor, and which pairs of them are one clamp.
#include <algorithm>

#include "touchstone/symbolic/extract.h"
#include "touchstone/symbolic/order.h"

namespace touchstone::symbolic {

namespace {

/// Nodes that a term with this coefficient adds to a sum.
int cost(const Int& coef) { return coef.is_zero() ? 0 : abs(coef).is_one() ? 2 : 4; }

}  // namespace

/// coef * a choice between members.
struct Extractor::Choice {
  enum class Shape : std::uint8_t {
    Max,     // the largest member
    Clamp,   // min(max(member 0, member 1), member 2)
    Select,  // member 0 where the condition holds, else member 1
  };
  Shape shape = Shape::Max;
  Int coef;
  int condition = -1;  // a form
  Members members;
  Terms terms;  // of the sum that the choice stands for
};

/// unit * the choice between factor * member + shift.
struct Extractor::Placement {
  Int unit, factor;
  Sum shift;
};

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

int Extractor::price(const Sum& s, int extra, bool extra_positive) const {
  int total = extra > 0 ? extra + 1 : 0;
  bool positive = extra_positive || !s.constant.is_zero(), plain_minus = true;
  for (std::size_t i = 0; i < s.terms.size(); ++i) {
    const Term& t = s.terms[i];
    const int* known = best_.find(t.atom);
    total += 1 + (known ? static_cast<int>(std::min<std::size_t>(size(*known), 1'000'000)) : 3);
    positive |= t.coef.sign() > 0;
    if (abs(t.coef).is_one()) continue;
    plain_minus = false;
    bool grouped = false;  // with an earlier term of this factor
    for (std::size_t j = 0; j < i; ++j) grouped |= abs(s.terms[j].coef) == abs(t.coef);
    if (!grouped) total += 2;
  }
  if (!s.constant.is_zero()) total += 2;
  if (total == 0) return 1;
  return total - 1 + (!positive && plain_minus ? 1 : 0);
}

Extractor::Sum Extractor::best_shift(const Sum& rest, std::span<const Sum> members,
                                     const Int& unit) const {
  Sum shift;
  Members moved(members.begin(), members.end());
  Ids atoms;
  for (const Sum& m : members)
    for (const Term& t : m.terms) atoms.push_back(t.atom);
  std::ranges::sort(atoms, [&](Id a, Id b) { return compare(c_, a, b) < 0; });
  atoms.erase(std::unique(atoms.begin(), atoms.end()), atoms.end());
  const auto best = [&](const Int& outside, std::span<const Int> inside, const auto& price) {
    Int chosen = 0;
    int least = -1;
    const auto consider = [&](const Int& by) {
      int total = price(outside - by * unit, true, 0);
      for (std::size_t i = 0; i < inside.size(); ++i) total += price(inside[i] + by, false, i);
      if (least < 0 || total < least) {
        least = total;
        chosen = by;
      }
    };
    consider(0);
    if (divides(unit, outside)) consider(floor_div(outside, unit));
    for (const Int& c : inside) consider(-c);
    return chosen;
  };
  List<Int> inside(members.size());
  for (const Id atom : atoms) {
    for (std::size_t i = 0; i < members.size(); ++i) inside[i] = coefficient(members[i], atom);
    const Int by = best(coefficient(rest, atom), inside,
                        [](const Int& c, bool, std::size_t) { return cost(c); });
    if (by.is_zero()) continue;
    shift.terms.push_back({by, atom});
    for (Sum& m : moved) m = plus(m, Sum{0, {Term{1, atom}}}, by);
  }
  for (std::size_t i = 0; i < members.size(); ++i) inside[i] = members[i].constant;
  shift.constant = best(rest.constant, inside, [&](const Int& c, bool outside, std::size_t i) {
    return c.is_zero() || (!outside && moved[i].terms.empty()) ? 0 : 2;
  });
  return shift;
}

Extractor::Placement Extractor::best_placement(const Sum& work, const Choice& choice) const {
  Placement best;
  int least = -1;
  const bool select = choice.shape == Choice::Shape::Select;
  for (const Int& size : {abs(choice.coef), Int(1)}) {
    for (const int sign : {choice.coef.sign(), -choice.coef.sign()}) {
      const Int unit = size * Int(sign);
      const Int factor = floor_div(choice.coef, unit);
      Members members;
      for (const Sum& m : choice.members) members.push_back(plus(Sum{}, m, factor));
      const auto consider = [&](const Sum& shift) {
        int inside = select ? 1 : static_cast<int>(members.size()) - 1;
        for (const Sum& m : members) inside += price(plus(m, shift, 1));
        if (!unit.is_one() && unit != Int(-1)) inside += 2;
        const int total = price(plus(work, shift, -unit), inside, sign > 0 || !size.is_one());
        if (least >= 0 && total >= least) return;
        least = total;
        best = {unit, factor, shift};
      };
      consider(best_shift(work, {members.data(), members.size()}, unit));
      for (const Sum& m : members) consider(plus(Sum{}, m, -1));
      if (!work.terms.empty() &&
          std::ranges::all_of(work.terms, [&](const Term& t) { return divides(unit, t.coef); })) {
        Sum all{floor_div(work.constant, unit), {}};
        for (const Term& t : work.terms) all.terms.push_back({floor_div(t.coef, unit), t.atom});
        consider(all);
      }
    }
    if (size.is_one()) break;
  }
  return best;
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
