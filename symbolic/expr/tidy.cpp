// Identities that hold for any operands.
#include <algorithm>
#include <optional>
#include <utility>

#include "touchstone/symbolic/expr/operators.h"
#include "touchstone/symbolic/expr/rebuild.h"

namespace touchstone::symbolic {

namespace {

/// True if the operator returns only 0 or 1.
bool is_flag(ExprOp op) { return op >= ExprOp::Or && op <= ExprOp::Ne; }

ExprOp opposite(ExprOp op) {
  switch (op) {
    case ExprOp::Lt: return ExprOp::Ge;
    case ExprOp::Gt: return ExprOp::Le;
    case ExprOp::Le: return ExprOp::Gt;
    case ExprOp::Ge: return ExprOp::Lt;
    case ExprOp::Eq: return ExprOp::Ne;
    default: return ExprOp::Eq;
  }
}

/// Splits x + 3 or x - 3 into x and the signed number.
std::optional<std::pair<Expr, Int>> shifted(const Exprs& x, Expr e) {
  const ExprOp op = x.op(e);
  if ((op != ExprOp::Add && op != ExprOp::Sub) || !x.is_constant(x.arg(e, 1))) return std::nullopt;
  const Int& by = x.value(x.arg(e, 1));
  return std::pair(x.arg(e, 0), op == ExprOp::Add ? by : -by);
}

/// x*6//9 is x*2//3.
std::optional<Expr> reduced_quotient(Exprs& x, Expr dividend, Expr divisor) {
  if (x.op(dividend) != ExprOp::Mul || !x.is_constant(divisor)) return std::nullopt;
  const Expr number = x.arg(dividend, 1), rest = x.arg(dividend, 0);
  if (!x.is_constant(number)) return std::nullopt;
  const Int factor = x.value(number), by = x.value(divisor), g = gcd(factor, by);
  if (factor.sign() <= 0 || by.sign() <= 0 || g.is_one()) return std::nullopt;
  const Int left = floor_div(factor, g), below = floor_div(by, g);
  const Expr over = left.is_one() ? rest : x.apply(ExprOp::Mul, {rest, x.constant(left)});
  return below.is_one() ? over : x.apply(ExprOp::Div, {over, x.constant(below)});
}

/// x//2//3 is x//6.
std::optional<Expr> joined_quotient(Exprs& x, Expr dividend, Expr divisor) {
  if (x.op(dividend) != ExprOp::Div || !x.is_constant(divisor)) return std::nullopt;
  const Expr inner = x.arg(dividend, 1);
  if (!x.is_constant(inner) || x.value(inner).sign() <= 0 || x.value(divisor).sign() <= 0)
    return std::nullopt;
  const Expr both = x.constant(x.value(inner) * x.value(divisor));
  if (const auto less = reduced_quotient(x, x.arg(dividend, 0), both)) return less;
  return x.apply(ExprOp::Div, {x.arg(dividend, 0), both});
}

/// Applies the operator to operands that are already tidied.
Expr tidy(Exprs& x, ExprOp op, std::vector<Expr> args) {
  const auto is = [&](std::size_t i, int value) { return x.is_constant(args[i], value); };
  const bool arithmetic =
      op == ExprOp::Add || op == ExprOp::Sub || op == ExprOp::Mul || divides(op);
  if (arithmetic && x.is_constant(args[0]) && x.is_constant(args[1]) && !(divides(op) && is(1, 0)))
    return x.constant(value_of(op, x.value(args[0]), x.value(args[1])));
  if (op == ExprOp::Add || op == ExprOp::Sub)
    if (const auto inner = shifted(x, args[0]); inner && x.is_constant(args[1])) {
      const Int& more = x.value(args[1]);
      const Int by = op == ExprOp::Add ? inner->second + more : inner->second - more;
      if (by.is_zero()) return inner->first;
      return by.sign() < 0 ? x.apply(ExprOp::Sub, {inner->first, x.constant(-by)})
                           : x.apply(ExprOp::Add, {inner->first, x.constant(by)});
    }
  const bool compares = op >= ExprOp::Lt && op <= ExprOp::Ne;
  if (compares && x.is_constant(args[0]) && x.is_constant(args[1]))
    return x.constant(value_of(op, x.value(args[0]), x.value(args[1])));
  const auto flag = [&](std::size_t i) { return is_flag(x.op(args[i])); };
  switch (op) {
    case ExprOp::Add:
      if (is(0, 0)) return args[1];
      if (is(1, 0)) return args[0];
      break;
    case ExprOp::Sub:
      if (is(1, 0)) return args[0];
      if (is(0, 0)) return tidy(x, ExprOp::Neg, {args[1]});
      break;
    case ExprOp::Mul:
      if (is(0, 1)) return args[1];
      if (is(1, 1)) return args[0];
      if (x.is_constant(args[1]) && x.op(args[0]) == op && x.is_constant(x.arg(args[0], 1)))
        return tidy(x, op,
                    {x.arg(args[0], 0), x.constant(x.value(x.arg(args[0], 1)) * x.value(args[1]))});
      break;
    case ExprOp::Div:
      if (const auto both = joined_quotient(x, args[0], args[1])) return *both;
      if (const auto less = reduced_quotient(x, args[0], args[1])) return *less;
      [[fallthrough]];
    case ExprOp::TruncDiv:
      if (is(1, 1)) return args[0];
      break;
    case ExprOp::Neg:
      if (x.op(args[0]) == ExprOp::Neg) return x.arg(args[0], 0);
      break;
    case ExprOp::Min:
    case ExprOp::Max: {
      std::vector<Expr> once;
      for (const Expr a : args)
        if (std::ranges::find(once, a) == once.end()) once.push_back(a);
      if (once.size() == 1) return once[0];
      args = std::move(once);
      break;
    }
    case ExprOp::And:
    case ExprOp::Or:
      if (args[0] == args[1] && flag(0)) return args[0];
      break;
    case ExprOp::Not: {
      const ExprOp inner = x.op(args[0]);
      if (inner >= ExprOp::Lt && inner <= ExprOp::Ne)
        return x.apply(opposite(inner), {x.arg(args[0], 0), x.arg(args[0], 1)});
      if (inner != ExprOp::Not) break;
      const Expr twice = x.arg(args[0], 0);
      if (is_flag(x.op(twice))) return twice;
      break;
    }
    case ExprOp::Where:
      if (x.is_constant(args[0])) return args[is(0, 0) ? 2 : 1];
      if (args[1] == args[2]) return args[1];
      break;
    default: break;
  }
  return x.apply(op, args);
}

}  // namespace

Expr tidied(Exprs& exprs, Expr root, const std::function<Expr(Expr, Expr)>& smaller) {
  return rebuilt(exprs, root, [&](Expr e, std::vector<Expr> args) {
    if (args.empty()) return smaller(e, e);
    const ExprOp op = exprs.op(e);
    // A literal divisor 0 would not parse.
    if (divides(op) && exprs.is_constant(args[1], 0)) args[1] = exprs.arg(e, 1);
    return smaller(e, tidy(exprs, op, std::move(args)));
  });
}

Expr tidied(Exprs& exprs, Expr root) {
  return tidied(exprs, root, [](Expr, Expr now) { return now; });
}

}  // namespace touchstone::symbolic
