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

/// An immutable integer expression in canonical form: equal handles mean the same function of the
/// same variables. A handle is two words, a context and an id, and is copied freely. Division and
/// modulo floor, so 0 <= a % b < b for b > 0. Comparisons and logic are the integers 0 and 1.
/// The free functions work in one context that all threads share and that lives as long as the
/// process; a Context of its own (context.h) keeps an expression apart.
class Node {
 public:
  Node();                    // the constant 0
  Node(std::int64_t value);  // NOLINT(google-explicit-constructor): a number is an expression

  bool is_constant() const;
  /// The value where the expression is a constant that fits in 64 bits.
  std::optional<std::int64_t> constant() const;
  /// Sound bounds, inclusive; nullopt where open or beyond 64 bits.
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

/// A variable with inclusive bounds. The same name with the same bounds is the same node; the same
/// name with other bounds is another node. min == max gives the constant.
/// Throws touchstone::Error where min > max or the name is not an identifier.
Node variable(const std::string& name, std::int64_t min, std::int64_t max);

/// The same with ends that may be open.
Node variable(const std::string& name, std::optional<std::int64_t> min,
              std::optional<std::int64_t> max);

Node operator+(Node a, Node b);
Node operator-(Node a, Node b);
Node operator-(Node a);
Node operator*(Node a, Node b);
Node floor_div(Node a, Node b);  // throws touchstone::Error where b is certainly 0
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
Node ands(std::span<const Node> terms);  // 1 where there are none

using Values = std::map<std::string, std::int64_t>;

/// Replaces variables (by name) with expressions; the result is simplified again. Throws
/// touchstone::Error where it would certainly divide by zero.
Node substitute(Node node, const std::map<std::string, Node>& replacements);
/// An expression equal to `node` at every point where all assumptions hold; nothing is promised
/// elsewhere. Assumptions that never hold together leave the node as it is.
Node simplify_under(Node node, std::span<const Node> assumptions);
/// The value at a point. A division by zero that cannot change the value, as in a branch of `where`
/// that is not taken, does no harm. Throws touchstone::Error on an unbound variable, a division by
/// zero, or a result beyond 64 bits.
std::int64_t evaluate(Node node, const Values& values);
/// The variables that occur, sorted by name, each as a node.
std::vector<Node> variables(Node node);
/// Name of a variable node.
const std::string& variable_name(Node node);

/// Python-like text: `a*4 + b%3`, `(a//2 < 3) and b != 1`. Parses back to the same node.
std::string render(Node node);
/// Number of operators, variables and constants in the rendered form.
std::size_t size(Node node);

/// One step of an expression laid out as straight-line code.
enum class StepOp : std::uint8_t {
  Const,
  Var,
  Add,
  Sub,
  Mul,
  FloorDiv,
  FloorMod,
  Lt,
  Le,
  Eq,
  Ne,
  And,
  Or,
  Not,
  Min,
  Max,
  Where
};
struct Step {
  StepOp op;
  std::int64_t value = 0;                    // Const
  std::string name{};                        // Var
  std::vector<int> args{};                   // earlier steps
  std::optional<std::int64_t> min{}, max{};  // sound bounds of the result
};
/// The smallest rendering of a node as straight-line code, shared parts once; the last step is the
/// result. What a code generator reads; it never recurses however deep the expression is.
/// Throws OverflowError where a constant is beyond 64 bits.
std::vector<Step> lower(Node node);

/// Parses the syntax of `render`: + - * // % < <= > >= == != and or not, min(..) max(..)
/// where(c,a,b) tdiv(a,b) tmod(a,b). Throws ParseError pointing at the column.
Node parse(const std::string& text, const std::map<std::string, Node>& names);

}  // namespace touchstone::symbolic
