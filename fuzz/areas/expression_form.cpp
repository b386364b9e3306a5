#include "touchstone/fuzz/areas/expression_form.h"

#include <algorithm>
#include <map>

#include "touchstone/symbolic/expr/operators.h"

namespace touchstone::fuzz {
namespace {

using symbolic::Expr;
using symbolic::ExprOp;
using symbolic::Exprs;
using Variable = ExpressionCase::Variable;

// A question about a part: that its bounds are attained, that it has no division, or that its
// values are all those within its bounds.
enum class Asked { Attained, Plain, Whole };

bool read_once(const ExpressionCase& c, Expr e, Asked asked, std::vector<bool>& seen) {
  const Exprs& x = c.exprs;
  const auto arg = [&](std::size_t i) { return x.arg(e, i); };
  const auto all = [&](Asked of_each) {
    return std::ranges::all_of(x.args(e), [&](Expr a) { return read_once(c, a, of_each, seen); });
  };
  const auto divisor = [&](int least) {
    return x.is_constant(arg(1)) && !x.value(arg(1)).is_zero() && x.value(arg(1)).sign() >= least;
  };
  if (x.is_constant(e)) return true;
  switch (x.op(e)) {
    case ExprOp::Variable: {
      const auto found = std::ranges::find(c.variables, x.name(e), &Variable::name);
      const auto place = static_cast<std::size_t>(found - c.variables.begin());
      const Variable& v = *found;
      if (!v.low || !v.high || seen[place]) return false;
      seen[place] = true;
      return true;
    }
    case ExprOp::Add:
    case ExprOp::Sub: return all(asked);
    case ExprOp::Neg: return read_once(c, arg(0), asked, seen);
    case ExprOp::Mul:
      return asked != Asked::Whole && (x.is_constant(arg(0)) || x.is_constant(arg(1))) &&
             all(Asked::Plain);
    case ExprOp::Div:
      return asked == Asked::Attained && divisor(1) && read_once(c, arg(0), Asked::Plain, seen);
    case ExprOp::Mod:
      return asked == Asked::Attained && divisor(-1) && read_once(c, arg(0), Asked::Whole, seen);
    case ExprOp::Min:
    case ExprOp::Max: return asked != Asked::Whole && all(asked);
    default: return false;
  }
}

}  // namespace

Expr swapped(Exprs& exprs, Expr root) {
  std::map<Expr, Expr> now;
  for (const Expr e : exprs.parts(root)) {
    std::vector<Expr> args;
    for (const Expr a : exprs.args(e)) args.push_back(now.at(a));
    const ExprOp op = exprs.op(e);
    if (info(op).commutes) std::ranges::reverse(args);
    now[e] = args.empty() ? e : exprs.apply(op, args);
  }
  return now.at(root);
}

bool has_one_form(const Exprs& exprs, Expr root) {
  constexpr std::size_t kMostMembers = 8;  // including nested ones
  std::map<Expr, std::size_t> members;
  for (const Expr e : exprs.parts(root)) {
    const bool extreme = exprs.op(e) == ExprOp::Min || exprs.op(e) == ExprOp::Max;
    std::size_t count = extreme ? 0 : 1;
    for (const Expr a : exprs.args(e))
      count = extreme ? count + members.at(a) : std::max(count, members.at(a));
    if (count > kMostMembers) return false;
    members[e] = count;
  }
  return true;
}

bool attains_bounds(const ExpressionCase& c) {
  std::vector<bool> seen(c.variables.size(), false);
  return read_once(c, c.root, Asked::Attained, seen);
}

}  // namespace touchstone::fuzz
