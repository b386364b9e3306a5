// The operators of the notation on canonical operands. Operators on nodes, text, rules and
// derivations all build here.
#include "touchstone/symbolic/expr/expr.h"
#include "touchstone/symbolic/simplify/simplifier.h"

namespace touchstone::symbolic {

void Simplifier::settle(Linear& sum) {
  unsigned seen = 0, shared = 0;  // variables, and those in several terms
  for (const Term& t : sum.terms) {
    shared |= seen & c_.variables_in(t.atom);
    seen |= c_.variables_in(t.atom);
  }
  if ((shared == 0 && sum.terms.size() > 1) || stands(sum)) return;
  if (const Id id = build(sum); !is(id, sum)) sum = linear(id);
}

Id Simplifier::chain(std::span<const Term> terms) {
  if (terms.size() > kLimits.chain_terms) return add_all(terms);
  Linear r;
  for (const Term& t : terms) {
    add(r, t.atom, t.coef);
    if (&t != &terms.front() && &t != &terms.back()) settle(r);
  }
  return build(r);
}

Id Simplifier::operate(ExprOp op, std::span<const Id> args) {
  switch (op) {
    case ExprOp::And: return both(args);
    case ExprOp::Or: return either(args);
    case ExprOp::Not: return negate(truth(args[0]));
    case ExprOp::Mul: return product(args[0], args[1]);
    case ExprOp::Where: return build(where(truth(args[0]), linear(args[1]), linear(args[2])));
    default: break;
  }
  SmallVector<Linear, 2> sums;
  for (const Id id : args) sums.push_back(linear(id));
  return build(operate(op, sums));
}

Linear Simplifier::operate(ExprOp op, std::span<Linear> args) {
  // args[i] - args[j] + constant
  const auto gap = [&](std::size_t i, std::size_t j, int constant) {
    Linear r = std::move(args[i]);
    add(r, args[j], -1);
    r.constant += constant;
    return r;
  };
  switch (op) {
    case ExprOp::Add: add(args[0], args[1]); return std::move(args[0]);
    case ExprOp::Sub: return gap(0, 1, 0);
    case ExprOp::Neg: return -args[0];
    case ExprOp::Div:
    case ExprOp::Mod: {
      const bool quotient = op == ExprOp::Div;
      const Int& d = args[1].constant;
      if (args[1].is_constant() && d.sign() > 0)  // without a copy of the dividend
        return quotient ? digit(std::move(args[0]), d, 0) : digit(std::move(args[0]), 1, d);
      return quotient ? divide(args[0], args[1]) : modulo(args[0], args[1]);
    }
    case ExprOp::TruncDiv:
    case ExprOp::TruncMod: return truncated(args[0], args[1], op == ExprOp::TruncMod);
    case ExprOp::Lt: return linear(negative(gap(0, 1, 0)));
    case ExprOp::Le: return linear(negative(gap(0, 1, -1)));
    case ExprOp::Gt: return linear(negative(gap(1, 0, 0)));
    case ExprOp::Ge: return linear(negative(gap(1, 0, -1)));
    case ExprOp::Eq: return linear(zero(gap(0, 1, 0)));
    case ExprOp::Ne: return linear(negate(zero(gap(0, 1, 0))));
    case ExprOp::Max: return maximum(args);
    case ExprOp::Min:
      for (Linear& a : args) a = -a;
      return -maximum(args);
    case ExprOp::Mul:
      if (args[0].is_constant() || args[1].is_constant()) return multiply(args[0], args[1]);
      break;
    default: break;
  }
  Ids ids;
  for (const Linear& a : args) ids.push_back(build(a));
  return linear(operate(op, ids));
}

}  // namespace touchstone::symbolic
