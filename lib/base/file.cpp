#include "touchstone/base/file.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "touchstone/base/descriptor.h"
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

// Directories not yet removed, each open and locked to show other processes that its owner is
// alive. Never destroyed, so that it outlives every static TemporaryDirectory.
struct Living {
  std::mutex mutex;
  std::map<fs::path, Descriptor> paths;
};
Living& living() {
  static auto* const only = [] {
    std::atexit([] { remove_temporary_directories(); });
    return new Living;
  }();
  return *only;
}

/// A new file that will replace another in the same folder. Where the system supports it, the file
/// stays unnamed until it is complete, so a killed process leaves nothing behind.
class Neighbour {
 public:
  explicit Neighbour(fs::path path) : path_(std::move(path)) {
    const fs::path folder = path_.has_parent_path() ? path_.parent_path() : ".";
    if (::access("/proc/self/fd", X_OK) == 0)  // needed to name the file later
      fd_ = Descriptor(::open(folder.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666));
    int error = EEXIST;
    for (int trial = 0; fd_.get() < 0 && trial < kTrials; ++trial) {
      name_ = another_name();
      fd_ = Descriptor(
          ::open(name_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666));
      if (fd_.get() >= 0) return;
      error = errno;
      if (error != EEXIST) break;
    }
    if (fd_.get() < 0) fail("write", path_, error);
  }
  ~Neighbour() {
    if (!name_.empty()) ::unlink(name_.c_str());
  }
  Neighbour(const Neighbour&) = delete;
  Neighbour& operator=(const Neighbour&) = delete;

  int fd() const { return fd_.get(); }
  // Returns the errno of the first failing step, or 0.
  int take_the_place() {
    const std::string number = fmt::format("/proc/self/fd/{}", fd_.get());
    int error = EEXIST;
    for (int trial = 0; name_.empty() && error == EEXIST && trial < kTrials; ++trial) {
      const std::string name = another_name();
      error = ::linkat(AT_FDCWD, number.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) == 0
                  ? 0
                  : errno;
      if (error == 0) name_ = name;
    }
    if (name_.empty()) return error;
    if (::close(fd_.release()) != 0) return errno;
    if (::rename(name_.c_str(), path_.c_str()) != 0) return errno;
    name_.clear();
    return 0;
  }

 private:
  static constexpr int kTrials = 100;
  std::string another_name() const {
    static std::atomic<unsigned> count = 0;
    return fmt::format("{}.{}-{}.tmp", path_.string(), ::getpid(), count++);
  }
  fs::path path_;
  std::string name_;  // empty while unnamed
  Descriptor fd_{-1};
};

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
  if (fd.get() < 0 && errno == ENXIO) refuse(path_, "a socket, or a device that does not exist");
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
          fmt::format("cannot read '{}': it ends at byte {}, but had {} bytes when it was opened",
                      path_.string(), at, size_));
    at += static_cast<std::uint64_t>(n);
    to = to.subspan(static_cast<std::size_t>(n));
  }
}

std::string read_file(const fs::path& path, std::uint64_t most) {
  const InputFile file(path);
  if (file.size() > most)
    throw SystemError(fmt::format("cannot read '{}': it has {} bytes; the limit is {}",
                                  path.string(), file.size(), most));
  return file.read(0, static_cast<std::size_t>(file.size()));
}

void write_file_atomically(const fs::path& wanted, std::string_view bytes) {
  struct stat there {};
  const bool exists = ::stat(wanted.c_str(), &there) == 0;
  // If the query failed, a later step reports the error.
  if (exists && !S_ISREG(there.st_mode) && !S_ISDIR(there.st_mode))
    return write_in_place(wanted, bytes);
  struct stat link {};
  const bool linked = exists && ::lstat(wanted.c_str(), &link) == 0 && S_ISLNK(link.st_mode);
  if (linked && link.st_uid != ::geteuid() && link.st_uid != 0)
    throw SystemError(
        fmt::format("cannot write '{}': it is a link created by another user", wanted.string()));
  const fs::path path = linked ? fs::canonical(wanted) : wanted;
  Neighbour file(path);
  int error = write_all(file.fd(), bytes);
  // An existing file keeps its mode; a new one gets the umask's.
  if (error == 0 && exists && ::fchmod(file.fd(), there.st_mode & 0777) != 0) error = errno;
  if (error == 0 && ::fsync(file.fd()) != 0 && errno != EINVAL && errno != EROFS) error = errno;
  if (error == 0) error = file.take_the_place();
  if (error != 0) fail("write", path, error);
}

namespace {

// Precedes the unique suffix in the name of every process's temporary directories.
constexpr std::string_view kMark = ".tmp-";
constexpr std::string_view kPrefix = "touchstone";

// Opens and locks the directory; empty if another process holds it or another user owns it.
Descriptor locked_directory(const fs::path& path) {
  Descriptor fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat facts {};
  const bool ours = fd.get() >= 0 && ::fstat(fd.get(), &facts) == 0 &&
                    facts.st_uid == ::geteuid() && (facts.st_mode & 077) == 0;
  return ours && ::flock(fd.get(), LOCK_EX | LOCK_NB) == 0 ? std::move(fd) : Descriptor(-1);
}

// Removes directories of killed processes: those unlocked for longer than a new directory takes to
// be locked.
void remove_abandoned(const fs::path& base) {
  const auto old = fs::file_time_type::clock::now() - std::chrono::seconds(10);
  std::error_code error;
  for (fs::directory_iterator at(base, error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    if (!name.starts_with(kPrefix) || name.size() < 6 ||
        !std::string_view(name).substr(0, name.size() - 6).ends_with(kMark))
      continue;
    std::error_code ignored;
    if (fs::last_write_time(at->path(), ignored) > old || ignored) continue;
    if (const Descriptor lock = locked_directory(at->path()); lock.get() >= 0)
      fs::remove_all(at->path(), ignored);
  }
}

}  // namespace

TemporaryDirectory::TemporaryDirectory(std::string_view prefix) {
  std::error_code ignored;
  fs::path base = fs::temp_directory_path(ignored);
  if (ignored) base = "/tmp";
  std::string name = (base / fmt::format("{}{}XXXXXX", prefix, kMark)).string();
  const std::scoped_lock lock(living().mutex);
  static std::map<fs::path, bool> looked_at;
  if (!std::exchange(looked_at[base], true)) remove_abandoned(base);
  if (::mkdtemp(name.data()) == nullptr) fail("create a temporary directory like", name, errno);
  path_ = name;
  living().paths.insert_or_assign(path_, locked_directory(path_));
}

TemporaryDirectory::~TemporaryDirectory() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
  const std::scoped_lock lock(living().mutex);
  living().paths.erase(path_);
}

void remove_temporary_directories() noexcept {
  const std::scoped_lock lock(living().mutex);
  std::error_code ignored;
  for (const auto& [path, locked] : living().paths) fs::remove_all(path, ignored);
  living().paths.clear();
}

}  // namespace touchstone
