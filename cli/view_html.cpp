// The page of `touchstone view --html`: data/view.html with the story put in.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "view_story.h"

extern const unsigned char view_page[];
extern const std::size_t view_page_size;

namespace touchstone::cli {
namespace {

using nlohmann::ordered_json;

ordered_json numbers(std::span<const sint> values) { return concrete(values); }

ordered_json json_of(const View& view) {
  ordered_json mask = nullptr;
  if (view.mask()) {
    mask = ordered_json::array();
    for (const auto& [begin, end] : *view.mask()) mask.push_back({begin.as_int(), end.as_int()});
  }
  return {{"shape", numbers(view.shape())},
          {"strides", numbers(view.strides())},
          {"offset", view.offset().as_int()},
          {"mask", mask}};
}

ordered_json json_of(const std::vector<View>& views) {
  ordered_json out = ordered_json::array();
  for (const View& view : views) out.push_back(json_of(view));
  return out;
}

ordered_json json_of(const IndexText& text) {
  return {{"index", text.index},
          {"valid", text.valid},
          {"cost",
           {{"divisions", text.cost.divisions},
            {"modulos", text.cost.modulos},
            {"steps", text.cost.steps}}}};
}

}  // namespace

std::string view_html(const std::vector<std::string>& words, const ViewStory& story) {
  ordered_json steps = ordered_json::array();
  for (const ViewStep& step : story.steps)
    steps.push_back({{"title", step.title},
                     {"notes", step.notes},
                     {"views", json_of(step.views)},
                     {"composed", json_of(step.composed)}});
  const ordered_json data = {{"title", fmt::format("{}", fmt::join(words, " "))},
                             {"base", numbers(story.steps[0].views[0].shape())},
                             {"steps", std::move(steps)},
                             {"composed", json_of(story.composed)},
                             {"simplified", json_of(story.simplified)}};
  std::string text = data.dump(-1, ' ', true);
  // Nothing in the data may look like the end of the script.
  for (std::size_t at = 0; (at = text.find('<', at)) != std::string::npos;)
    text.replace(at, 1, "\\u003c");
  std::string page(reinterpret_cast<const char*>(view_page), view_page_size);
  constexpr std::string_view kPlace = "/*STORY*/";
  return page.replace(page.find(kPlace), kPlace.size(), text);
}

}  // namespace touchstone::cli
