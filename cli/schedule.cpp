#include <fmt/format.h>

#include "model_graph.h"
#include "terminal.h"
#include "touchstone/base/file.h"
#include "touchstone/device/config.h"
#include "touchstone/lazy/memory_plan.h"
#include "touchstone/lazy/schedule_text.h"
#include "verbs.h"

namespace touchstone::cli {

int run_schedule(const ScheduleOptions& options) {
  const ConfigScope scope(config_of(options.opt, options.scheduler));
  const models::Model& model = models::model(options.model);
  const ModelSchedule made = schedule_of(model, options.backward);
  const std::vector<ScheduleItem>& items = made.items;
  const std::string title =
      fmt::format("{}{}: {}", model.name, options.backward ? " with gradients" : "", model.what);
  const auto deliver = [](const std::string& file, const std::string& text) {
    if (file == "-")
      fmt::print("{}", text);
    else
      write_file_atomically(file, text);
  };
  if (!options.json.empty()) deliver(options.json, to_json(items));
  if (!options.dot.empty()) deliver(options.dot, to_dot(items, title));
  if (!options.svg.empty()) deliver(options.svg, to_svg(items, title));
  if (!options.json.empty() || !options.dot.empty() || !options.svg.empty()) return kExitOk;
  const MemoryPlan plan = plan_memory(items);
  fmt::print("{}\n{}{} steps; intermediates take {} bytes, {} side by side\n", bold(title),
             str(items), items.size(), count_str(static_cast<double>(plan.planned())),
             count_str(static_cast<double>(plan.unplanned)));
  return kExitOk;
}

}  // namespace touchstone::cli
