#include "touchstone/cli/judging/definition_text.h"

#include <algorithm>
#include <ranges>

#include <fmt/format.h>

#include "touchstone/cli/program/terminal.h"
#include "touchstone/define/forms.h"

namespace touchstone::cli {
namespace {

std::vector<const define::CompositeForm*> forms_with(std::string_view name) {
  std::vector<const define::CompositeForm*> forms;
  for (const define::CompositeForm& form : define::composite_forms())
    for (const auto word : std::views::split(form.of, ' '))
      if (std::string_view(word.begin(), word.end()) == name) forms.push_back(&form);
  return forms;
}

}  // namespace

std::string definition_text(const define::Definition& definition) {
  std::string text = fmt::format("  {}\n      {}\n", definition.signature, dim(definition.summary));
  for (const define::CompositeForm* form : forms_with(definition.name()))
    text += fmt::format("      {} '{}': {}\n", form->by_default ? "form" : "to declare, form",
                        form->name, dim(std::string(form->formula)));
  return text;
}

nlohmann::ordered_json definition_json(const define::Definition& definition) {
  nlohmann::ordered_json forms = nlohmann::ordered_json::array();
  for (const define::CompositeForm* form : forms_with(definition.name()))
    forms.push_back(
        {{"name", form->name}, {"formula", form->formula}, {"by_default", form->by_default}});
  return {{"name", definition.name()},
          {"group", definition.group},
          {"signature", definition.signature},
          {"summary", definition.summary},
          {"forms", forms}};
}

std::string definition_names() {
  std::vector<std::pair<std::string, std::string>> groups;  // in the order of their first members
  for (const define::Definition& d : define::definitions()) {
    auto at = std::ranges::find(groups, d.group, &std::pair<std::string, std::string>::first);
    if (at == groups.end()) at = groups.insert(at, {d.group, ""});
    at->second += (at->second.empty() ? "" : " ") + std::string(d.name());
  }
  std::string text;
  for (const auto& [group, names] : groups) text += fmt::format("  {}: {}\n", group, names);
  return text;
}

}  // namespace touchstone::cli
