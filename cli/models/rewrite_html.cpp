// The page of `touchstone steps` and `touchstone rewrite --html`.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "touchstone/cli/explore/answers.h"
#include "touchstone/cli/models/rewrite_graphs.h"
#include "touchstone/cli/models/rewrite_record.h"
#include "touchstone/cli/program/report.h"
#include "touchstone/ops/kernel_json.h"

namespace touchstone::cli {

std::string rewrite_html(const std::string& title, const RewriteRecord& record,
                         std::size_t most_graphs) {
  StepReport report("Rewrites", title);
  RewriteGraphs graphs(record, report);
  std::size_t drawn = 0;
  for (std::size_t p = 0; p < record.passes.size(); ++p) {
    const RewriteRecord::Pass& pass = record.passes[p];
    Json list = Json::array();
    for (std::size_t i = 0; i < pass.matches.size(); ++i) {
      const RewriteRecord::Match& m = pass.matches[i];
      Json pair = nullptr;
      if (drawn < most_graphs) {
        const auto [before, after] = graphs.around(p, i);
        pair = {before, after};
        ++drawn;
      }
      list.push_back({m.rule, graphs.node(m.before), graphs.node(m.after), std::move(pair)});
    }
    Json steps = {{"list", std::move(list)}};
    if (pass.matches.empty() && most_graphs > 0) {
      const auto [start, end] = graphs.of(p);
      steps["graphs"] = {start, end};
    }
    report.part(pass.name, "match", "match", std::move(steps));
  }
  Json rules = Json::array(), kernels = Json::array();
  for (const RewriteRecord::UsedRule& r : record.rules) rules.push_back({r.name, r.why});
  for (const RewriteRecord::Kernel& k : record.kernels)
    kernels.push_back(
        {{"name", kernel_name(k.ast)}, {"origin", k.origin}, {"code", explore::code_json(k.ast)}});
  report.part("kernels", "kernel", "kernel", std::move(kernels));
  report.more("rules", std::move(rules));
  return report.html();
}

}  // namespace touchstone::cli
