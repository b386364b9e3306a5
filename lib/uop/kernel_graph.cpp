#include "touchstone/uop/kernel_graph.h"

#include <unordered_map>

namespace touchstone {
namespace {

UOp global(int number, DType d) {
  return UOp::make(GraphOp::DefineGlobal, UOpType::pointer(d), {}, std::int64_t{number});
}
UOp seen(int number, DType d, const ShapeTracker& st) {
  return UOp::make(GraphOp::View, UOpType::pointer(d), {global(number, d)}, st);
}

UOp constant(const ConstBuffer& c) {
  const UOp view = UOp::make(GraphOp::View, UOpType::none(), {}, c.st);
  const UOp plain =
      UOp::make(GraphOp::View, UOpType::none(), {},
                ShapeTracker().reshape(Shape(c.st.shape().size(), 1)).expand(c.st.shape()));
  const DType d = c.value.dtype();
  const UOp value = UOp::make(GraphOp::Const, d, {plain}, c.value);
  if (!c.st.masked()) return value;
  const UOp zero = UOp::make(GraphOp::Const, d, {plain}, Scalar::from_int(d, 0));
  return UOp::make(GraphOp::Where, d,
                   {UOp::make(GraphOp::Valid, DType::Bool, {view}), value, zero});
}

UOp node_of(const LazyOp& n, std::vector<UOp> src) {
  if (n.op() == Op::Load)
    return UOp::make(GraphOp::Load, n.dtype(),
                     {seen(n.buffer().idx, n.buffer().dtype, n.buffer().st)});
  if (n.op() == Op::Const) return constant(n.constant());
  if (n.op() == Op::Store)
    return UOp::sink(
        {UOp::make(GraphOp::Store, UOpType::none(), {seen(0, n.dtype(), n.buffer().st), src[0]})});
  if (n.op() == Op::Cast)
    return UOp::make(n.cast_arg().bitcast ? GraphOp::Bitcast : GraphOp::Cast, n.dtype(),
                     std::move(src));
  if (n.op() == Op::Noop) return src[0];
  if (n.op() == Op::Function)
    return src[0].call(n.function_arg().function, {src.begin() + 1, src.end()});
  const DType of = n.src().empty() ? n.dtype() : n.src()[0]->dtype();
  const std::optional<GraphOp> op =
      is_reduce(n.op()) ? GraphOp::ReduceAxis : graph_op_of(n.op(), is_float(of));
  if (!op) throw AstError(fmt::format("{}: graphs do not support this op", info(n.op()).name));
  UOpArg arg;
  if (*op == GraphOp::Gather) {
    src.push_back(global(n.buffer().idx, n.buffer().dtype));
    arg = UOpGather{n.buffer().st, n.buffer().checked};
  }
  if (*op == GraphOp::ReduceAxis)
    arg = UOpReduce{n.op() == Op::ReduceMax ? GraphOp::Max : GraphOp::Add, n.reduce_arg().axes,
                    false};
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
