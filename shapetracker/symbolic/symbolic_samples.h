#pragma once

#include "touchstone/shapetracker/merge/affine_proof.h"
#include "touchstone/shapetracker/symbolic/symbolic_merge.h"
#include "touchstone/shapetracker/view/variable_table.h"

namespace touchstone::shapetracker {

/// A stack of views as polynomials, with its concrete merges at sampled values.
class SymbolicSamples {
 public:
  SymbolicSamples(std::span<const View> views, const MergeBudget& budget)
      : views_(views), budget_(budget) {}

  /// A grid of values and the stack's single view at each; grid values of a variable where nothing
  /// is valid are left out.
  struct Look {
    Grid grid;
    std::vector<View> merged;
  };

  // Each returns the final answer if it ends the search: a refutation, or what is missing.
  std::optional<SymbolicResult> read();
  std::optional<SymbolicResult> ask_corners();
  /// Samples grids for polynomials of degree 2, starting at the upper end of all ranges, until one
  /// is usable.
  std::optional<SymbolicResult> look_once();
  /// Samples grids at all combinations of upper and lower ends, for degree 3 if there are few
  /// variables.
  std::optional<SymbolicResult> look_everywhere();

  const VariableTable& table() const { return table_; }
  const std::vector<PolynomialView>& views() const { return polynomials_; }  // innermost first
  const std::vector<Look>& looks() const { return looks_; }
  /// True if nothing was valid at any values so far.
  bool all_empty() const { return all_empty_; }
  /// A sampled grid, if nothing is valid on any.
  const Grid& any_grid() const { return grid_; }

 private:
  using Values = std::vector<std::int64_t>;  // one for each variable
  enum class End : std::uint8_t { Upper, Lower, Spread };

  std::optional<SymbolicResult> ask(const Values& values, std::optional<View>& merged);
  std::optional<SymbolicResult> look(const std::vector<End>& ends, std::int64_t nodes);

  std::span<const View> views_;
  const MergeBudget& budget_;
  VariableTable table_;
  std::vector<PolynomialView> polynomials_;
  std::vector<Look> looks_;
  Grid grid_;
  bool all_empty_ = true;
};

/// The answer for neither proved nor refuted.
SymbolicResult undecided(std::string why);

}  // namespace touchstone::shapetracker
