// The page of `touchstone view --html`.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "touchstone/cli/explore/answers.h"
#include "touchstone/cli/indices/view_page.h"
#include "touchstone/cli/program/report.h"

namespace touchstone::cli {

std::string view_html(const std::vector<std::string>& words, const explore::ViewStory& story) {
  Json data = explore::story_json(fmt::format("{}", fmt::join(words, " ")), story);
  StepReport report("Views", data["title"].get<std::string>());
  report.part("operations", "step", "view", std::move(data["steps"]));
  for (const char* name : {"base", "composed", "simplified", "choices"})
    if (data.contains(name)) report.more(name, std::move(data[name]));
  return report.html();
}

}  // namespace touchstone::cli
