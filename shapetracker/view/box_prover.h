#pragma once

#include "touchstone/shapetracker/view/polynomial.h"

namespace touchstone::shapetracker {

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
