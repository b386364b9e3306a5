#include "touchstone/symbolic/program.h"

#include <algorithm>
#include <string>

#include "touchstone/base/hash.h"

namespace touchstone::symbolic {

Program::Program(const Context& context, Id root)
    : c_(context), nodes_(reachable(context, root)), value_(nodes_.size()) {
  const auto place = [&](Id id) {
    const auto at = std::ranges::lower_bound(nodes_, id);
    return static_cast<std::uint32_t>(at - nodes_.begin());
  };
  for (const Id id : nodes_) {
    const NodeData& n = c_[id];
    if (n.kind == Kind::Variable) {
      parts_.push_back(static_cast<std::uint32_t>(variables_.size()));
      variables_.push_back(id);
    }
    for (const Id a : n.args) parts_.push_back(place(a));
    for (const Term& t : n.terms) parts_.push_back(place(t.atom));
  }
}

std::optional<Int> Program::run(std::span<const Int> values) {
  // A division by zero has no value: where the result depends on it, there is none. The second
  // number stands above what divisors of any likely length make 0 of it.
  static const Int numbers[] = {1'000'003, Int::from_digits("1" + std::string(100, '0') + "267")};
  Int first = pass(values, 0);
  if (!divided_by_zero_) return first;
  for (const Int& number : numbers)
    if (pass(values, number) != first) return std::nullopt;
  return first;
}

const Int& Program::pass(std::span<const Int> values, const Int& undefined) {
  divided_by_zero_ = false;
  const std::uint32_t* part = parts_.data();
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const NodeData& n = c_[nodes_[i]];
    // A number for each division, no simple multiple of another's, or two would make up for each
    // other.
    const auto own = static_cast<std::int64_t>(hash_mix(i, 1) >> 16);
    value_[i] = step(n, part, values, undefined * own);
    part += n.args.size() + n.terms.size() + (n.kind == Kind::Variable ? 1 : 0);
  }
  return value_.back();
}

Int Program::step(const NodeData& n, const std::uint32_t* part, std::span<const Int> values,
                  const Int& undefined) {
  const auto arg = [&](std::size_t i) -> const Int& { return value_[part[i]]; };
  switch (n.kind) {
    case Kind::Constant:
      return n.first;
    case Kind::Variable:
      return values[*part];
    case Kind::Product: {
      Int r = 1;
      for (std::size_t i = 0; i < n.args.size(); ++i) r = r * arg(i);
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
        return undefined;
      }
      return n.kind == Kind::Div ? floor_div(arg(0), arg(1)) : floor_mod(arg(0), arg(1));
    case Kind::Negative:
      return arg(0).sign() < 0 ? 1 : 0;
    case Kind::Zero:
      return arg(0).is_zero() ? 1 : 0;
    case Kind::And:
      for (std::size_t i = 0; i < n.args.size(); ++i)
        if (arg(i).is_zero()) return 0;
      return 1;
    case Kind::Select:
      return arg(0).is_zero() ? Int(0) : arg(1);
    case Kind::Max: {
      Int r = 0;
      for (std::size_t i = 0; i < n.args.size(); ++i) r = larger(r, arg(i));
      return r;
    }
    case Kind::Sum:
      break;
  }
  Int total = n.first;
  for (std::size_t i = 0; i < n.terms.size(); ++i) total += n.terms[i].coef * arg(i);
  return total;
}

}  // namespace touchstone::symbolic
