#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "touchstone/symbolic/expr/expr.h"

namespace touchstone::symbolic {

/// The kinds of atoms: subexpressions opaque to the ring.
enum class AtomKind : std::uint8_t {
  Variable,
  Quotient,   // parts[0] // parts[1]
  Remainder,  // parts[0] % parts[1]
  Negative,   // parts[0] < 0: a flag, 0 or 1
  Zero,       // parts[0] == 0: a flag
  Max,        // the maximum of 0 and the parts
  Product,    // of the parts, too long to expand
};

/// Index of a polynomial in a Ring; equal polynomials have equal ids.
using PolyId = std::uint32_t;
using AtomId = std::uint32_t;
/// A sorted product of atoms; powers repeat the atom, flags occur once. Empty is 1.
using Monomial = std::vector<AtomId>;

struct Poly {
  std::vector<std::pair<Monomial, Int>> terms;  // sorted, coefficients nonzero

  bool is_constant() const {
    return terms.empty() || (terms.size() == 1 && terms[0].first.empty());
  }
  Int constant() const {
    return terms.empty() || !terms[0].first.empty() ? Int(0) : terms[0].second;
  }
  auto operator<=>(const Poly&) const = default;
};

struct Atom {
  AtomKind kind = AtomKind::Variable;
  std::string name{};           // Variable
  std::vector<PolyId> parts{};  // all other kinds
  auto operator<=>(const Atom&) const = default;
};

/// The normal form of expressions under the unconditional identities of integer arithmetic: the
/// ring laws, constant folding, and the definitions
///   a <= b  is  a - b - 1 < 0        a or b         is  1 - (1-a)*(1-b)
///   not a   is  1 - a                where(c, a, b) is  b + c*(a - b)
///   a and b is  a*b, of flags        min(a, b)      is  -max(-a, -b)
/// with c*c = c for flags, common summands and factors moved out of maxima, and tdiv and tmod split
/// by sign. Expressions with the same normal form are equal at every point; a quotient by 0 may be
/// any number.
class Ring {
 public:
  explicit Ring(Exprs& exprs) : e_(exprs) {}

  PolyId normal(Expr e);
  /// 1 where e is nonzero, else 0.
  PolyId truth(Expr e);
  const Poly& operator[](PolyId p) const { return *polys_[p]; }
  /// Number of polynomials requested so far, a measure of cost.
  std::int64_t work() const { return work_; }
  /// Number of their terms.
  std::int64_t terms() const { return terms_; }
  const Atom& atom(AtomId a) const { return *atoms_[a]; }
  bool is_flag(AtomId a) const {
    return atoms_[a]->kind == AtomKind::Negative || atoms_[a]->kind == AtomKind::Zero;
  }

  PolyId constant(const Int& value) { return intern(Poly{{{{}, value}}}); }
  PolyId of_atom(AtomId a) { return intern(Poly{{{{a}, 1}}}); }
  PolyId variable(std::string name) {
    return intern_atom({AtomKind::Variable, std::move(name), {}});
  }
  PolyId monomial(const Monomial& m, const Int& coef) { return intern(Poly{{{m, coef}}}); }
  /// p + factor * q
  PolyId add(PolyId p, PolyId q, const Int& factor = 1);
  PolyId multiply(PolyId p, PolyId q);
  /// p with coefficients reduced to [0, modulus).
  PolyId reduced(PolyId p, const Int& modulus);
  /// p with the atom replaced where it occurs as a factor.
  PolyId replace(PolyId p, AtomId atom, PolyId by);

  /// p // q, or p % q.
  PolyId quotient(PolyId p, PolyId q, bool remainder);
  /// p with the atom replaced everywhere, also inside other atoms.
  PolyId substitute(PolyId p, AtomId atom, PolyId by);

 private:
  PolyId intern(Poly poly);
  PolyId intern_atom(Atom atom);
  PolyId build(const Exprs& e, Expr node);
  PolyId truth_of(PolyId p);
  PolyId truncated(PolyId p, PolyId q, bool remainder);
  PolyId negative(PolyId p);
  PolyId zero(PolyId p);
  PolyId product(const std::vector<PolyId>& factors);
  PolyId conjunction(const Exprs& e, Expr root);
  PolyId choice(PolyId condition, PolyId a, PolyId b);
  PolyId maximum(std::vector<PolyId> members);
  std::vector<PolyId> flat(const std::vector<PolyId>& members);
  PolyId scaled_down(PolyId p, const Int& factor);
  /// The flags of p if all its atoms are flags and they are few; else nullopt.
  std::optional<std::vector<AtomId>> only_flags(PolyId p) const;
  template <class Test>
  PolyId by_cases(PolyId p, const std::vector<AtomId>& flags, const Test& test);

  Exprs& e_;
  std::int64_t work_ = 0, terms_ = 0;
  std::map<Poly, PolyId> poly_ids_;
  std::map<Atom, AtomId> atom_ids_;
  std::vector<const Poly*> polys_;
  std::vector<const Atom*> atoms_;
  std::unordered_map<Expr, PolyId> known_;
  std::unordered_map<PolyId, PolyId> truths_;
};

/// All atoms of the polynomials, nested ones too, in id order: parts come before the atom.
std::set<AtomId> atoms_of(const Ring& ring, std::vector<PolyId> todo);

}  // namespace touchstone::symbolic
