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

/// Returns the memoized result of `op`, or runs `build(simplifier, ids)` under the context's lock;
/// `op` must determine the function.
template <class Build>
Node built(ExprOp op, std::span<const Node> nodes, const Build& build) {
  Context& context = common_context(nodes);
  const std::lock_guard lock(context.mutex());
  Ids ids;
  for (const Node& n : nodes)
    ids.push_back(n.context() == &context ? n.id() : context.make_constant(data(n).first));
  if (const auto known = context.recall(op, ids)) return context.handle(*known);
  Simplifier s(context);
  const Id result = build(s, ids);
  context.remember(op, ids, result);
  return context.handle(result);
}

template <class Build>
Node built(ExprOp op, std::initializer_list<Node> nodes, const Build& build) {
  return built(op, std::span<const Node>(nodes.begin(), nodes.size()), build);
}

/// Tests a - b + constant.
Node difference(ExprOp op, Node a, Node b, int constant, Id (Simplifier::*test)(Linear)) {
  return built(op, {a, b}, [&](Simplifier& s, const Ids& id) {
    Linear gap{constant, {}};
    s.add(gap, id[0]);
    s.add(gap, id[1], -1);
    return (s.*test)(std::move(gap));
  });
}

}  // namespace

Node::Node() : Node(0) {}

Node::Node(std::int64_t value) : Node(Context::shared().constant(value)) {}

bool Node::is_constant() const { return data(*this).kind == Kind::Constant; }

std::optional<std::int64_t> Node::constant() const {
  const NodeData& n = data(*this);
  return n.kind == Kind::Constant ? n.first.small() : std::nullopt;
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

Node operator+(Node a, Node b) {
  return built(ExprOp::Add, {a, b}, [](Simplifier& s, const Ids& id) {
    Linear r = s.linear(id[0]);
    s.add(r, id[1]);
    return s.build(r);
  });
}

Node operator-(Node a, Node b) {
  return built(ExprOp::Sub, {a, b}, [](Simplifier& s, const Ids& id) {
    Linear r = s.linear(id[0]);
    s.add(r, id[1], -1);
    return s.build(r);
  });
}

Node operator-(Node a) {
  return built(ExprOp::Neg, {a},
               [](Simplifier& s, const Ids& id) { return s.build(-s.linear(id[0])); });
}

Node operator*(Node a, Node b) {
  return built(ExprOp::Mul, {a, b},
               [](Simplifier& s, const Ids& id) { return s.product(id[0], id[1]); });
}

Node floor_div(Node a, Node b) {
  return built(ExprOp::Div, {a, b}, [](Simplifier& s, const Ids& id) {
    return s.build(s.divide(s.linear(id[0]), s.linear(id[1])));
  });
}

Node floor_mod(Node a, Node b) {
  return built(ExprOp::Mod, {a, b}, [](Simplifier& s, const Ids& id) {
    return s.build(s.modulo(s.linear(id[0]), s.linear(id[1])));
  });
}

Node lt(Node a, Node b) { return difference(ExprOp::Lt, a, b, 0, &Simplifier::negative); }
Node le(Node a, Node b) { return difference(ExprOp::Le, a, b, -1, &Simplifier::negative); }
Node gt(Node a, Node b) { return lt(b, a); }
Node ge(Node a, Node b) { return le(b, a); }
Node eq(Node a, Node b) { return difference(ExprOp::Eq, a, b, 0, &Simplifier::zero); }
Node ne(Node a, Node b) { return logical_not(eq(a, b)); }

Node logical_and(Node a, Node b) {
  return built(ExprOp::And, {a, b}, [](Simplifier& s, const Ids& id) { return s.both(id); });
}

Node logical_or(Node a, Node b) {
  return built(ExprOp::Or, {a, b}, [](Simplifier& s, const Ids& id) { return s.either(id); });
}

Node logical_not(Node a) {
  return built(ExprOp::Not, {a},
               [](Simplifier& s, const Ids& id) { return s.negate(s.truth(id[0])); });
}

Node max(Node a, Node b) {
  return built(ExprOp::Max, {a, b}, [](Simplifier& s, const Ids& id) {
    const Linear members[] = {s.linear(id[0]), s.linear(id[1])};
    return s.build(s.maximum(members));
  });
}

Node min(Node a, Node b) { return -max(-a, -b); }

Node where(Node condition, Node a, Node b) {
  return built(ExprOp::Where, {condition, a, b}, [](Simplifier& s, const Ids& id) {
    return s.build(s.where(s.truth(id[0]), s.linear(id[1]), s.linear(id[2])));
  });
}

Node sum(std::span<const Node> terms) {
  return built(ExprOp::Add, terms, [](Simplifier& s, const Ids& id) {
    List<Term> list;
    list.reserve(id.size());
    for (const Id i : id) list.push_back({1, i});
    return s.add_all(list);
  });
}

Node ands(std::span<const Node> terms) {
  return built(ExprOp::And, terms, [](Simplifier& s, const Ids& id) { return s.both(id); });
}

Node step_node(StepOp op, std::span<const Node> args) {
  switch (op) {
    case StepOp::Add:
      return args[0] + args[1];
    case StepOp::Sub:
      return args[0] - args[1];
    case StepOp::Mul:
      return args[0] * args[1];
    case StepOp::FloorDiv:
      return floor_div(args[0], args[1]);
    case StepOp::FloorMod:
      return floor_mod(args[0], args[1]);
    case StepOp::Lt:
      return lt(args[0], args[1]);
    case StepOp::Le:
      return le(args[0], args[1]);
    case StepOp::Eq:
      return eq(args[0], args[1]);
    case StepOp::Ne:
      return ne(args[0], args[1]);
    case StepOp::And:
      return logical_and(args[0], args[1]);
    case StepOp::Or:
      return logical_or(args[0], args[1]);
    case StepOp::Not:
      return logical_not(args[0]);
    case StepOp::Min:
      return min(args[0], args[1]);
    case StepOp::Max:
      return max(args[0], args[1]);
    case StepOp::Where:
      return where(args[0], args[1], args[2]);
    case StepOp::Const:
    case StepOp::Var:
      break;
  }
  return Node(0);
}

}  // namespace touchstone::symbolic
