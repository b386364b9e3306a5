#include "touchstone/cli/models/model_graph.h"

#include <string>

namespace touchstone::cli {

Config config_of(int opt, const std::string& scheduler) {
  Config config = Config::from_environment();
  if (!scheduler.empty())
    config.scheduler = scheduler_named(scheduler);
  else if (opt != -1 && !Config::is_set("SCHEDULER"))
    config.scheduler = Scheduler::Lazy;  // OPT levels are its switches
  if (opt < 0) return config;
  const Config read = config;
  config.opt = opt;
  config.switches = Config(opt).switches;
  for (const SwitchInfo& row : switch_table)  // an explicitly set switch wins
    if (Config::is_set(row.name)) config.set(row.id, read.on(row.id));
  return config;
}

ModelSchedule schedule_of(const models::Model& model, bool backward) {
  if (!Config::current().lazy)
    throw Error(
        "TOUCHSTONE_LAZY=0 runs every op as it is built, so there is nothing to schedule; unset "
        "it, or use TOUCHSTONE_OPT=0");
  const models::ModelGraph graph = model.build("CLANG", backward);
  realize(graph.leaves());
  ModelSchedule made;
  made.outputs = graph.results(backward);
  made.items = schedule(made.outputs);
  return made;
}

}  // namespace touchstone::cli
