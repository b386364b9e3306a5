#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace touchstone {

/// Makes a folder, and those above it, for files that this user will find again, such as findings
/// and corpora; or takes one that is there. Throws SystemError where it is a link, belongs to
/// another user or anybody may write to it: links in it would have our files written elsewhere.
/// Folders and links on the way, from / or from the working folder on, may also be the system's,
/// and all may write to one where nobody moves what is another's (/tmp).
void make_own_folder(const std::filesystem::path& path);

/// A folder for files that are believed as they are, such as compiled code: of this user, and
/// closed to all others. It is held open, and what was opened is what is asked about and used:
/// whatever its path leads to later, no link and no file of anybody else's is followed, read or
/// replaced.
class PrivateFolder {
 public:
  /// Makes the folder, mode 0700, and those above it; or takes one that is there. One of this
  /// user's that others may read is closed to them where it can be. Throws SystemError with the
  /// reason where it is a link, of another user, or others may write to it.
  explicit PrivateFolder(std::filesystem::path path);
  ~PrivateFolder();
  PrivateFolder(const PrivateFolder&) = delete;
  PrivateFolder& operator=(const PrivateFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  /// A path to a file of it by way of the open folder, for those who want a path (dlopen).
  std::filesystem::path anchored(const std::string& name) const;
  /// The contents of a file: a regular one, no link, of this user, to which nobody else may write,
  /// of at most `most` bytes; else nothing.
  std::optional<std::string> read(const std::string& name, std::uint64_t most) const;
  /// Writes a file, whole or not at all, in the place of whatever has that name. Throws
  /// SystemError.
  void write(const std::string& name, std::string_view bytes) const;
  /// One file under several names where that can be; the others are of it whoever writes to the
  /// first meanwhile.
  void write(std::span<const std::string> names, std::string_view bytes) const;
  /// Says that a file was used now, for trim(); once an hour is enough.
  void mark_used(const std::string& name) const;
  /// Removes files whose names end in `suffix`, the least recently written or used first, until all
  /// of them have at most `most` bytes; a file with several names counts once and goes with all of
  /// them. What was used within `spared` stays: another process may be about to open it. Files that
  /// killed writers left go, too. One process at a time does this; the others do nothing. Gives
  /// the bytes that are left, nothing where another process is at it or the folder is unreadable.
  std::optional<std::uint64_t> trim(std::string_view suffix, std::uint64_t most,
                                    std::chrono::seconds spared = std::chrono::minutes(1)) const;

 private:
  void rename(const std::string& from, const std::string& to) const;

  std::filesystem::path path_;
  int folder_ = -1;
};

}  // namespace touchstone
