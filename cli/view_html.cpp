// The page of `touchstone view --html`: data/view.html with the story put in.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "page.h"
#include "touchstone/shapetracker/symbolic_merge.h"
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

namespace {

std::vector<View> bound(const std::vector<View>& views, const symbolic::Values& values) {
  std::vector<View> out;
  for (const View& view : views) out.push_back(view.bind(values));
  return out;
}

// All values of the variables, up to some; one that is empty where there are none.
std::vector<symbolic::Values> some_values(const ViewStory& story) {
  constexpr std::size_t kMost = 24;
  std::map<std::string, symbolic::Node> variables;
  for (const ViewStep& step : story.steps)
    for (const symbolic::Node& v : ShapeTracker::trusted(step.composed).vars())
      variables.emplace(symbolic::variable_name(v), v);
  std::vector<symbolic::Values> all = {{}};
  for (const auto& [name, variable] : variables) {
    std::vector<symbolic::Values> more;
    for (const symbolic::Values& values : all)
      for (std::int64_t v = *variable.min(); v <= *variable.max() && more.size() < kMost; ++v) {
        more.push_back(values);
        more.back().emplace(name, v);
      }
    all = std::move(more);
  }
  return all;
}

// The shape below the first view: its own, or the buffer as far as it reads.
ordered_json base_of(const ShapeTracker& start) {
  if (start.is_contiguous()) return numbers(start.shape());
  return ordered_json::array({start.real_size()});
}

// The views of all steps, in numbers.
ordered_json numbers_of(const ViewStory& story, const symbolic::Values& values) {
  ordered_json steps = ordered_json::array();
  for (const ViewStep& step : story.steps)
    steps.push_back({{"views", json_of(bound(step.views, values))},
                     {"composed", json_of(bound(step.composed, values))}});
  return {{"label", shapetracker::str(values)},
          {"base", base_of(ShapeTracker::trusted(bound(story.steps[0].views, values)))},
          {"steps", std::move(steps)}};
}

}  // namespace

std::string view_html(const std::vector<std::string>& words, const ViewStory& story) {
  ordered_json choices = ordered_json::array(), steps = ordered_json::array();
  for (const symbolic::Values& values : some_values(story))
    choices.push_back(numbers_of(story, values));
  const ordered_json& first = choices[0];
  for (std::size_t i = 0; i < story.steps.size(); ++i)
    steps.push_back({{"title", story.steps[i].title},
                     {"notes", story.steps[i].notes},
                     {"views", first["steps"][i]["views"]},
                     {"composed", first["steps"][i]["composed"]}});
  ordered_json data = {{"title", fmt::format("{}", fmt::join(words, " "))},
                       {"base", first["base"]},
                       {"steps", std::move(steps)},
                       {"composed", json_of(story.composed)},
                       {"simplified", json_of(story.simplified)}};
  if (choices.size() > 1) data["choices"] = std::move(choices);
  return page_with(view_page, view_page_size, "/*STORY*/", data.dump(-1, ' ', true));
}

}  // namespace touchstone::cli
