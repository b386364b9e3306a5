#include "touchstone/uop/kernel_graph.h"

#include <unordered_map>

namespace touchstone {
namespace {

std::optional<Ops> ops_of(Op op, DType of) {
  if (op == Op::Div) return is_float(of) ? Ops::Fdiv : Ops::Idiv;
  if (is_reduce(op)) return Ops::ReduceAxis;
  for (const OpsInfo& row : ops_table)  // the names agree in both tables
    if (row.name == info(op).name && is_elementwise(row.op)) return row.op;
  return std::nullopt;
}

UOp seen(int number, DType d, const ShapeTracker& st) {
  const UOpType pointer = UOpType::pointer(d);
  const UOp global = UOp::make(Ops::DefineGlobal, pointer, {}, std::int64_t{number});
  return UOp::make(Ops::View, pointer, {global}, st);
}

UOp constant(const ConstBuffer& c) {
  const UOp view = UOp::make(Ops::View, UOpType::none(), {}, c.st);
  const UOp plain =
      UOp::make(Ops::View, UOpType::none(), {},
                ShapeTracker().reshape(Shape(c.st.shape().size(), 1)).expand(c.st.shape()));
  const DType d = c.value.dtype();
  const UOp value = UOp::make(Ops::Const, d, {plain}, c.value);
  if (!c.st.masked()) return value;
  const UOp zero = UOp::make(Ops::Const, d, {plain}, Scalar::from_int(d, 0));
  return UOp::make(Ops::Where, d, {UOp::make(Ops::Valid, DType::Bool, {view}), value, zero});
}

UOp node_of(const LazyOp& n, std::vector<UOp> src) {
  if (n.op() == Op::Load)
    return UOp::make(Ops::Load, n.dtype(), {seen(n.buffer().idx, n.buffer().dtype, n.buffer().st)});
  if (n.op() == Op::Const) return constant(n.constant());
  if (n.op() == Op::Store)
    return UOp::sink(
        {UOp::make(Ops::Store, UOpType::none(), {seen(0, n.dtype(), n.buffer().st), src[0]})});
  if (n.op() == Op::Cast)
    return UOp::make(n.cast_arg().bitcast ? Ops::Bitcast : Ops::Cast, n.dtype(), std::move(src));
  if (n.op() == Op::Noop) return src[0];
  const std::optional<Ops> op = ops_of(n.op(), n.src().empty() ? n.dtype() : n.src()[0]->dtype());
  if (!op) throw AstError(fmt::format("{}: graphs do not support this op", info(n.op()).name));
  UOpArg arg;
  if (*op == Ops::ReduceAxis)
    arg = UOpReduce{n.op() == Op::ReduceMax ? Ops::Max : Ops::Add, n.reduce_arg().axes, false};
  return UOp::make(*op, n.dtype(), std::move(src), std::move(arg));
}

}  // namespace

UOp kernel_graph(const LazyOpPtr& kernel) {
  if (kernel->op() != Op::Store) throw AstError("a kernel must be a STORE");
  std::unordered_map<const LazyOp*, UOp> made;
  for (const LazyOpPtr& n : toposort(kernel)) {
    std::vector<UOp> src;
    for (const LazyOpPtr& s : n->src()) src.push_back(made.at(s.get()));
    made.emplace(n.get(), node_of(*n, std::move(src)));
  }
  return made.at(kernel.get());
}

}  // namespace touchstone
