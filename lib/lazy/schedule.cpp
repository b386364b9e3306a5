#include "touchstone/lazy/schedule.h"

#include <algorithm>
#include <cassert>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "touchstone/kernelize/kernelize.h"
#include "touchstone/kernelize/rules.h"
#include "touchstone/lazy/on_several.h"

namespace touchstone {
namespace lazy {
namespace {

bool fills(Op op) { return op == Op::Empty || op == Op::Rand || op == Op::Custom; }

// The values of a kernel's variables.
symbolic::Values values_of(const LazyOpPtr& kernel, const symbolic::Values& values) {
  symbolic::Values used;
  for (const symbolic::Node& v : variables_of(kernel)) {
    const std::string& name = symbolic::variable_name(v);
    const auto it = values.find(name);
    if (it == values.end())
      throw Error(fmt::format("schedule: variable '{}' has no value; pass one for it", name));
    used.emplace(*it);
  }
  return used;
}

// A graph of LazyBuffers converted to UOps.
struct TensorGraph {
  UOp sink;                          // over the bases of all outputs that need work
  std::vector<LazyBufferPtr> bases;  // bases to compute, sources first
  std::vector<UOp> nodes;            // one per base
  std::vector<int> outputs;          // indices of the requested bases
  UOpMap<LazyBufferPtr> buffers;     // BUFFER -> the LazyBuffer that owns it
  std::vector<LazyBufferPtr> fills;  // by id of UOpFill: RAND, EMPTY, CUSTOM
};

class Converter {
 public:
  explicit Converter(TensorGraph& graph) : graph_(graph) {}

  void add(LazyBuffer& base) {
    const UOp node = made(base);
    if (RecorderScope::current() != nullptr) {  // record the operation for tracing
      const std::string op = fmt::format("{} #{}", name(base.op()), graph_.bases.size());
      const Origin from = base.origin();
      const std::string by = from.name == nullptr ? "" : from.name;
      node.add_metadata(std::vector{by.empty()      ? UOpOrigin{op, ""}
                                    : from.gradient ? UOpOrigin{"gradient of " + by, op}
                                                    : UOpOrigin{by, op}});
    }
    nodes_.emplace(&base, node);
    graph_.bases.push_back(base.shared_from_this());
    graph_.nodes.push_back(node);
  }

  UOp of(LazyBuffer& base) {
    if (const auto it = nodes_.find(&base); it != nodes_.end()) return it->second;
    UOp node;
    if (base.is_realized()) {
      const Shape local = shape_on_each(base);
      const UOp buffer = UOp::new_buffer(device(base), max_elements(local), base.dtype());
      graph_.buffers.set(buffer, base.shared_from_this());
      node = kernelize::as_shape(buffer, local);
      if (base.axis()) node = node.multi(*base.axis());
    } else {
      node = UOp::constant(std::get<ConstBuffer>(base.arg()).value, {}, device(base));
    }
    nodes_.emplace(&base, node);
    return node;
  }

 private:
  UOp device(const LazyBuffer& b) { return UOp::device(b.devices()); }

  UOp seen(const LazyBufferPtr& x) {
    const UOp base = of(x->base());
    return x->is_base() ? base : base.view(x->st());
  }

  UOp made(LazyBuffer& b) {
    std::vector<UOp> src;
    for (const LazyBufferPtr& s : b.srcs()) src.push_back(seen(s));
    const UOp node = b.op() == Op::Gather ? gathered(b, src[0]) : computed(b, std::move(src));
    return b.must_realize() && !b.assigns_to() ? node.contiguous() : node;
  }

  UOp gathered(LazyBuffer& b, const UOp& positions) {
    LazyBuffer& table = *b.srcs()[1];
    const UOp base = of(table.base());
    UOpGather arg{table.st(), {}};
    if (const auto* own = std::get_if<MemBuffer>(&b.arg())) arg.checked = own->checked;
    return UOp::make(GraphOp::Gather, b.dtype(),
                     {positions, table.is_realized() ? base : base.contiguous()}, std::move(arg));
  }

  UOp computed(LazyBuffer& b, std::vector<UOp> src) {
    const Op op = b.op();
    if (b.several() && b.assigns_to()) return of(b.assigns_to()->base()).assign(src[0]);
    if (b.assigns_to())
      return kernelize::as_shape(of(b.assigns_to()->base()).base(), b.shape()).assign(src[0]);
    if (op == Op::From) return src[0].copy_to(device(b));
    if (fills(op)) {
      src.insert(src.begin(), device(b));
      const auto id = static_cast<std::int64_t>(graph_.fills.size());
      graph_.fills.push_back(b.shared_from_this());
      return UOp::make(GraphOp::Custom, b.dtype(), std::move(src),
                       UOpFill{std::string(name(op)), id, b.shape()});
    }
    return node_of(b, std::move(src));
  }

  TensorGraph& graph_;
  std::unordered_map<const LazyBuffer*, UOp> nodes_;
};

// The ASSIGN of the kernel whose result is a rewritten node, element by element in order; else
// nullopt.
std::optional<UOp> whole_result(const UOp& u, const LazyBuffer& base) {
  const UOp assign = u.base();
  if (assign.op() != GraphOp::Assign || u.dtype().base != base.dtype()) return std::nullopt;
  UOp at = u;
  while (at != assign) {  // no step may move an element
    if (!at.tracker().is_contiguous()) return std::nullopt;
    at = UOp(at.src(0));
  }
  const Shape& held = u.op() == GraphOp::Multi ? u.src(0).shape() : base.shape();
  if (max_elements(held) != max_elements(assign.shape())) return std::nullopt;
  return assign;
}

class Items {
 public:
  Items(TensorGraph graph, const symbolic::Values& values, const Config& config)
      : graph_(std::move(graph)), values_(values) {
    const bool lazy = config.scheduler == Scheduler::Lazy || config.scheduler == Scheduler::Check;
    map_ = kernelize_graph(graph_.sink, config, Assigns::Exchanged,
                           lazy ? std::optional(Policy::Lazy) : std::nullopt);
  }

  std::vector<ScheduleItem> run() {
    for (const int output : graph_.outputs) claim(static_cast<std::size_t>(output));
    for (std::size_t i = 0; i < graph_.bases.size(); ++i) claim(i);
    for (const UOp& assign : order_of_kernels(result_of(map_, graph_.sink))) add(assign);
    for (const int output : graph_.outputs) copy(static_cast<std::size_t>(output));
    return std::move(items_);
  }

 private:
  // Makes base i the result of its kernel.
  void claim(std::size_t i) {
    const LazyBufferPtr& base = graph_.bases[i];
    const UOp result = result_of(map_, graph_.nodes[i]);
    const auto assign = whole_result(result, *base);
    if (!assign) return;
    const bool over = graph_.buffers.has(assign->src(0));  // the memory existed before
    if (over != (base->assigns_to() != nullptr)) return;
    if (assign->src(1).op() != GraphOp::Kernel) return;  // it is not computed
    const UOp& ast = assign->src(1).arg_as<UOpKernelPtr>()->ast;
    if (is_fill(ast) && fill_of(ast) != base) return;  // e.g. a sum with zeros
    if (!owners_.emplace(*assign, base).second) return;
    own_.emplace(base.get(), *assign);
    axes_.emplace(base.get(), axis_of(result));
  }

  static LazyBufferPtr empty_like(const UOp& buffer, const std::string& device) {
    return LazyBuffer::empty({sint(buffer.arg_as<std::int64_t>())}, buffer.dtype().base, device);
  }

  // The LazyBuffer of memory on one device.
  LazyBufferPtr owner(const UOp& memory) {
    if (memory.op() == GraphOp::MSelect || memory.op() == GraphOp::MStack)
      return owners(memory).at(0);
    if (memory.op() == GraphOp::Buffer) return *graph_.buffers.find(memory);
    if (const LazyBufferPtr* known = owners_.find(memory)) return *known;
    LazyBufferPtr made = empty_like(memory.src(0), memory.src(0).device()[0]);
    owners_.set(memory, made);
    return made;
  }

  // The base of memory on each device.
  std::vector<LazyBufferPtr> owners(const UOp& memory) {
    if (memory.op() == GraphOp::MSelect)
      return {
          owners(memory.src(0).base())[static_cast<std::size_t>(memory.arg_as<std::int64_t>())]};
    if (memory.op() == GraphOp::MStack) {
      std::vector<LazyBufferPtr> all;
      for (const UOp& s : memory.src()) all.push_back(owner(s.base()));
      return all;
    }
    if (memory.device().size() == 1) return {owner(memory)};
    if (memory.op() == GraphOp::Buffer) return (*graph_.buffers.find(memory))->parts();
    std::vector<LazyBufferPtr>& parts = parts_[memory];
    if (parts.empty())
      for (const std::string& device : memory.src(0).device())
        parts.push_back(empty_like(memory.src(0), device));
    return parts;
  }

  void add(const UOp& assign) {
    const UOp& ast = assign.src(1).arg_as<UOpKernelPtr>()->ast;
    if (assign.device().size() > 1) return add_on_each(assign);
    ScheduleItem item;
    item.out = owner(assign);
    if (ast.op() == GraphOp::Sink || ast.op() == GraphOp::BufferView) {
      LoweredKernel kernel = lower_kernel(assign, Assigns::Exchanged);
      item.ast = std::move(kernel.ast);
      item.var_vals = values_of(item.ast, values_);
      for (const UOp& input : kernel.inputs) item.inputs.push_back(owner(input));
    } else if (ast.op() == GraphOp::Copy) {
      item.kind = Op::From;
      item.inputs.push_back(owner(ast.src(0).base()));
    } else {
      assert(is_fill(ast));
      fill(item, ast);
    }
    items_.push_back(std::move(item));
  }

  // Adds one kernel on each device, with the device's number.
  void add_on_each(const UOp& assign) {
    const LoweredKernel kernel = lower_kernel(assign, Assigns::Exchanged);
    const std::vector<LazyBufferPtr> out = owners(assign);
    const LazyBufferPtr* const base = owners_.find(assign);
    const LazyBufferPtr over = base != nullptr ? (*base)->assigns_to() : nullptr;
    for (std::size_t i = 0; i < out.size(); ++i) {
      ScheduleItem item;
      item.out = out[i];
      if (over != nullptr) item.out->exchange_with(over->parts().at(i));
      item.ast = kernel.ast;
      symbolic::Values values = values_;
      values[std::string(kDeviceNumber)] = static_cast<std::int64_t>(i);
      item.var_vals = values_of(item.ast, values);
      for (const UOp& input : kernel.inputs) item.inputs.push_back(owners(input).at(i));
      items_.push_back(std::move(item));
    }
    if (base != nullptr) give(*base, out, axes_[base->get()]);
  }

  static std::optional<int> axis_of(const UOp& result) {
    if (result.op() != GraphOp::Multi) return std::nullopt;
    return static_cast<int>(result.arg_as<std::int64_t>());
  }

  void give(const LazyBufferPtr& base, std::vector<LazyBufferPtr> parts, std::optional<int> axis) {
    ScheduleItem item;
    item.kind = Op::Noop;
    item.out = base;
    item.inputs = std::move(parts);
    item.axis = axis;
    items_.push_back(std::move(item));
  }

  // A fill writes the memory of its own LazyBuffer only.
  static bool is_fill(const UOp& ast) { return ast.op() == GraphOp::Custom; }
  const LazyBufferPtr& fill_of(const UOp& ast) const {
    return graph_.fills[static_cast<std::size_t>(ast.arg_as<UOpFill>().id)];
  }

  void fill(ScheduleItem& item, const UOp& ast) {
    const LazyBufferPtr& base = fill_of(ast);
    item.out = base;
    for (const UOp& s : ast.src())
      if (s.op() != GraphOp::Device) item.inputs.push_back(owner(s.base()));
    item.kind = base->op();
  }

  // Copies an output that is a view of other memory, or a constant.
  void copy(std::size_t i) {
    const LazyBufferPtr& base = graph_.bases[i];
    if (own_.contains(base.get())) return;
    own_.emplace(base.get(), UOp());
    UOp result = result_of(map_, graph_.nodes[i]);
    axes_[base.get()] = axis_of(result);
    if (result.op() == GraphOp::Multi) result = UOp(result.src(0));
    if (const auto stack = base->several() ? whole_stack(result) : std::nullopt) {
      give(base, owners(*stack), axes_[base.get()]);
      return;
    }
    const UOp flat =
        UOp::new_buffer(UOp::device(base->devices()), max_elements(result.shape()), base->dtype());
    auto kernel = std::make_shared<UOpKernel>();
    kernel->ast = UOp::sink({result});
    const UOp assign = flat.assign(
        UOp::make(GraphOp::Kernel, UOpType::none(), {flat}, UOpKernelPtr(std::move(kernel))));
    owners_.set(assign, base);
    add(assign);
  }

  // A stack of whole buffers in order, which can share them as its parts: buffers never change,
  // because assignments exchange memory.
  static std::optional<UOp> whole_stack(const UOp& result) {
    UOp at = result;
    while (is_movement(at.op()) && at.tracker().is_contiguous()) at = UOp(at.src(0));
    if (at.op() != GraphOp::MStack) return std::nullopt;
    for (const UOp& s : at.src()) {
      const UOp memory = s.base();
      if ((memory.op() != GraphOp::Assign && memory.op() != GraphOp::Buffer) ||
          !s.tracker().is_contiguous() ||
          max_elements(memory.shape()) != max_elements(result.shape()))
        return std::nullopt;
    }
    return at;
  }

  TensorGraph graph_;
  const symbolic::Values& values_;
  RewriteMap map_;
  UOpMap<LazyBufferPtr> owners_;                                    // by ASSIGN
  UOpMap<std::vector<LazyBufferPtr>> parts_;                        // by ASSIGN on several devices
  std::unordered_map<const LazyBuffer*, std::optional<int>> axes_;  // sharding axis
  std::unordered_map<const LazyBuffer*, UOp> own_;
  std::vector<ScheduleItem> items_;
};

// The bases to compute for `outputs`, sources first.
std::vector<LazyBufferPtr> bases_of(std::span<const LazyBufferPtr> outputs) {
  struct Frame {
    LazyBufferPtr base;
    std::size_t next = 0;
  };
  std::vector<LazyBufferPtr> bases;
  std::unordered_set<const LazyBuffer*> known;
  std::vector<Frame> path;
  const auto enter = [&](LazyBuffer& b) {
    if (!b.is_realized() && !b.is_const_base() && known.insert(&b).second)
      path.push_back({b.shared_from_this()});
  };
  for (const LazyBufferPtr& output : outputs) {
    enter(output->base());
    while (!path.empty()) {
      Frame& frame = path.back();
      if (frame.next < frame.base->srcs().size()) {
        enter(frame.base->srcs()[frame.next++]->base());
        continue;
      }
      bases.push_back(std::move(frame.base));
      path.pop_back();
    }
  }
  return bases;
}

TensorGraph tensor_graph(std::span<const LazyBufferPtr> outputs) {
  TensorGraph graph;
  Converter convert(graph);
  std::unordered_map<const LazyBuffer*, int> place;
  for (const LazyBufferPtr& base : bases_of(outputs)) {
    place.emplace(base.get(), static_cast<int>(graph.bases.size()));
    convert.add(*base);
  }
  UOpSet known;
  std::vector<UOp> roots;
  for (const LazyBufferPtr& output : outputs) {
    const auto at = place.find(&output->base());
    if (at == place.end()) continue;
    graph.outputs.push_back(at->second);
    const UOp& node = graph.nodes[static_cast<std::size_t>(at->second)];
    if (known.add(node)) roots.push_back(node);
  }
  graph.sink = UOp::sink(std::move(roots));
  return graph;
}

}  // namespace

bool needs_several(std::span<const LazyBufferPtr> outputs) {
  return std::ranges::any_of(bases_of(outputs), [](const LazyBufferPtr& b) {
    return b->several() || std::ranges::any_of(b->srcs(), &LazyBuffer::several);
  });
}

}  // namespace lazy

std::vector<ScheduleItem> schedule(std::span<const LazyBufferPtr> outputs,
                                   const symbolic::Values& values, const Config& config) {
  lazy::TensorGraph graph = lazy::tensor_graph(outputs);
  if (graph.outputs.empty()) return {};
  return lazy::Items(std::move(graph), values, config).run();
}

}  // namespace touchstone
