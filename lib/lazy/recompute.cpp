// The fusion rule that recomputes cheap work instead of storing it.
#include <algorithm>

#include "touchstone/lazy/fusion.h"

namespace touchstone::lazy {
namespace {

class Recomputing {
 public:
  explicit Recomputing(const Graph& graph) : graph_(graph) {}

  bool is_worthwhile(int root) const {
    const Graph::Node& n = node(root);
    if (!n.for_expand || n.reduce >= 0 || !is_elementwise(n.buffer->op())) return false;
    const LazyBuffer* read = nullptr;
    std::vector<int> region{root};
    for (std::size_t i = 0; i < region.size(); ++i) {
      const Graph::Node& at = node(region[i]);
      const Op op = at.buffer->op();
      if (static_cast<int>(region.size()) > kMostRecomputed || !info(op).cheap) return false;
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
};

}  // namespace

void recompute_before_expand(Graph& graph) {
  if (!graph.config.on(Switch::RecomputeBeforeExpand)) return;
  const Recomputing recomputing(graph);
  for (const int i : graph.bottom_up)
    if (recomputing.is_worthwhile(i)) graph.nodes[static_cast<std::size_t>(i)].realize = false;
}

}  // namespace touchstone::lazy
