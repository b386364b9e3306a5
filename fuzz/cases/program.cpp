#include "touchstone/fuzz/cases/program.h"

#include <algorithm>
#include <numeric>

#include "touchstone/base/error.h"
#include "touchstone/ops/op.h"

namespace touchstone::fuzz {

std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(at), text.size());
    if (end > 0) parts.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

namespace {

using Sizes = std::vector<std::int64_t>;
constexpr std::int64_t kMostProgramElements = 4096;
constexpr std::size_t kMostSteps = 200;

Sizes numbers(std::string_view word) {
  Sizes out;
  if (word == "()") return out;
  for (const std::string_view part : split(word, ',')) out.push_back(number(part));
  return out;
}

std::string joined(const Sizes& sizes) {
  return sizes.empty() ? "()" : fmt::format("{}", fmt::join(sizes, ","));
}

std::int64_t count(const Sizes& shape) {
  std::int64_t n = 1;
  for (const std::int64_t size : shape) {
    if (size < 0 || size > kMostProgramElements)
      throw ParseError(fmt::format("a size of {}", size));
    n *= size;
    if (n > kMostProgramElements)
      throw ParseError(fmt::format("more than {} elements", kMostProgramElements));
  }
  return n;
}

constexpr std::string_view kSmoothUnary[] = {"neg",     "square", "sin",   "exp2s",
                                             "sqrtp",   "recipp", "log2p", "tanh",
                                             "sigmoid", "gelu",   "relu",  "abs"};
constexpr std::string_view kSmoothBinary[] = {"add", "sub", "mul", "maximum", "minimum"};

std::optional<Op> op_named(std::string_view name) {
  for (const OpInfo& row : op_table) {
    if (!is_elementwise(row.op) && !is_reduce(row.op)) continue;
    std::string lower(row.name);
    for (char& c : lower) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
    if (lower == name && row.op != Op::Noop && row.op != Op::Cast) return row.op;
  }
  if (function_from_name(name)) return Op::Function;
  return std::nullopt;
}

bool among(std::string_view name, std::span<const std::string_view> names) {
  return std::ranges::find(names, name) != names.end();
}

constexpr std::string_view kSettling[] = {"realize", "contiguous", "copy",
                                          "away",    "back",       "assign"};

/// The number of values a statement reads; -1 if there is no such statement.
int operands_of(std::string_view name) {
  if (is_movement(name) || among(name, kSmoothUnary)) return 1;
  if (among(name, kSmoothBinary) || name == "matmul") return 2;
  if (name == "assign" || name == "gather") return 2;
  if (among(name, kSettling)) return 1;
  for (const std::string_view one : {"cast", "bitcast", "mean", "softmax"})
    if (name == one) return 1;
  if (name == "rows") return 1;
  if (name == "select") return 3;
  const std::optional<Op> op = op_named(name);
  if (!op || *op == Op::MulAcc) return -1;
  if (*op == Op::Function) return info(parse_function(name)).arity;
  return is_reduce(*op) ? 1 : info(*op).arity;
}

bool has_axes(std::string_view name) {
  return name == "reduce_sum" || name == "reduce_max" || name == "mean" || name == "softmax";
}

[[noreturn]] void unfit(const ProgramStep& s, const std::string& why) {
  throw ParseError(fmt::format("{}: {}", s.name, why));
}

}  // namespace

bool settles(std::string_view name) { return among(name, kSettling); }

ProgramType type_of(const ProgramStep& s, const std::vector<ProgramType>& before) {
  const auto arg = [&](std::size_t i) -> const ProgramType& {
    return before[static_cast<std::size_t>(s.of[i])];
  };
  if (s.leaf()) {
    count(s.shape);
    return {s.shape, s.dtype};
  }
  const ProgramType& x = arg(0);
  if (is_movement(s.name)) {
    if (s.movement.kind == MovementOp::Kind::AsStrided) unfit(s, "not here");
    if (s.movement.kind == MovementOp::Kind::Reshape || s.movement.kind == MovementOp::Kind::Expand)
      count(concrete(s.movement.shape));
    Addresses array{x.shape, Sizes(static_cast<std::size_t>(count(x.shape)), 0)};
    move(array, s.movement);
    count(array.shape);
    return {array.shape, x.dtype};
  }
  if (settles(s.name)) {
    if (s.name == "assign" && arg(1) != x)
      unfit(s, "a value of another shape or type than what it replaces");
    return x;
  }
  if (s.name == "gather") {
    if (x.shape.empty() || Sizes(x.shape.begin() + 1, x.shape.end()) != arg(1).shape)
      unfit(s, "takes a table, and positions of the shape of its rows");
    if (arg(1).dtype != DType::Int64) unfit(s, "positions are int64");
    return {arg(1).shape, x.dtype};
  }
  if (s.name == "rows") {
    const Sizes at = numbers(s.word);
    if (x.shape.empty()) unfit(s, "of a scalar");
    for (const std::int64_t p : at)
      if (p < -x.shape[0] || p >= x.shape[0]) unfit(s, fmt::format("row {}", p));
    ProgramType r = x;
    r.shape[0] = std::ssize(at);
    count(r.shape);
    return r;
  }
  if (s.name == "cast") return {x.shape, parse_dtype(s.word)};
  if (s.name == "bitcast") {
    const DType to = parse_dtype(s.word);
    if (itemsize(to) != itemsize(x.dtype) || is_bool(to) || is_bool(x.dtype))
      unfit(s, "another size, or bool");
    return {x.shape, to};
  }
  if (has_axes(s.name)) {
    const Sizes axes = numbers(s.word);
    ProgramType r = x;
    std::vector<bool> seen(x.shape.size(), false);
    for (const std::int64_t a : axes) {
      if (a < 0 || a >= std::ssize(x.shape) || seen[static_cast<std::size_t>(a)])
        unfit(s, fmt::format("axis {}", a));
      seen[static_cast<std::size_t>(a)] = true;
      if (s.name != "softmax") r.shape[static_cast<std::size_t>(a)] = 1;
      if (x.shape[static_cast<std::size_t>(a)] == 0 && s.name != "reduce_sum" &&
          s.name != "reduce_max")
        unfit(s, "of nothing");
    }
    const std::optional<Op> op = op_named(s.name);
    if (op ? !takes(*op, x.dtype) : !is_float(x.dtype)) unfit(s, "not of this type");
    if (s.name == "softmax" && axes.size() != 1) unfit(s, "of one axis");
    return r;
  }
  if (s.name == "matmul") {
    const ProgramType& y = arg(1);
    if (x.shape.size() != 2 || y.shape.size() != 2 || x.shape[1] != y.shape[0] ||
        x.dtype != y.dtype || !is_float(x.dtype))
      unfit(s, "takes (m, k) and (k, n)");
    return {{x.shape[0], y.shape[1]}, x.dtype};
  }
  for (std::size_t i = 1; i < s.of.size(); ++i)
    if (arg(i).shape != x.shape) unfit(s, "operands of other shapes");
  if (among(s.name, kSmoothUnary) || among(s.name, kSmoothBinary) || s.name == "select") {
    const bool usual = op_named(s.name).has_value();
    for (std::size_t i = 0; i < s.of.size(); ++i)
      if (arg(i).dtype != x.dtype || (!usual && !is_float(x.dtype))) unfit(s, "operands' types");
    if (!usual) return x;
  }
  const Op op = *op_named(s.name);
  const DType of = arg(s.of.size() - 1).dtype;
  for (std::size_t i = op == Op::Where ? 1 : 0; i < s.of.size(); ++i)
    if (arg(i).dtype != of) unfit(s, "operands of other types");
  if (op == Op::Where && !is_bool(x.dtype)) unfit(s, "the condition is a bool");
  if (!takes(op, of)) unfit(s, "not of this type");
  return {x.shape, op == Op::CmpLt || op == Op::CmpEq ? DType::Bool : of};
}

namespace {

ProgramStep parse_step(std::string_view text, int index) {
  const std::size_t colon = text.find(": ");
  ProgramStep s;
  if (colon != text.npos) {
    auto words = split(text.substr(0, colon), ' ');
    s.name = "input";
    if (words.size() == 3 && words[0] == "const") {
      s.name = "const";
      words.erase(words.begin());
    }
    if (words.size() != 2)
      throw ParseError("an input must be DTYPE SHAPE: VALUES, a constant const DTYPE SHAPE: VALUE");
    s.dtype = parse_dtype(std::string(words[0]));
    s.shape = numbers(words[1]);
    for (const std::string_view v : split(text.substr(colon + 2), ' ')) {
      s.values.emplace_back(v);
      Scalar::parse(s.dtype, v);
    }
    if (s.values.empty()) throw ParseError("an input has no values");
    if (s.name == "const" && s.values.size() != 1)
      throw ParseError("a constant must have one value");
    return s;
  }
  const auto words = split(text, ' ');
  if (words.empty()) throw ParseError("a statement is empty");
  s.name = words[0];
  const int operands = operands_of(s.name);
  if (operands < 0) throw ParseError(fmt::format("there is no statement '{}'", s.name));
  std::size_t at = 1;
  for (; at < words.size() && words[at].starts_with('%'); ++at) {
    const std::int64_t of = number(words[at].substr(1));
    if (of < 0 || of >= index)
      throw ParseError(
          fmt::format("statement %{} reads {}, which does not come before it", index, words[at]));
    s.of.push_back(static_cast<int>(of));
  }
  if (std::ssize(s.of) != operands)
    throw ParseError(fmt::format("{} takes {} values", s.name, operands));
  const bool worded =
      is_movement(s.name) || has_axes(s.name) || s.name == "rows" || s.name.ends_with("cast");
  if (words.size() - at != (worded ? 1U : 0U))
    throw ParseError(
        fmt::format("{}: expected {}", s.name, worded ? "one argument" : "no argument"));
  if (is_movement(s.name))
    s.movement = parse_movement(s.name, words[at]);
  else if (worded)
    s.word = words[at];
  return s;
}

}  // namespace

TensorProgram TensorProgram::parse(std::string_view text) {
  TensorProgram p;
  for (std::size_t from = 0; from <= text.size();) {
    std::size_t end = std::min(text.find(';', from), text.size());
    std::string_view statement = text.substr(from, end - from);
    while (!statement.empty() && statement.front() == ' ') statement.remove_prefix(1);
    while (!statement.empty() && statement.back() == ' ') statement.remove_suffix(1);
    try {
      p.steps.push_back(parse_step(statement, static_cast<int>(p.steps.size())));
    } catch (const DTypeError& e) {
      throw ParseError(e.what());
    }
    if (p.steps.size() > kMostSteps) throw ParseError("more than 200 statements");
    from = end + 1;
  }
  (void)p.types();
  return p;
}

std::vector<ProgramType> TensorProgram::types() const {
  std::vector<ProgramType> all;
  for (const ProgramStep& s : steps) {
    try {
      all.push_back(type_of(s, all));
    } catch (const Error& e) {
      throw ParseError(fmt::format("statement %{}: {}", all.size(), e.what()));
    }
  }
  return all;
}

std::string TensorProgram::str() const {
  std::string text;
  for (const ProgramStep& s : steps) {
    if (!text.empty()) text += "; ";
    if (s.leaf()) {
      text += fmt::format("{}{} {}: {}", s.name == "const" ? "const " : "",
                          touchstone::name(s.dtype), joined(s.shape), fmt::join(s.values, " "));
      continue;
    }
    std::string of;
    for (const int o : s.of) of += fmt::format(" %{}", o);
    if (is_movement(s.name)) {
      const std::string words = movement_text(s.movement);
      text += s.name + of + words.substr(words.find(' '));
    } else {
      text += s.name + of + (s.word.empty() ? "" : " " + s.word);
    }
  }
  return text;
}

Op op_of(std::string_view statement) {
  if (const std::optional<Op> op = op_named(statement)) return *op;
  throw ParseError(fmt::format("the statement '{}' belongs to area tensor", statement));
}

OpArg arg_of(std::string_view statement) {
  if (op_of(statement) != Op::Function) return {};
  return FunctionArg{parse_function(statement)};
}

std::vector<int> axes_of(const ProgramStep& reduce) {
  std::vector<int> axes;
  for (const std::int64_t a : numbers(reduce.word)) axes.push_back(static_cast<int>(a));
  return axes;
}

Scalar value_of(const ProgramStep& input, std::size_t i) {
  return Scalar::parse(input.dtype, input.values[i % input.values.size()]);
}

// Operations, inputs and the cost of their types, elements of all values, values other than 0 and
// 1, characters.
Measure measure_of(const TensorProgram& program) {
  Measure m{};
  for (const ProgramType& t : program.types()) m[2] += 1 + count(t.shape) + std::ssize(t.shape);
  for (const ProgramStep& s : program.steps) {
    if (!s.leaf()) {
      ++m[0];
      for (const auto& [a, b] : s.movement.ends)
        m[2] += (certainly_eq(a, 0) ? 0 : 1) + (certainly_eq(b, 0) ? 0 : 1);
      continue;
    }
    m[1] += s.dtype == DType::Float32 ? 1 : s.dtype == DType::Int32 ? 2 : 3;
    for (const std::string& v : s.values) m[3] += 2 + (v == "0" ? 0 : v == "1" ? 1 : 2);
  }
  m[4] = std::ssize(program.str());
  return m;
}

Extent extent_of(const TensorProgram& program) {
  Extent extent;
  for (const ProgramStep& s : program.steps) {
    for (const std::int64_t size : s.shape) extent.dim = std::max(extent.dim, size);
    extent.ops += s.leaf() ? 0 : 1;
  }
  return extent;
}

std::vector<Dimension> program_dimensions(const ProgramKind& kind) {
  std::vector<std::string> ops;
  for (const char* m : {"reshape", "permute", "expand", "pad", "shrink", "stride", "contiguous",
                        "realize", "reduce_sum", "reduce_max"})
    ops.emplace_back(m);
  if (kind.gradients) {
    for (const std::string_view s : kSmoothUnary) ops.emplace_back(s);
    for (const std::string_view s : kSmoothBinary) ops.emplace_back(s);
    for (const char* s : {"mean", "softmax", "matmul", "select", "rows"}) ops.emplace_back(s);
  } else {
    for (const char* s : {"copy", "away", "back",  "assign", "cast", "bitcast", "exp2",  "log2",
                          "sin",  "sqrt", "recip", "neg",    "add",  "sub",     "mul",   "div",
                          "max",  "mod",  "cmplt", "cmpeq",  "xor",  "where",   "gather"})
      ops.emplace_back(s);
  }
  std::vector<std::string> operand = ops;
  operand.emplace_back("input");
  std::vector<Dimension> d{{"op", ops}, {"operand", operand}, {"rank", {"0", "1", "2", "3", "4"}}};
  if (!kind.gradients) {
    d.push_back({"dtype", {}});
    for (const DTypeInfo& row : dtype_table) d.back().values.emplace_back(row.name);
  }
  return d;
}

std::vector<CoverageRow> program_coverage(const TensorProgram& program, const ProgramKind& kind) {
  const std::vector<Dimension> d = program_dimensions(kind);
  const std::vector<ProgramType> types = program.types();
  const auto place = [](const Dimension& in, const std::string& name) {
    const auto at = std::ranges::find(in.values, name);
    return at == in.values.end() ? -1 : static_cast<int>(at - in.values.begin());
  };
  std::vector<CoverageRow> rows;
  for (std::size_t i = 0; i < program.steps.size(); ++i)
    for (const int o : program.steps[i].of) {
      const auto of = static_cast<std::size_t>(o);
      rows.push_back({place(d[0], program.steps[i].name), place(d[1], program.steps[of].name),
                      std::min(static_cast<int>(types[i].shape.size()), 4)});
      if (!kind.gradients) rows.back().push_back(static_cast<int>(types[of].dtype));
    }
  return rows;
}

}  // namespace touchstone::fuzz
