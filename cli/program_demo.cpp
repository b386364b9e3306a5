// The program that `./dev demo` builds: it needs half of what the whole command needs.
#include "command_line.h"

namespace touchstone::cli {

std::vector<VerbGroup> verbs_of_program(CLI::App& app) { return {{"Models", {demo_verb(app)}}}; }

void register_devices_of_program() {}

}  // namespace touchstone::cli
