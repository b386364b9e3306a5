#include "model_graph.h"

#include "touchstone/clang/clang_device.h"
#include "touchstone/interp/interpreted.h"

namespace touchstone::cli {

Config config_of(int opt) {
  Config config = Config::from_environment();
  if (opt < 0) return config;
  config.opt = opt;
  config.switches = Config(opt).switches;
  return config;
}

ModelSchedule schedule_of(const models::Model& model, bool backward) {
  register_interpreted_device();
  register_clang_device();
  const models::ModelGraph graph = model.build("CLANG", backward);
  realize(graph.leaves());
  ModelSchedule made;
  made.outputs = graph.results(backward);
  made.items = schedule(made.outputs);
  return made;
}

}  // namespace touchstone::cli
