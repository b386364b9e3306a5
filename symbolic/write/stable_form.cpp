#include "touchstone/symbolic/write/stable_form.h"

#include <algorithm>

#include "touchstone/symbolic/node/order.h"
#include "touchstone/symbolic/number/limits.h"
#include "touchstone/symbolic/read/canonical_builder.h"
#include "touchstone/symbolic/write/extract.h"

namespace touchstone::symbolic {

namespace {

/// True if the variables among the nodes have distinct names, so that text identifies them.
bool told_apart(const Context& context, std::span<const Id> nodes) {
  List<const std::string*> names;
  for (const Id id : nodes) {
    if (context.kind(id) != NodeKind::Variable) continue;
    const std::string& name = context.name(id);
    if (std::ranges::any_of(names, [&](const std::string* other) { return *other == name; }))
      return false;
    names.push_back(&name);
  }
  return true;
}

/// True if parsing may combine parts in another way: choices and comparisons with their operands,
/// maxima of maxima, products of quotients, and numbers too large for digits to fold.
bool may_change(const Context& c, std::span<const Id> nodes) {
  bool maxima = false, comparisons = false, products = false, divisions = false;
  bool counted = false, several = false;  // comparisons, divisions in sums
  int conjunctions = 0;
  for (const Id id : nodes) {
    const NodeData& n = c[id];
    switch (n.kind) {
      case NodeKind::Select: return true;
      case NodeKind::Max:
        maxima = true;
        for (const Id arg : n.args)
          for (const Term& t : c[arg].terms)
            if (c[t.atom].kind == NodeKind::Max) return true;
        break;
      case NodeKind::Negative:
      case NodeKind::Zero: comparisons = true; break;
      case NodeKind::Product: products = true; break;
      case NodeKind::Digit:
        divisions = true;
        for (const Term& t : c[n.args[0]].terms) several |= c[t.atom].kind == NodeKind::Digit;
        if (!n.second.is_zero() && !n.first.is_one()) return true;
        if (n.first > Int(kLimits.folded_number) || n.second > Int(kLimits.folded_number))
          return true;
        break;
      case NodeKind::Div:
      case NodeKind::Mod:
      case NodeKind::TruncDiv:
      case NodeKind::TruncMod: divisions = true; break;
      case NodeKind::And: ++conjunctions; break;
      case NodeKind::Sum:
        if (n.terms.size() > 1) {
          int quotients = 0;
          unsigned seen = 0, shared = 0;  // variables, and those in several terms
          for (const Term& t : n.terms) {
            const NodeKind kind = c[t.atom].kind;
            counted |= is_condition(kind);
            quotients += kind == NodeKind::Digit;
            const unsigned own = c.variables_in(t.atom);
            shared |= seen & own;
            seen |= own;
          }
          const bool long_chain = n.terms.size() + (n.first.is_zero() ? 0 : 1) > 2;
          several |= quotients > 1 || (quotients > 0 && shared != 0 && long_chain);
        }
        break;
      default: break;
    }
  }
  if (several || (maxima && divisions)) return true;
  return (comparisons && (maxima || divisions)) || (products && divisions) ||
         (conjunctions > 0 && counted) || conjunctions > 1;
}

}  // namespace

Id stable_form(CanonicalBuilder& builder, Id root, const Tape* written, Extractor* laid_out) {
  Context& context = builder.context();
  const NodeData& top = context[root];
  if (top.kind == NodeKind::Constant || top.kind == NodeKind::Variable) return root;
  if (top.kind == NodeKind::Sum && std::ranges::all_of(top.terms, [&](const Term& t) {
        return context.kind(t.atom) == NodeKind::Variable;
      }))
    return root;
  List<Id> nodes = reachable(context, root, kLimits.reread_nodes);
  if (nodes.empty() || !may_change(context, nodes) || !told_apart(context, nodes)) return root;
  List<Id> seen{root};
  List<std::size_t> sizes;
  while (seen.size() < kLimits.reread_rounds) {
    Tape tape;  // of the text, which is not rendered
    {
      std::optional<Extractor> own_forms;
      const bool first = laid_out && seen.size() == 1;
      Extractor& e = first ? *laid_out : own_forms.emplace(context, Extractor::For::Text);
      if (seen.size() > 1) nodes = reachable(context, seen.back());
      const int form = e.extract(seen.back(), nodes);
      sizes.push_back(e.forms()[static_cast<std::size_t>(form)].size);
      if (sizes.back() > kLimits.reread_size) return root;
      if (!tape.take(e.forms(), form, context, nodes)) return root;
    }
    if (seen.size() == 1 && written && written->comparable() && tape.comparable() &&
        std::ranges::equal(tape.words(), written->words()))
      return root;
    Id next = root;
    try {
      next = builder.build(tape, "");
    } catch (const ParseError&) {  // an undefined expression may fail only as text
      return root;
    }
    const auto before = std::ranges::find(seen, next);
    if (before == seen.end()) {
      seen.push_back(next);
      continue;
    }
    auto best = static_cast<std::size_t>(before - seen.begin());
    for (std::size_t i = best + 1; i < seen.size(); ++i)
      if (sizes[i] < sizes[best] ||
          (sizes[i] == sizes[best] && compare(context, seen[i], seen[best]) < 0))
        best = i;
    return seen[best];
  }
  return seen.back();
}

Node shown_form(Node node) {
  Context& c = *node.context();
  const std::lock_guard lock(c.mutex());
  const Id id = node.id();
  // No operation has the name Variable, so the memo of operations holds the forms too.
  if (const auto known = c.recall(ExprOp::Variable, {&id, 1})) return c.handle(*known);
  const std::map<std::string, Node> unnamed;  // tapes hold nodes
  CanonicalBuilder builder(unnamed, c);
  const Id form = stable_form(builder, id);
  c.remember(ExprOp::Variable, {&id, 1}, form);
  return c.handle(form);
}

}  // namespace touchstone::symbolic
