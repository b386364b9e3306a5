#include "touchstone/fuzz/index/forge.h"

#include <algorithm>
#include <set>

#include "touchstone/symbolic/derive/ring_text.h"
#include "touchstone/symbolic/expr/operators.h"
#include "touchstone/symbolic/rules/rules.h"

namespace touchstone::fuzz {
namespace {

using symbolic::Derivation;
using symbolic::DerivationStep;
using symbolic::Expr;
using symbolic::ExprOp;
using symbolic::Exprs;
using symbolic::Int;
using symbolic::Path;
using symbolic::PolyId;
using symbolic::Ring;
using symbolic::Rule;

using NamedExprs = std::map<std::string, Expr, std::less<>>;

class Forge {
 public:
  Forge(const ExpressionCase& c, Chooser& chooser) : chooser_(chooser) {
    d_.exprs = c.exprs;
    root_ = c.root;
    std::vector<Expr> assumptions = c.assumptions;
    for (const ExpressionCase::Variable& v : c.variables)
      d_.variables.push_back({v.name, {v.low, v.high}});
    if (chooser.chance(1, 4)) rename(assumptions);
    for (const Expr a : assumptions) d_.assumptions.push_back({a, a, {}});
    for (const auto& [name, range] : d_.variables) leaves_.push_back(e_.variable(name));
    for (const Expr part : e_.parts(root_)) leaves_.push_back(part);
    for (const std::int64_t k : {0, 1, 2, -1, 3}) leaves_.push_back(e_.constant(Int(k)));
  }

  Derivation certificate() {
    DerivationStep step;
    step.context = e_.variable("_");
    const Expr part = chooser_.chance(1, 3) ? root_ : chooser_.pick(leaves_);
    if (chooser_.chance(3, 4))
      by_rule(step, part);
    else
      by_arithmetic(step, part);
    Expr whole = step.before;
    for (int levels = chooser_.index(3); levels > 0; --levels) {
      const auto [around, place] = surrounded(whole);
      whole = around;
      step.path.insert(step.path.begin(), place);
    }
    step.whole = e_.replace(whole, step.path, step.after);
    step.facts = facts_at(d_, d_.assumptions.size(), whole, step.path);
    if (chooser_.chance(1, 8)) step.facts.push_back(condition());
    if (chooser_.chance(1, 16) && !step.path.empty()) step.path.pop_back();
    d_.main = {whole, step.whole, {step}};
    return std::move(d_);
  }

 private:
  /// Renames variables to names that rules and contexts use.
  void rename(std::vector<Expr>& assumptions) {
    std::vector<std::string> names{"_", "x", "y", "b", "c", "k", "m", "d"};
    if (d_.variables.size() > names.size()) return;
    NamedExprs now;
    for (auto& [name, range] : d_.variables) {
      const auto taken = names.begin() + chooser_.index(names.size());
      now.emplace(name, e_.variable(*taken));
      name = *taken;
      names.erase(taken);
    }
    root_ = e_.substitute(root_, now);
    for (Expr& a : assumptions) a = e_.substitute(a, now);
  }

  Expr apply(ExprOp op, Expr a, Expr b) { return e_.apply(op, {a, b}); }

  /// An expression that is 0 at every point or at some.
  Expr zero() {
    const Expr x = chooser_.pick(leaves_);
    switch (chooser_.below(12)) {
      case 0: return apply(ExprOp::Sub, e_.constant(1), e_.constant(1));
      case 1: return apply(ExprOp::Mul, e_.constant(0), x);
      case 2: return apply(ExprOp::Sub, x, e_.constant(Int(chooser_.between(-1, 4))));
      case 3: return apply(ExprOp::Mod, x, e_.constant(Int(chooser_.between(2, 4))));
      case 4: return apply(ExprOp::Lt, x, e_.constant(Int(chooser_.between(0, 4))));
      case 5: return apply(ExprOp::Sub, e_.apply(ExprOp::Max, {x, chooser_.pick(leaves_)}), x);
      case 6: return x;
      default: return apply(ExprOp::Sub, x, x);
    }
  }

  Expr condition() {
    constexpr ExprOp kComparisons[] = {ExprOp::Lt, ExprOp::Le, ExprOp::Eq, ExprOp::Ne, ExprOp::Ge};
    const ExprOp op = kComparisons[chooser_.below(5)];
    const Expr c = e_.apply(op, {value(1), value(1)});
    return chooser_.chance(1, 6) ? e_.apply(ExprOp::Not, {c}) : c;
  }

  Expr value(int depth) {
    if (depth == 0 || chooser_.chance(1, 3)) return chooser_.pick(leaves_);
    switch (chooser_.below(7)) {
      case 0: return zero();
      case 1: return e_.apply(ExprOp::Div, {value(depth - 1), zero()});
      case 2: return e_.apply(ExprOp::Mod, {value(depth - 1), zero()});
      case 3: {
        const ExprOp op = chooser_.chance(1, 2) ? ExprOp::TruncDiv : ExprOp::TruncMod;
        return e_.apply(op, {value(depth - 1), zero()});
      }
      case 4: return e_.apply(ExprOp::Where, {condition(), value(depth - 1), value(depth - 1)});
      case 5: return e_.apply(ExprOp::Mul, {value(depth - 1), value(depth - 1)});
      default: return e_.apply(ExprOp::Add, {value(depth - 1), value(depth - 1)});
    }
  }

  /// An expression with the part as an operand, and the operand's number.
  std::pair<Expr, std::uint32_t> surrounded(Expr part) {
    const Expr other = chooser_.chance(1, 2) ? condition() : value(2);
    const auto place = static_cast<std::uint32_t>(chooser_.below(2));
    const auto two = [&](ExprOp op) {
      return std::pair(place == 0 ? apply(op, part, other) : apply(op, other, part), place);
    };
    switch (chooser_.below(5)) {
      case 0: return two(ExprOp::And);
      case 1: return two(ExprOp::Or);
      case 2: return two(ExprOp::Add);
      case 3: return {e_.apply(ExprOp::Where, {part, other, value(1)}), 0U};
      default:
        return place == 0 ? std::pair(e_.apply(ExprOp::Where, {other, part, value(1)}), 1U)
                          : std::pair(e_.apply(ExprOp::Where, {other, value(1), part}), 2U);
    }
  }

  /// Bindings of the rule's variables; solves for those that its condition determines.
  NamedExprs bindings(const Rule& rule, Expr when) {
    std::set<std::string> names, divisors;
    for (const std::string_view side : {rule.lhs, rule.rhs, rule.when}) {
      if (side.empty()) continue;
      for (const Expr part : e_.parts(parse_expr(e_, side))) {
        if (e_.op(part) == ExprOp::Variable) names.insert(e_.name(part));
        if (!divides(e_.op(part))) continue;
        for (const Expr x : e_.parts(e_.arg(part, 1)))
          if (e_.op(x) == ExprOp::Variable) divisors.insert(e_.name(x));
      }
    }
    NamedExprs bound;
    for (const std::string& name : names)
      bound[name] = chooser_.chance(divisors.contains(name) ? 3 : 1, 5) ? zero()
                    : chooser_.chance(1, 2) ? chooser_.pick(leaves_)
                                            : value(2);
    const auto is_name = [&](Expr x) { return e_.op(x) == ExprOp::Variable; };
    for (const Expr part : e_.parts(when)) {
      const ExprOp op = e_.op(part);
      if (op == ExprOp::Eq && is_name(e_.arg(part, 1)))
        bound[e_.name(e_.arg(part, 1))] = e_.substitute(e_.arg(part, 0), bound);
      if (op == ExprOp::Lt && is_name(e_.arg(part, 0)) && chooser_.chance(1, 2))
        bound[e_.name(e_.arg(part, 0))] =
            apply(ExprOp::Mod, value(1), e_.substitute(e_.arg(part, 1), bound));
    }
    return bound;
  }

  void by_rule(DerivationStep& step, Expr part) {
    const std::span<const Rule> all = symbolic::rules();
    const auto draw = [&]() -> const Rule& { return all[chooser_.below(all.size())]; };
    const Rule* drawn = &draw();
    for (int again = 0; again < 3 && drawn->lhs.find_first_of("/%") == drawn->lhs.npos; ++again)
      drawn = &draw();  // prefers rules that divide
    const Rule& rule = *drawn;
    step.rule = rule.name;
    step.backwards = chooser_.chance(1, 3);
    const Expr when = rule.when.empty() ? e_.constant(1) : parse_expr(e_, rule.when);
    const NamedExprs bound = bindings(rule, when);
    for (const auto& [name, value] : bound) step.bindings.emplace_back(name, value);
    if (chooser_.chance(1, 32)) step.bindings.push_back(step.bindings.front());
    Expr from = e_.substitute(parse_expr(e_, rule.lhs), bound),
         to = e_.substitute(parse_expr(e_, rule.rhs), bound);
    if (step.backwards) std::swap(from, to);
    const Expr hole = step.context, factor = e_.constant(Int(chooser_.between(-1, 2)));
    switch (chooser_.below(4)) {
      case 0: break;
      case 1: step.context = e_.apply(ExprOp::Where, {condition(), hole, part}); break;
      default:  // makes it equal the previous part, whatever the rule
        step.context =
            apply(ExprOp::Add, part, apply(ExprOp::Mul, factor, apply(ExprOp::Sub, hole, from)));
    }
    const auto within = [&](Expr side) {
      return e_.substitute(step.context, NamedExprs{{"_", side}});
    };
    const bool hidden = step.context != hole && e_.op(step.context) == ExprOp::Add;
    step.before = hidden ? part : within(from);
    step.after = hidden || chooser_.chance(1, 2) ? rewritten(within(to)) : within(to);
  }

  /// The same normal form in another writing, with cancelling terms removed.
  Expr rewritten(Expr x) {
    Ring ring(e_);
    return symbolic::RingText(e_, ring).of(ring.normal(x));
  }

  void by_arithmetic(DerivationStep& step, Expr part) {
    step.rule = chooser_.chance(1, 2)   ? symbolic::kArithmetic
                : chooser_.chance(1, 2) ? symbolic::kCases
                                        : symbolic::kPoints;
    const Expr undefined = value(2), none = apply(ExprOp::Mul, e_.constant(0), undefined);
    switch (chooser_.below(5)) {
      case 0:
        step.before = part;
        step.after = apply(ExprOp::Add, part, none);
        break;
      case 1:
        step.before = apply(ExprOp::Add, part, none);
        step.after = chooser_.chance(1, 2) ? part : nearly(e_, part, chooser_);
        break;
      case 2:
        step.before = part;
        step.after =
            e_.apply(ExprOp::Where, {condition(), rewritten(apply(ExprOp::Add, part, none)), part});
        break;
      case 3:
        step.before = e_.apply(ExprOp::Where, {condition(), undefined, part});
        step.after = nearly(e_, step.before, chooser_);
        break;
      default:
        step.before = apply(ExprOp::Sub, apply(ExprOp::Add, part, undefined), undefined);
        step.after = chooser_.chance(1, 2) ? part : apply(ExprOp::Add, part, zero());
    }
  }

  Chooser& chooser_;
  Derivation d_;
  Exprs& e_ = d_.exprs;
  Expr root_ = 0;
  std::vector<Expr> leaves_;
};

Expr changed(Exprs& e, Expr part, Expr root, Chooser& chooser) {
  const ExprOp op = e.op(part);
  const auto other = [&](ExprOp first, ExprOp last) {
    const auto from = static_cast<std::uint64_t>(first), to = static_cast<std::uint64_t>(last);
    const auto now = static_cast<ExprOp>(from + chooser.below(to - from + 1));
    const Expr a = e.arg(part, 0), b = e.arg(part, 1);
    return e.apply(now, {a, b});
  };
  if (chooser.chance(1, 2) && op >= ExprOp::Lt && op <= ExprOp::Ne)
    return other(ExprOp::Lt, ExprOp::Ne);
  if (chooser.chance(1, 2) && (op == ExprOp::Div || op == ExprOp::Mod))
    return other(ExprOp::Div, ExprOp::Mod);
  if (chooser.chance(1, 4)) {
    const std::vector<Expr> parts = e.parts(root);
    return parts[chooser.below(parts.size())];
  }
  const Int by(chooser.chance(1, 2) ? 1 : -1);
  return chooser.chance(1, 8) ? e.apply(ExprOp::Neg, {part})
                              : e.apply(ExprOp::Add, {part, e.constant(by)});
}

}  // namespace

Expr nearly(Exprs& exprs, Expr root, Chooser& chooser) {
  Path path;
  Expr part = root;
  while (!exprs.args(part).empty() && chooser.chance(3, 4)) {
    path.push_back(static_cast<std::uint32_t>(chooser.below(exprs.args(part).size())));
    part = exprs.arg(part, path.back());
  }
  return exprs.replace(root, path, changed(exprs, part, root, chooser));
}

symbolic::Derivation forge_certificate(const ExpressionCase& c, Chooser& chooser) {
  return Forge(c, chooser).certificate();
}

}  // namespace touchstone::fuzz
