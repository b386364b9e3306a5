// Maxima and minima of maxima and minima. Any of them is the largest of some smallest members; that
// form, without members and clauses that others decide, does not depend on how it was nested.
#include <algorithm>
#include <bit>
#include <cassert>
#include <limits>

#include "touchstone/symbolic/lattice_sets.h"
#include "touchstone/symbolic/limits.h"
#include "touchstone/symbolic/order.h"
#include "touchstone/symbolic/simplifier.h"

namespace touchstone::symbolic {

using lattice::bit;
using lattice::Bits;
using lattice::each;
using lattice::place;

namespace {}  // namespace

Simplifier::Clause Simplifier::member_of(Linear s, List<Linear>& members) {
  const auto at = std::ranges::find(members, s);
  const auto i = static_cast<std::size_t>(at - members.begin());
  if (at == members.end()) members.push_back(std::move(s));
  assert(i < static_cast<std::size_t>(std::numeric_limits<Bits>::digits));
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
  Linear rest = s, limit;
  for (const Term& t : choices) add(rest, t.atom, -t.coef);
  Linear rising = rest;
  add(rising, forward ? a.args[0] : b.args[0], k);
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
    if (c_.kind(t.atom) == Kind::Max) choices.push_back(t);
  const auto whole = [&] { return List<Clause>{member_of(s, members)}; };
  if (choices.empty() || depth == kLimits.nested_clauses) return whole();
  if (auto step = clamp_of(s, choices, members)) return *step;
  const Term* outer = nullptr;  // the choice that has all others among its members
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
  // s is rest, or, in the direction of the choice, any of the others.
  const Int coef = outer->coef;
  Linear rest = s;
  add(rest, outer->atom, -coef);
  List<Linear> others;
  for (const Id id : c_[outer->atom].args) {
    others.push_back(rest);
    add(others.back(), id, coef);
  }
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

void Simplifier::reduce(Lattice& l) {
  Bits used = 0;
  for (const Clause c : l.clauses) used |= c;
  List<Bits> below(l.members.size(), 0);  // members that are never above this one
  const auto dominated = [&](std::size_t above, std::size_t under) {
    law("max.dominated",
        [&](Instance& i) { i.bind("x", l.members[above]).bind("y", l.members[under]); });
  };
  each(used, [&](std::size_t i) {
    each(used & (bit(i) - 1), [&](std::size_t j) {
      Linear gap = l.members[i];
      add(gap, l.members[j], -1);
      recombine(gap);
      const Interval range =
          gap.terms.size() > kLimits.compared_terms ? plain_bounds(gap) : bounds(gap);
      if (range.within(0, 0)) {  // equal: the same one stands for both in every order
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
  // A clause is never above another one if each member of the other has one of it below.
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
  reduce(l);
  return l;
}

Linear Simplifier::positive_part(const Linear& s) {
  const Interval range = bounds(s);
  if (range.at_least(0)) return s;
  if (range.at_most(0)) return {};
  return largest({Linear(), s}, 2);
}

std::optional<Linear> Simplifier::steps_of(const Lattice& l) {
  // All members are g + a number or h + a number: a function of h - g, in steps.
  const Terms *low = nullptr, *high = nullptr;
  Bits used = 0;
  for (const Clause c : l.clauses) used |= c;
  if (std::popcount(used) < 3) return std::nullopt;
  bool two = true;
  each(used, [&](std::size_t i) {
    const Terms& t = l.members[i].terms;
    if (!low)
      low = &t;
    else if (!(t == *low) && !high)
      high = &t;
    else if (!(t == *low) && !(t == *high))
      two = false;
  });
  if (!two || !high) return std::nullopt;
  const Linear g{0, *low}, h{0, *high};
  Linear u = h;
  add(u, g, -1);
  struct Step {  // the smaller of g + flat and h + rising, or the one there is
    bool levels = false, rises = false;
    Int flat = 0, rising = 0;
  };
  List<Step> steps;
  for (const Clause c : l.clauses) {
    Step step;
    each(c, [&](std::size_t i) {
      const bool flat = l.members[i].terms == *low;
      (flat ? step.levels : step.rises) = true;
      (flat ? step.flat : step.rising) = l.members[i].constant;
    });
    steps.push_back(std::move(step));
  }
  std::ranges::sort(steps, [](const Step& a, const Step& b) {
    return a.levels != b.levels ? a.levels : a.flat < b.flat;
  });
  Linear r = steps[0].rises ? h : g;
  r.constant = steps[0].rises ? steps[0].rising : steps[0].flat;
  const auto bend = [&](const Int& at, int by) {  // from u = at on, the slope changes
    Linear s = u;
    s.constant -= at;
    add(r, positive_part(s), by);
  };
  Int level = 0;  // of the last step, over g
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const Step& s = steps[i];
    if (i > 0 && s.rises) bend(level - s.rising, 1);
    if (s.rises && s.levels) bend(s.flat - s.rising, -1);
    level = s.flat;
  }
  return r;
}

std::optional<Linear> Simplifier::joint_quotient(const Lattice& l) {
  Bits used = 0;
  for (const Clause c : l.clauses) used |= c;
  bool few = true;
  each(used,
       [&](std::size_t i) { few = few && l.members[i].terms.size() <= kLimits.member_terms; });
  if (!few) return std::nullopt;
  const auto first = static_cast<std::size_t>(place(used));
  for (const Term& t : l.members[first].terms) {
    const NodeData& n = c_[t.atom];
    if (n.kind != Kind::Digit || !n.second.is_zero()) continue;
    const Int k = t.coef, lo = n.first;
    // Each member is k * (dividend // lo) and what may go into the dividend: a number, and terms
    // whose coefficients the quotient had taken modulo lo.
    const auto taken_in = [&](const Linear& member) -> std::optional<Linear> {
      for (const Term& u : member.terms) {
        const NodeData& d = c_[u.atom];
        if (u.coef != k || d.kind != Kind::Digit || !d.second.is_zero() || d.first != lo) continue;
        Linear rest = member, dividend = linear(d.args[0]);
        add(rest, u.atom, -k);
        const auto moves = [&](const Term& v) {
          return divides(k, v.coef) &&
                 std::ranges::find(dividend.terms, v.atom, &Term::atom) != dividend.terms.end();
        };
        if (!divides(k, rest.constant) || !std::ranges::all_of(rest.terms, moves)) continue;
        add(dividend, divided(std::move(rest), k), lo);
        if (std::ranges::any_of(dividend.terms,
                                [](const Term& v) { return abs(v.coef) > kLimits.folded_number; }))
          return std::nullopt;
        return dividend;
      }
      return std::nullopt;
    };
    Linear rest = l.members[first];  // the first member without its quotient
    add(rest, t.atom, -k);
    for (const bool common : {false, true}) {
      Lattice inner{List<Linear>(l.members.size()), {}};
      bool all = true;
      each(used, [&](std::size_t i) {
        Linear member = l.members[i];
        if (common) add(member, rest, -1);
        if (!all) return;
        auto dividend = taken_in(member);
        all = dividend.has_value();
        if (all) inner.members[i] = k.sign() < 0 ? -*dividend : *std::move(dividend);
      });
      if (!all) continue;
      inner.clauses = l.clauses;
      reduce(inner);
      Linear dividend = built(std::move(inner));
      if (k.sign() < 0) dividend = -dividend;
      Linear r = common ? rest : Linear();
      add(r, digit(dividend, lo, 0), k);
      return r;
    }
  }
  return std::nullopt;
}

Linear Simplifier::largest(List<Linear> list, std::size_t plain) {
  // Lexicographic order of coefficients does not change when all members move by the same sum.
  const auto below = [&](const Linear& a, const Linear& b) {  // the sign b - a begins with
    const std::size_t n = std::min(a.terms.size(), b.terms.size());
    std::size_t i = 0;
    while (i < n && a.terms[i] == b.terms[i]) ++i;
    if (i == a.terms.size() && i == b.terms.size()) return a.constant < b.constant;
    if (i < n && a.terms[i].atom == b.terms[i].atom) return a.terms[i].coef < b.terms[i].coef;
    const bool from_a =
        i == b.terms.size() || (i < n && compare(c_, a.terms[i].atom, b.terms[i].atom) < 0);
    return from_a ? a.terms[i].coef.sign() < 0 : b.terms[i].coef.sign() > 0;
  };
  Linear base;
  Int scale = 1;  // the result is base + scale * the maximum of list
  for (int round = 0;; ++round) {
    const auto middle = list.begin() + static_cast<std::ptrdiff_t>(plain);
    std::sort(list.begin(), middle, below);
    std::sort(middle, list.end(), below);
    const Linear least = list[0];
    add(base, least, scale);
    if (list.size() == 1) return base;
    Int g;
    for (Linear& m : list) {
      add(m, least, -1);
      m = linear(build(m));
      g = gcd(g, content(m));
    }
    scale = scale * g;
    for (Linear& m : list) m = divided(std::move(m), g);
    const auto rest = list.begin() + static_cast<std::ptrdiff_t>(plain);
    const bool sorted =
        std::is_sorted(list.begin(), rest, below) && std::is_sorted(rest, list.end(), below);
    if (round > 4 || sorted) break;
  }
  Ids args;
  Interval range = Interval::point(0);
  for (std::size_t i = 1; i < list.size(); ++i) {
    args.push_back(build(list[i]));
    range = larger(range, c_.bounds(args.back()));
  }
  add(base, node(Kind::Max, args, range), scale);
  return base;
}

Linear Simplifier::built(Lattice l) {
  if (l.clauses.size() == 1 && std::has_single_bit(l.clauses[0]))
    return l.members[static_cast<std::size_t>(place(l.clauses[0]))];
  if (auto steps = steps_of(l)) return *steps;
  if (auto quotient = joint_quotient(l)) return *quotient;
  const auto plain = [](const Lattice& x) {
    return std::ranges::all_of(x.clauses, [](Clause c) { return std::has_single_bit(c); });
  };
  const auto largest_of = [&](const Lattice& x) {
    List<Linear> list, low;
    for (const Clause c : x.clauses) {
      List<Linear> part;
      each(c, [&](std::size_t i) { part.push_back(-x.members[i]); });
      const std::size_t size = part.size();
      if (size == 1)
        list.push_back(-part[0]);
      else
        low.push_back(-largest(std::move(part), size));
    }
    const std::size_t single = list.size();
    list.insert(list.end(), low.begin(), low.end());
    return list.size() == 1 ? list[0] : largest(std::move(list), single);
  };
  if (plain(l) || l.clauses.size() == 1) return largest_of(l);
  // The same from the other side: minus the largest of what is smallest when all signs turn.
  Lattice dual;
  for (const Linear& m : l.members) dual.members.push_back(-m);
  dual.clauses = {0};
  for (const Clause c : l.clauses) {
    List<Clause> joint;
    for (const Clause d : dual.clauses)
      each(c, [&](std::size_t i) { joint.push_back(d | bit(i)); });
    dual.clauses = std::move(joint);
    if (dual.clauses.size() > 8 * kLimits.clauses) return largest_of(l);
    reduce(dual);
  }
  const auto length = [](const Lattice& x) {
    int n = 0;
    for (const Clause c : x.clauses) n += std::popcount(c);
    return n;
  };
  if (length(l) < length(dual)) return largest_of(l);
  if (length(dual) < length(l)) return -largest_of(dual);
  const Linear up = largest_of(l), down = largest_of(dual);
  const auto key = [](const Linear& s) { return s.terms.empty() ? Id(0) : s.terms.back().atom; };
  return compare(c_, key(up), key(down)) <= 0 ? up : -down;
}

bool Simplifier::depends(Id id, Id part) const {
  return c_.kind(id) == Kind::Digit &&
         std::ranges::binary_search(reachable(c_, id, kLimits.condition_nodes), part);
}

std::optional<Linear> Simplifier::by_condition(std::span<const Linear> members) {
  for (const Linear& m : members)
    for (const Term& t : m.terms) {
      const NodeData& n = c_[t.atom];
      if (n.kind != Kind::Select) continue;
      const Id condition = n.args[0];
      const auto chooses = [&](const Linear& member) {
        return std::ranges::any_of(member.terms, [&](const Term& u) {
          return c_.kind(u.atom) == Kind::Select && c_[u.atom].args[0] == condition;
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
      // A condition that is a sum, as 1 + y of y in [-1, 0], may not decide the choice on itself.
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
      return where(condition, maximum(held), maximum(missed));
    }
  return std::nullopt;
}

std::optional<Linear> Simplifier::larger_of_two(const Linear& a, const Linear& b) {
  if (a.terms.size() > kLimits.member_terms || b.terms.size() > kLimits.member_terms)
    return std::nullopt;
  for (const Linear* s : {&a, &b})
    for (const Term& t : s->terms) {
      const NodeData& n = c_[t.atom];
      if (n.kind == Kind::Max || n.kind == Kind::Select) return std::nullopt;
      if (n.kind == Kind::Digit && n.second.is_zero()) return std::nullopt;  // joint_quotient
    }
  if (a == b) return a;
  Linear gap = b;
  add(gap, a, -1);
  Linear joined = gap;
  recombine(joined);
  const Interval range =
      joined.terms.size() > kLimits.compared_terms ? plain_bounds(joined) : bounds(joined);
  const auto dominated = [&](const Linear& above, const Linear& under) {
    law("max.dominated", [&](Instance& i) { i.bind("x", above).bind("y", under); });
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
  Linear r = turned ? b : a;
  add(r, node(Kind::Max, args, larger(Interval::point(0), c_.bounds(args[0]))), scale);
  return r;
}

Linear Simplifier::wide_maximum(List<Linear> members) {
  std::vector<bool> goes(members.size(), false);
  const auto drop = [&](std::size_t under, std::size_t above) {
    law("max.dominated",
        [&](Instance& i) { i.bind("x", members[above]).bind("y", members[under]); });
    goes[under] = true;
  };
  for (std::size_t i = 0; i < members.size(); ++i)
    for (std::size_t j = 0; j < i && !goes[i]; ++j) {
      if (goes[j]) continue;
      Linear gap = members[i];
      add(gap, members[j], -1);
      recombine(gap);
      const Interval range =
          gap.terms.size() > kLimits.compared_terms ? plain_bounds(gap) : bounds(gap);
      if (range.within(0, 0) ? !precedes(members[j], members[i]) : range.at_least(0))
        drop(j, i);
      else if (range.at_most(0))
        drop(i, j);
    }
  List<Linear> left;
  for (std::size_t i = 0; i < members.size(); ++i)
    if (!goes[i]) left.push_back(std::move(members[i]));
  if (left.size() <= kLimits.members_at_once) return maximum(left);
  const std::size_t count = left.size();
  return largest(std::move(left), count);
}

Linear Simplifier::maximum(std::span<const Linear> members) {
  if (members.size() == 2)
    if (auto known = larger_of_two(members[0], members[1])) return *known;
  List<Linear> list;
  for (const Linear& m : members) list.push_back(shortened(m));
  if (list.size() > kLimits.members_at_once) return wide_maximum(std::move(list));
  const auto selects = [&](const Linear& m) {
    return std::ranges::any_of(m.terms,
                               [&](const Term& t) { return c_.kind(t.atom) == Kind::Select; });
  };
  if (std::ranges::any_of(list, selects)) {  // which condition comes first matters
    std::ranges::sort(list, [&](const Linear& a, const Linear& b) { return precedes(a, b); });
    if (auto split = by_condition(list)) return *split;
  }
  return built(lattice_of(list));
}

}  // namespace touchstone::symbolic
