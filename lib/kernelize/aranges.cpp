// Merges counting reduces into the kernels that read them.
#include "touchstone/kernelize/grouping.h"

namespace touchstone::kernelize {
namespace {

bool counts(const UOp& u) {
  return u.op() == GraphOp::ReduceAxis && u.src(0).base().op() == GraphOp::Const;
}

// Whether a node is computed from constants alone, and with at least one reduce.
struct Made {
  bool alone = true, counted = false;
};

UOpMap<Made> made_of_constants(const std::vector<UOp>& order) {
  UOpMap<Made> made;
  for (const UOp& u : order) {
    Made m;
    const bool constant = u.op() == GraphOp::Const || u.dtype().is_none();
    m.alone = constant || is_elementwise(u.op()) || u.op() == GraphOp::View || counts(u);
    m.counted = counts(u);
    for (const UOp& s : u.src()) {
      const Made* of = made.find(s);
      m.alone = m.alone && (of->alone || s.dtype().is_none());
      m.counted = m.counted || of->counted;
    }
    made.set(u, m);
  }
  return made;
}

// Nodes that a reduce, other than a counting one, computes in its kernel.
UOpSet under_reduces(const std::vector<UOp>& order) {
  UOpSet under;
  for (std::size_t i = order.size(); i-- > 0;) {
    const UOp& u = order[i];
    const bool root = u.op() == GraphOp::ReduceAxis && !counts(u);
    if (!root && !(under.has(u) && (is_elementwise(u.op()) || u.op() == GraphOp::View))) continue;
    for (const UOp& s : u.src())
      if (!always_contiguous(s.op())) under.add(s);
  }
  return under;
}

}  // namespace

RewriteMap fuse_aranges(const UOp& sink, const RewriteMap& before) {
  const std::vector<UOp> order = sink.toposort();
  const UOpMap<Made> made = made_of_constants(order);
  const UOpSet under = under_reduces(order);
  const auto fusable = [&](const UOp& s) {
    const Made* m = made.find(s);
    return m != nullptr && m->alone && m->counted && under.has(s) && !s.dtype().is_none();
  };
  return rewrite_map_by(
      sink,
      [&](const UOp& u) {
        const Made* mine = made.find(u);
        if (mine == nullptr || mine->alone ||
            !(is_elementwise(u.op()) || u.op() == GraphOp::ReduceAxis))
          return UOp();
        bool any = false;
        std::vector<UOp> src;
        for (const UOp& s : u.src()) {
          const bool here = fusable(s);
          any = any || here;
          src.push_back(here ? s.ask(GraphOp::Fuse) : s);
        }
        return any ? u.with_src(std::move(src)) : UOp();
      },
      {.order = RewriteOrder::BottomUp, .pass = "fuse aranges"}, &before);
}

}  // namespace touchstone::kernelize
