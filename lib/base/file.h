#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace touchstone {

/// Bytes with random access.
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  virtual std::uint64_t size() const = 0;
  /// Reads bytes [at, at + to.size()), which must lie below size(). Throws SystemError.
  virtual void read(std::uint64_t at, std::span<char> to) const = 0;
  std::string read(std::uint64_t at, std::size_t count) const;
};

/// A regular file, open for reading. Any other kind of file (pipe, terminal, device, directory,
/// socket), named directly or through a link, is refused at once without blocking. The type is
/// checked on the open descriptor, so the file cannot be swapped in between.
class InputFile final : public ByteSource {
 public:
  /// Throws SystemError naming the path and the reason.
  explicit InputFile(std::filesystem::path path);
  ~InputFile() override;
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::uint64_t size() const override { return size_; }  // at the time of opening
  using ByteSource::read;
  void read(std::uint64_t at, std::span<char> to) const override;

 private:
  std::filesystem::path path_;
  int file_ = -1;
  std::uint64_t size_ = 0;
};

/// Size limits in bytes: for kernel text, for a profile, for any file read whole.
inline constexpr std::uint64_t kMostKernelText = std::uint64_t{64} << 20;
inline constexpr std::uint64_t kMostProfileText = std::uint64_t{1} << 20;
inline constexpr std::uint64_t kMostText = std::uint64_t{256} << 20;

/// Returns the contents of a regular file of at most `most` bytes; the size is checked before
/// reading. Throws SystemError naming the path and the reason.
std::string read_file(const std::filesystem::path& path, std::uint64_t most = kMostText);

/// Writes `bytes` to a temporary file beside `path`, flushes it, and renames it into place: a
/// reader sees the old file or the new one, never a part, even if the disk is full or the process
/// dies. Throws SystemError naming the path and the reason, after removing the temporary file.
/// Follows symbolic links; writes to devices and pipes directly and never replaces them.
void write_file_atomically(const std::filesystem::path& path, std::string_view bytes);

/// A new empty directory in the system's temporary directory. It is removed with its contents when
/// the object is destroyed, at the latest when the process exits. Throws SystemError.
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

/// Removes all remaining temporary directories; for a process about to be ended by a signal.
void remove_temporary_directories() noexcept;

}  // namespace touchstone
