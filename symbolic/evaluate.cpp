#include <algorithm>
#include <unordered_map>

#include "touchstone/symbolic/simplifier.h"

namespace touchstone::symbolic {

namespace {

/// A value, or none where a division by zero lies below.
using Value = std::optional<Int>;

class Evaluator {
 public:
  Evaluator(const Context& context, const Values& values) : c_(context), given_(values) {}

  Value run(Id root) {
    for (const Id id : reachable(c_, root)) known_.emplace(id, step(c_[id]));
    return known_.at(root);
  }

 private:
  const Value& at(Id id) const { return known_.at(id); }

  Value step(const NodeData& n) const {
    if (n.kind == Kind::Constant) return n.first;
    if (n.kind == Kind::Variable) return variable(n);
    if (n.kind == Kind::Select) {  // a branch not taken may divide by zero
      if (!at(n.args[0])) return std::nullopt;
      return at(n.args[0])->is_zero() ? Value(0) : at(n.args[1]);
    }
    if (n.kind == Kind::And)
      for (const Id id : n.args)
        if (at(id) && at(id)->is_zero()) return Int(0);
    for (const Id id : n.args)
      if (!at(id)) return std::nullopt;
    return n.kind == Kind::Sum ? sum(n) : operation(n);
  }

  Value variable(const NodeData& n) const {
    const auto found = given_.find(*n.name);
    if (found == given_.end())
      throw Error(
          fmt::format("evaluate: no value for variable \"{}\"; add it to the values", *n.name));
    return Int(found->second);
  }

  Value sum(const NodeData& n) const {
    Int total = n.first;
    for (const Term& t : n.terms) {
      if (!at(t.atom)) return std::nullopt;
      total += t.coef * *at(t.atom);
    }
    return total;
  }

  Value operation(const NodeData& n) const {
    const auto arg = [&](std::size_t i) -> const Int& { return *at(n.args[i]); };
    switch (n.kind) {
      case Kind::Product: {
        Int r = 1;
        for (const Id id : n.args) r = r * *at(id);
        return r;
      }
      case Kind::Digit: {
        const Int q = floor_div(arg(0), n.first);
        return n.second.is_zero() ? q : floor_mod(q, floor_div(n.second, n.first));
      }
      case Kind::Div:
        return arg(1).is_zero() ? Value() : floor_div(arg(0), arg(1));
      case Kind::Mod:
        return arg(1).is_zero() ? Value() : floor_mod(arg(0), arg(1));
      case Kind::Negative:
        return Int(arg(0).sign() < 0 ? 1 : 0);
      case Kind::Zero:
        return Int(arg(0).is_zero() ? 1 : 0);
      case Kind::And:
        return Int(1);
      default: {
        Int r = 0;
        for (const Id id : n.args) r = larger(r, *at(id));
        return r;
      }
    }
  }

  const Context& c_;
  const Values& given_;
  std::unordered_map<Id, Value> known_;
};

}  // namespace

std::int64_t evaluate(Node node, const Values& values) {
  const Value v = Evaluator(*node.context(), values).run(node.id());
  if (!v) throw Error("evaluate: division by zero at this point");
  if (!v->small())
    throw OverflowError(fmt::format("evaluate: {} does not fit in 64 bits", v->str()));
  return *v->small();
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
