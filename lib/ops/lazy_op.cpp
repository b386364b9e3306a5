#include "touchstone/ops/lazy_op.h"

#include <algorithm>
#include <unordered_set>

#include "touchstone/base/hash.h"
#include "touchstone/ops/accepted_types.h"
#include "touchstone/ops/node_map.h"
#include "touchstone/ops/node_order.h"

namespace touchstone {
namespace {

struct Typed {
  DType dtype;
  Shape shape;
};

[[noreturn]] void reject(Op op, const std::string& why) {
  throw AstError(fmt::format("{}: {}", name(op), why));
}

template <class Arg>
const Arg& need_arg(Op op, const OpArg& arg, std::string_view what) {
  const Arg* found = std::get_if<Arg>(&arg);
  if (found == nullptr) reject(op, fmt::format("needs {}", what));
  return *found;
}

void check_operand_type(Op op, DType d) {
  if (!takes(op, d))
    reject(op, fmt::format("takes {}, not {}; cast the operand first", accepted(info(op).types),
                           name(d)));
}

void check_same_shape(Op op, const std::vector<LazyOpPtr>& src) {
  for (std::size_t i = 1; i < src.size(); ++i)
    if (src[i]->shape() != src[0]->shape())
      reject(op,
             fmt::format("operands 0 and {} have shapes {} and {}; fold expands and reshapes into "
                         "the views so that they agree",
                         i, str(src[0]->shape()), str(src[i]->shape())));
}

void check_same_dtype(Op op, const std::vector<LazyOpPtr>& src, std::size_t first) {
  for (std::size_t i = first + 1; i < src.size(); ++i)
    if (src[i]->dtype() != src[first]->dtype())
      reject(op, fmt::format("operands {} and {} have dtypes {} and {}; insert a CAST", first, i,
                             name(src[first]->dtype()), name(src[i]->dtype())));
}

Typed check_cast(const LazyOp& x, const CastArg& arg) {
  if (arg.bitcast && itemsize(arg.to) != itemsize(x.dtype()))
    reject(Op::Cast,
           fmt::format("a bitcast keeps the size, but {} has {} bytes and {} has {}",
                       name(x.dtype()), itemsize(x.dtype()), name(arg.to), itemsize(arg.to)));
  if (arg.bitcast && is_bool(arg.to) && !is_bool(x.dtype()))
    reject(Op::Cast,
           "a bitcast to bool could hold other bits than 0 and 1; compare with 0 instead");
  return {arg.to, x.shape()};
}

bool may_accumulate(Op op, DType source, DType accumulator) {
  if (op == Op::ReduceMax) return accumulator == source;
  if (is_bool(source)) return true;
  const DTypeInfo &s = info(source), &a = info(accumulator);
  if (is_float(source)) return is_float(accumulator) && promote(source, accumulator) == accumulator;
  return s.kind == a.kind && a.itemsize >= s.itemsize;
}

Typed check_reduce(Op op, const LazyOp& x, const ReduceArg& arg) {
  const int rank = static_cast<int>(x.shape().size());
  Shape shape = x.shape();
  for (std::size_t i = 0; i < arg.axes.size(); ++i) {
    const int axis = arg.axes[i];
    if (axis < 0 || axis >= rank)
      reject(op, fmt::format("axis {} is not in [0, {}) of shape {}", axis, rank, str(x.shape())));
    if (i > 0 && axis <= arg.axes[i - 1]) reject(op, "axes must be sorted and distinct");
    shape[static_cast<std::size_t>(axis)] = 1;
  }
  if (!may_accumulate(op, x.dtype(), arg.accumulator))
    reject(op, fmt::format("cannot accumulate {} in {}", name(x.dtype()), name(arg.accumulator)));
  return {x.dtype(), std::move(shape)};
}

Typed check_elementwise(Op op, const std::vector<LazyOpPtr>& src, const OpArg& arg) {
  check_same_shape(op, src);
  if (op == Op::Cast) return check_cast(*src[0], need_arg<CastArg>(op, arg, "a dtype to cast to"));
  const std::size_t first = op == Op::Where ? 1 : 0;
  if (op == Op::Where && !is_bool(src[0]->dtype()))
    reject(op, fmt::format("the condition has dtype {}; compare it first to get bool",
                           name(src[0]->dtype())));
  check_same_dtype(op, src, first);
  check_operand_type(op, src[first]->dtype());
  const bool compares = op == Op::CmpLt || op == Op::CmpEq;
  return {compares ? DType::Bool : src[first]->dtype(), src[0]->shape()};
}

Typed check_function(const std::vector<LazyOpPtr>& src, const FunctionArg& arg) {
  const FunctionInfo& f = info(arg.function);
  const std::size_t wanted = static_cast<std::size_t>(f.arity) + (arg.or_last ? 1 : 0);
  if (src.size() != wanted)
    reject(Op::Function, fmt::format("{} takes {} operand{}, not {}", f.name, wanted,
                                     wanted == 1 ? "" : "s", src.size()));
  check_same_shape(Op::Function, src);
  check_same_dtype(Op::Function, src, 0);
  if (!is_float(src[0]->dtype()))
    reject(Op::Function, fmt::format("{} takes floats, not {}; cast the operand first", f.name,
                                     name(src[0]->dtype())));
  return {src[0]->dtype(), src[0]->shape()};
}

Typed check_store(const LazyOp& x, const MemBuffer& buffer) {
  if (buffer.dtype != x.dtype())
    reject(Op::Store, fmt::format("writes {} into a {} buffer; insert a CAST", name(x.dtype()),
                                  name(buffer.dtype)));
  if (buffer.st.shape() != x.shape())
    reject(Op::Store, fmt::format("the view has shape {}, but the value {}", str(buffer.st.shape()),
                                  str(x.shape())));
  return {x.dtype(), x.shape()};
}

Typed check_gather(const LazyOp& position, const MemBuffer& buffer) {
  if (position.dtype() != DType::Int64)
    reject(Op::Gather,
           fmt::format("takes positions of int64, not {}; insert a CAST", name(position.dtype())));
  const Shape& axes = buffer.st.shape();
  if (axes.empty() ||
      !std::equal(axes.begin() + 1, axes.end(), position.shape().begin(), position.shape().end()))
    reject(Op::Gather, fmt::format("the view has shape {}, but the positions {}; the view must "
                                   "have one more axis, in front, which they index",
                                   str(axes), str(position.shape())));
  if (buffer.checked && buffer.checked->shape() != position.shape())
    reject(Op::Gather,
           fmt::format("the view that numbers the positions has shape {}, but the positions {}",
                       str(buffer.checked->shape()), str(position.shape())));
  return {buffer.dtype, position.shape()};
}

Typed check(Op op, const std::vector<LazyOpPtr>& src, const OpArg& arg) {
  if (op != Op::Function && static_cast<int>(src.size()) != info(op).arity)
    reject(op, fmt::format("takes {} operand{}, not {}", info(op).arity,
                           info(op).arity == 1 ? "" : "s", src.size()));
  for (const LazyOpPtr& s : src)
    if (s == nullptr) reject(op, "has a null operand");
  if (op == Op::Function)
    return check_function(src, need_arg<FunctionArg>(op, arg, "the name of a function"));
  if (is_elementwise(op)) return check_elementwise(op, src, arg);
  if (is_reduce(op)) {
    check_operand_type(op, src[0]->dtype());
    return check_reduce(op, *src[0], need_arg<ReduceArg>(op, arg, "axes to reduce"));
  }
  switch (op) {
    case Op::Load:
    case Op::Gather: {
      const MemBuffer& b = need_arg<MemBuffer>(op, arg, "a buffer");
      if (b.idx < 0) reject(op, fmt::format("buffer number {} is negative", b.idx));
      if (op == Op::Gather) return check_gather(*src[0], b);
      if (b.checked) reject(op, "has no positions to check");
      return {b.dtype, b.st.shape()};
    }
    case Op::Const: {
      const ConstBuffer& c = need_arg<ConstBuffer>(op, arg, "a value");
      return {c.value.dtype(), c.st.shape()};
    }
    case Op::Store:
      return check_store(*src[0], need_arg<MemBuffer>(op, arg, "a buffer"));
    TOUCHSTONE_CASES_COMPUTED:
    case Op::Function:
    TOUCHSTONE_CASES_MOVEMENT:
    TOUCHSTONE_CASES_LOAD:
      break;
  }
  reject(op,
         "does not belong in a kernel; movement is folded into views, and loads are scheduled "
         "separately");
}

}  // namespace

std::uint64_t hash_of(const OpArg& arg) {
  struct Visitor {
    std::uint64_t operator()(std::monostate) const { return 0; }
    std::uint64_t operator()(const MemBuffer& b) const {
      const std::uint64_t h =
          hash_mix(hash_mix(static_cast<std::uint64_t>(b.idx), static_cast<std::uint64_t>(b.dtype)),
                   b.st.hash());
      return b.checked ? hash_mix(h, b.checked->hash()) : h;
    }
    std::uint64_t operator()(const ConstBuffer& c) const {
      return hash_mix(hash_mix(c.value.bits(), static_cast<std::uint64_t>(c.value.dtype())),
                      c.st.hash());
    }
    std::uint64_t operator()(const CastArg& c) const {
      return hash_mix(static_cast<std::uint64_t>(c.to), c.bitcast ? 1U : 0U);
    }
    std::uint64_t operator()(const ReduceArg& r) const {
      std::uint64_t h = static_cast<std::uint64_t>(r.accumulator);
      for (const int axis : r.axes) h = hash_mix(h, static_cast<std::uint64_t>(axis));
      return h;
    }
    std::uint64_t operator()(const RandArg& r) const { return hash_mix(r.seed, r.first); }
    std::uint64_t operator()(const FunctionArg& f) const {
      return hash_mix(static_cast<std::uint64_t>(f.function), f.or_last ? 1U : 0U);
    }
  };
  return hash_mix(arg.index(), std::visit(Visitor{}, arg));
}

std::string_view accepted(OpTypes types) {
  switch (types) {
    case OpTypes::None: return "no operands";
    case OpTypes::All: return "any type";
    case OpTypes::Floats: return "floats";
    case OpTypes::Numbers: return "integers and floats";
    case OpTypes::IntsAndBool: return "integers and bool";
  }
  return "";
}

LazyOp::LazyOp(Op op, std::vector<LazyOpPtr> src, OpArg arg)
    : op_(op), src_(std::move(src)), arg_(std::move(arg)) {
  Typed typed = check(op_, src_, arg_);
  dtype_ = typed.dtype;
  shape_ = std::move(typed.shape);
  hash_ = hash_mix(static_cast<std::uint64_t>(op_), hash_of(arg_));
  for (const LazyOpPtr& s : src_) hash_ = hash_mix(hash_, s->hash());
}

LazyOp::~LazyOp() {
  // Takes over operands that only this node owns, so that destructors do not nest.
  std::vector<LazyOpPtr> doomed = std::move(src_);
  while (!doomed.empty()) {
    const LazyOpPtr last = std::move(doomed.back());
    doomed.pop_back();
    if (last == nullptr || last.use_count() != 1) continue;
    auto& below = const_cast<LazyOp&>(*last).src_;  // sole owner: may take it apart
    std::move(below.begin(), below.end(), std::back_inserter(doomed));
    below.clear();
  }
}

LazyOpPtr LazyOp::make(Op op, std::vector<LazyOpPtr> src, OpArg arg) {
  struct Made : LazyOp {  // lets make_shared construct it
    Made(Op its_op, std::vector<LazyOpPtr> its_src, OpArg its_arg)
        : LazyOp(its_op, std::move(its_src), std::move(its_arg)) {}
  };
  return std::make_shared<Made>(op, std::move(src), std::move(arg));
}

LazyOpPtr LazyOp::load(int idx, DType dtype, ShapeTracker st) {
  return make(Op::Load, {}, MemBuffer{idx, dtype, std::move(st)});
}
LazyOpPtr LazyOp::gather(int idx, DType dtype, ShapeTracker st, LazyOpPtr position,
                         std::optional<ShapeTracker> checked) {
  return make(Op::Gather, {std::move(position)},
              MemBuffer{idx, dtype, std::move(st), std::move(checked)});
}
LazyOpPtr LazyOp::constant(Scalar value, ShapeTracker st) {
  return make(Op::Const, {}, ConstBuffer{value, std::move(st)});
}
LazyOpPtr LazyOp::unary(Op op, LazyOpPtr x) { return make(op, {std::move(x)}, {}); }
LazyOpPtr LazyOp::cast(LazyOpPtr x, DType to, bool bitcast) {
  return make(Op::Cast, {std::move(x)}, CastArg{to, bitcast});
}
LazyOpPtr LazyOp::binary(Op op, LazyOpPtr a, LazyOpPtr b) {
  return make(op, {std::move(a), std::move(b)}, {});
}
LazyOpPtr LazyOp::ternary(Op op, LazyOpPtr a, LazyOpPtr b, LazyOpPtr c) {
  return make(op, {std::move(a), std::move(b), std::move(c)}, {});
}
LazyOpPtr LazyOp::function(NamedFunction function, std::vector<LazyOpPtr> operands) {
  return make(Op::Function, std::move(operands), FunctionArg{function});
}
LazyOpPtr LazyOp::reduce(Op op, LazyOpPtr x, std::vector<int> axes) {
  const DType accumulator = op == Op::ReduceSum ? sum_accumulator(x->dtype()) : x->dtype();
  return reduce(op, std::move(x), std::move(axes), accumulator);
}
LazyOpPtr LazyOp::reduce(Op op, LazyOpPtr x, std::vector<int> axes, DType accumulator) {
  return make(op, {std::move(x)}, ReduceArg{std::move(axes), accumulator});
}
LazyOpPtr LazyOp::store(ShapeTracker st, LazyOpPtr x) {
  const DType dtype = x->dtype();
  return make(Op::Store, {std::move(x)}, MemBuffer{0, dtype, std::move(st)});
}

bool same(const LazyOpPtr& a, const LazyOpPtr& b) {
  if (a == b) return true;
  if (a->hash() != b->hash()) return false;
  struct PairHash {
    std::size_t operator()(const std::pair<const LazyOp*, const LazyOp*>& p) const {
      return static_cast<std::size_t>(hash_mix(reinterpret_cast<std::uintptr_t>(p.first),
                                               reinterpret_cast<std::uintptr_t>(p.second)));
    }
  };
  std::unordered_set<std::pair<const LazyOp*, const LazyOp*>, PairHash> done;
  std::vector<std::pair<const LazyOp*, const LazyOp*>> open{{a.get(), b.get()}};
  while (!open.empty()) {
    const auto [x, y] = open.back();
    open.pop_back();
    if (x == y || !done.emplace(x, y).second) continue;
    if (x->hash() != y->hash() || x->op() != y->op() || x->src().size() != y->src().size() ||
        x->arg() != y->arg())
      return false;
    for (std::size_t i = 0; i < x->src().size(); ++i)
      open.emplace_back(x->src()[i].get(), y->src()[i].get());
  }
  return true;
}

namespace {

constexpr std::size_t kUsualNodes = 24;

// Calls found(node) for each node, operands before users.
template <class Found>
void walk(const LazyOpPtr& root, const Found& found) {
  NodeMap<bool> seen(kUsualNodes);
  std::vector<std::pair<const LazyOpPtr*, std::size_t>> path;  // a node and its next operand
  path.reserve(kUsualNodes);
  seen.emplace(root.get(), true);
  path.emplace_back(&root, 0);
  while (!path.empty()) {
    auto& [node, next] = path.back();
    if (next < (*node)->src().size()) {
      const LazyOpPtr& operand = (*node)->src()[next++];
      if (seen.emplace(operand.get(), true).second) path.emplace_back(&operand, 0);
    } else {
      found(*node);
      path.pop_back();
    }
  }
}

}  // namespace

std::vector<LazyOpPtr> toposort(const LazyOpPtr& root) {
  std::vector<LazyOpPtr> order;
  order.reserve(kUsualNodes);
  walk(root, [&](const LazyOpPtr& node) { order.push_back(node); });
  return order;
}

std::vector<const LazyOp*> ordered_nodes(const LazyOpPtr& root) {
  std::vector<const LazyOp*> order;
  order.reserve(kUsualNodes);
  walk(root, [&](const LazyOpPtr& node) { order.push_back(node.get()); });
  return order;
}

std::vector<const LazyOp*> ordered_nodes(const LazyOp& root) {
  return ordered_nodes(LazyOpPtr(LazyOpPtr(), &root));
}

std::vector<std::size_t> looped_axes(const LazyOp& reduce) {
  std::vector<std::size_t> axes;
  for (const int axis : reduce.reduce_arg().axes)
    if (const auto i = static_cast<std::size_t>(axis); reduce.src()[0]->shape()[i] != sint(1))
      axes.push_back(i);
  return axes;
}

LazyOpPtr with_src(const LazyOpPtr& node, std::vector<LazyOpPtr> src) {
  return LazyOp::make(node->op(), std::move(src), node->arg());
}

LazyOpPtr rebuild(
    const LazyOpPtr& root,
    const std::function<LazyOpPtr(const LazyOpPtr&, const std::vector<LazyOpPtr>&)>& f) {
  NodeMap<LazyOpPtr> made(kUsualNodes);
  std::vector<LazyOpPtr> src;
  walk(root, [&](const LazyOpPtr& node) {
    src.clear();
    for (const LazyOpPtr& s : node->src()) src.push_back(made[s.get()]);
    made.emplace(node.get(), f(node, src));
  });
  return made[root.get()];
}

}  // namespace touchstone
