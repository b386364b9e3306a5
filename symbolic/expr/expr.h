#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "touchstone/symbolic/number/integer.h"

namespace touchstone::symbolic {

/// The operators of the notation. All except Min and Max take a fixed number of arguments.
enum class ExprOp : std::uint8_t {
  Constant,
  Variable,
  Or,
  And,
  Not,
  Lt,
  Gt,
  Le,
  Ge,
  Eq,
  Ne,
  Add,
  Sub,
  Mul,
  Div,  // floor quotient
  Mod,  // floor remainder
  Neg,
  Min,
  Max,
  Where,
  TruncDiv,
  TruncMod,
};

/// An unsimplified expression, as an index into its Exprs. Equal trees have equal indices, and a
/// tree's index is greater than those of its parts.
using Expr = std::uint32_t;

/// The child index at each level from the root; empty is the root.
using Path = std::vector<std::uint32_t>;

/// Stores expressions as written, each once. No function recurses on the depth of an expression.
class Exprs {
 public:
  Expr constant(const Int& value);
  Expr variable(std::string_view name);
  /// Does not simplify, except that a negated constant becomes the negative constant.
  Expr apply(ExprOp op, std::span<const Expr> args);
  Expr apply(ExprOp op, std::initializer_list<Expr> args) {
    return apply(op, std::span<const Expr>(args.begin(), args.size()));
  }

  /// One or more operands joined two at a time: ((a op b) op c).
  Expr folded(ExprOp op, std::span<const Expr> args);

  ExprOp op(Expr e) const { return nodes_[e].op; }
  std::span<const Expr> args(Expr e) const {
    const Node& n = nodes_[e];
    return n.count == 0 ? std::span<const Expr>() : std::span(args_).subspan(n.first, n.count);
  }
  Expr arg(Expr e, std::size_t i) const { return args(e)[i]; }
  const Int& value(Expr e) const { return constants_[nodes_[e].first]; }     // of a Constant
  const std::string& name(Expr e) const { return names_[nodes_[e].first]; }  // of a Variable
  bool is_constant(Expr e) const { return op(e) == ExprOp::Constant; }
  bool is_constant(Expr e, const Int& v) const { return is_constant(e) && value(e) == v; }

  /// The expression with the variables in `replacements` replaced.
  Expr substitute(Expr root, const std::map<std::string, Expr, std::less<>>& replacements);
  /// The part at the path; nullopt if the path leaves the tree.
  std::optional<Expr> at(Expr root, const Path& path) const;
  /// root with the part at the path replaced; the path must be in the tree.
  Expr replace(Expr root, const Path& path, Expr part);
  /// All distinct parts of root and root itself, parts before wholes.
  std::vector<Expr> parts(Expr root) const;
  /// Number of operators, variables and constants, repeats counted. Saturates.
  std::size_t size(Expr root) const;
  /// The operands of nested `and` or `or`, in text order; of another operator the root alone.
  std::vector<Expr> operands(Expr root, ExprOp op) const;

  std::size_t count() const { return nodes_.size(); }

 private:
  struct Node {
    ExprOp op;
    std::uint32_t first;  // args_, constants_ or names_
    std::uint32_t count;
  };
  Expr intern(const Node& node, std::uint64_t hash);

  std::vector<Node> nodes_;
  std::vector<Expr> args_;
  std::vector<Int> constants_;
  std::vector<std::string> names_;
  std::unordered_multimap<std::uint64_t, Expr> index_;
};

/// Removes redundant parts: `x + 0`, `x*1`, `min(x, x)`, `not not x < y`. The result is no larger,
/// and defined and equal wherever root is defined.
Expr tidied(Exprs& exprs, Expr root);
/// The same, where `smaller(part, now)` may replace each part by an equal one: `now` is the part
/// with its operands tidied.
Expr tidied(Exprs& exprs, Expr root, const std::function<Expr(Expr part, Expr now)>& smaller);

/// Python-like text of a tree with the fewest parentheses that keep its shape; parse_expr returns
/// the same tree.
std::string render(const Exprs& exprs, Expr root);

/// The text and the range [begin, end) of the part at `path`, including its parentheses.
struct MarkedText {
  std::string text;
  std::size_t begin = 0, end = 0;

  /// The text before the part, the part, and the text after it.
  std::array<std::string, 3> cut() const {
    return {text.substr(0, begin), text.substr(begin, end - begin), text.substr(end)};
  }
};
MarkedText render_marked(const Exprs& exprs, Expr root, const Path& path);

/// Parses the syntax of `parse` (node.h) without simplifying; any identifier is a variable. Reads
/// only [from, to) of the text; error columns count from the start of the text.
/// Throws ParseError with the column.
Expr parse_expr(Exprs& exprs, std::string_view text, std::size_t from = 0,
                std::size_t to = std::string_view::npos);

}  // namespace touchstone::symbolic
