#include "touchstone/kernelize/grouping.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include "touchstone/base/hash.h"
#include "touchstone/kernelize/ranges.h"
#include "touchstone/kernelize/region.h"
#include "touchstone/shapetracker/merge/simplify.h"

namespace touchstone::kernelize {
namespace {

constexpr std::size_t kMostBetween = 32;  // ops between a value and the op where its readers meet

class Grouping {
 public:
  Grouping(const UOp& sink, const Config& config, Policy policy, const UOpSet& also)
      : order_(sink.toposort()), config_(config), policy_(policy) {
    for (const UOp& u : order_)
      if (also.has(u)) realize(u);
  }

  UOpSet run() {
    for (const Rule& rule : kRules)
      if ((rule.policies & of(policy_)) != 0) (this->*rule.apply)();
    UOpSet out;
    for (const UOp& u : order_)
      if (realized(u)) out.add(u);
    return policy_ == Policy::Ranges ? without_needless(order_.back(), out, asked_) : out;
  }

 private:
  // A rule that decides what is realized, based on the decisions of earlier rules.
  struct Rule {
    std::string_view name;
    unsigned policies;
    void (Grouping::*apply)();
  };
  static constexpr unsigned of(Policy p) { return 1U << static_cast<unsigned>(p); }
  static const std::array<Rule, 10> kRules;

  void realize(const UOp& u) { memory_.add(u); }
  bool realized(const UOp& u) const { return memory_.has(u) && !taken_back_.has(u); }
  // True for what its readers load; a CONTIGUOUS may have been passed on.
  bool stored(const UOp& u) const {
    const GraphOp op = is_movement(u.op()) ? u.base().op() : u.op();
    return realized(u) || (always_contiguous(op) && op != GraphOp::Contiguous);
  }
  bool lazy() const { return policy_ == Policy::Lazy; }

  void must() {
    const bool push = lazy() && config_.on(Switch::PushContiguous);
    UOpSet asked;
    for (const UOp& u : order_.back().src())  // of the SINK
      if (const UOp b = u.base(); !always_contiguous(b.op()) || b.op() == GraphOp::Contiguous)
        realize(b);
    for (const UOp& u : order_) {
      const bool reads_memory = u.op() == GraphOp::Copy || u.op() == GraphOp::Custom ||
                                u.op() == GraphOp::MSelect || u.op() == GraphOp::MStack;
      if (u.op() == GraphOp::Assign || u.op() == GraphOp::Copy || u.op() == GraphOp::BufferView ||
          u.op() == GraphOp::Custom)
        realize(u);
      if (u.op() == GraphOp::Gather && !always_contiguous(u.src(1).base().op()))
        realize(u.src(1).base());
      if (u.op() == GraphOp::Contiguous || asked.has(u)) {
        const UOp* const user = push && !realized(u) ? only_user(u) : nullptr;
        if (user != nullptr && is_elementwise(user->op()) && user->op() != GraphOp::Gather)
          asked.add(*user);
        else
          realize(u);
      }
      if (!reads_memory) continue;
      for (const UOp& s : u.src())
        if (const UOp b = s.base(); !stored(b) && !s.dtype().is_none())
          realize(b.op() == GraphOp::View ? s : b);
    }
    asked_ = memory_;
  }

  const UOp* only_user(const UOp& u) const {
    const std::vector<Use>* const uses = children_.find(u);
    const auto same = [&](const Use& use) { return use.child == uses->front().child; };
    return uses != nullptr && std::ranges::all_of(*uses, same) ? &uses->front().child : nullptr;
  }

  // What a switch of the lineage does not merge into its reader.
  void keep_apart() {
    for (const UOp& u : order_) {
      const std::vector<Use>* const uses = children_.find(u);
      if (uses == nullptr || stored(u) || !has_values(u)) continue;
      for (const Use& use : *uses) {
        const bool whole = use.st.is_contiguous(), reduces = is_reduce(use.child);
        if (use.child.op() == GraphOp::Contiguous && whole) continue;  // the same node
        if ((!config_.on(Switch::ShuffleMovementOps) && !whole) ||
            (is_elementwise(u.op()) && u.op() != GraphOp::Gather &&
             !config_.on(reduces ? Switch::MergeElementwiseIntoReduce
                                 : Switch::MergeElementwiseOps)))
          realize(u);
      }
    }
  }

  static bool is_reduce(const UOp& u) { return u.op() == GraphOp::ReduceAxis; }

  // True for a view of a computed source.
  bool is_seen(const UOp& u) const {
    return u.op() == GraphOp::View && !u.src().empty() && !stored(u.src(0)) &&
           !u.src(0).dtype().is_none() && u.src(0).st() != nullptr;
  }

  void before_expand() {
    if (config_.kernelize.dont_realize_expand) return;
    for (const UOp& v : order_) {
      if (!is_seen(v) || is_fused(v.src(0))) continue;
      if (!grows(max_elements(v.src(0).shape()), v.arg_as<ShapeTracker>())) continue;
      if (!realized(v.src(0))) for_expand_.add(v.src(0));
      realize(v.src(0));
    }
  }

  static bool is_fused(const UOp& u) {
    return u.op() == GraphOp::ReduceAxis && u.arg_as<UOpReduce>().fused;
  }

  // Where padding would not be 0 on the way to memory. Sources first, so that the result does not
  // depend on visiting order.
  void before_pad() {
    if (lazy() && config_.on(Switch::ShufflePadOps)) return;
    UOpSet masked, unsafe;
    for (const UOp& v : order_)
      if (is_seen(v) && v.arg_as<ShapeTracker>().masked()) masked.add(v.src(0));
    for (const UOp& u : order_) {
      if (stored(u)) continue;
      bool bad = lazy() || !info(u.op()).keeps_zero;
      for (const UOp& s : u.src()) bad = bad || unsafe.has(s);
      if (bad && masked.has(u))
        realize(u);
      else if (bad)
        unsafe.add(u);
    }
  }

  struct Use {
    UOp child;
    ShapeTracker st;  // how it reads the base
  };
  struct Step {
    UOp node;
    ShapeTracker st;  // how it sees the reduce
  };

  // Finds the distinct consumers of each base in graph order; views are not consumers.
  void find_children() {
    for (const UOp& u : order_) {
      if (u.op() == GraphOp::View || u.op() == GraphOp::Sink) continue;
      place_.set(u, place_.size() + 1);
      if (u.op() == GraphOp::Assign) {
        const UOp buffer = u.src(0).base();
        if (buffer.op() == GraphOp::Buffer) assigned_.add(buffer);
      }
      for (std::size_t i = 0; i < u.src().size(); ++i) {
        const UOp& s = u.src(i);
        if (!has_values(s)) continue;
        std::vector<Use>& uses = children_[s.base()];
        const Use use{u, s.tracker()};
        bool known = false;  // uses by one consumer are adjacent
        for (std::size_t k = uses.size(); !known && k > 0 && uses[k - 1].child == u; --k)
          known = uses[k - 1].st == use.st;
        if (!known) uses.push_back(use);
      }
    }
  }

  static bool same_size(const ShapeTracker& a, const ShapeTracker& b) {
    return certainly_eq(a.size(), b.size());
  }

  // True if `st` shows the results of r in an order in which their kernel can compute them.
  bool in_order(const ShapeTracker& st, const UOp& r) const {
    if (st.is_contiguous() && same_size(st, r.tracker())) return true;
    const bool permutes = config_.on(Switch::PushPermutes),
               reshapes = config_.on(Switch::PushReshapes);
    if (!lazy() || !(permutes || reshapes)) return false;
    const std::optional<Shape> digits = reordered(simplify(st));
    if (!digits || elements(*digits) != r.size()) return false;
    Shape kept = r.shape();
    std::erase(kept, sint(1));
    return *digits == kept ? permutes : reshapes;
  }

  // The sizes of the axes of a view without 1s by decreasing stride, if it shows each element once.
  static std::optional<Shape> reordered(const ShapeTracker& st) {
    const View& view = st.views().back();
    if (st.views().size() != 1 || view.mask() || view.offset() != sint(0) || !view.is_concrete())
      return std::nullopt;
    std::vector<std::pair<std::int64_t, std::int64_t>> axes;  // stride and size
    for (std::size_t i = 0; i < view.shape().size(); ++i)
      if (view.shape()[i] != sint(1))
        axes.emplace_back(view.strides()[i].as_int(), view.shape()[i].as_int());
    std::ranges::sort(axes);
    Shape digits;
    std::int64_t below = 1;
    for (const auto& [stride, size] : axes) {
      if (stride != below) return std::nullopt;
      below *= size;
      digits.insert(digits.begin(), size);
    }
    return digits;
  }

  // The nodes where the work after reduce r ends; r itself if something blocks it.
  UOpSet follow(const UOp& r, std::vector<UOp>& group,
                UOpMap<std::vector<ShapeTracker>>& visited) const {
    UOpSet members;
    const auto add = [&](const UOp& u) {
      if (members.add(u)) group.push_back(u);
    };
    std::vector<Step> open{{r, r.tracker()}};
    while (!open.empty()) {
      const Step at = std::move(open.back());
      open.pop_back();
      std::vector<ShapeTracker>& seen = visited[at.node];
      if (std::ranges::find(seen, at.st) != seen.end()) continue;
      seen.push_back(at.st);
      if (const UOp* const home = home_.find(at.node)) {  // all its paths end there
        add(r);
        add(*home);
        continue;
      }
      if (realized(at.node) && at.node != r) {
        if (!in_order(at.st, r) || serves_.has(at.node)) add(r);
        add(at.node);
        continue;
      }
      if (members.has(r)) continue;
      const std::vector<Use>* uses = children_.find(at.node);
      if (uses == nullptr) continue;
      for (std::size_t i = uses->size(); i-- > 0;) {
        const Use& use = (*uses)[i];
        const bool twice = (i > 0 && (*uses)[i - 1].child == use.child) ||
                           (i + 1 < uses->size() && (*uses)[i + 1].child == use.child);
        // `lazy` would compute r for each view through padding, even if a later step removes it.
        if (use.child.op() == GraphOp::ReduceAxis || twice || (lazy() && use.st.masked())) {
          add(r);
          break;
        }
        open.push_back({use.child, merge_outermost(at.st + use.st)});
      }
    }
    return members;
  }

  // Nodes from u, inclusive, down to realized ones.
  std::vector<UOp> below(const UOp& u) const {
    std::vector<UOp> all;
    walk_sources(u, [&](const UOp& at) {
      if (at.st() == nullptr && at.op() != GraphOp::View) return false;
      all.push_back(at);
      return at == u || !realized(at);
    });
    return all;
  }

  void group_reduces() {
    if (!lazy() && config_.kernelize.dont_group_reduces) return;
    for (const UOp& r : order_) {
      if (!is_reduce(r) || is_fused(r)) continue;
      if (lazy() && !config_.on(Switch::MergeOneReduceIntoElementwise)) realize(r);
      if (realized(r))
        serves_.set(r, r);
      else
        group_of(r);
    }
  }

  void group_of(const UOp& r) {
    std::vector<UOp> group;
    UOpMap<std::vector<ShapeTracker>> visited;
    const UOpSet members = follow(r, group, visited);
    bool can_chase = std::ranges::none_of(group, [&](const UOp& u) { return serves_.has(u); });
    bool forced = members.has(r) || group.size() > 1;
    if (lazy())
      can_chase = can_chase && config_.on(Switch::MergeChainBehindReduce);
    else
      check_below(r, group, forced, can_chase);
    if (forced || group.empty()) {
      const UOp last = can_chase ? chased(r) : r;
      realize(last);
      serves_.set(last, r);
      return;
    }
    serves_.set(group[0], r);
    for (const auto& [u, views] : visited) home_.set(u, group[0]);
  }

  void check_below(const UOp& r, const std::vector<UOp>& group, bool& forced, bool& can_chase) {
    const std::vector<UOp> all = below(r);
    for (const UOp& u : all)
      if (is_reduce(u) && u.src(0).base().op() == GraphOp::Const) can_chase = false;
    for (const UOp& member : group) {
      if (member.op() != GraphOp::Assign) continue;
      const UOp target = member.src(0).base();
      for (const UOp& u : all)
        if (u.op() == GraphOp::Buffer && u != target && assigned_.has(u)) {
          forced = true;
          can_chase = false;
        }
    }
  }

  // The end of the chain after r in which each op reads all elements in order and all readers of
  // the previous op lead to it.
  UOp chased(const UOp& r) const {
    Step last{r, r.tracker()};
    for (;;) {
      std::optional<Step> next = meeting(last, r.tracker());
      if (!next) break;
      last = *std::move(next);
    }
    const UOp& u = last.node;
    if (u.op() == GraphOp::Cast && itemsize(u.dtype().base) > itemsize(u.src(0).dtype().base))
      return u.src(0).base();
    return u;
  }

  // The first op that is, or follows, every reader of `from`; none if a reader is stored, reads in
  // another order or is not elementwise, or if several readers meet in a wider type.
  std::optional<Step> meeting(const Step& from, const ShapeTracker& whole) const {
    std::map<std::size_t, Step> open{{0, from}};  // by where they stand: sources first
    const std::size_t most = lazy() ? 1 : kMostBetween;
    for (std::size_t before = 0; before <= most; ++before) {
      Step at = std::move(open.extract(open.begin()).mapped());
      if (open.empty() && before > 0) {
        if (before > 1 && itemsize(at.node.dtype().base) > itemsize(from.node.dtype().base)) break;
        return at;
      }
      const std::vector<Use>* uses = children_.find(at.node);
      if (uses == nullptr || uses->size() > most) break;
      for (const Use& use : *uses) {
        ShapeTracker sum = merge_outermost(at.st + use.st);
        if (!is_elementwise(use.child.op()) || realized(use.child) || !sum.is_contiguous() ||
            !same_size(use.st, at.st) || !same_size(use.child.tracker(), whole))
          return std::nullopt;
        open.try_emplace(*place_.find(use.child), Step{use.child, std::move(sum)});
      }
    }
    return std::nullopt;
  }

  // Fuses a reduce that only another reduce reads through a view, even under padding: lower_kernel
  // masks ops that do not map zeros to zero.
  void join_double_reduces() {
    if (!config_.kernelize.fuse_conv_bw) return;
    for (const UOp& r : order_) {
      if (r.op() != GraphOp::ReduceAxis || r.src(0).op() != GraphOp::View || r.src(0).src().empty())
        continue;
      const UOp& inner = r.src(0).src(0);
      const std::vector<Use>* uses = children_.find(inner);
      if (inner.op() == GraphOp::ReduceAxis && uses != nullptr && uses->size() == 1 &&
          realized(inner) && !asked_.has(inner))
        taken_back_.add(inner);
    }
  }

  // A few cheap ops on one buffer are computed for each copy.
  void recompute() {
    if (!config_.on(Switch::RecomputeBeforeExpand)) return;
    for (const UOp& u : order_)
      if (for_expand_.has(u) && !serves_.has(u) && is_elementwise(u.op()) &&
          region_of(u, [&](const UOp& at) {
            return !is_movement(at.op()) && stored(at) && at.op() != GraphOp::Const;
          }).is_cheap())
        taken_back_.add(u);
  }

  // Realizes long work, and GATHERs, that several kernels would repeat: without a limit, each link
  // of a chain would repeat all earlier ones.
  void store_long_and_shared() {
    UOpMap<UOp> home;  // of a node: the only realized or shared node that it is computed for
    for (std::size_t i = order_.size(); i-- > 0;) {
      const UOp& u = order_[i];
      if (realized(u) || !home.has(u)) home.set(u, u);
      const UOp mine = *home.find(u);
      if (u.op() == GraphOp::Sink) continue;
      for (const UOp& s : u.src()) {
        const auto [of, fresh] = home.emplace(s, mine);
        if (!fresh && *of != mine) *of = s;
      }
    }
    for (const UOp& u : order_) {
      if (!is_elementwise(u.op()) || realized(u)) continue;
      const UOp& of = *home.find(u);
      if ((of == u && is_long(u)) || (!lazy() && u.op() == GraphOp::Gather && !realized(of)))
        realize(u);
    }
  }

  bool computed_in_reader(const UOp& u) const { return has_values(u) && !stored(u); }

  // Splits kernels of more than kMostInKernel ops: stores the op that needs the least memory, among
  // equals the one with the most work. Skips ops with little work, which would give small kernels.
  void cut_too_long() {
    UOpMap<int> bounds;  // upper bounds of the ops that a kernel computes for a node
    const auto bound = [&](const UOp& u) { return computed_in_reader(u) ? *bounds.find(u) : 0; };
    const auto sum = [&](const UOp& u) {
      int ops = is_op(u) ? 1 : 0;
      for (const UOp& s : u.src()) ops = std::min(ops + bound(s), kMostInKernel + 1);
      return ops;
    };
    const auto key = [&](const UOp& u) {
      return std::make_pair(
          max_elements(u.shape()) * static_cast<std::int64_t>(itemsize(u.dtype().base)), -bound(u));
    };
    for (const UOp& u : order_) {
      int all = sum(u);
      while (all > kMostInKernel) {
        const std::vector<UOp> together = ops_of_kernel(u);  // `sum` counts shared ops twice
        all = static_cast<int>(together.size());
        if (all <= kMostInKernel) break;
        const UOp* best = nullptr;
        for (const UOp& n : together)
          if (n != u && bound(n) > kMostInKernel / 4 && (best == nullptr || key(n) < key(*best)))
            best = &n;
        if (best == nullptr) best = &together.back();
        if (*best == u) {
          all = kMostInKernel;
          break;
        }
        realize(*best);
        asked_.add(*best);
        all = sum(u);
      }
      bounds.set(u, all);
    }
  }

  static bool is_op(const UOp& u) { return is_reduce(u) || is_elementwise(u.op()); }

  // The ops, including u, that one kernel computes for u.
  std::vector<UOp> ops_of_kernel(const UOp& u) const {
    std::vector<UOp> ops;
    walk_sources(u, [&](const UOp& at) {
      if (at != u && !computed_in_reader(at)) return false;
      if (is_op(at)) ops.push_back(at);
      return true;
    });
    return ops;
  }

  bool is_long(const UOp& u) const {
    const int most = lazy() ? kMostShared : kMostGrouped;
    int ops = 0;
    walk_sources(u, [&](const UOp& at) {
      if (!has_values(at) || (at != u && stored(at))) return false;
      ops += at.op() == GraphOp::View ? 0 : 1;
      return ops <= most;
    });
    return ops > most;
  }

  std::vector<UOp> order_;
  const Config& config_;
  const Policy policy_;
  UOpSet asked_;  // outputs or explicitly requested
  UOpSet memory_, taken_back_, assigned_, for_expand_;
  UOpMap<std::vector<Use>> children_;
  UOpMap<std::size_t> place_;  // of consumers, sources first
  UOpMap<UOp> serves_;         // stored node after a reduce -> the reduce
  UOpMap<UOp> home_;           // node between them -> the stored node
};

constexpr unsigned kLazy = 1, kKernelize = 2, kRanges = 4, kAll = 7;
const std::array<Grouping::Rule, 10> Grouping::kRules = {{
    {"find the readers of each value", kAll, &Grouping::find_children},
    {"outputs, copies and what must be contiguous", kAll, &Grouping::must},
    {"what switches keep apart", kLazy, &Grouping::keep_apart},
    {"work before an expand", kAll, &Grouping::before_expand},
    {"work before a pad", kLazy | kKernelize, &Grouping::before_pad},
    {"each reduce, with the elementwise work after it", kAll, &Grouping::group_reduces},
    {"not a reduce that one other reads", kKernelize | kRanges, &Grouping::join_double_reduces},
    {"not cheap work on one buffer before an expand", kLazy, &Grouping::recompute},
    {"long work that several kernels share", kAll, &Grouping::store_long_and_shared},
    {"parts of what is too long for one kernel", kAll, &Grouping::cut_too_long},
}};

}  // namespace

UOpSet what_gets_memory(const UOp& sink, const Config& config, Policy policy, const UOpSet& also) {
  return Grouping(sink, config, policy, also).run();
}

UOpSet seen_too_often(const UOp& sink, const UOpSet& memory, std::size_t most) {
  const std::vector<UOp> order = sink.toposort();
  UOpSet found;
  UOpMap<std::vector<std::uint64_t>> views;  // of a node, by path from the realized node
  const auto give = [&](const UOp& to, const std::vector<std::uint64_t>& from,
                        std::uint64_t through) {
    std::vector<std::uint64_t>& known = views[to];
    for (const std::uint64_t v : from) {
      const std::uint64_t mixed = through == 0 ? v : hash_mix(v, through);
      if (known.size() <= most && std::ranges::find(known, mixed) == known.end())
        known.push_back(mixed);
    }
  };
  for (std::size_t i = order.size(); i-- > 0;) {
    const UOp& u = order[i];
    if (memory.has(u) || u.op() == GraphOp::Sink || views.find(u) == nullptr) views.set(u, {0});
    if (views.find(u)->size() > most && u.op() != GraphOp::View && u.st() != nullptr) {
      found.add(u);
      views.set(u, {0});
    }
    const std::vector<std::uint64_t> mine = *views.find(u);
    std::uint64_t through = 0;
    if (u.op() == GraphOp::View && !u.arg_as<ShapeTracker>().is_contiguous())
      through = u.arg_as<ShapeTracker>().hash();
    for (const UOp& s : u.src())
      if (!always_contiguous(s.op())) give(s, mine, through);
  }
  return found;
}

}  // namespace touchstone::kernelize
