// The page of `touchstone schedule --html`: the picture and each kernel's code.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "touchstone/cli/explore/answers.h"
#include "touchstone/cli/models/schedule_page.h"
#include "touchstone/cli/program/page.h"
#include "touchstone/cli/program/report.h"
#include "touchstone/lazy/schedule_text.h"
#include "touchstone/ops/kernel_json.h"

namespace touchstone::cli {

std::string schedule_html(std::span<const ScheduleItem> items, const std::string& title) {
  const std::string lines = str(items);
  Json rows = Json::array();
  std::size_t begin = 0;
  for (const ScheduleItem& item : items) {
    const std::size_t end = lines.find('\n', begin);
    rows.push_back({{"line", lines.substr(begin, end - begin)},
                    {"name", item.ast ? kernel_name(item.ast) : std::string(name(item.kind))},
                    {"code", item.ast ? explore::code_json(item.ast) : Json()}});
    begin = end + 1;
  }
  StepReport report("Schedule", title);
  report.part("schedule", "step", "item", std::move(rows));
  if (!items.empty()) report.more("svg", svg_of_dot(to_dot(items, title)));
  return report.html();
}

}  // namespace touchstone::cli
