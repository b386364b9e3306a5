#include "touchstone/prove/defined.h"

#include <map>
#include <optional>
#include <set>
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

namespace {

/// An expression as -magnitude or magnitude, which is not negative where it is defined.
struct Signed {
  bool minus;
  Expr magnitude;
};

/// nullopt unless it multiplies and truncates numbers and the variables of known sign.
std::optional<Signed> signed_form(Exprs& e, Expr root, const std::map<Expr, bool>& minus) {
  const ExprOp op = e.op(root);
  if (op == ExprOp::Constant)
    return Signed{e.value(root).sign() < 0, e.constant(abs(e.value(root)))};
  if (op == ExprOp::Variable) {
    const auto known = minus.find(root);
    return known == minus.end() ? std::nullopt : std::optional(Signed{known->second, root});
  }
  const bool truncates = op == ExprOp::TruncDiv || op == ExprOp::TruncMod;
  if (op != ExprOp::Neg && op != ExprOp::Mul && !truncates) return std::nullopt;
  const auto a = signed_form(e, e.arg(root, 0), minus);
  if (!a || op == ExprOp::Neg) return a ? std::optional(Signed{!a->minus, a->magnitude}) : a;
  const auto b = signed_form(e, e.arg(root, 1), minus);
  if (!b) return std::nullopt;
  const ExprOp floor = op == ExprOp::Mul ? op : op == ExprOp::TruncDiv ? ExprOp::Div : ExprOp::Mod;
  return Signed{op == ExprOp::TruncMod ? a->minus : a->minus != b->minus,
                e.apply(floor, {a->magnitude, b->magnitude})};
}

}  // namespace

std::vector<Claim> by_signs(const Claim& claim) {
  constexpr std::size_t kMostVariables = 4;
  std::map<Expr, bool> minus;  // the variables in operands of truncations
  std::vector<Expr> roots = claim.when;
  roots.insert(roots.end(), {claim.lhs, claim.rhs});
  for (const Expr root : roots)
    for (const Expr e : claim.exprs.parts(root))
      if (claim.exprs.op(e) == ExprOp::TruncDiv || claim.exprs.op(e) == ExprOp::TruncMod)
        for (const Expr part : claim.exprs.parts(e))
          if (claim.exprs.op(part) == ExprOp::Variable) minus.emplace(part, false);
  if (minus.empty() || minus.size() > kMostVariables) return {claim};
  std::vector<Claim> cases;
  std::set<std::string> seen;
  for (unsigned signs = 0; signs < 1U << minus.size(); ++signs) {
    Claim one = claim;
    Exprs& e = one.exprs;
    unsigned bit = 0;
    for (auto& [variable, negative] : minus) negative = (signs >> bit++ & 1U) != 0;
    const auto with_signs = [&](Expr root) {
      return symbolic::rebuilt(e, root, [&](Expr part, const std::vector<Expr>& args) {
        const ExprOp op = e.op(part);
        std::optional<Signed> known;
        if (args.empty() || op == ExprOp::TruncDiv || op == ExprOp::TruncMod)
          known = signed_form(e, part, minus);
        if (known)
          return known->minus ? e.apply(ExprOp::Neg, {known->magnitude}) : known->magnitude;
        if (op == ExprOp::Neg && e.op(args[0]) == op) return e.arg(args[0], 0);
        return args.empty() ? part : e.apply(op, args);
      });
    };
    one.lhs = with_signs(claim.lhs);
    one.rhs = with_signs(claim.rhs);
    if (e.op(one.lhs) == ExprOp::Neg && e.op(one.rhs) == ExprOp::Neg) {
      one.lhs = e.arg(one.lhs, 0);
      one.rhs = e.arg(one.rhs, 0);
    }
    for (Expr& c : one.when) c = with_signs(c);
    for (const auto& [variable, negative] : minus)
      one.when.push_back(e.apply(ExprOp::Le, {e.constant(0), variable}));
    if (seen.insert(text_of(one)).second) cases.push_back(std::move(one));
  }
  return cases;
}

}  // namespace touchstone::prove
