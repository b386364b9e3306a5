// The fusion rule that limits the length of kernels.
#include "touchstone/kernelize/long_kernels.h"
#include "touchstone/lazy/fusion.h"

namespace touchstone::lazy {
namespace {

class Cutting {
 public:
  explicit Cutting(Graph& graph) : graph_(graph), home_of_(graph.nodes.size(), -1) {
    for (const int i : graph.bottom_up)
      if (node(i).reduce >= 0) home_of_[static_cast<std::size_t>(node(i).reduce)] = i;
  }

  const std::vector<int>& sources(int i) const { return node(i).srcs; }
  static bool is_op(int) { return true; }
  bool in_reader(int i) const { return i >= 0 && !node(i).realize; }
  std::int64_t bytes(int i) const {
    const LazyBuffer& b = *node(i).buffer;
    return max_elements(b.shape()) * static_cast<std::int64_t>(itemsize(b.dtype()));
  }
  // A reduce is separated from the work after it.
  bool goes_first(int i) const { return is_reduce(node(i).buffer->op()); }

  void store(int i) {
    node(i).realize = true;
    if (!goes_first(i)) return;
    if (const int home = home_of_[static_cast<std::size_t>(i)]; home >= 0) {
      node(home).reduce = -1;
      node(home).loop.clear();
    }
    node(i).reduce = i;
  }

 private:
  Graph::Node& node(int i) const { return graph_.nodes[static_cast<std::size_t>(i)]; }

  Graph& graph_;
  std::vector<int> home_of_;  // of reduces: the node whose kernel contains it
};

}  // namespace

void realize_what_is_too_long(Graph& graph) {
  Cutting cutting(graph);
  kernelize::LongKernels(cutting, graph.nodes.size()).split(graph.bottom_up);
}

}  // namespace touchstone::lazy
