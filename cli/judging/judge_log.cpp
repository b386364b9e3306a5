#include "touchstone/cli/judging/judge_log.h"

#include <nlohmann/json.hpp>

#include "touchstone/base/error.h"
#include "touchstone/base/json_line.h"
#include "touchstone/cli/judging/judging.h"
#include "touchstone/ops/kernel_json.h"

namespace touchstone::cli {
namespace {

using LogJson = nlohmann::ordered_json;

JudgedLine judged_line(const LogJson& line) {
  JudgedLine judged;
  judged.name = line.at("case").get<std::string>();
  if (const LogJson& said = line.at("outcome"); !said.is_null()) {
    judged.outcome = outcome_named(said.get<std::string>());
    if (!judged.outcome) throw ParseError("unknown outcome");
  }
  judged.text = line.at("text").get<std::string>();
  judged.suspect = line.value("suspect", false);
  judged.kernel = line.at("json").value("kernel", "");
  judged.profile = line.at("json").value("profile", "");
  judged.json = ascii_json_line(line.at("json"));
  return judged;
}

}  // namespace

JudgeLog::JudgeLog(const std::string& file, const std::string& run, bool resume) {
  if (file.empty()) return;
  log_ = std::make_unique<LineLog>(file, run, resume);
  log_->read_json([&](const std::string& text) {
    const LogJson line = LogJson::parse(text);
    JudgedLine judged = judged_line(line);
    known_.insert_or_assign(std::pair(judged.name, line.at("hash").get<std::string>()),
                            std::move(judged));
  });
}

const JudgedLine* JudgeLog::find(const std::string& name, const std::string& stamp) const {
  const auto at = known_.find({name, stamp});
  return at == known_.end() ? nullptr : &at->second;
}

void JudgeLog::add(const std::string& stamp, const JudgedLine& line) {
  if (!log_) return;
  const LogJson out = {{"case", line.name},
                       {"hash", stamp},
                       {"outcome", line.outcome ? LogJson(name(*line.outcome)) : LogJson()},
                       {"suspect", line.suspect},
                       {"text", line.text},
                       {"json", LogJson::parse(line.json)}};
  log_->add(ascii_json_line(out));
}

}  // namespace touchstone::cli
