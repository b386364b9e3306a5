#include <algorithm>
#include <limits>

#include "touchstone/codegen/index_lowering.h"
#include "touchstone/codegen/linearizer.h"
#include "touchstone/shapetracker/index/shortest_index.h"

namespace touchstone::codegen {

namespace {

Scalar zero(DType d) { return Scalar::from_bits(d, 0); }

Scalar initial_value(Op op, DType d) {
  if (op == Op::ReduceSum || is_bool(d) || is_unsigned(d)) return zero(d);
  if (is_float(d)) return Scalar::from_double(d, -std::numeric_limits<double>::infinity());
  return Scalar::from_bits(d, std::uint64_t{1} << (8 * itemsize(d) - 1));
}

}  // namespace

int Linearizer::elementwise(const LazyOp& node, int indices) {
  Operands src;
  for (const LazyOpPtr& s : node.src()) src.push_back(made(s.get(), indices));
  switch (node.op()) {
    case Op::Cast: return cast(src[0], node.dtype(), node.cast_arg().bitcast);
    case Op::Noop: return src[0];
    case Op::MulAcc:  // two roundings, as MUL and ADD
      return builder_.alu(Op::Add, node.dtype(),
                          {builder_.alu(Op::Mul, node.dtype(), {src[0], src[1]}), src[2]});
    case Op::Max:
    case Op::Div:
    case Op::Neg:
    case Op::Add:
    case Op::Sub:
    case Op::Mul:
    case Op::Mod:
    case Op::Xor:
    case Op::Where:
    TOUCHSTONE_CASES_FUNCTION:
    TOUCHSTONE_CASES_COMPARISON:
    TOUCHSTONE_CASES_REDUCE:
    TOUCHSTONE_CASES_NOT_COMPUTED:
      break;
  }
  if (node.op() == Op::Function)
    return builder_.value(
        {StepKind::Alu, node.dtype(), src, node.op(), node.function_arg().function});
  return builder_.alu(node.op(), node.dtype(), src);
}

int Linearizer::define_accumulator(const LazyOp& reduce, StepArg lanes) {
  const DType type = reduce.reduce_arg().accumulator;
  const int initial = builder_.constant(initial_value(reduce.op(), type));
  return builder_.here({StepKind::DefineAcc, type, {initial}, std::move(lanes)});
}

int Linearizer::reduced(const LazyOp& reduce, int accumulated, int term) {
  const DType type = reduce.reduce_arg().accumulator;
  const int converted = cast(term, type);
  const Op op = reduce.op() == Op::ReduceMax ? Op::Max : Op::Add;
  return alu(op, type, {accumulated, converted}, true);
}

bool Linearizer::fuses(const LazyOp& reduce) const {
  const LazyOp& term = *reduce.src()[0];
  const DType type = reduce.reduce_arg().accumulator;
  return contract_ && reduce.op() == Op::ReduceSum && term.op() == Op::Mul &&
         term.dtype() == type && (type == DType::Float32 || type == DType::Float64);
}

std::span<const LazyOpPtr> Linearizer::parts_of(const LazyOp& reduce) const {
  return fuses(reduce) ? std::span<const LazyOpPtr>(reduce.src()[0]->src())
                       : std::span<const LazyOpPtr>(reduce.src());
}

int Linearizer::add_term(const LazyOp& reduce, int accumulated, int indices) {
  const std::span<const LazyOpPtr> parts = parts_of(reduce);
  if (!fuses(reduce)) return reduced(reduce, accumulated, made(parts[0].get(), indices));
  return alu(Op::MulAcc, reduce.reduce_arg().accumulator,
             {made(parts[0].get(), indices), made(parts[1].get(), indices), accumulated}, true);
}

int Linearizer::reduce_of_nothing(const LazyOp& reduce) {
  const DType type = reduce.reduce_arg().accumulator;
  return cast(builder_.constant(initial_value(reduce.op(), type)), reduce.dtype());
}

int Linearizer::cast(int value, DType to, bool bitcast) {
  if (builder_.uop(value).dtype == to) return value;
  return builder_.value({bitcast ? StepKind::Bitcast : StepKind::Cast, to, {value}, {}});
}

int Linearizer::alu(Op op, DType dtype, Operands src, bool stay) {
  LinearStep uop{StepKind::Alu, dtype, src, op};
  return stay ? builder_.here(std::move(uop)) : builder_.value(std::move(uop));
}

int Linearizer::load(const LazyOp& node, int indices) {
  const IndexExpr where = address(node.buffer().st, indices);
  if (where.valid.constant() == 0) return builder_.constant(zero(node.dtype()));
  Operands src{global(node.buffer().idx, node.dtype()), lower(where.index, indices)};
  if (!where.valid.constant()) src.push_back(lower(where.valid, indices));
  return builder_.value({StepKind::Load, node.dtype(), src, {}});
}

// The view uses the position as the index of its first axis; a position out of range counts as 0
// and nothing is read.
int Linearizer::gather(const LazyOp& node, int indices) {
  const ShapeTracker& st = node.buffer().st;
  const sint& rows = st.shape()[0];
  const int none = builder_.int_const(0), position = made(node.src()[0].get(), indices);
  if (node.buffer().checked) check(*node.buffer().checked, rows, position, indices);
  if (rows == sint(0)) return builder_.constant(zero(node.dtype()));
  int inside = builder_.index(IndexOp::And,
                              {builder_.index(IndexOp::Le, {none, position}),
                               builder_.index(IndexOp::Lt, {position, lower(rows.node(), -1)})});
  std::string name;
  do name = fmt::format("p{}", counters_++);
  while (names_.contains(name));
  names_[name] = builder_.index(IndexOp::Where, {inside, position, none});
  const std::int64_t most = rows.max().value_or(std::numeric_limits<std::int64_t>::max());
  Indices at{symbolic::variable(name, 0, std::max<std::int64_t>(most - 1, 0))};
  const Indices& rest = indices_[static_cast<std::size_t>(indices)];
  at.insert(at.end(), rest.begin(), rest.end());
  const IndexExpr where = shapetracker::shortest_idxs(st, at);
  if (where.valid.constant() == 0) return builder_.constant(zero(node.dtype()));
  if (!where.valid.constant())
    inside = builder_.index(IndexOp::And, {inside, lower(where.valid, indices)});
  const std::optional<std::int64_t> known = builder_.known(inside);
  if (known == 0) return builder_.constant(zero(node.dtype()));
  Operands from{global(node.buffer().idx, node.dtype()), lower(where.index, indices)};
  if (!known) from.push_back(inside);
  return builder_.value({StepKind::Load, node.dtype(), from, {}});
}

void Linearizer::check(const ShapeTracker& numbers, const sint& rows, int position, int indices) {
  const IndexExpr number = address(numbers, indices);
  if (number.valid.constant() == 0) return;
  int called = lower(number.index, indices);
  if (!number.valid.constant())
    called = builder_.index(IndexOp::Where,
                            {lower(number.valid, indices), called, builder_.int_const(-1)});
  builder_.value({StepKind::Check, DType::Int64, {position, lower(rows.node(), -1), called}, {}});
}

int Linearizer::masked_constant(const LazyOp& node, int indices) {
  const Scalar& value = node.constant().value;
  const symbolic::Node valid = address(node.constant().st, indices).valid;
  if (valid.constant() == 0) return builder_.constant(zero(value.dtype()));
  const int constant = builder_.constant(value);
  if (valid.constant()) return constant;
  const int condition = cast(lower(valid, indices), DType::Bool);
  return builder_.alu(Op::Where, value.dtype(),
                      {condition, constant, builder_.constant(zero(value.dtype()))});
}

int Linearizer::global(int number, DType dtype) {
  return builder_.value({StepKind::DefineGlobal, dtype, {}, number});
}

// Cached: a kernel uses few views, often.
IndexExpr Linearizer::address(const ShapeTracker& st, int indices) {
  const std::uint64_t hash = hash_mix(st.hash(), static_cast<std::uint64_t>(indices));
  const auto [first, last] = addresses_.equal_range(hash);
  for (auto known = first; known != last; ++known)
    if (known->second.indices == indices && *known->second.view == st) return known->second.expr;
  const IndexExpr expr =
      shapetracker::shortest_idxs(st, indices_[static_cast<std::size_t>(indices)]);
  addresses_.emplace(hash, Address{&st, indices, expr});
  return expr;
}

int Linearizer::lower(symbolic::Node node, int indices) {
  // Shortcut for most indices.
  if (const auto constant = node.constant()) return builder_.int_const(*constant);
  for (const auto& [variable, counter] : loops_)
    if (variable == node) return counter;
  const auto key = std::make_pair(indices, node.id());
  if (const auto it = lowered_.find(key); it != lowered_.end() && it->second.first == node)
    return it->second.second;
  const int value = lower_index(builder_, node, names_);
  lowered_[key] = {node, value};
  return value;
}

}  // namespace touchstone::codegen
