// Simplification under known facts: assumptions, the other parts of an `and`, the condition of a
// `where`.
#include <algorithm>
#include <utility>

#include "touchstone/symbolic/node/order.h"
#include "touchstone/symbolic/number/id_map.h"
#include "touchstone/symbolic/number/limits.h"
#include "touchstone/symbolic/simplify/simplifier.h"

namespace touchstone::symbolic {

bool Simplifier::tighten(const Facts& facts, Overlay& overlay) const {
  IdMap<std::uint32_t> places;  // indices in the overlay, which is empty
  const auto range_of = [&](Id id) -> const Interval& {
    const auto* const place = places.find(id);
    return place ? overlay[*place].second : c_.bounds(id);
  };
  bool narrowed = true;
  for (int round = 0; narrowed && round < kLimits.narrowings; ++round) {
    narrowed = false;
    for (const Linear& f : facts)
      for (const Term& t : f.terms) {
        const NodeData& atom = c_[t.atom];
        const bool remainder =
            atom.kind == NodeKind::Digit && atom.first.is_one() && !atom.second.is_zero();
        if (atom.kind != NodeKind::Variable && !remainder) continue;
        Interval rest = Interval::point(f.constant);
        for (const Term& u : f.terms)
          if (u.atom != t.atom) rest.add_product(range_of(u.atom), u.coef);
        if (!rest.lo) continue;
        Interval range = range_of(t.atom);
        if (!range.narrow(t.coef, -*rest.lo - 1)) continue;
        if (range.lo && range.hi && *range.hi < *range.lo) return false;
        if (const auto* const place = places.find(t.atom)) {
          overlay[*place].second = range;
        } else {
          places.set(t.atom, static_cast<std::uint32_t>(overlay.size()));
          overlay.emplace_back(t.atom, range);
        }
        narrowed = true;
      }
  }
  return true;
}

// If x differs from an end of its range, the range shrinks by one.
bool Simplifier::drop_ends(std::span<const Id> conditions, Overlay& overlay) const {
  List<Id> list(conditions.begin(), conditions.end());
  List<std::pair<Id, Int>> apart;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const NodeData& n = c_[list[i]];
    if (n.kind == NodeKind::And) list.insert(list.end(), n.args.begin(), n.args.end());
    const Id flag = negated(list[i]);
    if (flag == list[i] || c_.kind(flag) != NodeKind::Zero) continue;
    const Linear s = linear(c_[flag].args[0]);
    if (s.terms.size() == 1 && s.terms[0].coef.is_one() &&
        c_.kind(s.terms[0].atom) == NodeKind::Variable)
      apart.emplace_back(s.terms[0].atom, -s.constant);
  }
  if (apart.size() > kLimits.assumed_parts) return true;
  for (bool again = true; again;) {
    again = false;
    for (const auto& [id, value] : apart) {
      const auto place = std::ranges::find(overlay, id, &std::pair<Id, Interval>::first);
      Interval range = place == overlay.end() ? c_.bounds(id) : place->second;
      if (range.lo && *range.lo == value)
        *range.lo += 1;
      else if (range.hi && *range.hi == value)
        *range.hi -= 1;
      else
        continue;
      if (range.lo && range.hi && *range.hi < *range.lo) return false;
      if (place == overlay.end())
        overlay.emplace_back(id, range);
      else
        place->second = range;
      again = true;
    }
  }
  return true;
}

// Bounds and congruences that all alternatives of an `or` share.
bool Simplifier::narrow_by_cases(Id condition, Narrowing& to) {
  const Id none = negated(condition);
  if (none == condition || c_.kind(none) != NodeKind::And ||
      c_[none].args.size() > kLimits.assumed_parts)
    return true;
  struct Shared {
    Id variable;
    Interval range;
    Congruence stride;
  };
  std::optional<List<Shared>> shared;  // of the alternatives so far
  const Trace::Mark start = mark();
  for (const Id part : c_[none].args) {
    const Id alternative[] = {negate(part)};
    Narrowing own;
    if (!narrow(alternative, facts_of(alternative), own)) continue;  // it never holds
    List<Shared> both;
    for (const auto& [id, range] : own.bounds) {
      if (c_.kind(id) != NodeKind::Variable) continue;
      const auto stride = own.strides.find(id);
      Shared s{id, range, stride == own.strides.end() ? Congruence() : stride->second};
      if (range.is_point()) s.stride = Congruence::point(*range.lo);
      if (shared) {
        const auto other = std::ranges::find(*shared, id, &Shared::variable);
        if (other == shared->end()) continue;
        s.range = hull(s.range, other->range);
        s.stride = hull(s.stride, other->stride);
      }
      both.push_back(std::move(s));
    }
    shared = std::move(both);
  }
  rewind(start);
  if (!shared) return false;
  for (const auto& [id, range, stride] : *shared) {
    const auto place = std::ranges::find(to.bounds, id, &std::pair<Id, Interval>::first);
    if (place == to.bounds.end())
      to.bounds.emplace_back(id, meet(c_.bounds(id), range));
    else
      place->second = meet(place->second, range);
    if (stride.is_trivial()) continue;
    const auto known = to.strides.find(id);
    const auto joint = meet(stride, known == to.strides.end() ? c_.congruence(id) : known->second);
    if (!joint) return false;
    to.strides.insert_or_assign(id, *joint);
  }
  return true;
}

bool Simplifier::narrow(std::span<const Id> conditions, const Facts& facts, Narrowing& to) {
  if (!tighten(facts, to.bounds) || !drop_ends(conditions, to.bounds)) return false;
  to.residues = residues_of(conditions, to.bounds);
  if (!congruences_of(to.residues, to.strides)) return false;
  for (const Id condition : conditions)
    if (!narrow_by_cases(condition, to)) return false;
  for (const auto& [id, congruence] : to.strides) {
    const auto place = std::ranges::find(to.bounds, id, &std::pair<Id, Interval>::first);
    const bool known = place != to.bounds.end();
    const auto range = trimmed(known ? place->second : c_.bounds(id), congruence);
    if (!range) return false;
    if (known)
      place->second = *range;
    else
      to.bounds.emplace_back(id, *range);
  }
  return true;
}

Id Simplifier::rewritten(Id root, const Replacements& by) {
  rewrite({&root, 1}, by);
  return root;
}

void Simplifier::rewrite(std::span<Id> roots, const Replacements& by) {
  IdMap<Id> now;
  for (const auto& [from, to] : by) now.set(from, to);
  for (Id& root : roots) root = rewritten(root, now);
}

Id Simplifier::rewritten(Id root, IdMap<Id>& now) {
  const auto part = [&](Id id) {
    const Id* const found = now.find(id);
    return found ? *found : id;
  };
  for (const Id id : reachable(c_, root)) {
    const NodeData& n = c_[id];
    const bool facts = !facts_.empty() || !residues_.empty();
    bool touched = facts && n.kind != NodeKind::Constant && n.kind != NodeKind::Variable;
    for (const Id a : n.args) touched |= now.contains(a);
    for (const Term& t : n.terms) touched |= now.contains(t.atom);
    if (!touched || now.contains(id)) continue;
    constexpr std::size_t kFew = 8;  // up to this many terms are added one by one
    if (n.kind == NodeKind::Sum && n.terms.size() <= kFew) {
      Linear sum{n.first, {}};
      for (const Term& t : n.terms) add(sum, part(t.atom), t.coef);
      now.emplace(id, build(sum));
      continue;
    }
    if (n.kind == NodeKind::Sum) {
      List<Term> terms{{n.first, c_.make_constant(1)}};
      for (const Term& t : n.terms) terms.push_back({t.coef, part(t.atom)});
      now.emplace(id, add_all(terms));
      continue;
    }
    List<Linear> args;
    for (const Id a : n.args) args.push_back(linear(part(a)));
    if (has_divisor(n.kind) && args[1] == Linear()) {
      const Id undefined[] = {part(n.args[0]), c_.make_constant(0)};
      now.emplace(id, c_.make(n.kind, undefined, Interval()));
      divided_by_zero_ = true;
      continue;
    }
    now.emplace(id, build(rebuilt(n, args)));
  }
  return part(root);
}

Linear Simplifier::rebuilt(const NodeData& n, std::span<const Linear> args) {
  switch (n.kind) {
    case NodeKind::Product: {
      Linear r{1, {}};
      for (const Linear& a : args) r = multiply(r, a);
      return r;
    }
    case NodeKind::Digit: return digit(args[0], n.first, n.second);
    case NodeKind::Div: return divide(args[0], args[1]);
    case NodeKind::Mod: return modulo(args[0], args[1]);
    case NodeKind::TruncDiv:
    case NodeKind::TruncMod: return truncated(args[0], args[1], n.kind == NodeKind::TruncMod);
    case NodeKind::Negative: return linear(negative(args[0]));
    case NodeKind::Zero: return linear(zero(args[0]));
    case NodeKind::And: {
      Ids ids;
      for (const Linear& a : args) ids.push_back(build(a));
      return linear(both(ids));
    }
    case NodeKind::Select: return where(truth(build(args[0])), args[1], Linear());
    default: {
      List<Linear> members{Linear()};
      members.insert(members.end(), args.begin(), args.end());
      return maximum(members);
    }
  }
}

std::optional<std::pair<Id, Linear>> Simplifier::equal_variables(Id condition, bool first) const {
  if (c_.kind(condition) != NodeKind::Zero) return std::nullopt;
  const Linear s = linear(c_[condition].args[0]);
  if (s.terms.size() != 2 || !s.terms[0].coef.is_one() || s.terms[1].coef != Int(-1) ||
      c_.kind(s.terms[0].atom) != NodeKind::Variable ||
      c_.kind(s.terms[1].atom) != NodeKind::Variable)
    return std::nullopt;
  const Id variable = s.terms[first ? 0 : 1].atom;
  Linear other = atom(variable);
  add(other, s, first ? -1 : 1);
  return std::pair(variable, other);
}

Simplifier::Facts Simplifier::of_use(const Facts& facts, std::span<const Id> nodes) const {
  // Reachability from the nodes' atoms to facts that contain them, to the facts' other atoms, etc.
  List<std::pair<Id, std::uint32_t>> uses;
  for (std::size_t i = 0; i < facts.size(); ++i) {
    const Terms& terms = facts[i].terms;
    // A bound of a single variable is in its replacement already.
    if (terms.size() == 1 && c_.kind(terms[0].atom) == NodeKind::Variable) continue;
    for (const Term& t : terms) uses.emplace_back(t.atom, static_cast<std::uint32_t>(i));
  }
  std::ranges::sort(uses);
  List<bool> taken(facts.size(), false);
  List<Id> open;
  IdMap<bool> known;
  const auto reach = [&](Id atom) {
    if (known.emplace(atom, true)) open.push_back(atom);
  };
  for (const auto& [atom, fact] : uses)
    if (std::ranges::binary_search(nodes, atom)) reach(atom);
  while (!open.empty()) {
    const Id atom = open.back();
    open.pop_back();
    for (auto use = std::ranges::lower_bound(uses, std::pair(atom, std::uint32_t{0}));
         use != uses.end() && use->first == atom; ++use) {
      if (taken[use->second]) continue;
      taken[use->second] = true;
      for (const Term& t : facts[use->second].terms) reach(t.atom);
    }
  }
  Facts kept;
  for (std::size_t i = 0; i < facts.size(); ++i)
    if (taken[i]) kept.push_back(facts[i]);
  return kept;
}

std::optional<Id> Simplifier::within(Id root, std::span<const Id> conditions) {
  if (c_.height(root) > kLimits.assumed_height) return root;
  Ids low;
  for (const Id c : conditions)
    if (c_.height(c) <= kLimits.assumed_height) low.push_back(c);
  if (low.empty()) return root;
  struct Restored {
    bool& flag;
    bool before;
    ~Restored() { flag = before; }
  } const restored{inside_, std::exchange(inside_, true)};
  return under(root, low);
}

std::optional<Interval> Simplifier::known_bounds(Id root, const Facts& facts) {
  const auto variable = [&](const Term& t) { return c_.kind(t.atom) == NodeKind::Variable; };
  const auto plain = [&](const Linear& f) {
    return std::ranges::all_of(f.terms,
                               [&](const Term& t) { return variable(t) && abs(t.coef).is_one(); });
  };
  const Id inner = negated(root);
  const bool flag = c_.kind(inner) == NodeKind::Negative;
  const Linear s = linear(flag ? c_[inner].args[0] : root);
  if (c_.strided(root) || !(flag ? plain(s) : std::ranges::all_of(s.terms, variable)) ||
      !std::ranges::all_of(facts, plain))
    return std::nullopt;
  facts_ = facts;
  ++facts_in_force_;
  const Interval range = bounds(s);
  facts_.clear();
  return range;
}

std::optional<Id> Simplifier::given(Id condition, std::span<const Id> earlier) {
  const auto chooses = [&](Id id) { return c_.kind(id) == NodeKind::Max; };
  if (earlier.empty() ||
      std::ranges::none_of(reachable(c_, condition, kLimits.assumed_nodes), chooses))
    return condition;
  return under(condition, earlier);
}

std::optional<Id> Simplifier::under(Id root, std::span<const Id> conditions, Interval* bounds) {
  if (assuming_ || c_.kind(root) == NodeKind::Constant) return root;
  if (conditions.size() == 1 && (c_.variables_in(root) & c_.variables_in(conditions[0])) == 0)
    return root;
  const List<Id> nodes = reachable(c_, root, kLimits.assumed_nodes);
  if (nodes.empty()) return root;
  const Facts facts = facts_of(conditions);
  Narrowing now;
  if (!narrow(conditions, facts, now)) return std::nullopt;
  const auto& [overlay, residues, strides] = now;
  bool concerned = false;
  Replacements forth, back;
  for (const auto& [id, range] : overlay) {
    if (c_.kind(id) != NodeKind::Variable) continue;
    const auto stride = strides.find(id);
    const Id narrow = c_.make_variable(c_.name(id), range,
                                       stride == strides.end() ? Congruence() : stride->second);
    forth.emplace_back(id, narrow);
    if (c_.kind(narrow) == NodeKind::Variable)
      back.emplace_back(narrow, id);
    else
      fixed(id, c_[narrow].first);
    concerned |= std::ranges::binary_search(nodes, id);
  }
  for (const Id condition : conditions) {
    std::optional<Linear> best;  // root with one variable replaced by the other
    for (const bool first : {true, false})
      if (const auto pair = equal_variables(condition, first)) {
        const auto& [variable, by] = *pair;
        const bool narrowed =
            std::ranges::find(overlay, variable, &std::pair<Id, Interval>::first) != overlay.end();
        if (narrowed || !std::ranges::binary_search(nodes, variable)) continue;
        const Trace::Mark start = mark();
        const Id to = build(by);
        Linear after = linear(rewritten(root, Replacements{{variable, to}}));
        rewind(start);
        if (best && !simpler(Rule::Root::Sum, {&after, 1}, {&*best, 1})) continue;
        if (best) forth.pop_back();
        best = std::move(after);
        forth.emplace_back(variable, to);
        concerned = true;
      }
    if (best) break;
  }
  for (const Linear& f : facts)
    for (const Term& t : f.terms)
      concerned |= f.terms.size() + (c_.kind(t.atom) != NodeKind::Variable) > 1 &&
                   std::ranges::binary_search(nodes, t.atom);
  for (const Residue& r : residues)
    for (const Term& t : r.sum.terms)
      concerned |= !r.modulus.is_zero() && std::ranges::binary_search(nodes, t.atom);
  if (!concerned) return root;
  if (!bounds && residues.empty() && forth.empty() && overlay.empty())
    if (const auto range = known_bounds(root, facts))
      if (c_[root].boolean ? !range->at_most(-1) && !range->at_least(0) && !range->within(-1, 0)
                           : !range->is_point())
        return root;
  assuming_ = true;
  Facts moved;
  Residues residues_moved;
  const Trace::Mark start = mark();
  List<Id> used;
  for (const Linear& f : of_use(facts, nodes)) used.push_back(build(f));
  rewrite(used, forth);
  for (const Id f : used) moved.push_back(linear(f));
  for (const Residue& r : residues) {
    if (r.modulus.is_zero()) continue;
    Linear s = linear(rewritten(build(r.sum), forth));
    if (!floor_mod(plain_congruence(s), r.modulus).modulus.is_zero())  // else its atoms imply it
      residues_moved.push_back({std::move(s), r.modulus});
  }
  solve(moved);
  rewind(start);  // traces of the facts, not of their uses
  const auto product = [&](Id id) { return c_.kind(id) == NodeKind::Product; };
  if (std::ranges::any_of(nodes, product)) {
    multiply_facts(moved, rewritten(root, forth));
    rewind(start);
  }
  facts_ = std::move(moved);
  residues_ = std::move(residues_moved);
  ++facts_in_force_;
  divided_by_zero_ = false;
  const Id narrow = rewritten(root, forth);
  if (bounds) *bounds = meet(*bounds, this->bounds(linear(narrow)));
  facts_.clear();
  residues_.clear();
  if (divided_by_zero_) {
    assuming_ = false;
    return root;
  }
  const bool same = renamed(narrow, root, back);
  if (same) rewind(start);  // nothing changed
  const Id result = same ? root : rewritten(narrow, back);
  assuming_ = false;
  return result;
}

bool Simplifier::renamed(Id now, Id root, const Replacements& back) const {
  SmallVector<std::pair<Id, Id>, 16> left{{now, root}};
  IdMap<Id> seen;
  while (!left.empty()) {
    const auto [a, b] = left.back();
    left.pop_back();
    if (a == b) continue;
    if (const Id* const known = seen.find(a)) {
      if (*known != b) return false;
      continue;
    }
    seen.set(a, b);
    if (c_.kind(a) != c_.kind(b)) return false;
    if (c_.kind(a) == NodeKind::Variable) {
      if (std::ranges::find(back, std::pair(a, b)) == back.end()) return false;
      continue;
    }
    const NodeData &x = c_[a], &y = c_[b];
    if (x.args.size() != y.args.size() || x.terms.size() != y.terms.size() || x.first != y.first ||
        x.second != y.second)
      return false;
    for (std::size_t i = 0; i < x.args.size(); ++i) left.emplace_back(x.args[i], y.args[i]);
    for (std::size_t i = 0; i < x.terms.size(); ++i) {
      if (x.terms[i].coef != y.terms[i].coef) return false;
      left.emplace_back(x.terms[i].atom, y.terms[i].atom);
    }
  }
  return true;
}

bool Simplifier::defined(Id root) const {
  const Id nothing = 0;  // the constant 0 of every context
  return std::ranges::none_of(reachable(c_, root), [&](Id id) {
    const NodeData& n = c_[id];
    return has_divisor(n.kind) && n.args[1] == nothing;
  });
}

Interval Simplifier::fact_bounds(const Linear& sum, int most) const {
  if (sum.terms.size() * facts_.size() > kLimits.fact_pairs) most = 1;
  Interval r;
  for (const Linear& f : facts_) {
    Int last = 0;  // the last factor tried
    for (const Term& t : f.terms) {
      const auto own = std::ranges::find(sum.terms, t.atom, &Term::atom);
      if (own == sum.terms.end() || !divides(t.coef, own->coef)) continue;
      const Int factor = floor_div(own->coef, t.coef);
      if (factor == last) continue;
      last = factor;
      Linear rest = plus(sum, f, -factor);  // sum = factor * f + rest, and f <= -1
      Interval range = lasting_bounds(rest);
      if (most > 1 && !rest.terms.empty()) range = meet(range, fact_bounds(rest, most - 1));
      (factor.sign() > 0 ? range.lo : range.hi).reset();
      if (range.hi) *range.hi -= factor;
      if (range.lo) *range.lo -= factor;
      r = meet(r, range);
    }
  }
  return r;
}

void Simplifier::multiply_facts(Facts& facts, Id root) {
  // f < 0 is f + 1 <= 0, which may be multiplied by any nonnegative factor.
  const std::size_t given = facts.size();
  for (const Id id : reachable(c_, root)) {
    const NodeData& p = c_[id];
    if (p.kind != NodeKind::Product || p.args.size() != 2) continue;
    for (std::size_t i = 0; i < given; ++i)
      for (const std::size_t at : {std::size_t{0}, std::size_t{1}}) {
        const Linear f = facts[i];
        const Linear by = linear(p.args[1 - at]);
        if (facts.size() == kLimits.facts || f.terms.size() < 2 ||
            f.terms.size() > kLimits.fact_terms ||
            std::ranges::find(f.terms, p.args[at], &Term::atom) == f.terms.end() ||
            !c_.bounds(p.args[1 - at]).at_least(0))
          continue;
        Linear fact = multiply(f, by);
        add(fact, by);
        fact.constant -= 1;
        facts.push_back(std::move(fact));
      }
  }
}

void Simplifier::solve(Facts& facts) {
  const std::size_t given = facts.size();
  for (std::size_t i = 0; i < given && facts.size() < kLimits.solved_facts; ++i) {
    const Linear f = facts[i];
    if (f.terms.size() < 2 || f.terms.size() > kLimits.fact_terms) continue;
    for (const Term& t : f.terms) {
      const Int size = abs(t.coef);
      if (size.is_one() || facts.size() >= kLimits.solved_facts) continue;
      // size * a + rest < 0 is a <= (-1 - rest) // size; a: +-the atom
      const Linear rest = shifted(-plus(f, t.atom, -t.coef), -1);
      Linear fact = atom(t.atom);
      if (t.coef.sign() < 0) fact = -fact;
      add(fact, digit(rest, size, 0), -1);
      fact.constant -= 1;
      facts.push_back(std::move(fact));
    }
  }
}

}  // namespace touchstone::symbolic
