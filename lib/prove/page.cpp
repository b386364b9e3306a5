#include "touchstone/prove/page.h"

#include <fmt/format.h>

#include "touchstone/symbolic/bound_rules.h"
#include "touchstone/symbolic/rules.h"

namespace touchstone::prove {

namespace {

std::string sentence(std::string_view title) {
  std::string text(title);
  if (text[0] >= 'a' && text[0] <= 'z') text[0] = static_cast<char>(text[0] - 'a' + 'A');
  return text + ".";
}

std::string rule_entry(const symbolic::Rule& r) {
  std::string text =
      fmt::format("## {}\n\n{}\n\n```\n{}\n  -> {}\n", r.name, sentence(r.title), r.lhs, r.rhs);
  if (!r.when.empty()) text += fmt::format("  ; {}\n", r.when);
  text += "```\n\n";
  if (!r.witness.empty()) text += fmt::format("Witness: `{}`.\n", r.witness);
  if (!r.before.empty())
    text += fmt::format("Example, with `{}`: `{}` is `{}`.\n", r.vars, r.before, r.after);
  return text + "\n";
}

std::string bound_entry(const symbolic::BoundRule& r) {
  return fmt::format("| {} | `{}` | `{}` | {} |\n", r.name, r.law, r.when, r.title);
}

}  // namespace

std::string rules_page() {
  std::string text = fmt::format(
      "# Rules\n\n"
      "Made from the tables by `touchstone prove --docs`. {} laws of the simplifier and {} of its\n"
      "bounds; `touchstone prove NAME` proves one and shows how. What a law claims, and how it is\n"
      "proved, stands in [symbolic.md](symbolic.md). No condition says that a divisor on the left "
      "is\n"
      "not 0: where it is, the law claims nothing.\n\n",
      symbolic::rules().size(), symbolic::bound_rules().size());
  for (const symbolic::Rule& r : symbolic::rules()) text += rule_entry(r);
  text +=
      "## Bounds\n\nl <= x <= h and m <= y <= n are the ends of x and y; of a congruence m and n "
      "are the moduli, r and\ns the residues.\n\n"
      "| name | law | where | |\n|---|---|---|---|\n";
  for (const symbolic::BoundRule& r : symbolic::bound_rules()) text += bound_entry(r);
  return text;
}

}  // namespace touchstone::prove
