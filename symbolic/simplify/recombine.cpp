// Joins terms of a sum: digits of one number, a quotient with its remainder, or choices on one
// condition.
#include <algorithm>

#include "touchstone/symbolic/node/order.h"
#include "touchstone/symbolic/number/id_map.h"
#include "touchstone/symbolic/number/limits.h"
#include "touchstone/symbolic/simplify/simplifier.h"

namespace touchstone::symbolic {

namespace {

/// True if subtracting factor * part from s removes or shrinks every term it touches.
bool shares(const Linear& s, const Linear& part, const Int& factor) {
  for (const Term& t : part.terms) {
    const Term* own = find_term(s.terms, t.atom);
    const Int taken = t.coef * factor;
    if (!own || own->coef.sign() != taken.sign() || abs(own->coef) < abs(taken)) return false;
  }
  return true;
}

}  // namespace

int Simplifier::weight(const Linear& s) const {
  int total = 0;
  bool constant = !s.constant.is_zero();  // counts, unless it pairs with a remainder's complement
  for (const Term& t : s.terms) {
    const NodeData& n = c_[t.atom];
    total += 2 + (abs(t.coef).is_one() ? 0 : 2);
    if (n.kind != NodeKind::Digit) continue;
    if (constant && !n.second.is_zero())
      constant = s.constant != t.coef * (Int(1) - floor_div(n.second, n.first));
    total += 2 + (n.first.is_one() || n.second.is_zero() ? 0 : 2);
    total += 2 * static_cast<int>(std::max<std::size_t>(c_[n.args[0]].terms.size(), 1));
  }
  return total + (constant ? 1 : 0);
}

bool Simplifier::related(const Linear& s, const Term& digit) const {
  const auto terms_of = [&](const Id& id, Term& alone) -> std::span<const Term> {
    const NodeData& n = c_[id];
    if (n.kind == NodeKind::Sum || n.kind == NodeKind::Constant) return n.terms;
    alone = {1, id};
    return {&alone, 1};
  };
  Term alone, other_alone;
  const auto dividend = terms_of(c_[digit.atom].args[0], alone);
  const auto within = [&](Id atom) {
    return std::ranges::find(dividend, atom, &Term::atom) != dividend.end();
  };
  for (const Term& t : s.terms) {
    if (t.atom == digit.atom) continue;
    if (within(t.atom)) return true;
    if (c_.kind(t.atom) != NodeKind::Digit) continue;
    for (const Term& inner : terms_of(c_[t.atom].args[0], other_alone))
      if (within(inner.atom)) return true;
  }
  return false;
}

bool Simplifier::lightens(const Linear& s, const Term& top, const Linear& part,
                          const Int& m) const {
  const bool meets = std::ranges::any_of(part.terms, [&](const Term& t) {
    const Term* own = find_term(s.terms, t.atom);
    return own && own->coef == t.coef * m;
  });
  if (!meets) return false;
  // The remainder that replaces the quotient has the same dividend, so weigh them alike.
  Linear after = plus(s, part, -m);
  const auto light = [&](const Linear& sum) {
    const Int g = content(sum);
    return g.is_zero() ? 0 : weight(divided(sum, g));
  };
  Linear same = after;  // with the remainder's factor on the quotient
  for (Term& t : same.terms)
    if (t.atom == top.atom) t.coef = m;
  return light(same) < light(s);
}

bool Simplifier::absorb_quotient(Linear& s, Linear& done, const Term& top) {
  const NodeData& n = c_[top.atom];
  const Linear dividend = linear(n.args[0]);
  const Int& high = n.first;
  Terms lower;  // digits of s that may be the next lower quotient of the number
  for (const Term& t : s.terms) {
    const NodeData& d = c_[t.atom];
    if (d.is_quotient() && d.first < high && divides(d.first, high)) lower.push_back(t);
  }
  std::ranges::sort(lower, [&](const Term& a, const Term& b) {
    const NodeData &x = c_[a.atom], &y = c_[b.atom];
    return x.first != y.first ? y.first < x.first : compare(c_, a.atom, b.atom) < 0;
  });
  lower.push_back({0, 0});  // the number itself
  for (const Term& t : lower) {
    const bool itself = t.coef.is_zero();
    const Int low = itself ? Int(1) : c_[t.atom].first;
    const Trace::Mark start = mark();
    const Linear part = itself ? dividend : digit(dividend, low, 0);
    reverse_since(start);
    if (!itself) {
      const Term* own = find_term(part.terms, t.atom);
      if (!own || !own->coef.is_one()) {
        rewind(start);
        continue;
      }
    }
    const Int ratio = floor_div(high, low);
    Int m = divides(ratio, top.coef) ? -floor_div(top.coef, ratio) : Int(0);
    if (m.is_zero() || !shares(s, part, m)) {
      // keep the remainder of the quotient above if it subtracts
      const bool less = !itself && top.coef.sign() * t.coef.sign() <= 0 &&
                        abs(top.coef) <= abs(t.coef) * ratio && shares(s, part, t.coef);
      if (!less && !(itself && !m.is_zero() && lightens(s, top, part, m))) {
        rewind(start);
        continue;
      }
      if (less) m = t.coef;
    }
    const Trace::Mark merge = mark();
    law("digit.merge", "x", dividend, "a", low, "d", ratio, "k", m);
    reverse_since(merge);
    Linear rest = plus(s, part, -m);
    add(rest, atom(top.atom), m * ratio);
    const Linear between = digit(dividend, low, high);
    const bool one = between.terms.size() == 1 &&
                     c_.kind(between.terms[0].atom) == NodeKind::Digit &&
                     !c_[between.terms[0].atom].second.is_zero();
    if (!one && !between.is_constant()) {  // another quotient might loop forever
      Linear total = plus(rest, between, m);
      if (weight(total) >= weight(s)) {
        rewind(start);
        continue;
      }
    }
    s = std::move(rest);
    add(done, between, m);
    return true;
  }
  return false;
}

// Joins k*n/l * (D // n) + k*M, where M = E // l % (n / l) equals D's own digit from l to n
// although D and E differ: remainders are reduced further than the quotients beside them.
bool Simplifier::join_remainder(Linear& s) {
  for (const Term& top : s.terms) {
    const NodeData& q = c_[top.atom];
    if (!q.is_quotient()) continue;
    for (const Term& low : s.terms) {
      const NodeData& m = c_[low.atom];
      if (m.kind != NodeKind::Digit || m.second != q.first) continue;
      const Int ratio = floor_div(m.second, m.first);
      if (m.args[0] == q.args[0]) continue;
      const Linear dividend = linear(q.args[0]);
      const Term quotient = top, remainder = low;
      const Int from = m.first, to = m.second;
      const Trace::Mark start = mark();
      // The digit may be a constant minus that remainder.
      const Linear own = digit(dividend, from, to);
      if (own.terms.size() != 1 || own.terms[0].atom != remainder.atom ||
          own.terms[0].coef * quotient.coef != remainder.coef * ratio) {
        rewind(start);
        continue;
      }
      const Int k = floor_div(quotient.coef, ratio);
      reverse_since(start);
      law("digit.merge", "x", dividend, "a", from, "d", ratio, "k", k);
      add(s, atom(quotient.atom), -quotient.coef);
      add(s, atom(remainder.atom), -remainder.coef);
      add(s, digit(dividend, from, 0), k);
      s.constant -= own.constant * k;
      return true;
    }
  }
  return false;
}

void Simplifier::recombine_digits(Linear& s) {
  while (join_remainder(s)) {
  }
  const auto is_digit = [&](const Term& t) { return c_.kind(t.atom) == NodeKind::Digit; };
  if (std::ranges::count_if(s.terms, is_digit) > kLimits.opened_digits) return;
  const Trace::Mark start = mark();
  const Linear before = s;
  join_opened(s, false);
  if (std::ranges::none_of(s.terms, is_digit)) return;  // no simpler form exists
  const Trace::Mark joined = mark();
  Linear turned = before;
  join_opened(turned, true);
  if (weight(turned) >= weight(s)) return rewind(joined);
  if (traced()) {  // again, for the trace
    rewind(start);
    turned = before;
    join_opened(turned, true);
  }
  s = std::move(turned);
}

std::optional<Simplifier::Division> Simplifier::remainder_of(Id id) {
  const NodeData& n = c_[id];
  if (n.kind == NodeKind::Mod) return Division{linear(n.args[0]), linear(n.args[1])};
  if (!n.is_digit()) return std::nullopt;
  const Linear turns{floor_div(n.second, n.first), {}};
  return Division{digit(linear(n.args[0]), n.first, 0), turns};
}

// Joins k*(x % b) + k*b*(x // b % a).
bool Simplifier::join_remainders(Linear& s) {
  for (const Term& low : s.terms) {
    const NodeKind kind = c_.kind(low.atom);
    if (kind != NodeKind::Mod && kind != NodeKind::Digit) continue;
    for (const Term& high : s.terms) {
      const NodeData& p = c_[high.atom];
      const bool product = p.kind == NodeKind::Product;
      // Without a cofactor, the low divisor must be a number and the high one symbolic.
      if (high.atom == low.atom || (!product && (kind == NodeKind::Mod || p.kind != NodeKind::Mod)))
        continue;
      for (const Id f : factors(high.atom)) {
        if (kind != NodeKind::Mod && c_.kind(f) != NodeKind::Mod) continue;
        const Trace::Mark start = mark();
        const auto below = remainder_of(low.atom), above = remainder_of(f);
        if (!below || !above || !bounds(above->divisor).at_least(1)) continue;
        const Id factor[] = {f};
        Linear scale, wanted;
        add(scale, product ? without(high.atom, factor) : c_.make_constant(1), high.coef);
        add(wanted, below->divisor, low.coef);
        if (!(scale == wanted) || !(divide(below->dividend, below->divisor) == above->dividend)) {
          rewind(start);
          continue;
        }
        reverse_since(start);
        law("mod.join", "x", below->dividend, "b", below->divisor, "a", above->divisor);
        const Term first = low, second = high;
        const Linear whole = multiply(below->divisor, above->divisor);
        add(s, atom(first.atom), -first.coef);
        add(s, atom(second.atom), -second.coef);
        add(s, modulo(below->dividend, whole), first.coef);
        return true;
      }
    }
  }
  return false;
}

bool Simplifier::round_truncation(Linear& s) {
  for (const Term& t : Terms(s.terms)) {
    const NodeData& n = c_[t.atom];
    if (n.kind != NodeKind::TruncDiv || !bounds(linear(n.args[1])).at_least(1)) continue;
    const Linear x = linear(n.args[0]), y = linear(n.args[1]);
    for (const bool up : {false, true}) {
      const auto toward = [&](const Linear& of) { return negative(up ? -of : of); };
      const Trace::Mark start = mark();
      const Id parts[] = {toward(x), negate(zero(modulo(x, y)))};
      const Id flags[] = {toward(truncated(x, y, true)), both(parts)};
      rewind(start);
      for (const Id flag : flags) {
        const Linear f = linear(flag);  // it may be 1 minus an atom
        const Int k = up ? t.coef : -t.coef;
        const Term* const own = f.is_constant() ? nullptr : find_term(s.terms, f.terms[0].atom);
        if (!own || own->coef != f.terms[0].coef * k) continue;
        const auto use = [&](Instance& i) { i.bind("x", up ? -x : x).bind("b", y); };
        if (flag == flags[1]) law("lt.tmod", use);
        reverse_since(start);
        if (up) law("tdiv.dividend", "x", x, "b", y);
        law("tdiv.down", use);
        add(s, f, -k);
        add(s, t.atom, -t.coef);
        add(s, divide(up ? -x : x, y), -k);
        return true;
      }
    }
  }
  return false;
}

// x//y + (x < 0 and x%y != 0) is tdiv(x, y).
bool Simplifier::truncate_quotient(Linear& s) {
  for (const Term& t : Terms(s.terms)) {
    const NodeData& n = c_[t.atom];
    if (n.kind != NodeKind::Div && !n.is_quotient()) continue;
    const Linear x = linear(n.args[0]),
                 y = n.kind == NodeKind::Div ? linear(n.args[1]) : Linear{n.first, {}};
    if (!bounds(y).at_least(1)) continue;
    const Trace::Mark start = mark();
    const Id parts[] = {negative(x), negate(zero(modulo(x, y)))};
    const Id flag = both(parts);
    Id used = flag;
    if (!find_term(s.terms, flag) && y == Linear{2, {}})  // x%2 is the flag itself
      if (const Linear chosen = where(parts[0], linear(parts[1]), {}); chosen.terms.size() == 1)
        used = chosen.terms[0].atom;
    rewind(start);
    const Term* const own = find_term(s.terms, used);
    if (!own || own->coef != t.coef || c_.partial(used)) continue;
    law("tdiv.up", "x", x, "b", y);
    add(s, used, -t.coef);
    add(s, atom(t.atom), -t.coef);
    add(s, truncated(x, y, false), t.coef);
    return true;
  }
  return false;
}

void Simplifier::recombine_symbolic(Linear& s) {
  while (join_remainders(s)) {
  }
  for (bool again = true; again;) {
    again = false;
    for (const Term& t : s.terms) {
      const NodeData& n = c_[t.atom];
      Ids quotients;
      if (n.kind == NodeKind::Mod || truncates(n.kind)) quotients.push_back(t.atom);
      for (const Id f : n.kind == NodeKind::Product ? n.args : std::span<const Id>())
        if (c_.kind(f) == NodeKind::Div || c_.kind(f) == NodeKind::TruncDiv) quotients.push_back(f);
      for (const Id q : quotients) {
        const bool truncating = truncates(c_.kind(q));
        if (c_[q].args[1] == 0 || (!truncating && c_.kind(c_[q].args[1]) == NodeKind::Constant))
          continue;  // 0 by the facts
        const Linear a = linear(c_[q].args[0]), b = linear(c_[q].args[1]);
        const Trace::Mark start = mark();
        const bool mod = c_.kind(q) == NodeKind::Mod || c_.kind(q) == NodeKind::TruncMod;
        const auto over = [&](bool remainder) {
          if (truncating) return truncated(a, b, remainder);
          return remainder ? modulo(a, b) : divide(a, b);
        };
        const Linear quotient = mod ? over(false) : atom(q), back = multiply(b, quotient);
        const auto higher = [&](const Term& u) {  // the digit above this one
          return c_.kind(u.atom) == NodeKind::TruncMod && u.coef == t.coef * b.constant &&
                 is(c_[u.atom].args[0], quotient);
        };
        if (const auto high = std::ranges::find_if(s.terms, higher);
            mod && truncating && b.is_constant() && high != s.terms.end()) {
          const Int k = t.coef;
          const Linear d = linear(c_[high->atom].args[1]);
          reverse_since(start);
          law("tmod.join", "x", a, "b", b, "d", d);
          add(s, high->atom, -high->coef);
          add(s, q, -k);
          add(s, truncated(a, multiply(b, d), true), k);
          again = true;
          break;
        }
        if (mod && shares(s, back, t.coef)) {
          const Int k = t.coef;
          reverse_since(start);
          law(truncating ? "tdiv.join" : "divmod.join", "x", a, "b", b);
          add(s, atom(q), -k);
          add(s, back, -k);
          add(s, a, k);
          again = true;
        } else if (const Term* own = find_term(back.terms, t.atom);
                   !mod && own && divides(own->coef, t.coef)) {
          const Int k = -floor_div(t.coef, own->coef);
          if (!shares(s, back, -k) || !shares(s, a, k)) {
            rewind(start);
            continue;
          }
          law(truncating ? "tmod.make" : "mod.make", "x", a, "b", b);
          add(s, back, k);
          add(s, a, -k);
          add(s, over(true), k);
          again = true;
        } else {
          rewind(start);
        }
        if (again) break;
      }
      if (again) break;
    }
  }
}

void Simplifier::recombine_choices(Linear& s) {
  // Rebuilt choices may share conditions again; bound the rounds.
  constexpr int kMostAgain = 8;
  for (int again = 0; again < kMostAgain;) {
    const std::size_t terms = s.terms.size();
    if (!join_choices(s)) break;
    if (s.terms.size() >= terms) ++again;
  }
  while (join_conditions(s)) {
  }
}

// Merges the choices on one condition, and the condition itself, into one choice.
bool Simplifier::join_choices(Linear& s) {
  IdMap<int> uses;  // of each condition
  bool any = false, twice = false;
  const auto use = [&](Id condition) {
    const int* const known = uses.find(condition);
    twice |= known != nullptr;
    uses.set(condition, known ? *known + 1 : 1);
  };
  for (const Term& t : s.terms)
    if (c_.kind(t.atom) == NodeKind::Select) {
      use(c_[t.atom].args[0]);
      any = true;
    }
  if (!any) return false;
  for (const Term& t : s.terms)
    if (uses.contains(t.atom)) use(t.atom);
  if (!twice) return false;
  Linear rest{s.constant, {}};
  List<std::pair<Id, Linear>> joined;  // conditions and their choices
  IdMap<std::size_t> places;
  for (const Term& t : s.terms) {
    const NodeData& n = c_[t.atom];
    const bool chooses = n.kind == NodeKind::Select;
    const Id condition = chooses ? n.args[0] : t.atom;
    const int* const count = uses.find(condition);
    if (!count || *count < 2) {
      rest.terms.push_back(t);
      continue;
    }
    if (!places.contains(condition)) {
      places.set(condition, joined.size());
      joined.emplace_back(condition, Linear());
    }
    Linear& gap = joined[*places.find(condition)].second;
    if (!gap.is_constant() || !gap.constant.is_zero())
      law("where.join", [&](Instance& i) {
        i.bind("x", atom(condition)).bind("y", gap).bind("k", 1);
        i.bind("z", chooses ? linear(n.args[1]) : Linear{1, {}}).bind("m", t.coef);
      });
    if (chooses)
      add(gap, n.args[1], t.coef);
    else
      gap.constant += t.coef;
  }
  for (auto& [condition, gap] : joined) add(rest, select(condition, std::move(gap)));
  s = std::move(rest);
  return true;
}

// Merges equal choices on two conditions if one implies the other or they exclude each other.
bool Simplifier::join_conditions(Linear& s) {
  if (s.terms.size() > kLimits.joined_conditions) return false;
  struct Flag {
    Id condition;
    Id chosen;  // 0 if the condition itself is the term
  };
  const auto flag_of = [&](const Term& t) -> std::optional<Flag> {
    const NodeData& n = c_[t.atom];
    if (n.kind == NodeKind::Select) return Flag{n.args[0], n.args[1]};
    if (is_condition(n.kind)) return Flag{t.atom, 0};
    return std::nullopt;
  };
  for (std::size_t i = 0; i < s.terms.size(); ++i) {
    const auto one = flag_of(s.terms[i]);
    if (!one || c_.partial(s.terms[i].atom)) continue;
    for (std::size_t j = 0; j < s.terms.size(); ++j) {
      const Term wide = s.terms[i], narrow = s.terms[j];
      const bool less = wide.coef == -narrow.coef;
      if (i == j || (!less && (wide.coef != narrow.coef || j < i))) continue;
      const auto other = flag_of(narrow);
      if (!other || other->chosen != one->chosen || c_.partial(narrow.atom)) continue;
      const auto truth = decided(one->condition, other->condition);
      if (!truth || *truth != less) continue;
      const Id pair[] = {one->condition, less ? negate(other->condition) : other->condition};
      const Trace::Mark start = mark();
      const Linear chosen = one->chosen == 0 ? Linear{1, {}} : linear(one->chosen);
      law(less ? "where.within" : "where.either", [&](Instance& use) {
        use.bind("x", atom(one->condition)).bind("y", atom(other->condition)).bind("z", chosen);
      });
      const Id joint = less ? both(pair) : either(pair);
      const bool fewer =  // parts
          c_.kind(other->condition) == NodeKind::And || c_.kind(one->condition) == NodeKind::And;
      if (one->chosen == 0 && c_.kind(negated(joint)) == NodeKind::And && !fewer) {
        rewind(start);
        continue;
      }
      add(s, atom(wide.atom), -wide.coef);
      add(s, atom(narrow.atom), -narrow.coef);
      add(s, where(joint, chosen, Linear()), wide.coef);
      return true;
    }
  }
  return false;
}

void Simplifier::recombine(Linear& s) {
  bool digits = false, choices = false, products = false, joint = false;
  int flags = 0, quotients = 0;
  std::ptrdiff_t symbolic = 0;
  for (const Term& t : s.terms) {
    const NodeData& n = c_[t.atom];
    digits |= n.kind == NodeKind::Digit;
    quotients += n.kind == NodeKind::Div;
    choices |= n.kind == NodeKind::Select;
    flags += is_condition(n.kind);
    joint |= n.kind == NodeKind::And || n.kind == NodeKind::Select;
    symbolic += n.kind == NodeKind::Mod || truncates(n.kind);
    if (n.kind == NodeKind::Product)
      for (const Id f : n.args) {
        symbolic += c_.kind(f) == NodeKind::Div || c_.kind(f) == NodeKind::TruncDiv;
        products |= c_.kind(f) == NodeKind::Digit;
      }
  }
  choices |= flags > 1;
  if (!(digits || symbolic > 0 || choices || flags > 0 || products || quotients > 1)) return;
  deepest_ = std::max(deepest_, depth_ + 1);
  if (depth_ >= kLimits.joined_depth) return;
  ++depth_;
  while (flags > 0 && (wrap(s) || (digits && shift_quotient(s)))) {
  }
  if (choices) recombine_choices(s);
  while (choices && wrap_symbolic(s)) {
  }
  if (products) recombine_products(s);
  if (symbolic > 0 && symbolic <= kLimits.opened_digits) recombine_symbolic(s);
  while (symbolic > 0 && flags > 0 && round_truncation(s)) {
  }
  while (joint && !opening_ && truncate_quotient(s)) {
  }
  if (digits) complement_quotients(s);
  for (int round = 0; digits && round < 2; ++round) {  // a remainder may be complemented
    const Linear before = s;
    recombine_digits(s);
    if (s == before) break;
    complement_quotients(s);
  }
  for (int left = kLimits.turned_quotients; (digits || quotients > 1) && left > 0 && apply_sum(s);
       --left)
    if (digits) complement_quotients(s);
  if (symbolic > 0) complement_remainder(s);
  --depth_;
}

}  // namespace touchstone::symbolic
