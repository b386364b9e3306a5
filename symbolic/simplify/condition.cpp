#include <algorithm>
#include <utility>

#include "touchstone/symbolic/node/order.h"
#include "touchstone/symbolic/number/limits.h"
#include "touchstone/symbolic/simplify/simplifier.h"

namespace touchstone::symbolic {

namespace {

Int common_factor(const Linear& s) {
  Int g;
  for (const Term& t : s.terms) g = gcd(g, t.coef);
  return g.is_zero() ? Int(1) : g;
}

}  // namespace

bool Simplifier::open_quotient(Linear& s) {
  const Term* const only = only_quotient(s);
  // Choices in the dividend and beside the quotient combine once it is opened.
  const auto chosen = [&](const Term& t) {
    return c_.kind(t.atom) == NodeKind::Max && depends(only->atom, t.atom);
  };
  if (!only || !abs(only->coef).is_one() ||
      (s.terms.size() > 2 && std::ranges::none_of(s.terms, chosen)))
    return false;
  const NodeData& n = c_[only->atom];
  const int sign = only->coef.sign();
  Linear rest = plus(s, atom(only->atom), -sign);
  Linear r = linear(n.args[0]);
  law(sign < 0 ? "lt.quotient_above" : "lt.quotient_below", "x", r, "c", n.first, "y", rest);
  if (sign < 0) {  // rest < x//a is a*rest + a - 1 - x < 0
    r = -r;
    r.constant += n.first - 1;
  }
  add(r, rest, n.first);  // x//a + rest < 0 is x + a*rest < 0
  s = std::move(r);
  return true;
}

// Recognizes x % c < c - 1, which is x % c != c - 1.
bool Simplifier::at_last_remainder(const Linear& s) const {
  if (s.terms.size() != 1 || !s.terms[0].coef.is_one()) return false;
  const NodeData& n = c_[s.terms[0].atom];
  if (n.kind != NodeKind::Digit || !n.first.is_one() || s.constant != -(n.second - 1)) return false;
  law("lt.remainder_last", [&](Instance& i) {
    i.bind("x", linear(n.args[0])).bind("c", n.second).bind("m", n.second - 1);
  });
  return true;
}

Id Simplifier::new_negative(Linear s) {
  constexpr int kMostTurns = 4;
  bool reduced = false;
  bool turned = false;  // the result is the negation of s < 0
  int turns = 0;
  for (;;) {
    const Interval range = bounds(s);
    const auto bind_x = [&](Instance& i) { i.bind("x", s); };
    if (range.at_most(-1)) {
      law("lt.true", bind_x);
      return c_.make_constant(turned ? 0 : 1);
    }
    if (range.at_least(0)) {
      law("lt.false", bind_x);
      return c_.make_constant(turned ? 1 : 0);
    }
    if (range.within(-1, 0)) {
      if (const auto known = by_points(NodeKind::Negative, build(s)))
        return turned ? negate(*known) : *known;
      law("lt.flag", bind_x);
      return turned ? negate(build(-s)) : build(-s);
    }
    const Int g = common_factor(s);
    if (!g.is_one()) {
      const Int constant = s.constant;
      for (Term& t : s.terms) t.coef = floor_div(t.coef, g);
      law("lt.gcd", [&](Instance& i) {
        i.bind("x", Linear{0, s.terms}).bind("c", g).bind("k", constant);
      });
      s.constant = floor_div(s.constant, g);
      continue;
    }
    bool changed = false;
    for (const Term& t : s.terms) {
      const Int factor = abs(t.coef);
      if (factor.is_one()) continue;
      if (auto parts = split(s, factor, true)) {
        law("lt.split", "x", parts->quotient, "y", parts->remainder, "c", factor);
        s = std::move(parts->quotient);
        changed = true;
        break;
      }
    }
    if (changed || open_quotient(s) || drop_factor(s, false) || saturate(s)) continue;
    if (strided(s) && drop_below_residue(s, 0, "lt.residue")) continue;
    const Id id = build(s);
    if (!is(id, s)) {
      s = linear(id);
      continue;
    }
    std::optional<Id> decided;
    if (auto flag = apply(Rule::Root::Below, {&s, 1})) decided = build(*flag);
    if (!decided && at_last_remainder(s)) decided = negate(zero(s));
    if (!decided) decided = by_square(s, false);
    // Try the negation; a negative leading coefficient is negated below anyway.
    if (!decided && !turned && s.terms[0].coef.sign() > 0) {
      const Trace::Mark start = mark();
      Linear other = shifted(-s, -1);
      law("lt.not", bind_x);
      if (saturate(other))
        decided = negate(negative(std::move(other)));
      else if (auto flag = apply(Rule::Root::Below, {&other, 1}))
        decided = negate(build(*flag));
      else
        rewind(start);
    }
    if (!decided && !reduced)
      if (auto same = same_sign(s)) {
        s = std::move(*same);
        reduced = true;
        continue;
      }
    if (!decided) decided = by_branch(s, &Simplifier::negative);
    if (decided) return turned ? negate(*decided) : *decided;
    // Only one of a comparison and its negation is a node.
    if (s.terms[0].coef.sign() < 0 && turns < kMostTurns) {
      law("lt.not", bind_x);
      s = shifted(-s, -1);
      turned = !turned;
      ++turns;
      continue;
    }
    const Id flag = new_flag(NodeKind::Negative, id);
    return turned ? negate(flag) : flag;
  }
}

Id Simplifier::new_zero(Linear s) {
  s = linear(build(s));
  const Interval range = bounds(s);
  if (s.is_constant()) return c_.make_constant(s.constant.is_zero() ? 1 : 0);
  if (range.at_least(1) || range.at_most(-1)) {
    law("eq.false", "x", s);
    return c_.make_constant(0);
  }
  const Int g = common_factor(s);
  if (!divides(g, s.constant)) {
    law("eq.gcd", [&](Instance& i) {
      i.bind("x", divided(Linear{0, s.terms}, g)).bind("c", g).bind("k", s.constant);
    });
    return c_.make_constant(0);
  }
  if (strided(s))
    if (const Congruence c = congruence(s); !c.contains(0)) {
      law("eq.residue", "x", s, "c", c.modulus);
      return c_.make_constant(0);
    }
  if (!g.is_one()) {
    for (Term& t : s.terms) t.coef = floor_div(t.coef, g);
    s.constant = floor_div(s.constant, g);
    law("eq.scale", "x", s, "c", g);
    return zero(std::move(s));
  }
  for (const int sign : {1, -1}) {
    if (!range.within(sign > 0 ? 0 : -1, sign > 0 ? 1 : 0)) continue;
    if (const auto known = by_points(NodeKind::Zero, build(s))) return *known;
    const Linear flag = sign > 0 ? s : -s;
    law("eq.flag", "x", flag);
    return negate(build(flag));
  }
  if (steps_over_zero(s)) {
    law("eq.skips", "x", s);
    return c_.make_constant(0);
  }
  if (drop_factor(s, true)) return zero(std::move(s));
  if (auto flag = by_square(s, true)) return *flag;
  if (s.terms[0].coef.sign() < 0) s = -s;
  if (auto branch = by_branch(s, &Simplifier::zero)) return *branch;
  if (auto flag = apply(Rule::Root::Equal, {&s, 1})) return build(*flag);
  const Linear turned = -s;
  if (auto flag = apply(Rule::Root::Equal, {&turned, 1})) return build(*flag);
  if (auto flag = between(s)) return *flag;
  return new_flag(NodeKind::Zero, build(s));
}

std::optional<Id> Simplifier::between(const Linear& s) {
  const auto chooses = [&](const Term& t) { return c_.kind(t.atom) == NodeKind::Max; };
  if (assuming_ || halving_ || matching_ > 0 || std::ranges::none_of(s.terms, chooses))
    return std::nullopt;
  const Trace::Mark start = mark();
  law("eq.between", "x", s);
  halving_ = true;  // both sides may reach the equation again
  const Id sides[] = {negative(shifted(s, -1)), negative(shifted(-s, -1))};
  const Id result = both(sides);
  halving_ = false;
  const NodeKind kind = c_.kind(result);
  if (kind != NodeKind::And && !(kind == NodeKind::Zero && linear(c_[result].args[0]) == s))
    return result;
  rewind(start);
  return std::nullopt;
}

Id Simplifier::truth(Id id) {
  const NodeData& n = c_[id];
  if (n.boolean) {
    if (!is_condition(n.kind) && n.kind != NodeKind::Constant) law("eq.flag", "x", id);
    return id;
  }
  return negate(zero(linear(id)));
}

Id Simplifier::lasting_truth(Id id) {
  if (c_[id].boolean || (facts_.empty() && residues_.empty())) return truth(id);
  Facts facts;
  Residues residues;
  const auto set_aside = [&] {
    std::swap(facts, facts_);
    std::swap(residues, residues_);
    ++facts_in_force_;
  };
  set_aside();
  const Id flag = truth(id);
  set_aside();
  return flag;
}

Id Simplifier::negate(Id boolean) {
  Linear r{1, {}};
  add(r, boolean, -1);
  return build(r);
}

Ids Simplifier::part_list(std::span<const Id> booleans) {
  Ids parts;
  for (const Id raw : booleans) {
    const Id id = lasting_truth(raw);
    const NodeData& n = c_[id];
    if (n.kind == NodeKind::And && n.args.size() + parts.size() <= kLimits.flat_parts)
      parts.insert(parts.end(), n.args.begin(), n.args.end());
    else
      parts.push_back(id);
  }
  std::ranges::sort(parts, [&](Id x, Id y) { return compare(c_, x, y) < 0; });
  parts.erase(std::unique(parts.begin(), parts.end()), parts.end());
  return parts;
}

bool Simplifier::meet_parts(Ids& parts, std::size_t i, std::size_t j) {
  const auto inside = [&](Id part) { return c_[negated(part)]; };
  const NodeData &one = inside(parts[i]), &two = inside(parts[j]);
  if (one.kind != NodeKind::Negative ||
      (two.kind != NodeKind::Negative && two.kind != NodeKind::Zero))
    return false;
  const auto atoms = [&](Id id) {
    const NodeData& n = c_[id];
    return std::pair(n.kind == NodeKind::Sum ? n.terms.size() : 1,
                     n.kind == NodeKind::Sum ? n.terms[0].atom : id);
  };
  if (atoms(one.args[0]) != atoms(two.args[0])) return false;
  const auto fact = comparison(parts[i]);
  Linear next = shifted(*fact, 1);  // is 0 at the last value that the fact allows
  std::optional<Id> joint;
  const Id zero = negated(parts[j]);
  if (zero != parts[j] && c_.kind(zero) == NodeKind::Zero) {
    const Linear s = linear(c_[zero].args[0]);
    if (!(s == next) && !(s == -next)) return false;
    law("and.edge", "x", *fact);
    joint = negative(next);
  } else if (const auto other = comparison(parts[j])) {
    Linear total = plus(*fact, *other);
    if (!total.is_constant() || total.constant != Int(-2)) return false;
    law("and.pinch", "x", next);
    joint = this->zero(next);
  }
  if (!joint) return false;
  parts[i] = *joint;
  parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(j));
  return true;
}

bool Simplifier::compare_parts(Ids& parts) {
  for (std::size_t i = 0; i < parts.size(); ++i)
    for (std::size_t j = 0; j < parts.size(); ++j) {
      if (i == j) continue;
      // Parts without a common variable imply nothing about each other.
      if (facts_.empty() && residues_.empty() &&
          (c_.variables_in(parts[i]) & c_.variables_in(parts[j])) == 0)
        continue;
      if (meet_parts(parts, i, j)) return true;
      const auto truth = decided(parts[j], parts[i]);
      // A part that may divide by zero implies nothing: where it is undefined, another may be
      // false.
      if (!truth || (*truth && c_.partial(parts[i]))) continue;
      const auto fact = comparison(parts[i]), other = comparison(parts[j]);
      if (fact && other)
        law(*truth ? "and.implied" : "and.conflict", "x", *fact, "y", *other);
      else
        fixed(parts[j], *truth ? 1 : 0);
      if (*truth)
        parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(j));
      else
        parts.assign(1, c_.make_constant(0));
      return true;
    }
  return false;
}

bool Simplifier::prune_alternatives(Ids& parts) {
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const Linear s = linear(parts[i]);  // an alternative is 1 - And(...)
    if (!s.constant.is_one() || s.terms.size() != 1 || s.terms[0].coef != Int(-1)) continue;
    const NodeData& inner = c_[s.terms[0].atom];
    if (inner.kind != NodeKind::And) continue;
    Ids kept;
    const Ids alternatives(inner.args.begin(), inner.args.end());
    bool holds = false;
    for (const Id a : alternatives) {
      std::optional<bool> truth;
      std::size_t by = 0;
      for (std::size_t j = 0; j < parts.size() && !truth; ++j)
        if (j != i && !c_.partial(parts[j])) {
          truth = decided(a, parts[j]);
          by = j;
        }
      if (truth) fixed(a, *truth ? 1 : 0);
      if (truth && !*truth && alternatives.size() == 2)
        law("and.absorb", [&](Instance& i) {
          const Id other = alternatives[a == alternatives[0] ? 1 : 0];
          i.bind("x", linear(parts[by]))
              .bind("y", linear(negate(a)))
              .bind("z", linear(negate(other)));
        });
      if (truth && !*truth) holds = true;
      if (!truth) kept.push_back(a);
    }
    if (!holds && kept.size() == alternatives.size()) continue;
    parts[i] = holds ? c_.make_constant(1) : negate(both(kept));
    return true;
  }
  return false;
}

// (x or y) and (x or z) is x or (y and z); applied to the two parts with most in common.
bool Simplifier::factor_parts(Ids& parts) {
  const auto inner =
      [&](Id part) -> std::span<const Id> {  // operands of the And in an alternative 1 - And(...)
    const Id flag = negated(part);
    return flag == part || c_.kind(flag) != NodeKind::And ? std::span<const Id>() : c_[flag].args;
  };
  std::size_t most = 0, first = 0, second = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto one = inner(parts[i]);
    for (std::size_t j = i + 1; j < parts.size() && !one.empty(); ++j) {
      std::size_t shared = 0;
      for (const Id a : inner(parts[j])) shared += std::ranges::find(one, a) != one.end();
      if (shared <= most) continue;
      most = shared;
      first = i;
      second = j;
    }
  }
  if (most == 0) return false;
  Ids common, left, right;
  const auto one = inner(parts[first]), other = inner(parts[second]);
  for (const Id a : one) (std::ranges::find(other, a) != other.end() ? common : left).push_back(a);
  for (const Id a : other)
    if (std::ranges::find(one, a) == one.end()) right.push_back(a);
  const Id sides[] = {both(common), both(left), both(right)};
  law("and.factor", [&](Instance& i) {
    i.bind("x", linear(negate(sides[0])));
    i.bind("y", linear(negate(sides[1]))).bind("z", linear(negate(sides[2])));
  });
  common.push_back(either({&sides[1], 2}));
  parts[first] = negate(both(common));
  parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(second));
  return true;
}

bool Simplifier::assume_parts(Ids& parts) {
  if (assuming_ || parts.size() > kLimits.assumed_parts) return false;
  std::optional<bool> agree;  // no part is contradicted by the others
  for (std::size_t i = 0; i < parts.size(); ++i) {
    // Variables connected to the part through common parts.
    unsigned variables = c_.variables_in(parts[i]), before = 0;
    while (variables != std::exchange(before, variables))
      for (const Id other : parts)
        if ((variables & c_.variables_in(other)) != 0) variables |= c_.variables_in(other);
    Ids others;
    for (std::size_t j = 0; j < parts.size(); ++j)
      if (j != i && !c_.partial(parts[j]) && (variables & c_.variables_in(parts[j])) != 0)
        others.push_back(parts[j]);
    if (std::ranges::none_of(others, [&](Id other) {
          return (c_.variables_in(other) & c_.variables_in(parts[i])) != 0;
        })) {
      Narrowing all;
      if (!agree) agree = parts.size() == 2 || narrow(parts, facts_of(parts), all);
      if (*agree) continue;
    }
    const Trace::Mark start = mark();
    const auto now = within(parts[i], others);
    if (now == parts[i]) {
      rewind(start);
      continue;
    }
    const auto assumed = [&](Id flag) {
      if (others.size() == 1) law("and.assume", "x", others[0], "y", parts[i], "z", flag);
    };
    if (!now) {
      assumed(c_.make_constant(0));
      fixed(parts[i], 0);
      parts.assign(1, c_.make_constant(0));
      return true;
    }
    // A flag that is one only under the others may grow when made unconditional.
    const Id flag = truth(*now);
    const std::size_t nodes = reachable(c_, parts[i]).size();
    const bool shorter = nodes > 1 && !reachable(c_, flag, nodes - 1).empty();
    if (c_.kind(flag) != NodeKind::Constant && !shorter) {
      rewind(start);
      continue;
    }
    assumed(flag);
    parts[i] = flag;
    return true;
  }
  return false;
}

bool Simplifier::opposed(std::span<const Id> parts) {
  constexpr std::size_t kFew = 16;  // up to this many are searched linearly
  std::optional<IdMap<bool>> held;
  if (parts.size() > kFew) {
    held.emplace();
    for (const Id id : parts) held->set(id, true);
  }
  return std::ranges::any_of(parts, [&](Id id) {
    const Id inner = negated(id);
    if (inner == id && c_.kind(id) != NodeKind::Sum) return false;
    const Id other = inner == id ? negate(id) : inner;
    return held ? held->contains(other) : std::ranges::find(parts, other) != parts.end();
  });
}

Id Simplifier::both(std::span<const Id> booleans) {
  Ids parts = part_list(booleans);
  for (;;) {
    Ids kept;
    for (const Id id : parts) {
      const NodeData& n = c_[id];
      if (n.kind == NodeKind::Constant && n.first.is_zero()) return id;
      if (n.kind != NodeKind::Constant) kept.push_back(id);
    }
    if (kept.empty()) return c_.make_constant(1);
    if (kept.size() == 1) return kept[0];
    if (opposed(kept)) return c_.make_constant(0);
    const bool changed = kept.size() <= kLimits.compared_parts &&
                         (compare_parts(kept) || apply_and(kept) || prune_alternatives(kept) ||
                          factor_parts(kept) || assume_parts(kept));
    if (!changed) return c_.make(NodeKind::And, kept, Interval{Int(0), Int(1)});
    parts = part_list(kept);
  }
}

Id Simplifier::either(std::span<const Id> booleans) {
  Ids negated;
  for (const Id id : booleans) negated.push_back(negate(truth(id)));
  return negate(both(negated));
}

}  // namespace touchstone::symbolic
