#include "touchstone/symbolic/certificate/step_words.h"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "touchstone/symbolic/derive/derive.h"
#include "touchstone/symbolic/rules/rules.h"

namespace touchstone::symbolic {

nlohmann::ordered_json json_of(const StepWords& s) {
  nlohmann::ordered_json bindings = nlohmann::ordered_json::array();
  for (const auto& [name, value] : s.bindings) bindings.push_back({name, value});
  return {{"before", s.before.cut()},
          {"after", s.after.cut()},
          {"rule", s.rule},
          {"title", s.title},
          {"law", {s.from, s.to}},
          {"when", s.when},
          {"bindings", std::move(bindings)},
          {"facts", s.facts},
          {"explained", s.explained}};
}

nlohmann::ordered_json json_of(const Derivation& d, const Chain& chain) {
  nlohmann::ordered_json steps = nlohmann::ordered_json::array();
  for (const StepWords& s : words_of(d, chain)) steps.push_back(json_of(s));
  return {{"start", render(d.exprs, chain.start)},
          {"result", render(d.exprs, chain.result)},
          {"steps", std::move(steps)}};
}

namespace {

/// Joins two-sided bounds of an expression: 0 <= b <= 3.
std::vector<std::string> joined(const Exprs& e, const std::vector<Expr>& facts) {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < facts.size(); ++i) {
    const bool pair = i + 1 < facts.size() && e.op(facts[i]) == ExprOp::Le &&
                      e.op(facts[i + 1]) == ExprOp::Le && e.is_constant(e.arg(facts[i], 0)) &&
                      e.is_constant(e.arg(facts[i + 1], 1)) &&
                      e.arg(facts[i], 1) == e.arg(facts[i + 1], 0);
    if (pair) {
      out.push_back(
          fmt::format("{} <= {}", render(e, facts[i]), render(e, e.arg(facts[i + 1], 1))));
      ++i;
    } else {
      out.push_back(render(e, facts[i]));
    }
  }
  return out;
}

/// The lengths of a text's summands, each with its sign.
std::vector<std::size_t> summands(std::string_view text) {
  std::vector<std::size_t> lengths;
  std::size_t begin = 0;
  int depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    depth += (text[i] == '(') - (text[i] == ')');
    const std::string_view here = text.substr(i, 3);
    if (depth > 0 || i == begin || (here != " + " && here != " - ")) continue;
    lengths.push_back(i - begin);
    begin = i;
  }
  lengths.push_back(text.size() - begin);
  return lengths;
}

/// Removes common leading and trailing summands from the marks.
void narrow(MarkedText& before, MarkedText& after) {
  const auto part = [](const MarkedText& m) {
    return std::string_view(m.text).substr(m.begin, m.end - m.begin);
  };
  std::vector<std::size_t> a = summands(part(before)), b = summands(part(after));
  while (a.size() > 1 && b.size() > 1 && a[0] == b[0] &&
         part(before).substr(0, a[0]) == part(after).substr(0, b[0])) {
    before.begin += a[0];
    after.begin += b[0];
    a.erase(a.begin());
    b.erase(b.begin());
  }
  while (a.size() > 1 && b.size() > 1 && a.back() == b.back() &&
         part(before).substr(part(before).size() - a.back()) ==
             part(after).substr(part(after).size() - b.back())) {
    before.end -= a.back();
    after.end -= b.back();
    a.pop_back();
    b.pop_back();
  }
  if (part(before).starts_with(" + ") && part(after).starts_with(" + ")) {
    before.begin += 3;
    after.begin += 3;
  }
}

}  // namespace

std::vector<StepWords> words_of(const Derivation& d, const Chain& chain) {
  const Exprs& e = d.exprs;
  std::vector<StepWords> all;
  Expr whole = chain.start;
  for (const DerivationStep& s : chain.steps) {
    StepWords w;
    w.before = render_marked(e, whole, s.path);
    w.after = render_marked(e, s.whole, s.path);
    narrow(w.before, w.after);
    whole = s.whole;
    w.explained = s.rule != kUnexplained;
    if (const ArithmeticLaw* law = find_arithmetic_law(s.rule)) {
      w.rule = law->name == kArithmetic ? "" : law->name;
      w.title = law->title;
    } else if (s.rule == kCases) {
      w.rule = "cases";
      w.title =
          "equal in each case, that is, for each choice of the largest members and each outcome of "
          "the conditions";
      w.facts = joined(e, s.facts);
    } else if (s.rule == kPoints) {
      w.rule = "points";
      w.title = "equal at each point, that is, for all values of the variables";
      w.facts = joined(e, s.facts);
    } else if (!w.explained) {
      w.title = "a step of the simplifier that no rule explains; not checked";
    } else if (const Rule* rule = find_rule(s.rule)) {
      w.rule = s.rule;
      w.title = rule->title;
      w.from = s.backwards ? rule->rhs : rule->lhs;
      w.to = s.backwards ? rule->lhs : rule->rhs;
      w.when = rule->when;
      for (const auto& [name, value] : s.bindings) w.bindings.emplace_back(name, render(e, value));
      w.facts = joined(e, s.facts);
    }
    all.push_back(std::move(w));
  }
  return all;
}

std::vector<std::string> bounds_words(const Derivation& d) {
  std::vector<std::string> out;
  for (const auto& [name, range] : d.variables)
    out.push_back(fmt::format("{} in {}{}, {}{}", name, range.lo ? "[" : "(",
                              range.lo ? range.lo->str() : "-inf",
                              range.hi ? range.hi->str() : "inf", range.hi ? "]" : ")"));
  return out;
}

std::string derivation_verdict(const Derivation& d, const std::optional<Flaw>& flaw) {
  std::size_t steps = d.main.steps.size(), open = unexplained(d.main);
  for (const Chain& c : d.assumptions) steps += c.steps.size();
  const auto count = [](std::size_t n) { return n == 1 ? "1 step" : fmt::format("{} steps", n); };
  if (!flaw && steps == 0 && d.longer)
    return fmt::format("unchanged: the canonical form is longer, {}", render(d.exprs, *d.longer));
  if (!flaw) return fmt::format("{} replayed without the simplifier: all correct", count(steps));
  if (open > 0) return fmt::format("{} of {} not explained, hence not checked", open, count(steps));
  const std::string where =
      flaw->chain < d.assumptions.size()
          ? fmt::format("step {} of assumption {}", flaw->step + 1, flaw->chain + 1)
          : fmt::format("step {}", flaw->step + 1);
  return fmt::format("{} is wrong: {}", where, flaw->what);
}

}  // namespace touchstone::symbolic
