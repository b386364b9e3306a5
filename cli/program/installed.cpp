#include "touchstone/cli/program/installed.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

#include "touchstone/base/error.h"

namespace touchstone::cli {
namespace {

namespace fs = std::filesystem;

fs::path program_folder() {
  std::error_code error;
  return fs::read_symlink("/proc/self/exe", error).parent_path();
}

// The first of these folders, relative to the program's, that contains `file`.
fs::path folder_with(const char* file, const std::vector<fs::path>& places) {
  std::error_code error;
  for (const fs::path& place : places)
    if (fs::exists(program_folder() / place / file, error))
      return fs::weakly_canonical(program_folder() / place, error);
  return {};
}

}  // namespace

fs::path documentation_folder() {
  return folder_with("tour.md",
                     {"../share/doc/touchstone/docs", "../share/doc/touchstone", "../../../docs"});
}

fs::path adapter_folder() {
  std::vector<fs::path> places;
  if (const char* told = std::getenv("TOUCHSTONE_BACKENDS")) places.push_back(fs::absolute(told));
  places.insert(places.end(), {"../share/touchstone/backends", "../../../fuzz/backends"});
  return folder_with("numpy_backend.py", places);
}

fs::path adapter(const std::string& file) {
  // A build's shared objects are beside the program's folder, not in the sources.
  const fs::path among = adapter_folder(), built = program_folder() / "../fuzz/backends";
  const char* const told = std::getenv("TOUCHSTONE_BACKENDS");
  std::error_code error;
  for (const fs::path& place : {fs::path(told == nullptr ? "" : told), among, built})
    if (!place.empty() && fs::exists(place / file, error))
      return fs::weakly_canonical(place / file, error);
  throw ParseError(
      fmt::format("{} was not found in {}; set TOUCHSTONE_BACKENDS to the folder that contains it",
                  file, among.empty() ? "any folder relative to this program" : among.string()));
}

void become_sibling(const char* name) {
  std::ifstream given("/proc/self/cmdline", std::ios::binary);
  std::vector<std::string> words;
  for (std::string word; std::getline(given, word, '\0');) words.push_back(word);
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  ::execv((program_folder() / name).c_str(), argv.data());
}

std::string quoted(const std::string& word) {
  std::string out = "'";
  for (const char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

Adapter adapter_named(const std::string& name) {
  if (name == "pocl") return {{}, adapter("opencl_plugin.so").string()};
  constexpr std::string_view kEmitted[] = {"onnxruntime", "torch", "torch-inductor", "jax"};
  const bool emitted = std::ranges::count(kEmitted, name) > 0;
  if (name != "numpy" && !emitted) return {};
  // Debian's packages belong to its own Python, others to a virtual environment's.
  const bool system = fs::exists("/usr/bin/python3") && std::getenv("VIRTUAL_ENV") == nullptr;
  const std::string python = system ? "/usr/bin/python3 " : "python3 ";
  return {emitted
              ? fmt::format("{}{} {}", python, quoted(adapter("emitted_backend.py").string()), name)
              : python + quoted(adapter("numpy_backend.py").string()),
          {}};
}

}  // namespace touchstone::cli
