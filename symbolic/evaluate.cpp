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

Linear rebuilt(Simplifier& s, const NodeData& n, const std::vector<Linear>& args) {
  const auto one = [&](Id id) { return s.linear(id); };
  switch (n.kind) {
    case Kind::Product: {
      Linear r{1, {}};
      for (const Linear& a : args) r = s.multiply(r, a);
      return r;
    }
    case Kind::Digit:
      return s.digit(args[0], n.first, n.second);
    case Kind::Div:
      return s.divide(args[0], args[1]);
    case Kind::Mod:
      return s.modulo(args[0], args[1]);
    case Kind::Negative:
      return one(s.negative(args[0]));
    case Kind::Zero:
      return one(s.zero(args[0]));
    case Kind::And: {
      Ids ids;
      for (const Linear& a : args) ids.push_back(s.build(a));
      return one(s.both(ids));
    }
    case Kind::Select:
      return s.where(s.truth(s.build(args[0])), args[1], Linear());
    default: {
      std::vector<Linear> members{Linear()};
      members.insert(members.end(), args.begin(), args.end());
      return s.maximum(members);
    }
  }
}

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
  Simplifier s(c);
  std::unordered_map<Id, Id> now;
  const auto moved = [&](const NodeData& n) -> std::optional<Id> {
    if (n.kind == Kind::Variable) {
      const auto found = replacements.find(*n.name);
      if (found == replacements.end()) return std::nullopt;
      const Node to = found->second;
      return to.context() == &c ? to.id() : c.make_constant((*to.context())[to.id()].first);
    }
    bool touched = false;
    for (const Id id : n.args) touched |= now.contains(id);
    for (const Term& t : n.terms) touched |= now.contains(t.atom);
    if (!touched) return std::nullopt;
    const auto part = [&](Id id) {
      const auto found = now.find(id);
      return found == now.end() ? id : found->second;
    };
    if (n.kind == Kind::Sum) {
      std::vector<Term> terms{{n.first, c.make_constant(1)}};
      for (const Term& t : n.terms) terms.push_back({t.coef, part(t.atom)});
      return s.add_all(terms);
    }
    std::vector<Linear> args;
    for (const Id id : n.args) args.push_back(s.linear(part(id)));
    return s.build(rebuilt(s, n, args));
  };
  for (const Id id : reachable(c, node.id()))
    if (const auto to = moved(c[id])) now.emplace(id, *to);
  const auto found = now.find(node.id());
  return found == now.end() ? node : c.handle(found->second);
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
