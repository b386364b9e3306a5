// Tests if a sum is unbounded both ways by its growth along directions.
#include <algorithm>
#include <array>
#include <limits>

#include "touchstone/symbolic/number/limits.h"
#include "touchstone/symbolic/simplify/simplifier.h"

namespace touchstone::symbolic {

namespace {

/// The growth of sums of variables and maxima along a direction; far out they are all linear.
class Slopes {
 public:
  explicit Slopes(const Context& context) : c_(context) {}

  /// True if the sum certainly takes arbitrarily large and small values.
  bool reach_both_ways(const Linear& sum) {
    if (!variables_of(sum.terms, 0)) return false;
    bool high = false, low = false;
    const auto look = [&] {
      const std::int64_t slope = slope_of(sum.terms);
      high |= slope > 0;
      low |= slope < 0;
      return slope;
    };
    for (const int way : {1, -1}) {  // all variables at once
      for (std::size_t i = 0; i < count_; ++i) way_[i] = open(i, way) ? way : 0;
      look();
    }
    if (high && low) return true;
    // Along each axis, then along all axes in their steepest directions.
    way_.fill(0);
    std::array<int, kLimits.corner_variables> up{}, down{};
    for (std::size_t i = 0; i < count_ && !(high && low); ++i) {
      std::int64_t most = std::numeric_limits<std::int64_t>::min(), least = -(most + 1);
      for (const int way : {1, -1}) {
        if (!open(i, way)) continue;
        way_[i] = way;
        const std::int64_t slope = look();
        if (slope >= 0 && slope > most) up[i] = way;
        if (slope <= 0 && slope < least) down[i] = way;
        most = std::max(most, slope);
        least = std::min(least, slope);
      }
      way_[i] = 0;
    }
    for (const auto& all : {up, down}) {
      if (high && low) break;
      way_ = all;
      look();
    }
    return high && low;
  }

 private:
  bool open(std::size_t i, int way) const {
    const Interval& range = c_.bounds(variables_[i]);
    return way > 0 ? !range.hi : !range.lo;
  }
  std::span<const Term> terms_of(const Id& id, Term& alone) const {
    const NodeData& n = c_[id];
    if (n.kind == NodeKind::Sum || n.kind == NodeKind::Constant) return n.terms;
    alone = {1, id};
    return {&alone, 1};
  }
  /// Collects the variables; false if a term is not piecewise linear.
  bool variables_of(std::span<const Term> terms, int depth) {
    for (const Term& t : terms) {
      if (abs(t.coef) > Int(kLimits.corner_coefficient)) return false;
      const NodeData& n = c_[t.atom];
      if (n.kind == NodeKind::Variable) {
        if (place_of(t.atom) < count_) continue;
        if (count_ == kLimits.corner_variables) return false;
        variables_[count_++] = t.atom;
      } else if (n.bounds.lo && n.bounds.hi) {
        continue;
      } else if (n.kind == NodeKind::Max && depth < kLimits.corner_depth) {
        for (const Id id : n.args) {
          Term alone;
          if (!variables_of(terms_of(id, alone), depth + 1)) return false;
        }
      } else {
        return false;
      }
    }
    return true;
  }
  std::int64_t slope_of(std::span<const Term> terms) const {
    std::int64_t total = 0;
    for (const Term& t : terms) {
      std::int64_t own = 0;
      const NodeKind kind = c_.kind(t.atom);
      if (kind == NodeKind::Variable) {
        own = way_[place_of(t.atom)];
      } else if (const Interval& range = c_.bounds(t.atom);
                 kind == NodeKind::Max && !(range.lo && range.hi)) {
        for (const Id id : c_[t.atom].args) {
          Term alone;
          own = std::max(own, slope_of(terms_of(id, alone)));
        }
      }
      if (own != 0) total += own * *t.coef.small();
    }
    return total;
  }
  std::size_t place_of(Id variable) const {
    std::size_t i = 0;
    while (i < count_ && variables_[i] != variable) ++i;
    return i;
  }

  const Context& c_;
  std::array<Id, kLimits.corner_variables> variables_{};
  std::array<int, kLimits.corner_variables> way_{};  // direction of each variable: up, down or none
  std::size_t count_ = 0;
};

}  // namespace

bool Simplifier::unbounded(const Linear& sum) const { return Slopes(c_).reach_both_ways(sum); }

}  // namespace touchstone::symbolic
