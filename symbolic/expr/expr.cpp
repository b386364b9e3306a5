#include "touchstone/symbolic/expr/expr.h"

#include <algorithm>
#include <limits>

#include "touchstone/base/hash.h"
#include "touchstone/symbolic/expr/grammar.h"
#include "touchstone/symbolic/expr/operators.h"
#include "touchstone/symbolic/expr/rebuild.h"

namespace touchstone::symbolic {

namespace {

std::uint64_t hash_of(ExprOp op, std::uint64_t content) {
  return hash_mix(static_cast<std::uint64_t>(op), content);
}

class TreeBuilder final : public ExpressionBuilder {
 public:
  explicit TreeBuilder(Exprs& exprs) : exprs_(exprs) {}

  Value constant(const Int& value) override { return exprs_.constant(value); }
  std::optional<Value> name(std::string_view name) override {
    if (is_reserved(name)) return std::nullopt;
    return exprs_.variable(name);
  }
  std::string known_names() const override { return "a variable may have any other name"; }
  bool is_zero(Value value) const override { return exprs_.is_constant(value, 0); }
  Value apply(ExprOp op, std::span<const Value> args) override { return exprs_.apply(op, args); }
  Value chain(std::span<const ExprOp> ops, std::span<const Value> values) override {
    Value r = values[0];
    for (std::size_t i = 0; i < ops.size(); ++i) r = exprs_.apply(ops[i], {r, values[i + 1]});
    return r;
  }

 private:
  Exprs& exprs_;
};

}  // namespace

Expr Exprs::intern(const Node& node, std::uint64_t hash) {
  nodes_.push_back(node);
  const Expr e = static_cast<Expr>(nodes_.size() - 1);
  index_.emplace(hash, e);
  return e;
}

Expr Exprs::constant(const Int& value) {
  const std::uint64_t hash = hash_of(ExprOp::Constant, value.hash());
  const auto [from, to] = index_.equal_range(hash);
  for (auto i = from; i != to; ++i)
    if (is_constant(i->second, value)) return i->second;
  constants_.push_back(value);
  return intern({ExprOp::Constant, static_cast<std::uint32_t>(constants_.size() - 1), 0}, hash);
}

Expr Exprs::variable(std::string_view name) {
  const std::uint64_t hash = hash_of(ExprOp::Variable, hash_bytes(name));
  const auto [from, to] = index_.equal_range(hash);
  for (auto i = from; i != to; ++i)
    if (op(i->second) == ExprOp::Variable && this->name(i->second) == name) return i->second;
  names_.emplace_back(name);
  return intern({ExprOp::Variable, static_cast<std::uint32_t>(names_.size() - 1), 0}, hash);
}

Expr Exprs::apply(ExprOp op, std::span<const Expr> args) {
  if (op == ExprOp::Neg && is_constant(args[0])) return constant(-value(args[0]));
  std::uint64_t hash = hash_of(op, args.size());
  for (const Expr a : args) hash = hash_mix(hash, a);
  const auto [from, to] = index_.equal_range(hash);
  for (auto i = from; i != to; ++i)
    if (this->op(i->second) == op && std::ranges::equal(this->args(i->second), args))
      return i->second;
  const auto first = static_cast<std::uint32_t>(args_.size());
  const std::vector<Expr> kept(args.begin(), args.end());  // args may alias args_
  args_.insert(args_.end(), kept.begin(), kept.end());
  return intern({op, first, static_cast<std::uint32_t>(kept.size())}, hash);
}

Expr Exprs::folded(ExprOp op, std::span<const Expr> args) {
  Expr r = args[0];
  for (const Expr a : args.subspan(1)) r = apply(op, {r, a});
  return r;
}

std::vector<Expr> Exprs::parts(Expr root) const {
  std::vector<Expr> found{root};
  std::vector<bool> seen(static_cast<std::size_t>(root) + 1, false);
  seen[root] = true;
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (op(found[i]) == ExprOp::Constant || op(found[i]) == ExprOp::Variable) continue;
    for (const Expr a : args(found[i]))
      if (!seen[a]) {
        seen[a] = true;
        found.push_back(a);
      }
  }
  std::ranges::sort(found);
  return found;
}

Expr Exprs::substitute(Expr root, const std::map<std::string, Expr, std::less<>>& replacements) {
  return replaced(*this, root, [&](Expr e) -> std::optional<Expr> {
    if (op(e) != ExprOp::Variable) return std::nullopt;
    const auto found = replacements.find(name(e));
    return found == replacements.end() ? std::nullopt : std::optional(found->second);
  });
}

std::optional<Expr> Exprs::at(Expr root, const Path& path) const {
  for (const std::uint32_t i : path) {
    if (i >= args(root).size()) return std::nullopt;
    root = arg(root, i);
  }
  return root;
}

Expr Exprs::replace(Expr root, const Path& path, Expr part) {
  std::vector<Expr> wholes;  // from the root down
  for (const std::uint32_t i : path) {
    wholes.push_back(root);
    root = arg(root, i);
  }
  for (std::size_t level = path.size(); level-- > 0;) {
    const Expr whole = wholes[level];
    std::vector<Expr> args(this->args(whole).begin(), this->args(whole).end());
    args[path[level]] = part;
    part = apply(op(whole), args);
  }
  return part;
}

std::size_t Exprs::size(Expr root) const {
  std::unordered_map<Expr, std::size_t> sizes;
  for (const Expr e : parts(root)) {
    std::size_t n = 1;
    for (const Expr a : args(e)) {
      const std::size_t more = sizes.at(a);
      n = n > std::numeric_limits<std::size_t>::max() - more
              ? std::numeric_limits<std::size_t>::max()
              : n + more;
    }
    const bool list = op(e) == ExprOp::Min || op(e) == ExprOp::Max;
    if (list) n += args(e).size() - 2;  // a choice of n counts n - 1 operators
    sizes.emplace(e, n);
  }
  return sizes.at(root);
}

std::vector<Expr> Exprs::operands(Expr root, ExprOp op) const {
  std::vector<Expr> found, todo{root};
  while (!todo.empty()) {
    const Expr e = todo.back();
    todo.pop_back();
    if (this->op(e) == op)
      todo.insert(todo.end(), {arg(e, 1), arg(e, 0)});
    else
      found.push_back(e);
  }
  return found;
}

Expr parse_expr(Exprs& exprs, std::string_view text, std::size_t from, std::size_t to) {
  TreeBuilder builder(exprs);
  return read_expression(text, builder, from, to);
}

}  // namespace touchstone::symbolic
