#include "touchstone/foreign/plugin_host.h"

#include "touchstone/cli/program/verbs.h"

namespace touchstone::cli {

int run_plugin_host(const std::string& plugin) { return foreign::host_plugin(plugin); }

}  // namespace touchstone::cli
