#include "touchstone/symbolic/check/points.h"

#include <algorithm>

#include "touchstone/base/interrupt.h"
#include "touchstone/symbolic/expr/operators.h"
#include "touchstone/symbolic/number/interval.h"
#include "touchstone/symbolic/number/limits.h"

namespace touchstone::symbolic {

namespace {

/// Expressions compiled for evaluation, each shared part once. The checker's own, although
/// expr/evaluate.h does the same: the simplifier answers by that one, and the fuzzer of
/// derivations compares the two.
class Laid {
 public:
  using Value = std::optional<Int>;  // nullopt: division by zero

  Laid(const Exprs& e, std::span<const Expr> roots) : e_(e) {
    for (const Expr root : roots)
      for (const Expr part : e.parts(root)) parts_.push_back(part);
    std::ranges::sort(parts_);  // the parts of an expression have smaller indices
    parts_.erase(std::unique(parts_.begin(), parts_.end()), parts_.end());
    values_.resize(parts_.size());
    for (const Expr part : parts_)
      for (const Expr arg : e.args(part)) args_.push_back(slot(arg));
  }

  std::span<const Expr> parts() const { return parts_; }
  const Value& operator[](Expr part) const { return values_[slot(part)]; }
  void set(Expr variable, const Int& value) { values_[slot(variable)] = value; }

  void run() {
    const std::size_t* args = args_.data();
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      if (e_.op(parts_[i]) != ExprOp::Variable) values_[i] = value_of_part(parts_[i], args);
      args += e_.args(parts_[i]).size();
    }
  }

 private:
  std::size_t slot(Expr part) const {
    return static_cast<std::size_t>(std::ranges::lower_bound(parts_, part) - parts_.begin());
  }

  Value value_of_part(Expr part, const std::size_t* args) const {
    const ExprOp op = e_.op(part);
    const auto arg = [&](std::size_t i) -> const Value& { return values_[args[i]]; };
    switch (op) {
      case ExprOp::Constant: return e_.value(part);
      case ExprOp::And:
      case ExprOp::Or: {
        const auto decides = [&](const Value& v) {
          return v && v->is_zero() == (op == ExprOp::And);
        };
        if (decides(arg(0)) || decides(arg(1))) return Int(op == ExprOp::Or);
        if (!arg(0) || !arg(1)) return std::nullopt;
        return Int(op == ExprOp::And);
      }
      case ExprOp::Where: return arg(0) ? arg(arg(0)->is_zero() ? 2 : 1) : std::nullopt;
      default: break;
    }
    const std::size_t count = e_.args(part).size();
    for (std::size_t i = 0; i < count; ++i)
      if (!arg(i)) return std::nullopt;
    if (op == ExprOp::Not) return Int(arg(0)->is_zero());
    if (op == ExprOp::Neg) return -*arg(0);
    if (divides(op) && arg(1)->is_zero()) return std::nullopt;
    Int value = *arg(0);  // min and max take any number of members
    for (std::size_t i = 1; i < count; ++i) value = value_of(op, value, *arg(i));
    return value;
  }

  const Exprs& e_;
  std::vector<Expr> parts_;
  std::vector<std::size_t> args_;  // slots of the operands of all parts in turn
  std::vector<Value> values_;
};

/// Narrows a variable's range by a fact that compares it with a number, on either side.
void narrow(const Exprs& e, Expr fact, Expr variable, Interval& range) {
  const ExprOp op = e.op(fact);
  if (op < ExprOp::Lt || op > ExprOp::Eq) return;
  const bool left = e.arg(fact, 0) == variable;
  const Expr other = e.arg(fact, left ? 1 : 0);
  if (!(left || e.arg(fact, 1) == variable) || !e.is_constant(other)) return;
  const bool strict = op == ExprOp::Lt || op == ExprOp::Gt;
  const bool below = (op == ExprOp::Lt || op == ExprOp::Le) == left;  // the variable is below
  const Int value = e.value(other) + Int(strict ? (below ? -1 : 1) : 0);
  if ((below || op == ExprOp::Eq) && (!range.hi || value < *range.hi)) range.hi = value;
  if ((!below || op == ExprOp::Eq) && (!range.lo || *range.lo < value)) range.lo = value;
}

}  // namespace

AtPoints compare_at_points(const Derivation& d, Expr before, Expr after,
                           std::span<const Expr> facts) {
  const Exprs& e = d.exprs;
  std::vector<Expr> roots{before, after};
  roots.insert(roots.end(), facts.begin(), facts.end());
  Laid laid(e, roots);
  struct Axis {
    Expr variable;
    Int lo, hi, at;
  };
  std::vector<Axis> axes;
  Int work = static_cast<std::int64_t>(laid.parts().size());
  for (const Expr part : laid.parts()) {
    if (e.op(part) != ExprOp::Variable) continue;
    const auto of = std::ranges::find(d.variables, e.name(part), &Derivation::Variable::first);
    if (of == d.variables.end()) return AtPoints::TooMany;
    Interval range = of->second;
    for (const Expr fact : facts) narrow(e, fact, part, range);
    if (!range.lo || !range.hi) return AtPoints::TooMany;
    if (*range.hi < *range.lo) return AtPoints::Equal;  // the facts hold nowhere
    axes.push_back({part, *range.lo, *range.hi, *range.lo});
    work = work * (*range.hi - *range.lo + 1);
    if (work > Int(kLimits.value_work)) return AtPoints::TooMany;
  }
  for (;;) {
    Interrupt::poll();
    for (const Axis& a : axes) laid.set(a.variable, a.at);
    laid.run();
    const bool holds =
        std::ranges::all_of(facts, [&](Expr fact) { return laid[fact] && !laid[fact]->is_zero(); });
    if (holds && laid[before] && laid[before] != laid[after]) return AtPoints::Differ;
    const auto next = std::ranges::find_if(axes, [](const Axis& a) { return a.at < a.hi; });
    for (auto a = axes.begin(); a != next; ++a) a->at = a->lo;
    if (next == axes.end()) return AtPoints::Equal;
    next->at += 1;
  }
}

}  // namespace touchstone::symbolic
