#pragma once

#include <map>
#include <optional>
#include <vector>

#include "touchstone/prove/claim.h"

namespace touchstone::prove {

/// Factors of a product, sorted; any other subexpression counts as one factor.
using Monomial = std::vector<Expr>;

/// An expanded expression. Only suggests quotients, which are then proved. Two more types have
/// other terms for other ends: the checker's Ring, a normal form of flags, quotients and maxima
/// that shares nothing with what it checks, and shapetracker's Polynomial, whose terms have a
/// fixed size.
class Polynomial {
 public:
  Polynomial() = default;
  explicit Polynomial(const Int& constant);
  /// nullopt if the expression has too many terms.
  static std::optional<Polynomial> of(const Exprs& exprs, Expr root);
  static std::optional<Polynomial> difference(const Exprs& exprs, Expr a, Expr b);

  const std::map<Monomial, Int>& terms() const { return terms_; }
  bool is_zero() const { return terms_.empty(); }
  void add(const Monomial& monomial, const Int& factor);
  void add(const Polynomial& other, const Int& factor = 1);
  std::optional<Polynomial> times(const Polynomial& other) const;
  /// All variables v, with sign, that occur only in a term v or -v.
  std::vector<std::pair<Expr, int>> lone_variables(const Exprs& exprs) const;
  bool operator==(const Polynomial&) const = default;
  auto operator<=>(const Polynomial& other) const { return terms_ <=> other.terms_; }

 private:
  std::map<Monomial, Int> terms_;  // coefficients are nonzero
};

/// The polynomial as an expression.
Expr expr_of(Exprs& exprs, const Polynomial& p);

/// p = divisor*quotient + remainder, term by term; constants leave remainders in [0, divisor).
struct Division {
  Polynomial quotient, remainder;
};
std::optional<Division> divide(const Polynomial& p, const Polynomial& divisor);

/// The monomial divided by another; nullopt if not divisible.
std::optional<Monomial> without(const Monomial& m, const Monomial& factors);

}  // namespace touchstone::prove
