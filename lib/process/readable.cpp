#include "touchstone/process/readable.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <string_view>

#include "touchstone/process/child.h"

namespace touchstone::process {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view private_places[] = {
    "/home",       "/root",    "/run/secrets",     "/run/user", "/etc/gshadow",
    "/etc/shadow", "/etc/ssh", "/etc/ssl/private", "/var/mail", "/var/spool"};
constexpr const char* variables[] = {
    "PATH",        "LD_LIBRARY_PATH", "LD_PRELOAD", "PYTHONPATH", "PYTHONHOME",
    "VIRTUAL_ENV", "CONDA_PREFIX",    "CUDA_HOME",  "CUDA_PATH",  "TOUCHSTONE_ROOM_READS"};
// Beside a folder of programs. Neighbours with other names may hold keys.
constexpr std::string_view program_folders[] = {"bin", "condabin", "sbin", "shims"};
constexpr std::string_view program_parts[] = {
    "etc",     "include",    "lib", "lib32",   "lib64",   "libexec", "nvvm",
    "plugins", "pyvenv.cfg", "ssl", "targets", "version", "versions"};

bool is_below(const fs::path& path, const fs::path& place) {
  return std::ranges::mismatch(place, path).in1 == place.end();
}

fs::path real(const fs::path& path) {
  std::error_code none;
  fs::path found = fs::canonical(path, none);
  return none ? fs::path() : found;
}

class Readable {
 public:
  Readable() {
    const char* const home = std::getenv("HOME");
    home_ = home == nullptr ? fs::path() : real(home);
    if (home_ == "/") home_.clear();
    for (const std::string_view place : private_places) hide(real(place));
    hide(home_);
    walk("/");
  }

  // The place, or the folder of a file, if it is in a private one.
  void need(const fs::path& named) {
    std::error_code ignored;
    fs::path place = real(named);
    if (!fs::is_directory(place, ignored)) place = place.parent_path();
    if (place.empty() || !is_private(place)) return;
    const bool is_whole = std::ranges::find(private_, place) != private_.end();
    if (is_whole && place != home_) return;
    if (is_whole)
      for (const auto& entry : fs::directory_iterator(place, ignored)) {
        if (!entry.path().filename().string().starts_with('.')) add(entry.path());
      }
    else
      add(place);
    if (std::ranges::find(program_folders, place.filename()) != std::end(program_folders))
      for (const std::string_view part : program_parts) add(place.parent_path() / part);
  }

  // Every file and program named in `text`.
  void need_all(std::string_view text, std::string_view ends) {
    while (!text.empty()) {
      const std::size_t end = std::min(text.find_first_of(ends), text.size());
      const std::string word(text.substr(0, end));
      text.remove_prefix(std::min(end + 1, text.size()));
      if (word.empty()) continue;
      need(word);
      if (word.find('/') == word.npos) need(find_program(word));
    }
  }

  bool is_empty() const { return all_.empty(); }
  std::vector<Place> all() && { return std::move(all_); }

 private:
  void hide(const fs::path& place) {
    if (!place.empty()) private_.push_back(place);
  }
  bool is_private(const fs::path& path) const {
    return std::ranges::any_of(private_, [&](const auto& place) { return is_below(path, place); });
  }

  void add(const fs::path& path) {
    std::error_code missing;
    const fs::file_status status = fs::status(path, missing);
    if (fs::exists(status)) all_.push_back({path.string(), fs::is_directory(status)});
  }

  // Adds what is not private; lists only folders with something private below. The target of a
  // link is a place of its own.
  void walk(const fs::path& folder) {
    constexpr int kMost = 1000;
    int count = 0;
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(folder, ignored)) {
      if (++count > kMost) break;
      if (entry.is_symlink(ignored) || is_private(entry.path())) continue;
      if (std::ranges::any_of(private_, [&](const auto& p) { return is_below(p, entry.path()); }))
        walk(entry.path());
      else
        all_.push_back({entry.path().string(), entry.is_directory(ignored)});
    }
  }

  fs::path home_;
  std::vector<fs::path> private_;
  std::vector<Place> all_;
};

}  // namespace

std::vector<Place> readable_places(const std::vector<std::string>& words) {
  Readable places;
  if (places.is_empty()) return {};
  places.need(".");
  for (const char* const variable : variables)
    if (const char* const value = std::getenv(variable)) places.need_all(value, ":");
  for (const std::string& word : words) places.need_all(word, " \t\n'\"=:;&|()");
  return std::move(places).all();
}

}  // namespace touchstone::process
