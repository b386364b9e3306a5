#include "touchstone/prove/defined.h"

#include <unordered_map>

#include "touchstone/symbolic/expr/operators.h"
#include "touchstone/symbolic/expr/rebuild.h"

namespace touchstone::prove {

namespace {

Expr both(Exprs& exprs, Expr a, Expr b) {
  if (exprs.is_constant(a, 1) || a == b) return b;
  if (exprs.is_constant(b, 1)) return a;
  return exprs.apply(ExprOp::And, {a, b});
}

Expr either(Exprs& exprs, Expr a, Expr b) {
  if (exprs.is_constant(a, 1) || exprs.is_constant(b, 1)) return exprs.constant(1);
  return exprs.apply(ExprOp::Or, {a, b});
}

Expr truncated(Exprs& e, Expr a, Expr b) {
  const Expr zero = e.constant(0);
  const auto minus = [&](Expr x) { return e.apply(ExprOp::Neg, {x}); };
  const auto over = [&](Expr d) {
    const Expr down = e.apply(ExprOp::Div, {a, d});
    const Expr up = minus(e.apply(ExprOp::Div, {minus(a), d}));
    return e.apply(ExprOp::Where, {e.apply(ExprOp::Lt, {a, zero}), up, down});
  };
  const Expr negative = e.apply(ExprOp::Lt, {b, zero});
  return e.apply(ExprOp::Where, {negative, minus(over(minus(b))), over(b)});
}

}  // namespace

Expr defined(Exprs& exprs, Expr root) {
  const Expr always = exprs.constant(1);
  std::unordered_map<Expr, Expr> known;
  for (const Expr e : exprs.parts(root)) {
    const ExprOp op = exprs.op(e);
    const std::vector<Expr> args(exprs.args(e).begin(), exprs.args(e).end());
    Expr r = always;
    if (op == ExprOp::And || op == ExprOp::Or) {
      const Expr a = known.at(args[0]), b = known.at(args[1]);
      r = both(exprs, a, b);
      if (r != always) {
        const auto decides = [&](Expr is, Expr part) {
          const Expr truth = op == ExprOp::Or ? part : exprs.apply(ExprOp::Not, {part});
          return both(exprs, is, truth);
        };
        r = either(exprs, r, either(exprs, decides(a, args[0]), decides(b, args[1])));
      }
    } else if (op == ExprOp::Where) {
      const Expr yes = known.at(args[1]), no = known.at(args[2]);
      r = known.at(args[0]);
      if (yes != always || no != always)
        r = both(exprs, r, yes == no ? yes : exprs.apply(ExprOp::Where, {args[0], yes, no}));
    } else {
      for (const Expr a : args) r = both(exprs, r, known.at(a));
      if (symbolic::divides(op) && !(exprs.is_constant(args[1]) && !exprs.is_constant(args[1], 0)))
        r = both(exprs, r, exprs.apply(ExprOp::Ne, {args[1], exprs.constant(0)}));
    }
    known.emplace(e, r);
  }
  return known.at(root);
}

Expr with_floor_divisions(Exprs& exprs, Expr root) {
  return symbolic::rebuilt(exprs, root, [&](Expr e, const std::vector<Expr>& args) {
    const ExprOp op = exprs.op(e);
    if (args.empty()) return e;
    if (op != ExprOp::TruncDiv && op != ExprOp::TruncMod) return exprs.apply(op, args);
    const Expr quotient = truncated(exprs, args[0], args[1]);
    if (op == ExprOp::TruncDiv) return quotient;
    return exprs.apply(ExprOp::Sub, {args[0], exprs.apply(ExprOp::Mul, {args[1], quotient})});
  });
}

}  // namespace touchstone::prove
