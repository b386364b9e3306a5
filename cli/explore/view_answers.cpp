#include <nlohmann/json.hpp>

#include "touchstone/cli/explore/answers.h"
#include "touchstone/shapetracker/ask/check.h"
#include "touchstone/shapetracker/merge/explain.h"
#include "touchstone/shapetracker/symbolic/symbolic_merge.h"

namespace touchstone::explore {
namespace {

Json numbers(std::span<const sint> values) { return concrete(values); }

Json json_of(const View& view) {
  Json mask = nullptr;
  if (view.mask()) {
    mask = Json::array();
    for (const auto& [begin, end] : *view.mask()) mask.push_back({begin.as_int(), end.as_int()});
  }
  return {{"shape", numbers(view.shape())},
          {"strides", numbers(view.strides())},
          {"offset", view.offset().as_int()},
          {"mask", mask}};
}

Json json_of(const std::vector<View>& views) {
  Json out = Json::array();
  for (const View& view : views) out.push_back(json_of(view));
  return out;
}

Json json_of(const IndexText& text) {
  return {{"index", text.index},
          {"valid", text.valid},
          {"cost",
           {{"divisions", text.cost.divisions},
            {"modulos", text.cost.modulos},
            {"steps", text.cost.steps}}}};
}

std::vector<View> bound(const std::vector<View>& views, const symbolic::Values& values) {
  std::vector<View> out;
  for (const View& view : views) out.push_back(view.bind(values));
  return out;
}

// Assignments of the variables, up to a limit; one empty assignment without variables.
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

// The shape below the first view: its own, or the buffer as far as it is read.
Json base_of(const ShapeTracker& start) {
  if (start.is_contiguous()) return numbers(start.shape());
  return Json::array({start.real_size()});
}

// Points where a view and the one below it cannot be a single view, and what they read. `on`: its
// place in the stack, innermost first.
Json witnesses_of(const std::vector<View>& views) {
  Json out = Json::array();
  for (std::size_t i = 1; i < views.size(); ++i) {
    const auto pair = std::span(views).subspan(i - 1, 2);
    const shapetracker::Explanation why = shapetracker::explain_merge(pair);
    if (!why.witness) continue;
    Json reads = Json::array();
    for (const std::vector<std::int64_t>& point : why.witness->points) {
      const auto address = shapetracker::evaluate(pair, point);
      reads.push_back(address ? Json(*address) : Json(nullptr));
    }
    out.push_back({{"on", i}, {"points", why.witness->points}, {"reads", std::move(reads)}});
  }
  return out;
}

// The views of all steps, as numbers.
Json numbers_of(const ViewStory& story, const symbolic::Values& values) {
  Json steps = Json::array();
  for (const ViewStep& step : story.steps) {
    const std::vector<View> views = bound(step.views, values);
    steps.push_back({{"views", json_of(views)},
                     {"composed", json_of(bound(step.composed, values))},
                     {"witnesses", witnesses_of(views)}});
  }
  return {{"label", shapetracker::str(values)},
          {"base", base_of(ShapeTracker::trusted(bound(story.steps[0].views, values)))},
          {"steps", std::move(steps)}};
}

}  // namespace

Json story_json(const std::string& title, const ViewStory& story) {
  Json choices = Json::array(), steps = Json::array();
  for (const symbolic::Values& values : some_values(story))
    choices.push_back(numbers_of(story, values));
  const Json& first = choices[0];
  for (std::size_t i = 0; i < story.steps.size(); ++i)
    steps.push_back({{"title", story.steps[i].title},
                     {"notes", story.steps[i].notes},
                     {"views", first["steps"][i]["views"]},
                     {"composed", first["steps"][i]["composed"]},
                     {"witnesses", first["steps"][i]["witnesses"]}});
  Json data = {{"title", title},
               {"base", first["base"]},
               {"steps", std::move(steps)},
               {"composed", json_of(story.composed)},
               {"simplified", json_of(story.simplified)}};
  if (choices.size() > 1) data["choices"] = std::move(choices);
  return data;
}

Json view_answer(const Json& question) {
  const std::vector<std::string> words = words_in(text_in(question, "words"));
  if (words.empty()) throw ParseError("no shape and operations given, as in 10,10 permute 1,0");
  ViewStart start;
  const Json said = question.value("start", Json::object());
  if (said.contains("strides")) start.strides = text_in(said, "strides");
  if (said.contains("offset")) start.offset = text_in(said, "offset");
  if (said.contains("mask")) start.mask = text_in(said, "mask");
  const ViewStory story = tell(words, texts_in(question, "vars"), start);
  Json out = story_json(fmt::format("{}", fmt::join(words, " ")), story);
  Json strides = Json::array();
  for (const auto& s : story.strides) strides.push_back(s ? Json(s->str()) : Json(nullptr));
  out["strides"] = std::move(strides);
  out["contiguous"] = story.contiguous;
  return out;
}

}  // namespace touchstone::explore
