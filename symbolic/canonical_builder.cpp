#include "touchstone/symbolic/canonical_builder.h"

#include <algorithm>

namespace touchstone::symbolic {

template <class Build>
Id CanonicalBuilder::remembered(ExprOp op, std::span<const Id> args, const Build& build) {
  if (s_.traced()) return build();  // the trace is of the steps
  if (const auto known = c_.recall(op, args)) return *known;
  const Id result = build();
  c_.remember(op, args, result);
  return result;
}

ExpressionBuilder::Value CanonicalBuilder::chain(std::span<const ExprOp> ops,
                                                 std::span<const Value> values) {
  const bool alike = std::ranges::all_of(ops, [&](ExprOp op) { return op == ops[0]; });
  if (!alike || (ops[0] == ExprOp::Sub && ops.size() > 1)) return built_chain(ops, values);
  return remembered(ops[0], values, [&] { return built_chain(ops, values); });
}

Id CanonicalBuilder::built_chain(std::span<const ExprOp> ops, std::span<const Id> values) {
  if (ops[0] == ExprOp::And) return s_.both(values);
  if (ops[0] == ExprOp::Or) return s_.either(values);
  Terms terms{{1, values[0]}};  // one sort for the sum instead of one a term
  for (std::size_t i = 0; i < ops.size(); ++i)
    terms.push_back({ops[i] == ExprOp::Sub ? -1 : 1, values[i + 1]});
  return s_.add_all(terms);
}

ExpressionBuilder::Value CanonicalBuilder::apply(ExprOp op, std::span<const Value> args) {
  return remembered(op, args, [&] { return built(op, args); });
}

Id CanonicalBuilder::built(ExprOp op, std::span<const Id> args) {
  const auto part = [&](std::size_t i) { return s_.linear(args[i]); };
  switch (op) {
    case ExprOp::Neg:
      return s_.build(-part(0));
    case ExprOp::Not:
      return s_.negate(s_.truth(args[0]));
    case ExprOp::Mul:
      return s_.product(args[0], args[1]);
    case ExprOp::Div:
      return s_.build(s_.divide(part(0), part(1)));
    case ExprOp::Mod:
      return s_.build(s_.modulo(part(0), part(1)));
    case ExprOp::TruncDiv:
    case ExprOp::TruncMod:
      return truncated(args[0], args[1], op == ExprOp::TruncMod);
    case ExprOp::Where:
      return s_.build(s_.where(s_.truth(args[0]), part(1), part(2)));
    case ExprOp::Min:
    case ExprOp::Max: {
      const bool max = op == ExprOp::Max;
      List<Linear> members;
      for (const Id id : args) members.push_back(max ? s_.linear(id) : -s_.linear(id));
      const Linear most = s_.maximum(members);
      return s_.build(max ? most : -most);
    }
    default:
      return compare(op, args[0], args[1]);
  }
}

Id CanonicalBuilder::compare(ExprOp op, Id a, Id b) {
  if (op == ExprOp::Gt || op == ExprOp::Ge) std::swap(a, b);
  Linear gap = s_.linear(a);
  s_.add(gap, b, -1);
  if (op == ExprOp::Eq) return s_.zero(std::move(gap));
  if (op == ExprOp::Ne) return s_.negate(s_.zero(std::move(gap)));
  if (op == ExprOp::Le || op == ExprOp::Ge) gap.constant -= 1;
  return s_.negative(std::move(gap));
}

Id CanonicalBuilder::truncated(Id a, Id b, bool remainder) {
  const auto sign_of = [&](const Linear& s, const Linear& minus, const Linear& plus) {
    return s_.where(s_.negative(s), minus, plus);
  };
  const Linear x = s_.linear(a), y = s_.linear(b);
  const auto over = [&](const Linear& d) { return sign_of(x, -s_.divide(-x, d), s_.divide(x, d)); };
  const Linear q = sign_of(y, -over(-y), over(y));
  if (!remainder) return s_.build(q);
  Linear r = x;
  s_.add(r, s_.multiply(y, q), -1);
  return s_.build(r);
}

}  // namespace touchstone::symbolic
