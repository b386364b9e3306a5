#pragma once

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

/// The operators of the notation, as written. All but Min and Max take a fixed number of arguments.
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

/// An expression as written, nothing simplified: an index into its Exprs. Equal trees of one Exprs
/// are the same index, and the parts of a tree have smaller indices than the tree.
using Expr = std::uint32_t;

/// The child to take at each level, from the root down; empty is the root itself.
using Path = std::vector<std::uint32_t>;

/// Where expressions as written live, each once. Nothing recurses on the depth of an expression.
class Exprs {
 public:
  Expr constant(const Int& value);
  Expr variable(std::string_view name);
  /// Keeps what it is given, but for a negated constant, which is the negative constant.
  Expr apply(ExprOp op, std::span<const Expr> args);
  Expr apply(ExprOp op, std::initializer_list<Expr> args) {
    return apply(op, std::span<const Expr>(args.begin(), args.size()));
  }

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

  /// The expression with every variable that `replacement` knows replaced.
  Expr substitute(Expr root, const std::map<std::string, Expr, std::less<>>& replacements);
  /// The part at the path; nullopt where the path leaves the tree.
  std::optional<Expr> at(Expr root, const Path& path) const;
  /// root with the part at the path, which must be in the tree, replaced.
  Expr replace(Expr root, const Path& path, Expr part);
  /// All different parts of root and itself, parts before wholes.
  std::vector<Expr> parts(Expr root) const;
  /// Operators, variables and constants; parts that occur twice count twice. Saturates.
  std::size_t size(Expr root) const;

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

/// The tree without what adds nothing: `x + 0`, `x*1`, `min(x, x)`, `not not x < y`. No larger, and
/// defined and equal wherever root is defined.
Expr tidied(Exprs& exprs, Expr root);

/// The text of a tree, Python-like with as few parentheses as keep its shape; parse_expr reads it
/// back to the same tree.
std::string render(const Exprs& exprs, Expr root);

/// The text, and where in it the part at `path` stands: [begin, end), with the parentheses it
/// needs.
struct MarkedText {
  std::string text;
  std::size_t begin = 0, end = 0;
};
MarkedText render_marked(const Exprs& exprs, Expr root, const Path& path);

/// Reads the syntax of `parse` (node.h) and keeps the tree as written; any identifier is a
/// variable. Only [from, to) of the text is read; errors count columns in all of it.
/// Throws ParseError pointing at the column.
Expr parse_expr(Exprs& exprs, std::string_view text, std::size_t from = 0,
                std::size_t to = std::string_view::npos);

}  // namespace touchstone::symbolic
