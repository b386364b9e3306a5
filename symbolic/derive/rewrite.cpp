#include "touchstone/symbolic/derive/rewrite.h"

#include <algorithm>
#include <map>
#include <set>

#include "touchstone/base/interrupt.h"
#include "touchstone/symbolic/check/derivation_check.h"
#include "touchstone/symbolic/number/limits.h"

namespace touchstone::symbolic {

namespace {

struct Summand {
  bool minus;
  Expr part;
};

/// The summands of nested + and -, in text order.
std::vector<Summand> summands(const Exprs& e, Expr root) {
  std::vector<Summand> out, todo{{false, root}};
  while (!todo.empty()) {
    const Summand s = todo.back();
    todo.pop_back();
    const ExprOp op = e.op(s.part);
    if (op == ExprOp::Neg) {
      todo.push_back({!s.minus, e.arg(s.part, 0)});
    } else if (op == ExprOp::Add || op == ExprOp::Sub) {
      todo.push_back({s.minus != (op == ExprOp::Sub), e.arg(s.part, 1)});
      todo.push_back({s.minus, e.arg(s.part, 0)});
    } else {
      out.push_back(s);
    }
  }
  return out;
}

Expr sum_of(Exprs& e, const std::vector<Summand>& list) {
  std::optional<Expr> r;
  for (const bool minus : {false, true})  // start with a positive one
    for (const Summand& s : list) {
      if (r) break;
      if (s.minus != minus) continue;
      r = minus ? e.apply(ExprOp::Neg, {s.part}) : s.part;
      for (const Summand& t : list)
        if (&t != &s) r = e.apply(t.minus ? ExprOp::Sub : ExprOp::Add, {*r, t.part});
    }
  return fold_identities(e, r.value_or(e.constant(0)));
}

bool is_sum(ExprOp op) { return op == ExprOp::Add || op == ExprOp::Sub || op == ExprOp::Neg; }

/// b divided by a; nullopt if a does not divide b.
std::optional<Monomial> cofactor(const Monomial& a, const Monomial& b) {
  Monomial rest;
  if (!std::ranges::includes(b, a)) return std::nullopt;
  std::ranges::set_difference(b, a, std::back_inserter(rest));
  return rest;
}

void add_variables(const Exprs& e, Expr root, std::set<Expr>& out) {
  std::vector<Expr> todo{root};
  std::set<Expr> seen{root};
  while (!todo.empty()) {
    const Expr x = todo.back();
    todo.pop_back();
    if (e.op(x) == ExprOp::Variable) out.insert(x);
    for (const Expr arg : e.args(x))
      if (seen.insert(arg).second) todo.push_back(arg);
  }
}

/// The facts connected to the step by a chain of common variables.
std::vector<Expr> connected(const Exprs& e, const DerivationStep& step,
                            const std::vector<Expr>& facts) {
  std::set<Expr> reached;
  add_variables(e, step.before, reached);
  add_variables(e, step.after, reached);
  for (const auto& [name, value] : step.bindings) add_variables(e, value, reached);
  std::vector<std::set<Expr>> of(facts.size());
  for (std::size_t i = 0; i < facts.size(); ++i) add_variables(e, facts[i], of[i]);
  std::vector<bool> in(facts.size());
  for (bool more = true; more;) {
    more = false;
    for (std::size_t i = 0; i < facts.size(); ++i) {
      if (in[i] || std::ranges::none_of(of[i], [&](Expr v) { return reached.contains(v); }))
        continue;
      in[i] = more = true;
      reached.insert(of[i].begin(), of[i].end());
    }
  }
  std::vector<Expr> out;
  for (std::size_t i = 0; i < facts.size(); ++i)
    if (in[i]) out.push_back(facts[i]);
  return out;
}

/// The number of leading facts of `facts_at` that are variable bounds; points respect them anyway.
std::ptrdiff_t bounds_count(const Derivation& d) {
  std::ptrdiff_t count = 0;
  for (const auto& [name, range] : d.variables)
    count += range.lo.has_value() + range.hi.has_value();
  return count;
}

}  // namespace

std::optional<DerivationStep> Rewriter::use(const Equation& q, Expr whole, const Path& place,
                                            bool complete) {
  struct Spot {
    Path path;
    Expr part;
    bool inner;  // part of a longer sum
  };
  std::vector<Spot> spots{{place, *d_.exprs.at(whole, place), false}};
  for (std::size_t i = 0; i < spots.size(); ++i) {
    const Expr part = spots[i].part;
    for (std::uint32_t k = 0; k < d_.exprs.args(part).size(); ++k) {
      if (spots.size() >= kLimits.spots) break;
      Path below = spots[i].path;
      below.push_back(k);
      spots.push_back({std::move(below), d_.exprs.arg(part, k), is_sum(d_.exprs.op(part))});
    }
  }
  const auto look = [&](Pass pass) -> std::optional<DerivationStep> {
    for (const Spot& s : spots) {
      for (const Candidate& c : candidates(q, s.part, s.inner, pass)) {
        if (tries_ == 0) return std::nullopt;
        --tries_;
        if (auto step = tried(q, whole, s.path, c)) return step;
      }
    }
    return std::nullopt;
  };
  const Poly& from = ring_[ring_.normal(q.from)];
  const bool atom = from.terms.size() == 1 && from.terms[0].first.size() == 1 &&
                    from.terms[0].second.is_one() &&
                    ring_.atom(from.terms[0].first[0]).kind != AtomKind::Variable;
  if (complete)
    return from.terms.size() > 1 ? look(Pass::Complete) : std::optional<DerivationStep>();
  if (!atom)
    if (auto step = look(Pass::Sums)) return step;
  std::ranges::reverse(spots);  // deepest first
  if (auto step = look(Pass::Whole)) return step;
  if (atom)
    if (auto step = look(Pass::Sums)) return step;
  return look(Pass::Atoms);
}

std::optional<DerivationStep> Rewriter::tried(const Equation& q, Expr whole, const Path& path,
                                              const Candidate& c) {
  Interrupt::poll();
  if (ring_.work() > most_work_) return std::nullopt;
  DerivationStep step;
  step.rule = q.rule;
  step.path = path;
  step.before = *d_.exprs.at(whole, path);
  step.after = c.after;
  if (step.after == step.before) return std::nullopt;
  step.whole = d_.exprs.replace(whole, path, step.after);
  step.bindings = q.bindings;
  step.backwards = q.backwards;
  step.context = c.context;
  std::vector<Expr> facts = facts_at(d_, known_, whole, path);
  if (q.rule == kPoints) facts.erase(facts.begin(), facts.begin() + bounds_count(d_));
  step.facts = connected(d_.exprs, step, facts);
  Refused asked{step.rule,  step.backwards, step.bindings, step.before,
                step.after, step.context,   step.facts};
  if (refused_.contains(asked)) return std::nullopt;
  if (step_flaw(d_, ring_, step, whole, known_, Words::None)) {
    refused_.insert(std::move(asked));
    return std::nullopt;
  }
  fewest_facts(step, whole);
  return step;
}

std::optional<DerivationStep> Rewriter::cases(Expr whole, const Path& place, Expr after) {
  return tried({std::string(kCases), {}, false, 0, 0}, whole, place,
               {after, d_.exprs.variable("_")});
}

std::optional<DerivationStep> Rewriter::in_one(Expr whole, const Path& place, Expr after) {
  if (auto step = cases(whole, place, after)) return step;
  return tried({std::string(kPoints), {}, false, 0, 0}, whole, place,
               {after, d_.exprs.variable("_")});
}

void Rewriter::state_facts(DerivationStep& step, Expr whole) {
  if (!step_flaw(d_, ring_, step, whole, known_, Words::None)) return;
  step.facts = connected(d_.exprs, step, facts_at(d_, known_, whole, step.path));
  if (!step_flaw(d_, ring_, step, whole, known_, Words::None)) fewest_facts(step, whole);
}

void Rewriter::fewest_facts(DerivationStep& step, Expr whole) {
  // Halves first: of a hundred facts rarely more than three are needed.
  const std::int64_t most = std::min(most_work_, ring_.work() + kLimits.derived_work / 4);
  for (std::size_t size = step.facts.size(); size > 0; size /= 2)
    for (std::size_t end = step.facts.size(); end > 0 && ring_.work() < most;) {
      const std::size_t begin = end - std::min(size, end);
      const std::vector<Expr> all = step.facts;
      step.facts.erase(step.facts.begin() + static_cast<std::ptrdiff_t>(begin),
                       step.facts.begin() + static_cast<std::ptrdiff_t>(end));
      if (step_flaw(d_, ring_, step, whole, known_, Words::None)) step.facts = all;
      end = begin;
    }
}

std::vector<Rewriter::Candidate> Rewriter::candidates(const Equation& q, Expr part, bool inner,
                                                      Pass pass) {
  std::vector<Candidate> out;
  const ExprOp op = d_.exprs.op(part);
  const bool leaf = op == ExprOp::Constant || op == ExprOp::Variable;
  if (pass == Pass::Complete) {
    if (is_sum(op) && !inner) as_terms(q, part, true, out);
    return out;
  }
  const bool atom = op == ExprOp::Div || op == ExprOp::Mod;
  if (!(leaf && pass == Pass::Sums) && ring_.normal(part) == ring_.normal(q.from))
    out.push_back({fold_identities(d_.exprs, q.to), d_.exprs.variable("_")});
  if (pass == Pass::Whole || leaf) return out;
  if (op == ExprOp::Max || op == ExprOp::Min) as_members(q, part, out);
  if (op == ExprOp::And) as_conjuncts(q, part, out);
  if (atom == (pass == Pass::Atoms) && !(inner && is_sum(op))) as_terms(q, part, false, out);
  return out;
}

void Rewriter::as_members(const Equation& q, Expr part, std::vector<Candidate>& out) {
  Exprs& e = d_.exprs;
  if (e.op(q.from) != ExprOp::Max || e.args(q.from).size() != 2) return;
  const bool max = e.op(part) == ExprOp::Max;
  const Expr stays = e.arg(q.from, 0), goes = e.arg(q.from, 1);
  const Int sign = max ? 1 : -1;
  // The operand that stays comes first: atoms are numbered by creation.
  const PolyId rest = ring_.normal(stays), gap = ring_.add(ring_.normal(goes), rest, -1);
  const std::vector<Expr> members(e.args(part).begin(), e.args(part).end());
  std::multimap<PolyId, std::size_t> places;  // equal ones in order
  for (std::size_t k = 0; k < members.size(); ++k) places.emplace(ring_.normal(members[k]), k);
  const PolyId step = ring_.add(ring_.constant(0), gap, sign);
  for (std::size_t i = 0; i < members.size(); ++i) {
    const PolyId mine = ring_.normal(members[i]);
    const auto [first, last] = places.equal_range(ring_.add(mine, step, 1));
    for (auto place = first; place != last; ++place) {
      const std::size_t j = place->second;
      if (i == j) continue;
      std::vector<Expr> kept, others;
      for (std::size_t k = 0; k < members.size(); ++k) {
        if (k != j) kept.push_back(members[k]);
        if (k != i && k != j) others.push_back(members[k]);
      }
      // part is max(_ + shift, others); for a minimum, -max(_ + shift, -others).
      const PolyId signed_mine = ring_.add(ring_.constant(0), mine, sign);
      const PolyId shift = ring_.add(signed_mine, rest, -1);
      const Expr hole = e.variable("_");
      std::vector<Expr> around{fold_identities(e, e.apply(ExprOp::Add, {hole, text_.of(shift)}))};
      for (const Expr o : others) around.push_back(max ? o : e.apply(ExprOp::Neg, {o}));
      Expr context = around.size() == 1 ? around[0] : e.apply(ExprOp::Max, around);
      if (!max) context = e.apply(ExprOp::Neg, {context});
      out.push_back({kept.size() == 1 ? kept[0] : e.apply(e.op(part), kept), context});
    }
  }
}

void Rewriter::as_conjuncts(const Equation& q, Expr part, std::vector<Candidate>& out) {
  Exprs& e = d_.exprs;
  const std::vector<Expr> parts = e.operands(part, ExprOp::And);
  const PolyId from = ring_.normal(q.from), to = ring_.normal(q.to);
  for (std::size_t i = 0; i < parts.size(); ++i)
    for (std::size_t j = i + 1; j < parts.size(); ++j) {
      const PolyId second = ring_.truth(parts[j]);
      if (ring_.multiply(ring_.truth(parts[i]), second) != from) continue;
      Expr made = fold_identities(e, q.to);
      for (const std::size_t k : {i, j})
        if (ring_.truth(parts[k]) == to) made = parts[k];
      Expr context = e.variable("_");
      std::optional<Expr> after;
      for (std::size_t k = 0; k < parts.size(); ++k) {
        if (k != i && k != j) context = e.apply(ExprOp::And, {context, parts[k]});
        const Expr kept = k == i ? made : parts[k];
        if (k != j) after = after ? e.apply(ExprOp::And, {*after, kept}) : kept;
      }
      out.push_back({*after, context});
    }
}

void Rewriter::as_terms(const Equation& q, Expr part, bool complete, std::vector<Candidate>& out) {
  Exprs& e = d_.exprs;
  const PolyId whole = ring_.normal(part);
  const PolyId from = ring_.normal(q.from), to = ring_.normal(q.to);
  const Poly own = ring_[whole], taken = ring_[from];
  std::vector<PolyId> tried;
  const auto consider = [&](PolyId factor) {
    if (out.size() >= kLimits.tried_factors || std::ranges::find(tried, factor) != tried.end())
      return;
    tried.push_back(factor);
    const PolyId rest = ring_.add(whole, ring_.multiply(factor, from), -1);
    const PolyId added = ring_.multiply(factor, to);
    const Expr hole = e.variable("_");
    const Expr by = text_.of(factor);
    const Expr addition = fold_identities(e, e.apply(ExprOp::Mul, {q.to, by}));
    const Expr context = fold_identities(
        e, e.apply(ExprOp::Add, {e.apply(ExprOp::Mul, {hole, by}), text_.of(rest)}));
    out.push_back({resembling(part, ring_.add(rest, added), added, addition), context});
  };
  // The terms with their own coefficients, if all are present.
  const bool all = std::ranges::all_of(taken.terms, [&](const auto& t) {
    const auto at = std::ranges::find(own.terms, t.first, &std::pair<Monomial, Int>::first);
    return t.first.empty() || (at != own.terms.end() && at->second.sign() == t.second.sign() &&
                               abs(at->second) >= abs(t.second));
  });
  if (all && taken.terms.size() > 1) consider(ring_.constant(1));
  if (complete) return;
  if (ring_.add(whole, from) == ring_.constant(0)) consider(ring_.constant(-1));
  for (auto head = taken.terms.rbegin(); head != taken.terms.rend(); ++head) {
    if (head->first.empty()) continue;
    for (const auto& [m, c] : own.terms) {
      const auto rest = cofactor(head->first, m);
      if (rest && divides(head->second, c))
        consider(ring_.monomial(*rest, floor_div(c, head->second)));
    }
  }
  if (all) consider(ring_.constant(1));
}

Expr Rewriter::resembling(Expr part, PolyId target, PolyId added, Expr addition) {
  Exprs& e = d_.exprs;
  const ExprOp op = e.op(part);
  if (op == ExprOp::And || op == ExprOp::Or) {  // one operand is dropped
    const std::vector<Expr> parts = e.operands(part, op);
    for (std::size_t i = 0; i < parts.size() && parts.size() > 1; ++i) {
      std::vector<Expr> kept = parts;
      kept.erase(kept.begin() + static_cast<std::ptrdiff_t>(i));
      if (const Expr all = e.folded(op, kept); ring_.normal(all) == target) return all;
    }
  }
  // Unaffected summands stay as written.
  const Poly change = ring_[ring_.add(ring_.normal(part), target, -1)];
  std::vector<Summand> kept;
  std::size_t at = 0;
  PolyId left = target;
  for (const Summand& s : summands(e, part)) {
    const PolyId p = ring_.normal(s.part);
    const bool concerned = std::ranges::any_of(ring_[p].terms, [&](const auto& t) {
      return std::ranges::find(change.terms, t.first, &std::pair<Monomial, Int>::first) !=
             change.terms.end();
    });
    if (concerned) {
      at = kept.size();
      continue;
    }
    kept.push_back(s);
    left = ring_.add(left, p, s.minus ? 1 : -1);
  }
  const Expr fresh = left == added ? addition : text_.of(left);
  std::vector<Summand> more = summands(e, fresh);
  if (e.is_constant(fresh, 0)) more.clear();
  kept.insert(kept.begin() + static_cast<std::ptrdiff_t>(std::min(at, kept.size())), more.begin(),
              more.end());
  return sum_of(e, kept);
}

}  // namespace touchstone::symbolic
