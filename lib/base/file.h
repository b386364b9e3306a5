#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace touchstone {

/// Whole contents of a file. Throws SystemError naming the path and the reason.
std::string read_file(const std::filesystem::path& path);

/// Writes `bytes` to a neighbour of `path`, flushes it, and renames it into place: a reader sees
/// the old file or the new one, never a part, also when the disk is full or the process dies.
/// Throws SystemError naming the path and the reason; the neighbour is removed. A symbolic link is
/// followed; what is no file (a device, a pipe) is written to as it is, and never replaced.
void write_file_atomically(const std::filesystem::path& path, std::string_view bytes);

/// A new empty directory below the system's temporary directory, removed with its contents when
/// the object goes, or at the latest when the process exits. Throws SystemError.
class TemporaryDirectory {
 public:
  explicit TemporaryDirectory(std::string_view prefix = "touchstone");
  ~TemporaryDirectory();
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

/// Removes the temporary directories that are left, for a process about to be ended by a signal.
void remove_temporary_directories() noexcept;

}  // namespace touchstone
