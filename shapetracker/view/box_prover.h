#pragma once

#include "touchstone/shapetracker/view/polynomial.h"

namespace touchstone::shapetracker {

/// Integer values of variables: low[i] <= variable i <= high[i], and no range is empty.
struct VariableBox {
  std::vector<std::int64_t> low, high;
};

struct Proof {
  enum class Answer : std::uint8_t { Proved, Refuted, Unknown };
  Answer answer;
  std::vector<std::int64_t> point;  // where refuted: values of the variables at which it fails
};

/// Decides polynomial inequalities over a box of integers. A polynomial lies between the least and
/// the greatest of its Bernstein coefficients on a box: where none is negative, neither is the
/// polynomial; a negative value at a corner refutes; else the box is cut in two, of integers, so
/// that what is left at the end are points. Exact: no rounding anywhere.
class BoxProver {
 public:
  /// Looks at up to `boxes` boxes for one question.
  BoxProver(VariableBox box, int boxes) : box_(std::move(box)), boxes_(boxes) {}

  const VariableBox& box() const { return box_; }
  /// Whether value >= 0 at every point of the box at which all of `assumptions` are >= 0. Throws
  /// OverflowError where a coefficient leaves 127 bits.
  Proof nonnegative(const Polynomial& value, std::span<const Polynomial> assumptions = {}) const;
  bool proves_nonnegative(const Polynomial& value,
                          std::span<const Polynomial> assumptions = {}) const {
    return nonnegative(value, assumptions).answer == Proof::Answer::Proved;
  }

 private:
  VariableBox box_;
  int boxes_;
};

/// The Bernstein coefficients of a polynomial on a box, each multiplied by the same positive
/// number; the variables with a degree above 0 in order, the last fastest.
std::vector<Wide> bernstein_coefficients(const Polynomial& value, const VariableBox& box);

}  // namespace touchstone::shapetracker
