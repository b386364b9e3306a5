#pragma once

#include <string>
#include <vector>

#include "touchstone/foreign/child.h"

namespace touchstone::foreign {

/// The main function of a plugin's process: loads a plugin of touchstone/backend.h and speaks the
/// line protocol of docs/backends.md for it on standard input and output until the input ends. The
/// plugin's own output goes to standard error. Reports an access outside its buffers before the
/// process ends. Returns the exit code.
int host_plugin(const std::string& path);

/// True if built with a sanitizer, whose shadow memory exceeds any memory limit.
bool has_shadow_memory();

/// The limits, without the memory limit if has_shadow_memory().
Limits plugin_limits(Limits limits);

/// The command that hosts a plugin: this program with its verb for hosting.
std::vector<std::string> plugin_command(const std::string& path);

}  // namespace touchstone::foreign
