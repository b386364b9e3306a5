#include "touchstone/process/readable.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <string_view>

#include <pwd.h>
#include <unistd.h>

#include "touchstone/process/child.h"

namespace touchstone::process {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view private_places[] = {
    "/home",       "/root",    "/run/secrets",     "/run/user", "/etc/gshadow",
    "/etc/shadow", "/etc/ssh", "/etc/ssl/private", "/var/mail", "/var/spool"};
constexpr const char* variables[] = {"PATH",         "LD_LIBRARY_PATH", "LD_PRELOAD",
                                     "PYTHONPATH",   "PYTHONHOME",      "VIRTUAL_ENV",
                                     "CONDA_PREFIX", "CUDA_HOME",       "CUDA_PATH"};
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
    for (const std::string_view place : private_places) hide(real(place));
    if (const char* const home = std::getenv("HOME")) hide(real(home));
    // Of users of services the home may be a place of programs.
    const passwd* const user = getpwuid(getuid());
    if (user != nullptr && std::string_view(user->pw_shell).ends_with("sh"))
      hide(real(user->pw_dir));
    walk("/");
  }

  // A folder, or a file with its folder; also the folders of the links that lead there.
  void need(const fs::path& named) {
    std::error_code ignored;
    const fs::path place = real(named);
    if (place.empty()) return;
    const bool is_folder = fs::is_directory(place, ignored);
    if (!is_folder && !is_covered(place) && !is_whole(place)) add(place);
    need_folder(is_folder ? place : place.parent_path());
    fs::path link = fs::absolute(named, ignored);
    for (int hops = 0; hops < 8 && fs::is_symlink(fs::symlink_status(link, ignored)); ++hops) {
      need_folder(real(link.parent_path()));
      link = link.parent_path() / fs::read_symlink(link, ignored);
    }
  }

  void open_all(std::string_view list) {
    while (!list.empty()) {
      const std::size_t end = std::min(list.find(':'), list.size());
      if (const fs::path place = real(list.substr(0, end)); !place.empty()) add(place);
      list.remove_prefix(std::min(end + 1, list.size()));
    }
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
    if (!place.empty() && place != "/") private_.push_back(place);
  }
  bool is_whole(const fs::path& place) const {
    return std::ranges::find(private_, place) != private_.end();
  }
  bool is_covered(const fs::path& path) const {
    return std::ranges::any_of(all_, [&](const Place& p) { return is_below(path, p.path); });
  }
  // In a wholly private folder, such as a home, adds entries without a leading dot. Folders that
  // contain a private one are handled by walk().
  void need_folder(const fs::path& place) {
    if (place.empty() || is_covered(place)) return;
    std::error_code ignored;
    if (is_whole(place)) {
      for (const auto& entry : fs::directory_iterator(place, ignored))
        if (!entry.path().filename().string().starts_with('.')) add(entry.path());
    } else if (std::ranges::none_of(private_, [&](const auto& p) { return is_below(p, place); })) {
      add(place);
    }
    if (std::ranges::find(program_folders, place.filename()) != std::end(program_folders))
      for (const std::string_view part : program_parts) add(place.parent_path() / part);
  }
  bool is_private(const fs::path& path) const {
    return std::ranges::any_of(private_, [&](const auto& place) { return is_below(path, place); });
  }

  void add(const fs::path& path) {
    std::error_code missing;
    const fs::file_status status = fs::status(path, missing);
    if (fs::exists(status)) all_.push_back({path.string(), fs::is_directory(status)});
  }

  // Adds every entry that is not private, and descends only into folders that hold a private one.
  // Links are left out: their targets are added where they lie.
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
  if (const char* const asked = std::getenv("TOUCHSTONE_ROOM_READS")) places.open_all(asked);
  for (const std::string& word : words) places.need_all(word, " \t\n'\"=:;&|()");
  return std::move(places).all();
}

}  // namespace touchstone::process
