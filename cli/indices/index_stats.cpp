#include "touchstone/cli/indices/index_stats.h"

#include <fmt/format.h>

#include "touchstone/cli/program/terminal.h"
#include "touchstone/device/config.h"
#include "touchstone/shapetracker/index/index_expr.h"
#include "touchstone/shapetracker/index/shortest_index.h"
#include "touchstone/shapetracker/merge/simplify.h"

namespace touchstone::cli {
namespace {

using shapetracker::cost;
using shapetracker::IndexCost;

struct Stats {
  std::size_t kernels = 0, accesses = 0, views = 0;
  IndexCost cost;
};

// A node's tracker, if it has one. A constant has no address, only a condition.
const ShapeTracker* tracker_of(const LazyOp& node) {
  if (node.op() == Op::Const) return &node.constant().st;
  return node.op() == Op::Load || node.op() == Op::Store ? &node.buffer().st : nullptr;
}

IndexCost plain_cost(const ShapeTracker& st, bool has_address) {
  shapetracker::PlainIndex plain = shapetracker::plain_index(st.views());
  if (!has_address) plain.index = plain.exprs.constant(0);
  return cost(plain);
}

IndexCost simplified_cost(const ShapeTracker& st, bool has_address) {
  IndexExpr expr = shapetracker::shortest_idxs(st, axis_indices(st));
  if (!has_address) expr.index = symbolic::Node(0);
  return cost(expr);
}

enum class Views { AsTheyAre, Merged };

Stats stats_of(const std::vector<LazyOpPtr>& kernels, Views views,
               IndexCost (*cost_of)(const ShapeTracker& st, bool has_address)) {
  Stats stats;
  stats.kernels = kernels.size();
  for (const LazyOpPtr& kernel : kernels)
    for (const LazyOpPtr& node : toposort(kernel)) {
      const ShapeTracker* st = tracker_of(*node);
      if (st == nullptr) continue;
      const ShapeTracker counted = views == Views::Merged ? simplify(*st) : *st;
      ++stats.accesses;
      stats.views += counted.views().size();
      stats.cost += cost_of(counted, node->op() != Op::Const);
    }
  return stats;
}

void add_row(Table& table, const std::string& what, const Stats& stats) {
  std::vector<std::string> row{what};
  for (const std::size_t n : {stats.kernels, stats.accesses, stats.views})
    row.push_back(fmt::format("{}", n));
  for (const std::int64_t n : {stats.cost.divisions, stats.cost.modulos, stats.cost.steps})
    row.push_back(fmt::format("{}", n));
  table.add(std::move(row));
}

}  // namespace

void print_index_stats(const std::function<std::vector<LazyOpPtr>()>& kernels, bool as_json) {
  std::vector<LazyOpPtr> composed;
  {
    const ConfigScope unmerged(Config(Config::current()).set(Switch::MergeViews, false));
    composed = kernels();
  }
  const std::vector<LazyOpPtr> merged = kernels();
  Table table({"", "kernels", "accesses", "views", "div", "mod", "parts"},
              {false, true, true, true, true, true, true});
  const std::pair<const char*, Stats> rows[] = {
      {"as composed", stats_of(composed, Views::AsTheyAre, plain_cost)},
      {"views merged", stats_of(merged, Views::Merged, plain_cost)},
      {"and simplified", stats_of(merged, Views::Merged, simplified_cost)}};
  for (const auto& [what, stats] : rows) {
    if (as_json)
      fmt::print(
          "{{\"stage\":\"{}\",\"kernels\":{},\"accesses\":{},\"views\":{},\"div\":{},\"mod\":{},"
          "\"parts\":{}}}\n",
          what, stats.kernels, stats.accesses, stats.views, stats.cost.divisions,
          stats.cost.modulos, stats.cost.steps);
    else
      add_row(table, what, stats);
  }
  if (as_json) return;
  fmt::print("{}", table.fitted());
}

}  // namespace touchstone::cli
