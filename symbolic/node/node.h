#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "touchstone/base/error.h"

namespace touchstone::symbolic {

class Context;
enum class ExprOp : std::uint8_t;  // expr.h

/// An immutable integer expression in canonical form: equal handles mean the same function of the
/// same variables. A handle is a context and an id, and cheap to copy. Division and modulo floor,
/// so 0 <= a % b < b for b > 0. Comparisons and logic return 0 or 1. The free functions use one
/// context that all threads share and that lives as long as the process; use a Context (context.h)
/// to keep expressions separate.
class Node {
 public:
  Node();                    // the constant 0
  Node(std::int64_t value);  // NOLINT(google-explicit-constructor): a number is an expression

  bool is_constant() const;
  /// The value, if it is a constant that fits in 64 bits.
  std::optional<std::int64_t> constant() const;
  /// Sound inclusive bounds; nullopt if open or beyond 64 bits.
  std::optional<std::int64_t> min() const;
  std::optional<std::int64_t> max() const;

  Context* context() const { return context_; }
  std::uint32_t id() const { return id_; }
  bool operator==(const Node&) const = default;

 private:
  friend class Context;
  Node(Context* context, std::uint32_t id) : context_(context), id_(id) {}
  Context* context_;
  std::uint32_t id_;
};

/// A variable with inclusive bounds. The same name with the same bounds is the same node; with
/// other bounds it is another node. min == max gives the constant.
/// Throws touchstone::Error if min > max or the name is not an identifier.
Node variable(const std::string& name, std::int64_t min, std::int64_t max);

/// The same; nullopt is an open end.
Node variable(const std::string& name, std::optional<std::int64_t> min,
              std::optional<std::int64_t> max);

Node operator+(Node a, Node b);
Node operator-(Node a, Node b);
Node operator-(Node a);
Node operator*(Node a, Node b);
Node floor_div(Node a, Node b);  // throws touchstone::Error if b is certainly 0
Node floor_mod(Node a, Node b);
Node lt(Node a, Node b);
Node le(Node a, Node b);
Node gt(Node a, Node b);
Node ge(Node a, Node b);
Node eq(Node a, Node b);
Node ne(Node a, Node b);
Node logical_and(Node a, Node b);
Node logical_or(Node a, Node b);
Node logical_not(Node a);
Node min(Node a, Node b);
Node max(Node a, Node b);
Node where(Node condition, Node a, Node b);

Node sum(std::span<const Node> terms);
Node ands(std::span<const Node> terms);  // 1 if empty

using Values = std::map<std::string, std::int64_t>;

/// Replaces variables by name and simplifies the result. Throws touchstone::Error if the result
/// certainly divides by zero.
Node substitute(Node node, const std::map<std::string, Node>& replacements);
/// An expression equal to `node` at every point where all assumptions hold; unspecified elsewhere.
/// Contradictory assumptions return the node unchanged.
Node simplify_under(Node node, std::span<const Node> assumptions);
/// The value at a point. A division by zero that cannot affect the value, as in a `where` branch
/// that is not taken, is ignored. Throws touchstone::Error on an unbound variable, another division
/// by zero, or a result beyond 64 bits.
std::int64_t evaluate(Node node, const Values& values);
/// The variables of the expression as nodes, sorted by name.
std::vector<Node> variables(Node node);
/// Name of a variable node.
const std::string& variable_name(Node node);

/// Python-like text: `a*4 + b%3`, `(a//2 < 3) and b != 1`. Parses back to a node with this text.
std::string render(Node node);
/// Number of operators, variables and constants in the rendered text.
std::size_t size(Node node);

/// One instruction of the straight-line code of an expression. `lower` writes truncating divisions
/// with floor divisions, and has no Gt, Ge and Neg: `0 - x` negates.
struct LoweredStep {
  ExprOp op;
  std::int64_t value = 0;                    // Constant
  std::string name{};                        // Variable
  std::vector<int> args{};                   // indices of earlier steps
  std::optional<std::int64_t> min{}, max{};  // sound bounds of the result
};
/// The smallest form of a node as straight-line code for code generators, shared parts once; the
/// last step is the result.
/// Throws OverflowError if a constant is beyond 64 bits.
std::vector<LoweredStep> lower(Node node);
/// Applies a step's operation to the values of its arguments; not for Constant and Variable.
Node step_node(ExprOp op, std::span<const Node> args);

/// Parses the syntax of `render`: + - * // % < <= > >= == != and or not, min(..) max(..)
/// where(c,a,b) tdiv(a,b) tmod(a,b). Throws ParseError with the column.
Node parse(const std::string& text, const std::map<std::string, Node>& names);

}  // namespace touchstone::symbolic
