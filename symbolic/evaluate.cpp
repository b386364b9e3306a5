#include <algorithm>
#include <unordered_map>

#include "touchstone/symbolic/simplifier.h"

namespace touchstone::symbolic {

namespace {

/// Values of all nodes, parts first. A quotient by zero gets the value `undefined`: where it does
/// not matter, as in a branch not taken, the result is the same for every such value.
class Evaluator {
 public:
  Evaluator(const Context& context, const Values& values, Int undefined)
      : c_(context), given_(values), undefined_(std::move(undefined)) {}

  Int run(std::span<const Id> nodes) {
    for (const Id id : nodes) known_.emplace(id, step(c_[id]));
    return known_.at(nodes.back());
  }
  bool divided_by_zero() const { return divided_by_zero_; }

 private:
  const Int& at(Id id) const { return known_.at(id); }

  Int variable(const NodeData& n) const {
    const auto found = given_.find(*n.name);
    if (found == given_.end())
      throw Error(
          fmt::format("evaluate: no value for variable \"{}\"; add it to the values", *n.name));
    return found->second;
  }

  Int step(const NodeData& n) {
    const auto arg = [&](std::size_t i) -> const Int& { return at(n.args[i]); };
    switch (n.kind) {
      case Kind::Constant:
        return n.first;
      case Kind::Variable:
        return variable(n);
      case Kind::Product: {
        Int r = 1;
        for (const Id id : n.args) r = r * at(id);
        return r;
      }
      case Kind::Digit: {
        const Int q = floor_div(arg(0), n.first);
        return n.second.is_zero() ? q : floor_mod(q, floor_div(n.second, n.first));
      }
      case Kind::Div:
      case Kind::Mod:
        if (arg(1).is_zero()) {
          divided_by_zero_ = true;
          return undefined_;
        }
        return n.kind == Kind::Div ? floor_div(arg(0), arg(1)) : floor_mod(arg(0), arg(1));
      case Kind::Negative:
        return arg(0).sign() < 0 ? 1 : 0;
      case Kind::Zero:
        return arg(0).is_zero() ? 1 : 0;
      case Kind::And:
        return std::ranges::none_of(n.args, [&](Id id) { return at(id).is_zero(); }) ? 1 : 0;
      case Kind::Select:
        return arg(0).is_zero() ? Int(0) : arg(1);
      case Kind::Max: {
        Int r = 0;
        for (const Id id : n.args) r = larger(r, at(id));
        return r;
      }
      case Kind::Sum:
        break;
    }
    Int total = n.first;
    for (const Term& t : n.terms) total += t.coef * at(t.atom);
    return total;
  }

  const Context& c_;
  const Values& given_;
  const Int undefined_;
  bool divided_by_zero_ = false;
  std::unordered_map<Id, Int> known_;
};

}  // namespace

std::int64_t evaluate(Node node, const Values& values) {
  const List<Id> nodes = reachable(*node.context(), node.id());
  Evaluator first(*node.context(), values, 0);
  const Int v = first.run(nodes);
  if (first.divided_by_zero() && Evaluator(*node.context(), values, 1'000'003).run(nodes) != v)
    throw Error("evaluate: division by zero at this point");
  if (!v.small()) throw OverflowError(fmt::format("evaluate: {} does not fit in 64 bits", v.str()));
  return *v.small();
}

Node substitute(Node node, const std::map<std::string, Node>& replacements) {
  Context& c = *node.context();
  for (const auto& [name, to] : replacements)
    if (to.context() != &c && !to.is_constant())
      throw Error(fmt::format("substitute: the replacement of \"{}\" is of another context", name));
  const std::lock_guard lock(c.mutex());
  std::unordered_map<Id, Id> now;
  for (const Id id : reachable(c, node.id())) {
    if (c[id].kind != Kind::Variable) continue;
    const auto found = replacements.find(*c[id].name);
    if (found == replacements.end()) continue;
    const Node to = found->second;
    now.emplace(id, to.context() == &c ? to.id() : c.make_constant((*to.context())[to.id()].first));
  }
  if (now.empty()) return node;
  Simplifier s(c);
  const Id result = s.rewritten(node.id(), std::move(now));
  if (!s.defined(result)) throw Error("substitute: the result divides by zero");
  return c.handle(result);
}

Node given(Node node, std::span<const Node> assumptions) {
  Context& c = *node.context();
  for (const Node& a : assumptions)
    if (a.context() != &c && !a.is_constant())
      throw Error("given: an assumption is of another context than the expression");
  const std::lock_guard lock(c.mutex());
  Simplifier s(c);
  Ids conditions;
  for (const Node& a : assumptions) {
    const NodeData& n = (*a.context())[a.id()];
    if (n.kind != Kind::Constant) conditions.push_back(s.truth(a.id()));
    if (n.kind == Kind::Constant && n.first.is_zero()) return node;
  }
  return c.handle(s.under(node.id(), conditions).value_or(node.id()));
}

std::vector<Node> variables(Node node) {
  Context& c = *node.context();
  std::vector<Node> found;
  for (const Id id : reachable(c, node.id()))
    if (c[id].kind == Kind::Variable) found.push_back(c.handle(id));
  std::ranges::sort(found, {},
                    [](const Node& n) { return std::tuple(variable_name(n), n.min(), n.max()); });
  return found;
}

const std::string& variable_name(Node node) {
  const NodeData& n = (*node.context())[node.id()];
  if (n.kind != Kind::Variable)
    throw Error(fmt::format("variable_name: {} is not a variable", render(node)));
  return *n.name;
}

}  // namespace touchstone::symbolic
