#include "touchstone/symbolic/derive/rewrite.h"
#include "touchstone/symbolic/expr/operators.h"
#include "touchstone/symbolic/expr/rebuild.h"

namespace touchstone::symbolic {

namespace {

/// x*-3 with its sign flipped: x*3.
std::optional<Expr> turned(Exprs& e, Expr x) {
  if (e.op(x) != ExprOp::Mul || !e.is_constant(e.arg(x, 1)) || e.value(e.arg(x, 1)).sign() >= 0)
    return std::nullopt;
  const Expr factor = e.arg(x, 0);
  return e.apply(ExprOp::Mul, {factor, e.constant(-e.value(e.arg(x, 1)))});
}

/// Applies the operator to folded operands. Not `tidied` (expr.h), whose identities of divisions
/// and conditions are no arithmetic steps of a derivation: x*6//9 is x*2//3 there, not here.
Expr folded(Exprs& e, ExprOp op, std::vector<Expr> args) {
  const auto is = [&](std::size_t i, int v) { return e.is_constant(args[i], v); };
  const bool computes = op == ExprOp::Add || op == ExprOp::Sub || op == ExprOp::Mul ||
                        op == ExprOp::Lt || op == ExprOp::Eq ||
                        ((op == ExprOp::Div || op == ExprOp::Mod) && !is(1, 0));
  if (computes && e.is_constant(args[0]) && e.is_constant(args[1]))
    return e.constant(value_of(op, e.value(args[0]), e.value(args[1])));
  const auto minus = [&](Expr x) { return folded(e, ExprOp::Neg, {x}); };
  switch (op) {
    case ExprOp::Neg:
      if (e.op(args[0]) == ExprOp::Neg) return e.arg(args[0], 0);
      break;
    case ExprOp::Add:
    case ExprOp::Sub: {
      const bool plus = op == ExprOp::Add;
      if (is(1, 0) || (plus && is(0, 0))) return args[is(1, 0) ? 0 : 1];
      if (is(0, 0)) return minus(args[1]);
      if (!plus && args[0] == args[1]) return e.constant(0);
      const ExprOp turn = plus ? ExprOp::Sub : ExprOp::Add;
      if (e.op(args[1]) == ExprOp::Neg) return folded(e, turn, {args[0], e.arg(args[1], 0)});
      if (const auto x = turned(e, args[1])) return e.apply(turn, {args[0], *x});
      if (e.is_constant(args[1]) && e.value(args[1]).sign() < 0)
        return e.apply(turn, {args[0], e.constant(-e.value(args[1]))});
      break;
    }
    case ExprOp::Mul:
      if (is(0, 0) || is(1, 0)) return e.constant(0);
      if (is(0, 1)) return args[1];
      if (is(1, 1)) return args[0];
      if (is(0, -1)) return minus(args[1]);
      if (is(1, -1)) return minus(args[0]);
      if (e.is_constant(args[0])) std::swap(args[0], args[1]);
      if (e.is_constant(args[1]) && e.op(args[0]) == ExprOp::Mul &&
          e.is_constant(e.arg(args[0], 1)))
        return folded(
            e, op, {e.arg(args[0], 0), e.constant(e.value(e.arg(args[0], 1)) * e.value(args[1]))});
      break;
    case ExprOp::Div:
      if (is(1, 1)) return args[0];
      break;
    case ExprOp::Mod:
      if (is(1, 1)) return e.constant(0);
      break;
    case ExprOp::Where:
      if (e.is_constant(args[0])) return e.value(args[0]).is_zero() ? args[2] : args[1];
      if (args[1] == args[2]) return args[1];
      break;
    default: break;
  }
  return e.apply(op, args);
}

}  // namespace

Expr fold_identities(Exprs& e, Expr root) {
  return rebuilt(e, root, [&](Expr part, std::vector<Expr> args) {
    return args.empty() ? part : folded(e, e.op(part), std::move(args));
  });
}

}  // namespace touchstone::symbolic
