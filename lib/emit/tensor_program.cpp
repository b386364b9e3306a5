#include "touchstone/emit/tensor_program.h"

#include <algorithm>
#include <numbers>
#include <numeric>
#include <unordered_map>

#include <fmt/ranges.h>

#include "touchstone/base/checked.h"
#include "touchstone/base/error.h"

namespace touchstone::emit {
namespace {

using Kind = TensorOp::Kind;
using Moves = MovementOp::Kind;

constexpr std::int64_t kMostElements = std::int64_t{1} << 28;  // of a value on the way

std::int64_t count_of(const Sizes& shape) {
  std::int64_t n = 1;
  for (const std::int64_t size : shape) n = checked_mul(n, size);
  return n;
}
Shape shape_of(const Sizes& sizes) { return {sizes.begin(), sizes.end()}; }

}  // namespace

void Lowering::refuse(const std::string& what) const {
  throw ParseError(fmt::format("{} cannot say {}", language_, what));
}

int Lowering::add(TensorOp op) {
  if (count_of(op.shape) > kMostElements)
    refuse(fmt::format("a view within {} elements", kMostElements));
  program_.ops.push_back(std::move(op));
  return static_cast<int>(program_.ops.size()) - 1;
}

int Lowering::input(std::string name, DType dtype, Sizes shape) {
  program_.inputs.push_back(
      add({.dtype = dtype, .shape = std::move(shape), .name = std::move(name)}));
  return program_.inputs.back();
}

int Lowering::move(int x, MovementOp by) {
  if (by.kind == Moves::AsStrided) refuse("a view whose rows overlap in so many elements");
  // A reshape of a reshape is one.
  if (by.kind == Moves::Reshape && op(x).kind == Kind::Move && op(x).move.kind == Moves::Reshape)
    x = op(x).src[0];
  Sizes shape = concrete(apply(ShapeTracker::contiguous(shape_of(op(x).shape)), by).shape());
  if (by.kind == Moves::Reshape && shape == op(x).shape) return x;
  return add({.kind = Kind::Move,
              .dtype = op(x).dtype,
              .shape = std::move(shape),
              .src = {x},
              .move = std::move(by)});
}
int Lowering::reshape(int x, const Sizes& shape) {
  return move(x, {.kind = Moves::Reshape, .shape = shape_of(shape)});
}
int Lowering::seen(int x, const ShapeTracker& view) {
  if (view.nothing_valid()) return full(Scalar::from_bits(op(x).dtype, 0), concrete(view.shape()));
  const std::int64_t size = count_of(op(x).shape);
  x = reshape(x, {size});
  for (MovementOp& by : to_movement_ops(view, size)) x = move(x, std::move(by));
  return x;
}

int Lowering::full(Scalar value, const Sizes& shape) {
  const int x =
      reshape(add({.kind = Kind::Number, .dtype = value.dtype(), .shape = {1}, .value = value}),
              Sizes(shape.size(), 1));
  return op(x).shape == shape ? x : move(x, {.kind = Moves::Expand, .shape = shape_of(shape)});
}
int Lowering::number(double value, int like) {
  return full(Scalar::from_double(op(like).dtype, value), Sizes(op(like).shape));
}

int Lowering::cast(int x, DType dtype) {
  if (op(x).dtype == dtype) return x;
  return add({.kind = Kind::Cast, .dtype = dtype, .shape = op(x).shape, .src = {x}});
}

int Lowering::compute(std::string_view primitive, std::vector<int> src) {
  const TensorOp& x = op(src.back());
  if (!has_(primitive, x.dtype)) return without(primitive, src);
  const bool is_bool = primitive == "lt" || primitive == "eq";
  return add({.kind = Kind::Compute,
              .dtype = is_bool ? DType::Bool : x.dtype,
              .shape = Sizes(x.shape),
              .src = std::move(src),
              .name = std::string(primitive)});
}

int Lowering::without(std::string_view primitive, const std::vector<int>& src) {
  const DType dtype = op(src[0]).dtype;
  const int x = src[0];
  if (primitive == "exp2" && has_("pow", dtype)) return compute("pow", {number(2, x), x});
  if (primitive == "recip") return compute("div", {number(1, x), x});
  if (primitive == "trunc" && has_("floor", dtype))
    return compute("where",
                   {compute("lt", {x, number(0, x)}), compute("ceil", {x}), compute("floor", {x})});
  if (is_float(dtype) && dtype != DType::Float64 && has_("add", DType::Float64)) {
    std::vector<int> wide;
    for (const int s : src) wide.push_back(cast(s, DType::Float64));
    const int w = wide[0];
    const auto over_one_more = [&](int over) {  // over / (1 + exp(-x))
      const int e = compute("exp", {compute("neg", {w})});
      return compute("div", {over, compute("add", {number(1, w), e})});
    };
    int y = -1;
    if (has_(primitive, DType::Float64))
      y = compute(primitive, wide);
    else if (primitive == "exp2")
      y = compute("exp2", wide);
    else if (primitive == "log2")
      y = compute("mul", {compute("log", {w}), number(std::numbers::log2e, w)});
    else if (primitive == "log10")
      y = compute("mul", {compute("log", {w}), number(std::numbers::log10e, w)});
    else if (primitive == "rsqrt")
      y = compute("recip", {compute("sqrt", {w})});
    else if (primitive == "sigmoid")
      y = over_one_more(number(1, w));
    else if (primitive == "silu")
      y = over_one_more(w);
    if (y >= 0) return cast(y, dtype);
  }
  refuse(fmt::format("'{}' of {}", primitive, touchstone::name(dtype)));
}

/// Lowers the nodes of one kernel.
class KernelLowering {
 public:
  KernelLowering(Lowering& to, std::span<const int> buffers) : to_(to), buffers_(buffers) {}

  int value(const LazyOpPtr& kernel) {
    for (const LazyOpPtr& node : toposort(kernel)) made_[node.get()] = node_value(*node);
    return made_.at(kernel.get());
  }

 private:
  int buffer(int idx) const {
    if (idx < 1 || static_cast<std::size_t>(idx) > buffers_.size())
      throw ParseError(fmt::format("the kernel reads buffer {}, which is not given", idx));
    return buffers_[static_cast<std::size_t>(idx) - 1];
  }
  int operand(const LazyOp& node, std::size_t i) const { return made_.at(node.src()[i].get()); }

  int node_value(const LazyOp& node) {
    const auto x = [&](std::size_t i = 0) { return operand(node, i); };
    const auto binary = [&](std::string_view name) { return to_.compute(name, {x(0), x(1)}); };
    const auto unary = [&](std::string_view name) { return to_.compute(name, {x()}); };
    const DType from = node.src().empty() ? node.dtype() : node.src().back()->dtype();
    const bool is_bool = touchstone::is_bool(from);
    switch (node.op()) {
      case Op::Load: return to_.seen(buffer(node.buffer().idx), node.buffer().st);
      case Op::Const: {
        const auto& [value, st] = node.constant();
        if (!st.masked()) return to_.full(value, concrete(st.shape()));
        return to_.seen(to_.full(value, {st.real_size()}), st);
      }
      case Op::Gather: return gather(node);
      case Op::Store: return to_.reshape(x(), concrete(node.shape()));
      case Op::Noop: return x();
      case Op::Exp2: return unary("exp2");
      case Op::Log2: return unary("log2");
      case Op::Sin: return unary("sin");
      case Op::Sqrt: return unary("sqrt");
      case Op::Recip: return unary("recip");
      case Op::Neg:
        if (is_bool) return unary("not");
        if (is_unsigned(from)) return to_.compute("sub", {to_.number(0, x()), x()});
        return unary("neg");
      case Op::Cast:
        if (node.cast_arg().bitcast && from != node.dtype())
          return to_.add({.kind = Kind::Bitcast,
                          .dtype = node.dtype(),
                          .shape = to_.op(x()).shape,
                          .src = {x()}});
        return to_.cast(x(), node.dtype());
      case Op::Add: return binary(is_bool ? "or" : "add");
      case Op::Sub: return binary(is_bool ? "xor" : "sub");
      case Op::Mul: return binary(is_bool ? "and" : "mul");
      case Op::Div: return binary(is_float(from) ? "div" : "quotient");
      case Op::Max: return binary(is_bool ? "or" : "max");
      case Op::Mod: return binary("mod");
      case Op::CmpLt:
        if (is_bool) return to_.compute("and", {to_.compute("not", {x(0)}), x(1)});
        return binary("lt");
      case Op::CmpEq: return binary("eq");
      case Op::Xor: return binary(is_bool ? "xor" : "bit_xor");
      case Op::MulAcc:
        return to_.compute(is_bool ? "or" : "add",
                           {to_.compute(is_bool ? "and" : "mul", {x(0), x(1)}), x(2)});
      case Op::Where: return to_.compute("where", {x(0), x(1), x(2)});
      case Op::Function: {
        const FunctionArg& arg = node.function_arg();
        std::vector<int> src;
        for (std::size_t i = 0; i + (arg.or_last ? 1 : 0) < node.src().size(); ++i)
          src.push_back(x(i));
        return to_.compute(info(arg.function).name, std::move(src));
      }
      case Op::ReduceSum:
      case Op::ReduceMax:
        return reduced(node, x());
      TOUCHSTONE_CASES_MOVEMENT:
      TOUCHSTONE_CASES_LOAD:
        break;
    }
    throw AstError(fmt::format("{} is no node of a kernel", name(node.op())));
  }

  int reduced(const LazyOp& node, int x) {
    const DType dtype = node.dtype();
    const bool is_sum = node.op() == Op::ReduceSum && !is_bool(dtype);
    const Sizes shape = concrete(node.shape());
    if (count_of(to_.op(x).shape) == 0)
      return to_.full(is_sum || is_bool(dtype) ? Scalar::from_bits(dtype, 0) : least(dtype), shape);
    if (node.reduce_arg().axes.empty()) return x;
    if (is_sum) x = to_.cast(x, node.reduce_arg().accumulator);
    return to_.cast(to_.add({.kind = is_sum ? Kind::Sum : Kind::Max,
                             .dtype = to_.op(x).dtype,
                             .shape = shape,
                             .src = {x},
                             .axes = node.reduce_arg().axes}),
                    dtype);
  }
  static Scalar least(DType dtype) {
    if (is_float(dtype)) return Scalar::parse(dtype, "-inf");
    if (is_unsigned(dtype)) return Scalar::from_bits(dtype, 0);
    return Scalar::from_bits(dtype, std::uint64_t{1} << (8 * itemsize(dtype) - 1));
  }

  // Element (p, i) of the view is number p * |i| + i of its elements in order.
  int gather(const LazyOp& node) {
    const int p = operand(node, 0);
    const Sizes shape = concrete(node.shape());
    const std::int64_t rows = concrete(node.buffer().st.shape())[0], count = count_of(shape);
    const Scalar zero = Scalar::from_bits(node.dtype(), 0);
    if (rows == 0 || count == 0) return to_.full(zero, shape);
    const auto number = [&](std::int64_t n) {
      return to_.full(Scalar::from_int(DType::Int64, n), shape);
    };
    const int inside = to_.compute("and", {to_.compute("not", {to_.compute("lt", {p, number(0)})}),
                                           to_.compute("lt", {p, number(rows)})});
    const int row = to_.compute("where", {inside, p, number(0)});
    const int lanes =
        to_.reshape(to_.add({.kind = Kind::Iota, .dtype = DType::Int64, .shape = {count}}), shape);
    const int at = to_.compute("add", {to_.compute("mul", {row, number(count)}), lanes});
    const int flat = to_.reshape(to_.seen(buffer(node.buffer().idx), node.buffer().st),
                                 {checked_mul(rows, count)});
    const int taken =
        to_.add({.kind = Kind::Take, .dtype = node.dtype(), .shape = shape, .src = {flat, at}});
    return to_.compute("where", {inside, taken, to_.full(zero, shape)});
  }

  Lowering& to_;
  std::span<const int> buffers_;
  std::unordered_map<const LazyOp*, int> made_;
};

int Lowering::kernel(const LazyOpPtr& kernel, std::span<const int> buffers) {
  if (!variables_of(kernel).empty()) refuse("sizes with variables; bind them first");
  return KernelLowering(*this, buffers).value(kernel);
}

TensorProgram Lowering::done(std::vector<int> outputs) {
  program_.outputs = std::move(outputs);
  // Values that nothing needs are left out; inputs stay.
  std::vector<char> needed(program_.ops.size(), 0);
  for (const int o : program_.outputs) needed[static_cast<std::size_t>(o)] = 1;
  for (const int i : program_.inputs) needed[static_cast<std::size_t>(i)] = 1;
  for (std::size_t i = program_.ops.size(); i-- > 0;)
    if (needed[i] != 0)
      for (const int s : program_.ops[i].src) needed[static_cast<std::size_t>(s)] = 1;
  std::vector<int> place(program_.ops.size(), -1);
  TensorProgram out;
  const auto moved = [&](std::vector<int> of) {
    for (int& i : of) i = place[static_cast<std::size_t>(i)];
    return of;
  };
  for (std::size_t i = 0; i < program_.ops.size(); ++i) {
    if (needed[i] == 0) continue;
    TensorOp op = std::move(program_.ops[i]);
    op.src = moved(std::move(op.src));
    place[i] = static_cast<int>(out.ops.size());
    out.ops.push_back(std::move(op));
  }
  out.inputs = moved(program_.inputs);
  out.outputs = moved(program_.outputs);
  return out;
}

}  // namespace touchstone::emit
