// Converts conditions to facts, each a sum that is below 0.
#include <utility>

#include "touchstone/symbolic/number/limits.h"
#include "touchstone/symbolic/simplify/simplifier.h"

namespace touchstone::symbolic {

Simplifier::Facts Simplifier::facts_of(std::span<const Id> conditions) {
  Facts facts;
  List<Id> list(conditions.begin(), conditions.end());
  for (std::size_t i = 0; i < list.size(); ++i) {
    const NodeData& n = c_[list[i]];
    if (n.kind == NodeKind::And) {
      list.insert(list.end(), n.args.begin(), n.args.end());
    } else if (auto below = comparison(list[i])) {
      facts.push_back(std::move(*below));
    } else {
      // s == 0 is s <= 0 and -s <= 0; another flag is at least 1.
      Linear s = n.kind == NodeKind::Zero ? linear(n.args[0]) : Linear{1, {}};
      if (n.kind != NodeKind::Zero) add(s, list[i], -1);
      if (n.kind == NodeKind::Zero) {
        facts.push_back(shifted(-s, -1));
        // In a choice this would change the part so that it no longer joins its neighbours.
        if (!inside_) bound_dividend(s, facts);
      }
      s.constant -= 1;
      facts.push_back(std::move(s));
    }
  }
  // A maximum with a positive coefficient is at least each of its members.
  for (std::size_t i = 0; i < facts.size() && facts.size() < kLimits.facts; ++i)
    for (const Term& own : facts[i].terms) {
      if (c_.kind(own.atom) != NodeKind::Max || own.coef.sign() < 0) continue;
      const Term t = own;
      Linear rest = plus(facts[i], t.atom, -t.coef);
      for (const Id member : c_[t.atom].args) {
        Linear with = plus(rest, member, t.coef);
        facts.push_back(std::move(with));
      }
      facts.push_back(std::move(rest));
      break;
    }
  return facts;
}

// x//c == k is c*k <= x and x < c*k + c.
void Simplifier::bound_dividend(const Linear& zero, Facts& facts) const {
  const Term* const only = only_quotient(zero);
  if (only == nullptr || !abs(only->coef).is_one()) return;
  const NodeData& n = c_[only->atom];
  Linear rest = plus(zero, only->atom, -only->coef);  // -k, or k if the quotient is subtracted
  Linear below = linear(n.args[0]);
  add(below, rest, n.first * only->coef);
  facts.push_back(shifted(below, -n.first));
  facts.push_back(shifted(-below, -1));
}

}  // namespace touchstone::symbolic
