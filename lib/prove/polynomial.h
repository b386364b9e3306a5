#pragma once

#include <map>
#include <optional>
#include <vector>

#include "touchstone/prove/claim.h"

namespace touchstone::prove {

/// Factors of a product, sorted; what is no sum, product or number counts as one factor.
using Monomial = std::vector<Expr>;

/// An expression multiplied out. It only helps to find quotients: what is found is proved apart.
class Polynomial {
 public:
  Polynomial() = default;
  explicit Polynomial(const Int& constant);
  /// nullopt where the expression has too many terms.
  static std::optional<Polynomial> of(const Exprs& exprs, Expr root);

  const std::map<Monomial, Int>& terms() const { return terms_; }
  bool is_zero() const { return terms_.empty(); }
  void add(const Monomial& monomial, const Int& factor);
  void add(const Polynomial& other, const Int& factor = 1);
  std::optional<Polynomial> times(const Polynomial& other) const;
  /// The factor v of a term v or -v where v occurs in no other term, with the sign; for each.
  std::vector<std::pair<Expr, int>> lone_variables(const Exprs& exprs) const;
  bool operator==(const Polynomial&) const = default;
  auto operator<=>(const Polynomial& other) const { return terms_ <=> other.terms_; }

 private:
  std::map<Monomial, Int> terms_;  // no factor is 0
};

/// The polynomial as an expression.
Expr expr_of(Exprs& exprs, const Polynomial& p);

/// p = divisor*quotient + remainder, term by term, numbers with a remainder in [0, divisor).
struct Division {
  Polynomial quotient, remainder;
};
std::optional<Division> divide(const Polynomial& p, const Polynomial& divisor);

/// The monomial without the factors of another; nullopt where it lacks one.
std::optional<Monomial> without(const Monomial& m, const Monomial& factors);

}  // namespace touchstone::prove
