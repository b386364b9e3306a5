#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "touchstone/symbolic/expr/expr.h"

namespace touchstone::symbolic {

/// The names of a map, at most eight, for a message about an unknown one: "declared: a, b".
template <typename Names>
std::string declared_names(const Names& names) {
  if (names.empty()) return "no names are declared";
  std::string text = "declared:";
  int left = 8;
  for (const auto& [name, value] : names) {
    if (left-- == 0) return text + ", ...";
    text += (text.back() == ':' ? " " : ", ") + name;
  }
  return text;
}

/// Builds the result of parsing: canonical nodes, the tree as written, or anything else that
/// fits in 32 bits.
class ExpressionBuilder {
 public:
  using Value = std::uint32_t;

  virtual ~ExpressionBuilder() = default;
  virtual Value constant(const Int& value) = 0;
  /// The value of a name; nullopt if unknown.
  virtual std::optional<Value> name(std::string_view name) = 0;
  /// The known names, for the error message on an unknown one.
  virtual std::string known_names() const = 0;
  /// True if the value is certainly 0, so dividing by it is an error.
  virtual bool is_zero(Value value) const = 0;
  /// Text offset of the operator of the division applied next.
  virtual void at(std::size_t /*place*/) {}
  /// Any operator except Constant, Variable, Or, And, Add, Sub; Min and Max take one or more.
  virtual Value apply(ExprOp op, std::span<const Value> args) = 0;
  /// values[0] ops[0] values[1] ops[1] ...: all ops And, all Or, or each Add or Sub.
  virtual Value chain(std::span<const ExprOp> ops, std::span<const Value> values) = 0;
};

/// Parses an expression: + - * // % < <= > >= == != and or not, min(..) max(..) where(c,a,b)
/// tdiv(a,b) tmod(a,b), True and False, with Python's precedence. Depth costs only memory. Reads
/// only [from, to) of the text; error columns count from the start of the text. Throws ParseError
/// with the column.
ExpressionBuilder::Value read_expression(std::string_view text, ExpressionBuilder& builder,
                                         std::size_t from = 0,
                                         std::size_t to = std::string_view::npos);

/// Throws ParseError with the column, the message and an excerpt of the text at an offset.
[[noreturn]] void fail_at(std::string_view text, std::size_t at, const std::string& what);
/// The same for a division by zero whose operator is at the offset.
[[noreturn]] void fail_division(std::string_view text, std::size_t at);

}  // namespace touchstone::symbolic
