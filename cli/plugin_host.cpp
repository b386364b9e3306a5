#include "touchstone/foreign/plugin_host.h"

#include "verbs.h"

namespace touchstone::cli {

int run_plugin_host(const std::string& plugin) { return foreign::host_plugin(plugin); }

}  // namespace touchstone::cli
