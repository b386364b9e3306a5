#include "touchstone/symbolic/check/ring.h"

#include <algorithm>

#include "touchstone/base/interrupt.h"
#include "touchstone/symbolic/number/limits.h"

namespace touchstone::symbolic {

PolyId Ring::intern(Poly poly) {
  Interrupt::poll();
  ++work_;
  terms_ += static_cast<std::int64_t>(poly.terms.size());
  std::erase_if(poly.terms, [](const auto& t) { return t.second.is_zero(); });
  const auto [at, fresh] = poly_ids_.emplace(std::move(poly), static_cast<PolyId>(polys_.size()));
  if (fresh) polys_.push_back(&at->first);
  return at->second;
}

PolyId Ring::intern_atom(Atom atom) {
  const auto [at, fresh] = atom_ids_.emplace(std::move(atom), static_cast<AtomId>(atoms_.size()));
  if (fresh) atoms_.push_back(&at->first);
  return of_atom(at->second);
}

PolyId Ring::add(PolyId p, PolyId q, const Int& factor) {
  const Poly &a = *polys_[p], &b = *polys_[q];
  Poly r;
  auto i = a.terms.begin();
  auto j = b.terms.begin();
  while (i != a.terms.end() || j != b.terms.end()) {
    if (j == b.terms.end() || (i != a.terms.end() && i->first < j->first)) {
      r.terms.push_back(*i++);
    } else if (i == a.terms.end() || j->first < i->first) {
      r.terms.emplace_back(j->first, j->second * factor);
      ++j;
    } else {
      r.terms.emplace_back(i->first, i->second + j->second * factor);
      ++i;
      ++j;
    }
  }
  return intern(std::move(r));
}

PolyId Ring::multiply(PolyId p, PolyId q) {
  const Poly &a = *polys_[p], &b = *polys_[q];
  if (a.terms.size() * b.terms.size() > kLimits.monomials) return product({p, q});
  std::map<Monomial, Int> sum;
  for (const auto& [m, c] : a.terms)
    for (const auto& [n, d] : b.terms) {
      Monomial joint;
      std::ranges::merge(m, n, std::back_inserter(joint));
      const auto again = [&](AtomId x, AtomId y) { return x == y && is_flag(x); };
      joint.erase(std::unique(joint.begin(), joint.end(), again), joint.end());
      sum[joint] += c * d;
    }
  Poly r;
  for (auto& [m, c] : sum) r.terms.emplace_back(m, c);
  return intern(std::move(r));
}

PolyId Ring::replace(PolyId p, AtomId atom, PolyId by) {
  const Poly from = *polys_[p];
  PolyId r = constant(0);
  for (const auto& [m, c] : from.terms) {
    Monomial rest;
    PolyId term = constant(c);
    for (const AtomId a : m)
      if (a == atom)
        term = multiply(term, by);
      else
        rest.push_back(a);
    r = add(r, multiply(term, monomial(rest, 1)));
  }
  return r;
}

PolyId Ring::substitute(PolyId p, AtomId atom, PolyId by) {
  // Atoms are rebuilt in order of dependency, smaller numbers first.
  std::map<PolyId, PolyId> polys{};
  std::map<AtomId, PolyId> atoms{{atom, by}};
  const auto rebuilt = [&](PolyId q) {
    const Poly from = *polys_[q];
    PolyId r = constant(0);
    for (const auto& [m, c] : from.terms) {
      PolyId term = constant(c);
      for (const AtomId a : m) term = multiply(term, atoms.at(a));
      r = add(r, term);
    }
    return r;
  };
  std::vector<AtomId> needed;  // all atoms below p, each after its parts
  std::vector<std::pair<AtomId, bool>> todo;
  const auto need = [&](PolyId q) {
    for (const auto& [m, c] : polys_[q]->terms)
      for (const AtomId a : m)
        if (!atoms.contains(a)) todo.emplace_back(a, false);
  };
  need(p);
  while (!todo.empty()) {
    const auto [a, open] = todo.back();
    todo.pop_back();
    if (atoms.contains(a)) continue;
    const Atom n = *atoms_[a];
    if (!open) {
      todo.emplace_back(a, true);
      for (const PolyId part : n.parts) need(part);
      continue;
    }
    std::vector<PolyId> parts;
    for (const PolyId part : n.parts) parts.push_back(rebuilt(part));
    PolyId now = of_atom(a);
    if (parts != n.parts) {
      if (n.kind == AtomKind::Negative)
        now = negative(parts[0]);
      else if (n.kind == AtomKind::Zero)
        now = zero(parts[0]);
      else if (n.kind == AtomKind::Quotient || n.kind == AtomKind::Remainder)
        now = quotient(parts[0], parts[1], n.kind == AtomKind::Remainder);
      else if (n.kind == AtomKind::Product)
        now = product(parts);
      else {
        parts.push_back(constant(0));
        now = maximum(parts);
      }
    }
    atoms.emplace(a, now);
  }
  return rebuilt(p);
}

PolyId Ring::product(const std::vector<PolyId>& factors) {
  std::size_t terms = 1;
  for (const PolyId f : factors) terms *= std::max<std::size_t>(polys_[f]->terms.size(), 1);
  if (terms > kLimits.monomials) {
    std::vector<PolyId> parts = factors;
    std::ranges::sort(parts);
    return intern_atom({AtomKind::Product, "", std::move(parts)});
  }
  PolyId r = constant(1);
  for (const PolyId f : factors) r = multiply(r, f);
  return r;
}

PolyId Ring::conjunction(const Exprs& e, Expr root) {
  std::vector<PolyId> flags;
  std::vector<Expr> todo{root};
  while (!todo.empty()) {
    const Expr x = todo.back();
    todo.pop_back();
    if (e.op(x) == e.op(root)) {
      todo.insert(todo.end(), {e.arg(x, 1), e.arg(x, 0)});
      continue;
    }
    PolyId flag = truth_of(known_.at(x));
    if (e.op(root) == ExprOp::Or) flag = add(constant(1), flag, -1);
    if (std::ranges::find(flags, flag) == flags.end()) flags.push_back(flag);
  }
  const PolyId all = product(flags);
  return e.op(root) == ExprOp::Or ? add(constant(1), all, -1) : all;
}

PolyId Ring::normal(Expr root) {
  if (const auto found = known_.find(root); found != known_.end()) return found->second;
  for (const Expr e : e_.parts(root))
    if (!known_.contains(e)) known_.emplace(e, build(e_, e));
  return known_.at(root);
}

PolyId Ring::truth(Expr e) { return truth_of(normal(e)); }

PolyId Ring::build(const Exprs& e, Expr node) {
  const auto part = [&](std::size_t i) { return known_.at(e.arg(node, i)); };
  const auto gap = [&](std::size_t i, std::size_t j) { return add(part(i), part(j), -1); };
  const auto flag = [&](std::size_t i) { return truth_of(part(i)); };
  const auto complement = [&](PolyId p) { return add(constant(1), p, -1); };
  switch (e.op(node)) {
    case ExprOp::Constant: return constant(e.value(node));
    case ExprOp::Variable: return intern_atom({AtomKind::Variable, e.name(node), {}});
    case ExprOp::Or:
    case ExprOp::And: return conjunction(e, node);
    case ExprOp::Not: return complement(flag(0));
    case ExprOp::Lt: return negative(gap(0, 1));
    case ExprOp::Gt: return negative(gap(1, 0));
    case ExprOp::Le: return negative(add(gap(0, 1), constant(1), -1));
    case ExprOp::Ge: return negative(add(gap(1, 0), constant(1), -1));
    case ExprOp::Eq: return zero(gap(0, 1));
    case ExprOp::Ne: return complement(zero(gap(0, 1)));
    case ExprOp::Add: return add(part(0), part(1));
    case ExprOp::Sub: return gap(0, 1);
    case ExprOp::Mul: return multiply(part(0), part(1));
    case ExprOp::Div:
    case ExprOp::Mod: return quotient(part(0), part(1), e.op(node) == ExprOp::Mod);
    case ExprOp::Neg: return add(constant(0), part(0), -1);
    case ExprOp::Where: return choice(flag(0), part(1), part(2));
    case ExprOp::TruncDiv:
    case ExprOp::TruncMod: return truncated(part(0), part(1), e.op(node) == ExprOp::TruncMod);
    case ExprOp::Min:
    case ExprOp::Max: break;
  }
  const Int sign = e.op(node) == ExprOp::Max ? 1 : -1;
  std::vector<PolyId> members;
  for (const Expr a : e.args(node)) members.push_back(add(constant(0), known_.at(a), sign));
  return add(constant(0), maximum(std::move(members)), sign);
}

PolyId Ring::quotient(PolyId p, PolyId q, bool remainder) {
  const Poly &a = *polys_[p], &b = *polys_[q];
  if (b.is_constant()) {
    const Int d = b.constant();
    if (d.is_one()) return remainder ? constant(0) : p;
    if (a.is_constant() && !d.is_zero())
      return constant(remainder ? floor_mod(a.constant(), d) : floor_div(a.constant(), d));
  }
  return intern_atom({remainder ? AtomKind::Remainder : AtomKind::Quotient, "", {p, q}});
}

PolyId Ring::truncated(PolyId p, PolyId q, bool remainder) {
  const auto minus = [&](PolyId x) { return add(constant(0), x, -1); };
  const auto over = [&](PolyId d) {
    const PolyId plus = quotient(p, d, false), other = minus(quotient(minus(p), d, false));
    return choice(negative(p), other, plus);
  };
  // In sequence: atoms are numbered by creation, and argument evaluation order is unspecified.
  if (remainder) {  // of absolute values, whose bounds are known
    const auto of = [&](PolyId x) {
      const PolyId below = quotient(x, minus(q), true), above = quotient(x, q, true);
      return choice(negative(q), below, above);
    };
    const PolyId below = minus(of(minus(p))), above = of(p);
    return choice(negative(p), below, above);
  }
  const PolyId plus = over(q), other = minus(over(minus(q)));
  const PolyId whole = choice(negative(q), other, plus);
  return remainder ? add(p, multiply(q, whole), -1) : whole;
}

PolyId Ring::choice(PolyId condition, PolyId a, PolyId b) {
  return add(b, multiply(condition, add(a, b, -1)));
}

std::optional<std::vector<AtomId>> Ring::only_flags(PolyId p) const {
  std::vector<AtomId> flags;
  for (const auto& [m, c] : polys_[p]->terms)
    for (const AtomId a : m) {
      if (!is_flag(a)) return std::nullopt;
      if (std::ranges::find(flags, a) == flags.end()) flags.push_back(a);
      if (flags.size() > kLimits.flags) return std::nullopt;
    }
  return flags;
}

/// The sum, over the values of the flags for which p passes the test, of the flags' indicator
/// product.
template <class Test>
PolyId Ring::by_cases(PolyId p, const std::vector<AtomId>& flags, const Test& test) {
  PolyId sum = constant(0);
  for (unsigned bits = 0; bits < 1U << flags.size(); ++bits) {
    PolyId value = p, product = constant(1);
    for (std::size_t i = 0; i < flags.size(); ++i) {
      const bool one = (bits >> i & 1U) != 0;
      const PolyId flag = of_atom(flags[i]);
      value = replace(value, flags[i], constant(one ? 1 : 0));
      product = multiply(product, one ? flag : add(constant(1), flag, -1));
    }
    if (test(polys_[value]->constant())) sum = add(sum, product);
  }
  return sum;
}

PolyId Ring::truth_of(PolyId p) {
  if (const auto found = truths_.find(p); found != truths_.end()) return found->second;
  const PolyId truth = add(constant(1), zero(p), -1);
  truths_.emplace(p, truth);
  return truth;
}

PolyId Ring::negative(PolyId p) {
  const Poly& a = *polys_[p];
  if (a.is_constant()) return constant(a.constant().sign() < 0 ? 1 : 0);
  if (const auto flags = only_flags(p))
    return by_cases(p, *flags, [](const Int& v) { return v.sign() < 0; });
  if (a.terms.back().second.sign() > 0) return intern_atom({AtomKind::Negative, "", {p}});
  const PolyId other = add(constant(-1), p, -1);
  return add(constant(1), intern_atom({AtomKind::Negative, "", {other}}), -1);
}

PolyId Ring::zero(PolyId p) {
  const Poly& a = *polys_[p];
  if (a.is_constant()) return constant(a.constant().is_zero() ? 1 : 0);
  if (const auto flags = only_flags(p))
    return by_cases(p, *flags, [](const Int& v) { return v.is_zero(); });
  if (a.terms.back().second.sign() < 0) p = add(constant(0), p, -1);
  return intern_atom({AtomKind::Zero, "", {p}});
}

PolyId Ring::scaled_down(PolyId p, const Int& factor) {
  Poly r = *polys_[p];
  for (auto& [m, c] : r.terms) c = floor_div(c, factor);
  return intern(std::move(r));
}

PolyId Ring::reduced(PolyId p, const Int& modulus) {
  Poly r = *polys_[p];
  for (auto& [m, c] : r.terms) c = floor_mod(c, modulus);
  std::erase_if(r.terms, [](const auto& term) { return term.second.is_zero(); });
  return intern(std::move(r));
}

std::vector<PolyId> Ring::flat(const std::vector<PolyId>& members) {
  std::vector<PolyId> out, todo(members.rbegin(), members.rend());
  while (!todo.empty()) {
    const PolyId p = todo.back();
    todo.pop_back();
    const Atom* inner = nullptr;
    PolyId rest = p;
    if (out.size() + todo.size() < kLimits.maximum_members)
      for (const auto& [m, c] : polys_[p]->terms)
        if (!inner && m.size() == 1 && c.is_one() && atoms_[m[0]]->kind == AtomKind::Max) {
          inner = atoms_[m[0]];
          rest = add(p, of_atom(m[0]), -1);
          break;
        }
    if (!inner) {
      out.push_back(p);
      continue;
    }
    todo.push_back(rest);
    for (const PolyId part : inner->parts) todo.push_back(add(rest, part));
  }
  return out;
}

PolyId Ring::maximum(std::vector<PolyId> members) {
  // An order invariant under adding a common summand. Maxima come first, so that the difference to
  // the least member has them with a positive factor and can be opened. Interns nothing: other
  // standard libraries sort by other comparisons.
  const auto below = [&](PolyId p, PolyId q) {
    const auto &a = polys_[p]->terms, &b = polys_[q]->terms;
    int last = 0;  // sign of the last term of q - p
    for (auto i = a.rbegin(), j = b.rbegin(); i != a.rend() || j != b.rend();) {
      const bool from_a = j == b.rend() || (i != a.rend() && !(i->first < j->first));
      const bool from_b = i == a.rend() || (j != b.rend() && !(j->first < i->first));
      const Monomial& m = from_a ? i->first : j->first;
      const Int coef = (from_b ? (j++)->second : Int(0)) - (from_a ? (i++)->second : Int(0));
      if (coef.is_zero()) continue;
      if (last == 0) last = coef.sign();
      if (std::ranges::any_of(m, [&](AtomId x) { return atoms_[x]->kind == AtomKind::Max; }))
        return coef.sign() > 0;
    }
    return last > 0;
  };
  PolyId base = constant(0);
  Int scale = 1;  // the result is base + scale * maximum
  for (int round = 0; round < kLimits.normal_rounds; ++round) {
    members = flat(members);
    std::ranges::sort(members, below);
    std::vector<PolyId> kept;
    for (const PolyId m : members)  // of members a constant apart, keep the larger
      if (!kept.empty() && polys_[add(m, kept.back(), -1)]->is_constant())
        kept.back() = m;
      else
        kept.push_back(m);
    members = std::move(kept);
    const PolyId least = members[0];
    base = add(base, least, scale);
    Int g;
    for (PolyId& m : members) {
      m = add(m, least, -1);
      for (const auto& [mono, c] : polys_[m]->terms) g = gcd(g, c);
    }
    if (members.size() == 1) return base;
    for (PolyId& m : members) m = scaled_down(m, g);
    scale = scale * g;
    std::vector<PolyId> again = flat(members);
    if (again.size() == members.size()) break;
  }
  std::vector<PolyId> parts(members.begin() + 1, members.end());
  return add(base, intern_atom({AtomKind::Max, "", std::move(parts)}), scale);
}

std::set<AtomId> atoms_of(const Ring& ring, std::vector<PolyId> todo) {
  std::set<PolyId> seen(todo.begin(), todo.end());
  std::set<AtomId> out;
  while (!todo.empty()) {
    const Poly& p = ring[todo.back()];
    todo.pop_back();
    for (const auto& [m, c] : p.terms)
      for (const AtomId a : m)
        if (out.insert(a).second)
          for (const PolyId part : ring.atom(a).parts)
            if (seen.insert(part).second) todo.push_back(part);
  }
  return out;
}

}  // namespace touchstone::symbolic
