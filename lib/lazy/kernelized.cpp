#include "touchstone/lazy/kernelized.h"

#include <cassert>
#include <unordered_map>
#include <utility>

#include "touchstone/kernelize/op_of.h"
#include "touchstone/kernelize/rules.h"
#include "touchstone/lazy/fusion.h"
#include "touchstone/lazy/schedule_values.h"

namespace touchstone::lazy {
namespace {

// A GATHER is a kernel of its own here.
bool fills(Op op) {
  return op == Op::Empty || op == Op::Rand || op == Op::Custom || op == Op::Gather;
}

class Converter {
 public:
  explicit Converter(TensorGraph& graph) : graph_(graph) {}

  void add(LazyBuffer& base) {
    const UOp node = made(base);
    if (RecorderScope::current() != nullptr) {  // which operation it is, for those who watch
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
    if (base.realized() != nullptr) {
      const UOp buffer = UOp::new_buffer(device(base), base.realized()->size(), base.dtype());
      graph_.buffers.set(buffer, base.shared_from_this());
      node = kernelize::as_shape(buffer, base.shape());
    } else {
      node = UOp::constant(std::get<ConstBuffer>(base.arg()).value, {}, device(base));
    }
    nodes_.emplace(&base, node);
    return node;
  }

 private:
  UOp device(const LazyBuffer& b) { return UOp::device(b.device()); }

  UOp seen(const LazyBufferPtr& x) {
    const UOp base = of(x->base());
    return x->is_base() ? base : base.view(x->st());
  }

  UOp made(LazyBuffer& b) {
    std::vector<UOp> src;
    for (const LazyBufferPtr& s : b.srcs())
      src.push_back(b.op() != Op::Gather ? seen(s)
                    : s->is_const_base() ? seen(s).contiguous()
                                         : of(s->base()).contiguous());  // gather() has the view
    const UOp node = computed(b, std::move(src));
    return b.must_realize() && !b.assigns_to() ? node.contiguous() : node;
  }

  UOp computed(LazyBuffer& b, std::vector<UOp> src) {
    const Op op = b.op();
    if (b.assigns_to())
      return kernelize::as_shape(of(b.assigns_to()->base()).base(), b.shape()).assign(src[0]);
    if (op == Op::Contiguous) return src[0].contiguous();
    if (op == Op::From) return src[0].copy_to(device(b));
    if (op == Op::Noop) return src[0];
    if (fills(op)) {
      src.insert(src.begin(), device(b));
      const auto id = static_cast<std::int64_t>(graph_.fills.size());
      graph_.fills.push_back(b.shared_from_this());
      return UOp::make(Ops::Custom, b.dtype(), std::move(src),
                       UOpFill{std::string(name(op)), id, b.shape()});
    }
    if (is_reduce(op))
      return src[0].reduce(op == Op::ReduceMax ? Ops::Max : Ops::Add,
                           std::get<ReduceArg>(b.arg()).axes);
    if (op == Op::Cast) {
      const auto& arg = std::get<CastArg>(b.arg());
      return arg.bitcast ? src[0].bitcast(arg.to) : src[0].cast(arg.to);
    }
    const UOp first = src[0];
    src.erase(src.begin());
    return first.alu(*kernelize::ops_of(op, is_float(first.dtype().base)), std::move(src));
  }

  TensorGraph& graph_;
  std::unordered_map<const LazyBuffer*, UOp> nodes_;
};

// The kernel whose result a rewritten node is, element by element in order; nullopt elsewhere.
std::optional<UOp> whole_result(const UOp& u, const LazyBuffer& base) {
  const UOp assign = u.base();
  if (assign.op() != Ops::Assign || u.dtype().base != base.dtype()) return std::nullopt;
  UOp at = u;
  while (at != assign) {  // nothing on the way moves an element
    if (!at.tracker().is_contiguous()) return std::nullopt;
    at = UOp(at.src(0));
  }
  if (max_elements(base.shape()) != max_elements(assign.shape())) return std::nullopt;
  return assign;
}

class Items {
 public:
  Items(TensorGraph graph, const symbolic::Values& values, const Config& config)
      : graph_(std::move(graph)), values_(values) {
    map_ = kernelize_graph(graph_.sink, config, Assigns::Exchanged);
  }

  std::vector<ScheduleItem> run() {
    for (const int output : graph_.outputs) claim(static_cast<std::size_t>(output));
    for (std::size_t i = 0; i < graph_.bases.size(); ++i) claim(i);
    for (const UOp& assign : order_of_kernels(result_of(map_, graph_.sink))) add(assign);
    for (const int output : graph_.outputs) copy(static_cast<std::size_t>(output));
    return std::move(items_);
  }

 private:
  // The kernel's result is this LazyBuffer.
  void claim(std::size_t i) {
    const LazyBufferPtr& base = graph_.bases[i];
    const UOp result = result_of(map_, graph_.nodes[i]);
    const auto assign = whole_result(result, *base);
    if (!assign) return;
    const bool over = graph_.buffers.has(assign->src(0));  // memory that was there before
    if (over != (base->assigns_to() != nullptr)) return;
    if (assign->src(1).op() != Ops::Kernel) return;  // nothing that is computed needs it
    const UOp& ast = assign->src(1).arg_as<UOpKernelPtr>()->ast;
    if (is_fill(ast) && fill_of(ast) != base) return;  // a sum with zeros, say
    if (owners_.emplace(*assign, base).second) own_.emplace(base.get(), *assign);
  }

  LazyBufferPtr owner(const UOp& memory) {
    if (memory.op() == Ops::Buffer) return *graph_.buffers.find(memory);
    if (const LazyBufferPtr* known = owners_.find(memory)) return *known;
    const UOp& buffer = memory.src(0);
    LazyBufferPtr made = LazyBuffer::empty({sint(buffer.arg_as<std::int64_t>())},
                                           buffer.dtype().base, buffer.device()[0]);
    owners_.set(memory, made);
    return made;
  }

  void add(const UOp& assign) {
    ScheduleItem item;
    item.out = owner(assign);
    const UOp& ast = assign.src(1).arg_as<UOpKernelPtr>()->ast;
    if (ast.op() == Ops::Sink || ast.op() == Ops::BufferView) {
      LoweredKernel kernel = lower_kernel(assign, Assigns::Exchanged);
      item.ast = std::move(kernel.ast);
      item.var_vals = values_of(item.ast, values_);
      for (const UOp& input : kernel.inputs) item.inputs.push_back(owner(input));
    } else if (ast.op() == Ops::Copy) {
      item.kind = Op::From;
      item.inputs.push_back(owner(ast.src(0).base()));
    } else {
      assert(is_fill(ast));
      fill(item, ast);
    }
    items_.push_back(std::move(item));
  }

  // Written into the memory of the LazyBuffer that it is, and no other's.
  static bool is_fill(const UOp& ast) { return ast.op() == Ops::Custom; }
  const LazyBufferPtr& fill_of(const UOp& ast) const {
    return graph_.fills[static_cast<std::size_t>(ast.arg_as<UOpFill>().id)];
  }

  void fill(ScheduleItem& item, const UOp& ast) {
    const LazyBufferPtr& base = fill_of(ast);
    item.out = base;
    for (const UOp& s : ast.src())
      if (s.op() != Ops::Device) item.inputs.push_back(owner(s.base()));
    if (base->op() != Op::Gather) {
      item.kind = base->op();
      return;
    }
    gather(item, *base);
  }

  void gather(ScheduleItem& item, LazyBuffer& base) {
    LazyBuffer& table = *base.srcs()[kTable];
    const LazyBuffer& at = *base.srcs()[1 - kTable];
    const ShapeTracker whole = ShapeTracker::contiguous(base.shape());
    const int from = item.inputs.size() > 1 && item.inputs[0] == item.inputs[1] ? 1 : 2;
    if (from == 1) item.inputs.pop_back();
    const LazyOpPtr position = LazyOp::load(1, DType::Int64, at.is_const_base() ? whole : at.st());
    MemBuffer read{from, table.dtype(), table.st()};
    if (const auto* own = std::get_if<MemBuffer>(&base.arg())) read.checked = own->checked;
    item.ast = LazyOp::store(whole, LazyOp::make(Op::Gather, {position}, std::move(read)));
    item.var_vals = values_of(item.ast, values_);
  }

  // An output that is a view of other memory, or a constant.
  void copy(std::size_t i) {
    const LazyBufferPtr& base = graph_.bases[i];
    if (own_.contains(base.get())) return;
    own_.emplace(base.get(), UOp());
    const UOp result = result_of(map_, graph_.nodes[i]);
    const UOp flat =
        UOp::new_buffer(UOp::device(base->device()), max_elements(base->shape()), base->dtype());
    auto kernel = std::make_shared<UOpKernel>();
    kernel->ast = UOp::sink({result});
    const UOp assign = flat.assign(
        UOp::make(Ops::Kernel, UOpType::none(), {flat}, UOpKernelPtr(std::move(kernel))));
    owners_.set(assign, base);
    add(assign);
  }

  TensorGraph graph_;
  const symbolic::Values& values_;
  RewriteMap map_;
  UOpMap<LazyBufferPtr> owners_;  // of an ASSIGN
  std::unordered_map<const LazyBuffer*, UOp> own_;
  std::vector<ScheduleItem> items_;
};

}  // namespace

TensorGraph tensor_graph(std::span<const LazyBufferPtr> outputs) {
  const Graph lazy = discover(outputs);
  TensorGraph graph;
  Converter convert(graph);
  std::unordered_map<int, int> place;
  for (const int i : lazy.bottom_up) {
    place.emplace(i, static_cast<int>(graph.bases.size()));
    convert.add(*lazy.nodes[static_cast<std::size_t>(i)].buffer);
  }
  UOpSet known;
  std::vector<UOp> roots;
  for (const int output : lazy.outputs) {
    if (output < 0) continue;
    const int at = place.at(output);
    graph.outputs.push_back(at);
    const UOp& node = graph.nodes[static_cast<std::size_t>(at)];
    if (known.add(node)) roots.push_back(node);
  }
  graph.sink = UOp::sink(std::move(roots));
  return graph;
}

std::vector<ScheduleItem> schedule_kernelized(std::span<const LazyBufferPtr> outputs,
                                              const symbolic::Values& values,
                                              const Config& config) {
  TensorGraph graph = tensor_graph(outputs);
  if (graph.outputs.empty()) return {};
  return Items(std::move(graph), values, config).run();
}

}  // namespace touchstone::lazy
