// Compares maxima and minima with 0 by the signs of their members.
#include <algorithm>
#include <bit>

#include "touchstone/symbolic/number/limits.h"
#include "touchstone/symbolic/simplify/lattice_sets.h"
#include "touchstone/symbolic/simplify/simplifier.h"

namespace touchstone::symbolic {

using lattice::bit;
using lattice::Bits;
using lattice::each;

std::optional<bool> Simplifier::sign_of(Lattice& l) const {
  Bits used = 0, below = 0, above = 0;  // members always below 0, or never
  for (const Clause c : l.clauses) used |= c;
  each(used, [&](std::size_t i) {
    const Interval range = bounds(l.members[i]);
    if (range.at_most(-1)) below |= bit(i);
    if (range.at_least(0)) above |= bit(i);
  });
  const auto within = [&](const Linear& a, const Linear& b, const auto& test) {
    Linear sum = plus(a, b);
    return test(bounds(sum));
  };
  List<Clause> kept;
  Bits facts = 0;  // members that must be below 0
  for (Clause c : l.clauses) {
    bool holds = (c & below) != 0;
    c &= ~above;
    if (c == 0) return false;
    each(c, [&](std::size_t i) {  // two members with a negative sum are not both >= 0
      each(c & (bit(i) - 1), [&](std::size_t j) {
        holds = holds ||
                within(l.members[i], l.members[j], [](const Interval& r) { return r.at_most(-1); });
      });
    });
    if (holds) continue;
    kept.push_back(c);
    if (std::has_single_bit(c)) facts |= c;
  }
  if (kept.empty()) return true;
  bool never = false;
  each(facts, [&](std::size_t i) {
    each(facts & (bit(i) - 1), [&](std::size_t j) {
      never = never ||
              within(l.members[i], l.members[j], [](const Interval& r) { return r.at_least(-1); });
    });
  });
  if (never) return false;
  // Where f is below 0 and g + f <= h, g is the smaller of g and h.
  for (Clause& c : kept) {
    if (std::has_single_bit(c)) continue;
    each(c, [&](std::size_t h) {
      each(c & ~bit(h), [&](std::size_t g) {
        Linear gap = plus(l.members[g], l.members[h], -1);
        bool drop = false;
        each(facts, [&](std::size_t f) {
          Linear over = plus(gap, l.members[f], -1);
          drop = drop || (over.is_constant() && over.constant.sign() <= 0);
        });
        if (drop && (c & bit(g)) != 0) c &= ~bit(h);
      });
    });
  }
  drop_implied(kept, l.members);
  l.clauses = std::move(kept);
  return std::nullopt;
}

// A clause holds if one of its members is below 0. If every member of another clause is a member of
// `c`, or the sum of two of them plus a nonnegative constant, the other clause implies `c`.
void Simplifier::drop_implied(List<Clause>& clauses, const List<Linear>& members) const {
  const auto is_sum = [&](std::size_t i, Clause c) {
    bool found = false;
    each(c, [&](std::size_t j) {
      each(c & (bit(j) - 1), [&](std::size_t k) {
        if (found) return;
        Linear rest = plus(members[i], members[j], -1);
        add(rest, members[k], -1);
        found = rest.is_constant() && rest.constant.sign() >= 0;
      });
    });
    return found;
  };
  for (std::size_t c = 0; c < clauses.size();) {
    const auto implied_by = [&](Clause other) {
      bool implied = other != clauses[c];
      each(other & ~clauses[c], [&](std::size_t i) { implied = implied && is_sum(i, clauses[c]); });
      return implied;
    };
    if (std::ranges::any_of(clauses, implied_by))
      clauses.erase(clauses.begin() + static_cast<std::ptrdiff_t>(c));
    else
      ++c;
  }
}

std::optional<Linear> Simplifier::same_sign(const Linear& s) {
  if (assuming_ || matching_ > 0) return std::nullopt;
  if (std::ranges::none_of(s.terms,
                           [&](const Term& t) { return c_.kind(t.atom) == NodeKind::Max; }))
    return std::nullopt;
  Lattice l;
  l.clauses = clauses_of(s, l.members, true);
  if (l.members.size() > kLimits.sign_members || l.clauses.size() > kLimits.sign_members)
    return std::nullopt;
  reduce(l);
  if (const auto known = sign_of(l)) return Linear{*known ? -1 : 0, {}};
  reduce(l);
  Linear after = linear(build(built(std::move(l))));
  const Linear now[] = {after}, before[] = {s};
  if (!simpler(Rule::Root::Sum, now, before)) return std::nullopt;
  return after;
}

std::optional<Id> Simplifier::by_branch(const Linear& s, Id (Simplifier::*test)(Linear)) {
  const Term* choice = nullptr;
  for (const Term& t : s.terms) {
    if (c_.kind(t.atom) != NodeKind::Select) continue;
    if (choice) return std::nullopt;
    choice = &t;
  }
  if (!choice || matching_ > 0) return std::nullopt;
  const Id condition = c_[choice->atom].args[0];
  const Term term = *choice;
  Linear no = s, yes;
  add(no, term.atom, -term.coef);
  yes = no;
  add(yes, c_[term.atom].args[1], term.coef);
  ++matching_;
  const Trace::Mark start = mark();
  law(test == &Simplifier::zero ? "eq.where" : "lt.where", "x", condition, "y", yes, "z", no);
  const Id held = (this->*test)(std::move(yes)), missed = (this->*test)(std::move(no));
  --matching_;
  if (c_.kind(held) != NodeKind::Constant && c_.kind(missed) != NodeKind::Constant) {
    rewind(start);
    return std::nullopt;
  }
  const Id first[] = {condition, held}, second[] = {negate(condition), missed};
  const Id either_way[] = {both(first), both(second)};
  return either(either_way);
}

}  // namespace touchstone::symbolic
