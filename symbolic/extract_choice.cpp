// How choices are written: which part of the sum around a maximum or a where goes into its members,
// with which sign and factor, and which pairs of them are one clamp.
#include <algorithm>
#include <array>

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

/// Adds up what a sum's terms cost.
class Extractor::Price {
 public:
  Price(int operand, bool positive) : total_(operand > 0 ? operand + 1 : 0), positive_(positive) {}
  void term(const Int& coef, int atom) {
    if (coef.is_zero()) return;
    total_ += 1 + atom;
    positive_ |= coef.sign() > 0;
    const Int size = abs(coef);
    if (size.is_one()) return;
    plain_minus_ = false;
    for (std::size_t i = 0; i < known_; ++i)
      if (factors_[i] == size) return;  // grouped with an earlier term of this factor
    total_ += 2;
    if (known_ < factors_.size()) factors_[known_++] = size;
  }
  int end(const Int& constant) {
    if (!constant.is_zero()) total_ += 2;
    if (total_ == 0) return 1;
    return total_ - 1 + (!positive_ && constant.is_zero() && plain_minus_ ? 1 : 0);
  }

 private:
  int total_;
  bool positive_, plain_minus_ = true;
  std::array<Int, 6> factors_{};
  std::size_t known_ = 0;
};

int Extractor::price(const Sum& a, const Sum& b, const Int& factor, int operand,
                     bool positive) const {
  constexpr std::size_t kMost = 1'000'000;
  const auto atom_size = [&](Id atom) {
    const int* const known = best_.find(atom);
    return known ? static_cast<int>(std::min(size(*known), kMost)) : 3;
  };
  Price total(operand, positive);
  auto x = a.terms.begin(), y = b.terms.begin();
  while (x != a.terms.end() || y != b.terms.end()) {
    const bool both = x != a.terms.end() && y != b.terms.end();
    const auto order =
        !both ? (x == a.terms.end() ? std::strong_ordering::greater : std::strong_ordering::less)
              : compare(c_, x->atom, y->atom);
    const Id atom = order > 0 ? y->atom : x->atom;
    Int coef = 0;
    if (order <= 0) coef += (x++)->coef;
    if (order >= 0) coef += (y++)->coef * factor;
    if (!coef.is_zero()) total.term(coef, atom_size(atom));
  }
  return total.end(a.constant + b.constant * factor);
}

Extractor::Sum Extractor::best_shift(const Sum& rest, std::span<const Sum> members,
                                     const Int& unit) const {
  Sum shift;
  Short<Id, 12> atoms;
  for (const Sum& m : members)
    for (const Term& t : m.terms) atoms.push_back(t.atom);
  std::sort(atoms.begin(), atoms.end(), [&](Id a, Id b) { return compare(c_, a, b) < 0; });
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
  Short<Int, 6> inside(members.size());
  Short<std::size_t, 6> left(members.size());  // terms of each member once it has moved
  for (std::size_t i = 0; i < members.size(); ++i) left[i] = members[i].terms.size();
  for (std::size_t k = 0; k < atoms.size(); ++k) {
    if (k > 0 && atoms[k] == atoms[k - 1]) continue;
    for (std::size_t i = 0; i < members.size(); ++i) inside[i] = coefficient(members[i], atoms[k]);
    const Int by = best(coefficient(rest, atoms[k]), inside,
                        [](const Int& c, bool, std::size_t) { return cost(c); });
    if (by.is_zero()) continue;
    shift.terms.push_back({by, atoms[k]});
    for (std::size_t i = 0; i < members.size(); ++i) {
      if (!inside[i].is_zero()) --left[i];
      if (!(inside[i] + by).is_zero()) ++left[i];
    }
  }
  for (std::size_t i = 0; i < members.size(); ++i) inside[i] = members[i].constant;
  shift.constant = best(rest.constant, inside, [&](const Int& c, bool outside, std::size_t i) {
    return c.is_zero() || (!outside && left[i] == 0) ? 0 : 2;
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
        for (const Sum& m : members) {
          inside += price(m, shift, 1);
          if (least >= 0 && inside >= least) return;
        }
        if (!unit.is_one() && unit != Int(-1)) inside += 2;
        const int total = price(work, shift, -unit, inside, sign > 0 || !size.is_one());
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
