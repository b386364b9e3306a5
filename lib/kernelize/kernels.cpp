#include "touchstone/kernelize/kernels.h"

#include <algorithm>
#include <deque>

#include "touchstone/kernelize/elements.h"
#include "touchstone/kernelize/kernelize.h"
#include "touchstone/kernelize/rules.h"
#include "touchstone/kernelize/walk.h"

namespace touchstone {
namespace kernelize {
namespace {

constexpr OpSet kStored{GraphOp::Kernel, GraphOp::Assign, GraphOp::Buffer, GraphOp::MSelect,
                        GraphOp::MStack};

// The inputs of the kernel that computes x, in order of discovery, and the origins of its work.
struct Gathered {
  std::vector<UOp> reads;
  UOpMetadata metadata;
};

Gathered gather(const std::vector<UOp>& from) {
  Gathered out;
  UOpSet seen;
  std::vector<UOp> open(from.rbegin(), from.rend());
  while (!open.empty()) {
    const UOp u = std::move(open.back());
    open.pop_back();
    if (!seen.add(u)) continue;
    if (kStored.has(u.op())) {
      out.reads.push_back(u);
      continue;
    }
    const bool silent = u.op() == GraphOp::Const || u.op() == GraphOp::Device ||
                        (is_movement(u.op()) && u.base().op() == GraphOp::Assign);
    if (const auto metadata = u.metadata(); metadata != nullptr && !silent)
      for (const UOpOrigin& o : *metadata)
        if (std::ranges::find(out.metadata, o) == out.metadata.end()) out.metadata.push_back(o);
    for (std::size_t i = u.src().size(); i-- > 0;) open.push_back(u.src(i));
  }
  return out;
}

UOp kernel_of(const UOp& x, const UOp& buffer) {
  Gathered all = gather(x.src());
  std::vector<UOp> src{buffer};
  for (UOp& read : all.reads)
    if (read != buffer) src.push_back(std::move(read));
  if (const auto metadata = x.metadata())
    for (const UOpOrigin& o : *metadata)
      if (std::ranges::find(all.metadata, o) == all.metadata.end()) all.metadata.push_back(o);
  auto arg = std::make_shared<UOpKernel>();
  arg->ast = is_meta(x.op()) ? x : UOp::sink({x});
  arg->metadata = std::move(all.metadata);
  return UOp::make(GraphOp::Kernel, UOpType::none(), std::move(src), UOpKernelPtr(std::move(arg)));
}

UOp store_new(const UOp& x) {
  const UOp where = x.device_node();
  if (!where) throw AstError(x.line() + " is on no device, so it has no memory");
  const UOp buffer = UOp::new_buffer(where, max_elements(x.shape()), x.dtype().base);
  return as_shape(buffer.assign(kernel_of(x, buffer)), x.shape());
}

UOp store_assigned(const UOp& u) {
  if (u.src(1).op() == GraphOp::Kernel) return {};
  const UOp buffer =
      u.src(0).base().op() == GraphOp::Assign ? u.src(0).base().src(0) : u.src(0).base();
  if (u.src(0).base().op() == GraphOp::Assign)
    for (const UOp& read : gather({u.src(1)}).reads)
      if (read == buffer)
        throw AstError(
            fmt::format("cycle detected: {} is read as it was before an assign, by the assign that "
                        "follows; it must either depend on ASSIGN or BUFFER",
                        buffer.line()));
  const UOp kernel = kernel_of(u, buffer);
  // The target is itself being written by another kernel: wait for that one.
  std::vector<UOp> src{buffer, kernel};
  if (u.src(0).base().op() == GraphOp::Assign) src.push_back(u.src(0).base());
  return as_shape(UOp::make(GraphOp::Assign, u.dtype(), std::move(src)), u.shape());
}

// True if `below` is a direct or indirect source of u. Visits only nodes after `below` in `place`
// (sources first).
bool is_below(const UOp& below, const UOp& u, const UOpMap<std::size_t>& place) {
  const std::size_t first = *place.find(below);
  bool found = false;
  walk_sources(u, [&](const UOp& at) {
    found = found || (at == below && at != u);
    return !found && *place.find(at) > first;
  });
  return found;
}

// The BUFFERs and ASSIGNs behind an operand of a kernel, over all devices.
std::vector<UOp> memory_of(const UOp& u) {
  std::vector<UOp> all, open{u};
  while (!open.empty()) {
    const UOp at = std::move(open.back());
    open.pop_back();
    if (at.op() == GraphOp::MSelect || at.op() == GraphOp::MStack || is_movement(at.op()))
      open.insert(open.end(), at.src().begin(), at.src().end());
    else
      all.push_back(at);
  }
  return all;
}

UOp reshape_out(const Match& m) {
  const UOp& u = m.root();
  std::vector<UOp> src;
  for (const UOp& s : u.src()) {
    if (s.op() != GraphOp::Reshape) return {};
    src.push_back(s.src(0));
  }
  return u.with_src(std::move(src)).reshape(u.shape());
}

std::string target_text(const UOp& assign) { return assign.src(0).line(); }

}  // namespace

PatternMatcher create_kernels() {
  return PatternMatcher({
      {"a kernel behind a barrier", UPat(GraphOp::Gbarrier).over({UPat::var("x")}),
       [](const Match& m) { return store_new(m[0]); },
       "all nodes between two barriers are one kernel"},
      {"a kernel that assigns", UPat(GraphOp::Assign),
       [](const Match& m) { return store_assigned(m.root()); }, "its buffer is the target's"},
      {"reshape out of a selection or a stack", UPat(OpSet{GraphOp::MSelect, GraphOp::MStack}),
       reshape_out, "memory is read, whatever its view"},
  });
}

RewriteMap kernels_at(const UOp& sink, const UOpSet& memory) {
  RewriteMap made;
  for (const UOp& u : sink.toposort()) {
    std::vector<UOp> src;
    for (const UOp& s : u.src()) src.push_back(result_of(made, s));
    UOp at = u;
    if (src != u.src()) {
      at = u.with_src(std::move(src));
      if (const auto metadata = u.metadata()) at.add_metadata(*metadata);
    }
    if (u.op() == GraphOp::Assign)
      at = store_assigned(at);
    else if (u.op() == GraphOp::Contiguous && memory.has(u.src(0)))
      at = UOp(at.src(0));
    else if (memory.has(u))
      at = store_new(at.op() == GraphOp::View ? at.contiguous() : at);
    if (at != u) made.set(u, at);
  }
  return made;
}

RewriteMap order_assigns(const UOp& sink, const RewriteMap& before) {
  const std::vector<UOp> order = sink.toposort();
  UOpMap<std::size_t> place;
  UOpMap<std::vector<UOp>> writers, readers;  // by buffer; by buffer or ASSIGN
  for (const UOp& u : order) {
    place.set(u, place.size());
    if (u.op() != GraphOp::Assign) continue;
    for (const UOp& buffer : memory_of(u.src(0))) writers[buffer].push_back(u);
    if (u.src(1).op() != GraphOp::Kernel) continue;
    const std::vector<UOp>& reads = u.src(1).src();
    UOpSet once;
    for (std::size_t k = 1; k < reads.size(); ++k)
      for (const UOp& read : memory_of(reads[k]))
        if (once.add(read)) readers[read].push_back(u);
  }
  UOpMap<std::vector<UOp>> first;  // what an ASSIGN must wait for
  // The versions of a buffer in order: its initial contents, then the result of each writer.
  for (const auto& [buffer, all] : writers)
    for (std::size_t i = 0; i < all.size(); ++i) {
      const UOp& writer = all[i];
      if (i > 0 && !is_below(all[i - 1], writer, place))
        throw AstError(
            fmt::format("two kernels write {} and neither waits for the other; assign to the "
                        "result of the first assign, or make one of them contiguous()",
                        target_text(writer)));
      const UOp version = i == 0 ? buffer : all[i - 1];
      if (const auto* all_readers = readers.find(version))
        for (const UOp& u : *all_readers)  // distinct, since a kernel reads a value once
          if (u != writer) first[writer].push_back(u);
    }
  if (first.empty()) return before;
  const auto needs = [&](const UOp& u) {
    std::vector<UOp> all = u.src();
    if (const auto* more = first.find(u)) all.insert(all.end(), more->begin(), more->end());
    return all;
  };
  struct Frame {
    UOp node;
    std::vector<UOp> needs;
    std::size_t next = 0;
  };
  std::vector<Frame> path;
  UOpSet entered;
  UOpMap<UOp> made;
  // A waiting cycle with an assign in it: a kernel needs the value both before and after.
  const auto refuse = [&](const UOp& back_at) {
    std::size_t i = path.size();
    do --i;
    while (path[i].node.op() != GraphOp::Assign && path[i].node != back_at);
    throw AstError(fmt::format(
        "cycle detected: kernels that wait for each other read {} both before and after it is "
        "assigned to; let all of them read the old buffer or the assigned result",
        path[i].node.op() == GraphOp::Assign ? target_text(path[i].node) : back_at.line()));
  };
  const auto enter = [&](const UOp& u) {
    if (made.has(u)) return;
    if (!entered.add(u)) refuse(u);
    path.push_back({u, needs(u), 0});
  };
  enter(sink);
  while (!path.empty()) {
    if (Frame& f = path.back(); f.next < f.needs.size()) {
      enter(UOp(f.needs[f.next++]));
      continue;
    }
    const Frame done = std::move(path.back());
    path.pop_back();
    std::vector<UOp> src;
    for (const UOp& n : done.needs) src.push_back(*made.find(n));
    made.set(done.node, src == done.node.src() ? done.node : done.node.with_src(std::move(src)));
  }
  RewriteMap out;
  for (const auto& [u, result] : made)
    if (u != result) out.set(u, result);
  for (const auto& [node, result] : before) out.set(node, result_of(out, result));
  return out;
}

}  // namespace kernelize

std::vector<UOp> order_of_kernels(const UOp& sink) {
  std::vector<UOp> all;
  for (const UOp& u : sink.toposort())
    if (u.op() == GraphOp::Assign && u.src().size() > 1 && u.src(1).op() == GraphOp::Kernel)
      all.push_back(u);
  UOpMap<std::vector<UOp>> after;
  UOpMap<int> open;
  for (const UOp& u : all) {
    UOpSet before;
    std::vector<UOp> reads(u.src().begin() + 2, u.src().end());
    const std::vector<UOp>& of_kernel = u.src(1).src();
    reads.insert(reads.end(), of_kernel.begin() + 1, of_kernel.end());
    for (std::size_t i = 0; i < reads.size(); ++i) {
      const UOp b = reads[i].base();  // parts of a stack may be reshaped
      if (b.op() == GraphOp::MSelect || b.op() == GraphOp::MStack) {
        reads.insert(reads.end(), b.src().begin(), b.src().end());
        continue;
      }
      if (b.op() == GraphOp::Buffer) continue;
      if (b.op() != GraphOp::Assign)
        throw AstError("input to kernel must be ASSIGN or BUFFER, not " + b.line());
      if (before.add(b)) after[b].push_back(u);
    }
    open.set(u, static_cast<int>(before.size()));
  }
  std::deque<UOp> ready;
  for (const UOp& u : all)
    if (*open.find(u) == 0) ready.push_back(u);
  std::vector<UOp> order;
  while (!ready.empty()) {
    const UOp u = ready.front();
    ready.pop_front();
    order.push_back(u);
    if (const auto* next = after.find(u))
      for (const UOp& n : *next)
        if (--*open.find(n) == 0) ready.push_back(n);
  }
  if (order.size() != all.size()) throw AstError("kernels wait for each other");
  return order;
}

}  // namespace touchstone
