#include "touchstone/fuzz/cases/uop_program.h"

#include <algorithm>
#include <optional>

#include "touchstone/base/error.h"
#include "touchstone/fuzz/cases/program.h"
#include "touchstone/kernelize/elements.h"
#include "touchstone/kernelize/rules.h"

namespace touchstone::fuzz {
namespace {

using Words = std::vector<std::string_view>;

Shape shape_of(std::string_view word) {
  Shape shape;
  if (word == "()") return shape;
  for (const std::string_view part : split(word, ',')) {
    shape.emplace_back(number(part));
    if (shape.back().as_int() < 0) throw ParseError(fmt::format("a size of {}", part));
  }
  return shape;
}

UOp device_of(std::string_view word) {
  if (word.size() < 2 || word[0] != 'D' || number(word.substr(1)) < 0)
    throw ParseError(
        fmt::format("'{}' is not a device; D0 is the device under test, D1 the host", word));
  return UOp::device(std::string(word));
}

std::optional<GraphOp> elementwise_named(std::string_view name, bool floats) {
  if (name == "div") return floats ? GraphOp::Fdiv : GraphOp::Idiv;
  for (const GraphOpInfo& row : graph_op_table) {
    std::string lower(row.name);
    for (char& c : lower) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
    if (is_alu(row.op) && lower == name) return row.op;
  }
  return std::nullopt;
}

std::optional<GraphOp> reduce_named(std::string_view name) {
  if (name == "reduce_sum") return GraphOp::Add;
  if (name == "reduce_max") return GraphOp::Max;
  if (name == "reduce_prod") return GraphOp::Mul;
  return std::nullopt;
}

std::optional<GraphOp> asked(std::string_view name) {
  if (name == "contiguous" || name == "realize") return GraphOp::Contiguous;
  if (name == "contiguous_backward") return GraphOp::ContiguousBackward;
  if (name == "detach") return GraphOp::Detach;
  if (name == "fuse") return GraphOp::Fuse;
  return std::nullopt;
}

class Builder {
 public:
  void statement(std::string_view text) {
    if (out_.sink) throw ParseError("sink must be the last statement");
    if (text.find(':') != text.npos && text.find('%') == text.npos) return leaf(text);
    Words words = split(text, ' ');
    if (words.empty()) throw ParseError("a statement is empty");
    const std::string_view name = words[0];
    std::vector<UOp> of;
    Words rest;
    for (const std::string_view w : Words(words.begin() + 1, words.end()))
      if (w[0] == '%')
        of.push_back(value(w));
      else
        rest.push_back(w);
    if (of.empty())
      throw ParseError(fmt::format("there is no statement '{}' without values", name));
    if (name == "sink") {
      out_.sink = UOp::sink(std::move(of));
      return;
    }
    add(made(name, of, rest));
  }

  UOpProgram finish() {
    if (out_.values.empty()) throw ParseError("the program is empty");
    if (!out_.sink) out_.sink = UOp::sink({out_.values.back()});
    return std::move(out_);
  }

 private:
  UOp value(std::string_view word) const {
    const std::int64_t i = number(word.substr(1));
    if (i < 0 || i >= std::ssize(out_.values))
      throw ParseError(fmt::format("{} does not come before it", word));
    return out_.values[static_cast<std::size_t>(i)];
  }

  void add(const UOp& u) {
    (void)u.st();  // throws if the operation does not fit
    out_.values.push_back(u);
  }

  void leaf(std::string_view text) {
    const std::size_t colon = text.find(':');
    Words words = split(text.substr(0, colon), ' ');
    UOp device = UOp::device("D0");
    Words values = split(text.substr(colon + 1), ' ');
    for (Words* part : {&words, &values})
      if (!part->empty() && part->back().starts_with('@')) {
        device = device_of(part->back().substr(1));
        part->pop_back();
      }
    const bool constant = !words.empty() && words[0] == "const";
    if (constant) words.erase(words.begin());
    if (words.size() != 2)
      throw ParseError("an input must be DTYPE SHAPE: VALUES, a constant const DTYPE SHAPE: VALUE");
    const DType dtype = parse_dtype(words[0]);
    const Shape shape = shape_of(words[1]);
    for (const std::string_view v : values) (void)Scalar::parse(dtype, v);
    if (constant) {
      if (values.size() != 1) throw ParseError("a constant must have one value");
      return add(UOp::constant(Scalar::parse(dtype, values[0]), shape, device));
    }
    const std::int64_t n = max_elements(shape);
    if (n == 0) return add(UOp::constant(Scalar::from_int(dtype, 0), shape, device));
    add(kernelize::as_shape(UOp::new_buffer(device, n, dtype), shape));
  }

  static void expect(std::string_view name, const std::vector<UOp>& of, std::size_t values,
                     const Words& rest, std::size_t arguments) {
    if (of.size() != values) throw ParseError(fmt::format("{} takes {} values", name, values));
    if (rest.size() != arguments)
      throw ParseError(
          fmt::format("{}: expected {}", name, arguments == 0 ? "no argument" : "one argument"));
  }

  static UOp made(std::string_view name, const std::vector<UOp>& of, const Words& rest) {
    const UOp& x = of[0];
    if (is_movement(name)) {
      expect(name, of, 1, rest, 1);
      return apply_movement(x, parse_movement(name, rest[0]), [](const UOp& u, const auto& steps) {
        return u.view(ShapeTracker::contiguous(u.shape()).stride(steps));
      });
    }
    if (const auto ask = asked(name)) {
      expect(name, of, 1, rest, 0);
      return x.ask(*ask);
    }
    if (name == "cast" || name == "bitcast") {
      expect(name, of, 1, rest, 1);
      const DType to = parse_dtype(rest[0]);
      return name == "cast" ? x.cast(to) : x.bitcast(to);
    }
    if (name == "copy") {
      expect(name, of, 1, rest, rest.empty() ? 0 : 1);
      if (!rest.empty()) return x.copy_to(device_of(rest[0]));
      return x.copy_to(UOp::device("D1")).copy_to(x.device_node());
    }
    if (name == "assign") {
      expect(name, of, 2, rest, 0);
      // An empty value has no memory to assign to.
      if (max_elements(x.shape()) == 0) return of[1];
      return (x.base().op() == GraphOp::Const ? x.contiguous() : x).assign(of[1]);
    }
    if (const auto op = reduce_named(name)) {
      expect(name, of, 1, rest, 1);
      std::vector<int> axes;
      for (const sint& a : shape_of(rest[0])) axes.push_back(static_cast<int>(a.as_int()));
      return x.reduce(*op, std::move(axes));
    }
    const auto op = elementwise_named(name, is_float(of[of.size() > 2 ? 1 : 0].dtype().base));
    if (const auto f = op ? std::nullopt : function_from_name(name)) {
      expect(name, of, static_cast<std::size_t>(info(*f).arity), rest, 0);
      return x.call(*f, std::vector<UOp>(of.begin() + 1, of.end()));
    }
    if (!op) throw ParseError(fmt::format("there is no statement '{}'", name));
    expect(name, of, static_cast<std::size_t>(info(*op).least), rest, 0);
    return x.alu(*op, std::vector<UOp>(of.begin() + 1, of.end()));
  }

  UOpProgram out_;
};

}  // namespace

UOpProgram UOpProgram::parse(std::string_view text) {
  Builder builder;
  std::size_t number = 0;
  for (const std::string_view part : split(text, ';')) {
    std::string_view statement = part;
    while (!statement.empty() && (statement.front() == ' ' || statement.front() == '\n'))
      statement.remove_prefix(1);
    while (!statement.empty() && (statement.back() == ' ' || statement.back() == '\n'))
      statement.remove_suffix(1);
    try {
      builder.statement(statement);
    } catch (const Error& e) {
      throw ParseError(fmt::format("statement %{}: {}", number, e.what()));
    }
    ++number;
  }
  return builder.finish();
}

}  // namespace touchstone::fuzz
