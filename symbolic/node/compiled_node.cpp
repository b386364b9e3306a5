#include "touchstone/symbolic/node/compiled_node.h"

#include <algorithm>
#include <string>

#include "touchstone/base/hash.h"
#include "touchstone/symbolic/expr/operators.h"

namespace touchstone::symbolic {

namespace {

std::uint64_t bit_of(std::size_t slot) {
  return std::uint64_t{1} << std::min<std::size_t>(slot, 63);
}
constexpr std::uint64_t kAll = ~std::uint64_t{0};

}  // namespace

CompiledNode::CompiledNode(const Context& context, Id root) {
  const List<Id> ids = reachable(context, root);
  nodes_.reserve(ids.size());
  depends_.reserve(ids.size());
  const auto place = [&](Id id) {
    const auto at = std::ranges::lower_bound(ids, id);
    return static_cast<std::uint32_t>(at - ids.begin());
  };
  for (const Id id : ids) {
    const NodeData& n = nodes_.emplace_back(context[id]);
    std::uint64_t depends = 0;
    if (n.kind == NodeKind::Variable) {
      parts_.push_back(static_cast<std::uint32_t>(variables_.size()));
      depends = bit_of(variables_.size());
      variables_.push_back(id);
    }
    const auto add = [&](Id part) {
      parts_.push_back(place(part));
      depends |= depends_[parts_.back()];
    };
    for (const Id a : n.args) add(a);
    for (const Term& t : n.terms) add(t.atom);
    depends_.push_back(depends);
  }
  value_.resize(ids.size());
  by_zero_.resize(ids.size());
}

std::optional<Int> CompiledNode::run(std::span<const Int> values) {
  std::uint64_t changed = last_.empty() ? kAll : 0;
  for (std::size_t i = 0; i < last_.size(); ++i)
    if (!(last_[i] == values[i])) changed |= bit_of(i);
  Int first = pass(values, changed, 0);
  last_.assign(values.begin(), values.end());
  if (divisions_by_zero_ == 0) return first;
  // A division by zero is undefined: if the result depends on its value, so is the result. The
  // second number is larger than any likely divisor that could hide it.
  static const Int numbers[] = {1'000'003, Int::from_digits("1" + std::string(100, '0') + "267")};
  last_.clear();  // the cache holds values of that substitute
  for (const Int& number : numbers)
    if (pass(values, kAll, number) != first) return std::nullopt;
  return first;
}

const Int& CompiledNode::pass(std::span<const Int> values, std::uint64_t changed,
                              const Int& undefined) {
  const std::uint32_t* part = parts_.data();
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const NodeData& n = nodes_[i];
    if (changed == kAll || (depends_[i] & changed) != 0)
      value_[i] = step(i, part, values, undefined);
    part += n.args.size() + n.terms.size() + (n.kind == NodeKind::Variable ? 1 : 0);
  }
  return value_.back();
}

Int CompiledNode::step(std::size_t i, const std::uint32_t* part, std::span<const Int> values,
                       const Int& undefined) {
  const NodeData& n = nodes_[i];
  const auto arg = [&](std::size_t k) -> const Int& { return value_[part[k]]; };
  switch (n.kind) {
    case NodeKind::Constant: return n.first;
    case NodeKind::Variable: return values[*part];
    case NodeKind::Product: {
      Int r = 1;
      for (std::size_t k = 0; k < n.args.size(); ++k) r = r * arg(k);
      return r;
    }
    case NodeKind::Digit: {
      const Int q = floor_div(arg(0), n.first);
      return n.second.is_zero() ? q : floor_mod(q, floor_div(n.second, n.first));
    }
    case NodeKind::Div:
    case NodeKind::Mod:
    case NodeKind::TruncDiv:
    case NodeKind::TruncMod:
      if (const bool now = arg(1).is_zero(); now != by_zero_[i]) {
        by_zero_[i] = now;
        now ? ++divisions_by_zero_ : --divisions_by_zero_;
      }
      // A different value for each division, not a small multiple of another, so that two cannot
      // cancel.
      if (by_zero_[i]) return undefined * static_cast<std::int64_t>(hash_mix(i, 1) >> 16);
      if (truncates(n.kind))
        return value_of(n.kind == NodeKind::TruncDiv ? ExprOp::TruncDiv : ExprOp::TruncMod, arg(0),
                        arg(1));
      return n.kind == NodeKind::Div ? floor_div(arg(0), arg(1)) : floor_mod(arg(0), arg(1));
    case NodeKind::Negative: return arg(0).sign() < 0 ? 1 : 0;
    case NodeKind::Zero: return arg(0).is_zero() ? 1 : 0;
    case NodeKind::And:
      for (std::size_t k = 0; k < n.args.size(); ++k)
        if (arg(k).is_zero()) return 0;
      return 1;
    case NodeKind::Select: return arg(0).is_zero() ? Int(0) : arg(1);
    case NodeKind::Max: {
      Int r = 0;
      for (std::size_t k = 0; k < n.args.size(); ++k) r = larger(r, arg(k));
      return r;
    }
    case NodeKind::Sum: break;
  }
  Int total = n.first;
  for (std::size_t k = 0; k < n.terms.size(); ++k) total += n.terms[k].coef * arg(k);
  return total;
}

}  // namespace touchstone::symbolic
