#pragma once

#include <optional>
#include <span>

#include "touchstone/symbolic/node/context.h"
#include "touchstone/symbolic/number/pool.h"

namespace touchstone::symbolic {

/// A node laid out for evaluation at many points: exact, iterative, each shared part once. Reads
/// the context without its lock; one object is used by one thread at a time.
class Program {
 public:
  Program(const Context& context, Id root);

  /// The variable nodes that occur, by id: slot i of `run` is the value of variables()[i].
  std::span<const Id> variables() const { return variables_; }
  /// Nodes evaluated at a point.
  std::size_t size() const { return nodes_.size(); }

  /// The value at a point; nullopt where a division by zero can change it. One that cannot, as in a
  /// branch of `where` that is not taken, does no harm. values: one for each of variables().
  std::optional<Int> run(std::span<const Int> values);

 private:
  /// The value where what has the variables of `changed` is computed again, parts first; a quotient
  /// or remainder by zero gets the value `undefined`.
  const Int& pass(std::span<const Int> values, std::uint64_t changed, const Int& undefined);
  Int step(std::size_t i, const std::uint32_t* part, std::span<const Int> values,
           const Int& undefined);

  List<NodeData> nodes_;
  List<Id> variables_;
  List<std::uint32_t> parts_;    // of each node in turn: places in nodes_, a variable's slot
  List<std::uint64_t> depends_;  // of each node: on variables; the last bit is of all others
  List<Int> value_, last_;       // at the last point
  List<char> by_zero_;           // of each node: it is a division by zero
  std::size_t divisions_by_zero_ = 0;
};

}  // namespace touchstone::symbolic
