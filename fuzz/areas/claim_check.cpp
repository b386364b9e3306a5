#include "touchstone/fuzz/areas/claim_check.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "touchstone/base/error.h"
#include "touchstone/fuzz/index/forge.h"
#include "touchstone/symbolic/check/derivation_check.h"
#include "touchstone/symbolic/expr/operators.h"
#include "touchstone/symbolic/simplify/contradiction.h"

namespace touchstone::fuzz {

namespace {

using symbolic::Derivation;
using symbolic::DerivationStep;
using symbolic::Expr;
using symbolic::ExprOp;

constexpr std::size_t kMostPoints = 100;
constexpr std::size_t kLargest = 2000;  // parts of a claim

/// The first point where the assumptions hold and `before` and `after` differ.
std::string where_wrong(const Derivation& d, Expr before, Expr after, std::uint64_t choice) {
  std::vector<ExpressionCase::Variable> variables;
  for (const auto& [name, range] : d.variables) variables.push_back({name, range.lo, range.hi});
  PointValues values;
  take_points(values, variables, choice, kMostPoints);
  std::vector<unsigned char> asked(values.points(), 1);
  for (const symbolic::Chain& a : d.assumptions) {
    const Column& holds = values.evaluate(render(d.exprs, a.start));
    for (std::size_t p = 0; p < asked.size(); ++p)
      if (!holds.defined(p) || holds.is_zero(p)) asked[p] = 0;
  }
  const std::string from = render(d.exprs, before), to = render(d.exprs, after);
  const Column was = values.evaluate(from);
  const Column& now = values.evaluate(to);
  for (std::size_t p = 0; p < asked.size(); ++p) {
    if (asked[p] == 0 || !was.defined(p) || (now.defined(p) && now.at(p) == was.at(p))) continue;
    std::string text = fmt::format("a certificate that {} is {}; at", from, to);
    for (std::size_t i = 0; i < variables.size(); ++i)
      text += fmt::format(" {}={}", variables[i].name, values.variable(i).at(p).str());
    return fmt::format("{} it is {}{}", text, was.at(p).str(),
                       now.defined(p) ? ", not " + now.at(p).str() : ", not undefined");
  }
  return "";
}

/// True if it divides by the literal 0, which no certificate text does.
bool divides_by_literal_zero(const symbolic::Exprs& e, Expr root) {
  return std::ranges::any_of(e.parts(root), [&](Expr x) {
    return divides(e.op(x)) && e.is_constant(e.arg(x, 1), symbolic::Int(0));
  });
}

ClaimReply ask(Derivation& d, std::uint64_t choice) {
  const DerivationStep& step = d.main.steps.front();
  for (const Expr x : {d.main.start, d.main.result})
    if (d.exprs.size(x) > kLargest || divides_by_literal_zero(d.exprs, x)) return {};
  symbolic::Ring ring(d.exprs);
  if (step_flaw(d, ring, step, d.main.start, d.assumptions.size(), symbolic::Words::None))
    return {};
  return {true, where_wrong(d, d.main.start, d.main.result, choice)};
}

}  // namespace

ClaimReply ask_claim(const ExpressionCase& c, const std::string& answer, std::uint64_t choice) {
  Derivation d;
  d.exprs = c.exprs;
  for (const ExpressionCase::Variable& v : c.variables)
    d.variables.push_back({v.name, {v.low, v.high}});
  for (const Expr a : c.assumptions) d.assumptions.push_back({a, a, {}});
  RandomChooser chooser(choice, 0);
  DerivationStep step;
  step.rule = symbolic::kCases;
  step.before = c.root;
  const Expr base = chooser.chance(1, 4) ? c.root : parse_expr(d.exprs, answer);
  // Another expression; for a condition also a number, which claims that it always or never holds.
  const bool condition = d.exprs.op(base) >= ExprOp::Or && d.exprs.op(base) <= ExprOp::Ne;
  step.after = step.whole = condition && chooser.chance(1, 2)
                                ? d.exprs.constant(chooser.between(0, 1))
                            : chooser.chance(1, 6) ? d.exprs.constant(chooser.between(-3, 4))
                                                   : nearly(d.exprs, base, chooser);
  if (step.after == step.before) return {};
  step.context = d.exprs.variable("_");
  step.facts = facts_at(d, d.assumptions.size(), step.before, {});
  d.main = {step.before, step.whole, {step}};
  return ask(d, choice);
}

ClaimReply ask_forged(const ExpressionCase& c, std::uint64_t choice) {
  RandomChooser chooser(choice, 1);
  Derivation d = forge_certificate(c, chooser);
  return ask(d, choice);
}

bool excluded(std::span<const symbolic::Node> assumptions) {
  std::vector<symbolic::Id> conditions;
  for (const symbolic::Node& a : assumptions)
    if (!a.is_constant()) conditions.push_back(ne(a, symbolic::Node(0)).id());
  return conditions.size() > 1 && contradict(*assumptions[0].context(), conditions);
}

AnswerReply wrong_answer(const symbolic::Question& question, PointValues& values,
                         const Column& right, std::span<const std::size_t> points) {
  static thread_local symbolic::Context scratch;
  symbolic::Answer answer;
  try {
    answer = symbolic::answer(question, scratch);
  } catch (const ParseError& e) {
    return {fmt::format(" is refused: {}", e.what()), {}, true};
  }
  const Column& now = values.evaluate(answer.text);
  for (const std::size_t p : points) {
    const symbolic::Int value = right.at(p);
    if (!now.defined(p)) return {answer.text + ", which has no value,", p};
    if (now.at(p) != value) return {answer.text + ", " + now.at(p).str(), p};
    const symbolic::Interval& bounds = answer.bounds;
    if ((bounds.lo && *bounds.lo > value) || (bounds.hi && *bounds.hi < value))
      return {range_and_size(answer), p};
  }
  symbolic::Exprs exprs;
  const std::size_t size = exprs.size(parse_expr(exprs, answer.text));
  const std::size_t most = exprs.size(parse_expr(exprs, question.text));
  if (answer.size == size && size <= most) return {};
  return {fmt::format(" has {} parts and is answered by {}, which has {}, and not {}", most,
                      answer.text, size, answer.size),
          {}};
}

}  // namespace touchstone::fuzz
