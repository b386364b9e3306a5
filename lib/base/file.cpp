#include "touchstone/base/file.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <set>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "touchstone/base/error.h"

namespace touchstone {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(std::string_view doing, const fs::path& path, int error) {
  throw SystemError(fmt::format("cannot {} '{}': {}", doing, path.string(), std::strerror(error)));
}

[[noreturn]] void refuse(const fs::path& path, std::string_view what) {
  throw SystemError(
      fmt::format("cannot read '{}': it is {}; only regular files are read", path.string(), what));
}

std::string_view kind_of(mode_t mode) {
  if (S_ISDIR(mode)) return "a directory";
  if (S_ISFIFO(mode)) return "a pipe";
  if (S_ISSOCK(mode)) return "a socket";
  return "a device";
}

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }
  int release() {
    const int fd = fd_;
    fd_ = -1;
    return fd;
  }

 private:
  int fd_;
};

// Errno of the first failing step, or 0.
int write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0) {
      if (errno == EINTR) continue;
      return errno;
    }
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return 0;
}

// Directories not yet removed. Never destroyed, so that it outlives every static owner of one.
struct Living {
  std::mutex mutex;
  std::set<fs::path> paths;
};
Living& living() {
  static auto* const only = [] {
    std::atexit([] { remove_temporary_directories(); });
    return new Living;
  }();
  return *only;
}

void write_in_place(const fs::path& path, std::string_view bytes) {
  Descriptor fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (fd.get() < 0) fail("write", path, errno);
  int error = write_all(fd.get(), bytes);
  if (::close(fd.release()) != 0 && error == 0) error = errno;
  if (error != 0) fail("write", path, error);
}

}  // namespace

std::string ByteSource::read(std::uint64_t at, std::size_t count) const {
  std::string bytes(count, '\0');
  read(at, std::span(bytes));
  return bytes;
}

InputFile::InputFile(fs::path path) : path_(std::move(path)) {
  Descriptor fd(::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (fd.get() < 0 && errno == ENXIO) refuse(path_, "a socket, or a device that is not there");
  struct stat facts {};
  if (fd.get() < 0 || ::fstat(fd.get(), &facts) != 0) fail("read", path_, errno);
  if (!S_ISREG(facts.st_mode)) refuse(path_, kind_of(facts.st_mode));
  size_ = static_cast<std::uint64_t>(facts.st_size);
  file_ = fd.release();
}

InputFile::~InputFile() { ::close(file_); }

void InputFile::read(std::uint64_t at, std::span<char> to) const {
  while (!to.empty()) {
    const std::size_t piece = std::min<std::size_t>(to.size(), std::size_t{1} << 30);
    const ssize_t n = ::pread(file_, to.data(), piece, static_cast<off_t>(at));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail("read", path_, errno);
    if (n == 0)
      throw SystemError(
          fmt::format("cannot read '{}': it ends at byte {}, and had {} bytes when it was opened",
                      path_.string(), at, size_));
    at += static_cast<std::uint64_t>(n);
    to = to.subspan(static_cast<std::size_t>(n));
  }
}

std::string read_file(const fs::path& path, std::uint64_t most) {
  const InputFile file(path);
  if (file.size() > most)
    throw SystemError(fmt::format("cannot read '{}': it has {} bytes, at most {} are read",
                                  path.string(), file.size(), most));
  return file.read(0, static_cast<std::size_t>(file.size()));
}

void write_file_atomically(const fs::path& wanted, std::string_view bytes) {
  std::error_code none;  // a failed query is left to the steps below to name
  const fs::file_status status = fs::status(wanted, none);
  if (fs::exists(status) && !fs::is_regular_file(status) && !fs::is_directory(status))
    return write_in_place(wanted, bytes);
  const bool linked = fs::exists(status) && fs::is_symlink(fs::symlink_status(wanted, none));
  const fs::path path = linked ? fs::canonical(wanted) : wanted;
  std::string name = path.string() + ".XXXXXX";
  Descriptor fd(::mkostemp(name.data(), O_CLOEXEC));
  if (fd.get() < 0) fail("write", path, errno);
  int error = write_all(fd.get(), bytes);
  if (error == 0 && ::fchmod(fd.get(), 0644) != 0) error = errno;
  if (error == 0 && ::fsync(fd.get()) != 0 && errno != EINVAL && errno != EROFS) error = errno;
  if (::close(fd.release()) != 0 && error == 0) error = errno;
  if (error == 0 && ::rename(name.c_str(), path.c_str()) != 0) error = errno;
  if (error != 0) {
    ::unlink(name.c_str());
    fail("write", path, error);
  }
}

TemporaryDirectory::TemporaryDirectory(std::string_view prefix) {
  std::error_code ignored;
  fs::path base = fs::temp_directory_path(ignored);
  if (ignored) base = "/tmp";
  std::string name = (base / fmt::format("{}-XXXXXX", prefix)).string();
  if (::mkdtemp(name.data()) == nullptr) fail("create a temporary directory like", name, errno);
  path_ = name;
  const std::scoped_lock lock(living().mutex);
  living().paths.insert(path_);
}

TemporaryDirectory::~TemporaryDirectory() {
  {
    const std::scoped_lock lock(living().mutex);
    living().paths.erase(path_);
  }
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

void remove_temporary_directories() noexcept {
  const std::scoped_lock lock(living().mutex);
  std::error_code ignored;
  for (const fs::path& path : living().paths) fs::remove_all(path, ignored);
  living().paths.clear();
}

}  // namespace touchstone
