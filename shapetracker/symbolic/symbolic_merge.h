#pragma once

#include "touchstone/shapetracker/merge/explain.h"

namespace touchstone::shapetracker {

struct SymbolicBudget {
  int boxes = 256;       // of values of the variables, for one inequality
  MergeBudget concrete;  // for the views at one choice of values
};

/// The answer of symbolic_merge and its reason.
struct SymbolicResult {
  MergeAnswer answer;         // OverBudget: neither proved nor refuted
  std::optional<View> view;   // Merged: bound to any values it says what the stack says, bound
  symbolic::Values values{};  // NoSuchView: the values with which there is no view,
  std::optional<Witness> witness{};  // and the indices that show it, for `refutes` (check.h)
  std::string why{};                 // OverBudget: what could not be proved

  /// One line: "merged: View(...)", "no single view: with n = 3, ...", "not decided: ...".
  std::string str() const;
};

std::string str(const symbolic::Values& values);  // "n = 3, m = 2"

/// The single view that equals a stack of views with variables (innermost first, at least one) for
/// all values of the variables within their bounds. Method: at corners of the variables' box and on
/// a grid of values the concrete merge is asked; a "no" refutes. Mask bounds and the quotients
/// floor(k / weight) are fitted to the grid by polynomials of degree 2 in each variable, at a
/// second look of degree 3, mask bounds also by the largest or least of several; then every
/// inequality that makes the candidate right is proved over the whole box by Bernstein
/// coefficients, exactly. Entries must be polynomials in up to 4 variables whose bounds are finite
/// (of degree 1 each in up to 6); other stacks are not decided, as are those that are one view for
/// every value only by different reasons.
/// Throws ShapeError where, for some values tried, a view can leave the one below it.
SymbolicResult symbolic_merge(std::span<const View> views, const SymbolicBudget& budget = {});

}  // namespace touchstone::shapetracker
