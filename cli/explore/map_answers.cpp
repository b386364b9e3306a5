#include <nlohmann/json.hpp>

#include "touchstone/cli/explore/answers.h"
#include "touchstone/maps/check.h"
#include "touchstone/maps/draw.h"

namespace touchstone::explore {

Json map_answer(const Json& question) {
  maps::MapQuestion q = maps::map_question(question);
  q.options.steps = true;
  const maps::Answer a = maps::ask(q.operation, q.maps, q.options);
  Json out = Json::parse(maps::answer_json(q.operation, a));
  if (a.map && q.operation != "show") {
    q.maps.push_back(*a.map);
    q.texts.push_back(q.operation);
  }
  try {
    out["drawing"] = maps::drawing_html(
        q.maps, q.texts,
        {question.value("by", "address"), question.value("banks", 32), question.value("bytes", 4)});
  } catch (const Error& e) {
    out["undrawn"] = e.what();
  }
  return out;
}

}  // namespace touchstone::explore
