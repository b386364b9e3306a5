#include <algorithm>

#include "touchstone/symbolic/node/order.h"
#include "touchstone/symbolic/number/limits.h"
#include "touchstone/symbolic/simplify/simplifier.h"

namespace touchstone::symbolic {

Int Simplifier::content(const Linear& s) {
  Int g = s.constant;
  for (const Term& t : s.terms) g = gcd(g, t.coef);
  return g;
}

Linear Simplifier::divided(Linear s, const Int& factor) {
  s.constant = floor_div(s.constant, factor);
  for (Term& t : s.terms) t.coef = floor_div(t.coef, factor);
  return s;
}

bool Simplifier::precedes(const Linear& a, const Linear& b) const {
  if (a.terms.size() != b.terms.size()) return a.terms.size() < b.terms.size();
  for (std::size_t i = 0; i < a.terms.size(); ++i) {
    if (a.terms[i].atom != b.terms[i].atom)
      return compare(c_, a.terms[i].atom, b.terms[i].atom) < 0;
    if (a.terms[i].coef != b.terms[i].coef) return a.terms[i].coef < b.terms[i].coef;
  }
  return a.constant < b.constant;
}

Id Simplifier::negated(Id boolean) const {
  const NodeData& n = c_[boolean];
  const bool turned = n.kind == NodeKind::Sum && n.first.is_one() && n.terms.size() == 1 &&
                      n.terms[0].coef == Int(-1) && c_[n.terms[0].atom].boolean;
  return turned ? n.terms[0].atom : boolean;
}

std::optional<Linear> Simplifier::comparison(Id boolean) const {
  const Id flag = negated(boolean);
  if (c_.kind(flag) != NodeKind::Negative) return std::nullopt;
  Linear s = linear(c_[flag].args[0]);
  if (flag == boolean) return s;
  return shifted(-s, -1);
}

std::optional<bool> Simplifier::decided(Id condition, Id known) {
  if (condition == known) return true;
  if (const Id inner = negated(condition); inner != condition) {
    const auto truth = decided(inner, known);
    return truth ? std::optional(!*truth) : std::nullopt;
  }
  if (c_.kind(known) == NodeKind::And) {
    for (const Id part : c_[known].args)
      if (const auto truth = decided(condition, part)) return truth;
    return std::nullopt;
  }
  if (condition == negated(known)) return false;
  // Neither is decided by its own bounds, so without a common variable nothing is implied.
  if (facts_.empty() && residues_.empty() &&
      (c_.variables_in(condition) & c_.variables_in(known)) == 0)
    return std::nullopt;
  const NodeData &c = c_[condition], &k = c_[known];
  if (c.kind != NodeKind::Negative && c.kind != NodeKind::Zero) return std::nullopt;
  const auto below = comparison(known);
  if (!below && k.kind != NodeKind::Zero) return std::nullopt;
  const Linear asked = linear(c.args[0]), fact = below ? *below : linear(k.args[0]);
  const Interval over = bounds_of_sum(asked, fact, -1);
  if (k.kind != NodeKind::Zero && over.at_most(0)) return c.kind == NodeKind::Negative;
  const Interval both = bounds_of_sum(asked, fact, 1);
  if (k.kind == NodeKind::Zero) {  // asked = gap = total
    const Interval range = meet(over, both);
    if (c.kind == NodeKind::Negative) {
      if (range.at_most(-1)) return true;
      if (range.at_least(0)) return false;
    } else if (range.at_least(1) || range.at_most(-1)) {
      return false;
    }
    return std::nullopt;
  }
  if (both.at_least(c.kind == NodeKind::Negative ? -1 : 0))
    return false;  // asked >= -1 - fact >= 0
  return std::nullopt;
}

Linear Simplifier::resolved(const Linear& s, Id known) {
  Linear r = s;
  const NodeData& k = c_[known];
  for (const Term& t : s.terms) {
    const NodeData& n = c_[t.atom];
    const bool select = n.kind == NodeKind::Select;
    if (!select && !n.boolean) continue;
    const auto truth = decided(select ? n.args[0] : t.atom, known);
    if (!truth) continue;
    add(r, atom(t.atom), -t.coef);
    fixed(select ? n.args[0] : t.atom, *truth ? 1 : 0);
    if (*truth)
      law(select ? "where.where" : "where.known", [&](Instance& i) {
        i.bind("x", linear(known)).bind("w", linear(select ? n.args[0] : t.atom));
        i.bind("y", select ? linear(n.args[1]) : Linear{t.coef, {}}).bind("z", 0).bind("k", 0);
      });
    if (*truth && select) add(r, n.args[1], t.coef);
    if (*truth && !select) r.constant += t.coef;
  }
  if (k.kind != NodeKind::Zero) return r;
  const Linear fact = linear(k.args[0]);  // its first atom is eliminated
  if (!fact.terms[0].coef.is_one()) return r;
  // Otherwise another term's parts would reintroduce the atom.
  const auto has_first = [&](const Term& t) {
    return t.atom != fact.terms[0].atom && depends(t.atom, fact.terms[0].atom);
  };
  if (std::ranges::any_of(fact.terms, has_first)) return r;
  for (const Term& t : s.terms)
    if (t.atom == fact.terms[0].atom) {
      law("where.equal", [&](Instance& i) {
        Linear other = atom(t.atom);
        add(other, fact, -1);
        i.bind("x", atom(t.atom)).bind("y", other).bind("k", t.coef).bind("z", 0);
      });
      add(r, fact, -t.coef);
    }
  return r;
}

bool Simplifier::vanishes(const Linear& s, Id condition) {
  const auto steps = [&](const Term& t) {
    return c_.kind(t.atom) == NodeKind::Max &&
           (c_.variables_in(t.atom) & c_.variables_in(condition)) != 0;
  };
  const auto partial = [&](const Term& t) { return c_.partial(t.atom); };  // may be undefined
  if (c_.partial(condition) || std::ranges::none_of(s.terms, steps) ||
      std::ranges::any_of(s.terms, partial))
    return false;
  const Trace::Mark start = mark();
  const Id known[] = {condition};
  const auto inside = within(build(s), known);
  rewind(start);
  return inside && linear(*inside) == Linear();
}

Linear Simplifier::select(Id c, Linear gap) {
  const Id known[] = {c};
  gap = resolved(gap, c);
  const Trace::Mark start = mark();
  if (const auto inside = within(build(gap), known)) {
    // No gain if all atoms remain, directly or inside a choice, and only others were added: the new
    // atom would be replaced back.
    Linear now = resolved(linear(*inside), c);
    const auto stays = [&](const Term& t) {
      return std::ranges::any_of(now.terms, [&](const Term& other) {
        const NodeKind kind = c_.kind(other.atom);
        return other.atom == t.atom ||
               ((kind == NodeKind::Select || kind == NodeKind::Max) &&
                std::ranges::binary_search(reachable(c_, other.atom, kLimits.condition_nodes),
                                           t.atom));
      });
    };
    const bool grows = !(now.terms == gap.terms) && std::ranges::all_of(gap.terms, stays);
    if (grows)
      rewind(start);
    else
      gap = std::move(now);
  } else {
    fixed(c, 0);
    gap = Linear();
  }
  Linear r;
  if (gap.is_constant()) {
    add(r, c, gap.constant);
    return r;
  }
  if (c_.kind(c) == NodeKind::Negative) {  // a nonpositive sum: 0 unless negative
    const Linear x = linear(c_[c].args[0]);
    const auto own = std::ranges::find(gap.terms, x.terms[0].atom, &Term::atom);
    if (own != gap.terms.end() && divides(x.terms[0].coef, own->coef) && bounds(x).at_most(0)) {
      const Int k = floor_div(own->coef, x.terms[0].coef);
      Linear rest = plus(gap, x, -k);
      if (rest.terms.size() + x.terms.size() == gap.terms.size()) {
        law("where.edge", "x", x, "k", k, "z", rest);
        add(r, x, k);
        add(r, select(c, std::move(rest)));
        return r;
      }
    }
  }
  for (const Term& t : gap.terms) {
    const NodeData& n = c_[t.atom];
    if (n.kind != NodeKind::Select) continue;
    Linear chosen = gap, other = gap;  // gap is chosen - where(condition, chosen, 0)
    add(chosen, t.atom, -t.coef);
    other = chosen;
    add(other, n.args[1], t.coef);
    if (!(other == Linear())) continue;
    const Id both_hold[] = {c, negate(n.args[0])};
    law("where.unless",
        [&](Instance& i) { i.bind("x", atom(c)).bind("y", atom(n.args[0])).bind("z", chosen); });
    return where(both(both_hold), chosen, Linear());
  }
  if (vanishes(gap, negate(c))) {
    law("where.all", [&](Instance& i) { i.bind("x", atom(c)).bind("y", gap); });
    return gap;
  }
  if (gap.terms.size() == 1 && gap.constant == -gap.terms[0].coef &&
      is_condition(c_.kind(gap.terms[0].atom))) {
    const Id both_hold[] = {c, negate(gap.terms[0].atom)};
    law("where.and",
        [&](Instance& i) { i.bind("x", atom(c)).bind("y", linear(both_hold[1])).bind("z", 1); });
    add(r, both(both_hold), gap.constant);
    return r;
  }
  if (gap.terms.size() == 1 && gap.constant.is_zero()) {
    const Term only = gap.terms[0];
    const NodeData& inner = c_[only.atom];
    const Id both_hold[] = {c, inner.kind == NodeKind::Select ? inner.args[0] : only.atom};
    if (inner.kind == NodeKind::Select || is_condition(inner.kind)) {
      law("where.and", [&](Instance& i) {
        const bool nested = inner.kind == NodeKind::Select;
        i.bind("x", atom(c)).bind("y", atom(both_hold[1]));
        i.bind("z", (nested ? linear(inner.args[1]) : Linear{1, {}}));
      });
      const Id joint = both(both_hold);
      if (inner.kind != NodeKind::Select || joint != c) {
        add(r,
            inner.kind == NodeKind::Select ? where(joint, linear(inner.args[1]), Linear())
                                           : linear(joint),
            only.coef);
        return r;
      }
      gap = Linear();  // simplifying the chosen part under c would loop
      add(gap, inner.args[1], only.coef);
    }
  }
  const NodeData& n = c_[c];
  if (n.kind == NodeKind::Negative) {  // k*s where s < 0, else 0, is k*min(s, 0)
    for (const int up : {0, 1}) {
      Linear s = shifted(linear(n.args[0]), up);
      const Int& lead = s.terms[0].coef;
      if (gap.terms[0].atom != s.terms[0].atom || !divides(lead, gap.terms[0].coef)) continue;
      const Int k = floor_div(gap.terms[0].coef, lead);
      Linear rest = plus(gap, s, -k);
      if (!rest.is_constant() || !rest.constant.is_zero()) continue;
      law(up == 0 ? "where.min" : "where.min_le", "x", s, "k", k);
      const Linear members[] = {Linear(), -s};
      add(r, maximum(members), -k);
      return r;
    }
  }
  if (only_quotient(gap) && comparison(c)) {
    const Int k = content(gap);
    const Linear up = divided(gap, k);
    for (const Linear& q : {up, -up}) {
      const Trace::Mark start = mark();
      const auto less = decided(negative(q), c),
                 most = decided(negative(shifted(q, -1)), negate(c));
      rewind(start);
      if (less != false || most != true) continue;
      law("where.step", [&](Instance& i) { i.bind("x", atom(c)).bind("y", q); });
      const Linear members[] = {Linear(), q};
      add(r, maximum(members), q == up ? k : -k);
      return r;
    }
  }
  if (n.kind == NodeKind::Negative) {
    const Linear limit = plus(gap, n.args[0], -1);
    const auto partial = [&](const Term& t) { return c_.partial(t.atom); };
    if (std::ranges::none_of(limit.terms, partial) && !limit.is_constant() &&
        bounds(limit).at_least(1) && bounds(gap).at_least(0) &&
        bounds_of_sum(limit, gap, -1).at_least(0)) {
      law("mod.wrap_choice", "x", gap, "b", limit);
      return modulo(gap, limit);
    }
  }
  if (const Id lasting = lasting_truth(c); lasting != c) return where(lasting, gap, Linear());
  Int g = content(gap);
  if (gap.terms[0].coef.sign() < 0) g = -g;
  gap = divided(std::move(gap), g);
  const Id args[] = {c, build(gap)};
  const Interval chosen =
      meet(c_.bounds(args[1]), bounds_where(linear(args[1]), args[0], true).value_or(Interval()));
  add(r, node(NodeKind::Select, args, hull(Interval::point(0), chosen)), g);
  return r;
}

Linear Simplifier::shortened(const Linear& s) {
  const auto choices = std::ranges::count_if(s.terms, [&](const Term& t) {
    return c_.kind(t.atom) == NodeKind::Max || c_.kind(t.atom) == NodeKind::Select;
  });
  if (s.terms.size() <= kLimits.choice_terms &&
      static_cast<std::size_t>(choices) <= kLimits.choices_in_sum)
    return s;
  const Id sum[] = {build(s)};
  return node(NodeKind::Product, sum, lasting_bounds(s));
}

Linear Simplifier::where(Id c, const Linear& long_a, const Linear& long_b) {
  const Linear a = shortened(long_a), b = shortened(long_b);
  const NodeData& n = c_[c];
  if (n.kind == NodeKind::Constant) return n.first.is_zero() ? b : a;
  const Id other = negate(c);
  const auto plain = [&](Id id) {
    const NodeData& d = c_[id];
    return d.kind != NodeKind::Sum;
  };
  if (!plain(c) && plain(other)) {
    law("where.not", "x", other, "y", a, "z", b);
    return where(other, b, a);
  }
  Linear no = resolved(b, other);
  if (!no.is_constant()) {
    const Id known[] = {other};
    const auto inside = within(build(no), known);
    if (!inside) return a;  // c always holds
    no = linear(*inside);
  }
  Linear gap = resolved(a, c);
  // A term that may divide by zero stays in its branch unless the other branch has it too.
  Linear guarded;
  for (const Term& t : no.terms)
    if (c_.partial(t.atom) && std::ranges::find(gap.terms, t.atom, &Term::atom) == gap.terms.end())
      guarded.terms.push_back(t);
  add(no, guarded, -1);
  add(gap, no, -1);
  Linear r = std::move(no);
  add(r, select(c, std::move(gap)));
  if (!guarded.is_constant()) add(r, select(other, std::move(guarded)));
  return r;
}

}  // namespace touchstone::symbolic
