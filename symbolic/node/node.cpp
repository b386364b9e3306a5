#include "touchstone/symbolic/node/node.h"

#include <initializer_list>

#include "touchstone/symbolic/expr/expr.h"
#include "touchstone/symbolic/simplify/simplifier.h"

namespace touchstone::symbolic {

namespace {

NodeData data(const Node& n) { return (*n.context())[n.id()]; }

/// The common context of the nodes. Constants of another context are copied into it.
Context& common_context(std::span<const Node> nodes) {
  Context* found = nullptr;
  for (const Node& n : nodes) {
    if (n.is_constant()) continue;
    if (found && found != n.context())
      throw Error("symbolic: the expression mixes nodes of two contexts; build all in one");
    found = n.context();
  }
  for (const Node& n : nodes)
    if (!found && n.context() != &Context::shared()) found = n.context();
  return found ? *found : Context::shared();
}

Node applied(ExprOp op, std::span<const Node> nodes) {
  Context& context = common_context(nodes);
  const std::lock_guard lock(context.mutex());
  Ids ids;
  for (const Node& n : nodes)
    ids.push_back(n.context() == &context ? n.id() : context.make_constant(data(n).first));
  if (const auto known = context.recall(op, ids)) return context.handle(*known);
  Simplifier s(context);
  Id result = 0;
  if (op == ExprOp::Add || op == ExprOp::Sub) {
    Terms terms;
    for (const Id id : ids) terms.push_back({op == ExprOp::Sub && !terms.empty() ? -1 : 1, id});
    result = s.chain(terms);
  } else {
    result = s.operate(op, ids);
  }
  context.remember(op, ids, result);
  return context.handle(result);
}

Node applied(ExprOp op, std::initializer_list<Node> nodes) {
  return applied(op, std::span<const Node>(nodes.begin(), nodes.size()));
}

}  // namespace

Node::Node() : Node(0) {}

Node::Node(std::int64_t value) : Node(Context::shared().constant(value)) {}

bool Node::is_constant() const { return data(*this).kind == NodeKind::Constant; }

std::optional<std::int64_t> Node::constant() const {
  const NodeData& n = data(*this);
  return n.kind == NodeKind::Constant ? n.first.small() : std::nullopt;
}

std::optional<std::int64_t> Node::min() const {
  const auto& end = data(*this).bounds.lo;
  return end ? end->small() : std::nullopt;
}

std::optional<std::int64_t> Node::max() const {
  const auto& end = data(*this).bounds.hi;
  return end ? end->small() : std::nullopt;
}

Node variable(const std::string& name, std::int64_t min, std::int64_t max) {
  return Context::shared().variable(name, min, max);
}

Node variable(const std::string& name, std::optional<std::int64_t> min,
              std::optional<std::int64_t> max) {
  return Context::shared().variable(name, min, max);
}

Node operator+(Node a, Node b) { return applied(ExprOp::Add, {a, b}); }
Node operator-(Node a, Node b) { return applied(ExprOp::Sub, {a, b}); }
Node operator-(Node a) { return applied(ExprOp::Neg, {a}); }
Node operator*(Node a, Node b) { return applied(ExprOp::Mul, {a, b}); }
Node floor_div(Node a, Node b) { return applied(ExprOp::Div, {a, b}); }
Node floor_mod(Node a, Node b) { return applied(ExprOp::Mod, {a, b}); }
Node lt(Node a, Node b) { return applied(ExprOp::Lt, {a, b}); }
Node le(Node a, Node b) { return applied(ExprOp::Le, {a, b}); }
Node gt(Node a, Node b) { return lt(b, a); }
Node ge(Node a, Node b) { return le(b, a); }
Node eq(Node a, Node b) { return applied(ExprOp::Eq, {a, b}); }
Node ne(Node a, Node b) { return applied(ExprOp::Ne, {a, b}); }
Node logical_and(Node a, Node b) { return applied(ExprOp::And, {a, b}); }
Node logical_or(Node a, Node b) { return applied(ExprOp::Or, {a, b}); }
Node logical_not(Node a) { return applied(ExprOp::Not, {a}); }
Node max(Node a, Node b) { return applied(ExprOp::Max, {a, b}); }
Node min(Node a, Node b) { return applied(ExprOp::Min, {a, b}); }
Node where(Node condition, Node a, Node b) { return applied(ExprOp::Where, {condition, a, b}); }
Node sum(std::span<const Node> terms) { return applied(ExprOp::Add, terms); }
Node ands(std::span<const Node> terms) { return applied(ExprOp::And, terms); }

Node step_node(ExprOp op, std::span<const Node> args) {
  return op == ExprOp::Constant || op == ExprOp::Variable ? Node(0) : applied(op, args);
}

}  // namespace touchstone::symbolic
