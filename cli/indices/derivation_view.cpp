// The page of `touchstone simplify --html`: the steps, and expressions as graphs.
#include "touchstone/cli/indices/derivation_view.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "touchstone/cli/program/report.h"
#include "touchstone/cli/program/terminal.h"
#include "touchstone/symbolic/expr/operators.h"

namespace touchstone::cli {

using namespace symbolic;

namespace {

std::string marked(const MarkedText& m, std::string (*paint)(std::string_view)) {
  const auto [before, part, after] = m.cut();
  return before + paint(part) + after;
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

namespace {

constexpr std::size_t kMostNodes = 80;  // of an expression drawn as a graph
constexpr std::size_t kMostGraphs = 400;

std::string head_of(const Exprs& e, Expr x) {
  constexpr std::size_t kMost = 24;
  std::string text;
  if (e.op(x) == ExprOp::Constant)
    text = e.value(x).str();
  else if (e.op(x) == ExprOp::Variable)
    text = e.name(x);
  else
    text = info(e.op(x)).name();
  return text.size() <= kMost ? text : text.substr(0, kMost - 3) + "...";
}

// Marks the part at the path and its subtree first, and what the other side lacks second.
std::size_t graph_of(StepReport& report, const Exprs& e, Expr whole, Expr part,
                     const std::set<Expr>& other, Mark changed, Mark differs) {
  ReportGraph graph;
  std::map<Expr, std::size_t> places;
  for (const Expr x : e.parts(whole)) {
    const bool leaf = e.op(x) == ExprOp::Constant || e.op(x) == ExprOp::Variable;
    const std::string text = render(e, x);
    const std::size_t node =
        report.node(head_of(e, x), "", text.size() <= 200 ? text : text.substr(0, 197) + "...", "",
                    leaf ? "place" : "alu");
    const Mark mark = x == part ? changed : other.contains(x) ? Mark::None : differs;
    const std::size_t place = graph.boxes.size();
    graph.boxes.push_back({node, mark, false});
    places.emplace(x, place);
    std::set<std::size_t> drawn;
    for (const Expr a : e.args(x))
      if (drawn.insert(places.at(a)).second) graph.edges.emplace_back(places.at(a), place);
  }
  graph.note = fmt::format("{} distinct parts", graph.boxes.size());
  return report.graph(std::move(graph));
}

Json steps_of(StepReport& report, const Derivation& d, const Chain& chain) {
  const Exprs& e = d.exprs;
  Json steps = Json::array();
  const std::vector<StepWords> words = words_of(d, chain);
  Expr whole = chain.start;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const StepWords& w = words[i];
    const DerivationStep& s = chain.steps[i];
    Json step = json_of(w);
    const std::vector<Expr> first = e.parts(whole), second = e.parts(s.whole);
    if (first.size() <= kMostNodes && second.size() <= kMostNodes &&
        report.graphs() + 2 <= kMostGraphs && StepReport::can_draw())
      step["graphs"] = {graph_of(report, e, whole, s.before, {second.begin(), second.end()},
                                 Mark::Was, Mark::Gone),
                        graph_of(report, e, s.whole, s.after, {first.begin(), first.end()},
                                 Mark::Now, Mark::New)};
    whole = s.whole;
    steps.push_back(std::move(step));
  }
  return steps;
}

}  // namespace

std::string derivation_html(const Derivation& d, const std::optional<Flaw>& flaw) {
  StepReport report("Derivation", fmt::format("{}  =  {}", render(d.exprs, d.main.start),
                                              render(d.exprs, d.main.result)));
  std::vector<std::string> given = bounds_words(d);
  for (const Chain& a : d.assumptions) given.push_back(render(d.exprs, a.start));
  if (!given.empty()) report.note(fmt::format("given: {}", fmt::join(given, ", ")));
  report.note(derivation_verdict(d, flaw));
  report.note(
      "// and % round down: a = b*(a//b) + a%b, and 0 <= a%b < b for positive b. A law holds for "
      "all "
      "integers that meet its condition and divide by no zero.");
  for (const Chain& a : d.assumptions)
    if (!a.steps.empty())
      report.part("assumption " + render(d.exprs, a.start), "step", "law", steps_of(report, d, a));
  report.part("expression", "step", "law", steps_of(report, d, d.main));
  return report.html();
}

}  // namespace touchstone::cli
