// Layout of sums: terms that move into a division or a choice, and common factors.
#include <algorithm>

#include "touchstone/base/hash.h"
#include "touchstone/base/interrupt.h"
#include "touchstone/symbolic/node/order.h"
#include "touchstone/symbolic/number/limits.h"
#include "touchstone/symbolic/write/extract.h"

namespace touchstone::symbolic {

Int Extractor::coefficient(const Sum& s, Id atom) {
  for (const Term& t : s.terms)
    if (t.atom == atom) return t.coef;
  return 0;
}

void Extractor::take(Sum& s, const Term& t) const {
  const auto own = std::ranges::find(s.terms, t.atom, &Term::atom);
  if (own != s.terms.end() && own->coef == t.coef)
    s.terms.erase(own);
  else
    s = plus(s, Sum{0, {Term{1, t.atom}}}, -t.coef);
}

int Extractor::lay_out_sum(const Sum& s, int depth) {
  if (s.terms.size() == 1) {
    const Term& t = s.terms[0];
    const NodeKind kind = c_.kind(t.atom);
    if (s.constant.is_one() && t.coef == Int(-1) &&
        (kind == NodeKind::Zero || kind == NodeKind::And || kind == NodeKind::Negative))
      return negation(t.atom);
    if (s.constant.is_zero() && t.coef.is_one()) return form_of(t.atom);
    const bool minus = s.constant.is_zero() ? t.coef.sign() < 0 : is_minus_complement(s);
    if (minus && purpose_ == For::Text && depth < kLimits.absorbed_depth)
      if (const int turned = turned_modulo(t, depth); turned >= 0)
        return smaller_form(turned, join(plain_items(s), s.constant));
  }
  const auto with_turned = [&](int form) {
    Sum rest = s;
    Items turned = turn_digits(rest, 0);
    return turned.empty() ? form : smaller_form(form, lay_out_with(rest, depth, std::move(turned)));
  };
  if (!absorbs(s) || depth >= kLimits.absorbed_depth)
    return with_turned(lay_out_with(s, depth, {}));
  const auto [known, fresh] = laid_out_.try_emplace({s, depth}, -1);
  int& laid_out = known->second;
  if (!fresh) return laid_out;
  int form = absorbed(s, depth, {});
  if (least_plain(s) < size(form)) form = smaller_form(form, join(plain_items(s), s.constant));
  return laid_out = with_turned(form);
}

bool Extractor::is_minus_complement(const Sum& s) const {
  const Term& t = s.terms[0];
  const NodeData& n = c_[t.atom];
  return s.terms.size() == 1 && t.coef.sign() > 0 && n.is_digit() && n.first.is_one() &&
         s.constant == t.coef * (Int(1) - n.second);
}

bool Extractor::absorbs(const Sum& s) const {
  return std::ranges::any_of(s.terms, [&](const Term& t) {
    const NodeData& n = c_[t.atom];
    return n.kind == NodeKind::Max || n.kind == NodeKind::Select || n.is_quotient() ||
           chooses(s, t);
  });
}

int Extractor::lay_out_with(const Sum& s, int depth, Items items) {
  if (absorbs(s) && depth < kLimits.absorbed_depth) return absorbed(s, depth, std::move(items));
  Sum work = s;
  turn_flag(work, items);
  factor_products(work, items);
  for (Item& i : plain_items(work)) items.push_back(std::move(i));
  return join(std::move(items), work.constant);
}

Extractor::Items Extractor::turn_digits(Sum& s, const Int& constant) {
  Items items;
  if (purpose_ == For::Code || s.constant == constant) return items;
  struct Turn {
    Term term;
    Int more;  // change of the constant
  };
  SmallVector<Turn, 4> turns;
  for (const Term& t : s.terms) {
    const NodeData& n = c_[t.atom];
    if (!n.is_digit()) continue;
    if (turns.size() == kLimits.turned_digits) break;
    turns.push_back({t, t.coef * (floor_div(n.second, n.first) - 1)});
  }
  for (unsigned taken = 1; taken < 1U << turns.size(); ++taken) {
    Int total = s.constant;
    for (std::size_t i = 0; i < turns.size(); ++i)
      if ((taken >> i & 1) != 0) total += turns[i].more;
    if (total != constant) continue;
    for (std::size_t i = 0; i < turns.size(); ++i) {
      if ((taken >> i & 1) == 0) continue;
      items.push_back({-turns[i].term.coef, complement(turns[i].term.atom)});
      take(s, turns[i].term);
    }
    s.constant = constant;
    break;
  }
  return items;
}

std::size_t Extractor::least_plain(const Sum& s) const {
  std::size_t total = s.constant.is_zero() ? 0 : 2;
  for (const Term& t : s.terms) {
    std::size_t own = 3;  // a plain choice, such as max(x, 0)
    if (const int* const known = best_.find(t.atom)) {
      own = std::min(size(*known), kLimits.least_size);
    } else {  // at least all its variables
      const auto variables = static_cast<std::size_t>(std::ranges::count_if(
          c_[c_[t.atom].args[0]].terms,
          [&](const Term& u) { return c_.kind(u.atom) == NodeKind::Variable; }));
      if (variables > 2) own = 2 * variables - 1;
    }
    total += own + 1;
  }
  return total - 1;
}

std::size_t Extractor::Hash::operator()(const LaidOut& key) const {
  std::uint64_t hash = hash_mix(static_cast<std::uint64_t>(key.depth), key.sum.constant.hash());
  for (const Term& t : key.sum.terms) hash = hash_mix(hash ^ t.atom, t.coef.hash());
  return hash;
}

Extractor::Sum Extractor::nearest(Sum dividend, const Int& period) {
  for (Term& t : dividend.terms)
    if (t.coef == period - 1) t.coef = -1;
  if (dividend.constant == period - 1) dividend.constant = -1;
  return dividend;
}

int Extractor::turned_modulo(const Term& t, int depth) {
  const NodeData& n = c_[t.atom];
  const bool digit = n.kind == NodeKind::Digit && n.first.is_one() && !n.second.is_zero();
  if (!digit && n.kind != NodeKind::Mod) return -1;
  Sum dividend = sum_of(n.args[0]);
  if (digit) dividend = nearest(std::move(dividend), n.second);
  if (t.coef.sign() > 0) {  // the complement
    if (!digit) return -1;
    dividend.constant += 1;
  } else {
    dividend = plus(Sum{}, dividend, -1);
  }
  const int divisor =
      digit ? constant(-n.second) : lay_out_sum(plus(Sum{}, sum_of(n.args[1]), -1), depth + 1);
  const int whole = apply(ExprOp::Mod, {lay_out_sum(dividend, depth + 1), divisor});
  return scaled(whole, abs(t.coef));
}

Extractor::Items Extractor::plain_items(const Sum& s) {
  Items items;
  for (const Term& t : s.terms) items.push_back({t.coef, form_of(t.atom)});
  return items;
}

int Extractor::absorbed(const Sum& s, int depth, Items items) {
  Interrupt::poll();
  Sum work = s;
  turn_flag(work, items, true);
  const bool choices_left = absorb_choices(work, depth, true, items);
  // The last are the deepest: a quotient of quotients absorbs them before they are laid out alone.
  for (std::size_t i = s.terms.size(); i-- > 0;) {
    const Id atom = s.terms[i].atom;
    const NodeData& n = c_[atom];
    if (!n.is_quotient()) continue;
    const Int left = coefficient(work, atom);
    if (!left.is_zero()) absorb_quotient(work, {left, atom}, depth, items);
  }
  if (choices_left) absorb_choices(work, depth, false, items);
  turn_flag(work, items);
  factor_products(work, items);
  Items all = plain_items(work);
  all.insert(all.end(), items.begin(), items.end());
  return join(std::move(all), work.constant);
}

void Extractor::take_in_beside(Sum& work, Sum& dividend, const Int& k, const Int& divisor,
                               int depth) {
  const auto in_choice = [&](Id atom) {
    return std::ranges::any_of(dividend.terms, [&](const Term& t) {
      if (c_.kind(t.atom) != NodeKind::Max) return false;
      return std::ranges::any_of(c_[t.atom].args, [&](Id member) {
        return member == atom || !coefficient(sum_of(member), atom).is_zero();
      });
    });
  };
  Sum wider = dividend, rest = work;
  std::size_t beside = 0;  // size of the terms on their own
  for (const Term& t : work.terms) {
    if (!divides(k, t.coef) || !in_choice(t.atom)) continue;
    const Int factor = floor_div(t.coef, k) * divisor;
    if (abs(factor) > kLimits.folded_number) continue;
    wider = plus(wider, Sum{0, {Term{1, t.atom}}}, factor);
    rest = plus(rest, Sum{0, {t}}, -1);
    beside += size(form_of(t.atom)) + (abs(t.coef).is_one() ? 1 : 3);
  }
  if (beside == 0) return;
  const int now = quotient(dividend, lay_out_sum(dividend, depth + 1), divisor, depth + 1);
  const int then = quotient(wider, lay_out_sum(wider, depth + 1), divisor, depth + 1);
  if (size(then) >= size(now) + beside) return;
  dividend = std::move(wider);
  work = std::move(rest);
}

void Extractor::absorb_quotient(Sum& work, const Term& digit, int depth, Items& items) {
  const NodeData& n = c_[digit.atom];
  const Int& k = digit.coef;
  const Sum dividend = sum_of(n.args[0]);
  work = plus(work, Sum{0, {Term{1, digit.atom}}}, -k);
  const bool apart = std::ranges::any_of(
      dividend.terms, [&](const Term& t) { return !divides(k, coefficient(work, t.atom)); });
  Quotient best = absorbed_quotient({work, dividend, k}, n.first, digit.atom, depth);
  if (purpose_ == For::Text && c_.height(digit.atom) <= kLimits.turned_height &&
      (k.sign() < 0 || !dividend.constant.is_zero() || apart)) {
    Quotient other{work, {n.first - 1 - dividend.constant, dividend.terms}, -k};
    for (Term& t : other.dividend.terms) {  // k*(D//c) is k*x - k*((x*c - 1 - D)//c)
      t.coef = n.first - t.coef;
      other.work = plus(other.work, Sum{0, {Term{1, t.atom}}}, k);
    }
    other = absorbed_quotient(std::move(other), n.first, std::nullopt, depth);
    const auto total = [&](const Quotient& q) {
      std::size_t all = size(q.form) + (q.work.constant.is_zero() ? 0 : 2);
      const auto positive = [](const auto& part) { return part.coef.sign() > 0; };
      if (q.coef == Int(-1) && q.work.constant.is_zero() &&
          std::ranges::none_of(q.work.terms, positive) && std::ranges::none_of(items, positive))
        ++all;
      for (const Term& t : dividend.terms)
        if (const Int left = coefficient(q.work, t.atom); !left.is_zero())
          all += size(form_of(t.atom)) + (abs(left).is_one() ? 1 : 3);
      return all;
    };
    if (total(other) < total(best)) best = std::move(other);
  }
  work = std::move(best.work);
  items.push_back({best.coef, best.form});
}

Extractor::Quotient Extractor::absorbed_quotient(Quotient q, const Int& divisor,
                                                 std::optional<Id> whole, int depth) {
  auto& [work, dividend, k, form] = q;
  const Sum before = dividend;
  const Terms terms = work.terms;
  for (const Term& t : terms) {
    if (coefficient(before, t.atom).is_zero() || !divides(k, t.coef)) continue;
    const Int factor = floor_div(t.coef, k) * divisor;
    if (abs(factor) > kLimits.folded_number) continue;
    dividend = plus(dividend, Sum{0, {Term{1, t.atom}}}, factor);
    work = plus(work, Sum{0, {t}}, -1);
  }
  take_in_beside(work, dividend, k, divisor, depth);
  const auto laid_out = [&] {
    const bool same = dividend == before;
    return same && whole ? form_of(*whole)
                         : quotient(dividend, lay_out_sum(dividend, depth + 1), divisor, depth + 1);
  };
  const bool moves = !work.constant.is_zero() && divides(k, work.constant) &&
                     abs(work.constant * divisor) <= kLimits.folded_number;
  const bool chosen = std::ranges::any_of(
      dividend.terms, [&](const Term& t) { return c_.kind(t.atom) == NodeKind::Max; });
  if (!moves || (before.constant.is_zero() && !chosen)) {
    form = laid_out();
    return q;
  }
  // Try the constant beside the quotient, if members may absorb it, and inside.
  const int outside = before.constant.is_zero() ? laid_out() : -1;
  dividend.constant += floor_div(work.constant, k) * divisor;
  form = laid_out();
  if (outside < 0 || size(form) < size(outside) + 2)
    work.constant = 0;
  else
    form = outside;
  return q;
}

int Extractor::divided_members(int form, const Int& divisor) {
  const auto at = [&](int i) -> const Form& { return forms_[static_cast<std::size_t>(i)]; };
  const auto number = [&](int i) { return at(i).op == ExprOp::Constant ? &at(i).value : nullptr; };
  const ExprOp op = at(form).op;
  if (op != ExprOp::Min && op != ExprOp::Max) return -1;
  int parts[2];
  bool exact = false;
  for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) {
    const int part = at(form).args[i];
    const Int* const value = number(part);
    const Int* const factor = at(part).op == ExprOp::Mul ? number(at(part).args[1]) : nullptr;
    if (value) {
      parts[i] = constant(floor_div(*value, divisor));
    } else if (factor && divides(divisor, *factor)) {
      parts[i] = scaled(at(part).args[0], floor_div(*factor, divisor));
      exact = true;
    } else {
      parts[i] = apply(ExprOp::Div, {part, constant(divisor)});
    }
  }
  return exact ? apply(op, {parts[0], parts[1]}) : -1;
}

int Extractor::quotient(const Sum& dividend, int form, const Int& divisor, int depth) {
  int r = apply(ExprOp::Div, {form, constant(divisor)});
  if (const int members = divided_members(form, divisor); members >= 0)
    r = smaller_form(r, members);
  if (purpose_ == For::Code || dividend.terms.empty() || dividend.terms[0].coef.sign() > 0)
    return r;
  const Sum flipped = plus(Sum{}, dividend, -1);
  return smaller_form(r, apply(ExprOp::Div, {lay_out_sum(flipped, depth), constant(-divisor)}));
}

void Extractor::turn_flag(Sum& work, Items& items, bool no_longer) {
  if (work.constant.is_zero()) return;
  for (const Term& t : work.terms) {
    const NodeKind kind = c_.kind(t.atom);
    if (t.coef != -work.constant || (kind != NodeKind::Negative && kind != NodeKind::Zero))
      continue;
    const int negated = negation(t.atom);
    if (no_longer && size(form_of(t.atom)) < size(negated)) continue;
    items.push_back({-t.coef, negated});
    work.constant = 0;
    const Term flag = t;
    take(work, flag);
    return;
  }
}

int Extractor::join(Items items, const Int& constant) {
  const auto grouped_with = [&](std::size_t i) {
    const Int factor = abs(items[i].coef);
    if (factor.is_zero()) return true;
    if (factor.is_one()) return false;
    return std::any_of(items.begin() + i + 1, items.end(),
                       [&](const Item& other) { return abs(other.coef) == factor; });
  };
  bool plain = true;
  for (std::size_t i = 0; i < items.size() && plain; ++i) plain = !grouped_with(i);
  if (plain) return join_plain(items, constant);
  Items grouped;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const Int factor = abs(items[i].coef);
    if (factor.is_zero()) continue;  // already in a group
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
    r = r < 0 ? part : apply(ExprOp::Add, {r, part});
  }
  bool spent = constant.is_zero();
  std::size_t first = items.size();  // the negative term that the sum starts with
  if (r < 0) {
    for (std::size_t i = items.size(); i-- > 0;)
      if (first == items.size() || items[i].coef != Int(-1)) first = i;
    if (!spent && (items.empty() || constant.sign() > 0 || items[first].coef == Int(-1))) {
      r = this->constant(constant);
      spent = true;
    } else if (items.empty()) {
      r = this->constant(0);
    } else {
      const Item& t = items[first];
      r = t.coef == Int(-1) ? apply(ExprOp::Sub, {this->constant(0), t.form})
                            : scaled(t.form, t.coef);
    }
  }
  const bool leads = first < items.size() && !(spent && !constant.is_zero());
  for (std::size_t i = 0; i < items.size(); ++i)
    if (items[i].coef.sign() < 0 && !(leads && i == first))
      r = apply(ExprOp::Sub, {r, scaled(items[i].form, -items[i].coef)});
  if (spent) return r;
  if (constant.sign() > 0) return apply(ExprOp::Add, {r, this->constant(constant)});
  return apply(ExprOp::Sub, {r, this->constant(-constant)});
}

}  // namespace touchstone::symbolic
