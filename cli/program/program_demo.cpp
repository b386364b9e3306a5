// The program of `./dev demo`: half the build time of the whole command.
#include "touchstone/cli/program/command_line.h"

namespace touchstone::cli {

std::vector<VerbGroup> verbs_of_program(CLI::App& app) { return {{"Models", {demo_verb(app)}}}; }

void register_devices_of_program() {}

}  // namespace touchstone::cli
