#pragma once

#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "touchstone/symbolic/derivation.h"
#include "touchstone/symbolic/ring.h"

namespace touchstone::symbolic {

/// Takes the way between two expressions of one normal form in steps of one law each, as far as it
/// can: first where the two differ deep down, then above.
class ArithmeticSteps {
 public:
  ArithmeticSteps(Exprs& exprs, Ring& ring) : e_(exprs), ring_(ring) {}

  std::vector<DerivationStep> between(Expr before, Expr after);

 private:
  void bridge(const Path& path, Expr after);
  void put(const Path& path, Expr after, std::string_view law);
  bool simplify_side(const Path& path, Expr before);
  bool bridge_shared(const Path& path, Expr before, Expr after);
  std::string_view law(Expr before, Expr after);
  bool only_order(Expr before, Expr after) const;

  Exprs& e_;
  Ring& ring_;
  Expr whole_ = 0;
  std::vector<DerivationStep> steps_;
};

}  // namespace touchstone::symbolic
