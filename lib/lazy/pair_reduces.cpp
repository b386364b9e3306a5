// The fusion rule for reduces: which elementwise work shares a kernel with the reduce before it.
#include <algorithm>
#include <optional>
#include <unordered_map>

#include "touchstone/lazy/fusion.h"

namespace touchstone::lazy {
namespace {

// `outer` on top of `inner`, without work in the common cases.
ShapeTracker seen_through(const ShapeTracker& inner, const ShapeTracker& outer) {
  if (inner.is_contiguous()) return outer;
  if (outer.is_contiguous() && outer.shape() == inner.shape()) return inner;
  return inner + outer;
}

class ReducePairing {
 public:
  explicit ReducePairing(Graph& graph) : graph_(graph), taken_(graph.nodes.size(), -1) {}

  void pair(int reduce) {
    Graph::Node& r = graph_.nodes[static_cast<std::size_t>(reduce)];
    if (r.realize) {
      r.reduce = reduce;
      return;
    }
    const Walk walk = follow(reduce);
    const int home = walk.fits ? walk.home : walk.may_chase ? chase(reduce) : reduce;
    Graph::Node& target = graph_.nodes[static_cast<std::size_t>(home)];
    target.realize = true;
    target.reduce = reduce;
    if (walk.fits)
      for (const int i : walk.met) taken_[static_cast<std::size_t>(i)] = reduce;
    taken_[static_cast<std::size_t>(home)] = reduce;
  }

 private:
  struct Walk {
    bool fits = false;
    bool may_chase = true;
    int home = -1;
    std::vector<int> met;
  };

  // The one view through which `user` sees `source`; nullopt where there are several.
  std::optional<ShapeTracker> only_view(int user, int source) const {
    const Graph::Node& node = graph_.nodes[static_cast<std::size_t>(user)];
    const ShapeTracker* found = nullptr;
    for (std::size_t i = 0; i < node.srcs.size(); ++i) {
      if (node.srcs[i] != source) continue;
      const ShapeTracker& st = node.buffer->srcs()[i]->st();
      if (found != nullptr && *found != st) return std::nullopt;
      found = &st;
    }
    return *found;
  }

  // All ways from `reduce` through nodes without memory: do they end in one realized node that can
  // compute the reduce? The walk ends at the first thing that speaks against it.
  Walk follow(int reduce) const {
    const ShapeTracker whole =
        ShapeTracker::contiguous(graph_.nodes[static_cast<std::size_t>(reduce)].buffer->shape());
    std::unordered_map<int, ShapeTracker> seen{{reduce, whole}};
    Walk walk;
    walk.met = {reduce};
    for (std::size_t i = 0; i < walk.met.size(); ++i) {
      const int at = walk.met[i];
      const Graph::Node& node = graph_.nodes[static_cast<std::size_t>(at)];
      const ShapeTracker st = seen.at(at);
      if (const int other = taken_[static_cast<std::size_t>(at)]; other >= 0) {
        walk.may_chase = false;  // its kernel has a reduce
        return walk;
      }
      if (node.realize) {
        if ((walk.home >= 0 && walk.home != at) || !st.is_contiguous() || st.size() != whole.size())
          return walk;
        walk.home = at;
        continue;
      }
      for (const int user : node.users) {
        if (is_reduce(graph_.nodes[static_cast<std::size_t>(user)].buffer->op())) return walk;
        const auto view = only_view(user, at);
        if (!view) return walk;
        const ShapeTracker there = seen_through(st, *view);
        const auto [it, fresh] = seen.emplace(user, there);
        if (fresh)
          walk.met.push_back(user);
        else if (it->second != there)
          return walk;
      }
    }
    walk.fits = walk.home >= 0;
    return walk;
  }

  // The last of the elementwise nodes that follow `reduce` one after the other, contiguous and of
  // its size; the reduce itself where there is none.
  int chase(int reduce) {
    int at = reduce;
    const sint size = graph_.nodes[static_cast<std::size_t>(reduce)].buffer->st().size();
    for (;;) {
      const Graph::Node& node = graph_.nodes[static_cast<std::size_t>(at)];
      if (node.realize || node.users.size() != 1) return at;
      const int user = node.users[0];
      const Graph::Node& next = graph_.nodes[static_cast<std::size_t>(user)];
      const auto view = only_view(user, at);
      if (!view || !view->is_contiguous() || view->size() != size ||
          !is_elementwise(next.buffer->op()) || taken_[static_cast<std::size_t>(user)] >= 0)
        return at;
      taken_[static_cast<std::size_t>(at)] = reduce;
      at = user;
    }
  }

  Graph& graph_;
  std::vector<int> taken_;  // the reduce whose kernel computes this node, -1 for none
};

}  // namespace

void pair_reduces(Graph& graph) {
  ReducePairing pairing(graph);
  for (std::size_t i = 0; i < graph.nodes.size(); ++i)
    if (is_reduce(graph.nodes[i].buffer->op())) pairing.pair(static_cast<int>(i));
}

}  // namespace touchstone::lazy
