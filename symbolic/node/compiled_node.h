#pragma once

#include <optional>
#include <span>

#include "touchstone/symbolic/node/context.h"
#include "touchstone/symbolic/number/pool.h"

namespace touchstone::symbolic {

/// A node compiled for evaluation at many points: exact, iterative, each shared part once. Reads
/// the context without its lock; not thread-safe itself. Trees as written: expr/evaluate.h.
class CompiledNode {
 public:
  CompiledNode(const Context& context, Id root);

  /// The variable nodes that occur, by id; slot i of `run` is the value of variables()[i].
  std::span<const Id> variables() const { return variables_; }
  /// Number of nodes evaluated at a point.
  std::size_t size() const { return nodes_.size(); }

  /// The value at a point; nullopt if a division by zero can affect it. One that cannot, as in a
  /// `where` branch that is not taken, is ignored. values: one for each of variables().
  std::optional<Int> run(std::span<const Int> values);

 private:
  /// Re-evaluates the nodes that depend on the variables in `changed`, parts first; a quotient or
  /// remainder by zero evaluates to `undefined`.
  const Int& pass(std::span<const Int> values, std::uint64_t changed, const Int& undefined);
  Int step(std::size_t i, const std::uint32_t* part, std::span<const Int> values,
           const Int& undefined);

  List<NodeData> nodes_;
  List<Id> variables_;
  List<std::uint32_t> parts_;    // of each node in turn: indices in nodes_; for a variable its slot
  List<std::uint64_t> depends_;  // of each node: bit set of variables; last bit: all others
  List<Int> value_, last_;       // at the last point
  List<char> by_zero_;           // of each node: it divides by zero
  std::size_t divisions_by_zero_ = 0;
};

}  // namespace touchstone::symbolic
