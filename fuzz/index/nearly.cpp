#include "touchstone/fuzz/index/nearly.h"

#include <vector>

namespace touchstone::fuzz {
namespace {

using symbolic::Expr;
using symbolic::ExprOp;
using symbolic::Exprs;
using symbolic::Int;
using symbolic::Path;

Expr changed(Exprs& e, Expr part, Expr root, Chooser& chooser) {
  const ExprOp op = e.op(part);
  const auto other = [&](ExprOp first, ExprOp last) {
    const auto from = static_cast<std::uint64_t>(first), to = static_cast<std::uint64_t>(last);
    const auto now = static_cast<ExprOp>(from + chooser.below(to - from + 1));
    const Expr a = e.arg(part, 0), b = e.arg(part, 1);
    return e.apply(now, {a, b});
  };
  if (chooser.chance(1, 2) && op >= ExprOp::Lt && op <= ExprOp::Ne)
    return other(ExprOp::Lt, ExprOp::Ne);
  if (chooser.chance(1, 2) && (op == ExprOp::Div || op == ExprOp::Mod))
    return other(ExprOp::Div, ExprOp::Mod);
  if (chooser.chance(1, 4)) {
    const std::vector<Expr> parts = e.parts(root);
    return parts[chooser.below(parts.size())];
  }
  const Int by(chooser.chance(1, 2) ? 1 : -1);
  return chooser.chance(1, 8) ? e.apply(ExprOp::Neg, {part})
                              : e.apply(ExprOp::Add, {part, e.constant(by)});
}

}  // namespace

Expr nearly(Exprs& exprs, Expr root, Chooser& chooser) {
  Path path;
  Expr part = root;
  while (!exprs.args(part).empty() && chooser.chance(3, 4)) {
    path.push_back(static_cast<std::uint32_t>(chooser.below(exprs.args(part).size())));
    part = exprs.arg(part, path.back());
  }
  return exprs.replace(root, path, changed(exprs, part, root, chooser));
}

}  // namespace touchstone::fuzz
