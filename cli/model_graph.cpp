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
  std::vector<LazyBufferPtr>& wanted = made.outputs;
  if (backward) {
    const Tensor loss = graph.loss();
    loss.backward();
    wanted.push_back(loss.lazy());
    for (const Tensor& p : graph.parameters) wanted.push_back(p.grad().value().lazy());
  } else {
    wanted.push_back(graph.output.lazy());
  }
  made.items = schedule(wanted);
  return made;
}

}  // namespace touchstone::cli
