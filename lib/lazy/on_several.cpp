#include "touchstone/lazy/on_several.h"

#include "touchstone/kernelize/multi.h"
#include "touchstone/kernelize/rules.h"
#include "touchstone/uop/graph_op.h"

namespace touchstone::lazy {
namespace {

const PatternMatcher& shards() {
  static const PatternMatcher rules = kernelize::shard_rules();
  return rules;
}

UOp some_of(const LazyBuffer& x) {
  const Shape local = shape_on_each(x);
  const UOp buffer = UOp::new_buffer(UOp::device(x.devices()), max_elements(local), x.dtype());
  const UOp held = kernelize::as_shape(buffer, local);
  return x.axis() ? held.multi(*x.axis()) : held;
}

// The part of x on device i; for a shard, its elements only.
UOp selected(const LazyBuffer& x, const UOp& node, std::size_t i) {
  if (!x.axis()) return node.mselect(i);
  const auto number = static_cast<std::int64_t>(i);
  return node.shrink(part_mask(x.shape(), *x.axis(), number, x.devices().size())).mselect(i);
}

UOp moved(const LazyBuffer::Move& move, const UOp& x) {
  if (move.op != GraphOp::Multi) return UOp::make(move.op, x.dtype(), {x}, move.arg);
  const int axis = static_cast<int>(std::get<std::int64_t>(move.arg));
  return kernelize::part_of(x, axis, x.device().size()).multi(axis);
}

}  // namespace

Shape shape_on_each(const LazyBuffer& base) {
  Shape local = base.shape();
  if (base.axis()) {
    sint& size = local[static_cast<std::size_t>(*base.axis())];
    size = floor_div(size, static_cast<std::int64_t>(base.devices().size()));
  }
  return local;
}

UOp node_of(const LazyBuffer& b, std::vector<UOp> src) {
  const Op op = b.op();
  if (const LazyBuffer::Move* const move = b.move()) {
    if (move->op != GraphOp::MSelect && move->op != GraphOp::MStack) return moved(*move, src[0]);
    const auto number = std::get<std::int64_t>(move->arg);
    if (move->op == GraphOp::MSelect)
      return selected(*b.srcs()[0], src[0], static_cast<std::size_t>(number));
    const UOp all = UOp::mstack(std::move(src));
    return number < 0 ? all : all.multi(static_cast<int>(number));
  }
  if (op == Op::Contiguous) return src[0].contiguous();
  if (op == Op::Noop) return src[0];
  if (is_reduce(op))
    return src[0].reduce(op == Op::ReduceMax ? GraphOp::Max : GraphOp::Add,
                         std::get<ReduceArg>(b.arg()).axes);
  if (op == Op::Cast) {
    const auto& arg = std::get<CastArg>(b.arg());
    return arg.bitcast ? src[0].bitcast(arg.to) : src[0].cast(arg.to);
  }
  const UOp first = src[0];
  src.erase(src.begin());
  if (op == Op::Function)
    return first.call(std::get<FunctionArg>(b.arg()).function, std::move(src));
  return first.alu(*graph_op_of(op, is_float(first.dtype().base)), std::move(src));
}

std::optional<int> axis_of_result(const LazyBuffer& base) {
  if (base.move() != nullptr && base.move()->op == GraphOp::Multi)
    return static_cast<int>(std::get<std::int64_t>(base.move()->arg));
  const bool keeps = is_pointwise(base.op()) || is_reduce(base.op()) ||
                     base.op() == Op::Contiguous || base.op() == Op::Noop;
  bool any = false;
  for (const LazyBufferPtr& s : base.srcs()) any = any || s->axis().has_value();
  if (!any || !keeps) return std::nullopt;
  std::vector<UOp> src;
  for (const LazyBufferPtr& s : base.srcs()) src.push_back(some_of(*s));
  const UOp result = shards().rewrite(node_of(base, std::move(src)));
  if (!result || result.op() != GraphOp::Multi) return std::nullopt;
  return static_cast<int>(result.arg_as<std::int64_t>());
}

}  // namespace touchstone::lazy
