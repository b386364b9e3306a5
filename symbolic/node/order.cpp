#include "touchstone/symbolic/node/order.h"

namespace touchstone::symbolic {

namespace {

constexpr int kLevels = 6;

using Order = std::strong_ordering;

Order compare_ends(const End& a, const End& b) {
  if (a.has_value() != b.has_value()) return a.has_value() <=> b.has_value();
  return a ? *a <=> *b : Order::equal;
}

Order compare_leaves(const NodeData& a, const NodeData& b) {
  if (a.name != b.name)
    if (const int c = a.name->compare(*b.name); c != 0) return c <=> 0;
  if (const Order o = compare_ends(a.bounds.lo, b.bounds.lo); o != 0) return o;
  if (const Order o = compare_ends(a.bounds.hi, b.bounds.hi); o != 0) return o;
  if (const Order o = a.first <=> b.first; o != 0) return o;
  return a.second <=> b.second;
}

/// Compares everything except the parts and returns the first pair of parts that differ. Equal ids
/// are equal structures, so only that pair needs comparing.
Order compare_level(const NodeData& a, const NodeData& b, Id& next_a, Id& next_b) {
  if (a.kind != b.kind) return a.kind <=> b.kind;
  if (a.kind == NodeKind::Variable) return compare_leaves(a, b);
  for (std::size_t i = 0; i < a.args.size() && i < b.args.size(); ++i)
    if (a.args[i] != b.args[i]) {
      next_a = a.args[i];
      next_b = b.args[i];
      return Order::equal;
    }
  for (std::size_t i = 0; i < a.terms.size() && i < b.terms.size(); ++i) {
    if (a.terms[i].atom != b.terms[i].atom) {
      next_a = a.terms[i].atom;
      next_b = b.terms[i].atom;
      return Order::equal;
    }
    if (const Order o = a.terms[i].coef <=> b.terms[i].coef; o != 0) return o;
  }
  if (const Order o = a.args.size() <=> b.args.size(); o != 0) return o;
  if (const Order o = a.terms.size() <=> b.terms.size(); o != 0) return o;
  if (const Order o = a.first <=> b.first; o != 0) return o;
  return a.second <=> b.second;
}

}  // namespace

std::strong_ordering compare_parts(const Context& context, Id a, Id b) {
  for (int level = 0; a != b; ++level) {
    if (context.key(a) != context.key(b)) return context.key(a) <=> context.key(b);
    const NodeData& x = context[a];
    const NodeData& y = context[b];
    if (level == kLevels && x.hash != y.hash) return x.hash <=> y.hash;
    Id next_a = a, next_b = b;
    const Order o = compare_level(x, y, next_a, next_b);
    if (o != 0) return o;
    if (next_a == a) return a <=> b;
    a = next_a;
    b = next_b;
  }
  return Order::equal;
}

}  // namespace touchstone::symbolic
