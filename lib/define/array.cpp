#include "touchstone/define/array.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <utility>

namespace touchstone::define {
namespace {

using NodePtr = std::shared_ptr<const ArrayNode>;

std::int64_t count_of(const Sizes& shape) {
  if (std::ranges::find(shape, 0) != shape.end()) return 0;
  return std::accumulate(shape.begin(), shape.end(), std::int64_t{1},
                         [](std::int64_t a, std::int64_t b) { return checked_mul(a, b); });
}

// Offsets must fit in 64 bits, unless an axis of size 0 makes the array empty.
void require_countable(const Sizes& shape) {
  std::int64_t count = 1;
  for (const std::int64_t size : shape) {
    if (size < 0) throw ShapeError(fmt::format("shape {} has a negative size", str(shape)));
    count = checked_mul(count, std::max<std::int64_t>(size, 1));
  }
}

NodePtr finish(ArrayNode node) {
  require_countable(node.shape);
  for (const NodePtr& s : node.src) {
    node.depth = std::max(node.depth, s->depth + 1);
    node.reduces = std::max(node.reduces, s->reduces);
  }
  if (is_reduce(node.op)) ++node.reduces;
  if (node.depth > kMostDepth)
    throw AstError(fmt::format(
        "more than {} nested operations; store an intermediate result in a buffer", kMostDepth));
  if (node.reduces > kMostReduces)
    throw AstError(fmt::format(
        "more than {} nested reduces; store an intermediate result in a buffer", kMostReduces));
  return std::make_shared<const ArrayNode>(std::move(node));
}

void require_rank(std::string_view what, std::size_t given, const Sizes& shape) {
  if (given != shape.size())
    throw ShapeError(fmt::format("{} has {} entries for shape {}, which has {} axes", what, given,
                                 str(shape), shape.size()));
}

Pairs firsts(const Sizes& values) {
  Pairs out;
  for (const std::int64_t v : values) out.emplace_back(v, 0);
  return out;
}

NodePtr typed(const NodePtr& node, DType to) {
  if (node->number.empty()) return node;
  ArrayNode made = *node;
  made.value = Scalar::parse(to, made.number);
  if (is_float(to)) {  // infinities must be written explicitly
    const double asked = Scalar::parse(DType::Float64, made.number).to_double();
    const double most = std::ldexp(1, info(to).max_exponent + 1);
    const bool digits = made.number.find_first_of("0123456789") != std::string::npos;
    if (digits && std::abs(asked) >= most)
      throw DTypeError(fmt::format("{} is too large for {}", made.number, name(to)));
  }
  made.dtype = to;
  std::string number = std::exchange(made.number, {});
  if (to == DType::Float32) {
    const double exact = Scalar::parse(DType::Float64, number).to_double();
    if (std::isfinite(exact) && exact != made.value.to_double()) made.unrounded = exact;
  }
  if (!is_float(to) || itemsize(to) >= 4) return finish(std::move(made));
  // Beside a narrow tensor NumPy and JAX round a number to its type, PyTorch does not: the NOOP
  // marks a CAST that may be left out.
  const Scalar wide = Scalar::parse(DType::Float32, number);
  if (!std::isfinite(wide.to_double()) || wide.to_double() == made.value.to_double())
    return finish(std::move(made));
  ArrayNode exact = made, cast = made, noop = made;
  exact.value = wide;
  exact.dtype = DType::Float32;
  cast.op = Op::Cast;
  cast.cast = {to, false};
  cast.src = {finish(std::move(exact))};
  noop.op = Op::Noop;
  noop.src = {finish(std::move(cast))};
  return finish(std::move(noop));
}

bool is_whole(std::string_view number) {
  return number.find_first_not_of("-0123456789") == std::string_view::npos;
}

// The common type of all typed operands; float32 if there is none.
DType common_type(std::span<const Array> operands) {
  std::optional<DType> common;
  bool has_fraction = false;
  for (const Array& x : operands)
    if (!x.is_number())
      common = common ? promote(*common, x.dtype()) : x.dtype();
    else
      has_fraction = has_fraction || (x.node()->computed && !is_whole(x.node()->number));
  return !common || (has_fraction && !is_float(*common)) ? DType::Float32 : *common;
}

// An operation on numbers alone, as in Python: of whole ones in integers, else in float64. It keeps
// the type open.
std::optional<Array> on_numbers(
    std::span<const Array> operands, const std::function<std::optional<double>(double, double)>& f,
    const std::function<std::optional<std::int64_t>(std::int64_t, std::int64_t)>& of_whole) {
  if (!std::ranges::all_of(operands, &Array::is_number)) return std::nullopt;
  const auto whole = [](const Array& x) -> std::optional<std::int64_t> {
    const std::string& text = x.node()->number;
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return value;
  };
  const auto a = whole(operands.front()), b = whole(operands.back());
  if (a && b)
    if (const auto made = of_whole(*a, *b)) return Array::number(std::to_string(*made), true);
  const auto value = [](const Array& x) {
    return Scalar::parse(DType::Float64, x.node()->number).to_double();
  };
  const std::optional<double> made = f(value(operands.front()), value(operands.back()));
  if (!made || !std::isfinite(*made)) return std::nullopt;
  return Array::number(Scalar::of(*made).str(), true);
}

std::optional<std::int64_t> computed_whole(Op op, std::int64_t a, std::int64_t b) {
  std::int64_t made = 0;
  if (op == Op::Neg && !__builtin_sub_overflow(0, a, &made)) return made;
  if (op == Op::Add && !__builtin_add_overflow(a, b, &made)) return made;
  if (op == Op::Sub && !__builtin_sub_overflow(a, b, &made)) return made;
  if (op == Op::Mul && !__builtin_mul_overflow(a, b, &made)) return made;
  return std::nullopt;
}

// a < b, or a == b, of integers of which no integer type holds all: a number outside of the other's
// type, or a signed type and uint64.
std::optional<Array> compared_exactly(Op op, const Array& a, const Array& b) {
  const auto both = [](const Array& x, const Array& y) { return Array::apply(Op::Mul, {x, y}); };
  const auto either = [](const Array& x, const Array& y) { return Array::apply(Op::Add, {x, y}); };
  const auto typed = [](const Array& x) { return !x.is_number() && is_integer(x.dtype()); };
  // 1 beyond the largest of the type, -1 below its least, 0 within.
  const auto side = [&](const Array& x, DType type) {
    const std::string& text = x.node()->number;
    if (!x.is_number() || !is_whole(text)) return 0;
    try {
      (void)Scalar::parse(type, text);
      return 0;
    } catch (const Error&) {
      return text.front() == '-' ? -1 : 1;
    }
  };
  if (typed(a) && typed(b) && is_float(promote(a.dtype(), b.dtype()))) {
    const bool first = b.dtype() == DType::UInt64;  // a may be negative
    const Array below = Array::apply(Op::CmpLt, {first ? a : b, Array::number("0")});
    const Array there = Array::apply(op, {a.cast(DType::UInt64), b.cast(DType::UInt64)});
    return op == Op::CmpLt && first ? either(below, there)
                                    : both(Array::apply(Op::Neg, {below}), there);
  }
  if (!typed(a) && !typed(b)) return std::nullopt;
  const Array& x = typed(a) ? a : b;
  const int where = side(typed(a) ? b : a, x.dtype());
  if (where == 0) return std::nullopt;
  const bool holds = op == Op::CmpLt && (where > 0) == typed(a);  // as x != 0 or x == 0
  return holds ? either(x.cast(DType::Bool), equal(x, Array::number("0"))) : less(x, x);
}

std::optional<double> computed(Op op, double a, double b) {
  if (op == Op::Neg) return -a;
  if (op == Op::Add) return a + b;
  if (op == Op::Sub) return a - b;
  if (op == Op::Mul) return a * b;
  if (op == Op::Div) return a / b;
  if (op == Op::Sqrt) return std::sqrt(a);
  return std::nullopt;
}

}  // namespace

std::string str(const Sizes& shape) { return fmt::format("[{}]", fmt::join(shape, ",")); }

int axis_of(const Array& x, std::int64_t axis) {
  const std::int64_t rank = x.rank();
  if (axis < -rank || axis >= rank)
    throw ShapeError(rank == 0 ? fmt::format("axis {} of a scalar, which has none", axis)
                               : fmt::format("axis {} is not in [{}, {}) of shape {}", axis, -rank,
                                             rank, str(x.shape())));
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

Array Array::input(int buffer, Sizes shape, DType dtype) {
  if (buffer < 1)
    throw AstError(fmt::format("input {}: inputs are numbered from 1; 0 is the output", buffer));
  ArrayNode node;
  node.op = Op::Load;
  node.shape = std::move(shape);
  node.dtype = dtype;
  node.buffer = buffer;
  return Array(finish(std::move(node)));
}

Array Array::constant(Scalar value, Sizes shape) {
  ArrayNode node;
  node.value = value;
  node.dtype = value.dtype();
  node.shape = std::move(shape);
  return Array(finish(std::move(node)));
}

Array Array::number(std::string text, bool computed) {
  ArrayNode node;
  node.computed = computed;
  node.value = Scalar::parse(DType::Float32, text);  // throws if invalid
  node.number = std::move(text);
  return Array(finish(std::move(node)));
}

Array::Array(double value) : Array(number(Scalar::of(value).str())) {}

const Sizes& Array::shape() const { return node_->shape; }
DType Array::dtype() const { return node_->dtype; }
bool Array::is_number() const { return !node_->number.empty(); }
std::int64_t Array::size(int axis) const {
  return node_->shape[static_cast<std::size_t>(axis_of(*this, axis))];
}

bool Array::is_input() const {
  const ArrayNode* at = node_.get();
  while (is_movement(at->op)) at = at->src[0].get();
  return at->op == Op::Load;
}

Array Array::rows(const Array& index, bool checked) const {
  if (!is_input() || rank() == 0)
    throw ShapeError(
        fmt::format("rows: a table of shape {} that is {}; expected an input with rows",
                    str(shape()), is_input() ? "an input" : "computed"));
  if (!is_integer(index.dtype()))
    throw DTypeError(fmt::format("rows: positions of {}; expected integers", name(index.dtype())));
  ArrayNode node;
  node.op = Op::Gather;
  node.dtype = dtype();
  node.checked = checked;
  node.numbered = index.shape();
  Sizes places = index.shape();
  places.insert(places.end(), shape().size() - 1, 1);
  node.shape = index.shape();
  node.shape.insert(node.shape.end(), shape().begin() + 1, shape().end());
  node.src = {node_, index.cast(DType::Int64).reshape(places).expand(node.shape).node_};
  return Array(finish(std::move(node)));
}

Array Array::make(Op op, Sizes shape, Pairs move, std::int64_t offset) const {
  ArrayNode node;
  node.op = op;
  node.dtype = dtype();
  node.shape = std::move(shape);
  node.move = std::move(move);
  node.offset = offset;
  node.src = {typed(node_, dtype())};
  return Array(finish(std::move(node)));
}

Array Array::reshape(const Sizes& wanted) const {
  Sizes sizes = wanted;
  if (const auto open = std::ranges::find(sizes, -1); open != sizes.end()) {
    *open = 1;
    const std::int64_t rest = count_of(sizes), all = count_of(shape());
    if (std::ranges::find(sizes, -1) != sizes.end() || rest == 0 || all % rest != 0)
      throw ShapeError(fmt::format("reshape: no size fits for -1 where {} becomes {}", str(shape()),
                                   str(wanted)));
    *open = all / rest;
  }
  require_countable(sizes);
  if (count_of(sizes) != count_of(shape()))
    throw ShapeError(fmt::format("reshape: {} has {} elements, {} has {}", str(shape()),
                                 count_of(shape()), str(sizes), count_of(sizes)));
  if (sizes == shape()) return *this;
  return make(Op::Reshape, sizes, firsts(sizes));
}

Array Array::permute(const std::vector<int>& order) const {
  require_rank("permute", order.size(), shape());
  std::vector<bool> seen(order.size());
  Sizes sizes;
  Pairs move;
  for (const int axis : order) {
    const auto at = static_cast<std::size_t>(axis_of(*this, axis));
    if (seen[at]) throw ShapeError(fmt::format("permute: axis {} is given twice", axis));
    seen[at] = true;
    sizes.push_back(shape()[at]);
    move.emplace_back(static_cast<std::int64_t>(at), 0);
  }
  return make(Op::Permute, sizes, move);
}

Array Array::expand(const Sizes& wanted) const {
  if (wanted.size() < shape().size())
    throw ShapeError(fmt::format("expand: {} has fewer axes than {}", str(wanted), str(shape())));
  Sizes from(wanted.size() - shape().size(), 1);
  from.insert(from.end(), shape().begin(), shape().end());
  for (std::size_t i = 0; i < wanted.size(); ++i)
    if (from[i] != wanted[i] && from[i] != 1)
      throw ShapeError(fmt::format("{} does not broadcast to {}: only an axis of size 1 grows",
                                   str(shape()), str(wanted)));
  const Array spread = reshape(from);
  if (wanted == spread.shape()) return spread;
  return spread.make(Op::Expand, wanted, firsts(wanted));
}

Array Array::pad(const Pairs& before_after) const {
  require_rank("pad", before_after.size(), shape());
  Sizes sizes = shape();
  bool adds = false;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const auto [before, after] = before_after[i];
    if (before < 0 || after < 0)
      throw ShapeError(fmt::format("pad: ({}, {}) is negative; use shrink", before, after));
    sizes[i] = checked_add(sizes[i], checked_add(before, after));
    adds = adds || before != 0 || after != 0;
  }
  return adds ? make(Op::Pad, sizes, before_after) : *this;
}

Array Array::shrink(const Pairs& begin_end) const {
  require_rank("shrink", begin_end.size(), shape());
  Sizes sizes;
  for (std::size_t i = 0; i < begin_end.size(); ++i) {
    const auto [begin, end] = begin_end[i];
    if (begin < 0 || end < begin || end > shape()[i])
      throw ShapeError(fmt::format("shrink: [{}, {}) is not inside axis {} of shape {}", begin, end,
                                   i, str(shape())));
    sizes.push_back(end - begin);
  }
  return sizes == shape() ? *this : make(Op::Shrink, sizes, begin_end);
}

Array Array::stride(const Sizes& steps) const {
  require_rank("stride", steps.size(), shape());
  Sizes sizes;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (steps[i] == 0 || steps[i] == std::numeric_limits<std::int64_t>::min())
      throw ShapeError(fmt::format("stride: step {} of axis {}", steps[i], i));
    sizes.push_back(ceil_div(shape()[i], std::abs(steps[i])));
  }
  return make(Op::Stride, sizes, firsts(steps));
}

Array Array::as_strided(const Sizes& wanted, const Sizes& strides, std::int64_t offset) const {
  require_rank("as_strided: strides", strides.size(), wanted);
  require_countable(wanted);
  std::int64_t low = offset, high = offset;
  Pairs move;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    move.emplace_back(wanted[i], strides[i]);
    const std::int64_t reach = checked_mul(std::max<std::int64_t>(wanted[i] - 1, 0), strides[i]);
    (reach < 0 ? low : high) = checked_add(reach < 0 ? low : high, reach);
  }
  if (count_of(wanted) > 0 && (low < 0 || high >= count_of(shape())))
    throw ShapeError(
        fmt::format("as_strided: addresses {} to {} of {} elements", low, high, count_of(shape())));
  return make(Op::AsStrided, wanted, move, offset);
}

Array Array::cast(DType to) const {
  if (is_number()) return Array(typed(node_, to));
  if (to == dtype()) return *this;
  ArrayNode node;
  node.op = Op::Cast;
  node.shape = shape();
  node.dtype = to;
  node.cast = {to, false};
  node.src = {node_};
  return Array(finish(std::move(node)));
}

Array Array::bitcast(DType to) const {
  if (itemsize(to) != itemsize(dtype()) || (is_bool(to) && !is_bool(dtype())))
    throw DTypeError(fmt::format("bitcast: {} and {} have elements of {} and {} bytes{}",
                                 name(dtype()), name(to), itemsize(dtype()), itemsize(to),
                                 is_bool(to) ? "; a bool holds 0 or 1" : ""));
  ArrayNode node;
  node.op = Op::Cast;
  node.shape = shape();
  node.dtype = to;
  node.cast = {to, true};
  node.src = {typed(node_, dtype())};
  return Array(finish(std::move(node)));
}

Array Array::apply(Op op, std::vector<Array> operands) {
  const std::string op_name(name(op));
  if (!is_elementwise(op) || op == Op::Cast)
    throw AstError(op_name + " is not an elementwise operation of one type");
  if (static_cast<int>(operands.size()) != info(op).arity)
    throw AstError(
        fmt::format("{} takes {} operands, not {}", op_name, info(op).arity, operands.size()));
  if (auto made = on_numbers(
          operands, [op](double a, double b) { return computed(op, a, b); },
          [op](std::int64_t a, std::int64_t b) { return computed_whole(op, a, b); }))
    return *made;
  if (op == Op::CmpLt || op == Op::CmpEq)
    if (auto made = compared_exactly(op, operands[0], operands[1])) return *made;
  const std::size_t first = op == Op::Where ? 1 : 0;
  const DType common = common_type(std::span(operands).subspan(first));
  if (first == 1) {
    if (operands[0].is_number()) operands[0] = operands[0].cast(DType::Bool);
    if (!is_bool(operands[0].dtype()))
      throw DTypeError(fmt::format("WHERE: the condition is {}, not bool; compare it first",
                                   name(operands[0].dtype())));
  }
  for (std::size_t i = first; i < operands.size(); ++i) operands[i] = operands[i].cast(common);
  if (!takes(op, common))
    throw DTypeError(
        fmt::format("{} does not take {}; cast the operand first", op_name, name(common)));
  operands = broadcast(std::move(operands));
  ArrayNode node;
  node.op = op;
  node.shape = operands[0].shape();
  node.dtype = op == Op::CmpLt || op == Op::CmpEq ? DType::Bool : common;
  for (const Array& x : operands) node.src.push_back(x.node_);
  return Array(finish(std::move(node)));
}

Array Array::call(NamedFunction function, std::vector<Array> operands) {
  const FunctionInfo& row = info(function);
  if (static_cast<int>(operands.size()) != row.arity)
    throw AstError(
        fmt::format("{} takes {} operands, not {}", row.name, row.arity, operands.size()));
  const auto of_numbers = [function](double a, double b) -> std::optional<double> {
    if (function == NamedFunction::Pow) return std::pow(a, b);
    if (function == NamedFunction::Exp) return std::exp(a);
    if (function == NamedFunction::Log) return std::log(a);
    return std::nullopt;
  };
  const auto power = [function](std::int64_t a, std::int64_t b) -> std::optional<std::int64_t> {
    if (function != NamedFunction::Pow || b < 0 || b > 64) return std::nullopt;
    std::int64_t made = 1;
    for (; b > 0; --b)
      if (__builtin_mul_overflow(made, a, &made)) return std::nullopt;
    return made;
  };
  if (auto made = on_numbers(operands, of_numbers, power)) return *made;
  const DType common = common_type(operands);
  if (!is_float(common))
    throw DTypeError(fmt::format("{} takes floats, not {}; cast the operand first", row.name,
                                 touchstone::name(common)));
  for (Array& x : operands) x = x.cast(common);
  operands = broadcast(std::move(operands));
  ArrayNode node;
  node.op = Op::Function;
  node.shape = operands[0].shape();
  node.dtype = common;
  node.function.function = function;
  for (const Array& x : operands) node.src.push_back(x.node_);
  return Array(finish(std::move(node)));
}

Array Array::reduce(Op op, std::vector<int> axes, bool keep,
                    std::optional<DType> accumulator) const {
  for (int& axis : axes) axis = axis_of(*this, axis);
  std::ranges::sort(axes);
  if (std::ranges::adjacent_find(axes) != axes.end())
    throw ShapeError(fmt::format("{}: an axis is given twice", name(op)));
  if (axes.empty()) return *this;
  ArrayNode node;
  node.op = op;
  node.dtype = dtype();
  node.shape = shape();
  for (const int axis : axes) node.shape[static_cast<std::size_t>(axis)] = 1;
  const DType its_own = op == Op::ReduceSum ? sum_accumulator(dtype()) : dtype();
  node.reduce = {axes, accumulator.value_or(its_own)};
  node.src = {typed(node_, dtype())};
  Sizes dropped;
  for (int i = 0; i < rank(); ++i)
    if (!std::ranges::binary_search(axes, i))
      dropped.push_back(node.shape[static_cast<std::size_t>(i)]);
  const Array reduced(finish(std::move(node)));
  return keep ? reduced : reduced.reshape(dropped);
}

std::vector<Array> broadcast(std::vector<Array> operands) {
  Sizes common;
  for (const Array& x : operands) {
    const Sizes& shape = x.shape();
    if (shape.size() > common.size())
      common.insert(common.begin(), shape.size() - common.size(), 1);
    for (std::size_t i = 0; i < shape.size(); ++i) {
      std::int64_t& size = common[common.size() - shape.size() + i];
      if (size == 1)
        size = shape[i];
      else if (shape[i] != 1 && shape[i] != size) {
        std::vector<std::string> all;
        for (const Array& y : operands) all.push_back(str(y.shape()));
        throw ShapeError(fmt::format("shapes {} do not broadcast: sizes {} and {} differ",
                                     fmt::join(all, " and "), size, shape[i]));
      }
    }
  }
  for (Array& x : operands) x = x.expand(common);
  return operands;
}

Array operator+(const Array& a, const Array& b) { return Array::apply(Op::Add, {a, b}); }
Array operator-(const Array& a, const Array& b) { return Array::apply(Op::Sub, {a, b}); }
Array operator*(const Array& a, const Array& b) { return Array::apply(Op::Mul, {a, b}); }
Array operator/(const Array& a, const Array& b) { return Array::apply(Op::Div, {a, b}); }
Array operator-(const Array& a) { return Array::apply(Op::Neg, {a}); }
Array less(const Array& a, const Array& b) { return Array::apply(Op::CmpLt, {a, b}); }
Array equal(const Array& a, const Array& b) { return Array::apply(Op::CmpEq, {a, b}); }
Array where(const Array& condition, const Array& yes, const Array& no) {
  return Array::apply(Op::Where, {condition, yes, no});
}
Array maximum(const Array& a, const Array& b) { return Array::apply(Op::Max, {a, b}); }

}  // namespace touchstone::define
