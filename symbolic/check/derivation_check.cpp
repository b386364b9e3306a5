#include "touchstone/symbolic/derivation_check.h"

#include <algorithm>
#include <set>

#include "touchstone/base/error.h"
#include "touchstone/symbolic/entailment.h"
#include "touchstone/symbolic/operators.h"
#include "touchstone/symbolic/points.h"
#include "touchstone/symbolic/rules.h"

namespace touchstone::symbolic {

namespace {

using NamedBindings = std::map<std::string, Expr, std::less<>>;

std::set<std::string> variables_of(const Exprs& e, Expr root) {
  std::set<std::string> names;
  for (const Expr part : e.parts(root))
    if (e.op(part) == ExprOp::Variable) names.insert(e.name(part));
  return names;
}

/// A division by something else than a number that is not 0.
struct Division {
  Expr written;
  PolyId divisor;
  std::vector<Expr> where;  // it is computed wherever all these hold
  PolyId guard;             // 1 there, else 0
};

/// Whether an expression has a value at every point, as far as its text tells.
bool has_value(const Exprs& e, Expr root) {
  return std::ranges::none_of(e.parts(root), [&](Expr x) {
    return divides(e.op(x)) && (!e.is_constant(e.arg(x, 1)) || e.value(e.arg(x, 1)).is_zero());
  });
}

/// What stands beside a part in `and` or `or`, and has no value at some point, need not decide
/// there: with `all`, the part counts as computed beside it anyway.
std::vector<Division> divisions_of(Exprs& e, Ring& ring, Expr root, bool all) {
  std::vector<Division> found;
  if (has_value(e, root)) return found;
  std::vector<std::pair<Expr, Division>> todo{{root, {0, 0, {}, ring.constant(1)}}};
  const auto within = [&](Division at, Expr condition, bool holds) {
    at.where.push_back(holds ? condition : e.apply(ExprOp::Not, {condition}));
    at.guard = ring.multiply(at.guard, ring.truth(at.where.back()));
    return at;
  };
  while (!todo.empty()) {
    const auto [x, at] = std::move(todo.back());
    todo.pop_back();
    const std::vector<Expr> args(e.args(x).begin(), e.args(x).end());
    const ExprOp op = e.op(x);
    if (divides(op) && (!e.is_constant(args[1]) || e.value(args[1]).is_zero())) {
      found.push_back(at);
      found.back().written = args[1];
      found.back().divisor = ring.normal(args[1]);
    }
    for (std::size_t i = 0; i < args.size(); ++i) {
      if (op == ExprOp::Where && i > 0)
        todo.emplace_back(args[i], within(at, args[0], i == 1));
      else if ((op == ExprOp::And || op == ExprOp::Or) && (!all || has_value(e, args[1 - i])))
        todo.emplace_back(args[i], within(at, args[1 - i], op == ExprOp::And));
      else
        todo.emplace_back(args[i], at);
    }
  }
  return found;
}

/// Why the new part may divide by 0 where the old one does not; nullopt where it cannot. Else a
/// step could leave no point at which anything is to be shown of the next one.
std::optional<std::string> division_flaw(Derivation& d, Ring& ring, const DerivationStep& step,
                                         Words words) {
  const std::vector<Division> after = divisions_of(d.exprs, ring, step.after, true);
  if (after.empty()) return std::nullopt;
  const std::vector<Division> before = divisions_of(d.exprs, ring, step.before, false);
  for (const Division& x : after) {
    const auto implied = [&](const Division& y) {
      return ring.multiply(x.guard, y.guard) == x.guard;
    };
    const auto same = [&](const Division& y) {
      return y.divisor == x.divisor || y.divisor == ring.add(ring.constant(0), x.divisor, -1);
    };
    if (std::ranges::any_of(before, [&](const Division& y) { return same(y) && implied(y); }))
      continue;
    Entailment known(d.exprs, ring);
    for (const Expr f : step.facts) known.assume(f);
    for (const Expr condition : x.where) known.assume(condition);
    const auto computed = [&](Entailment& there, const Division& y) {
      return std::ranges::all_of(y.where, [&](Expr condition) {
        return has_value(d.exprs, condition) && there.holds(condition);
      });
    };
    Entailment zero = known;  // where the divisor is 0
    zero.assume_zero(x.divisor);
    if (std::ranges::any_of(before, [&](const Division& y) {
          return (same(y) || zero.zero_by_cases(y.divisor)) && computed(zero, y);
        }))
      continue;
    std::vector<PolyId> not_zero;  // of divisions that are computed wherever this one is
    for (const Division& y : before)
      if (implied(y) || computed(known, y)) not_zero.push_back(y.divisor);
    for (const PolyId p : not_zero) known.assume_nonzero(p);
    if (!known.nonzero(x.divisor) && !known.contradictory())
      return fmt::format("the divisor {} may be 0 where nothing divided by 0 before",
                         words == Words::All ? render(d.exprs, x.written) : "");
  }
  return std::nullopt;
}

std::optional<std::string> rule_flaw(Derivation& d, Ring& ring, const DerivationStep& step,
                                     const Rule& rule, Words words) {
  Exprs& e = d.exprs;
  const auto text = [&](Expr x) { return words == Words::All ? render(e, x) : std::string(); };
  const Expr lhs = parse_expr(e, rule.lhs), rhs = parse_expr(e, rule.rhs);
  const Expr when = rule.when.empty() ? e.constant(1) : parse_expr(e, rule.when);
  NamedBindings bindings;
  for (const auto& [name, value] : step.bindings)
    if (!bindings.emplace(name, value).second) return fmt::format("{} is bound twice", name);
  std::set<std::string> needed = variables_of(e, lhs);
  needed.merge(variables_of(e, rhs));
  needed.merge(variables_of(e, when));
  for (const std::string& name : needed)
    if (!bindings.contains(name)) return fmt::format("{} of the rule is not bound", name);
  for (const auto& [name, value] : bindings)
    if (!needed.contains(name)) return fmt::format("the rule has no variable {}", name);

  Expr from = e.substitute(lhs, bindings), to = e.substitute(rhs, bindings);
  if (step.backwards) std::swap(from, to);
  const auto within = [&](Expr side) {
    return ring.normal(e.substitute(step.context, NamedBindings{{"_", side}}));
  };
  if (ring.normal(step.before) != within(from))
    return fmt::format("{} is not the rule's {}", text(step.before), text(from));
  if (ring.normal(step.after) != within(to))
    return fmt::format("{} is not the rule's {}", text(step.after), text(to));

  Entailment known(e, ring);
  for (const Expr f : step.facts) known.assume(f);
  for (const Division& x : divisions_of(e, ring, step.before, false))
    if (x.where.empty()) known.assume_nonzero(x.divisor);
  const Expr condition = e.substitute(when, bindings);
  if (!known.holds(condition))
    return fmt::format("the facts do not give the condition {}", text(condition));
  return std::nullopt;
}

}  // namespace

std::vector<Expr> facts_at(Derivation& d, std::size_t known, Expr whole, const Path& path) {
  Exprs& e = d.exprs;
  std::vector<Expr> facts;
  for (const Derivation::Variable& v : d.variables) {
    const Expr x = e.variable(v.name);
    if (v.lo) facts.push_back(e.apply(ExprOp::Le, {e.constant(*v.lo), x}));
    if (v.hi) facts.push_back(e.apply(ExprOp::Le, {x, e.constant(*v.hi)}));
  }
  const auto say = [&](Expr condition, bool truth) {  // each part of an `and` by itself
    std::vector<std::pair<Expr, bool>> todo{{condition, truth}};
    while (!todo.empty()) {
      const auto [c, holds] = todo.back();
      todo.pop_back();
      const ExprOp op = e.op(c);
      if (op == ExprOp::Not) {
        todo.emplace_back(e.arg(c, 0), !holds);
      } else if (op == (holds ? ExprOp::And : ExprOp::Or)) {
        todo.emplace_back(e.arg(c, 1), holds);
        todo.emplace_back(e.arg(c, 0), holds);
      } else {
        facts.push_back(holds ? c : e.apply(ExprOp::Not, {c}));
      }
    }
  };
  for (std::size_t i = 0; i < known; ++i) {
    say(d.assumptions[i].start, true);
    if (d.assumptions[i].result != d.assumptions[i].start) say(d.assumptions[i].result, true);
  }
  for (const std::uint32_t child : path) {
    const ExprOp op = e.op(whole);
    const std::vector<Expr> args(e.args(whole).begin(), e.args(whole).end());
    // What stands beside has no value at some point, and may be decided by this part there.
    if ((op == ExprOp::And || op == ExprOp::Or) && has_value(e, args[1 - child]))
      say(args[1 - child], op == ExprOp::And);
    if (op == ExprOp::Where && child > 0) say(args[0], child == 1);
    whole = args[child];
  }
  return facts;
}

namespace {

/// Why the parts of a step may differ, where the old one has a value; nullopt where they cannot.
std::optional<std::string> value_flaw(Derivation& d, Ring& ring, const DerivationStep& step,
                                      Expr whole, std::size_t known, Words words) {
  if (find_arithmetic_law(step.rule)) {
    if (ring.normal(step.before) == ring.normal(step.after)) return std::nullopt;
    return "the two sides are not equal by arithmetic alone";
  }
  const bool cases = step.rule == kCases, points = step.rule == kPoints;
  const Rule* rule = find_rule(step.rule);
  if (!rule && !cases && !points) return fmt::format("there is no rule {}", step.rule);
  const std::vector<Expr> allowed = facts_at(d, known, whole, step.path);
  std::vector<Expr> facts;  // as they are known: the step may write them as what has no value
  for (const Expr f : step.facts) {
    const auto found =
        std::ranges::find_if(allowed, [&](Expr a) { return ring.truth(a) == ring.truth(f); });
    if (found == allowed.end())
      return fmt::format("nothing says {} there",
                         words == Words::All ? render(d.exprs, f) : std::string());
    facts.push_back(*found);
  }
  if (rule) return rule_flaw(d, ring, step, *rule, words);
  if (!step.bindings.empty()) return "there are no variables to bind";
  if (points) {
    const AtPoints found = compare_at_points(d, step.before, step.after, facts);
    if (found == AtPoints::Equal) return std::nullopt;
    return found == AtPoints::Differ ? "the two sides are not equal at every point"
                                     : "there are too many points to look at";
  }
  const PolyId after = ring.normal(step.after);
  const PolyId gap = ring.add(ring.normal(step.before), after, -1);
  Entailment shown(d.exprs, ring);
  for (const Expr f : facts) shown.assume(f);
  for (const Division& x : divisions_of(d.exprs, ring, step.before, false)) {
    if (x.where.empty())
      shown.assume_nonzero(x.divisor);
    else if (std::ranges::all_of(x.where, [&](Expr c) { return has_value(d.exprs, c); }))
      shown.assume_nonzero_where(x.guard, x.divisor);
  }
  if (shown.zero_by_cases(gap)) return std::nullopt;
  return "the two sides are not equal in every case";
}

}  // namespace

std::optional<std::string> step_flaw(Derivation& d, Ring& ring, const DerivationStep& step,
                                     Expr whole, std::size_t known, Words words) {
  if (d.exprs.at(whole, step.path) != step.before) return "the part does not stand at its place";
  if (d.exprs.replace(whole, step.path, step.after) != step.whole)
    return "the new part does not stand at its place";
  if (auto flaw = value_flaw(d, ring, step, whole, known, words)) return flaw;
  if (step.rule == kPoints) return std::nullopt;  // they were looked at for that, too
  return division_flaw(d, ring, step, words);
}

std::optional<Flaw> find_flaw(Derivation& d) {
  Ring ring(d.exprs);
  for (std::size_t c = 0; c <= d.assumptions.size(); ++c) {  // each may use those before it
    const Chain& chain = c < d.assumptions.size() ? d.assumptions[c] : d.main;
    Expr whole = chain.start;
    for (std::size_t i = 0; i < chain.steps.size(); ++i) {
      if (auto what = step_flaw(d, ring, chain.steps[i], whole, c))
        return Flaw{c, i, *std::move(what)};
      whole = chain.steps[i].whole;
    }
    if (whole != chain.result)
      return Flaw{c, chain.steps.size(), "the last step does not end in the result"};
  }
  return std::nullopt;
}

}  // namespace touchstone::symbolic
