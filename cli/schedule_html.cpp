// The page of `touchstone schedule --html`: data/schedule.html with picture and kernels put in.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "page.h"
#include "schedule_page.h"
#include "touchstone/explore/answers.h"
#include "touchstone/lazy/schedule_text.h"
#include "touchstone/ops/kernel_json.h"

extern const unsigned char schedule_page[];
extern const std::size_t schedule_page_size;

namespace touchstone::cli {

std::string schedule_html(std::span<const ScheduleItem> items, const std::string& title) {
  using nlohmann::ordered_json;
  const std::string lines = str(items);
  ordered_json rows = ordered_json::array();
  std::size_t begin = 0;
  for (const ScheduleItem& item : items) {
    const std::size_t end = lines.find('\n', begin);
    const std::string ast = item.ast ? str(item.ast) : std::string();
    rows.push_back({{"line", lines.substr(begin, end - begin)},
                    {"name", item.ast ? kernel_name(item.ast) : std::string(name(item.kind))},
                    {"ast", ast},
                    {"code", item.ast ? explore::code_json(item.ast) : ordered_json()}});
    begin = end + 1;
  }
  const ordered_json data = {
      {"title", title}, {"svg", svg_of_dot(to_dot(items, title))}, {"items", rows}};
  return page_with(schedule_page, schedule_page_size, "/*SCHEDULE*/",
                   data.dump(-1, ' ', true, ordered_json::error_handler_t::replace));
}

}  // namespace touchstone::cli
