// The program for mpirun: `touchstone train` becomes this one there.
#include "touchstone/cli/models/train.h"
#include "touchstone/cli/program/command_line.h"
#include "touchstone/mpi/mpi_world.h"

namespace touchstone::cli {
namespace {

std::unique_ptr<MpiWorld> world;  // ends with the program

}  // namespace

std::vector<VerbGroup> verbs_of_program(CLI::App& app) {
  Verb train = train_verb(app);
  train.run = [run = train.run] {
    try {
      return run();
    } catch (const std::exception& e) {
      if (world != nullptr) world->fail(e.what());
      throw;
    }
  };
  return {{"Models", {train}}};
}

void register_devices_of_program() {
  if (!under_mpirun()) return;
  world = std::make_unique<MpiWorld>();
  train_job() = {world->devices(), world->rank() == 0, [] { world->barrier(); }};
}

}  // namespace touchstone::cli
