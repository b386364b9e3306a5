#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace touchstone {

/// Bytes that can be read from anywhere among them.
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  virtual std::uint64_t size() const = 0;
  /// Bytes [at, at + to.size()), which must lie below size(). Throws SystemError.
  virtual void read(std::uint64_t at, std::span<char> to) const = 0;
  std::string read(std::uint64_t at, std::size_t count) const;
};

/// A regular file, open for reading. Whatever else a path leads to, by itself or by a link, is
/// refused at once and never waited for: a pipe, a terminal, a device, a directory, a socket. What
/// was opened is what is asked, so nobody can put another file in its place meanwhile.
class InputFile final : public ByteSource {
 public:
  /// Throws SystemError naming the path and the reason.
  explicit InputFile(std::filesystem::path path);
  ~InputFile() override;
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::uint64_t size() const override { return size_; }  // when it was opened
  using ByteSource::read;
  void read(std::uint64_t at, std::span<char> to) const override;

 private:
  std::filesystem::path path_;
  int file_ = -1;
  std::uint64_t size_ = 0;
};

/// Bytes that a text may have: of a kernel, of a profile, of a file read whole.
inline constexpr std::uint64_t kMostKernelText = std::uint64_t{64} << 20;
inline constexpr std::uint64_t kMostProfileText = std::uint64_t{1} << 20;
inline constexpr std::uint64_t kMostText = std::uint64_t{256} << 20;

/// Whole contents of a regular file of at most `most` bytes, which is asked before any is read.
/// Throws SystemError naming the path and the reason.
std::string read_file(const std::filesystem::path& path, std::uint64_t most = kMostText);

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
