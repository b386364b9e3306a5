#include <fmt/format.h>

#include "touchstone/base/file.h"
#include "touchstone/cli/models/kernels_page.h"
#include "touchstone/cli/models/model_graph.h"
#include "touchstone/cli/program/report.h"
#include "touchstone/cli/program/terminal.h"
#include "touchstone/cli/program/verbs.h"
#include "touchstone/device/config.h"
#include "touchstone/lazy/memory_plan.h"
#include "touchstone/lazy/schedule_text.h"

namespace touchstone::cli {

int run_schedule(const ScheduleOptions& options) {
  const ConfigScope scope(config_of(options.opt, options.scheduler));
  const models::Model& model = models::model(options.model);
  const ModelSchedule made = schedule_of(model, options.backward);
  const std::vector<ScheduleItem>& items = made.items;
  const std::string title =
      fmt::format("{}{}: {}", model.name, options.backward ? " with gradients" : "", model.what);
  if (!options.json.empty()) deliver(options.json, to_json(items));
  if (!options.dot.empty()) deliver(options.dot, to_dot(items, title));
  if (!options.svg.empty()) deliver(options.svg, svg_of_dot(to_dot(items, title)));
  if (!options.html.empty()) deliver(options.html, schedule_html(items, title));
  for (const std::string& file : {options.json, options.dot, options.svg, options.html})
    if (!file.empty()) return kExitOk;
  const MemoryPlan plan = plan_memory(items);
  fmt::print("{}\n{}{}; intermediates take {} bytes, {} side by side\n", bold(title), str(items),
             counted(items.size(), "step"), count_str(static_cast<double>(plan.planned())),
             count_str(static_cast<double>(plan.unplanned)));
  return kExitOk;
}

}  // namespace touchstone::cli
