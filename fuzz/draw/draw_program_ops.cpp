// Statements that compute, and those that control when and where.
#include <fmt/format.h>

#include "touchstone/fuzz/draw/program_draw.h"
#include "touchstone/fuzz/judge/values.h"
#include "touchstone/ops/function.h"
#include "touchstone/ops/op.h"

namespace touchstone::fuzz {
namespace {

// Those that every device computes; POW of graphs is another op.
void add_functions(int arity, std::vector<std::string>& names) {
  for (const FunctionInfo& row : function_table)
    if (row.arity == arity && row.function != NamedFunction::Lgamma &&
        row.function != NamedFunction::Digamma && row.function != NamedFunction::Erfinv &&
        row.function != NamedFunction::Pow)
      names.emplace_back(row.name);
}

std::string lower(std::string_view name) {
  std::string text(name);
  for (char& c : text) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  return text;
}

}  // namespace

void ProgramDraw::unary(int x) {
  static constexpr std::string_view kSmooth[] = {"neg",     "square", "sin",   "exp2s",
                                                 "sqrtp",   "recipp", "log2p", "tanh",
                                                 "sigmoid", "gelu",   "relu",  "abs"};
  if (smooth_) {
    emit(fmt::format("{} %{}", kSmooth[chooser_.below(std::size(kSmooth))], x), type(x));
    return;
  }
  std::vector<std::string> names;
  for (const OpInfo& row : op_table)
    if (is_elementwise(row.op) && row.arity == 1 && row.op != Op::Noop && row.op != Op::Cast &&
        takes(row.op, type(x).dtype))
      names.push_back(lower(row.name));
  if (is_float(type(x).dtype) && chooser_.chance(1, 3)) {
    names.clear();
    add_functions(1, names);
  }
  if (names.empty()) {
    special(x);
    return;
  }
  emit(fmt::format("{} %{}", chooser_.pick(names), x), type(x));
}

void ProgramDraw::binary(int x) {
  const ProgramType t = type(x);
  std::vector<std::string> names;
  if (smooth_) {
    names = {"add", "mul", "sub", "maximum", "minimum"};
  } else {
    for (const OpInfo& row : op_table)
      if (is_elementwise(row.op) && row.arity == 2 && takes(row.op, t.dtype))
        names.push_back(lower(row.name));
    if (is_float(t.dtype)) add_functions(2, names);
  }
  const std::string name = chooser_.pick(names);
  const int y = operand(t);
  const bool compares = name == "cmplt" || name == "cmpeq";
  emit(chooser_.chance(1, 2) ? fmt::format("{} %{} %{}", name, y, x)
                             : fmt::format("{} %{} %{}", name, x, y),
       {t.shape, compares ? DType::Bool : t.dtype});
}

void ProgramDraw::joined(int x, int y) {
  const ProgramType t = type(x);
  std::vector<std::string> names;
  for (const OpInfo& row : op_table)
    if (is_elementwise(row.op) && row.arity == 2 && row.op != Op::CmpLt && row.op != Op::CmpEq &&
        takes(row.op, t.dtype))
      names.push_back(lower(row.name));
  emit(fmt::format("{} %{} %{}", chooser_.pick(names), x, y), t);
}

void ProgramDraw::folded(int x) {
  const ProgramType t = type(x);
  if (smooth_) {
    unary(x);
    return;
  }
  if (takes(Op::Div, t.dtype) && !is_float(t.dtype) && chooser_.chance(1, 4)) return recombined(x);
  constexpr std::uint64_t kBeside[] = {kZeros, kInfinite};
  const std::uint64_t beside = chooser_.below(3);
  const int a = beside == 2 ? usual_constant(t) : input_like(t, kBeside[beside]),
            b = usual_constant(t);
  chooser_.chance(1, 2) ? joined(a, b) : joined(b, a);
}

void ProgramDraw::recombined(int x) {
  const ProgramType t = type(x);
  static constexpr std::string_view kDivisors[] = {"0", "1", "2", "3"};
  const int by = constant(t, std::string(kDivisors[chooser_.below(4)]));
  const int part = emit(fmt::format("div %{} %{}", x, by), t),
            rest = emit(fmt::format("mod %{} %{}", x, by), t),
            whole = emit(fmt::format("mul %{} %{}", part, by), t);
  emit(chooser_.chance(1, 2) ? fmt::format("add %{} %{}", whole, rest)
                             : fmt::format("add %{} %{}", rest, whole),
       t);
}

void ProgramDraw::choice(int x) {
  const ProgramType t = type(x);
  if (smooth_) {
    const int a = operand(t), b = operand(t);
    emit(fmt::format("select %{} %{} %{}", x, a, b), t);
    return;
  }
  const int y = operand(t), condition = operand({t.shape, DType::Bool});
  emit(fmt::format("where %{} %{} %{}", condition, x, y), t);
}

void ProgramDraw::special(int x) {
  const ProgramType t = type(x);
  if (smooth_) {
    if (t.shape.size() != 2) {
      binary(x);
      return;
    }
    const std::int64_t n = chooser_.between(1, 3);
    const int y = operand({{t.shape[1], n}, t.dtype});
    emit(fmt::format("matmul %{} %{}", x, y), {{t.shape[0], n}, t.dtype});
    return;
  }
  const DType to = chooser_.pick(types_);
  const bool bits = itemsize(to) == itemsize(t.dtype) && !is_bool(to) && !is_bool(t.dtype) &&
                    chooser_.chance(1, 3);
  emit(fmt::format("{} %{} {}", bits ? "bitcast" : "cast", x, name(to)), {t.shape, to});
}

void ProgramDraw::reduce(int x) {
  ProgramType t = type(x);
  Sizes axes;
  for (std::size_t i = 0; i < t.shape.size(); ++i)
    if (chooser_.chance(1, 2)) axes.push_back(static_cast<std::int64_t>(i));
  if (axes.empty() || (smooth_ && product(t.shape) == 0)) {
    unary(x);
    return;
  }
  static constexpr std::string_view kNames[] = {"reduce_sum", "reduce_max", "mean", "softmax"};
  const std::string_view name = kNames[chooser_.below(smooth_ ? 4 : 2)];
  if (name == "softmax") axes.resize(1);
  for (const std::int64_t a : axes)
    if (name != "softmax") t.shape[static_cast<std::size_t>(a)] = 1;
  emit(fmt::format("{} %{} {}", name, x, words(axes)), t);
}

void ProgramDraw::carried(int x) {
  if (smooth_) return unary(x);
  static constexpr std::string_view kNames[] = {"copy", "away", "back", "away"};
  const bool first = chooser_.chance(1, 2);
  const std::string name(kNames[chooser_.below(4)]);
  if (first) emit(fmt::format("{} %{}", name, x), type(x));
  reduce(first ? last() : x);
  if (!first) emit(fmt::format("{} %{}", name, last()), type(last()));
}

void ProgramDraw::exchanged(int x) {
  const ProgramType wide = type(x);
  if (smooth_ || wide.shape.empty() || product(wide.shape) > most_inputs()) return unary(x);
  if (chooser_.chance(1, 4)) {
    const int one = input(wide.shape, wide.dtype), other = input(wide.shape, wide.dtype);
    const int now = emit(fmt::format("assign %{} %{}", one, x), wide);
    emit(fmt::format("assign %{} %{}", other, now), wide);
    return;
  }
  const auto axis = static_cast<std::size_t>(chooser_.index(wide.shape.size()));
  ProgramType thin = wide;
  thin.shape[axis] = 1;
  const int a = input(thin.shape, thin.dtype), b = input(wide.shape, wide.dtype);
  int reduced = emit(fmt::format("reduce_sum %{} {}", b, axis), thin);
  if (chooser_.chance(1, 2)) {
    unary(reduced);
    reduced = last();
  }
  const int to_a = emit(fmt::format("assign %{} %{}", a, reduced), thin);
  const int value = emit(fmt::format("expand %{} {}", a, words(wide.shape)), wide);
  const int to_b = emit(fmt::format("assign %{} %{}", b, value), wide);
  if (chooser_.chance(1, 2)) return;
  const int there = emit(fmt::format("expand %{} {}", to_a, words(wide.shape)), wide);
  joined(there, to_b);
}

void ProgramDraw::settle(int x) {
  static constexpr std::string_view kNames[] = {"realize", "contiguous", "copy",
                                                "assign",  "away",       "back"};
  const std::string_view name = kNames[chooser_.below(smooth_ ? 2 : 6)];
  const ProgramType t = type(x);
  if (name == "assign") {
    const int to = operand(t), now = emit(fmt::format("assign %{} %{}", to, x), t);
    if (chooser_.chance(1, 8)) emit(fmt::format("assign %{} %{}", to, now), t);
  } else {
    emit(fmt::format("{} %{}", name, x), t);
  }
}

}  // namespace touchstone::fuzz
