#include "touchstone/fuzz/claim_check.h"

#include <vector>

#include "touchstone/fuzz/nearly.h"
#include "touchstone/symbolic/contradiction.h"
#include "touchstone/symbolic/derivation_check.h"

namespace touchstone::fuzz {

std::optional<std::string> accepted_claim(const ExpressionCase& c, const std::string& written,
                                          const std::string& answer, std::uint64_t choice) {
  symbolic::Derivation d;
  for (const ExpressionCase::Variable& v : c.variables)
    d.variables.push_back({v.name, v.low, v.high});
  for (const symbolic::Expr a : c.assumptions) {
    const symbolic::Expr known = parse_expr(d.exprs, render(c.exprs, a));
    d.assumptions.push_back({known, known, {}});
  }
  RandomChooser chooser(choice, 0);
  symbolic::DerivationStep step;
  step.rule = symbolic::kCases;
  step.before = parse_expr(d.exprs, written);
  const symbolic::Expr base = chooser.chance(1, 4) ? step.before : parse_expr(d.exprs, answer);
  // Another expression, or a number, which a condition is where it always holds, or never.
  const bool condition =
      d.exprs.op(base) >= symbolic::ExprOp::Or && d.exprs.op(base) <= symbolic::ExprOp::Ne;
  step.after = step.whole = condition && chooser.chance(1, 2)
                                ? d.exprs.constant(chooser.between(0, 1))
                            : chooser.chance(1, 6) ? d.exprs.constant(chooser.between(-3, 4))
                                                   : nearly(d.exprs, base, chooser);
  if (step.after == step.before) return std::nullopt;
  step.context = d.exprs.variable("_");
  const std::size_t known = d.assumptions.size();
  step.facts = facts_at(d, known, step.before, {});
  symbolic::Ring ring(d.exprs);
  if (step_flaw(d, ring, step, step.before, known, symbolic::Words::None)) return std::nullopt;
  return render(d.exprs, step.after);
}

bool excluded(std::span<const symbolic::Node> assumptions) {
  std::vector<symbolic::Id> conditions;
  for (const symbolic::Node& a : assumptions)
    if (!a.is_constant()) conditions.push_back(ne(a, symbolic::Node(0)).id());
  return conditions.size() > 1 && contradict(*assumptions[0].context(), conditions);
}

}  // namespace touchstone::fuzz
