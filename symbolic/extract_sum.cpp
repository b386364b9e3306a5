// How sums are written: what goes into a division or a choice beside them, and what is factored.
#include <algorithm>

#include "touchstone/symbolic/extract.h"
#include "touchstone/symbolic/order.h"

namespace touchstone::symbolic {

namespace {

constexpr int kDepth = 3;  // a choice in a choice in a choice; what is deeper stays as it is

/// A dividend takes in no number beyond this: it must not leave 64 bits by our doing.
constexpr std::int64_t kLargest = std::int64_t{1} << 31;

/// Nodes that a term with this coefficient adds to a sum.
int cost(const Int& coef) { return coef.is_zero() ? 0 : abs(coef).is_one() ? 2 : 4; }

bool is_choice(Kind kind) { return kind == Kind::Max || kind == Kind::Select; }

}  // namespace

Int Extractor::coefficient(const Sum& s, Id atom) {
  for (const Term& t : s.terms)
    if (t.atom == atom) return t.coef;
  return 0;
}

int Extractor::lay_out_sum(const Sum& s, int depth) {
  if (s.terms.size() == 1) {
    const Term& t = s.terms[0];
    const Kind kind = c_[t.atom].kind;
    if (s.constant.is_one() && t.coef == Int(-1) &&
        (kind == Kind::Zero || kind == Kind::And || kind == Kind::Negative))
      return negation(t.atom);
    if (s.constant.is_zero() && t.coef.is_one())
      if (const auto known = best_.find(t.atom); known != best_.end()) return known->second;
  }
  bool absorbs = false;
  for (const Term& t : s.terms) {
    const NodeData& n = c_[t.atom];
    absorbs |= is_choice(n.kind) || (n.kind == Kind::Digit && n.second.is_zero());
  }
  if (!absorbs || depth >= kDepth) {
    // A choice that is laid out for the first time has no form of its own yet.
    if (s.terms.size() != 1 || best_.contains(s.terms[0].atom)) {
      Sum work = s;
      Items items;
      factor_products(work, items);
      for (Item& i : plain_items(work)) items.push_back(std::move(i));
      return join(std::move(items), work.constant);
    }
  }
  const int swallowed = absorbed(s, depth);
  for (const Term& t : s.terms)
    if (!best_.contains(t.atom)) return swallowed;
  return smaller_form(swallowed, join(plain_items(s), s.constant));
}

Extractor::Items Extractor::plain_items(const Sum& s) const {
  Items items;
  for (const Term& t : s.terms) items.push_back({t.coef, best_.at(t.atom)});
  return items;
}

int Extractor::absorbed(const Sum& s, int depth) {
  Sum work = s;
  Items items;
  int choices = 0;
  for (const Term& t : s.terms) {
    if (!is_choice(c_[t.atom].kind) || ++choices > 4) continue;
    const Int left = coefficient(work, t.atom);
    if (!left.is_zero()) absorb_choice(work, {left, t.atom}, depth, items);
  }
  for (const Term& t : s.terms) {
    const NodeData& n = c_[t.atom];
    if (n.kind != Kind::Digit || !n.second.is_zero()) continue;
    const Int left = coefficient(work, t.atom);
    if (!left.is_zero()) absorb_quotient(work, {left, t.atom}, depth, items);
  }
  factor_products(work, items);
  Items all = plain_items(work);
  all.insert(all.end(), items.begin(), items.end());
  return join(std::move(all), work.constant);
}

Extractor::Sum Extractor::best_shift(const Sum& rest, std::span<const Sum> members,
                                     const Int& unit) const {
  Sum shift;
  std::vector<Sum> moved(members.begin(), members.end());
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
  std::vector<Int> inside(members.size());
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

void Extractor::absorb_choice(Sum& work, const Term& choice, int depth, Items& items) {
  const NodeData& n = c_[choice.atom];
  const bool select = n.kind == Kind::Select;
  const Int unit = abs(choice.coef);
  const Int sign = choice.coef.sign();
  std::vector<Sum> members;  // of the choice between sums, to be multiplied by unit
  if (!select) members.push_back({});
  for (const Id id : select ? n.args.subspan(1) : n.args)
    members.push_back(plus(Sum{}, sum_of(id), sign));
  if (select) members.push_back({});
  work = plus(work, Sum{0, {Term{1, choice.atom}}}, -choice.coef);
  const Sum shift = best_shift(work, members, unit);
  work = plus(work, shift, -unit);
  const int next = members.size() > 4 ? kDepth : depth + 1;
  std::vector<int> forms;
  for (const Sum& m : members) forms.push_back(lay_out_sum(plus(m, shift, 1), next));
  const int form = select ? apply(StepOp::Where, {best_.at(n.args[0]), forms[0], forms[1]})
                          : chained(sign.sign() > 0 ? StepOp::Max : StepOp::Min, forms);
  items.push_back({unit, form});
}

void Extractor::absorb_quotient(Sum& work, const Term& digit, int depth, Items& items) {
  const NodeData& n = c_[digit.atom];
  Sum dividend = sum_of(n.args[0]);
  const Sum before = dividend;
  const Int k = digit.coef;
  work = plus(work, Sum{0, {Term{1, digit.atom}}}, -k);
  const Terms terms = work.terms;
  for (const Term& t : terms) {
    if (coefficient(before, t.atom).is_zero() || !divides(k, t.coef)) continue;
    const Int factor = floor_div(t.coef, k) * n.first;
    if (abs(factor) > kLargest) continue;
    dividend = plus(dividend, Sum{0, {Term{1, t.atom}}}, factor);
    work = plus(work, Sum{0, {t}}, -1);
  }
  if (!before.constant.is_zero() && divides(k, work.constant) &&
      abs(work.constant * n.first) <= kLargest) {
    dividend.constant += floor_div(work.constant, k) * n.first;
    work.constant = 0;
  }
  const bool same = dividend.constant == before.constant && dividend.terms == before.terms;
  const int form = same ? best_.at(digit.atom)
                        : quotient(dividend, lay_out_sum(dividend, depth + 1), n.first, depth + 1);
  items.push_back({k, form});
}

int Extractor::quotient(const Sum& dividend, int form, const Int& divisor, int depth) {
  const int r = apply(StepOp::FloorDiv, {form, constant(divisor)});
  if (purpose_ == For::Code || dividend.terms.empty() || dividend.terms[0].coef.sign() > 0)
    return r;
  const Sum flipped = plus(Sum{}, dividend, -1);
  return smaller_form(r,
                      apply(StepOp::FloorDiv, {lay_out_sum(flipped, depth), constant(-divisor)}));
}

void Extractor::factor_products(Sum& work, Items& items) {
  for (;;) {
    Id best = 0;
    std::size_t most = 1;
    for (const Term& t : work.terms) {
      if (c_[t.atom].kind != Kind::Product) continue;
      for (const Id f : c_[t.atom].args) {
        std::size_t count = 0;
        for (const Term& u : work.terms) {
          const auto& args = c_[u.atom].args;
          count += u.atom == f ||
                   (c_[u.atom].kind == Kind::Product && std::ranges::find(args, f) != args.end());
        }
        if (count > most) {
          most = count;
          best = f;
        }
      }
    }
    if (most < 2) return;
    Items inner;
    Int alone = 0;
    Sum rest{work.constant, {}};
    for (const Term& t : work.terms) {
      const NodeData& n = c_[t.atom];
      const auto at = std::ranges::find(n.args, best);
      if (t.atom == best) {
        alone = t.coef;
      } else if (n.kind == Kind::Product && at != n.args.end()) {
        std::vector<int> forms;
        for (auto f = n.args.begin(); f != n.args.end(); ++f)
          if (f != at) forms.push_back(best_.at(*f));
        inner.push_back({t.coef, chained(StepOp::Mul, forms)});
      } else {
        rest.terms.push_back(t);
      }
    }
    items.push_back({1, apply(StepOp::Mul, {best_.at(best), join(std::move(inner), alone)})});
    work = std::move(rest);
  }
}

int Extractor::join(Items items, const Int& constant) {
  Items grouped;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const Int factor = abs(items[i].coef);
    if (factor.is_zero()) continue;  // in a group already
    Items group;
    if (!factor.is_one())
      for (std::size_t j = i + 1; j < items.size(); ++j)
        if (abs(items[j].coef) == factor) {
          group.push_back({items[j].coef.sign(), items[j].form});
          items[j].coef = 0;
        }
    if (group.empty()) {
      grouped.push_back(items[i]);
      continue;
    }
    group.insert(group.begin(), {items[i].coef.sign(), items[i].form});
    bool positive = false;
    for (const Item& g : group) positive |= g.coef.sign() > 0;
    if (!positive)
      for (Item& g : group) g.coef = 1;
    grouped.push_back({positive ? factor : -factor, join_plain(group, 0)});
  }
  return join_plain(grouped, constant);
}

int Extractor::join_plain(const Items& items, const Int& constant) {
  int r = -1;
  for (const Item& t : items) {
    if (t.coef.sign() < 0) continue;
    const int part = scaled(t.form, t.coef);
    r = r < 0 ? part : apply(StepOp::Add, {r, part});
  }
  bool spent = constant.is_zero();
  if (r < 0 && (constant.sign() > 0 || items.empty())) {
    r = this->constant(constant);
    spent = true;
  }
  for (const Item& t : items) {
    if (t.coef.sign() > 0) continue;
    if (r >= 0)
      r = apply(StepOp::Sub, {r, scaled(t.form, -t.coef)});
    else if (t.coef == Int(-1))
      r = apply(StepOp::Sub, {this->constant(0), t.form});
    else
      r = scaled(t.form, t.coef);
  }
  if (spent) return r;
  if (constant.sign() > 0) return apply(StepOp::Add, {r, this->constant(constant)});
  return apply(StepOp::Sub, {r, this->constant(-constant)});
}

}  // namespace touchstone::symbolic
