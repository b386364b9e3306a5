#include "touchstone/symbolic/derive/derive.h"

#include <algorithm>

#include "touchstone/symbolic/ask/question.h"
#include "touchstone/symbolic/check/derivation_check.h"
#include "touchstone/symbolic/derive/arithmetic.h"
#include "touchstone/symbolic/derive/rewrite.h"
#include "touchstone/symbolic/derive/ring_text.h"
#include "touchstone/symbolic/node/node_expr.h"
#include "touchstone/symbolic/number/limits.h"
#include "touchstone/symbolic/read/canonical_builder.h"
#include "touchstone/symbolic/rules/rules.h"

namespace touchstone::symbolic {

namespace {

/// Steps from an expression as written to one with the normal form of its canonical node.
struct Walk {
  Expr whole = 0;
  std::vector<Expr> states;  // before each step, and after the last
  std::vector<DerivationStep> steps;
};

/// Builds an expression with the simplifier part by part, traces the rules, and applies them to the
/// expression as written.
class Deriver {
 public:
  Deriver(Derivation& d, Context& context, const std::map<std::string, Node>& names)
      : d_(d),
        ring_(d.exprs),
        text_(d.exprs, ring_),
        rewriter_(d, ring_),
        context_(context),
        builder_(names, context),
        written_(context, d.exprs) {
    builder_.simplifier().trace(&trace_);
  }

  /// How an expression is simplified where conditions hold.
  using Assume = std::optional<Id> (*)(Simplifier&, Id, std::span<const Id>);
  static std::optional<Id> under(Simplifier& s, Id id, std::span<const Id> conditions) {
    return s.under(id, conditions);
  }
  static std::optional<Id> given(Simplifier& s, Id id, std::span<const Id> conditions) {
    return s.given(id, conditions);
  }
  /// Derives an expression under conditions from its text to `to`, or to its rendering; returns its
  /// node.
  Id derive(Chain& chain, std::span<const Id> conditions, std::size_t known, Assume assume,
            std::optional<std::string> to = std::nullopt);

 private:
  /// Returns the node of the expression under the conditions, and the steps to it.
  Id walk(Expr start, std::span<const Id> conditions, Assume assume, Walk& out);
  /// Joins the steps from the text with the reversed steps from the rendering.
  void join(const Walk& forth, const Walk& back, Chain& chain);
  struct Visit {
    Path path;
    std::vector<Path> parts;  // of a chain, or the arguments
    bool open = true;
  };
  std::vector<Path> parts_of(const Path& path, Expr root) const;
  Id build(const Path& path, std::span<const Id> ids, const Walk& walk);
  void explain(const Path& path, Id result, Walk& walk);
  bool attempt(const Path& path, PolyId goal, Expr variant, bool joins_first, Walk& walk);
  std::vector<Expr> variants(Expr part);
  Equation equation(const Instance& use);
  /// Equations stating that a flag by bounds is one; the simplifier assumes this silently.
  std::vector<Equation> flag_equations(Expr part);
  void arithmetic(const Path& path, Expr after, Walk& walk);
  static void take(DerivationStep step, Walk& walk);

  Derivation& d_;
  Ring ring_;
  RingText text_;
  Rewriter rewriter_;
  Context& context_;
  CanonicalBuilder builder_;
  NodeExprs written_;
  Trace trace_;
};

bool is_chain(ExprOp op) {
  return op == ExprOp::Add || op == ExprOp::Sub || op == ExprOp::And || op == ExprOp::Or;
}

bool same_chain(ExprOp a, ExprOp b) {
  const auto sum = [](ExprOp op) { return op == ExprOp::Add || op == ExprOp::Sub; };
  return a == b || (sum(a) && sum(b));
}

/// Flattens a maximum within a maximum, or a minimum within a minimum.
Expr flattened(Exprs& e, Expr part) {
  const ExprOp op = e.op(part);
  if (op != ExprOp::Min && op != ExprOp::Max) return part;
  std::vector<Expr> members, todo{part};
  while (!todo.empty()) {
    const Expr x = todo.back();
    todo.pop_back();
    if (e.op(x) != op)
      members.push_back(x);
    else
      todo.insert(todo.end(), e.args(x).rbegin(), e.args(x).rend());
  }
  return e.apply(op, members);
}

/// A comparison with all terms on one side: a <= b is a - b < 1.
std::optional<Expr> against_zero(Exprs& e, Expr part) {
  const ExprOp op = e.op(part);
  if (op < ExprOp::Lt || op > ExprOp::Ne) return std::nullopt;
  const bool swap = op == ExprOp::Gt || op == ExprOp::Ge;
  const Expr a = e.arg(part, swap ? 1 : 0), b = e.arg(part, swap ? 0 : 1);
  const Expr gap = e.apply(ExprOp::Sub, {a, b});
  if (op == ExprOp::Eq || op == ExprOp::Ne) return e.apply(op, {gap, e.constant(0)});
  const bool strict = op == ExprOp::Lt || op == ExprOp::Gt;
  return e.apply(ExprOp::Lt, {gap, e.constant(strict ? 0 : 1)});
}

std::vector<Path> Deriver::parts_of(const Path& path, Expr part) const {
  const Exprs& e = d_.exprs;
  std::vector<Path> parts;
  const ExprOp op = e.op(part);
  Path at = path;
  if (!is_chain(op)) {
    for (std::uint32_t i = 0; i < e.args(part).size(); ++i) {
      parts.push_back(at);
      parts.back().push_back(i);
    }
    return parts;
  }
  while (is_chain(e.op(part)) && same_chain(e.op(part), op)) {
    at.push_back(1);
    parts.push_back(at);
    at.back() = 0;
    part = e.arg(part, 0);
  }
  parts.push_back(at);
  std::ranges::reverse(parts);
  return parts;
}

Id Deriver::build(const Path& path, std::span<const Id> ids, const Walk& walk) {
  const Exprs& e = d_.exprs;
  const std::optional<Expr> there = e.at(walk.whole, path);
  if (!there) return builder_.apply(ExprOp::Neg, ids);  // it was folded into a number
  Expr part = *there;
  if (e.is_constant(part)) return builder_.constant(e.value(part));
  if (e.op(part) == ExprOp::Variable) return *builder_.name(e.name(part));
  if (!is_chain(e.op(part))) return builder_.apply(e.op(part), ids);
  std::vector<ExprOp> ops;
  for (std::size_t i = 1; i < ids.size(); ++i) {
    ops.insert(ops.begin(), e.op(part));
    part = e.arg(part, 0);
  }
  return builder_.chain(ops, ids);
}

Id Deriver::walk(Expr start, std::span<const Id> conditions, Assume assume, Walk& out) {
  out.whole = start;
  out.states = {start};
  std::vector<Visit> visits{{{}, {}, true}};
  std::vector<Id> ids;  // of finished parts, in order
  while (!visits.empty()) {
    Visit& v = visits.back();
    if (v.open) {
      v.open = false;
      v.parts = parts_of(v.path, *d_.exprs.at(out.whole, v.path));
      const std::vector<Path> parts = v.parts;
      for (auto p = parts.rbegin(); p != parts.rend(); ++p) visits.push_back({*p, {}, true});
      continue;
    }
    const Path path = v.path;
    const std::size_t n = v.parts.size();
    visits.pop_back();
    trace_.clear();
    const Id id = build(path, std::span(ids).last(n), out);
    ids.resize(ids.size() - n);
    ids.push_back(id);
    explain(path, id, out);
  }
  Id root = ids.back();
  if (!conditions.empty()) {
    trace_.clear();
    if (const auto now = assume(builder_.simplifier(), root, conditions)) root = *now;
    explain({}, root, out);
  }
  return root;
}

void Deriver::take(DerivationStep step, Walk& walk) {
  walk.whole = step.whole;
  walk.states.push_back(step.whole);
  walk.steps.push_back(std::move(step));
}

void Deriver::arithmetic(const Path& path, Expr after, Walk& walk) {
  DerivationStep step;
  step.rule = kArithmetic;
  step.path = path;
  step.before = *d_.exprs.at(walk.whole, path);
  step.after = after;
  step.whole = d_.exprs.replace(walk.whole, path, after);
  step.context = d_.exprs.variable("_");
  take(std::move(step), walk);
}

Equation Deriver::equation(const Instance& use) {
  const Rule& rule = *find_rule(use.rule);
  Exprs& e = d_.exprs;
  Equation q;
  q.rule = use.rule;
  q.backwards = use.backwards;
  const Expr lhs = parse_expr(e, rule.lhs), rhs = parse_expr(e, rule.rhs);
  const Expr when = rule.when.empty() ? e.constant(1) : parse_expr(e, rule.when);
  std::map<std::string, Expr, std::less<>> bindings;
  for (const auto& [name, value] : use.bindings) bindings.emplace(name, written_.of(value));
  const auto occurs = [&](const std::string& name, Expr side) {
    return std::ranges::any_of(
        e.parts(side), [&](Expr x) { return e.op(x) == ExprOp::Variable && e.name(x) == name; });
  };
  for (const auto& [name, value] : bindings)
    if (occurs(name, lhs) || occurs(name, rhs) || occurs(name, when))
      q.bindings.emplace_back(name, value);
  q.from = e.substitute(lhs, bindings);
  q.to = e.substitute(rhs, bindings);
  if (use.backwards) std::swap(q.from, q.to);
  return q;
}

std::vector<Equation> Deriver::flag_equations(Expr part) {
  std::vector<Equation> list;
  std::vector<AtomId> seen;
  const auto add = [&](const char* rule, const char* from, const char* to, Expr x) {
    Exprs& e = d_.exprs;
    const std::map<std::string, Expr, std::less<>> bindings{{"x", x}};
    list.push_back({rule,
                    {{"x", x}},
                    false,
                    e.substitute(parse_expr(e, from), bindings),
                    e.substitute(parse_expr(e, to), bindings)});
  };
  const Poly poly = ring_[ring_.normal(part)];
  for (const auto& [m, c] : poly.terms)
    for (std::size_t i = 0; i < m.size(); ++i) {
      if (std::ranges::find(seen, m[i]) != seen.end()) {
        if (i > 0 && m[i] == m[i - 1]) add("mul.flag", "x*x", "x", text_.of_atom(m[i]));
        continue;
      }
      seen.push_back(m[i]);
      const Atom& a = ring_.atom(m[i]);
      if (a.kind != AtomKind::Zero) continue;
      const PolyId minus = ring_.add(ring_.constant(0), a.parts[0], -1);
      for (const PolyId p : {a.parts[0], minus}) add("eq.flag", "x == 0", "1 - x", text_.of(p));
    }
  return list;
}

std::vector<Expr> Deriver::variants(Expr part) {
  Exprs& e = d_.exprs;
  std::vector<Expr> list{part};
  if (e.op(part) == ExprOp::Where && !e.is_constant(e.arg(part, 2), 0)) {
    const std::vector<Expr> args(e.args(part).begin(), e.args(part).end());
    const PolyId other = ring_.normal(args[2]), gap = ring_.add(ring_.normal(args[1]), other, -1);
    list.push_back(e.apply(
        ExprOp::Add, {e.apply(ExprOp::Where, {args[0], text_.of(gap), e.constant(0)}), args[2]}));
  }
  if (const Expr flat = flattened(e, part); flat != part) list.push_back(flat);
  if (const auto one_sided = against_zero(e, part)) list.push_back(*one_sided);
  list.push_back(text_.of(ring_.normal(part)));
  return list;
}

bool Deriver::attempt(const Path& path, PolyId goal, Expr variant, bool joins_first, Walk& walk) {
  const Expr hole = d_.exprs.variable("_");
  const auto reached = [&] {
    const auto now = d_.exprs.at(walk.whole, path);  // absorbed into its surroundings
    return !now || ring_.normal(*now) == goal;
  };
  if (const Expr part = *d_.exprs.at(walk.whole, path);
      ring_.normal(variant) != ring_.normal(part)) {
    auto step = rewriter_.cases(walk.whole, path, variant);
    if (!step) return false;
    take(*std::move(step), walk);
  } else if (variant != part) {
    arithmetic(path, variant, walk);
  }
  if (reached()) return true;
  // The simplifier opens all digits before joining them; if joining alone works, it reads better.
  for (bool again = joins_first; again;) {
    again = false;
    for (const Instance& use : trace_.uses()) {
      if (use.backwards) continue;
      auto step = rewriter_.use(equation(use), walk.whole, path, true);
      if (!step) continue;
      take(*std::move(step), walk);
      if (reached()) return true;
      again = true;
    }
  }
  for (int round = 0; round < kLimits.derived_rounds; ++round) {
    bool changed = false;
    std::vector<Equation> equations;
    for (const Instance& use : trace_.uses()) equations.push_back(equation(use));
    for (const Equation& q : flag_equations(*d_.exprs.at(walk.whole, path))) equations.push_back(q);
    for (const Equation& q : equations) {
      if (ring_.normal(q.from) == ring_.normal(q.to) && d_.exprs.op(q.from) != ExprOp::Max)
        continue;  // an arithmetic step
      for (int again = 0; again < kLimits.derived_uses; ++again) {
        auto step = rewriter_.use(q, walk.whole, path);
        if (!step) break;
        const bool whole_side = step->context == hole;
        take(*std::move(step), walk);
        changed = true;
        if (reached()) return true;
        // Within a sum, or on its own result, a second use could undo the first.
        if (!whole_side || ring_.normal(*d_.exprs.at(walk.whole, path)) == ring_.normal(q.to))
          break;
      }
    }
    if (!changed) break;
  }
  return false;
}

void Deriver::explain(const Path& path, Id result, Walk& walk) {
  const std::optional<Expr> there = d_.exprs.at(walk.whole, path);
  if (!there) return;  // a negation that was folded into a number
  const PolyId goal = ring_.normal(written_.of(result));
  const Expr part = *there;
  if (ring_.normal(part) == goal) return;
  const Walk before = walk;
  rewriter_.start();
  if (d_.exprs.op(part) == ExprOp::Variable) {  // one-valued
    const Expr value = written_.of(result);
    const Equation q{"bounds.fixed", {{"x", part}, {"k", value}}, false, part, value};
    if (auto step = rewriter_.use(q, walk.whole, path)) return take(*std::move(step), walk);
  }
  for (const Expr variant : variants(part))
    for (const bool joins_first : {true, false}) {
      if (attempt(path, goal, variant, joins_first, walk)) return;
      walk = before;
    }
  const Expr shown = fold_identities(d_.exprs, text_.of(goal));
  if (auto step = rewriter_.in_one(walk.whole, path, shown)) return take(*std::move(step), walk);
  arithmetic(path, written_.of(result), walk);
  walk.steps.back().rule = kUnexplained;
}

Id Deriver::derive(Chain& chain, std::span<const Id> conditions, std::size_t known, Assume assume,
                   std::optional<std::string> to) {
  rewriter_.know(known);
  Walk forth, back;
  const Id id = walk(chain.start, conditions, assume, forth);
  walk(parse_expr(d_.exprs, to ? *to : render(context_.handle(id))), {}, assume, back);
  join(forth, back, chain);
  if (unexplained(chain) > 0)  // retry as one step: both ends are equal where the text has a value
    if (auto step = rewriter_.in_one(chain.start, {}, chain.result)) chain.steps = {*step};
  return id;
}

void Deriver::join(const Walk& forth, const Walk& back, Chain& chain) {
  // All states from the text to its rendering; steps from the rendering are reversed.
  std::vector<Expr> states = forth.states;
  states.insert(states.end(), back.states.rbegin(), back.states.rend());
  const std::size_t turn = forth.steps.size();
  chain.result = states.back();
  for (std::size_t i = 0; i + 1 < states.size();) {
    std::size_t far = i;  // skip to the last state equal by arithmetic: no detours
    for (std::size_t j = i; j < states.size(); ++j)
      if (ring_.normal(states[j]) == ring_.normal(states[i])) far = j;
    if (far > i) {
      const auto steps = ArithmeticSteps(d_.exprs, ring_).between(states[i], states[far]);
      chain.steps.insert(chain.steps.end(), steps.begin(), steps.end());
      i = far;
      continue;
    }
    if (i < turn) {
      chain.steps.push_back(forth.steps[i]);
    } else {
      std::optional<DerivationStep> step;
      if (i > turn) step = back.steps[states.size() - 2 - i];
      if (step && d_.exprs.at(states[i], step->path)) {
        std::swap(step->before, step->after);
        step->whole = states[i + 1];
        step->backwards = !step->backwards;
        rewriter_.state_facts(*step, states[i]);
      } else {  // the ends do not meet, or the part was absorbed
        step = rewriter_.in_one(states[i], {}, states[i + 1]);
      }
      if (!step) {
        step.emplace();
        step->rule = kUnexplained;
        step->before = states[i];
        step->after = step->whole = states[i + 1];
        step->context = d_.exprs.variable("_");
      }
      chain.steps.push_back(*std::move(step));
    }
    ++i;
  }
}

std::map<std::string, Node> named(Context& context,
                                  std::span<const Derivation::Variable> variables) {
  std::map<std::string, Node> names;
  for (const auto& [name, range] : variables)
    names.emplace(name, context.handle(context.make_variable(name, range)));
  return names;
}

/// The text that `answer` returns for the same question.
std::string answer_to(const Derivation& d, std::span<const std::string> assumptions) {
  Context scratch;
  return answer(
             {d.variables, {assumptions.begin(), assumptions.end()}, render(d.exprs, d.main.start)},
             scratch)
      .text;
}

/// Runs the checker: a step that it rejects, having seen fewer expressions, is proved another way
/// once or marked unexplained.
void settle(Derivation& d) {
  bool again = true;
  for (int round = 0; again; ++round) {
    again = false;
    Ring fresh(d.exprs);
    for (std::size_t c = 0; c <= d.assumptions.size(); ++c) {
      Chain& chain = c < d.assumptions.size() ? d.assumptions[c] : d.main;
      const auto shown = [&](Expr whole, const Path& path, Expr after) {
        Ring apart(d.exprs);
        Rewriter rewriter(d, apart);
        rewriter.know(c);
        auto step = round == 0 ? rewriter.in_one(whole, path, after) : std::nullopt;
        again |= step.has_value();
        return step;
      };
      Expr whole = chain.start;
      bool open = false;
      for (DerivationStep& step : chain.steps) {
        if (step.rule != kUnexplained && step_flaw(d, fresh, step, whole, c, Words::None)) {
          if (auto other = shown(whole, step.path, step.after))
            step = *std::move(other);
          else
            step.rule = kUnexplained;
          open |= step.rule == kUnexplained;
        }
        whole = step.whole;
      }
      if (!open) continue;
      if (auto step = shown(chain.start, {}, chain.result)) chain.steps = {*std::move(step)};
    }
  }
}

}  // namespace

Derivation derive(const std::string& text, std::span<const Derivation::Variable> variables,
                  std::span<const std::string> assumptions) {
  Derivation d;
  d.variables.assign(variables.begin(), variables.end());
  d.main.start = parse_expr(d.exprs, text);
  if (const std::size_t n = d.exprs.size(d.main.start); n > kLimits.derivation_parts)
    throw Error(fmt::format("the expression has {} parts; derivations are recorded for at most {}",
                            n, kLimits.derivation_parts));
  {
    Context apart;  // its errors point at the text
    const auto names = named(apart, variables);
    CanonicalBuilder check(names, apart);
    read_expression(text, check);
    for (const std::string& a : assumptions) read_expression(a, check);
  }
  Context context;
  const auto names = named(context, variables);
  Deriver deriver(d, context, names);
  Ids conditions;
  for (const std::string& a : assumptions) {
    Chain chain;
    chain.start = parse_expr(d.exprs, a);
    const Id id = deriver.derive(chain, conditions, d.assumptions.size(), Deriver::given);
    if (unexplained(chain) > 0) chain = {chain.start, chain.start, {}};  // used as written
    d.assumptions.push_back(std::move(chain));
    if (context[id].kind == NodeKind::Constant) {
      if (context[id].first.is_zero())
        throw Error(fmt::format("the assumption {} never holds; remove or correct it", a));
      continue;
    }
    conditions.push_back(Simplifier(context).truth(id));
  }
  const Id id = deriver.derive(d.main, conditions, d.assumptions.size(), Deriver::under,
                               answer_to(d, assumptions));
  const Expr canonical = parse_expr(d.exprs, render(context.handle(id)));
  if (d.exprs.size(canonical) > d.exprs.size(d.main.start)) d.longer = canonical;
  settle(d);
  return d;
}

std::size_t unexplained(const Chain& chain) {
  return static_cast<std::size_t>(
      std::ranges::count(chain.steps, kUnexplained, &DerivationStep::rule));
}

}  // namespace touchstone::symbolic
