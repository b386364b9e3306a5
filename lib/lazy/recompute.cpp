// The fusion rule that computes cheap work again instead of keeping it in memory.
#include <algorithm>

#include "touchstone/lazy/fusion.h"

namespace touchstone::lazy {
namespace {

class Recomputing {
 public:
  explicit Recomputing(Graph& graph) : graph_(graph), masked_(graph.nodes.size()) {
    for (auto it = graph.bottom_up.rbegin(); it != graph.bottom_up.rend(); ++it) {
      const Graph::Node& user = node(*it);
      const bool through = (!user.realize || user.for_expand) && masked_[index(*it)];
      for (std::size_t i = 0; i < user.srcs.size(); ++i)
        if (user.srcs[i] >= 0 && (through || user.buffer->srcs()[i]->st().masked()))
          masked_[index(user.srcs[i])] = true;
    }
  }

  bool is_worthwhile(int root) const {
    const Graph::Node& n = node(root);
    if (!n.for_expand || n.reduce >= 0 || !is_elementwise(n.buffer->op())) return false;
    const LazyBuffer* read = nullptr;
    std::vector<int> region{root};
    for (std::size_t i = 0; i < region.size(); ++i) {
      const Graph::Node& at = node(region[i]);
      const Op op = at.buffer->op();
      if (static_cast<int>(region.size()) > kMostRecomputed || !info(op).cheap) return false;
      if (masked_[index(root)] && !info(op).keeps_zero) return false;
      for (std::size_t s = 0; s < at.srcs.size(); ++s) {
        const LazyBuffer& source = at.buffer->srcs()[s]->base();
        const int below = at.srcs[s];
        if (below >= 0 && !node(below).realize) {
          if (std::ranges::find(region, below) == region.end()) region.push_back(below);
        } else if (!source.is_const_base()) {
          if (read != nullptr && read != &source) return false;
          read = &source;
        }
      }
    }
    return true;
  }

 private:
  static std::size_t index(int i) { return static_cast<std::size_t>(i); }
  const Graph::Node& node(int i) const { return graph_.nodes[index(i)]; }

  const Graph& graph_;
  std::vector<bool>
      masked_;  // a mask stands between the node and memory, were none kept for expands
};

}  // namespace

void recompute_before_expand(Graph& graph) {
  if (!graph.config.on(Switch::RecomputeBeforeExpand)) return;
  const Recomputing recomputing(graph);
  for (const int i : graph.bottom_up)
    if (recomputing.is_worthwhile(i)) graph.nodes[static_cast<std::size_t>(i)].realize = false;
}

}  // namespace touchstone::lazy
