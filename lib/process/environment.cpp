#include "touchstone/process/environment.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

namespace touchstone::process {
namespace {

// A trailing star matches any rest.
constexpr std::string_view tool_variables[] = {"PATH", "HOME", "TMPDIR", "LD_LIBRARY_PATH"};
constexpr std::string_view backend_variables[] = {
    "PATH", "HOME", "TMPDIR", "LD_LIBRARY_PATH", "LD_PRELOAD", "LANG", "LANGUAGE", "LC_*", "TERM",
    "TZ", "USER", "LOGNAME", "SHELL", "XDG_*", "TOUCHSTONE_*", "ASAN_OPTIONS", "LSAN_OPTIONS",
    "TSAN_OPTIONS", "UBSAN_OPTIONS", "PYTHON*", "VIRTUAL_ENV", "CONDA_*",
    // Devices and their libraries.
    "CUDA*", "NVIDIA_*", "NCCL_*", "OCL_*", "POCL_*", "OMP_*", "KMP_*", "GOMP_*", "MKL_*",
    "OPENBLAS_*", "TORCH*", "PYTORCH_*", "TRITON_*", "JAX_*", "XLA_*", "CUPY_*"};

std::string_view name_of(std::string_view variable) {
  return variable.substr(0, variable.find('='));
}

bool passes(Inherits kind, std::string_view name) {
  const auto is_among = [&](const auto& list) {
    return std::ranges::any_of(list, [&](std::string_view pattern) {
      return pattern.ends_with('*') ? name.starts_with(pattern.substr(0, pattern.size() - 1))
                                    : name == pattern;
    });
  };
  switch (kind) {
    case Inherits::Tool: return is_among(tool_variables);
    case Inherits::Backend: return is_among(backend_variables);
    case Inherits::Whole: break;
  }
  return true;
}

}  // namespace

std::vector<std::string> environment_for(Inherits kind, const std::vector<std::string>& changes) {
  std::vector<std::string> all = changes;
  // Messages are searched for English words.
  if (kind == Inherits::Tool) all.emplace_back("LC_ALL=C");
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view name = name_of(*variable);
    const bool is_changed =
        std::ranges::any_of(changes, [&](const std::string& c) { return name_of(c) == name; });
    if (!is_changed && passes(kind, name)) all.emplace_back(*variable);
  }
  return all;
}

std::string tool_environment() {
  // Programs get their own TMPDIR.
  std::vector<std::string> all = environment_for(Inherits::Tool, {"TMPDIR="});
  std::ranges::sort(all);
  return fmt::format("{}", fmt::join(all, "\n"));
}

}  // namespace touchstone::process
