#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "touchstone/symbolic/node/linear.h"

namespace touchstone::symbolic {

/// One use of a rule: the values of its variables, so that lhs = rhs is an equation between
/// canonical expressions.
struct Instance {
  std::string_view rule;
  std::vector<std::pair<std::string_view, Linear>> bindings{};
  bool backwards = false;  // rhs became lhs

  Instance& bind(std::string_view variable, const Linear& value);
  Instance& bind(std::string_view variable, const Int& value);
};

/// Rule uses in order; `rewind` drops those of abandoned attempts.
class Trace {
 public:
  using Mark = std::size_t;

  void record(Instance instance) { uses_.push_back(std::move(instance)); }
  Mark mark() const { return uses_.size(); }
  void rewind(Mark mark) { uses_.resize(mark); }
  /// Reverses all uses since the mark: their equations then lead from result to source.
  void reverse(Mark mark);

  const std::vector<Instance>& uses() const { return uses_; }
  void clear() { uses_.clear(); }

 private:
  std::vector<Instance> uses_;
};

}  // namespace touchstone::symbolic
