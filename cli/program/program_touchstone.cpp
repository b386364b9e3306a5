// The whole command.
#include "touchstone/cli/program/command_line.h"
#include "touchstone/cli/program/reference.h"
#include "touchstone/cli/program/work_limits.h"
#include "touchstone/cuda/cuda_device.h"

namespace touchstone::cli {
namespace {

Verb reference(CLI::App& app) {
  static std::string folder;
  CLI::App* v = app.add_subcommand("reference", "Write manual pages and completions into a folder");
  v->group("");  // used by the build
  v->add_option("folder", folder)->required();
  return {v, [&app] { return run_reference(app, folder); }};
}

}  // namespace

std::vector<VerbGroup> verbs_of_program(CLI::App& app) {
  std::vector<VerbGroup> all = {{"Models", model_verbs(app)},
                                {"Kernels and operations", oracle_verbs(app)},
                                {"Other backends", suite_verbs(app)},
                                {"Drawn cases", fuzz_verbs(app)},
                                {"Index expressions and views", index_verbs(app)},
                                {"", {reference(app)}}};
  for (VerbGroup& group : all)
    for (Verb& verb : group.verbs)
      if (verb.limits != nullptr)
        verb.run = [run = verb.run, limits = verb.limits] { return run_within(*limits, run); };
  return all;
}

void register_devices_of_program() { register_cuda_device(); }

}  // namespace touchstone::cli
