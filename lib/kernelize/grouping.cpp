#include "touchstone/kernelize/grouping.h"

#include <algorithm>
#include <map>
#include <optional>

#include "touchstone/base/hash.h"
#include "touchstone/kernelize/elements.h"
#include "touchstone/kernelize/long_kernels.h"
#include "touchstone/kernelize/ranges.h"
#include "touchstone/kernelize/walk.h"
#include "touchstone/shapetracker/merge/simplify.h"

namespace touchstone::kernelize {
namespace {

constexpr std::size_t kMostBetween = 32;  // ops between a value and the op where its readers meet

class Grouping {
 public:
  Grouping(const UOp& sink, const Config& config, const UOpSet& also)
      : order_(sink.toposort()), config_(config) {
    for (const UOp& u : order_)
      if (also.has(u)) realize(u);
  }

  UOpSet run() {
    must();
    asked_ = memory_;
    before_expand();
    const bool ranges = config_.scheduler == Scheduler::Ranges;
    if (!ranges) before_unsafe_pad();
    if (!config_.kernelize.dont_group_reduces) group_reduces();
    if (config_.kernelize.fuse_conv_bw) join_double_reduces();
    store_long_and_shared();
    cut_too_long();
    UOpSet out;
    for (const UOp& u : order_)
      if (memory_.has(u) && !taken_back_.has(u)) out.add(u);
    return ranges ? without_needless(order_.back(), out, asked_) : out;
  }

 private:
  void realize(const UOp& u) { memory_.add(u); }
  bool realized(const UOp& u) const { return memory_.has(u) && !taken_back_.has(u); }

  void must() {
    for (const UOp& u : order_) {
      const bool reads_memory = u.op() == GraphOp::Copy || u.op() == GraphOp::Custom ||
                                u.op() == GraphOp::MSelect || u.op() == GraphOp::MStack;
      if (u.op() == GraphOp::Sink)
        for (const UOp& s : u.src())
          if (const UOp b = s.base(); !always_contiguous(b.op())) realize(b);
      if (u.op() == GraphOp::Assign || u.op() == GraphOp::Contiguous || u.op() == GraphOp::Copy ||
          u.op() == GraphOp::BufferView || u.op() == GraphOp::Custom)
        realize(u);
      if (!reads_memory) continue;
      for (const UOp& s : u.src())
        if (const UOp b = s.base(); !always_contiguous(b.op()) && !s.dtype().is_none())
          realize(b.op() == GraphOp::View ? s : b);
    }
  }

  // True for a view of a computed source.
  static bool is_seen(const UOp& u) {
    return u.op() == GraphOp::View && !u.src().empty() && !always_contiguous(u.src(0).op()) &&
           !u.src(0).dtype().is_none() && u.src(0).st() != nullptr;
  }

  void before_expand() {
    if (config_.kernelize.dont_realize_expand) return;
    for (const UOp& v : order_) {
      if (!is_seen(v) || is_fused(v.src(0))) continue;
      if (grows(max_elements(v.src(0).shape()), v.arg_as<ShapeTracker>())) realize(v.src(0));
    }
  }

  static bool is_fused(const UOp& u) {
    return u.op() == GraphOp::ReduceAxis && u.arg_as<UOpReduce>().fused;
  }

  // Sources first, so that the result does not depend on visiting order.
  void before_unsafe_pad() {
    UOpSet masked, unsafe;
    for (const UOp& v : order_)
      if (is_seen(v) && v.arg_as<ShapeTracker>().masked()) masked.add(v.src(0));
    for (const UOp& u : order_) {
      if (realized(u) || always_contiguous(u.op())) continue;
      bool bad = !info(u.op()).keeps_zero;
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

  // The nodes where the work after reduce r ends; r itself if something blocks it.
  UOpSet follow(const UOp& r, std::vector<UOp>& group) {
    UOpSet members;
    const auto add = [&](const UOp& u) {
      if (members.add(u)) group.push_back(u);
    };
    std::vector<Step> open{{r, r.tracker()}};
    UOpMap<std::vector<ShapeTracker>> visited;
    while (!open.empty()) {
      const Step at = std::move(open.back());
      open.pop_back();
      std::vector<ShapeTracker>& seen = visited[at.node];
      if (std::ranges::find(seen, at.st) != seen.end()) continue;
      seen.push_back(at.st);
      if (realized(at.node) && at.node != r) {
        if (!at.st.is_contiguous() || !same_size(at.st, r.tracker()) || serves_.has(at.node))
          add(r);
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
        if (use.child.op() == GraphOp::ReduceAxis || twice) {
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
    find_children();
    for (const UOp& r : order_) {
      if (r.op() != GraphOp::ReduceAxis || is_fused(r)) continue;
      if (realized(r)) {
        serves_.set(r, r);
        continue;
      }
      group_of(r);
    }
  }

  void group_of(const UOp& r) {
    std::vector<UOp> group;
    const UOpSet members = follow(r, group);
    bool can_chase = std::ranges::none_of(group, [&](const UOp& u) { return serves_.has(u); });
    bool forced = members.has(r) || group.size() > 1;
    const std::vector<UOp> all = below(r);
    for (const UOp& u : all)
      if (u.op() == GraphOp::ReduceAxis && u.src(0).base().op() == GraphOp::Const)
        can_chase = false;
    for (const UOp& member : group) {
      if (member.op() != GraphOp::Assign) continue;
      const UOp target = member.src(0).base();
      for (const UOp& u : all)
        if (u.op() == GraphOp::Buffer && u != target && assigned_.has(u)) {
          forced = true;
          can_chase = false;
        }
    }
    if (forced || group.empty()) {
      UOp last = r;
      if (can_chase) last = chased(r);
      realize(last);
      group = {last};
    }
    for (const UOp& member : group) serves_.set(member, r);
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
    for (std::size_t before = 0; before <= kMostBetween; ++before) {
      Step at = std::move(open.extract(open.begin()).mapped());
      if (open.empty() && before > 0) {
        if (before > 1 && itemsize(at.node.dtype().base) > itemsize(from.node.dtype().base)) break;
        return at;
      }
      const std::vector<Use>* uses = children_.find(at.node);
      if (uses == nullptr || uses->size() > kMostBetween) break;
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

  // Realizes work of more than kMostGrouped ops that several kernels would repeat: without a limit,
  // each link of a chain would repeat all earlier ones.
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
    for (const UOp& u : order_)
      if (is_elementwise(u.op()) && !realized(u) && *home.find(u) == u && is_long(u)) realize(u);
  }

  bool computed_in_reader(const UOp& u) const {
    return has_values(u) && !realized(u) && !always_contiguous(u.op());
  }

  // The graph as numbers, for LongKernels.
  struct Cutting {
    explicit Cutting(Grouping& grouping) : of(grouping) {
      UOpMap<int> number;
      for (const UOp& u : of.order_) {
        std::vector<int>& sources = reads.emplace_back();
        for (const UOp& s : u.src()) sources.push_back(*number.find(s));
        number.set(u, static_cast<int>(numbers.size()));
        numbers.push_back(static_cast<int>(numbers.size()));
      }
    }
    const UOp& node(int i) const { return of.order_[static_cast<std::size_t>(i)]; }
    const std::vector<int>& sources(int i) const { return reads[static_cast<std::size_t>(i)]; }
    bool is_op(int i) const {
      return is_elementwise(node(i).op()) || node(i).op() == GraphOp::ReduceAxis;
    }
    bool in_reader(int i) const { return of.computed_in_reader(node(i)); }
    std::int64_t bytes(int i) const {
      return max_elements(node(i).shape()) *
             static_cast<std::int64_t>(itemsize(node(i).dtype().base));
    }
    static bool goes_first(int) { return false; }
    void store(int i) {
      of.realize(node(i));
      of.asked_.add(node(i));
    }

    Grouping& of;
    std::vector<std::vector<int>> reads;
    std::vector<int> numbers;
  };

  void cut_too_long() {
    Cutting cutting(*this);
    LongKernels(cutting, order_.size()).split(cutting.numbers);
  }

  bool is_long(const UOp& u) const {
    int ops = 0;
    walk_sources(u, [&](const UOp& at) {
      if (!has_values(at) || (at != u && realized(at)) || always_contiguous(at.op())) return false;
      ops += at.op() == GraphOp::View ? 0 : 1;
      return ops <= kMostGrouped;
    });
    return ops > kMostGrouped;
  }

  std::vector<UOp> order_;
  const Config& config_;
  UOpSet asked_;  // outputs or explicitly requested
  UOpSet memory_, taken_back_, assigned_;
  UOpMap<std::vector<Use>> children_;
  UOpMap<std::size_t> place_;  // of consumers, sources first
  UOpMap<UOp> serves_;         // stored node after a reduce -> the reduce
};

}  // namespace

UOpSet what_gets_memory(const UOp& sink, const Config& config, const UOpSet& also) {
  return Grouping(sink, config, also).run();
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
