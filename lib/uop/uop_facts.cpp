// Derived facts of a node: its layout and its devices.
#include <algorithm>

#include "touchstone/uop/uop.h"
#include "touchstone/uop/uop_map.h"

namespace touchstone {
namespace {

using TrackerPtr = std::shared_ptr<const ShapeTracker>;

const UOpFacts* known(const UOpNode* n) { return n->facts.load(std::memory_order_acquire); }

const UOpNode* ast_of(const UOpNode& n) {
  const auto* kernel = std::get_if<UOpKernelPtr>(&n.arg);
  return kernel == nullptr || *kernel == nullptr ? nullptr : (*kernel)->ast.address();
}

TrackerPtr shared(ShapeTracker st) { return std::make_shared<const ShapeTracker>(std::move(st)); }
TrackerPtr contiguous(Shape shape) { return shared(ShapeTracker::contiguous(std::move(shape))); }

[[noreturn]] void no_arg(const UOpNode& n) {
  throw AstError(fmt::format("{} has an argument of another type", name(n.op)));
}
template <class T>
const T& arg_of(const UOpNode& n) {
  const T* found = std::get_if<T>(&n.arg);
  if (found == nullptr) no_arg(n);
  return *found;
}

ShapeTracker moved(const UOpNode& n, const ShapeTracker& st) {
  switch (n.op) {
    case GraphOp::Reshape: return st.reshape(arg_of<Shape>(n));
    case GraphOp::Expand: return st.expand(arg_of<Shape>(n));
    case GraphOp::Permute: return st.permute(arg_of<std::vector<int>>(n));
    case GraphOp::Pad: return st.pad(arg_of<Mask>(n));
    case GraphOp::Shrink: return st.shrink(arg_of<Mask>(n));
    default: return st.flip(arg_of<std::vector<int>>(n));
  }
}

// The common shape of all sources; null if none has one.
TrackerPtr common(const UOpNode& n) {
  const UOpFacts* first = nullptr;
  for (const UOp& s : n.src) {
    const UOpFacts* facts = known(s.address());
    if (!facts->wrong.empty()) throw ShapeError(facts->wrong);
    if (facts->st == nullptr) continue;
    if (first == nullptr) first = facts;
    if (facts->st->shape() != first->st->shape())
      throw ShapeError(fmt::format("{}: sources of shapes {} and {}", name(n.op),
                                   str(first->st->shape()), str(facts->st->shape())));
  }
  if (first == nullptr) return nullptr;
  return first->st->is_contiguous() ? first->st : contiguous(first->st->shape());
}

TrackerPtr with_axis(const TrackerPtr& st, std::size_t axis, const sint& size) {
  Shape shape = st->shape();
  if (axis >= shape.size()) throw ShapeError(fmt::format("axis {} of {}", axis, str(shape)));
  shape[axis] = size;
  return contiguous(std::move(shape));
}

TrackerPtr st_of_source(const UOpNode& n, std::size_t i) {
  if (n.src.size() <= i) throw AstError(fmt::format("{} has no source {}", name(n.op), i));
  const UOpFacts* facts = known(n.src[i].address());
  if (!facts->wrong.empty()) throw ShapeError(facts->wrong);
  return facts->st;
}

TrackerPtr reduced(const UOpNode& n) {
  const TrackerPtr st = common(n);
  if (st == nullptr) return nullptr;
  Shape shape = st->shape();
  for (const int axis : arg_of<UOpReduce>(n).axes) {
    if (axis < 0 || static_cast<std::size_t>(axis) >= shape.size())
      throw ShapeError(fmt::format("REDUCE_AXIS: no axis {} in {}", axis, str(shape)));
    shape[static_cast<std::size_t>(axis)] = 1;
  }
  return contiguous(std::move(shape));
}

TrackerPtr rescaled(const UOpNode& n) {
  const TrackerPtr st = common(n);
  const std::size_t from = itemsize(n.src[0].dtype().base), to = itemsize(n.dtype.base);
  if (st == nullptr || from == to) return st;
  if (st->rank() == 0)
    throw ShapeError("BITCAST: a single element cannot become one of another size");
  const sint bytes = st->shape().back() * sint(static_cast<std::int64_t>(from));
  const sint width(static_cast<std::int64_t>(to));
  if (!certainly_eq(floor_mod(bytes, width), 0))
    throw ShapeError(fmt::format("BITCAST: the last axis of {} does not divide into {} bytes",
                                 str(st->shape()), to));
  return with_axis(st, st->shape().size() - 1, floor_div(bytes, width));
}

TrackerPtr of_parts(const UOpNode& n, const UOpNode* device) {
  switch (n.op) {
    case GraphOp::View: return shared(arg_of<ShapeTracker>(n));
    case GraphOp::Buffer: return contiguous({sint(arg_of<std::int64_t>(n))});
    case GraphOp::BufferView: {
      const Mask& part = arg_of<Mask>(n);
      if (part.size() != 1) no_arg(n);
      return contiguous({part[0].second});
    }
    case GraphOp::Load:
    case GraphOp::Store:
    case GraphOp::Valid:
    case GraphOp::Const:
    case GraphOp::DefineVar:
      for (const UOp& s : n.src)
        if (s.op() == GraphOp::View) return known(s.address())->st;
      return nullptr;
    case GraphOp::Assign:
    case GraphOp::MSelect:
    case GraphOp::Copy:
    case GraphOp::Gather:
      if (n.op != GraphOp::Assign) {
        const TrackerPtr st = st_of_source(n, 0);
        return st == nullptr || st->is_contiguous() ? st : contiguous(st->shape());
      }
      return st_of_source(n, 0);
    case GraphOp::Custom: return contiguous(arg_of<UOpFill>(n).shape);
    case GraphOp::Kernel: {
      const UOpNode* ast = ast_of(n);
      if (ast == nullptr) no_arg(n);
      const UOpNode* value =
          ast->op == GraphOp::Sink && !ast->src.empty() ? ast->src[0].address() : ast;
      const UOpFacts* facts = known(value);
      if (facts->st == nullptr) return nullptr;
      return contiguous({facts->st->size()});
    }
    case GraphOp::Sink:
    case GraphOp::Device:
    case GraphOp::Unique:
    case GraphOp::DefineGlobal: return nullptr;
    case GraphOp::Multi: {
      const TrackerPtr st = st_of_source(n, 0);
      const auto axis = static_cast<std::size_t>(arg_of<std::int64_t>(n));
      if (st == nullptr || device == nullptr) return st;
      const auto* names = std::get_if<std::vector<std::string>>(&device->arg);
      const auto count = static_cast<std::int64_t>(names == nullptr ? 1 : names->size());
      if (axis >= st->shape().size()) throw ShapeError("MULTI: no such axis");
      return with_axis(st, axis, st->shape()[axis] * sint(count));
    }
    case GraphOp::ReduceAxis: return reduced(n);
    case GraphOp::Bitcast: return n.src.empty() ? nullptr : rescaled(n);
    default: break;
  }
  if (is_movement(n.op)) {
    const TrackerPtr st = st_of_source(n, 0);
    return st == nullptr ? nullptr : shared(moved(n, *st));
  }
  return common(n);
}

const UOpNode* device_of_source(const UOpNode& n, std::size_t i) {
  return i < n.src.size() ? known(n.src[i].address())->device : nullptr;
}

// The DEVICE node below; null for MSELECT and MSTACK, which change it.
const UOpNode* device_of(const UOpNode& n) {
  if (n.op == GraphOp::Device) return &n;
  if (n.op == GraphOp::MSelect || n.op == GraphOp::MStack) return nullptr;
  if (n.op == GraphOp::Copy || n.op == GraphOp::Buffer || n.op == GraphOp::Allreduce)
    return device_of_source(n, 1);
  for (std::size_t i = 0; i < n.src.size(); ++i)
    if (const UOpNode* found = device_of_source(n, i)) return found;
  return nullptr;
}

std::vector<std::string> names_of(const UOpNode* device) {
  if (device == nullptr) return {};
  if (const auto* several = std::get_if<std::vector<std::string>>(&device->arg)) return *several;
  const auto* one = std::get_if<std::string>(&device->arg);
  return one == nullptr ? std::vector<std::string>{} : std::vector{*one};
}

// MSELECT: one of the names below; MSTACK: those of all sources; null if there is none.
UOp chosen_device(const UOpNode& n) {
  std::vector<std::string> names;
  if (n.op == GraphOp::MSelect) {
    const auto* which = std::get_if<std::int64_t>(&n.arg);
    const std::vector<std::string> of = names_of(device_of_source(n, 0));
    if (which == nullptr || *which < 0 || static_cast<std::size_t>(*which) >= of.size()) return {};
    names = {of[static_cast<std::size_t>(*which)]};
  } else if (n.op == GraphOp::MStack) {
    for (std::size_t i = 0; i < n.src.size(); ++i)
      for (std::string& name : names_of(device_of_source(n, i))) names.push_back(std::move(name));
  }
  return names.empty() ? UOp() : UOp::device(std::move(names));
}

void publish(const UOpNode* n) {
  auto made = std::make_unique<UOpFacts>();
  made->device = device_of(*n);
  if (UOp chosen = chosen_device(*n)) {
    made->device = chosen.address();
    made->chosen = std::move(chosen);
  }
  try {
    made->st = of_parts(*n, made->device);
  } catch (const Error& e) {
    const std::string why = e.what();
    made->wrong = why.find(name(n->op)) == 0 ? why : fmt::format("{}: {}", name(n->op), why);
  }
  const UOpFacts* none = nullptr;
  if (n->facts.compare_exchange_strong(none, made.get(), std::memory_order_acq_rel))
    static_cast<void>(made.release());
}

}  // namespace

const UOpFacts& facts_of(const UOpNode* node) {
  if (const UOpFacts* facts = known(node)) return *facts;
  std::vector<const UOpNode*> path{node};
  const auto ready = [&](const UOpNode* below) {
    if (below == nullptr || known(below) != nullptr) return true;
    path.push_back(below);
    return false;
  };
  while (!path.empty()) {
    const UOpNode* const n = path.back();
    bool all = true;
    if (known(n) == nullptr) {
      for (const UOp& s : n->src) all = ready(s.address()) && all;
      if (const UOpNode* ast = ast_of(*n)) {
        all = ready(ast) && all;
        if (ast->op == GraphOp::Sink && !ast->src.empty())
          all = ready(ast->src[0].address()) && all;
      }
      if (all) publish(n);
    }
    if (all) path.pop_back();
  }
  return *known(node);
}

const ShapeTracker* UOp::st() const {
  const UOpFacts& facts = facts_of(node_);
  if (!facts.wrong.empty()) throw ShapeError(facts.wrong);
  return facts.st.get();
}

const ShapeTracker& UOp::tracker() const {
  if (const ShapeTracker* found = st()) return *found;
  throw AstError(line() + " has no shape");
}

UOp UOp::base() const {
  UOp at = *this;
  while (!at.src().empty() && (is_movement(at.op()) || at.op() == GraphOp::Multi))
    at = UOp(at.src(0));
  return at;
}

sint UOp::size() const {
  if (op() == GraphOp::Buffer) return arg_as<std::int64_t>();
  return tracker().size();
}

UOp UOp::device_node() const {
  const UOpNode* found = facts_of(node_).device;
  return found == nullptr ? UOp() : UOpNode::handle(found);
}

std::vector<std::string> UOp::device() const { return names_of(facts_of(node_).device); }

UOp UOp::buf_uop() const {
  if (op() == GraphOp::Buffer || op() == GraphOp::BufferView) return *this;
  if (op() == GraphOp::Assign) return src(0).base();
  if (op() == GraphOp::MSelect || op() == GraphOp::MStack) {
    std::vector<UOp> of;
    for (const UOp& s : src()) of.push_back(s.buf_uop());
    return with_src(std::move(of));
  }
  throw AstError(line() + " has no buffer");
}

namespace {

std::optional<int> axis_after_reshape(const Shape& before, const Shape& after, int axis) {
  sint wanted = 1, product = 1;
  for (int i = 0; i < axis; ++i) wanted = wanted * before[static_cast<std::size_t>(i)];
  std::optional<int> found;
  for (std::size_t i = 0; i < after.size(); ++i) {
    if (product == wanted) found = static_cast<int>(i);
    product = product * after[i];
  }
  if (!found)
    throw AstError(fmt::format("RESHAPE of {} to {} splits axis {}, along which it is sharded",
                               str(before), str(after), axis));
  return found;
}

// The sharding axis of a node, given those of its sources.
std::optional<int> axis_of(const UOp& u, const UOpMap<std::optional<int>>& known) {
  const auto of = [&](std::size_t i) { return *known.find(u.src(i)); };
  if (u.op() == GraphOp::Multi) return static_cast<int>(u.arg_as<std::int64_t>());
  if (u.src().empty() || u.op() == GraphOp::Copy || u.op() == GraphOp::Allreduce)
    return std::nullopt;
  if (is_elementwise(u.op())) {
    std::optional<int> last;
    for (std::size_t i = 0; i < u.src().size(); ++i)
      if (of(i)) last = of(i);
    return last;
  }
  const std::optional<int> axis = of(0);
  if (!axis) return std::nullopt;
  if (u.op() == GraphOp::ReduceAxis)
    return std::ranges::count(u.arg_as<UOpReduce>().axes, *axis) > 0 ? std::nullopt : axis;
  if (u.op() == GraphOp::Reshape) return axis_after_reshape(u.src(0).shape(), u.shape(), *axis);
  if (u.op() == GraphOp::Permute) {
    const auto& order = u.arg_as<std::vector<int>>();
    return static_cast<int>(std::ranges::find(order, *axis) - order.begin());
  }
  return axis;
}

}  // namespace

std::optional<int> UOp::axis() const {
  UOpMap<std::optional<int>> known;
  for (const UOp& u : toposort()) known.emplace(u, axis_of(u, known));
  return *known.find(*this);
}

std::vector<UOp> UOp::toposort(const std::function<bool(const UOp&)>& gate) const {
  std::vector<UOp> order;
  UOpSet entered;
  struct Frame {
    UOp node;
    std::size_t next;
  };
  std::vector<Frame> path;
  const auto enter = [&](const UOp& u) {
    if (entered.has(u) || (gate && !gate(u))) return;
    entered.add(u);
    path.push_back({u, 0});
  };
  enter(*this);
  while (!path.empty()) {
    Frame& frame = path.back();
    if (frame.next < frame.node.src().size()) {
      enter(UOp(frame.node.src(frame.next++)));
      continue;
    }
    order.push_back(std::move(frame.node));
    path.pop_back();
  }
  return order;
}

}  // namespace touchstone
