// The fusion rule that limits the length of kernels.
#include <algorithm>
#include <utility>

#include "touchstone/lazy/fusion.h"

namespace touchstone::lazy {
namespace {

class LongWork {
 public:
  explicit LongWork(Graph& graph)
      : graph_(graph),
        bound_(graph.nodes.size(), 0),
        seen_(graph.nodes.size(), -1),
        home_of_(graph.nodes.size(), -1) {
    for (const int i : graph.bottom_up)
      if (node(i).reduce >= 0) home_of_[static_cast<std::size_t>(node(i).reduce)] = i;
  }

  void run() {
    for (const int i : graph_.bottom_up) {
      bound(i) = 1;
      for (const int s : node(i).srcs)
        if (computed_in_reader(s)) bound(i) = std::min(bound(i) + bound(s), kMostInKernel + 1);
      // Nodes shared by two sources were counted twice.
      while (bound(i) > kMostInKernel && (bound(i) = count(i)) > kMostInKernel) cut(i);
    }
  }

 private:
  Graph::Node& node(int i) { return graph_.nodes[static_cast<std::size_t>(i)]; }
  int& bound(int i) { return bound_[static_cast<std::size_t>(i)]; }
  bool computed_in_reader(int i) { return i >= 0 && !node(i).realize; }

  // Counts the nodes, including `i`, that a kernel computes for `i`; leaves them in together_.
  int count(int i) {
    together_.assign(1, i);
    ++round_;
    for (std::size_t at = 0; at < together_.size(); ++at)
      for (const int s : node(together_[at]).srcs)
        if (computed_in_reader(s) &&
            std::exchange(seen_[static_cast<std::size_t>(s)], round_) != round_)
          together_.push_back(s);
    return static_cast<int>(together_.size());
  }

  // Realizes a reduce if there is one, separating the work after it; else the node of together_
  // that needs the least memory, among equals the one with the most work. Skips nodes with little
  // work, which would give small kernels.
  void cut(int i) {
    const auto key = [&](int n) {
      const LazyBuffer& b = *node(n).buffer;
      const std::int64_t elements = max_elements(b.shape());
      return std::make_pair(elements * static_cast<std::int64_t>(itemsize(b.dtype())), -bound(n));
    };
    const auto reduce = std::ranges::find_if(
        together_, [&](int n) { return n != i && is_reduce(node(n).buffer->op()); });
    if (reduce != together_.end()) return realize_reduce(*reduce);
    int best = -1;
    for (const int n : together_)
      if (n != i && bound(n) > kMostInKernel / 4 && (best == -1 || key(n) < key(best))) best = n;
    node(best == -1 ? together_.back() : best).realize = true;
  }

  void realize_reduce(int n) {
    if (const int home = home_of_[static_cast<std::size_t>(n)]; home >= 0) {
      node(home).reduce = -1;
      node(home).loop.clear();
    }
    node(n).realize = true;
    node(n).reduce = n;
  }

  Graph& graph_;
  std::vector<int> bound_;  // upper bound of count()
  std::vector<int> seen_;
  std::vector<int> home_of_;  // of reduces: the node whose kernel contains it
  std::vector<int> together_;
  int round_ = 0;
};

}  // namespace

void realize_what_is_too_long(Graph& graph) { LongWork(graph).run(); }

}  // namespace touchstone::lazy
