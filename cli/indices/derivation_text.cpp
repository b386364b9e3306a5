#include <fmt/format.h>
#include <fmt/ranges.h>

#include "touchstone/cli/indices/derivation_view.h"
#include "touchstone/cli/program/terminal.h"

namespace touchstone::cli {

using namespace symbolic;

namespace {

std::string marked(const MarkedText& m, std::string (*paint)(std::string_view)) {
  const std::string_view text = m.text;
  return fmt::format("{}{}{}", text.substr(0, m.begin),
                     paint(text.substr(m.begin, m.end - m.begin)), text.substr(m.end));
}

void put_chain(const Derivation& d, const Chain& chain, std::string& out) {
  const std::vector<StepWords> steps = words_of(d, chain);
  out += fmt::format("  {}\n",
                     steps.empty() ? render(d.exprs, chain.start) : marked(steps[0].before, red));
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const StepWords& s = steps[i];
    const std::string name =
        s.explained ? bold(s.rule.empty() ? "arithmetic" : s.rule) : yellow("unexplained");
    out += fmt::format("    {}: {}\n", name, s.title);
    if (!s.from.empty())
      out += dim(fmt::format("      {}  ->  {}{}", s.from, s.to,
                             s.when.empty() ? "" : "   if " + s.when)) +
             "\n";
    std::vector<std::string> bound;
    for (const auto& [variable, value] : s.bindings)
      if (variable != value) bound.push_back(fmt::format("{} = {}", variable, value));
    if (!bound.empty()) out += dim(fmt::format("      with {}", fmt::join(bound, ", "))) + "\n";
    if (!s.facts.empty()) out += dim(fmt::format("      as {}", fmt::join(s.facts, ", "))) + "\n";
    // Marks the part that changes next, after the one that changed.
    out += fmt::format("= {}\n", marked(s.after, green));
    if (i + 1 < steps.size() &&
        !(steps[i + 1].before.begin == s.after.begin && steps[i + 1].before.end == s.after.end) &&
        red("x") != "x")
      out += fmt::format("  {}\n", marked(steps[i + 1].before, red));
  }
}

}  // namespace

std::string derivation_text(const Derivation& d, const std::optional<Flaw>& flaw) {
  std::string out;
  for (const Chain& a : d.assumptions) {
    out += "assumed:\n";
    put_chain(d, a, out);
    out += "\n";
  }
  put_chain(d, d.main, out);
  const std::string said = derivation_verdict(d, flaw);
  return out + (flaw ? yellow(said) : dim(said)) + "\n";
}

}  // namespace touchstone::cli
