// The fusion rule for reduces: which elementwise work shares the kernel of the reduce before it.
#include <algorithm>
#include <optional>
#include <unordered_map>

#include "touchstone/kernelize/view_pool.h"
#include "touchstone/lazy/fusion.h"

namespace touchstone::lazy {
namespace {

class ReducePairing {
 public:
  explicit ReducePairing(Graph& graph) : graph_(graph), taken_(graph.nodes.size(), -1) {}

  void pair(int reduce) {
    Graph::Node& r = graph_.nodes[static_cast<std::size_t>(reduce)];
    const Config& config = graph_.config;
    if (!config.on(Switch::MergeOneReduceIntoElementwise)) r.realize = true;
    if (r.realize) {
      r.reduce = reduce;
      return;
    }
    const Walk walk = follow(reduce);
    const bool chases = walk.may_chase && config.on(Switch::MergeChainBehindReduce);
    const int home = walk.fits ? walk.home : chases ? chase(reduce) : reduce;
    Graph::Node& target = graph_.nodes[static_cast<std::size_t>(home)];
    target.realize = true;
    target.reduce = reduce;
    if (walk.fits) target.loop = walk.loop;
    if (walk.fits)
      for (const int i : walk.met) taken_[static_cast<std::size_t>(i)] = reduce;
    taken_[static_cast<std::size_t>(home)] = reduce;
  }

 private:
  struct Walk {
    bool fits = false;
    bool may_chase = true;
    int home = -1;
    Shape loop;  // as in Graph::Node::loop
    std::vector<int> met;
  };

  // The only view through which `user` reads `source`; nullopt if there are several.
  std::optional<ShapeTracker> only_view(int user, int source) const {
    const Graph::Node& node = graph_.nodes[static_cast<std::size_t>(user)];
    const ShapeTracker* found = nullptr;
    for (std::size_t i = 0; i < node.srcs.size(); ++i) {
      if (node.srcs[i] != source) continue;
      const ShapeTracker& st = node.buffer->srcs()[i]->st();
      if (found != nullptr && *found != st) return std::nullopt;
      found = &st;
    }
    return found == nullptr ? std::optional<ShapeTracker>() : *found;
  }

  // Follows all paths from `reduce` through unrealized nodes: do they end in one realized node that
  // can compute the reduce? Stops at the first obstacle.
  Walk follow(int reduce) {
    const ShapeTracker* const whole = views_.intern(
        ShapeTracker::contiguous(graph_.nodes[static_cast<std::size_t>(reduce)].buffer->shape()));
    std::unordered_map<int, const ShapeTracker*> seen{{reduce, whole}};
    Walk walk;
    walk.met = {reduce};
    for (std::size_t i = 0; i < walk.met.size(); ++i) {
      const int at = walk.met[i];
      const Graph::Node& node = graph_.nodes[static_cast<std::size_t>(at)];
      const ShapeTracker* const st = seen.at(at);
      if (const int other = taken_[static_cast<std::size_t>(at)]; other >= 0) {
        walk.may_chase = false;  // its kernel already has a reduce
        return walk;
      }
      if (node.realize) {
        if (walk.home >= 0 && walk.home != at) return walk;
        if (!st->is_contiguous() || st->size() != whole->size()) {
          const auto loop = pushed(reduce, *st);
          if (!loop) return walk;
          walk.loop = *loop;
        }
        walk.home = at;
        continue;
      }
      for (const int user : node.users) {
        if (is_reduce(graph_.nodes[static_cast<std::size_t>(user)].buffer->op())) return walk;
        const auto view = only_view(user, at);
        if (!view) return walk;
        const ShapeTracker* const there = views_.through(*st, views_.intern(*view), false);
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

  // The loop nest in which `reduce` produces its results in the order that `st` reads them: the
  // axes of st, and one of size 1 per reduced axis.
  std::optional<Shape> pushed(int reduce, const ShapeTracker& st) const {
    const Config& config = graph_.config;
    if (!config.on(Switch::PushPermutes) && !config.on(Switch::PushReshapes)) return std::nullopt;
    const LazyBuffer& buffer = *graph_.nodes[static_cast<std::size_t>(reduce)].buffer;
    const auto how = reordering(st);
    if (!how) return std::nullopt;
    Shape kept = buffer.shape();
    if (elements(how->digits) != buffer.st().size()) return std::nullopt;
    std::erase(kept, sint(1));
    const bool permuted = how->digits == kept;
    if (!config.on(permuted ? Switch::PushPermutes : Switch::PushReshapes)) return std::nullopt;
    Shape loop = st.shape();
    loop.insert(loop.end(), std::get<ReduceArg>(buffer.arg()).axes.size(), sint(1));
    return loop;
  }

  // The last node of the contiguous elementwise chain of equal size after `reduce`; the reduce
  // itself if there is none.
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
          !is_pointwise(next.buffer->op()) || taken_[static_cast<std::size_t>(user)] >= 0)
        return at;
      taken_[static_cast<std::size_t>(at)] = reduce;
      at = user;
    }
  }

  Graph& graph_;
  kernelize::ViewPool views_;
  std::vector<int> taken_;  // the reduce in this node's kernel, -1 for none
};

}  // namespace

std::optional<Reordering> reordering(const ShapeTracker& tracker) {
  const ShapeTracker st = simplify(tracker);  // several views if MERGE_VIEWS is off
  if (st.views().size() != 1) return std::nullopt;
  const View& view = st.views()[0];
  if (view.mask() || view.offset() != sint(0) || !view.is_concrete()) return std::nullopt;
  std::vector<int> axes;  // by decreasing stride
  for (int i = 0; i < view.rank(); ++i)
    if (view.shape()[static_cast<std::size_t>(i)] != sint(1)) axes.push_back(i);
  std::vector<int> sorted = axes;
  std::ranges::stable_sort(sorted, [&](int a, int b) {
    return view.strides()[static_cast<std::size_t>(a)].as_int() >
           view.strides()[static_cast<std::size_t>(b)].as_int();
  });
  std::int64_t below = 1;
  for (auto it = sorted.rbegin(); it != sorted.rend(); ++it) {
    if (view.strides()[static_cast<std::size_t>(*it)] != sint(below)) return std::nullopt;
    below *= view.shape()[static_cast<std::size_t>(*it)].as_int();
  }
  Reordering made;
  for (const int axis : sorted) made.digits.push_back(view.shape()[static_cast<std::size_t>(axis)]);
  for (const int axis : axes)
    made.order.push_back(static_cast<int>(std::ranges::find(sorted, axis) - sorted.begin()));
  return made;
}

void pair_reduces(Graph& graph) {
  ReducePairing pairing(graph);
  for (std::size_t i = 0; i < graph.nodes.size(); ++i)
    if (is_reduce(graph.nodes[i].buffer->op())) pairing.pair(static_cast<int>(i));
}

}  // namespace touchstone::lazy
