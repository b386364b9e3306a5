#pragma once

#include <unordered_map>

#include "touchstone/symbolic/expr/expr.h"
#include "touchstone/symbolic/node/linear.h"

namespace touchstone::symbolic {

/// Converts canonical nodes to expressions by the definition of each kind, without shortening. A
/// node that is a flag only by its bounds becomes a factor, because `and` and `where` would compare
/// it with 0.
class NodeExprs {
 public:
  NodeExprs(Context& context, Exprs& exprs) : c_(context), e_(exprs) {}

  Expr of(Id id);
  Expr of(const Linear& sum);

 private:
  bool is_flag(Id id) const;
  Expr build(const NodeData& n);
  Expr sum(const Int& constant, std::span<const Term> terms);
  Expr difference(const Int& constant, std::span<const Term> terms, ExprOp comparison);
  Expr folded(ExprOp op, std::span<const Id> args);

  Context& c_;
  Exprs& e_;
  std::unordered_map<Id, Expr> known_;
};

}  // namespace touchstone::symbolic
