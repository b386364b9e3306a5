#include <algorithm>

#include "touchstone/symbolic/node/order.h"
#include "touchstone/symbolic/simplify/simplifier.h"

namespace touchstone::symbolic {

Linear operator-(const Linear& sum) {
  Linear r = sum;
  r.constant = -r.constant;
  for (Term& t : r.terms) t.coef = -t.coef;
  return r;
}

Linear linear_of(const Context& context, Id id) {
  const NodeData& n = context[id];
  if (n.kind == NodeKind::Sum || n.kind == NodeKind::Constant)
    return Linear{n.first, Terms(n.terms.begin(), n.terms.end())};
  const Term alone{1, id};
  return Linear{0, Terms(&alone, &alone + 1)};
}

bool Simplifier::is(Id id, const Linear& sum) const {
  const NodeData& n = c_[id];
  const bool listed = n.kind == NodeKind::Sum;
  if (listed || n.kind == NodeKind::Constant)
    return n.first == sum.constant && std::ranges::equal(n.terms, sum.terms);
  return sum.constant.is_zero() && sum.terms.size() == 1 && sum.terms[0].atom == id &&
         sum.terms[0].coef.is_one();
}

void add_terms(const Context& context, Terms& to, std::span<const Term> what, const Int& factor) {
  constexpr std::size_t kFew = 8;  // up to this many are inserted one by one
  if (to.empty()) {
    to.reserve(what.size());
    for (const Term& t : what) to.push_back({t.coef * factor, t.atom});
    return;
  }
  if (what.size() <= kFew) {
    std::size_t at = 0;  // everything before it is in order
    for (const Term& t : what) {
      std::size_t i = at;
      if (to.size() - at > kFew) {
        const Term* const place = std::lower_bound(
            to.begin() + at, to.end(), t.atom,
            [&](const Term& x, Id atom) { return compare(context, x.atom, atom) < 0; });
        i = static_cast<std::size_t>(place - to.begin());
      } else {
        const Term* const own = to.data();
        const std::size_t size = to.size();
        while (i < size && own[i].atom != t.atom) ++i;
        if (i == size) {
          const std::uint64_t key = context.key(t.atom);
          for (; i > at; --i) {
            const std::uint64_t before = context.key(own[i - 1].atom);
            if (before != key ? before < key : compare_parts(context, own[i - 1].atom, t.atom) < 0)
              break;
          }
        }
      }
      at = i;
      if (i == to.size() || to[i].atom != t.atom) {
        to.insert(to.begin() + i, {t.coef * factor, t.atom});
        continue;
      }
      Int& coef = to[i].coef;
      coef += t.coef * factor;
      if (coef.is_zero()) to.erase(to.begin() + i);
    }
    return;
  }
  Terms merged;
  merged.reserve(to.size() + what.size());
  auto a = to.begin();
  auto b = what.begin();
  while (a != to.end() && b != what.end()) {
    const auto order = compare(context, a->atom, b->atom);
    if (order < 0) {
      merged.push_back(std::move(*a++));
    } else if (order > 0) {
      merged.push_back({b->coef * factor, b->atom});
      ++b;
    } else {
      a->coef += b->coef * factor;
      if (!a->coef.is_zero()) merged.push_back(std::move(*a));
      ++a;
      ++b;
    }
  }
  for (; a != to.end(); ++a) merged.push_back(std::move(*a));
  for (; b != what.end(); ++b) merged.push_back({b->coef * factor, b->atom});
  to = std::move(merged);
}

void Simplifier::add(Linear& to, const Linear& what, const Int& factor) const {
  if (factor.is_zero()) return;
  to.constant += what.constant * factor;
  add_terms(c_, to.terms, what.terms, factor);
}

void Simplifier::add(Linear& to, Id what, const Int& factor) const {
  if (factor.is_zero()) return;
  const NodeData& n = c_[what];
  const bool sum = n.kind == NodeKind::Sum;
  if (sum || n.kind == NodeKind::Constant) to.constant += n.first * factor;
  if (sum) return add_terms(c_, to.terms, n.terms, factor);
  const Term alone[] = {{1, what}};
  if (n.kind != NodeKind::Constant) add_terms(c_, to.terms, alone, factor);
}

void Simplifier::sort_terms(Terms& terms) const {
  std::ranges::sort(terms,
                    [&](const Term& a, const Term& b) { return compare(c_, a.atom, b.atom) < 0; });
  Terms merged;
  for (Term& t : terms) {
    if (!merged.empty() && merged.back().atom == t.atom)
      merged.back().coef += t.coef;
    else
      merged.push_back(std::move(t));
  }
  merged.erase(
      std::remove_if(merged.begin(), merged.end(), [](const Term& t) { return t.coef.is_zero(); }),
      merged.end());
  terms = std::move(merged);
}

Id Simplifier::add_all(std::span<const Term> terms) {
  Linear r;
  for (const Term& t : terms) {
    const NodeData& n = c_[t.atom];
    if (n.kind == NodeKind::Constant || n.kind == NodeKind::Sum)
      r.constant += t.coef * n.first;
    else
      r.terms.push_back(t);
    for (const Term& inner : n.terms) r.terms.push_back({inner.coef * t.coef, inner.atom});
  }
  sort_terms(r.terms);
  return build(r);
}

bool Simplifier::stands(const Linear& sum) const {
  if (!facts_.empty() || !residues_.empty()) return false;
  if (sum.terms.size() != 1) {
    unsigned seen = 0, shared = 0;  // variables, and those in several terms
    bool all = true;
    for (const Term& t : sum.terms) {
      const unsigned own = c_.variables_in(t.atom);
      shared |= seen & own;
      seen |= own;
      all &= c_.kind(t.atom) == NodeKind::Variable;
    }
    if (all || (shared == 0 && sum.constant.is_zero())) return true;
    // Also with max(0, u) of linear u, if some variable occurs in only one term: it changes the
    // sum, since a maximum is positive and varies somewhere.
    bool moves = false;
    for (const Term& t : sum.terms) {
      moves |= (c_.variables_in(t.atom) & ~shared) != 0;
      if (c_.kind(t.atom) == NodeKind::Variable) continue;
      const NodeData& n = c_[t.atom];
      if (n.kind != NodeKind::Max || n.args.size() != 1 || n.bounds.at_most(0)) return false;
      const Id inner = n.args[0];
      const bool straight = c_.kind(inner) == NodeKind::Variable ||
                            (c_.kind(inner) == NodeKind::Sum &&
                             std::ranges::all_of(c_[inner].terms, [&](const Term& u) {
                               return c_.kind(u.atom) == NodeKind::Variable;
                             }));
      if (!straight) return false;
    }
    return moves;
  }
  const Term& t = sum.terms[0];
  if (turns(sum, t)) return false;
  return t.coef.is_one() || c_.kind(t.atom) != NodeKind::Digit || !c_.strided(c_[t.atom].args[0]);
}

Id Simplifier::build(const Linear& sum) {
  const std::size_t count = sum.terms.size();
  if (count == 0) return c_.make_constant(sum.constant);
  if (count == 1 && sum.terms[0].coef.is_one() && sum.constant.is_zero()) return sum.terms[0].atom;
  const bool known_facts = !facts_.empty() || !residues_.empty();
  bool exact = false, joins = false;
  int flags = 0;
  for (const Term& t : sum.terms) {
    const NodeKind kind = c_.kind(t.atom);
    joins |= kind == NodeKind::Digit || kind == NodeKind::Select || kind == NodeKind::Div ||
             kind == NodeKind::Mod || kind == NodeKind::Product || truncates(kind);
    flags += kind == NodeKind::Negative || kind == NodeKind::Zero;
    exact |= kind == NodeKind::Digit && !t.coef.is_one() &&
             (!residues_.empty() || c_.strided(c_[t.atom].args[0]));
  }
  joins |= flags > 0 && count > 1;
  if (exact)
    if (Linear s = sum; open_exact_quotients(s)) return build(s);
  const std::uint64_t hash = c_.hash_sum(sum.constant, sum.terms);
  Context::Place place;
  if (!known_facts)  // else the facts may simplify an existing sum
    if (const auto known = c_.find_sum(sum.constant, sum.terms, hash, place)) return *known;
  if (!joins || (count == 1 && !turns(sum, sum.terms[0]))) return settled(sum, hash, place);
  Linear s = sum;
  recombine(s);
  if (s == sum) return settled(s, hash, place);
  return settled(s, c_.hash_sum(s.constant, s.terms));
}

Id Simplifier::settled(const Linear& s, std::uint64_t hash, Context::Place place) {
  if (s.terms.empty()) return c_.make_constant(s.constant);
  if (s.terms.size() == 1) {
    const Term& t = s.terms.front();
    if (t.coef.is_one() && s.constant.is_zero()) return t.atom;
  }
  if (!facts_.empty() || !residues_.empty())
    if (const Interval range = bounds(s); range.is_point()) return fixed_sum(s, *range.lo);
  const Interval range = lasting_bounds(s);
  if (range.is_point()) return fixed_sum(s, *range.lo);
  return c_.make_sum(s.constant, s.terms, range, hash, place);
}

Id Simplifier::fixed_sum(const Linear& s, const Int& value) {
  law("bounds.fixed", "x", s, "k", value);
  return c_.make_constant(value);
}

Linear Simplifier::node(NodeKind kind, std::span<const Id> args, const Interval& bounds,
                        const Int& lo, const Int& hi) {
  const Congruence congruence = c_.congruence(kind, args, lo, hi);
  if (!congruence.is_trivial())
    if (const auto less = trimmed(bounds, congruence); less && !(*less == bounds))
      return node(kind, args, *less, lo, hi);
  if (bounds.is_point()) {
    if (trace_) fixed(c_.make(kind, args, bounds, lo, hi), *bounds.lo);
    return Linear{*bounds.lo, {}};
  }
  return atom(c_.make(kind, args, bounds, lo, hi, congruence));
}

}  // namespace touchstone::symbolic
