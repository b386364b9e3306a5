#pragma once

#include <string>

namespace CLI {
class App;
}

namespace touchstone::cli {

/// Writes the manual pages and the shell completions into a folder laid out like /usr/share and
/// returns the exit code. Throws SystemError.
int run_reference(const CLI::App& app, const std::string& folder);

}  // namespace touchstone::cli
