// Searches for points that satisfy the facts and refute a claim: cheaper than its cases.
#include <algorithm>
#include <array>

#include "touchstone/symbolic/check/entailment.h"

namespace touchstone::symbolic {

namespace {

/// Values of atoms at one point; nullopt for a division by 0 and anything computed from it.
class Point {
 public:
  explicit Point(const Ring& ring) : ring_(ring) {}

  void set(AtomId a, Int value) { values_[a] = std::move(value); }
  void compute(AtomId a) { values_[a] = value_of(ring_.atom(a)); }

  std::optional<Int> operator[](PolyId p) const {
    Int sum = 0;
    for (const auto& [m, c] : ring_[p].terms) {
      Int product = c;
      for (const AtomId a : m) {
        const auto& factor = values_.at(a);
        if (!factor) return std::nullopt;
        product = product * *factor;
      }
      sum = sum + product;
    }
    return sum;
  }

 private:
  std::optional<Int> value_of(const Atom& a) const {
    std::vector<Int> parts;
    for (const PolyId p : a.parts) {
      auto value = (*this)[p];
      if (!value) return std::nullopt;
      parts.push_back(*std::move(value));
    }
    switch (a.kind) {
      case AtomKind::Variable: return std::nullopt;  // must be set
      case AtomKind::Quotient:
        return parts[1].is_zero() ? std::nullopt : std::optional(floor_div(parts[0], parts[1]));
      case AtomKind::Remainder:
        return parts[1].is_zero() ? std::nullopt : std::optional(floor_mod(parts[0], parts[1]));
      case AtomKind::Negative: return Int(parts[0].sign() < 0);
      case AtomKind::Zero: return Int(parts[0].is_zero());
      case AtomKind::Max: parts.emplace_back(0); return *std::ranges::max_element(parts);
      case AtomKind::Product: {
        Int product = 1;
        for (const Int& p : parts) product = product * p;
        return product;
      }
    }
    return std::nullopt;
  }

  const Ring& ring_;
  std::map<AtomId, std::optional<Int>> values_;
};

}  // namespace

bool Entailment::satisfied(const std::function<std::optional<Int>(PolyId)>& at) const {
  const auto is = [&](PolyId p, const auto& test) {
    const auto value = at(p);
    return value && test(*value);
  };
  return std::ranges::all_of(
             facts_, [&](PolyId p) { return is(p, [](const Int& v) { return v.sign() <= 0; }); }) &&
         std::ranges::all_of(
             nonzero_,
             [&](PolyId p) { return is(p, [](const Int& v) { return !v.is_zero(); }); }) &&
         std::ranges::all_of(flags_,
                             [&](const auto& known) {
                               return is(ring_->of_atom(known.first),
                                         [&](const Int& v) { return v.is_zero() != known.second; });
                             }) &&
         std::ranges::all_of(residues_, [&](const auto& known) {
           return is(known.first, [&](const Int& v) {
             return known.second.is_zero() ? v.is_zero() : divides(known.second, v);
           });
         });
}

bool Entailment::fails_at_a_point(PolyId p) {
  if (!settled_) tighten();
  std::vector<PolyId> all{p};
  all.insert(all.end(), facts_.begin(), facts_.end());
  all.insert(all.end(), nonzero_.begin(), nonzero_.end());
  for (const auto& [flag, value] : flags_) all.push_back(ring_->of_atom(flag));
  for (const auto& [q, m] : residues_) all.push_back(q);
  const std::set<AtomId> atoms = atoms_of(*ring_, all);
  if (budget_) budget_->bounds -= static_cast<int>(atoms.size());
  std::uint64_t state = 1;  // fixed seed of a linear congruential generator
  const auto draw = [&](std::uint64_t n) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    return static_cast<std::int64_t>((state >> 33) % n);
  };
  for (int round = 0; round < kLimits.points; ++round) {
    Point point(*ring_);
    for (const AtomId a : atoms) {
      if (ring_->atom(a).kind != AtomKind::Variable) {
        point.compute(a);
        continue;
      }
      const Interval range = atom_bounds(a);
      const Int beside = draw(round % 2 == 0 ? 4 : 64);
      const bool up = range.lo && (!range.hi || draw(2) == 0);
      Int value = up ? *range.lo + beside : range.hi ? *range.hi - beside : beside - draw(64);
      if (range.lo && value < *range.lo) value = *range.lo;
      if (range.hi && *range.hi < value) value = *range.hi;
      point.set(a, std::move(value));
    }
    const auto value = point[p];
    if (value && !value->is_zero() && satisfied([&](PolyId q) { return point[q]; })) return true;
  }
  return false;
}

}  // namespace touchstone::symbolic
