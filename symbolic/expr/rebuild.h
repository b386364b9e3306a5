#pragma once

#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "touchstone/symbolic/expr/expr.h"

namespace touchstone::symbolic {

/// Rebuilds an expression, parts before wholes: `make(part, args)` returns the new form of a part,
/// given the new forms of its operands (none for a number or variable).
template <class Make>
Expr rebuilt(const Exprs& exprs, Expr root, const Make& make) {
  std::unordered_map<Expr, Expr> now;
  for (const Expr part : exprs.parts(root)) {
    std::vector<Expr> args;
    for (const Expr a : exprs.args(part)) args.push_back(now.at(a));
    now.emplace(part, make(part, std::move(args)));
  }
  return now.at(root);
}

/// The expression with each part replaced for which `by(part)` is not nullopt.
template <class By>
Expr replaced(Exprs& exprs, Expr root, const By& by) {
  return rebuilt(exprs, root, [&](Expr part, const std::vector<Expr>& args) {
    if (const std::optional<Expr> other = by(part)) return *other;
    return args.empty() ? part : exprs.apply(exprs.op(part), args);
  });
}

}  // namespace touchstone::symbolic
