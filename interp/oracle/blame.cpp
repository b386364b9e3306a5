#include "touchstone/interp/oracle/blame.h"

#include <algorithm>
#include <map>

#include "touchstone/interp/oracle/subkernel.h"

namespace touchstone {
namespace {

bool is_leaf(const LazyOpPtr& node) { return node->src().empty(); }

// The verdicts on prefixes, each run once.
class Prefixes {
 public:
  Prefixes(std::span<Buffer* const> inputs, const std::function<BufferPtr(const LazyOpPtr&)>& run,
           const Profile& profile)
      : inputs_(inputs), run_(run), profile_(profile) {}

  bool fails(const LazyOpPtr& node) {
    if (is_leaf(node)) return false;
    return verdict(node).outcome == Outcome::Fail;
  }
  const Verdict& verdict(const LazyOpPtr& node) {
    const auto [it, fresh] = verdicts_.try_emplace(node.get());
    if (fresh) {
      const LazyOpPtr prefix = interp::kernel_of(node);
      const BufferPtr output = run_(prefix);
      it->second = judge(prefix, inputs_, *output, profile_);
    }
    return it->second;
  }
  int runs() const { return static_cast<int>(verdicts_.size()); }

 private:
  std::span<Buffer* const> inputs_;
  const std::function<BufferPtr(const LazyOpPtr&)>& run_;
  const Profile& profile_;
  std::map<const LazyOp*, Verdict> verdicts_;
};

// The longest path down from a node, the node first; without leaves.
std::vector<LazyOpPtr> longest_way(const LazyOpPtr& node) {
  std::map<const LazyOp*, int> height;
  for (const LazyOpPtr& n : interp::nodes_of(interp::kernel_of(node))) {
    int most = -1;
    for (const LazyOpPtr& s : n->src()) most = std::max(most, height.at(s.get()));
    height[n.get()] = most + 1;
  }
  std::vector<LazyOpPtr> way;
  for (LazyOpPtr at = node; !is_leaf(at);) {
    way.push_back(at);
    at = *std::ranges::max_element(at->src(), {},
                                   [&](const LazyOpPtr& s) { return height.at(s.get()); });
  }
  return way;
}

// `node` with operands replaced: `other` returns the replacement of a node, or null to keep it.
LazyOpPtr replaced(const LazyOpPtr& node, const std::function<LazyOpPtr(const LazyOpPtr&)>& other) {
  std::map<const LazyOp*, LazyOpPtr> done;
  for (const LazyOpPtr& n : interp::nodes_of(interp::kernel_of(node))) {
    LazyOpPtr instead = n == node ? nullptr : other(n);
    if (instead == nullptr && !n->src().empty()) {
      std::vector<LazyOpPtr> src;
      for (const LazyOpPtr& s : n->src()) src.push_back(done.at(s.get()));
      instead = LazyOp::make(n->op(), std::move(src), n->arg());
    }
    done[n.get()] = instead == nullptr ? n : instead;
  }
  return done.at(node.get());
}

}  // namespace

Blame blame(const LazyOpPtr& kernel, std::span<Buffer* const> inputs,
            const std::function<Buffer*(const LazyOpPtr& node)>& held, const Profile& profile) {
  Blame result;
  for (const LazyOpPtr& node : interp::nodes_of(kernel)) {
    Buffer* const output = is_leaf(node) ? nullptr : held(node);
    if (output == nullptr) continue;
    std::vector<Buffer*> buffers(inputs.begin(), inputs.end());
    if (buffers.empty()) buffers.push_back(nullptr);
    const LazyOpPtr cut = replaced(node, [&](const LazyOpPtr& n) -> LazyOpPtr {
      Buffer* const own = is_leaf(n) ? nullptr : held(n);
      if (own == nullptr) return nullptr;
      buffers.push_back(own);
      return LazyOp::load(static_cast<int>(buffers.size()) - 1, n->dtype(),
                          ShapeTracker::contiguous(n->shape()));
    });
    Verdict verdict = judge(interp::kernel_of(cut), buffers, *output, profile);
    if (verdict.outcome != Outcome::Fail) continue;
    result.node = node;
    result.verdict = std::move(verdict);
    return result;
  }
  return result;
}

Blame blame_by_prefixes(const LazyOpPtr& kernel, std::span<Buffer* const> inputs,
                        const std::function<BufferPtr(const LazyOpPtr& prefix)>& run,
                        const Profile& profile) {
  Prefixes prefixes(inputs, run, profile);
  LazyOpPtr wrong = kernel->src().at(0);
  Blame result;
  if (!prefixes.fails(wrong)) {
    result.runs = prefixes.runs();
    return result;
  }
  while (true) {
    // way[bad] fails and way[good] passes; initially `good` is the leaf below the last.
    const std::vector<LazyOpPtr> way = longest_way(wrong);
    std::size_t bad = 0, good = way.size();
    while (good - bad > 1) {
      const std::size_t middle = bad + (good - bad) / 2;
      (prefixes.fails(way[middle]) ? bad : good) = middle;
    }
    wrong = way[bad];
    const auto other =
        std::ranges::find_if(wrong->src(), [&](const LazyOpPtr& s) { return prefixes.fails(s); });
    if (other == wrong->src().end()) break;
    wrong = *other;
  }
  result.node = wrong;
  result.verdict = prefixes.verdict(wrong);
  result.runs = prefixes.runs();
  return result;
}

std::pair<LazyOpPtr, std::vector<int>> renumbered(const LazyOpPtr& prefix) {
  std::vector<int> old;
  for (const BufferSpec& spec : buffers_of(prefix))
    if (spec.idx > 0) old.push_back(spec.idx);
  const LazyOpPtr kernel =
      rebuild(prefix, [&](const LazyOpPtr& node, const std::vector<LazyOpPtr>& src) {
        if (!is_load(node->op())) return with_src(node, src);
        MemBuffer b = node->buffer();
        b.idx = static_cast<int>(std::ranges::find(old, b.idx) - old.begin()) + 1;
        return LazyOp::make(node->op(), src, std::move(b));
      });
  return {kernel, old};
}

}  // namespace touchstone
