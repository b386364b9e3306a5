#include "touchstone/prove/elimination.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "touchstone/prove/defined.h"

namespace touchstone::prove {

namespace {

constexpr int kMostDivisions = 60;
constexpr std::size_t kMostCases = 12;

}  // namespace

Elimination::Elimination(const Claim& claim, Ask ask, std::vector<std::string>& steps)
    : claim_(claim), e_(claim_.exprs), ask_(std::move(ask)), steps_(steps) {
  std::vector<Expr> roots = claim_.when;
  roots.insert(roots.end(), {claim_.lhs, claim_.rhs});
  for (const Let& let : claim_.witness)
    roots.insert(roots.end(), {let.number, let.divisor, let.quotient, let.remainder});
  names_ = variables_of(e_, roots);
}

bool Elimination::run() {
  State state;
  const auto keep = [&](std::vector<Expr>& list, Expr condition) {
    for (const Expr c : conjuncts_of(e_, condition))
      if (!e_.is_constant(c, 1)) list.push_back(with_floor_divisions(e_, c));
  };
  for (const Expr c : claim_.when) {
    keep(e_.op(c) == ExprOp::Or ? state.alternatives : state.facts, c);
    keep(state.facts, defined(e_, c));
  }
  keep(state.facts, defined(e_, claim_.lhs));
  keep(state.goals, defined(e_, claim_.rhs));
  state.goals.push_back(with_floor_divisions(e_, apply(ExprOp::Eq, claim_.lhs, claim_.rhs)));
  state.witness = claim_.witness;
  split_narrow_ranges(state);
  return prove(std::move(state));
}

bool Elimination::prove(State state) {
  for (int round = 0; round < kMostDivisions; ++round) {
    if (questions_left_ <= 0) return false;
    while (use_equation(state)) {
    }
    if (!state.alternatives.empty()) return prove_cases(state);
    if (!state.witness.empty()) {
      if (!use_witness(state)) return false;
      continue;
    }
    const auto division = next_division(state);
    if (!division) return finish(state);
    take_out(state, *division);
  }
  return false;
}

bool Elimination::use_witness(State& state) {
  const Let let = state.witness.front();
  const Sign sign = sign_of(state, let.divisor);
  if (sign == Sign::Unknown) {
    steps_.push_back(fmt::format("the witness divides by {}, which may be 0", show(let.divisor)));
    return false;
  }
  if (sign == Sign::Nonzero) {
    split_by_sign(state, let.divisor);
    return true;
  }
  state.witness.erase(state.witness.begin());
  write_number(state, let, sign);
  return true;
}

void Elimination::split_by_sign(State& state, Expr divisor) {
  const Expr zero = e_.constant(0);
  state.alternatives.push_back(
      apply(ExprOp::Or, apply(ExprOp::Lt, zero, divisor), apply(ExprOp::Lt, divisor, zero)));
}

// l <= x <= u with a small constant u - l leaves few values for x - l.
void Elimination::split_narrow_ranges(State& state) {
  constexpr int kMostValues = 4;
  std::vector<Polynomial> above;  // each is at least 0
  for (const Expr f : state.facts) {
    const ExprOp op = e_.op(f);
    if (op != ExprOp::Le && op != ExprOp::Lt && op != ExprOp::Ge && op != ExprOp::Gt) continue;
    const bool less = op == ExprOp::Le || op == ExprOp::Lt;
    auto gap = Polynomial::difference(e_, e_.arg(f, less ? 1 : 0), e_.arg(f, less ? 0 : 1));
    if (!gap) continue;
    if (op == ExprOp::Lt || op == ExprOp::Gt) gap->add(Monomial{}, -1);
    above.push_back(*std::move(gap));
  }
  for (std::size_t i = 0; i < above.size(); ++i)
    for (std::size_t j = i + 1; j < above.size(); ++j) {
      Polynomial width = above[i];
      width.add(above[j]);
      const Int n = width.is_zero() ? Int(0) : width.terms().begin()->second;
      const bool number =
          width.is_zero() || (width.terms().size() == 1 && width.terms().begin()->first.empty());
      if (!number || n.sign() < 0 || n >= Int(kMostValues) || above[i].lone_variables(e_).empty())
        continue;
      const Expr gap = expr_of(e_, above[i]);
      std::vector<Expr> cases;
      for (int v = 0; Int(v) <= n; ++v) cases.push_back(apply(ExprOp::Eq, gap, e_.constant(v)));
      state.alternatives.push_back(e_.folded(ExprOp::Or, cases));
    }
}

bool Elimination::prove_cases(State& state) {
  const std::vector<Expr> cases = e_.operands(state.alternatives.back(), ExprOp::Or);
  if (cases.size() > kMostCases) return false;
  state.alternatives.pop_back();
  for (const Expr c : cases) {
    State part = state;
    for (const Expr f : conjuncts_of(e_, c)) part.facts.push_back(f);
    steps_.push_back(fmt::format("case {}", show(c)));
    if (!prove(std::move(part))) return false;
  }
  return true;
}

bool Elimination::finish(State state) {
  for (std::size_t i = 0; i < state.goals.size(); ++i) {
    while (!implied(state, state.goals[i]))
      if (questions_left_ <= 0 || !name_multiple(state)) {  // naming might not terminate
        steps_.push_back(fmt::format("not proved: {}", show(state.goals[i])));
        return false;
      }
    steps_.push_back(fmt::format("then {}", show(state.goals[i])));
  }
  return true;
}

// c*(x - q) + r < 0 is hard for a polynomial solver, c*z + r < 0 is easy.
bool Elimination::name_multiple(State& state) {
  std::vector<Expr> roots = state.goals;
  roots.insert(roots.end(), state.facts.begin(), state.facts.end());
  for (const Expr root : roots)
    for (const Expr part : e_.parts(root)) {
      const ExprOp op = e_.op(part);
      if (op < ExprOp::Lt || op > ExprOp::Ne) continue;
      const auto gap = Polynomial::difference(e_, e_.arg(part, 0), e_.arg(part, 1));
      for (const Expr divisor : state.divisors) {
        const auto d = Polynomial::of(e_, divisor);
        if (!gap || !d || e_.is_constant(divisor)) continue;
        const auto found = divide(*gap, *d);
        if (!found || found->quotient.terms().size() < 2) continue;
        const auto lone = found->quotient.lone_variables(e_);
        if (lone.empty()) continue;
        const auto [variable, sign] = lone.front();
        Polynomial rest = found->quotient;
        rest.add(Monomial{variable}, -sign);
        Polynomial value;
        const Expr name = fresh("t");
        value.add(Monomial{name}, sign);
        value.add(rest, -sign);
        steps_.push_back(fmt::format("name {} {}", show(expr_of(e_, found->quotient)), show(name)));
        replace_variable(state, variable, expr_of(e_, value));
        return true;
      }
    }
  return false;
}

bool Elimination::use_equation(State& state) {
  for (std::size_t i = 0; i < state.facts.size(); ++i) {
    const Expr f = state.facts[i];
    if (e_.op(f) != ExprOp::Eq || divided(f)) continue;
    if (std::ranges::any_of(state.written, [&](const Let& let) {
          return f == apply(ExprOp::Eq, let.number, sum_of(let));
        }))
      continue;
    auto gap = Polynomial::difference(e_, e_.arg(f, 0), e_.arg(f, 1));
    if (!gap) continue;
    const auto lone = gap->lone_variables(e_);
    if (lone.empty()) continue;
    const auto [variable, sign] = lone.back();  // newest
    gap->add(Monomial{variable}, -sign);
    Polynomial value;
    value.add(*gap, -sign);
    const Expr by = expr_of(e_, value);
    state.facts.erase(state.facts.begin() + static_cast<std::ptrdiff_t>(i));
    steps_.push_back(fmt::format("{} is {}", show(variable), show(by)));
    replace_variable(state, variable, by);
    return true;
  }
  return false;
}

bool Elimination::split_choice(State& state, Expr division) {
  for (const Expr part : e_.parts(division)) {
    const ExprOp op = e_.op(part);
    if (op != ExprOp::Min && op != ExprOp::Max && op != ExprOp::Where) continue;
    const std::vector<Expr> args(e_.args(part).begin(), e_.args(part).end());
    const Expr value = fresh("m");
    std::vector<Expr> cases;
    const auto is = [&](Expr which) { return apply(ExprOp::Eq, value, which); };
    if (op == ExprOp::Where) {
      cases = {apply(ExprOp::And, args[0], is(args[1])),
               apply(ExprOp::And, e_.apply(ExprOp::Not, {args[0]}), is(args[2]))};
    } else {
      for (const Expr a : args) {
        Expr chosen = is(a);
        for (const Expr other : args)
          if (other != a)
            chosen = apply(ExprOp::And, chosen,
                           apply(op == ExprOp::Max ? ExprOp::Ge : ExprOp::Le, a, other));
        cases.push_back(chosen);
      }
    }
    replace_part(state, part, value);
    state.alternatives.push_back(e_.folded(ExprOp::Or, cases));
    return true;
  }
  return false;
}

void Elimination::take_out(State& state, Expr division) {
  if (split_choice(state, division)) return;
  const Expr number = e_.arg(division, 0), divisor = e_.arg(division, 1);
  const Sign sign = sign_of(state, divisor);
  if (sign == Sign::Unknown) return guard_division(state, division);
  if (sign == Sign::Nonzero) return split_by_sign(state, divisor);
  const auto p = polynomial(state, number), d = polynomial(state, divisor);
  const auto found = p && d ? divide(*p, *d) : std::nullopt;
  if (!found) return guard_division(state, division);
  if (state_quotient(state, division, *found, sign)) return;
  if (split_residues(state, divisor, found->remainder)) return;
  write_number(state, {expr_of(e_, found->remainder), divisor, fresh("q"), fresh("r")}, sign);
}

// x*(x + 1) % 2: no variable stands alone, but x = 2*q + r leaves two cases.
bool Elimination::split_residues(State& state, Expr divisor, const Polynomial& number) {
  if (!e_.is_constant(divisor) || e_.value(divisor) < Int(2) ||
      e_.value(divisor) > Int(static_cast<int>(kMostCases)) || !number.lone_variables(e_).empty())
    return false;
  const auto n = *e_.value(divisor).small();
  for (const auto& [product, c] : number.terms())
    for (const Expr factor : product) {
      if (e_.op(factor) != ExprOp::Variable) continue;
      const Let let{factor, divisor, fresh("q"), fresh("r")};
      write_number(state, let, Sign::Positive);
      std::vector<Expr> cases;
      for (std::int64_t r = 0; r < n; ++r)
        cases.push_back(apply(ExprOp::Eq, let.remainder, e_.constant(r)));
      state.alternatives.push_back(e_.folded(ExprOp::Or, cases));
      return true;
    }
  return false;
}

bool Elimination::state_quotient(State& state, Expr division, const Division& found, Sign sign) {
  const Expr number = e_.arg(division, 0), divisor = e_.arg(division, 1);
  const auto use = [&](const Polynomial& q, const Polynomial& r, bool range_known) {
    const Expr quotient = expr_of(e_, q), remainder = expr_of(e_, r);
    Expr goal = apply(ExprOp::Eq, number,
                      apply(ExprOp::Add, apply(ExprOp::Mul, divisor, quotient), remainder));
    if (!range_known) goal = apply(ExprOp::And, goal, between(remainder, divisor, sign));
    if (!implied(state, goal)) return false;
    steps_.push_back(fmt::format("{} by {}: quotient {}, remainder {}", show(number), show(divisor),
                                 show(quotient), show(remainder)));
    replace_division(state, number, divisor, quotient, remainder);
    return true;
  };
  if (const auto known = known_quotient(state, found, divisor))
    return use(known->quotient, known->remainder, true);
  // A remainder with a variable that is in no fact is unbounded.
  std::set<std::string> bound;
  for (const std::string& name : variables_of(e_, state.facts)) bound.insert(name);
  for (const auto& [m, c] : found.remainder.terms())
    for (const std::string& name : variables_of(e_, {m}))
      if (!bound.contains(name)) return false;
  const auto d = *Polynomial::of(e_, divisor);
  for (const int shift : {0, -1, 1}) {
    Polynomial q = found.quotient, r = found.remainder;
    q.add(Monomial{}, shift);
    r.add(d, -shift);
    if (use(q, r, false)) return true;
  }
  return false;
}

std::optional<Division> Elimination::known_quotient(const State& state, const Division& found,
                                                    Expr divisor) {
  const auto d = polynomial(state, divisor);
  for (const Let& let : state.written) {
    const auto number = polynomial(state, let.number), by = polynomial(state, let.divisor);
    if (!number || !by || !(*by == *d)) continue;
    // found.remainder is the written number plus a multiple of the divisor
    Polynomial gap = found.remainder;
    gap.add(*number, -1);
    const auto rest = divide(gap, *d);
    const auto q = Polynomial::of(e_, let.quotient), r = Polynomial::of(e_, let.remainder);
    if (!rest || !rest->remainder.is_zero() || !q || !r) continue;
    Division known{found.quotient, *r};
    known.quotient.add(rest->quotient);
    known.quotient.add(*q);
    return known;
  }
  return std::nullopt;
}

void Elimination::write_number(State& state, const Let& let, Sign sign) {
  steps_.push_back(fmt::format("write {} as {}, with {}", show(let.number), show(sum_of(let)),
                               show(between(let.remainder, let.divisor, sign))));
  const auto number = Polynomial::of(e_, let.number);
  const std::vector<std::string> divisor_names = variables_of(e_, {let.divisor});
  // Replaces the variable that occurs in the fewest facts.
  std::optional<std::pair<Expr, int>> best;
  std::size_t fewest = 0;
  for (const auto& [variable, sign_of_it] :
       number ? number->lone_variables(e_) : std::vector<std::pair<Expr, int>>()) {
    if (std::ranges::find(divisor_names, e_.name(variable)) != divisor_names.end()) continue;
    std::size_t facts = 0;
    for (const Expr f : state.facts)
      if (std::ranges::binary_search(e_.parts(f), variable)) ++facts;
    if (best && facts >= fewest) continue;
    best.emplace(variable, sign_of_it);
    fewest = facts;
  }
  state.divisors.push_back(let.divisor);
  const Expr range = between(let.remainder, let.divisor, sign);
  const Expr equation = apply(ExprOp::Eq, let.number, sum_of(let));
  if (best) {
    Polynomial rest = *number;
    rest.add(Monomial{best->first}, -best->second);
    Expr value = sum_of(let);
    if (!rest.is_zero()) value = apply(ExprOp::Sub, value, expr_of(e_, rest));
    if (best->second < 0) value = e_.apply(ExprOp::Neg, {value});
    replace_variable(state, best->first, value);
  } else {
    state.facts.push_back(equation);
    state.written.push_back(let);
  }
  for (const Expr f : conjuncts_of(e_, range)) state.facts.push_back(f);
}

void Elimination::guard_division(State& state, Expr division) {
  const Expr number = e_.arg(division, 0), divisor = e_.arg(division, 1);
  const Let let{number, divisor, fresh("q"), fresh("r")};
  const Expr is = apply(ExprOp::And, apply(ExprOp::Eq, number, sum_of(let)),
                        between(let.remainder, divisor, Sign::Unknown));
  const Expr zero = apply(ExprOp::Eq, divisor, e_.constant(0));
  steps_.push_back(
      fmt::format("where {} is not 0, {} is {}", show(divisor), show(number), show(sum_of(let))));
  replace_division(state, number, divisor, let.quotient, let.remainder);
  state.facts.push_back(apply(ExprOp::Or, zero, is));
}

}  // namespace touchstone::prove
