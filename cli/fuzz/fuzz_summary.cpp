#include "touchstone/cli/fuzz/fuzz_summary.h"

#include <nlohmann/json.hpp>

namespace touchstone::cli {
namespace {

using SummaryJson = nlohmann::ordered_json;

SummaryJson json_of_finding(const fuzz::AreaFinding& f) {
  return {{"index", f.index},
          {"relation", f.failure.relation},
          {"detail", f.failure.detail},
          {"case", f.shrunk},
          {"only_drawn", f.only_drawn},
          {"unsteady", f.unsteady},
          {"runs", f.runs},
          {"times", f.times}};
}

SummaryJson json_of_area(const FuzzOptions& o, const fuzz::AreaResult& r) {
  const fuzz::Tally& t = r.tally;
  SummaryJson area = {{"area", r.name}};
  if (r.name == "kernel") area["backend"] = o.backend;
  area.update({{"cases", t.cases},
               {"pass", t.passed},
               {"weak", t.weak},
               {"skipped", t.skipped},
               {"fail", t.failed},
               {"seconds", r.seconds},
               {"findings", SummaryJson::array()},
               {"unshrunk", r.unshrunk},
               {"passed_over", r.passed_over}});
  for (const fuzz::AreaFinding& f : r.findings) area["findings"].push_back(json_of_finding(f));
  return area;
}

}  // namespace

std::string fuzz_summary_json(const FuzzOptions& options, const CorpusCount& corpus,
                              const fuzz::RunResult& result) {
  SummaryJson out = {{"seed", options.seed}, {"areas", SummaryJson::array()}};
  for (const fuzz::AreaResult& r : result.areas) out["areas"].push_back(json_of_area(options, r));
  if (!options.corpus.empty())
    out["corpus"] = {{"cases", corpus.cases}, {"fail", corpus.failed}, {"damaged", corpus.damaged}};
  out["ended_early"] = result.ended_early;
  if (!result.trouble.empty()) out["trouble"] = result.trouble;
  return out.dump(-1, ' ', true, SummaryJson::error_handler_t::replace) + "\n";
}

}  // namespace touchstone::cli
