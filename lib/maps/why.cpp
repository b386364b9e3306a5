#include "touchstone/maps/why.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "touchstone/symbolic/certificate/certify.h"
#include "touchstone/symbolic/certificate/step_words.h"

namespace touchstone::maps {

namespace {

// The inputs of b as texts over those of a, as Map::over_inputs_of.
std::map<std::string, std::string> inputs_over(const Map& a, const Map& b,
                                               std::vector<std::string>& notes) {
  std::map<std::string, std::string> r;
  const auto same_range = [](const Map::Input& x, const Map::Input& y) {
    return x.lo == y.lo && x.hi == y.hi;
  };
  const bool flat = !std::ranges::equal(a.inputs(), b.inputs(), same_range);
  const std::string index = flat ? symbolic::render(a.flat_index()) : "";
  const auto places = flat ? b.places() : std::vector<Map::Place>();
  for (std::size_t k = 0; k < b.inputs().size(); ++k) {
    const std::string& name = b.inputs()[k].name;
    std::string text = flat ? index : a.inputs()[k].name;
    if (flat && b.inputs().size() > 1)
      text = fmt::format("({})//{}%{}", index, places[k].weight, places[k].size);
    if (text != name) notes.push_back(fmt::format("{} of the second map is {}", name, text));
    r.emplace(name, std::move(text));
  }
  return r;
}

const std::string& text_of(const Map& m, const std::vector<symbolic::Question>& rendered,
                           std::size_t k) {
  return m.texts().empty() ? rendered[k].text : m.texts()[k];
}

}  // namespace

Why why_equal(const Map& a, const Map& b) {
  Why why;
  const auto inputs = inputs_over(a, b, why.notes);
  const auto asked = a.questions(), others = b.questions();
  if (!asked.at(0).assumptions.empty())
    why.notes.push_back(
        fmt::format("both are defined where {}", fmt::join(asked[0].assumptions, " and ")));
  for (std::size_t k = 0; k < asked.size(); ++k) {
    symbolic::Question q = asked[k];
    const auto add = [&](const std::string& title, const std::string& text) -> Why::Part& {
      q.text = text;
      Why::Part p{title, symbolic::derive(q), {}};
      p.flaw = symbolic::find_flaw(p.derivation);
      return why.parts.emplace_back(std::move(p));
    };
    const auto result = [](const Why::Part& p) {
      return symbolic::render(p.derivation.exprs, p.derivation.main.result);
    };
    const std::string of = asked.size() == 1 ? "" : fmt::format(", result {}", k + 1);
    try {
      const std::string first = text_with(text_of(a, asked, k), {}),
                        second = text_with(text_of(b, others, k), inputs);
      if (first == second) {
        why.notes.push_back(fmt::format("both{} are {}", of, first));
        continue;
      }
      const std::size_t before = why.parts.size();
      const std::string end = result(add("the first map" + of, first));
      if (end == result(add("the second map" + of, second))) continue;
      why.parts.resize(before);
      if (result(add("the difference" + of, fmt::format("({}) - ({})", first, second))) == "0")
        continue;
      why.parts.resize(before);
      why.notes.push_back(
          fmt::format("the values{} were compared at all points; no law shows it", of));
    } catch (const ParseError&) {
      throw;
    } catch (const Error& e) {
      why.notes.push_back(fmt::format("no steps{}: {}", of, e.what()));
    }
  }
  return why;
}

std::vector<std::string> lines_of(const Why& why) {
  std::vector<std::string> lines = why.notes;
  for (const Why::Part& p : why.parts) {
    const symbolic::Derivation& d = p.derivation;
    lines.push_back(fmt::format("{}: {}", p.title, symbolic::render(d.exprs, d.main.start)));
    for (const symbolic::StepWords& s : words_of(d, d.main))
      lines.push_back(
          fmt::format("= {}  ({}{})", s.after.text, s.rule.empty() ? "" : s.rule + ": ", s.title));
    lines.push_back(derivation_verdict(d, p.flaw));
  }
  return lines;
}

nlohmann::ordered_json json_of(const Why& why) {
  nlohmann::ordered_json parts = nlohmann::ordered_json::array();
  for (const Why::Part& p : why.parts) {
    nlohmann::ordered_json j{{"title", p.title}};
    j.update(symbolic::json_of(p.derivation, p.derivation.main));
    j["verdict"] = derivation_verdict(p.derivation, p.flaw);
    j["good"] = !p.flaw;
    parts.push_back(std::move(j));
  }
  return {{"notes", why.notes}, {"parts", std::move(parts)}};
}

}  // namespace touchstone::maps
