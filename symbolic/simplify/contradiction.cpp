#include "touchstone/symbolic/simplify/contradiction.h"

#include <algorithm>

#include "touchstone/symbolic/number/limits.h"
#include "touchstone/symbolic/simplify/simplifier.h"

namespace touchstone::symbolic {

namespace {

/// Sums of atoms constrained to be <= 0, eliminated one atom after the other: exact on the few
/// small rows of assumptions, and rounding each row to integers refutes what has rational
/// solutions. The checker has its own solver, the simplex method (check/inequalities.h).
class FourierMotzkin {
 public:
  explicit FourierMotzkin(Context& context) : c_(context), s_(context) {}

  /// Adds the inequalities of a condition; ignores other flags.
  void take(Id condition) {
    List<Id> list{condition};
    for (std::size_t i = 0; i < list.size() && rows_.size() <= kLimits.contradicted_rows; ++i) {
      const NodeData& n = c_[list[i]];
      const bool turned = n.kind == NodeKind::Sum && n.first.is_one() && n.terms.size() == 1 &&
                          n.terms[0].coef == Int(-1);
      if (n.kind == NodeKind::And) {
        list.insert(list.end(), n.args.begin(), n.args.end());
      } else if (n.kind == NodeKind::Negative) {
        Linear sum = shifted(s_.linear(n.args[0]), 1);
        put(std::move(sum));
      } else if (n.kind == NodeKind::Zero) {
        put(s_.linear(n.args[0]));
        put(-s_.linear(n.args[0]));
      } else if (turned && c_.kind(n.terms[0].atom) == NodeKind::Negative) {
        put(-s_.linear(c_[n.terms[0].atom].args[0]));
      }
    }
  }

  bool contradict() {
    if (rows_.size() > kLimits.contradicted_rows) return never_;
    List<Id> atoms;
    for (const Linear& row : rows_)
      for (const Term& t : row.terms)
        if (std::ranges::find(atoms, t.atom) == atoms.end()) atoms.push_back(t.atom);
    for (const Id atom : atoms) {
      const Interval& range = c_.bounds(atom);
      if (range.hi) put(Linear{-*range.hi, {{1, atom}}});
      if (range.lo) put(Linear{*range.lo, {{-1, atom}}});
    }
    while (!never_ && !atoms.empty() && rows_.size() <= kLimits.contradicted_rows) {
      const auto next =
          std::ranges::min_element(atoms, {}, [&](const Id& id) { return pairs_of(id); });
      const Id atom = *next;
      atoms.erase(next);
      eliminate(atom);
    }
    return never_;
  }

 private:
  static int sign_in(const Linear& row, Id atom) {
    const auto own = std::ranges::find(row.terms, atom, &Term::atom);
    return own == row.terms.end() ? 0 : own->coef.sign();
  }
  std::size_t pairs_of(Id atom) const {
    std::size_t above = 0, below = 0;
    for (const Linear& row : rows_) {
      const int sign = sign_in(row, atom);
      above += sign > 0;
      below += sign < 0;
    }
    return above * below;
  }

  void put(Linear row) {
    if (row.terms.empty()) {
      never_ = never_ || row.constant.sign() > 0;
      return;
    }
    Int g;
    for (const Term& t : row.terms) g = gcd(g, t.coef);
    for (Term& t : row.terms) t.coef = floor_div(t.coef, g);
    row.constant = -floor_div(-row.constant, g);  // rounded down to an integer bound
    for (Linear& other : rows_)
      if (other.terms == row.terms) {
        other.constant = larger(other.constant, row.constant);
        return;
      }
    rows_.push_back(std::move(row));
  }

  void eliminate(Id atom) {
    List<Linear> rows;
    rows.swap(rows_);
    for (const Linear& row : rows)
      if (sign_in(row, atom) == 0) rows_.push_back(row);
    for (const Linear& up : rows)
      for (const Linear& down : rows) {
        if (sign_in(up, atom) <= 0 || sign_in(down, atom) >= 0) continue;
        const auto coef = [&](const Linear& row) {
          return std::ranges::find(row.terms, atom, &Term::atom)->coef;
        };
        Linear sum;
        s_.add(sum, up, -coef(down));
        s_.add(sum, down, coef(up));
        put(std::move(sum));
        if (never_ || rows_.size() > kLimits.contradicted_rows) return;
      }
  }

  Context& c_;
  Simplifier s_;
  List<Linear> rows_;
  bool never_ = false;
};

}  // namespace

bool contradict(Context& context, std::span<const Id> conditions) {
  FourierMotzkin all(context);
  for (const Id condition : conditions) all.take(condition);
  if (all.contradict()) return true;
  if (conditions.size() > kLimits.assumed_parts) return false;
  const Id both = Simplifier(context).both(conditions);
  return context.kind(both) == NodeKind::Constant && context[both].first.is_zero();
}

}  // namespace touchstone::symbolic
