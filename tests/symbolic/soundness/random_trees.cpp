#include "random_trees.h"

#include <algorithm>

#include "../drawn.h"
#include "touchstone/symbolic/expr/operators.h"

namespace touchstone::symbolic {

namespace {

constexpr std::size_t kPoints = 8;

/// Exchanges the operands of commutative operations.
Expr swapped(Exprs& exprs, Expr root) {
  std::map<Expr, Expr> now;
  for (const Expr e : exprs.parts(root)) {
    std::vector<Expr> args;
    for (const Expr a : exprs.args(e)) args.push_back(now.at(a));
    if (info(exprs.op(e)).commutes) std::ranges::reverse(args);
    now[e] = args.empty() ? e : exprs.apply(exprs.op(e), args);
  }
  return now.at(root);
}

}  // namespace

RandomTree::RandomTree(std::uint64_t seed, std::uint64_t number) {
  const Drawn drawn(seed, number);
  Exprs exprs = drawn.asked.exprs;
  const Expr root = drawn.asked.root;
  text_ = drawn.root;
  size_ = exprs.size(root);
  wide_ = has_many_members(exprs, root);
  swapped_ = render(exprs, swapped(exprs, root));
  variables_ = drawn.ranges();
  Definition tree(exprs, root);
  for (const Point& at : drawn.points(kPoints)) {
    values_.push_back(tree.at(at));
    std::vector<Int>& point = points_.emplace_back();
    for (const auto& [name, range] : variables_) point.push_back(at.at(name));
  }
}

}  // namespace touchstone::symbolic
