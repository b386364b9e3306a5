#include "touchstone/cli/explore/explorer.h"

#include <new>

#include "touchstone/base/error.h"
#include "touchstone/base/json_fault.h"
#include "touchstone/base/suggest.h"
#include "touchstone/cli/explore/answers.h"
#include "touchstone/ops/kernel_json.h"
#include "touchstone/shapetracker/ask/jsonl.h"
#include "touchstone/symbolic/notation/jsonl.h"

namespace touchstone::explore {

struct Explorer::State {
  symbolic::Session session;
  std::string kernel_key;  // of the last run
  std::shared_ptr<const KernelRun> kernel_run;

  // Passes the raw line to readers of their own: it may hold numbers of any length.
  std::string answer(std::string_view line) {
    require_shallow_json(line);
    const Json question = Json::parse(line, nullptr, false);
    if (!question.is_object()) throw ParseError("not a JSON object");
    const std::string ask = text_in(question, "ask");
    if (ask == "simplify") return symbolic::answer_json(line, session);
    if (ask == "merge") return shapetracker::answer_json(line);
    return made(ask, question, line).dump(-1, ' ', true, Json::error_handler_t::replace);
  }

  const KernelRun& run_of(const Json& question) {
    const std::string text = text_in(question, "text");
    const Json inputs = question.value("inputs", Json::object());
    const std::string key = text + '\n' + inputs.dump();
    if (!kernel_run || key != kernel_key) {
      kernel_run = nullptr;
      kernel_run = run_kernels(text, inputs);
      kernel_key = key;
    }
    return *kernel_run;
  }

  static std::string profile_in(const Json& question) {
    return question.contains("profile") ? text_in(question, "profile") : "";
  }

  Json made(const std::string& ask, const Json& question, std::string_view line) {
    if (ask == "translate") return translate_answer(question);
    if (ask == "steps") return steps_answer(line);
    if (ask == "values") return values_answer(question);
    if (ask == "prove") return prove_answer(question);
    if (ask == "rules") return rules_answer();
    if (ask == "view") return view_answer(question);
    if (ask == "map") return map_answer(question);
    if (ask == "kernel") return kernel_answer(run_of(question), profile_in(question));
    if (ask == "element") return element_answer(run_of(question), question, profile_in(question));
    constexpr std::string_view kAsks[] = {"simplify", "merge",  "translate", "steps",
                                          "values",   "prove",  "rules",     "view",
                                          "map",      "kernel", "element"};
    throw ParseError(fmt::format("there is no question '{}'{}; known: {}", ask,
                                 did_you_mean(ask, kAsks), fmt::join(kAsks, ", ")));
  }
};

Explorer::Explorer() : state_(std::make_unique<State>()) {}
Explorer::~Explorer() = default;

std::string Explorer::answer(std::string_view line) {
  Json failed;
  try {
    return state_->answer(line);
  } catch (const Error& e) {
    failed["error"] = e.what();
  } catch (const nlohmann::json::exception& e) {
    failed["error"] = e.what();
  } catch (const std::bad_alloc&) {
    failed["error"] = "out of memory";
  }
  return failed.dump(-1, ' ', true, Json::error_handler_t::replace);
}

std::string text_in(const Json& question, const char* name) {
  const auto at = question.find(name);
  if (at == question.end() || !at->is_string())
    throw ParseError(fmt::format("\"{}\": expected a string", name));
  return at->get<std::string>();
}

std::vector<std::string> texts_in(const Json& question, const char* name) {
  std::vector<std::string> out;
  const auto at = question.find(name);
  if (at == question.end()) return out;
  if (!at->is_array()) throw ParseError(fmt::format("\"{}\": expected a list of strings", name));
  for (const Json& one : *at) {
    if (!one.is_string()) throw ParseError(fmt::format("\"{}\": expected a list of strings", name));
    out.push_back(one.get<std::string>());
  }
  return out;
}

}  // namespace touchstone::explore
