#pragma once

#include <optional>
#include <span>
#include <vector>

#include "touchstone/shapetracker/view/flat_view.h"

namespace touchstone::shapetracker {

/// Sum and product, exact. Throw OverflowError where the result could leave 127 bits.
Wide wide_add(Wide a, Wide b);
Wide wide_mul(Wide a, Wide b);
/// The number in 64 bits. Throws OverflowError.
std::int64_t narrow(Wide value);

/// A polynomial with integer coefficients in up to ViewLimits::kPolynomialVariables variables,
/// known by number; the degree in each is at most 255. Immutable; equal polynomials are equal
/// values. Arithmetic is exact and throws OverflowError where a coefficient leaves 127 bits.
class Polynomial {
 public:
  /// factor * the product of the variables, each to its power: one byte of `powers` a variable.
  struct Term {
    std::uint64_t powers;
    Wide factor;
    bool operator==(const Term&) const = default;
  };

  Polynomial(Wide value = 0) {  // NOLINT(google-explicit-constructor): a number is a polynomial
    if (value != 0) terms_.push_back({0, value});
  }
  static Polynomial variable(int number);

  std::span<const Term> terms() const { return {terms_.data(), terms_.size()}; }
  bool is_zero() const { return terms_.empty(); }
  bool is_constant() const { return terms_.empty() || (terms_.size() == 1 && !terms_[0].powers); }
  /// Whether it is that number everywhere.
  bool is(Wide value) const {
    return is_constant() && (terms_.empty() ? 0 : terms_[0].factor) == value;
  }
  int degree(int variable) const;
  Wide at(std::span<const std::int64_t> values) const;

  bool operator==(const Polynomial&) const = default;
  friend Polynomial operator+(const Polynomial& a, const Polynomial& b) { return combine(a, b, 1); }
  friend Polynomial operator-(const Polynomial& a, const Polynomial& b) {
    return combine(a, b, -1);
  }
  friend Polynomial operator*(const Polynomial& a, const Polynomial& b);

 private:
  static Polynomial combine(const Polynomial& a, const Polynomial& b, int sign);  // a + sign * b
  std::vector<Term> terms_;  // by powers, no factor 0
};

/// The values of each variable at which a polynomial is to be found: all combinations, the last
/// variable fastest. The values of one variable are distinct.
struct Grid {
  std::vector<std::vector<std::int64_t>> values;

  std::size_t size() const;
  std::vector<std::int64_t> point(std::size_t number) const;
};

/// A grid within another, and the numbers that its points have there.
struct SubGrid {
  Grid grid;
  std::vector<std::size_t> points;
};
/// The grid without the values of variables at which points lie that are not `present` (one entry a
/// point), most such points first, until all points are; no points where none would be left.
SubGrid present_part(const Grid& grid, const std::vector<bool>& present);

/// The polynomial of the least degrees through the values at the points of the grid, in order;
/// nullopt where its coefficients are no integers.
std::optional<Polynomial> interpolate(const Grid& grid, std::vector<Wide> values);

}  // namespace touchstone::shapetracker
