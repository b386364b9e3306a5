#include "touchstone/prove/rules_page.h"

#include <algorithm>

#include <fmt/format.h>

#include "touchstone/prove/claim.h"
#include "touchstone/symbolic/rules/bound_rules.h"
#include "touchstone/symbolic/rules/rules.h"

namespace touchstone::prove {

namespace {

// The expression in the format of `touchstone prove`.
std::string as_written(std::string_view text) {
  Exprs exprs;
  const Expr root = symbolic::parse_expr(exprs, text);
  return render(exprs, root);
}

// "y=0..3" from "x=.. y=0..3": the variables with bounds.
std::string bounded(std::string_view vars) {
  std::string text;
  while (!vars.empty()) {
    const std::string_view word = vars.substr(0, vars.find(' '));
    vars.remove_prefix(std::min(vars.size(), word.size() + 1));
    if (!word.ends_with("=..")) text += fmt::format("{}{}", text.empty() ? "" : " ", word);
  }
  return text;
}

}  // namespace

std::string example_of(const symbolic::Rule& rule) {
  if (rule.before.empty()) return {};
  std::string text = fmt::format("{} is {}", as_written(rule.before), as_written(rule.after));
  if (const std::string vars = bounded(rule.vars); !vars.empty())
    text += fmt::format(" for {}", vars);
  return text;
}

std::string rules_page() {
  std::size_t width = 0;
  for (const symbolic::Rule& r : symbolic::rules()) width = std::max(width, r.name.size());
  std::string text = fmt::format(
      "# Rules\n\n"
      "The {} laws of the simplifier, `LHS -> RHS ; CONDITION`, generated from the table by "
      "`touchstone prove --docs`.\n`touchstone prove NAME` prints one in words, with an example "
      "and a proof; `--all` also proves the {} laws of\nbounds. [Proofs](symbolic.md#proofs) "
      "defines what a law claims.\n",
      symbolic::rules().size(), symbolic::bound_rules().size());
  for (const bool matched : {true, false}) {
    text += matched ? "\n## Applied by the matcher\n\nWherever the left side occurs and the right "
                      "side is simpler:\n\n```\n"
                    : "\n## Applied by procedures\n\nA row names the steps of code that computes "
                      "what it needs:\n\n```\n";
    for (const symbolic::Rule& r : symbolic::rules())
      if ((r.root != symbolic::Rule::Root::None) == matched)
        text += fmt::format("{:{}}  {}\n", r.name, width, text_of(read_claim(r)));
    text += "```\n";
  }
  return text;
}

}  // namespace touchstone::prove
