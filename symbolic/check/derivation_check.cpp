#include "touchstone/symbolic/check/derivation_check.h"

#include <algorithm>
#include <set>

#include "touchstone/base/error.h"
#include "touchstone/symbolic/check/definedness.h"
#include "touchstone/symbolic/check/points.h"
#include "touchstone/symbolic/rules/rules.h"

namespace touchstone::symbolic {

namespace {

using NamedBindings = std::map<std::string, Expr, std::less<>>;

std::set<std::string> variables_of(const Exprs& e, Expr root) {
  std::set<std::string> names;
  for (const Expr part : e.parts(root))
    if (e.op(part) == ExprOp::Variable) names.insert(e.name(part));
  return names;
}

/// The reason why `part` may divide by 0; nullopt if it cannot.
std::optional<std::string> division_flaw(const Exprs& e, Definedness& known, Expr part,
                                         Words words) {
  const std::optional<Expr> divisor = known.zero_divisor(part);
  if (!divisor) return std::nullopt;
  return fmt::format("the divisor {} may be 0 where nothing divided by 0 before",
                     words == Words::All ? render(e, *divisor) : "");
}

std::optional<std::string> rule_flaw(Derivation& d, Ring& ring, const DerivationStep& step,
                                     const Rule& rule, Definedness known, Words words) {
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
    return e.substitute(step.context, NamedBindings{{"_", side}});
  };
  const Expr whole_from = within(from), whole_to = within(to);
  if (ring.normal(step.before) != ring.normal(whole_from))
    return fmt::format("{} is not the rule's {}", text(step.before), text(from));
  if (ring.normal(step.after) != ring.normal(whole_to))
    return fmt::format("{} is not the rule's {}", text(step.after), text(to));

  const Expr condition = e.substitute(when, bindings);
  if (!known.facts().holds(condition))
    return fmt::format("the facts do not give the condition {}", text(condition));
  // The rule claims nothing if its condition or its left side is undefined, and the ring treats a
  // quotient by 0 as a number: both sides and the context around them must be defined.
  if (auto flaw = division_flaw(e, known, condition, words)) return flaw;
  known.facts().assume(condition);
  const Expr left = step.backwards ? to : from, right = step.backwards ? from : to;
  for (const Expr part : {left, right, whole_from, whole_to}) {
    if (auto flaw = division_flaw(e, known, part, words)) return flaw;
    known.assume_value(part);
  }
  return std::nullopt;
}

}  // namespace

std::vector<Expr> facts_at(Derivation& d, std::size_t known, Expr whole, const Path& path) {
  Exprs& e = d.exprs;
  std::vector<Expr> facts;
  for (const auto& [name, range] : d.variables) {
    const Expr x = e.variable(name);
    if (range.lo) facts.push_back(e.apply(ExprOp::Le, {e.constant(*range.lo), x}));
    if (range.hi) facts.push_back(e.apply(ExprOp::Le, {x, e.constant(*range.hi)}));
  }
  const auto say = [&](Expr condition, bool truth) {  // splits an `and` into its parts
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
    // Skip an undefined sibling: at such a point this part may decide the result.
    if ((op == ExprOp::And || op == ExprOp::Or) && has_value(e, args[1 - child]))
      say(args[1 - child], op == ExprOp::And);
    if (op == ExprOp::Where && child > 0) say(args[0], child == 1);
    whole = args[child];
  }
  return facts;
}

namespace {

/// The reason why the part may change its value where `before` has one; nullopt if it cannot.
/// `facts` are the step's facts in their known form.
std::optional<std::string> value_flaw(Derivation& d, Ring& ring, const DerivationStep& step,
                                      std::span<const Expr> facts, const Definedness& known,
                                      Words words) {
  if (find_arithmetic_law(step.rule)) {
    if (ring.normal(step.before) == ring.normal(step.after)) return std::nullopt;
    return "the two sides are not equal by arithmetic alone";
  }
  if (const Rule* rule = find_rule(step.rule)) return rule_flaw(d, ring, step, *rule, known, words);
  if (step.rule != kCases && step.rule != kPoints)
    return fmt::format("there is no rule {}", step.rule);
  if (!step.bindings.empty()) return "no variables are bound";
  if (step.rule == kPoints) {
    const AtPoints found = compare_at_points(d, step.before, step.after, facts);
    if (found == AtPoints::Equal) return std::nullopt;
    return found == AtPoints::Differ ? "the two sides are not equal at every point"
                                     : "too many points to enumerate";
  }
  Entailment shown = known.facts();
  shown.spend_from(nullptr);
  for (const Division& x : known.computed())
    if (!x.where.empty() &&
        std::ranges::all_of(x.where, [&](Expr c) { return has_value(d.exprs, c); }))
      shown.assume_nonzero_where(x.guard, x.divisor);
  if (shown.zero_by_cases(ring.add(ring.normal(step.before), ring.normal(step.after), -1)))
    return std::nullopt;
  return "the two sides are not equal in every case";
}

}  // namespace

std::optional<std::string> step_flaw(Derivation& d, Ring& ring, const DerivationStep& step,
                                     Expr whole, std::size_t known, Words words) {
  Exprs& e = d.exprs;
  if (e.at(whole, step.path) != step.before) return "the part is not at its place";
  if (e.replace(whole, step.path, step.after) != step.whole)
    return "the new part is not at its place";
  std::vector<Expr> facts;
  if (!step.facts.empty()) {
    const std::vector<Expr> allowed = facts_at(d, known, whole, step.path);
    for (const Expr f : step.facts) {  // the step may write a fact in an undefined form
      const auto found =
          std::ranges::find_if(allowed, [&](Expr a) { return ring.truth(a) == ring.truth(f); });
      if (found == allowed.end())
        return fmt::format("no assumption gives {} there",
                           words == Words::All ? render(e, f) : std::string());
      facts.push_back(*found);
    }
  }
  Definedness defined(e, ring, facts, divisions_of(e, ring, step.before));
  if (auto flaw = value_flaw(d, ring, step, facts, defined, words)) return flaw;
  if (step.rule == kPoints) return std::nullopt;  // points where `before` has a value only
  return division_flaw(e, defined, step.after, words);
}

std::optional<Flaw> find_flaw(Derivation& d) {
  Ring ring(d.exprs);
  for (std::size_t c = 0; c <= d.assumptions.size(); ++c) {  // each may use the earlier ones
    const Chain& chain = c < d.assumptions.size() ? d.assumptions[c] : d.main;
    Expr whole = chain.start;
    for (std::size_t i = 0; i < chain.steps.size(); ++i) {
      if (auto what = step_flaw(d, ring, chain.steps[i], whole, c))
        return Flaw{c, i, *std::move(what)};
      whole = chain.steps[i].whole;
    }
    if (whole != chain.result)
      return Flaw{c, chain.steps.size(), "the last step does not produce the result"};
  }
  return std::nullopt;
}

}  // namespace touchstone::symbolic
