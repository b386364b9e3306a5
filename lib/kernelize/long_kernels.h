#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "touchstone/kernelize/limits.h"

namespace touchstone::kernelize {

/// Splits the kernels of a graph that have more than kMostInKernel ops: stores an op that
/// goes_first() if there is one, else the op that needs the least memory, among equals the one with
/// the most work. Skips ops with little work, which would give small kernels. Nodes are numbers;
/// the graph says of each:
///   sources(i): the nodes that it reads      is_op(i): it counts as an op
///   in_reader(i): its readers' kernels compute it; false for numbers that are no nodes
///   bytes(i): of its memory if it is stored  goes_first(i)
///   store(i): from now on it is not in_reader()
template <class Graph>
class LongKernels {
 public:
  LongKernels(Graph& graph, std::size_t nodes) : graph_(graph), bounds_(nodes), seen_(nodes) {}

  void split(std::span<const int> sources_first) {
    for (const int i : sources_first) {
      int all = sum(i);
      while (all > kMostInKernel) {
        find_together(i);  // ops shared by two sources were counted twice
        all = static_cast<int>(together_.size());
        if (all > kMostInKernel) all = cut(i) ? sum(i) : kMostInKernel;
      }
      bounds_[static_cast<std::size_t>(i)] = all;
    }
  }

 private:
  int bound(int i) const { return graph_.in_reader(i) ? bounds_[static_cast<std::size_t>(i)] : 0; }

  int sum(int i) const {
    int ops = graph_.is_op(i) ? 1 : 0;
    for (const int s : graph_.sources(i)) ops = std::min(ops + bound(s), kMostInKernel + 1);
    return ops;
  }

  // The ops, including node i, that one kernel computes for it.
  void find_together(int i) {
    together_.clear();
    ++round_;
    std::vector<int> open{i};
    while (!open.empty()) {
      const int at = open.back();
      open.pop_back();
      if ((at != i && !graph_.in_reader(at)) ||
          std::exchange(seen_[static_cast<std::size_t>(at)], round_) == round_)
        continue;
      if (graph_.is_op(at)) together_.push_back(at);
      for (const int s : graph_.sources(at)) open.push_back(s);
    }
  }

  bool cut(int i) {
    const auto key = [&](int n) {
      return std::make_pair(graph_.goes_first(n) ? -1 : graph_.bytes(n), -bound(n));
    };
    int best = i;
    for (const int n : together_)
      if (n != i && (graph_.goes_first(n) || bound(n) > kMostInKernel / 4) &&
          (best == i || key(n) < key(best)))
        best = n;
    if (best == i) best = together_.back();
    if (best == i) return false;
    graph_.store(best);
    return true;
  }

  Graph& graph_;
  std::vector<int> bounds_;  // upper bounds of the ops that a kernel computes for a node
  std::vector<int> seen_;    // the last round that met a node
  std::vector<int> together_;
  int round_ = 0;
};

}  // namespace touchstone::kernelize
