#include <unordered_map>

#include "touchstone/symbolic/rewrite.h"

namespace touchstone::symbolic {

namespace {

/// x*-3 in front of which the sign can turn: x*3.
std::optional<Expr> turned(Exprs& e, Expr x) {
  if (e.op(x) != ExprOp::Mul || !e.is_constant(e.arg(x, 1)) || e.value(e.arg(x, 1)).sign() >= 0)
    return std::nullopt;
  const Expr factor = e.arg(x, 0);
  return e.apply(ExprOp::Mul, {factor, e.constant(-e.value(e.arg(x, 1)))});
}

std::optional<Int> computed(ExprOp op, const Int& a, const Int& b) {
  switch (op) {
    case ExprOp::Add:
      return a + b;
    case ExprOp::Sub:
      return a - b;
    case ExprOp::Mul:
      return a * b;
    case ExprOp::Div:
      return b.is_zero() ? std::nullopt : std::optional(floor_div(a, b));
    case ExprOp::Mod:
      return b.is_zero() ? std::nullopt : std::optional(floor_mod(a, b));
    case ExprOp::Lt:
      return Int(a < b ? 1 : 0);
    case ExprOp::Eq:
      return Int(a == b ? 1 : 0);
    default:
      return std::nullopt;
  }
}

Expr tidied(Exprs& e, ExprOp op, std::vector<Expr> args) {
  const auto is = [&](std::size_t i, int v) { return e.is_constant(args[i], v); };
  if (args.size() == 2 && e.is_constant(args[0]) && e.is_constant(args[1]))
    if (const auto v = computed(op, e.value(args[0]), e.value(args[1]))) return e.constant(*v);
  const auto minus = [&](Expr x) { return tidied(e, ExprOp::Neg, {x}); };
  switch (op) {
    case ExprOp::Neg:
      if (e.op(args[0]) == ExprOp::Neg) return e.arg(args[0], 0);
      break;
    case ExprOp::Add:
      if (is(0, 0)) return args[1];
      if (is(1, 0)) return args[0];
      if (e.op(args[1]) == ExprOp::Neg) return tidied(e, ExprOp::Sub, {args[0], e.arg(args[1], 0)});
      if (const auto x = turned(e, args[1])) return e.apply(ExprOp::Sub, {args[0], *x});
      if (e.is_constant(args[1]) && e.value(args[1]).sign() < 0)
        return e.apply(ExprOp::Sub, {args[0], e.constant(-e.value(args[1]))});
      break;
    case ExprOp::Sub:
      if (is(1, 0)) return args[0];
      if (is(0, 0)) return minus(args[1]);
      if (args[0] == args[1]) return e.constant(0);
      if (e.op(args[1]) == ExprOp::Neg) return tidied(e, ExprOp::Add, {args[0], e.arg(args[1], 0)});
      if (const auto x = turned(e, args[1])) return e.apply(ExprOp::Add, {args[0], *x});
      if (e.is_constant(args[1]) && e.value(args[1]).sign() < 0)
        return e.apply(ExprOp::Add, {args[0], e.constant(-e.value(args[1]))});
      break;
    case ExprOp::Mul:
      if (is(0, 0) || is(1, 0)) return e.constant(0);
      if (is(0, 1)) return args[1];
      if (is(1, 1)) return args[0];
      if (is(0, -1)) return minus(args[1]);
      if (is(1, -1)) return minus(args[0]);
      if (e.is_constant(args[0])) std::swap(args[0], args[1]);
      if (e.is_constant(args[1]) && e.op(args[0]) == ExprOp::Mul &&
          e.is_constant(e.arg(args[0], 1)))
        return tidied(
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
    default:
      break;
  }
  return e.apply(op, args);
}

}  // namespace

Expr fold_identities(Exprs& e, Expr root) {
  std::unordered_map<Expr, Expr> now;
  for (const Expr part : e.parts(root)) {
    std::vector<Expr> args;
    for (const Expr a : e.args(part)) args.push_back(now.at(a));
    now.emplace(part, args.empty() ? part : tidied(e, e.op(part), std::move(args)));
  }
  return now.at(root);
}

}  // namespace touchstone::symbolic
