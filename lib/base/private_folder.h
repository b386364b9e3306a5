#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "touchstone/base/descriptor.h"

namespace touchstone {

/// Creates a folder and its parents for files that the user keeps, such as findings and corpora, or
/// accepts an existing one. Throws SystemError if it is a link, belongs to another user, or is
/// writable by others, who could then redirect our files through links. Parent folders and links,
/// starting at / or the working folder, may also belong to the system, and may be world-writable if
/// sticky (/tmp).
void make_own_folder(const std::filesystem::path& path);

/// A folder for files that are trusted without checks, such as compiled code: owned by this user
/// and closed to all others. It stays open, and all checks and accesses go through the open
/// descriptor: changing the path later cannot make us follow, read or replace another user's file.
class PrivateFolder {
 public:
  /// Creates the folder (mode 0700) and its parents, or accepts an existing one. Removes other
  /// users' read permission where possible. Throws SystemError with the reason if the folder is a
  /// link, belongs to another user, or is writable by others.
  explicit PrivateFolder(std::filesystem::path path);

  const std::filesystem::path& path() const { return path_; }
  /// A path to a file in the folder through the open descriptor, for functions such as dlopen.
  std::filesystem::path anchored(const std::string& name) const;
  /// Returns a file's contents; nullopt unless it is a regular file (no link) of at most `most`
  /// bytes that belongs to this user and that only this user can write.
  std::optional<std::string> read(const std::string& name, std::uint64_t most) const;
  /// Writes a file atomically, replacing any entry of that name. Throws SystemError.
  void write(const std::string& name, std::string_view bytes) const;
  /// Writes one file under several names, as hard links where possible. All names get `bytes`, even
  /// if another process replaces the first name meanwhile.
  void write(std::span<const std::string> names, std::string_view bytes) const;
  /// Records that a file was used now, for trim(); once an hour is enough.
  void mark_used(const std::string& name) const;
  /// Removes files whose names end in `suffix`, least recently written or used first, until the
  /// rest total at most `most` bytes. Hard links count once and are removed together. Files used
  /// within `spared` stay: another process may be about to open them. Leftovers of killed writers
  /// are removed too. Returns the remaining bytes; nullopt if another process is trimming or the
  /// folder is unreadable.
  std::optional<std::uint64_t> trim(std::string_view suffix, std::uint64_t most,
                                    std::chrono::seconds spared = std::chrono::minutes(1)) const;

 private:
  void rename(const std::string& from, const std::string& to) const;

  std::filesystem::path path_;
  Descriptor folder_;
};

}  // namespace touchstone
