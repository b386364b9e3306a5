#include <algorithm>

#include "touchstone/symbolic/order.h"
#include "touchstone/symbolic/simplifier.h"

namespace touchstone::symbolic {

Linear Simplifier::where(Id c, const Linear& a, const Linear& b) {
  const NodeData& n = c_[c];
  if (n.kind == Kind::Constant) return n.first.is_zero() ? b : a;
  Linear gap = a;
  add(gap, b, -1);
  Linear r;
  if (n.kind == Kind::Sum ||
      (n.kind == Kind::Negative && linear(n.args[0]).terms[0].coef.sign() < 0)) {
    const Id other = negate(c);
    if (c_[other].kind != Kind::Sum) {  // where.not
      gap = -gap;
      c = other;
      r = a;
    } else {
      r = b;
    }
  } else {
    r = b;
  }
  gap = linear(build(gap));
  if (gap.is_constant()) {
    add(r, c, gap.constant);
    return r;
  }
  const Id args[] = {c, build(gap)};
  add(r, node(Kind::Select, args, hull(Interval::point(0), bounds(gap))));
  return r;
}

Linear Simplifier::maximum(std::span<const Linear> members) {
  constexpr std::size_t kMostFlat = 64;
  std::vector<Linear> list;
  for (const Linear& m : members) {
    const Term* inner = nullptr;
    for (const Term& t : m.terms)
      if (c_[t.atom].kind == Kind::Max && t.coef.is_one()) inner = &t;
    if (!inner || c_[inner->atom].args.size() + list.size() > kMostFlat) {
      list.push_back(m);
      continue;
    }
    Linear base = m;  // max.flat
    add(base, inner->atom, -1);
    list.push_back(base);
    for (const Id id : c_[inner->atom].args) {
      list.push_back(base);
      add(list.back(), id);
    }
  }
  // Lexicographic order of coefficients does not change when all members move by the same sum.
  const auto above = [&](const Linear& a, const Linear& b) {
    Linear gap = a;
    add(gap, b, -1);
    return gap.terms.empty() ? gap.constant.sign() > 0 : gap.terms[0].coef.sign() > 0;
  };
  std::vector<Linear> kept;
  for (std::size_t i = 0; i < list.size(); ++i) {  // max.dominated
    bool needed = true;
    for (std::size_t j = 0; j < list.size() && needed; ++j) {
      if (i == j) continue;
      Linear gap = list[j];
      add(gap, list[i], -1);
      const Interval range = bounds(gap);
      if (range.at_least(0) && !(range == Interval::point(0) && i < j)) needed = false;
    }
    if (needed) kept.push_back(list[i]);
  }
  std::ranges::sort(kept, [&](const Linear& a, const Linear& b) { return above(b, a); });
  const Linear base = kept[0];
  if (kept.size() == 1) return base;
  Ids args;
  Interval range = Interval::point(0);
  for (std::size_t i = 1; i < kept.size(); ++i) {
    Linear gap = kept[i];
    add(gap, base, -1);
    args.push_back(build(gap));
    range = larger(range, c_[args.back()].bounds);
  }
  Linear r = base;
  add(r, node(Kind::Max, args, range));
  return r;
}

}  // namespace touchstone::symbolic
