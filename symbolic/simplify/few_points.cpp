// Decides flags with few points by evaluation, if bounds and rules do not.
#include "touchstone/symbolic/node/compiled_node.h"
#include "touchstone/symbolic/number/limits.h"
#include "touchstone/symbolic/simplify/simplifier.h"

namespace touchstone::symbolic {

std::optional<Id> Simplifier::by_points(NodeKind kind, Id sum) {
  const auto holds = at_all_points(kind, sum);
  if (!holds) return std::nullopt;
  if (kind == NodeKind::Zero && *holds)
    fixed(sum, 0);
  else
    law(kind == NodeKind::Zero ? "eq.false" : *holds ? "lt.true" : "lt.false", "x", sum);
  return c_.make_constant(*holds ? 1 : 0);
}

Id Simplifier::new_flag(NodeKind kind, Id sum) {
  const Id args[] = {sum};
  if (!c_.has(kind, args))  // else evaluated when created
    if (const auto known = by_points(kind, sum)) return *known;
  return c_.make(kind, args, Interval{Int(0), Int(1)});
}

std::optional<bool> Simplifier::at_all_points(NodeKind kind, Id sum) const {
  const auto values = [&](Id variable) -> std::int64_t {  // number of values; 0: too many
    const Interval& range = c_.bounds(variable);
    if (!range.lo || !range.hi) return 0;
    const auto more = (*range.hi - *range.lo).small();
    return more && *more < kLimits.flag_points ? *more + 1 : 0;
  };
  bool plain = true;
  for (const Term& t : linear(sum).terms) {  // a cheap check before listing all parts
    if (c_.kind(t.atom) != NodeKind::Variable)
      plain = false;
    else if (values(t.atom) == 0)
      return std::nullopt;
  }
  if (kind == NodeKind::Negative && plain) return std::nullopt;
  std::int64_t points = 1;
  bool found = false;
  for (const Id id : reachable(c_, sum, kLimits.pointed_nodes)) {
    if (c_.kind(id) != NodeKind::Variable) continue;
    points *= values(id);
    if (points == 0 || points > kLimits.flag_points) return std::nullopt;
    found = true;
  }
  if (!found) return std::nullopt;
  CompiledNode program(c_, sum);
  const std::span<const Id> variables = program.variables();
  List<Int> point;
  for (const Id id : variables) point.push_back(*c_.bounds(id).lo);
  std::optional<bool> all;
  for (std::size_t i = 0; i < variables.size();) {
    if (const auto value = program.run(point)) {
      const bool holds = kind == NodeKind::Zero ? value->is_zero() : value->sign() < 0;
      if (all && *all != holds) return std::nullopt;
      all = holds;
    }
    for (i = 0; i < variables.size(); ++i) {
      const Interval& range = c_.bounds(variables[i]);
      if (point[i] < *range.hi) {
        point[i] += 1;
        break;
      }
      point[i] = *range.lo;
    }
  }
  return all;
}

}  // namespace touchstone::symbolic
