#pragma once

#include "touchstone/shapetracker/merge/explain.h"

namespace touchstone::shapetracker {

struct SymbolicBudget {
  int boxes = 256;       // of variable values, for each inequality
  MergeBudget concrete;  // for the views at one choice of values
};

/// The answer of symbolic_merge with its reason.
struct SymbolicResult {
  MergeAnswer answer;                // OverBudget: neither proved nor refuted
  std::optional<View> view;          // Merged: equivalent for all values
  symbolic::Values values{};         // NoSuchView: values without a view
  std::optional<Witness> witness{};  // and the witness there (check_witness)
  std::string why{};                 // OverBudget: what could not be proved

  /// One line: "merged: View(...)", "no single view: with n = 3, ...", "not decided: ...".
  std::string str() const;
};

std::string str(const symbolic::Values& values);  // "n = 3, m = 2"

/// The single view equal to a stack of views with variables (innermost first, at least one) for all
/// values within their bounds. Method: runs the concrete merge at corners of the variables' box and
/// on a grid of values; a "no" refutes. Mask bounds and the quotients floor(k / weight) are fitted
/// to the grid by polynomials of degree 2 in each variable, then 3, mask bounds also as a minimum
/// or maximum of several; then every inequality that makes the candidate correct is proved exactly
/// over the whole box by Bernstein coefficients. Entries must be polynomials in up to 4 variables
/// with finite bounds (up to 6 if of degree 1 in each). Other stacks are undecided, as are stacks
/// that are one view for every value only for different reasons.
/// Throws ShapeError if, for some tried values, a view can leave the one below it.
SymbolicResult symbolic_merge(std::span<const View> views, const SymbolicBudget& budget = {});

}  // namespace touchstone::shapetracker
