#pragma once

#include <string>
#include <vector>

#include "touchstone/foreign/child.h"

namespace touchstone::foreign {

/// The process in which a plugin of touchstone/backend.h lives: loads it, then speaks for it the
/// line protocol of docs/backends.md on standard input and output, until the input ends. What the
/// plugin itself prints goes to the standard error. An access of the plugin out of its buffers is
/// told before the process ends. Returns the exit code.
int host_plugin(const std::string& path);

/// Whether this program is built with a sanitizer, whose shadow takes more memory than any limit.
bool has_shadow_memory();

/// The same limits, without that on memory where this program has shadow memory.
Limits plugin_limits(Limits limits);

/// The command that hosts a plugin: this very program with its verb for that.
std::vector<std::string> plugin_command(const std::string& path);

}  // namespace touchstone::foreign
