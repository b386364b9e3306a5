#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "touchstone/symbolic/check/derivation.h"
#include "touchstone/symbolic/derive/ring_text.h"

namespace touchstone::symbolic {

/// Takes the way between two expressions of one normal form in steps of one law each, as far as it
/// can: first where the two differ deep down, then above.
class ArithmeticSteps {
 public:
  ArithmeticSteps(Exprs& exprs, Ring& ring) : e_(exprs), ring_(ring), text_(exprs, ring) {}

  std::vector<DerivationStep> between(Expr before, Expr after);

 private:
  /// The part at the path becomes `after`; at last in one step, once what both share is written
  /// alike.
  struct Task {
    Path path;
    Expr after;
    bool parts_done;
  };
  void bridge(const Task& task);
  void put(const Path& path, Expr after, std::string_view law);
  std::optional<Task> smaller_side(const Path& path, Expr before);
  void push_shared(const Path& path, Expr before, Expr after);
  std::string_view law(Expr before, Expr after);
  bool only_order(Expr before, Expr after) const;

  Exprs& e_;
  Ring& ring_;
  RingText text_;
  Expr whole_ = 0;
  std::vector<Task> todo_;  // the last first
  std::vector<DerivationStep> steps_;
};

}  // namespace touchstone::symbolic
