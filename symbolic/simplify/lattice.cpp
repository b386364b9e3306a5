// Nested maxima and minima in the canonical form of a maximum of minima, without redundant members
// and clauses, independent of nesting.
#include <algorithm>
#include <bit>
#include <limits>

#include "touchstone/symbolic/node/order.h"
#include "touchstone/symbolic/number/limits.h"
#include "touchstone/symbolic/simplify/lattice_sets.h"
#include "touchstone/symbolic/simplify/simplifier.h"

namespace touchstone::symbolic {

using lattice::bit;
using lattice::Bits;
using lattice::each;
using lattice::place;

Simplifier::Clause Simplifier::member_of(Linear s, List<Linear>& members) {
  const auto at = std::ranges::find(members, s);
  const auto i = static_cast<std::size_t>(at - members.begin());
  if (at == members.end()) members.push_back(std::move(s));
  if (i >= static_cast<std::size_t>(std::numeric_limits<Bits>::digits))
    throw Error("maximum: more members than a set holds");  // never dropped silently
  return bit(i);
}

std::optional<List<Simplifier::Clause>> Simplifier::clamp_of(const Linear& s, const Terms& choices,
                                                             List<Linear>& members) {
  // k*max(0, x) - k*max(0, x - d) is k*min(max(0, x), d).
  if (choices.size() != 2 || choices[0].coef != -choices[1].coef) return std::nullopt;
  const NodeData &a = c_[choices[0].atom], &b = c_[choices[1].atom];
  if (a.args.size() != 1 || b.args.size() != 1) return std::nullopt;
  Linear gap = linear(a.args[0]);
  add(gap, b.args[0], -1);
  if (!gap.is_constant()) return std::nullopt;
  const bool forward = gap.constant.sign() > 0;
  const Int k = forward ? choices[0].coef : choices[1].coef;
  law("max.clamp", [&](Instance& i) {
    i.bind("x", linear(forward ? a.args[0] : b.args[0])).bind("d", abs(gap.constant));
  });
  Linear rest = s, limit;
  for (const Term& t : choices) add(rest, t.atom, -t.coef);
  Linear rising = plus(rest, forward ? a.args[0] : b.args[0], k);
  limit = rest;
  limit.constant += k * abs(gap.constant);
  const Clause low = member_of(rest, members), line = member_of(rising, members),
               high = member_of(limit, members);
  if (k.sign() > 0) return List<Clause>{low, line | high};
  return List<Clause>{low | line, low | high};
}

List<Simplifier::Clause> Simplifier::clauses_of(const Linear& s, List<Linear>& members, bool apart,
                                                int depth) {
  Terms choices;
  for (const Term& t : s.terms)
    if (c_.kind(t.atom) == NodeKind::Max) choices.push_back(t);
  const auto whole = [&] { return List<Clause>{member_of(s, members)}; };
  if (choices.empty() || depth == kLimits.nested_clauses) return whole();
  if (auto step = clamp_of(s, choices, members)) return *step;
  const Term* outer = nullptr;  // a choice with all others among its members
  for (const Term& t : choices) {
    const auto inside = [&](const Term& u) {
      return u.atom == t.atom || std::ranges::any_of(c_[t.atom].args, [&](Id arg) {
               const NodeData& n = c_[arg];
               return arg == u.atom ||
                      std::ranges::find(n.terms, u.atom, &Term::atom) != n.terms.end();
             });
    };
    if (std::ranges::all_of(choices, inside)) outer = &t;
  }
  if (!outer && apart) outer = &choices[0];
  if (!outer) return whole();
  // s equals rest, or in the choice's direction one of the others.
  const Int coef = outer->coef;
  Linear rest = plus(s, outer->atom, -coef);
  List<Linear> others;
  for (const Id id : c_[outer->atom].args) {
    others.push_back(rest);
    add(others.back(), id, coef);
    if (others.back().terms.size() > kLimits.choice_terms) return whole();
  }
  if (others.size() == 1 && coef.is_one())
    law("max.flat", "x", 0, "y", c_[outer->atom].args[0], "k", rest, "z", rest);
  const std::size_t before = members.size();
  List<Clause> r = clauses_of(rest, members, apart, depth + 1);
  for (const Linear& other : others) {
    if (members.size() >= kLimits.members) break;
    const List<Clause> part = clauses_of(linear(build(other)), members, apart, depth + 1);
    if (coef.sign() > 0) {
      r.insert(r.end(), part.begin(), part.end());
      continue;
    }
    List<Clause> joint;
    for (const Clause a : r)
      for (const Clause b : part) joint.push_back(a | b);
    r = std::move(joint);
  }
  if (members.size() < kLimits.members && r.size() <= kLimits.clauses) return r;
  members.resize(before);
  return whole();
}

// The bounds of a difference of members. Rules about quotients and remainders by a divisor that is
// no number may show its sign where bounds alone do not; other rules are asked if `by_law`.
Interval Simplifier::gap_bounds(const Linear& gap, bool by_law) {
  Linear joined = gap;
  recombine(joined);
  const bool long_gap = joined.terms.size() > kLimits.compared_terms;
  const Interval range = long_gap ? plain_bounds(joined) : bounds(joined);
  if (range.at_least(0) || range.at_most(0) || matching_ > 0 || long_gap) return range;
  if (!by_law && std::ranges::none_of(gap.terms, [&](const Term& t) {
        const NodeKind kind = c_.kind(t.atom);
        return kind == NodeKind::Div || kind == NodeKind::Mod || truncates(kind);
      }))
    return range;
  const Trace::Mark start = mark();
  const bool below = negative(shifted(gap, -1)) == c_.make_constant(1),
             above = !below && negative(shifted(-gap, -1)) == c_.make_constant(1);
  rewind(start);
  if (below) return meet(range, Interval(std::nullopt, Int(0)));
  return above ? meet(range, Interval(Int(0), std::nullopt)) : range;
}

void Simplifier::reduce(Lattice& l) {
  Bits used = 0;
  for (const Clause c : l.clauses) used |= c;
  List<Bits> below(l.members.size(), 0);  // members never above this one
  const auto dominated = [&](std::size_t above, std::size_t under) {
    law("max.dominated", "x", l.members[above], "y", l.members[under]);
  };
  each(used, [&](std::size_t i) {
    each(used & (bit(i) - 1), [&](std::size_t j) {
      const Interval range = gap_bounds(plus(l.members[i], l.members[j], -1));
      if (range.within(0, 0)) {  // equal: keep the same one regardless of order
        const bool first = precedes(l.members[i], l.members[j]);
        const std::size_t stays = first ? i : j, goes = first ? j : i;
        dominated(stays, goes);
        for (Clause& c : l.clauses)
          if ((c & bit(goes)) != 0) c = (c & ~bit(goes)) | bit(stays);
      } else if (range.at_least(0))
        below[i] |= bit(j);
      else if (range.at_most(0))
        below[j] |= bit(i);
    });
  });
  for (Clause& c : l.clauses)
    each(c, [&](std::size_t i) {
      if ((c & below[i]) == 0) return;
      dominated(i, static_cast<std::size_t>(place(c & below[i])));
      c &= ~bit(i);
    });
  std::ranges::sort(l.clauses);
  l.clauses.erase(std::unique(l.clauses.begin(), l.clauses.end()), l.clauses.end());
  // A clause is redundant if no member of some other clause is ever below all of its members.
  for (std::size_t a = 0; a < l.clauses.size();) {
    bool drop = false;
    for (std::size_t b = 0; b < l.clauses.size() && !drop; ++b) {
      if (a == b) continue;
      drop = true;
      each(l.clauses[b], [&](std::size_t i) { drop &= (l.clauses[a] & (below[i] | bit(i))) != 0; });
      if (drop)
        each(l.clauses[b], [&](std::size_t i) {
          const Bits under = l.clauses[a] & below[i];
          if (under != 0) dominated(i, static_cast<std::size_t>(place(under)));
        });
    }
    if (drop)
      l.clauses.erase(l.clauses.begin() + static_cast<std::ptrdiff_t>(a));
    else
      ++a;
  }
}

Simplifier::Lattice Simplifier::lattice_of(std::span<const Linear> members) {
  Lattice l;
  for (const Linear& m : members) {
    if (l.members.size() + 2 > kLimits.members || l.clauses.size() > kLimits.clauses) {
      l.clauses.push_back(member_of(m, l.members));
      continue;
    }
    const List<Clause> clauses = clauses_of(m, l.members);
    l.clauses.insert(l.clauses.end(), clauses.begin(), clauses.end());
  }
  if (traced() && l.members.size() == 3 && l.clauses.size() == 2) {
    const bool later = std::has_single_bit(l.clauses[0]);  // a member and a minimum of two
    const Clause one = l.clauses[later ? 0 : 1], two = l.clauses[later ? 1 : 0];
    if (std::has_single_bit(one) && std::popcount(two) == 2)
      law("max.min", [&](Instance& i) {
        const auto low = static_cast<std::size_t>(place(two));
        const auto high = static_cast<std::size_t>(place(two & ~bit(low)));
        i.bind("x", l.members[static_cast<std::size_t>(place(one))]);
        i.bind("y", l.members[low]).bind("z", l.members[high]);
      });
  }
  reduce(l);
  return l;
}

bool Simplifier::depends(Id id, Id part) const {
  return c_.kind(id) == NodeKind::Digit &&
         std::ranges::binary_search(reachable(c_, id, kLimits.condition_nodes), part);
}

std::optional<Linear> Simplifier::by_condition(std::span<const Linear> members) {
  for (const Linear& m : members)
    for (const Term& t : m.terms) {
      const NodeData& n = c_[t.atom];
      if (n.kind != NodeKind::Select) continue;
      const Id condition = n.args[0];
      const auto chooses = [&](const Linear& member) {
        return std::ranges::any_of(member.terms, [&](const Term& u) {
          return c_.kind(u.atom) == NodeKind::Select && c_[u.atom].args[0] == condition;
        });
      };
      const auto chosen = [&](const Linear& member, Id known) {
        Linear r = resolved(member, known);
        const Id facts[] = {known};
        if (std::ranges::any_of(r.terms, [&](const Term& u) { return depends(u.atom, condition); }))
          if (const auto inside = within(build(r), facts)) r = linear(*inside);
        return r;
      };
      std::size_t holders = 0;
      List<Linear> held, missed;
      for (const Linear& other : members) {
        held.push_back(chosen(other, condition));
        missed.push_back(chosen(other, negate(condition)));
        holders += !(held.back() == other) || !(missed.back() == other);
      }
      // A condition that is a sum, such as 1 + y for y in [-1, 0], may not decide its own choice.
      if (std::ranges::any_of(held, chooses) || std::ranges::any_of(missed, chooses)) continue;
      const Lattice yes = lattice_of(held), no = lattice_of(missed);
      const auto single = [](const Lattice& l) {
        return l.clauses.size() == 1 && std::has_single_bit(l.clauses[0]);
      };
      if (holders < 2 && !single(yes) && !single(no)) continue;
      if (members.size() == 2)
        law("max.where", [&](Instance& i) {
          i.bind("x", atom(condition)).bind("y", held[0]).bind("z", missed[0]);
          i.bind("k", held[1]).bind("m", missed[1]);
        });
      // In sequence: each traces its laws, and argument evaluation order is unspecified.
      const Linear if_held = maximum(held), if_missed = maximum(missed);
      return where(condition, if_held, if_missed);
    }
  return std::nullopt;
}

// max(k*tdiv(x, y), k*tdiv(z, y)) as k*tdiv(max(x, z), y).
std::optional<Linear> Simplifier::joint_truncation(const Linear& a, const Linear& b) {
  const auto only = [&](const Linear& s) { return s.terms.size() == 1 ? &s.terms[0] : nullptr; };
  const Term *const p = only(a), *const q = only(b);
  if (!p || !q || a.constant != b.constant || abs(p->coef) != abs(q->coef)) return std::nullopt;
  const NodeData &m = c_[p->atom], &n = c_[q->atom];
  if (m.kind != NodeKind::TruncDiv || n.kind != NodeKind::TruncDiv || m.args[1] != n.args[1] ||
      !bounds(linear(m.args[1])).at_least(1))
    return std::nullopt;
  Linear members[] = {linear(m.args[0]), linear(n.args[0])};
  for (const bool first : {true, false})
    if ((first ? p : q)->coef.sign() < 0) members[first ? 0 : 1] = -members[first ? 0 : 1];
  const Int k = abs(p->coef);
  const Linear y = linear(m.args[1]);
  law("max.tdiv", "x", members[0], "y", members[1], "b", y);
  Linear r{a.constant, {}};
  add(r, truncated(maximum(members), y, false), k);
  return r;
}

std::optional<Linear> Simplifier::larger_of_two(const Linear& a, const Linear& b) {
  if (auto joint = joint_truncation(a, b)) return joint;
  if (a.terms.size() > kLimits.member_terms || b.terms.size() > kLimits.member_terms)
    return std::nullopt;
  for (const Linear* s : {&a, &b})
    for (const Term& t : s->terms) {
      const NodeData& n = c_[t.atom];
      if (n.kind == NodeKind::Max || n.kind == NodeKind::Select) return std::nullopt;
      if (n.is_quotient()) return std::nullopt;  // joint_quotient
    }
  if (a == b) return a;
  Linear gap = plus(b, a, -1);
  const Interval range = gap_bounds(gap, !facts_.empty());
  const auto dominated = [&](const Linear& above, const Linear& under) {
    law("max.dominated", "x", above, "y", under);
    return above;
  };
  if (range.within(0, 0)) return precedes(a, b) ? dominated(a, b) : dominated(b, a);
  if (range.at_least(0)) return dominated(b, a);
  if (range.at_most(0)) return dominated(a, b);
  const bool turned = gap.terms[0].coef.sign() < 0;
  const Id id = build(turned ? -gap : gap);
  Linear up = linear(id);
  if (up.terms.empty() || up.terms[0].coef.sign() < 0) return std::nullopt;
  const Int scale = content(up);
  const Id args[] = {scale.is_one() ? id : build(divided(std::move(up), scale))};
  if (!scale.is_one()) law("max.scale", "c", scale, "x", 0, "y", args[0]);
  Linear r = turned ? b : a;
  add(r, node(NodeKind::Max, args, larger(Interval::point(0), c_.bounds(args[0]))), scale);
  return r;
}

// Drops members that differ from another by a constant and are smaller, and members whose upper
// bound is at most the greatest lower bound.
void Simplifier::drop_low_members(List<Linear>& members) {
  std::ranges::sort(members, [&](const Linear& a, const Linear& b) { return precedes(a, b); });
  const auto drop = [&](const Linear& under, const Linear& above) {
    law("max.dominated", "x", above, "y", under);
  };
  List<Linear> kept;
  for (std::size_t i = 0; i < members.size(); ++i) {
    const bool again = i + 1 < members.size() && members[i].terms == members[i + 1].terms;
    if (again)
      drop(members[i], members[i + 1]);
    else
      kept.push_back(std::move(members[i]));
  }
  List<Interval> ranges;
  std::size_t best = 0;  // has the greatest lower bound
  for (const Linear& m : kept) {
    ranges.push_back(bounds(m));
    const End &lo = ranges.back().lo, &most = ranges[best].lo;
    if (lo && (!most || *most < *lo)) best = ranges.size() - 1;
  }
  members.clear();
  for (std::size_t i = 0; i < kept.size(); ++i)
    if (i != best && ranges[best].lo && ranges[i].at_most(*ranges[best].lo))
      drop(kept[i], kept[best]);
    else
      members.push_back(kept[i]);
}

// Compares all pairs of members.
void Simplifier::drop_dominated(List<Linear>& members) {
  std::vector<bool> goes(members.size(), false);
  const auto drop = [&](std::size_t under, std::size_t above) {
    law("max.dominated", "x", members[above], "y", members[under]);
    goes[under] = true;
  };
  for (std::size_t i = 0; i < members.size(); ++i)
    for (std::size_t j = 0; j < i && !goes[i]; ++j) {
      if (goes[j]) continue;
      const Interval range = gap_bounds(plus(members[i], members[j], -1));
      if (range.within(0, 0) ? !precedes(members[j], members[i]) : range.at_least(0))
        drop(j, i);
      else if (range.at_most(0))
        drop(i, j);
    }
  List<Linear> left;
  for (std::size_t i = 0; i < members.size(); ++i)
    if (!goes[i]) left.push_back(std::move(members[i]));
  members = std::move(left);
}

Linear Simplifier::wide_maximum(List<Linear> members) {
  drop_low_members(members);
  const std::size_t known = members.size();
  if (known > kLimits.members_at_once && known <= kLimits.compared_members) drop_dominated(members);
  if (members.size() <= kLimits.members_at_once) return maximum(members);
  const std::size_t count = members.size();
  return largest(std::move(members), count);
}

Linear Simplifier::maximum(std::span<const Linear> members) {
  if (members.size() == 2)
    if (auto known = larger_of_two(members[0], members[1])) return *known;
  List<Linear> list;
  for (const Linear& m : members) list.push_back(shortened(m));
  if (list.size() > kLimits.members_at_once) return wide_maximum(std::move(list));
  const auto selects = [&](const Linear& m) {
    return std::ranges::any_of(m.terms,
                               [&](const Term& t) { return c_.kind(t.atom) == NodeKind::Select; });
  };
  if (std::ranges::any_of(list, selects)) {  // the order of conditions matters
    if (list.size() > 2) drop_dominated(list);
    if (list.size() <= 2 && list.size() < members.size())
      return list.size() == 1 ? list[0] : maximum(list);
    std::ranges::sort(list, [&](const Linear& a, const Linear& b) { return precedes(a, b); });
    if (auto split = by_condition(list)) return *split;
  }
  return built(lattice_of(list));
}

}  // namespace touchstone::symbolic
