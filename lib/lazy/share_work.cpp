// The fusion rule that keeps several kernels from repeating the same long work.
#include <algorithm>

#include "touchstone/lazy/fusion.h"

namespace touchstone::lazy {
namespace {

class SharedWork {
 public:
  explicit SharedWork(Graph& graph)
      : graph_(graph), region_(graph.nodes.size(), kNone), counted_(graph.nodes.size(), kNone) {
    for (auto it = graph.bottom_up.rbegin(); it != graph.bottom_up.rend(); ++it)
      region_[index(*it)] = region_of(*it);
  }

  /// True if `i` is not realized and is read from several regions, so that several kernels would
  /// compute it.
  bool is_shared(int i) const { return !node(i).realize && region_[index(i)] == i; }

  /// True if a kernel computes more than `most` nodes for `i`, counting `i`.
  bool takes_more_than(int most, int i) {
    queue_.assign(1, i);
    counted_[index(i)] = i;
    for (std::size_t at = 0; at < queue_.size(); ++at) {
      if (static_cast<int>(queue_.size()) > most) return true;
      for (const int below : node(queue_[at]).srcs)
        if (below >= 0 && !node(below).realize && counted_[index(below)] != i) {
          counted_[index(below)] = i;
          queue_.push_back(below);
        }
    }
    return false;
  }

 private:
  static constexpr int kNone = -1;
  static std::size_t index(int i) { return static_cast<std::size_t>(i); }
  const Graph::Node& node(int i) const { return graph_.nodes[index(i)]; }

  // A region is the set of nodes used only to compute one node, its name, which is realized or read
  // from several regions. Here a node comes after all its users.
  int region_of(int i) const {
    if (node(i).realize) return i;
    int only = kNone;
    for (const int user : node(i).users) {
      const int region = region_[index(user)];
      if (only != kNone && only != region) return i;
      only = region;
    }
    return only;
  }

  const Graph& graph_;
  std::vector<int> region_, counted_;
  std::vector<int> queue_;
};

}  // namespace

void realize_what_is_long_and_shared(Graph& graph) {
  SharedWork work(graph);
  for (const int i : graph.bottom_up)
    if (work.is_shared(i) && work.takes_more_than(kMostShared, i))
      graph.nodes[static_cast<std::size_t>(i)].realize = true;
}

}  // namespace touchstone::lazy
