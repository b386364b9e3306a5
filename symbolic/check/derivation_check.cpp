#include "touchstone/symbolic/derivation_check.h"

#include <algorithm>
#include <set>

#include "touchstone/base/error.h"
#include "touchstone/symbolic/entailment.h"
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

/// Every divisor that is always computed: not within the branches of a choice or a later part of
/// `and` and `or`.
std::vector<Expr> divisors_of(const Exprs& e, Expr root) {
  std::vector<Expr> found, todo{root};
  while (!todo.empty()) {
    const Expr x = todo.back();
    todo.pop_back();
    const auto args = e.args(x);
    const ExprOp op = e.op(x);
    if (op == ExprOp::Div || op == ExprOp::Mod) found.push_back(args[1]);
    const bool lazy = op == ExprOp::Where || op == ExprOp::And || op == ExprOp::Or;
    for (std::size_t i = 0; i < (lazy ? 1 : args.size()); ++i) todo.push_back(args[i]);
  }
  return found;
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
  if (step.backwards)  // the rule holds where its lhs is defined
    for (const Expr divisor : divisors_of(e, to)) {
      const PolyId p = ring.normal(divisor), minus = ring.add(ring.constant(0), p, -1);
      const bool divided_by = std::ranges::any_of(divisors_of(e, from), [&](Expr x) {
        return ring.normal(x) == p || ring.normal(x) == minus;
      });
      if (!divided_by && !known.nonzero(p))
        return fmt::format("the divisor {} may be 0", text(divisor));
    }
  else
    for (const Expr divisor : divisors_of(e, from)) known.assume_nonzero(ring.normal(divisor));
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
    if (op == ExprOp::And || op == ExprOp::Or) say(args[1 - child], op == ExprOp::And);
    if (op == ExprOp::Where && child > 0) say(args[0], child == 1);
    whole = args[child];
  }
  return facts;
}

std::optional<std::string> step_flaw(Derivation& d, Ring& ring, const DerivationStep& step,
                                     Expr whole, std::size_t known, Words words) {
  if (d.exprs.at(whole, step.path) != step.before) return "the part does not stand at its place";
  if (d.exprs.replace(whole, step.path, step.after) != step.whole)
    return "the new part does not stand at its place";
  if (find_arithmetic_law(step.rule)) {
    if (ring.normal(step.before) == ring.normal(step.after)) return std::nullopt;
    return "the two sides are not equal by arithmetic alone";
  }
  const bool cases = step.rule == kCases, points = step.rule == kPoints;
  const Rule* rule = find_rule(step.rule);
  if (!rule && !cases && !points) return fmt::format("there is no rule {}", step.rule);
  const std::vector<Expr> allowed = facts_at(d, known, whole, step.path);
  for (const Expr f : step.facts)
    if (std::ranges::none_of(allowed, [&](Expr a) { return ring.truth(a) == ring.truth(f); }))
      return fmt::format("nothing says {} there",
                         words == Words::All ? render(d.exprs, f) : std::string());
  if (rule) return rule_flaw(d, ring, step, *rule, words);
  if (!step.bindings.empty()) return "there are no variables to bind";
  if (points) {
    const AtPoints found = compare_at_points(d, step.before, step.after, step.facts);
    if (found == AtPoints::Equal) return std::nullopt;
    return found == AtPoints::Differ ? "the two sides are not equal at every point"
                                     : "there are too many points to look at";
  }
  Entailment facts(d.exprs, ring);
  for (const Expr f : step.facts) facts.assume(f);
  const PolyId after = ring.normal(step.after);
  if (facts.zero_by_cases(ring.add(ring.normal(step.before), after, -1))) return std::nullopt;
  return "the two sides are not equal in every case";
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
