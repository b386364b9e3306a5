#include "touchstone/symbolic/expr/operators.h"

#include "touchstone/base/error.h"

namespace touchstone::symbolic {

namespace {

Int truncated(const Int& a, const Int& b) {
  const Int q = floor_div(abs(a), abs(b));
  return (a.sign() < 0) == (b.sign() < 0) ? q : -q;
}

}  // namespace

Int value_of(ExprOp op, const Int& a, const Int& b) {
  switch (op) {
    case ExprOp::Lt: return a < b ? 1 : 0;
    case ExprOp::Gt: return a > b ? 1 : 0;
    case ExprOp::Le: return a <= b ? 1 : 0;
    case ExprOp::Ge: return a >= b ? 1 : 0;
    case ExprOp::Eq: return a == b ? 1 : 0;
    case ExprOp::Ne: return a == b ? 0 : 1;
    case ExprOp::Add: return a + b;
    case ExprOp::Sub: return a - b;
    case ExprOp::Mul: return a * b;
    case ExprOp::Div: return floor_div(a, b);
    case ExprOp::Mod: return floor_mod(a, b);
    case ExprOp::TruncDiv: return truncated(a, b);
    case ExprOp::TruncMod: return a - b * truncated(a, b);
    case ExprOp::Min: return smaller(a, b);
    case ExprOp::Max: return larger(a, b);
    case ExprOp::Constant:
    case ExprOp::Variable:
    case ExprOp::Or:
    case ExprOp::And:
    case ExprOp::Not:
    case ExprOp::Neg:
    case ExprOp::Where: break;
  }
  throw Error(fmt::format("value_of: '{}' is not an operator of two numbers", info(op).name()));
}

}  // namespace touchstone::symbolic
