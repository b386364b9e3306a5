// Builds a sum from the clauses of a maximum: steps, a joint quotient, or a node of its members.
#include <algorithm>
#include <bit>

#include "touchstone/symbolic/node/order.h"
#include "touchstone/symbolic/number/limits.h"
#include "touchstone/symbolic/simplify/lattice_sets.h"
#include "touchstone/symbolic/simplify/simplifier.h"

namespace touchstone::symbolic {

using lattice::bit;
using lattice::Bits;
using lattice::each;
using lattice::place;

Linear Simplifier::positive_part(const Linear& s) {
  const Interval range = bounds(s);
  if (range.at_least(0)) return s;
  if (range.at_most(0)) return {};
  return largest({Linear(), s}, 2);
}

std::optional<Linear> Simplifier::steps_of(const Lattice& l) {
  // All members are g + constant or h + constant: a step function of h - g.
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
  Linear u = plus(h, g, -1);
  struct Step {  // the smaller of g + flat and h + rising, or the one present
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
  const auto bend = [&](const Int& at, int by) {  // the slope changes at u = at
    Linear s = shifted(u, -at);
    add(r, positive_part(s), by);
  };
  Int level = 0;  // of the previous step, above g
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
  // Try each member's quotients as the common one, in canonical order; every member needs one.
  struct Quotient {
    std::size_t member;
    Term term;
  };
  SmallVector<Quotient, 4> quotients;
  SmallVector<std::size_t, 12> order;
  each(used, [&](std::size_t i) { order.push_back(i); });
  std::ranges::sort(
      order, [&](std::size_t i, std::size_t j) { return precedes(l.members[i], l.members[j]); });
  for (const std::size_t i : order) {
    const std::size_t before = quotients.size();
    for (const Term& t : l.members[i].terms)
      if (c_[t.atom].is_quotient()) quotients.push_back({i, t});
    if (quotients.size() == before) return std::nullopt;
  }
  for (const auto& [first, t] : quotients) {
    const Int k = t.coef, lo = c_[t.atom].first;
    bool tried = false;  // a quotient with equal k and lo was tried with whole members
    for (const Quotient& q : quotients) {
      if (q.term == t && q.member == first) break;
      tried = tried || (q.term.coef == k && c_[q.term.atom].first == lo);
    }
    // Each member must be k * (dividend // lo) plus terms that move into the dividend: a constant,
    // and terms whose coefficients were reduced modulo lo.
    const auto taken_in = [&](const Linear& member) -> std::optional<Linear> {
      for (const Term& u : member.terms) {
        const NodeData& d = c_[u.atom];
        if (u.coef != k || !d.is_quotient() || d.first != lo) continue;
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
    Linear rest = plus(l.members[first], t.atom, -k);  // the member without its quotient
    for (const bool common : {false, true}) {
      if (tried && !common) continue;
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
      if (inner.members.size() == 2 && l.clauses.size() == 2)
        law("max.quotient", "x", inner.members[0], "y", inner.members[1], "c", lo);
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
  // Lexicographic order of coefficients is invariant under adding a common sum.
  const auto below = [&](const Linear& a, const Linear& b) {  // sign of b - a's leading coefficient
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
    if (g.is_zero()) return base;  // bounds show that all are equal to the least
    for (std::size_t i = list.size(); i-- > 1;)
      if (list[i] == Linear()) {
        list.erase(list.begin() + static_cast<std::ptrdiff_t>(i));
        plain -= i < plain ? 1 : 0;
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
  add(base, node(NodeKind::Max, args, range), scale);
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
  // The dual form: minus the maximum of minima of the negated members.
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

}  // namespace touchstone::symbolic
