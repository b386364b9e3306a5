#pragma once

#include <optional>
#include <span>
#include <vector>

#include "touchstone/shapetracker/view/flat_view.h"

namespace touchstone::shapetracker {

/// Exact sum and product. Throw OverflowError if the result could exceed 127 bits.
Wide wide_add(Wide a, Wide b);
Wide wide_mul(Wide a, Wide b);
/// The value as 64 bits. Throws OverflowError.
std::int64_t narrow(Wide value);

/// A polynomial with integer coefficients in up to ViewLimits::kPolynomialVariables numbered
/// variables, of degree at most 255 in each. Immutable; equal polynomials compare equal. Arithmetic
/// is exact and throws OverflowError if a coefficient exceeds 127 bits.
class Polynomial {
 public:
  /// factor * the product of powers of the variables: one byte of `powers` for each variable.
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
  /// True if it is that constant.
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
  std::vector<Term> terms_;  // by powers, factors nonzero
};

/// The values of each variable at which a polynomial is sampled: all combinations, the last
/// variable fastest. The values of one variable are distinct.
struct Grid {
  std::vector<std::vector<std::int64_t>> values;

  std::size_t size() const;
  std::vector<std::int64_t> point(std::size_t number) const;
};

/// A part of a grid, with the indices of its points in the whole.
struct SubGrid {
  Grid grid;
  std::vector<std::size_t> points;
};
/// The grid after dropping values of variables at which points are not `present` (one entry a
/// point), the value with most such points first, until all are; no points if none would be left.
SubGrid present_part(const Grid& grid, const std::vector<bool>& present);

/// The polynomial of least degrees through the values at the grid points, in order; nullopt if its
/// coefficients are not integers.
std::optional<Polynomial> interpolate(const Grid& grid, std::vector<Wide> values);

/// Integer values of variables: low[i] <= variable i <= high[i]; no range is empty.
struct VariableBox {
  std::vector<std::int64_t> low, high;
};

struct Proof {
  enum class Answer : std::uint8_t { Proved, Refuted, Unknown };
  Answer answer;
  std::vector<std::int64_t> point;  // if refuted: values at which it fails
};

/// Decides polynomial inequalities over a box of integers. On a box a polynomial lies between its
/// least and greatest Bernstein coefficients: it is nonnegative if they are; a negative value at a
/// corner refutes; otherwise the box is bisected, down to single points. Exact, without rounding.
class BoxProver {
 public:
  /// Examines up to `boxes` boxes for one query.
  BoxProver(VariableBox box, int boxes) : box_(std::move(box)), boxes_(boxes) {}

  const VariableBox& box() const { return box_; }
  /// Decides value >= 0 at every point of the box with all `assumptions` >= 0. Throws OverflowError
  /// if a coefficient exceeds 127 bits.
  Proof nonnegative(const Polynomial& value, std::span<const Polynomial> assumptions = {}) const;
  bool proves_nonnegative(const Polynomial& value,
                          std::span<const Polynomial> assumptions = {}) const {
    return nonnegative(value, assumptions).answer == Proof::Answer::Proved;
  }

 private:
  VariableBox box_;
  int boxes_;
};

/// The Bernstein coefficients of a polynomial on a box, all scaled by the same positive number;
/// variables with positive degree in order, the last fastest.
std::vector<Wide> bernstein_coefficients(const Polynomial& value, const VariableBox& box);

}  // namespace touchstone::shapetracker
