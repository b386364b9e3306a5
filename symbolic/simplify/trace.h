#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "touchstone/symbolic/node/linear.h"

namespace touchstone::symbolic {

/// One use of a rule of the table: what each of the rule's variables stands for, so that lhs equals
/// rhs is an equation between the simplifier's own expressions.
struct Instance {
  std::string_view rule;
  std::vector<std::pair<std::string_view, Linear>> bindings{};
  bool backwards = false;  // rhs became lhs

  Instance& bind(std::string_view variable, const Linear& value);
  Instance& bind(std::string_view variable, const Int& value);
};

/// The uses of rules, in order. What was tried and given up is taken back by `rewind`.
class Trace {
 public:
  using Mark = std::size_t;

  void record(Instance instance) { uses_.push_back(std::move(instance)); }
  Mark mark() const { return uses_.size(); }
  void rewind(Mark mark) { uses_.resize(mark); }
  /// Turns all since the mark around: the equations are used from their results to their sources.
  void reverse(Mark mark);

  const std::vector<Instance>& uses() const { return uses_; }
  void clear() { uses_.clear(); }

 private:
  std::vector<Instance> uses_;
};

}  // namespace touchstone::symbolic
