#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace touchstone::clang {

/// What a finished program left: its exit status (128 + n where signal n ended it) and all it wrote
/// to its standard output and error.
struct ProcessResult {
  int status = 0;
  std::string output;
};

/// Runs a program, no shell between, with `input` on its standard input. `arguments` without the
/// program's own name. Its TMPDIR is `scratch` unless that is empty. Throws SystemError where it
/// cannot be started.
ProcessResult run_process(const std::filesystem::path& program,
                          const std::vector<std::string>& arguments, std::string_view input = {},
                          const std::filesystem::path& scratch = {});

/// The executable file of a name, by PATH as a shell finds it, or of a path (anything with a
/// slash); empty where there is none.
std::filesystem::path find_program(const std::string& name);

}  // namespace touchstone::clang
