#include <algorithm>

#include "touchstone/symbolic/node/compiled_node.h"
#include "touchstone/symbolic/simplify/simplifier.h"

namespace touchstone::symbolic {

std::int64_t evaluate(Node node, const Values& values) {
  const Context& c = *node.context();
  CompiledNode program(c, node.id());
  std::vector<Int> point;
  for (const Id id : program.variables()) {
    const std::string& name = c.name(id);
    const auto found = values.find(name);
    if (found == values.end())
      throw Error(
          fmt::format("evaluate: no value for variable \"{}\"; add it to the values", name));
    point.emplace_back(found->second);
  }
  const std::optional<Int> v = program.run(point);
  if (!v) throw Error("evaluate: division by zero at this point");
  if (!v->small())
    throw OverflowError(fmt::format("evaluate: {} does not fit in 64 bits", v->str()));
  return *v->small();
}

Node substitute(Node node, const std::map<std::string, Node>& replacements) {
  Context& c = *node.context();
  for (const auto& [name, to] : replacements)
    if (to.context() != &c && !to.is_constant())
      throw Error(
          fmt::format("substitute: the replacement of \"{}\" belongs to another context", name));
  const std::lock_guard lock(c.mutex());
  Simplifier::Replacements now;
  for (const Id id : reachable(c, node.id())) {
    if (c[id].kind != NodeKind::Variable) continue;
    const auto found = replacements.find(c.name(id));
    if (found == replacements.end()) continue;
    const Node to = found->second;
    now.emplace_back(
        id, to.context() == &c ? to.id() : c.make_constant((*to.context())[to.id()].first));
  }
  if (now.empty()) return node;
  Simplifier s(c);
  const Id result = s.rewritten(node.id(), now);
  if (!s.defined(result)) throw Error("substitute: the result divides by zero");
  return c.handle(result);
}

Node simplify_under(Node node, std::span<const Node> assumptions) {
  Context& c = *node.context();
  for (const Node& a : assumptions)
    if (a.context() != &c && !a.is_constant())
      throw Error("simplify_under: an assumption belongs to another context than the expression");
  const std::lock_guard lock(c.mutex());
  Simplifier s(c);
  Ids conditions;
  for (const Node& a : assumptions) {
    const NodeData& n = (*a.context())[a.id()];
    if (n.kind != NodeKind::Constant) conditions.push_back(s.truth(a.id()));
    if (n.kind == NodeKind::Constant && n.first.is_zero()) return node;
  }
  return c.handle(s.under(node.id(), conditions).value_or(node.id()));
}

std::vector<Node> variables(Node node) {
  Context& c = *node.context();
  std::vector<Node> found;
  for (const Id id : reachable(c, node.id()))
    if (c[id].kind == NodeKind::Variable) found.push_back(c.handle(id));
  std::ranges::sort(found, {},
                    [](const Node& n) { return std::tuple(variable_name(n), n.min(), n.max()); });
  return found;
}

const std::string& variable_name(Node node) {
  const NodeData& n = (*node.context())[node.id()];
  if (n.kind != NodeKind::Variable)
    throw Error(fmt::format("variable_name: {} is not a variable", render(node)));
  return *n.name;
}

}  // namespace touchstone::symbolic
