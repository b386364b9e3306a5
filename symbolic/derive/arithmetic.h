#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "touchstone/symbolic/check/derivation.h"
#include "touchstone/symbolic/derive/ring_text.h"

namespace touchstone::symbolic {

/// Splits an arithmetic step between two expressions of the same normal form into steps of one law
/// each where possible, innermost differences first.
class ArithmeticSteps {
 public:
  ArithmeticSteps(Exprs& exprs, Ring& ring) : e_(exprs), ring_(ring), text_(exprs, ring) {}

  std::vector<DerivationStep> between(Expr before, Expr after);

 private:
  /// Rewrite the part at `path` to `after`; `parts_done` once shared parts are written alike, then
  /// one step finishes it.
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
  std::vector<Task> todo_;  // last is next
  std::vector<DerivationStep> steps_;
};

}  // namespace touchstone::symbolic
