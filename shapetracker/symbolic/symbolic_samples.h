#pragma once

#include "touchstone/shapetracker/merge/affine_proof.h"
#include "touchstone/shapetracker/symbolic/symbolic_merge.h"
#include "touchstone/shapetracker/view/variable_table.h"

namespace touchstone::shapetracker {

/// A stack of views as polynomials, and what the concrete merge says of it at chosen values.
class SymbolicSamples {
 public:
  SymbolicSamples(std::span<const View> views, const MergeBudget& budget)
      : views_(views), budget_(budget) {}

  /// Values on a grid, and the one view of the stack at each; something is valid at all of them:
  /// values of a variable at which this is not so are left out.
  struct Look {
    Grid grid;
    std::vector<View> merged;
  };

  // Each gives the answer to return where it ends the search: a refutation, or what is missing.
  std::optional<SymbolicResult> read();
  std::optional<SymbolicResult> ask_corners();
  /// Looks at grids for polynomials of degree 2, the one at the upper end of all ranges first,
  /// until one can be kept.
  std::optional<SymbolicResult> look_once();
  /// Looks again, at grids at all combinations of upper and lower ends, for degree 3 where the
  /// variables are few.
  std::optional<SymbolicResult> look_everywhere();

  const VariableTable& table() const { return table_; }
  const std::vector<PolynomialView>& views() const { return polynomials_; }  // innermost first
  const std::vector<Look>& looks() const { return looks_; }
  /// Nothing was valid so far, at any of the values.
  bool all_empty() const { return all_empty_; }
  /// Some grid, where nothing is valid at any.
  const Grid& any_grid() const { return grid_; }

 private:
  using Values = std::vector<std::int64_t>;  // one a variable
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

/// Not proved and not refuted.
SymbolicResult undecided(std::string why);

}  // namespace touchstone::shapetracker
