#include "touchstone/shapetracker/index/shortest_index.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace touchstone::shapetracker {
namespace {

// Limits of the search for cheaper index expressions. Past a limit an expression is unchanged.
struct IndexLimits {
  static constexpr std::int64_t kValues = 1024;  // of an index that a condition is tested with
  static constexpr std::int64_t kModulus = 64;   // of a residue that replaces a condition
  static constexpr std::size_t kParts = 20'000;  // of a rendered expression
};

using symbolic::Node;

IndexCost cost_of(const Node& node) { return cost(IndexExpr{Node(0), node}); }

/// The values of a variable where some conditions hold.
struct Table {
  Node variable;
  std::int64_t low;
  std::vector<bool> holds;

  std::int64_t size() const { return std::ssize(holds); }
  bool at(std::int64_t i) const { return holds[static_cast<std::size_t>(i)]; }
};

// nullopt if there are too many values.
std::optional<Table> table_of(const Node& variable, const Node& condition) {
  const auto low = variable.min(), high = variable.max();
  if (!low || !high || *high - *low >= IndexLimits::kValues) return std::nullopt;
  Table table{variable, *low, {}};
  const std::string& name = symbolic::variable_name(variable);
  for (std::int64_t value = *low; value <= *high; ++value)
    table.holds.push_back(symbolic::evaluate(condition, {{name, value}}) != 0);
  return table;
}

// low <= value < high for an expression within [least, most].
Node within(const Node& value, std::int64_t low, std::int64_t high, std::int64_t least,
            std::int64_t most) {
  if (high == low + 1) return symbolic::eq(value, low);
  std::vector<Node> ends;
  if (low > least) ends.push_back(symbolic::ge(value, low));
  if (high <= most) ends.push_back(symbolic::lt(value, high));
  return symbolic::ands(ends);
}

// The only run of true values as [first, last + 1); nullopt if there is none or more than one.
std::optional<std::pair<std::int64_t, std::int64_t>> only_run(const std::vector<bool>& holds) {
  const auto first = std::ranges::find(holds, true);
  const auto last = std::find(first, holds.end(), false);
  if (first == holds.end() || std::find(last, holds.end(), true) != holds.end())
    return std::nullopt;
  return std::pair(first - holds.begin(), last - holds.begin());
}

// The values as a range of the variable and a range of its residues, or all residues but one;
// nullopt if they do not have that form with this modulus.
std::optional<Node> as_residues(const Table& table, std::int64_t modulus) {
  const auto first = std::ranges::find(table.holds, true) - table.holds.begin();
  auto last = table.size() - 1;
  while (!table.at(last)) --last;
  enum class Seen : std::uint8_t { Never, True, False };
  std::vector<Seen> seen(static_cast<std::size_t>(modulus), Seen::Never);
  for (std::int64_t i = first; i <= last; ++i) {
    Seen& here = seen[static_cast<std::size_t>(floor_mod(table.low + i, modulus))];
    const Seen wanted = table.at(i) ? Seen::True : Seen::False;
    if (here != Seen::Never && here != wanted) return std::nullopt;
    here = wanted;
  }
  std::vector<bool> residues;
  for (const Seen s : seen) residues.push_back(s == Seen::True);
  const Node residue = symbolic::floor_mod(table.variable, modulus);
  const std::int64_t high = table.low + table.size() - 1;
  // The range need not exclude values that the residues exclude.
  const auto from = [&](std::int64_t i) {
    return residues[static_cast<std::size_t>(floor_mod(table.low + i, modulus))];
  };
  std::int64_t begin = 0, end = table.size() - 1;
  while (begin < first && !from(begin)) ++begin;
  while (end > last && !from(end)) --end;
  const Node range =
      within(table.variable, begin < first ? table.low + first : table.low,
             table.low + (end > last ? last : table.size() - 1) + 1, table.low, high);
  std::optional<Node> class_of;
  if (const auto run = only_run(residues)) {
    class_of = within(residue, run->first, run->second, 0, modulus - 1);
  } else {
    std::vector<bool> others;
    for (const bool r : residues) others.push_back(!r);
    if (const auto gap = only_run(others); gap && gap->second == gap->first + 1)
      class_of = symbolic::ne(residue, gap->first);
  }
  if (!class_of) return std::nullopt;
  return symbolic::logical_and(range, *class_of);
}

// The cheapest form found for conditions on one variable.
Node shorter(const Node& variable, const Node& condition) {
  const IndexCost before = cost_of(condition);
  if (before.modulos + before.divisions == 0) return condition;
  const std::optional<Table> table = table_of(variable, condition);
  if (!table) return condition;
  if (std::ranges::none_of(table->holds, [](bool b) { return b; })) return 0;
  Node best = condition;
  IndexCost least = before;
  const auto offer = [&](const Node& node) {
    // At equal cost, prefer the form that names the values.
    if (const IndexCost c = cost_of(node); !cheaper(least, c)) {
      best = node;
      least = c;
    }
  };
  if (const auto run = only_run(table->holds)) {
    offer(within(variable, table->low + run->first, table->low + run->second, table->low,
                 table->low + table->size() - 1));
    return best;
  }
  for (std::int64_t modulus = 2; modulus <= std::min(IndexLimits::kModulus, table->size());
       ++modulus)
    if (const std::optional<Node> node = as_residues(*table, modulus)) {
      offer(*node);
      break;
    }
  return best;
}

// The conditions, with those on one variable combined into the cheapest form found.
Node shorter_condition(const std::vector<Node>& conditions) {
  std::vector<Node> rest;
  std::map<std::string, std::pair<Node, std::vector<Node>>> alone;
  for (const Node& condition : conditions) {
    const std::vector<Node> variables = symbolic::variables(condition);
    if (variables.size() != 1) {
      rest.push_back(condition);
      continue;
    }
    auto& group = alone[symbolic::variable_name(variables[0])];
    group.first = variables[0];
    group.second.push_back(condition);
  }
  for (const auto& [name, group] : alone)
    rest.push_back(shorter(group.first, symbolic::ands(group.second)));
  return symbolic::ands(rest);
}

std::optional<PlainIndex> plain_of(const IndexExpr& expr, std::vector<std::string> indices) {
  // Separately: sizes saturate, and the sum of two could wrap to 0.
  if (symbolic::size(expr.index) > IndexLimits::kParts ||
      symbolic::size(expr.valid) > IndexLimits::kParts)
    return std::nullopt;
  PlainIndex plain;
  plain.indices = std::move(indices);
  plain.index = symbolic::parse_expr(plain.exprs, symbolic::render(expr.index));
  plain.valid = symbolic::parse_expr(plain.exprs, symbolic::render(expr.valid));
  return plain;
}

}  // namespace

bool cheaper(const IndexCost& a, const IndexCost& b) {
  const std::int64_t slow_a = a.divisions + a.modulos, slow_b = b.divisions + b.modulos;
  return slow_a != slow_b ? slow_a < slow_b : a.steps < b.steps;
}

IndexExpr shortest_idxs(const ShapeTracker& tracker, std::span<const Node> indices) {
  const auto [index, conditions] = index_conditions(tracker, indices);
  IndexExpr best{index, symbolic::ands(conditions)};
  if (best.valid.constant()) return best.valid.constant() == 0 ? IndexExpr{0, 0} : best;
  const auto offer = [&](const IndexExpr& expr) {
    if (cheaper(cost(expr), cost(best))) best = expr;
  };
  const IndexExpr shorter{index, shorter_condition(conditions)};
  if (!cheaper(cost(best), cost(shorter))) best = shorter;
  if (best.valid.constant() == 0) return {0, 0};
  const IndexCost of_index = cost(IndexExpr{index, Node(1)});
  if (of_index.divisions + of_index.modulos == 0) return best;
  const Node known[] = {best.valid};
  offer({symbolic::simplify_under(index, known), best.valid});
  offer({symbolic::simplify_under(index, conditions), best.valid});
  return best;
}

PlainIndex cheapest_index(const ShapeTracker& tracker, std::span<const View> composed) {
  const ShapeTracker whole = ShapeTracker::trusted({composed.begin(), composed.end()});
  const std::vector<Node> indices = axis_indices(whole);
  PlainIndex first = plain_index(composed),
             merged = plain_index(tracker.views(), index_prefix(whole));
  std::optional<PlainIndex> best = plain_of(shortest_idxs(tracker, indices), first.indices);
  for (PlainIndex* plain : {&merged, &first})
    if (!best || cheaper(cost(*plain), cost(*best))) best = std::move(*plain);
  return *std::move(best);
}

}  // namespace touchstone::shapetracker
