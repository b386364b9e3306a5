#include "touchstone/lazy/fusion.h"

#include <algorithm>
#include <array>
#include <unordered_map>
#include <utility>

namespace touchstone::lazy {
namespace {

bool needs_work(const LazyBuffer& base) { return !base.is_realized() && !base.is_const_base(); }

// These take their sources as buffers and are not kernels.
bool reads_memory(Op op) { return op == Op::From || op == Op::Custom; }

// Calls f(node of the source, its view) for the sources of `node` that are in the graph.
template <class F>
void for_each_source(const Graph::Node& node, F&& f) {
  for (std::size_t i = 0; i < node.srcs.size(); ++i)
    if (node.srcs[i] >= 0) f(node.srcs[i], node.buffer->srcs()[i]->st());
}

}  // namespace

Graph discover(std::span<const LazyBufferPtr> outputs, const Config& config) {
  Graph graph;
  graph.config = config;
  std::unordered_map<const LazyBuffer*, int> number;
  std::vector<int> path;
  const auto enter = [&](LazyBuffer& base) {
    if (!needs_work(base)) return -1;
    const auto [it, fresh] = number.emplace(&base, static_cast<int>(graph.nodes.size()));
    if (fresh) {
      graph.nodes.emplace_back().buffer = &base;
      path.push_back(it->second);
    }
    return it->second;
  };
  for (const LazyBufferPtr& output : outputs) {
    graph.outputs.push_back(enter(output->base()));
    while (!path.empty()) {
      const auto at = static_cast<std::size_t>(path.back());
      const std::size_t next = graph.nodes[at].srcs.size();
      const auto& srcs = graph.nodes[at].buffer->srcs();
      if (next == srcs.size()) {
        graph.bottom_up.push_back(path.back());
        path.pop_back();
        continue;
      }
      const int below = enter(srcs[next]->base());  // may reallocate graph.nodes
      graph.nodes[at].srcs.push_back(below);
    }
  }
  for (std::size_t user = 0; user < graph.nodes.size(); ++user)
    for (const int below : graph.nodes[user].srcs) {
      if (below < 0) continue;
      auto& users = graph.nodes[static_cast<std::size_t>(below)].users;
      if (users.empty() || users.back() != static_cast<int>(user))
        users.push_back(static_cast<int>(user));
    }
  return graph;
}

void realize_what_must(Graph& graph) {
  for (const int output : graph.outputs)
    if (output >= 0) graph.nodes[static_cast<std::size_t>(output)].realize = true;
  const bool push = graph.config.on(Switch::PushContiguous);
  std::vector<bool> asked(graph.nodes.size());
  for (const int i : graph.bottom_up) {
    Graph::Node& node = graph.nodes[static_cast<std::size_t>(i)];
    const Op op = node.buffer->op();
    const bool loads = group(op) == OpGroup::Load && op != Op::Contiguous;
    const bool must =
        node.buffer->must_realize() || op == Op::Contiguous || asked[static_cast<std::size_t>(i)];
    if (loads) node.realize = true;
    if (!must || node.realize) continue;
    if (push && node.users.size() == 1) {
      const int user = node.users[0];
      if (is_pointwise(graph.nodes[static_cast<std::size_t>(user)].buffer->op())) {
        asked[static_cast<std::size_t>(user)] = true;
        continue;
      }
    }
    node.realize = true;
  }
  for (const Graph::Node& node : graph.nodes) {
    const Op op = node.buffer->op();
    for (std::size_t i = op == Op::Gather ? kTable : 0; i < node.srcs.size(); ++i)
      if ((reads_memory(op) || op == Op::Gather) && node.srcs[i] >= 0)
        graph.nodes[static_cast<std::size_t>(node.srcs[i])].realize = true;
  }
}

void realize_what_is_not_merged(Graph& graph) {
  const Config& config = graph.config;
  const bool moves = config.on(Switch::ShuffleMovementOps);
  for (const Graph::Node& node : graph.nodes)
    for_each_source(node, [&](int below, const ShapeTracker& st) {
      Graph::Node& source = graph.nodes[static_cast<std::size_t>(below)];
      const bool reduces = is_reduce(node.buffer->op());
      if (is_pointwise(source.buffer->op()) &&
          !config.on(reduces ? Switch::MergeElementwiseIntoReduce : Switch::MergeElementwiseOps))
        source.realize = true;
      if (!moves && !st.is_contiguous()) source.realize = true;
    });
}

void realize_before_expand(Graph& graph) {
  for (const Graph::Node& node : graph.nodes)
    for_each_source(node, [&](int below, const ShapeTracker& st) {
      Graph::Node& source = graph.nodes[static_cast<std::size_t>(below)];
      if (!source.realize && !st.is_contiguous() &&
          kernelize::grows(max_elements(source.buffer->shape()), st))
        source.realize = source.for_expand = true;
    });
}

void realize_before_pad(Graph& graph) {
  if (graph.config.on(Switch::ShufflePadOps)) return;
  for (const Graph::Node& node : graph.nodes)
    for_each_source(node, [&](int below, const ShapeTracker& st) {
      if (st.masked()) graph.nodes[static_cast<std::size_t>(below)].realize = true;
    });
}

std::span<const FusionRule> fusion_rules() {
  static constexpr std::array<FusionRule, 8> kRules = {{
      {"realize outputs, loads and what must be contiguous", realize_what_must},
      {"realize what switches keep apart", realize_what_is_not_merged},
      {"realize before an expand", realize_before_expand},
      {"realize before a pad, where ops are not to be padded", realize_before_pad},
      {"pair each reduce with the elementwise work behind it", pair_reduces},
      {"recompute cheap work instead of expanding it", recompute_before_expand},
      {"realize long work that several kernels share", realize_what_is_long_and_shared},
      {"realize parts of what is too long for one kernel", realize_what_is_too_long},
  }};
  return kRules;
}

}  // namespace touchstone::lazy
