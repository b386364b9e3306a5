#include "touchstone/shapetracker/view/variable_table.h"

#include <algorithm>

#include "touchstone/shapetracker/view/limits.h"
#include "touchstone/symbolic/node/context.h"

namespace touchstone::shapetracker {

using symbolic::Context;
using symbolic::Node;
using symbolic::NodeKind;

std::optional<int> VariableTable::number_of(const std::string& name, std::int64_t low,
                                            std::int64_t high, Node node) {
  const auto found = std::ranges::find(names_, name);
  const auto i = static_cast<std::size_t>(found - names_.begin());
  if (found == names_.end()) {
    if (i == static_cast<std::size_t>(ViewLimits::kPolynomialVariables)) return std::nullopt;
    names_.push_back(name);
    nodes_.push_back(node);
    box_.low.push_back(low);
    box_.high.push_back(high);
  } else {
    box_.low[i] = std::max(box_.low[i], low);
    box_.high[i] = std::min(box_.high[i], high);
  }
  return static_cast<int>(i);
}

std::optional<std::size_t> Choices::of(std::uint32_t id, std::size_t count) {
  for (const Choice& choice : choices_)
    if (choice.id == id) return choice.chosen;
  if (choices_.size() == ViewLimits::kChoices) return std::nullopt;
  choices_.push_back({id, count, 0});
  return 0;
}

bool Choices::next() {
  assumptions_.clear();
  for (Choice& choice : choices_) {
    if (++choice.chosen < choice.count) return true;
    choice.chosen = 0;
  }
  return false;
}

std::optional<Polynomial> VariableTable::read(const sint& entry, Choices* choices) {
  if (entry.is_int()) return Polynomial(Wide{entry.as_int()});
  const Node node = entry.node();
  return read(*node.context(), node.id(), choices, 0);
}

// max(0, args...): the chosen member, under the assumption that it is the largest.
std::optional<Polynomial> VariableTable::read_maximum(Context& context, std::uint32_t id,
                                                      Choices* choices, int depth) {
  const symbolic::NodeData data = context[id];
  std::vector<Polynomial> members = {Polynomial(0)};
  for (const symbolic::Id part : data.args) {
    std::optional<Polynomial> member = read(context, part, choices, depth + 1);
    if (!member) return std::nullopt;
    members.push_back(std::move(*member));
  }
  const std::optional<std::size_t> chosen = choices->of(id, members.size());
  if (!chosen) return std::nullopt;
  for (const Polynomial& other : members) choices->holds(members[*chosen] - other);
  return members[*chosen];
}

std::optional<Polynomial> VariableTable::read(Context& context, std::uint32_t id, Choices* choices,
                                              int depth) {
  if (depth > ViewLimits::kDepth) return std::nullopt;
  const symbolic::NodeData data = context[id];
  const auto number = [](const symbolic::Int& value) -> std::optional<Polynomial> {
    const std::optional<std::int64_t> small = value.small();
    return small ? std::optional(Polynomial(Wide{*small})) : std::nullopt;
  };
  switch (data.kind) {
    case NodeKind::Constant: return number(data.first);
    case NodeKind::Variable: {
      if (!data.bounds.lo || !data.bounds.hi) return std::nullopt;
      const auto low = data.bounds.lo->small(), high = data.bounds.hi->small();
      if (!low || !high) return std::nullopt;
      const std::optional<int> variable = number_of(*data.name, *low, *high, context.handle(id));
      return variable ? std::optional(Polynomial::variable(*variable)) : std::nullopt;
    }
    case NodeKind::Product: {
      Polynomial product = 1;
      for (const symbolic::Id part : data.args) {
        const std::optional<Polynomial> factor = read(context, part, choices, depth + 1);
        if (!factor) return std::nullopt;
        product = product * *factor;
        if (product.terms().size() > ViewLimits::kTerms) return std::nullopt;
      }
      return product;
    }
    case NodeKind::Sum: {
      std::optional<Polynomial> sum = number(data.first);
      for (const symbolic::Term& term : data.terms) {
        const std::optional<Polynomial> factor = number(term.coef),
                                        atom = read(context, term.atom, choices, depth + 1);
        if (!sum || !factor || !atom) return std::nullopt;
        sum = *sum + *factor * *atom;
      }
      return sum;
    }
    case NodeKind::Max:
      return choices == nullptr ? std::nullopt : read_maximum(context, id, choices, depth);
    default: return std::nullopt;
  }
}

sint VariableTable::write(const Polynomial& p) const {
  if (p.is_constant()) return p.is_zero() ? sint(0) : sint(narrow(p.terms()[0].factor));
  std::vector<Node> sum;
  for (const Polynomial::Term& term : p.terms()) {
    Node product = Node(narrow(term.factor));
    std::uint64_t powers = term.powers;
    for (std::size_t i = 0; powers != 0; ++i, powers >>= 8)
      for (std::uint64_t left = powers & 0xff; left > 0; --left) product = product * nodes_[i];
    sum.push_back(product);
  }
  return symbolic::sum(sum);
}

bool VariableTable::has_empty_range() const {
  for (std::size_t i = 0; i < names_.size(); ++i)
    if (box_.low[i] > box_.high[i]) return true;
  return false;
}

symbolic::Values VariableTable::values(const std::vector<std::int64_t>& point) const {
  symbolic::Values values;
  for (std::size_t i = 0; i < names_.size(); ++i) values[names_[i]] = point[i];
  return values;
}

}  // namespace touchstone::shapetracker
