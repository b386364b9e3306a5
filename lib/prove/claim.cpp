#include "touchstone/prove/claim.h"

#include <algorithm>
#include <set>

#include "touchstone/base/error.h"
#include "touchstone/symbolic/expr/grammar.h"

namespace touchstone::prove {

namespace {

using symbolic::fail_at;
using symbolic::parse_expr;

bool blank(std::string_view text) {
  return text.find_first_not_of(" \t\r\n") == std::string_view::npos;
}

Expr read_part(Exprs& exprs, std::string_view text, std::size_t from, std::size_t to) {
  const Expr e = parse_expr(exprs, text, from, to);
  if (exprs.count() > kMostParts)
    fail_at(text, from,
            fmt::format("the claim has more than {} different subexpressions; prove a smaller one",
                        kMostParts));
  return e;
}

constexpr std::string_view kForm =
    "a witness reads \"x = c*q + r\" or \"x = c*(d*q + s) + r\", with new names q, s, r";

/// Parses `number = form` into lets, outermost first.
class WitnessReader {
 public:
  WitnessReader(Claim& claim, std::string_view text) : claim_(claim), text_(text) {
    std::vector<Expr> roots = claim.when;
    roots.push_back(claim.lhs);
    roots.push_back(claim.rhs);
    for (const std::string& name : variables_of(claim.exprs, roots)) taken_.insert(name);
  }

  void read() {
    for (std::size_t from = 0; from <= text_.size();) {
      const std::size_t to = std::min(text_.find(';', from), text_.size());
      if (!blank(text_.substr(from, to - from))) equation(from, to);
      from = to + 1;
    }
  }

 private:
  void equation(std::size_t from, std::size_t to) {
    const std::size_t equals = text_.substr(0, to).find('=', from);
    if (equals == std::string_view::npos) fail_at(text_, from, std::string(kForm));
    Expr number = read_part(claim_.exprs, text_, from, equals);
    for (const std::string& name : variables_of(claim_.exprs, {number}))
      if (!taken_.contains(name))
        fail_at(text_, from, fmt::format("\"{}\" is not a variable of the claim", name));
    Expr form = read_part(claim_.exprs, text_, equals + 1, to);
    for (bool more = true; more;) {
      const Exprs& e = claim_.exprs;
      if (e.op(form) != ExprOp::Add || e.op(e.arg(form, 0)) != ExprOp::Mul)
        fail_at(text_, equals + 1, std::string(kForm));
      const Expr product = e.arg(form, 0), remainder = e.arg(form, 1);
      const Expr divisor = e.arg(product, 0), inner = e.arg(product, 1);
      for (const std::string& name : variables_of(e, {divisor}))
        if (!taken_.contains(name))
          fail_at(
              text_, equals + 1,
              fmt::format("\"{}\" is not a variable of the claim: a divisor must not use new names",
                          name));
      claim(remainder, equals + 1);
      more = e.op(inner) != ExprOp::Variable;
      Expr quotient = inner;
      if (more)
        quotient = claim_.exprs.variable(fresh());
      else
        claim(inner, equals + 1);
      claim_.witness.push_back({number, divisor, quotient, remainder});
      number = quotient;
      form = inner;
    }
  }

  /// Registers a name that the witness introduces.
  void claim(Expr variable, std::size_t at) {
    const Exprs& e = claim_.exprs;
    if (e.op(variable) != ExprOp::Variable) fail_at(text_, at, std::string(kForm));
    if (!taken_.insert(e.name(variable)).second)
      fail_at(text_, at,
              fmt::format("\"{}\" is already used; a quotient or remainder needs a new name",
                          e.name(variable)));
  }

  std::string fresh() {
    for (int i = 1;; ++i)
      if (std::string name = fmt::format("t{}", i); taken_.insert(name).second) return name;
  }

  Claim& claim_;
  std::string_view text_;
  std::set<std::string> taken_;
};

}  // namespace

std::vector<Expr> conjuncts_of(const Exprs& exprs, Expr condition) {
  return exprs.operands(condition, ExprOp::And);
}

std::vector<std::string> variables_of(const Exprs& exprs, const std::vector<Expr>& roots) {
  std::set<std::string> names;
  for (const Expr root : roots)
    for (const Expr e : exprs.parts(root))
      if (exprs.op(e) == ExprOp::Variable) names.insert(exprs.name(e));
  return {names.begin(), names.end()};
}

Claim read_claim(std::string_view lhs, std::string_view rhs, std::string_view when,
                 std::string_view witness) {
  Claim claim;
  claim.lhs = read_part(claim.exprs, lhs, 0, lhs.size());
  claim.rhs = read_part(claim.exprs, rhs, 0, rhs.size());
  if (!blank(when))
    claim.when = conjuncts_of(claim.exprs, read_part(claim.exprs, when, 0, when.size()));
  WitnessReader(claim, witness).read();
  return claim;
}

Claim read_claim(const symbolic::Rule& rule) {
  return read_claim(rule.lhs, rule.rhs, rule.when, rule.witness);
}

Claim read_claim(const symbolic::BoundRule& rule) {
  return read_claim(rule.law, "True", rule.when);
}

std::vector<Named> all_rules() {
  std::vector<Named> all;
  const auto add = [&](const auto& rules) {
    for (const auto& r : rules)
      all.push_back({std::string(r.name), std::string(r.title), read_claim(r)});
  };
  add(symbolic::rules());
  add(symbolic::bound_rules());
  return all;
}

Claim read_claim(std::string_view text, std::string_view witness) {
  const std::size_t arrow = text.find("->");
  if (arrow == std::string_view::npos)
    fail_at(text, text.size(),
            "expected \"->\": a rule reads \"LHS -> RHS\" or \"LHS -> RHS ; CONDITION\"");
  const std::size_t end = std::min(text.find(';', arrow), text.size());
  Claim claim;
  claim.lhs = read_part(claim.exprs, text, 0, arrow);
  claim.rhs = read_part(claim.exprs, text, arrow + 2, end);
  if (end < text.size() && !blank(text.substr(end + 1)))
    claim.when = conjuncts_of(claim.exprs, read_part(claim.exprs, text, end + 1, text.size()));
  WitnessReader(claim, witness).read();
  return claim;
}

std::string text_of(const Claim& claim) {
  std::string text = render(claim.exprs, claim.lhs) + " -> " + render(claim.exprs, claim.rhs);
  for (std::size_t i = 0; i < claim.when.size(); ++i) {
    const Expr c = claim.when[i];
    const bool loose = claim.exprs.op(c) == ExprOp::Or && claim.when.size() > 1;
    const std::string part = render(claim.exprs, c);
    text += (i == 0 ? " ; " : " and ") + (loose ? "(" + part + ")" : part);
  }
  return text;
}

}  // namespace touchstone::prove
