#include "touchstone/kernelize/kernelize.h"

#include <algorithm>

#include "touchstone/kernelize/grouping.h"
#include "touchstone/kernelize/kernels.h"
#include "touchstone/kernelize/limits.h"
#include "touchstone/kernelize/multi.h"
#include "touchstone/kernelize/walk.h"
#include "touchstone/uop/spec.h"

namespace touchstone {
namespace {

using namespace kernelize;  // NOLINT(google-build-using-namespace): the passes

OpSet all_but(OpSet without) {
  OpSet set;
  for (const GraphOpInfo& row : graph_op_table)
    if (!without.has(row.op)) set.add(row.op);
  return set;
}

PatternMatcher barriers() {
  return PatternMatcher({
      {"a barrier behind each value that gets memory",
       UPat(all_but({GraphOp::Gbarrier, GraphOp::Assign, GraphOp::Sink})),
       [](const Match& m) {
         const UOp& u = m.root();
         if (u.tag() || !m.context<UOpSet>().has(u)) return UOp();
         return u.with_tag(1).ask(GraphOp::Gbarrier).with_tag({});
       },
       "the tag records that it has its barrier"},
  });
}

// The first distinct buffers below a node.
std::vector<UOp> buffers_below(const UOp& u) {
  constexpr OpSet kStored{GraphOp::Buffer, GraphOp::Gbarrier, GraphOp::Assign, GraphOp::MStack};
  std::vector<UOp> found;
  walk_sources(u, [&](const UOp& at) {
    if (kStored.has(at.op())) found.push_back(at);
    return !kStored.has(at.op());
  });
  return found;
}

struct Tidying {
  int most_buffers = 0;
};

int most_buffers_of_device(const UOp& u) {
  for (const std::string& name : u.device())
    if (const int most = kernelize::most_buffers_of(name); most != 0) return most;
  return 0;
}

UOp limit_buffers(const Match& m) {
  constexpr OpSet kStored{GraphOp::Buffer, GraphOp::Gbarrier, GraphOp::Assign, GraphOp::MStack};
  const int asked = m.context<Tidying>().most_buffers;
  const UOp& u = m.root();
  const int most = asked != 0 ? asked : most_buffers_of_device(u);
  if (most == 0 || static_cast<int>(buffers_below(u).size()) < most - 1) return {};
  bool any = false;
  std::vector<UOp> src;
  for (const UOp& s : u.src()) {
    const UOp base = s.base();
    if (kStored.has(base.op()) || base.op() == GraphOp::Const) {
      src.push_back(s);
      continue;
    }
    any = true;
    src.push_back(s.with_tag(1).ask(GraphOp::Gbarrier));
  }
  return any ? u.with_src(std::move(src)) : UOp();
}

PatternMatcher tidy() {
  const UPat x = UPat::var("x");
  return PatternMatcher({
      {"limit of buffers",
       UPat(OpSet::of(GraphOpGroup::Binary) | OpSet::of(GraphOpGroup::Ternary) | GraphOp::Function),
       limit_buffers, "a kernel has a limited number of buffers"},
      {"barrier of a barrier",
       UPat(OpSet{GraphOp::Gbarrier, GraphOp::Contiguous})
           .over({UPat(GraphOp::Gbarrier).named("x")}),
       [](const Match& m) { return m[0]; }, "it already has memory"},
      {"barrier of a view", UPat(GraphOp::Gbarrier).over({UPat(GraphOp::View).named("x")}),
       [](const Match& m) {
         return m.root().with_src(
             {m[0].with_tag({}).contiguous().with_tag(m[0].tag().value_or(1))});
       },
       "a view is stored by a kernel that copies"},
      {"barrier of a constant", UPat(GraphOp::Gbarrier).over({UPat::cvar("x")}),
       [](const Match& m) { return m[0].with_tag({}); }, "it needs no memory"},
  });
}

PatternMatcher drop_tags() {
  return PatternMatcher(
      {{"drop the tag", UPat(all_but({GraphOp::Gbarrier})),
        [](const Match& m) { return m.root().tag() ? m.root().with_tag({}) : UOp(); },
        "equal nodes are merged again"}});
}

const PatternMatcher& devices_alone() {
  static const PatternMatcher rules = device_rules();
  return rules;
}
const PatternMatcher& simplify_alone() {
  static const PatternMatcher rules = simplification();
  return rules;
}
const PatternMatcher& simplify_with_devices() {
  static const PatternMatcher rules = placement_rules() + stored_stacks() + simplification();
  return rules;
}

UOpSet memory_of(const UOp& sink, const Config& config, Policy policy) {
  UOpSet also;
  for (;;) {
    UOpSet memory = what_gets_memory(sink, config, policy, also);
    const std::size_t before = also.size();
    seen_too_often(sink, memory, kMostViews).for_each([&](const UOp& u) { also.add(u); });
    if (also.size() == before) return memory;
  }
}

}  // namespace

int kernelize::most_buffers_of(std::string_view device) {
  if (device == "WEBGPU" || device.starts_with("WEBGPU:")) return 8;
  if (device == "METAL" || device.starts_with("METAL:")) return 32;
  return 0;
}

RewriteMap kernelize_graph(const UOp& sink, const Config& config, Assigns assigns,
                           std::optional<Policy> asked) {
  type_verify(sink, SpecLevel::Tensor);
#ifndef NDEBUG
  SpecRecorder verify;  // checks after every pass
  const RecorderScope scope(verify);
#endif
  static const PatternMatcher put_barriers = barriers(), tidy_up = tidy(), drop = drop_tags(),
                              to_kernels = create_kernels();
  Simplifying shared{config};
  const bool several = has_several_devices(sink);
  Policy policy = config.scheduler == Scheduler::Ranges ? Policy::Ranges : Policy::Kernelize;
  if (asked && !(several && *asked == Policy::Lazy)) policy = *asked;
  if (policy == Policy::Lazy) return kernels_at(sink, memory_of(sink, config, policy));
  RewriteMap map;
  if (several)
    map = graph_rewrite_map(sink, devices_alone(), RewriteContext(shared), {.pass = "devices"});
  const PatternMatcher& rules = several ? simplify_with_devices() : simplify_alone();
  const auto simplify = [&] {
    map = graph_rewrite_map(result_of(map, sink), rules, RewriteContext(shared),
                            {.pass = "simplify"}, &map);
  };
  simplify();
  if (config.kernelize.fuse_arange) {
    map = fuse_aranges(result_of(map, sink), map);
    simplify();
  }
  UOp at = result_of(map, sink);
  UOpSet memory = memory_of(at, config, policy);
  map = graph_rewrite_map(at, put_barriers, RewriteContext(memory),
                          {.order = RewriteOrder::BottomUp, .pass = "barriers"}, &map);
  Tidying tidying{config.kernelize.max_kernel_buffers};
  map = graph_rewrite_map(result_of(map, sink), tidy_up, RewriteContext(tidying),
                          {.pass = "tidy barriers"}, &map);
  map = graph_rewrite_map(result_of(map, sink), drop, {}, {.pass = "drop tags"}, &map);
  map = graph_rewrite_map(result_of(map, sink), to_kernels, {}, {.pass = "kernels"}, &map);
  at = result_of(map, sink);
  if (assigns == Assigns::InPlace) map = order_assigns(at, map);
  type_verify(result_of(map, sink), SpecLevel::Tensor);
  return map;
}

}  // namespace touchstone
