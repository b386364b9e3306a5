#include "touchstone/lazy/kernel_builder.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <utility>
#include <variant>

#include "touchstone/base/hash.h"
#include "touchstone/device/config.h"
#include "touchstone/kernelize/rules.h"
#include "touchstone/kernelize/view_pool.h"
#include "touchstone/lazy/gathers.h"
#include "touchstone/shapetracker/merge/simplify.h"

namespace touchstone::lazy {
namespace {

// A node that cannot be computed in this kernel.
struct Conflict {
  int node;
};

// One attempt at one kernel. Hash maps are only used for lookup, never iterated, so that addresses
// do not affect the result.
class KernelBuilder {
 public:
  KernelBuilder(const Graph& graph, int root) : graph_(graph), root_(root) {}

  std::variant<Kernel, Conflict> build() {
    const Graph::Node& root = node(root_);
    const int shaped_by = root.reduce >= 0 ? root.reduce : root_;
    const ShapeTracker* whole = intern(
        ShapeTracker::contiguous(root.loop.empty() ? node(shaped_by).buffer->shape() : root.loop));
    open(root_, whole);
    while (!frames_.empty() && conflict_ < 0) {
      Frame& frame = frames_.back();
      const LazyBuffer& buffer = *node(frame.node).buffer;
      if (frame.operands.size() == operands_of(buffer))
        close(buffer);
      else
        descend(*buffer.srcs()[frame.operands.size()], node(frame.node).srcs[frame.operands.size()],
                frame.inner);
    }
    if (conflict_ >= 0) return Conflict{conflict_};
    kernel_.ast = LazyOp::store(leaf_view(whole), std::move(result_));
    return std::move(kernel_);
  }

 private:
  struct Key {
    const void* base;
    const ShapeTracker* view;  // interned
    bool padded;               // 0 where the view is masked, whatever its ops do
    bool operator==(const Key&) const = default;
  };
  struct KeyHash {
    std::size_t operator()(const Key& k) const {
      const std::uint64_t base =
          2 * static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(k.base)) +
          (k.padded ? 1 : 0);
      return static_cast<std::size_t>(hash_mix(base, reinterpret_cast<std::uintptr_t>(k.view)));
    }
  };

  struct Frame {
    int node;
    const ShapeTracker* outer;  // how the reader views the node's elements
    const ShapeTracker* inner;  // how the node views its operands' elements
    std::vector<LazyOpPtr> operands;
    std::optional<std::vector<int>> axes;  // axes of a reduce that runs in its reader's order
    bool padded = false;                   // as in Key
  };

  static std::size_t operands_of(const LazyBuffer& b) {
    return b.op() == Op::Function ? b.srcs().size() : static_cast<std::size_t>(info(b.op()).arity);
  }
  const Graph::Node& node(int i) const { return graph_.nodes[static_cast<std::size_t>(i)]; }

  const ShapeTracker* intern(ShapeTracker st) {
    return views_.intern(merges_ ? merge_outermost(st) : std::move(st));
  }

  // The table of a GATHER as read through the GATHER's view `outer`.
  MemBuffer table_of(const Graph::Node& gather, const ShapeTracker& outer) {
    LazyBuffer& table = *gather.buffer->srcs()[kTable];
    const ShapeTracker rows = with_rows(outer, table.shape()[0], gather.buffer->shape());
    MemBuffer made{buffer_number(table, gather.srcs[kTable]), table.dtype(),
                   leaf_view(through(table, intern(rows)))};
    if (const auto* own = std::get_if<MemBuffer>(&gather.buffer->arg()))
      made.checked = leaf_view(intern(*own->checked + outer));
    return made;
  }

  // The view of `source`'s base when `source` is seen through `outer`.
  const ShapeTracker* through(const LazyBuffer& source, const ShapeTracker* outer) {
    return views_.through(source.st(), outer, merges_);
  }

  void give(LazyOpPtr value) {
    if (frames_.empty())
      result_ = std::move(value);
    else
      frames_.back().operands.push_back(std::move(value));
  }

  void open(int i, const ShapeTracker* outer, bool padded = false) {
    const LazyBuffer& buffer = *node(i).buffer;
    const ShapeTracker* inner = outer;
    std::optional<std::vector<int>> axes;
    if (is_reduce(buffer.op())) {
      const bool whole = outer->is_contiguous() && outer->shape() == buffer.shape();
      const bool here = i == node(root_).reduce || i == root_;
      if (whole && here) {
        inner = intern(ShapeTracker::contiguous(buffer.srcs()[0]->shape()));
      } else {
        inner = here && !node(root_).loop.empty() ? reordered(buffer, *outer, axes) : nullptr;
      }
      if (inner == nullptr) {
        conflict_ = i;
        return;
      }
    } else if (i != root_ && ++views_of_[i] > kMostViews) {
      conflict_ = i;
      return;
    }
    frames_.push_back({i, outer, inner, {}, std::move(axes), padded});
  }

  // The view of a reduce's operand for results in the order of `outer`, whose last axes stand for
  // the reduced ones. Null if `outer` is not a reordering.
  const ShapeTracker* reordered(const LazyBuffer& reduce, const ShapeTracker& outer,
                                std::optional<std::vector<int>>& axes) {
    const Shape& from = reduce.srcs()[0]->shape();
    const std::vector<int>& reduced = std::get<ReduceArg>(reduce.arg()).axes;
    std::vector<int> order;
    for (int i = 0; i < static_cast<int>(from.size()); ++i)
      if (std::ranges::find(reduced, i) == reduced.end()) order.push_back(i);
    order.insert(order.end(), reduced.begin(), reduced.end());
    const std::optional<Reordering> how = reordering(outer);
    if (!how) return nullptr;
    Shape split = how->digits, loop = outer.shape();
    std::vector<int> placed = how->order;
    axes.emplace();
    for (std::size_t i = 0; i < reduced.size(); ++i) {
      const sint& size = from[static_cast<std::size_t>(reduced[i])];
      placed.push_back(static_cast<int>(split.size()));
      split.push_back(size);
      const std::size_t at = loop.size() - reduced.size() + i;
      loop[at] = size;
      axes->push_back(static_cast<int>(at));
    }
    return intern(
        ShapeTracker::contiguous(from).permute(order).reshape(split).permute(placed).reshape(loop));
  }

  void descend(LazyBuffer& source, int below, const ShapeTracker* outer) {
    const ShapeTracker* st = through(source, outer);
    const LazyBuffer& base = source.base();
    const bool computed = below >= 0 && !node(below).realize;
    const bool padded = computed && source.st().masked() && makes_something_of_zeros(below);
    if (const auto it = made_.find({&base, st, padded}); it != made_.end()) {
      give(it->second);
    } else if (computed) {
      open(below, st, padded);
    } else {
      LazyOpPtr leaf =
          base.is_const_base()
              ? LazyOp::constant(std::get<ConstBuffer>(base.arg()).value, leaf_view(st))
              : LazyOp::load(buffer_number(source, below), base.dtype(), leaf_view(st));
      made_.emplace(Key{&base, st, false}, leaf);
      give(std::move(leaf));
    }
  }

  // True if padding the loads of a node differs from padding the node.
  bool makes_something_of_zeros(int i) {
    const auto known = unsafe_.find(i);
    if (known != unsafe_.end()) return known->second;
    std::vector<std::pair<int, std::size_t>> path{{i, 0}};  // a node and its next source
    while (!path.empty()) {
      auto& [at, next] = path.back();
      const auto entry = unsafe_.emplace(at, !info(node(at).buffer->op()).keeps_zero).first;
      const bool passes = node(at).buffer->op() != Op::Gather;  // masks its table's view
      if (passes && !entry->second && next < node(at).srcs.size()) {
        const int below = node(at).srcs[next];
        const auto of = unsafe_.find(below);
        if (below < 0 || node(below).realize) {
          ++next;
        } else if (of == unsafe_.end()) {
          path.emplace_back(below, 0);
        } else {
          entry->second = of->second;
          ++next;
        }
        continue;
      }
      path.pop_back();
    }
    return unsafe_.at(i);
  }

  ShapeTracker leaf_view(const ShapeTracker* st) {
    ShapeTracker simple = merges_ ? simplify(*st) : *st;
    kernel_.has_variables = kernel_.has_variables || !simple.vars().empty();
    return simple;
  }

  int buffer_number(LazyBuffer& source, int below) {
    const auto [it, fresh] =
        numbers_.emplace(&source.base(), static_cast<int>(kernel_.inputs.size()) + 1);
    if (fresh) {
      kernel_.inputs.push_back(source.base_ptr());
      if (below >= 0) kernel_.pending.push_back(below);
    }
    return it->second;
  }

  void close(const LazyBuffer& buffer) {
    Frame done = std::move(frames_.back());
    frames_.pop_back();
    OpArg arg = buffer.arg();
    if (buffer.op() == Op::Gather) arg = table_of(node(done.node), *done.outer);
    if (done.axes) std::get<ReduceArg>(arg).axes = *done.axes;
    LazyOpPtr value = buffer.op() == Op::Contiguous
                          ? std::move(done.operands[0])
                          : LazyOp::make(buffer.op(), std::move(done.operands), std::move(arg));
    if (done.padded) value = kernelize::where_valid(leaf_view(done.outer), std::move(value));
    made_.emplace(Key{&buffer, done.outer, done.padded}, value);
    give(std::move(value));
  }

  const bool merges_ = Config::current().on(Switch::MergeViews);
  const Graph& graph_;
  const int root_;
  int conflict_ = -1;
  Kernel kernel_;
  LazyOpPtr result_;
  std::vector<Frame> frames_;
  kernelize::ViewPool views_;
  std::unordered_map<Key, LazyOpPtr, KeyHash> made_;
  std::unordered_map<int, std::size_t> views_of_;
  std::unordered_map<int, bool> unsafe_;
  std::unordered_map<const LazyBuffer*, int> numbers_;
};

}  // namespace

Kernel build_kernel(Graph& graph, int root) {
  for (;;) {
    std::variant<Kernel, Conflict> made = KernelBuilder(graph, root).build();
    if (auto* kernel = std::get_if<Kernel>(&made)) return std::move(*kernel);
    const int at = std::get<Conflict>(made).node;
    Graph::Node& blocked = graph.nodes[static_cast<std::size_t>(at)];
    Graph::Node& target = graph.nodes[static_cast<std::size_t>(root)];
    blocked.realize = true;
    if (is_reduce(blocked.buffer->op())) {
      blocked.reduce = at;
      if (target.reduce == at) {
        target.reduce = -1;
        target.loop.clear();
      }
    }
  }
}

}  // namespace touchstone::lazy
