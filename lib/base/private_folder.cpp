#include "touchstone/base/private_folder.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <deque>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "touchstone/base/descriptor.h"
#include "touchstone/base/error.h"

namespace touchstone {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void cannot(std::string_view what, const fs::path& path, std::string_view why) {
  throw SystemError(fmt::format("cannot {} '{}': {}", what, path.string(), why));
}

std::string another_name(const std::string& name) {
  static std::atomic<unsigned> count = 0;
  return fmt::format("{}.{}-{}.tmp", name, ::getpid(), count++);
}

void require_private(int folder, const fs::path& path) {
  struct stat facts {};
  if (::fstat(folder, &facts) != 0) cannot("use", path, std::strerror(errno));
  if (facts.st_uid != ::geteuid()) cannot("use", path, "it belongs to another user");
  if ((facts.st_mode & 022) != 0)
    cannot("use", path,
           "other users may write to it; check its contents and close it to them (chmod 700), or "
           "use another folder");
  // Where the system is read-only, what others can read is no danger.
  if ((facts.st_mode & 077) != 0) (void)::fchmod(folder, facts.st_mode & 0700);
}

}  // namespace

namespace {

constexpr int kMostLinks = 40;

/// Walks to a folder level by level with each level held open, so that none can be swapped.
class Walk {
 public:
  explicit Walk(const fs::path& whole) : whole_(whole) { follow(whole); }

  void to_the_end() {
    while (!ahead_.empty()) {
      const std::string name = ahead_.front();
      ahead_.pop_front();
      step(name, ahead_.empty());
    }
  }

 private:
  [[noreturn]] void refuse(std::string_view why) const {
    const std::string at = at_.string();
    cannot("use", whole_, at == whole_.string() ? why : fmt::format("'{}': {}", at, why));
  }

  // A relative path starts in the working folder, which the caller chose.
  void follow(const fs::path& path) {
    auto end = ahead_.begin();
    for (const fs::path& part : path.relative_path())
      if (!part.empty() && part != ".") end = std::next(ahead_.insert(end, part.string()));
    if (folder_ && !path.is_absolute()) return;
    at_ = path.is_absolute() ? "/" : "";
    enter(::open(path.is_absolute() ? "/" : ".", kFlags));
  }

  void enter(int fd) {
    if (fd < 0) refuse(std::strerror(errno));
    folder_ = Descriptor(fd);
  }

  void step(const std::string& name, bool is_last) {
    const fs::path above = at_;
    at_ /= name;
    struct stat facts {};
    const auto look = [&] {
      return ::fstatat(folder_.get(), name.c_str(), &facts, AT_SYMLINK_NOFOLLOW) == 0;
    };
    if (!look()) {
      if (errno != ENOENT || (::mkdirat(folder_.get(), name.c_str(), 0777) != 0 && errno != EEXIST))
        cannot("create", at_, std::strerror(errno));
      if (!look()) refuse(std::strerror(errno));
    }
    const bool is_ours = facts.st_uid == ::geteuid();
    if (S_ISLNK(facts.st_mode)) {
      if (is_last) refuse("it is a link, which is not followed; name its target");
      if (!is_ours && facts.st_uid != root_) refuse("it is a link owned by another user");
      if (++links_ > kMostLinks) refuse(std::strerror(ELOOP));
      std::string target(4096, '\0');
      const ssize_t n = ::readlinkat(folder_.get(), name.c_str(), target.data(), target.size());
      if (n < 0) refuse(std::strerror(errno));
      target.resize(static_cast<std::size_t>(n));
      at_ = above;
      return follow(target);
    }
    enter(::openat(folder_.get(), name.c_str(), kFlags));
    if (::fstat(folder_.get(), &facts) != 0) refuse(std::strerror(errno));
    if (facts.st_uid != ::geteuid() && (is_last || facts.st_uid != root_))
      refuse("it belongs to another user; use a folder of your own");
    if ((facts.st_mode & 002) != 0 && (is_last || (facts.st_mode & S_ISVTX) == 0))
      refuse("every user may write to it; close it to them (chmod o-w), or use another folder");
  }

  static constexpr int kFlags = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
  // The owner of "/": root, or the overflow user if root is not mapped here.
  static uid_t owner_of_all() {
    struct stat facts {};
    return ::stat("/", &facts) == 0 ? facts.st_uid : 0;
  }

  const fs::path& whole_;
  const uid_t root_ = owner_of_all();
  std::deque<std::string> ahead_;
  fs::path at_;
  Descriptor folder_;
  int links_ = 0;
};

}  // namespace

void make_own_folder(const fs::path& path) { Walk(path).to_the_end(); }

PrivateFolder::PrivateFolder(fs::path path) : path_(std::move(path)) {
  if (!path_.has_filename() && path_.has_parent_path()) path_ = path_.parent_path();  // "a/"
  std::error_code error;
  if (path_.has_parent_path()) fs::create_directories(path_.parent_path(), error);
  if (error) cannot("create", path_, error.message());
  if (::mkdir(path_.c_str(), 0700) != 0 && errno != EEXIST)
    cannot("create", path_, std::strerror(errno));
  folder_ = Descriptor(::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!folder_) {
    const int why = errno;
    struct stat facts {};
    const bool link = ::lstat(path_.c_str(), &facts) == 0 && S_ISLNK(facts.st_mode);
    cannot("use", path_, link ? "it is a link, which is not followed" : std::strerror(why));
  }
  require_private(folder_.get(), path_);
}

fs::path PrivateFolder::anchored(const std::string& name) const {
  return fmt::format("/proc/self/fd/{}/{}", folder_.get(), name);
}

std::optional<std::string> PrivateFolder::read(const std::string& name, std::uint64_t most) const {
  const Descriptor file{::openat(folder_.get(), name.c_str(),
                                 O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)};
  struct stat facts {};
  if (!file || ::fstat(file.get(), &facts) != 0 || !S_ISREG(facts.st_mode) ||
      facts.st_uid != ::geteuid() || (facts.st_mode & 022) != 0 ||
      static_cast<std::uint64_t>(facts.st_size) > most)
    return std::nullopt;
  std::string bytes(static_cast<std::size_t>(facts.st_size), '\0');
  for (std::size_t at = 0; at < bytes.size();) {
    const ssize_t n = read_some(file.get(), std::span(bytes).subspan(at));
    if (n <= 0) return std::nullopt;
    at += static_cast<std::size_t>(n);
  }
  return bytes;
}

void PrivateFolder::write(const std::string& name, std::string_view bytes) const {
  write(std::span(&name, 1), bytes);
}

void PrivateFolder::write(std::span<const std::string> names, std::string_view bytes) const {
  const std::string &name = names.front(), passing = another_name(name);
  int error = 0;
  {
    const Descriptor file{::openat(folder_.get(), passing.c_str(),
                                   O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600)};
    if (!file) cannot("write", path_ / name, std::strerror(errno));
    error = write_all(file.get(), bytes);
    if (error == 0 && ::fsync(file.get()) != 0 && errno != EINVAL && errno != EROFS) error = errno;
  }
  if (error != 0) {
    ::unlinkat(folder_.get(), passing.c_str(), 0);
    cannot("write", path_ / name, std::strerror(error));
  }
  // Link from a name that only we write: `name` may be another process's file by now.
  std::vector<std::string> alone;  // where hard links fail
  for (const std::string& other : names.subspan(1)) {
    const std::string second = another_name(other);
    if (::linkat(folder_.get(), passing.c_str(), folder_.get(), second.c_str(), 0) != 0 ||
        ::renameat(folder_.get(), second.c_str(), folder_.get(), other.c_str()) != 0)
      alone.push_back(other);
    ::unlinkat(folder_.get(), second.c_str(), 0);
  }
  rename(passing, name);
  for (const std::string& other : alone) write(other, bytes);
}

void PrivateFolder::mark_used(const std::string& name) const {
  struct stat facts {};
  if (::fstatat(folder_.get(), name.c_str(), &facts, AT_SYMLINK_NOFOLLOW) != 0 ||
      facts.st_mtime > std::time(nullptr) - 3600)
    return;
  // On failure the file is only trimmed earlier.
  (void)::utimensat(folder_.get(), name.c_str(), nullptr, AT_SYMLINK_NOFOLLOW);
}

std::optional<std::uint64_t> PrivateFolder::trim(std::string_view suffix, std::uint64_t most,
                                                 std::chrono::seconds spared) const {
  // A separate open file description makes the lock this call's own, whatever the thread.
  const Descriptor again{::openat(folder_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  if (!again || ::flock(again.get(), LOCK_EX | LOCK_NB) != 0) return std::nullopt;
  const int listed = ::openat(folder_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const std::unique_ptr<DIR, int (*)(DIR*)> list(listed < 0 ? nullptr : ::fdopendir(listed),
                                                 ::closedir);
  if (!list) return std::nullopt;

  struct File {
    std::vector<std::string> names;
    std::uint64_t bytes = 0;
    std::pair<std::time_t, long> used;
  };
  std::map<std::pair<dev_t, ino_t>, File> files;
  const std::time_t now = std::time(nullptr);
  std::uint64_t all = 0;
  while (const dirent* const entry = ::readdir(list.get())) {
    const std::string name = entry->d_name;
    struct stat facts {};
    if (::fstatat(folder_.get(), name.c_str(), &facts, AT_SYMLINK_NOFOLLOW) != 0 ||
        !S_ISREG(facts.st_mode))
      continue;
    if (name.ends_with(".tmp") && facts.st_mtime < now - 3600)
      ::unlinkat(folder_.get(), name.c_str(), 0);
    if (!name.ends_with(suffix)) continue;
    File& file = files[{facts.st_dev, facts.st_ino}];
    if (file.names.empty()) {
      file.bytes = static_cast<std::uint64_t>(facts.st_blocks) * 512;
      file.used = {facts.st_mtim.tv_sec, facts.st_mtim.tv_nsec};
      all += file.bytes;
    }
    file.names.push_back(name);
  }
  if (all <= most) return all;

  std::vector<const File*> oldest;
  for (const auto& [id, file] : files)
    if (file.used.first <= now - spared.count()) oldest.push_back(&file);
  std::ranges::sort(oldest, {}, [](const File* f) { return f->used; });
  const auto is_old = [&](const std::string& name) {  // rechecked: others may write meanwhile
    struct stat facts {};
    return ::fstatat(folder_.get(), name.c_str(), &facts, AT_SYMLINK_NOFOLLOW) == 0 &&
           facts.st_mtim.tv_sec <= now - spared.count();
  };
  for (const File* file : oldest) {
    if (all <= most) break;
    for (const std::string& name : file->names)
      if (is_old(name)) ::unlinkat(folder_.get(), name.c_str(), 0);
    all -= file->bytes;
  }
  return all;
}

void PrivateFolder::rename(const std::string& from, const std::string& to) const {
  if (::renameat(folder_.get(), from.c_str(), folder_.get(), to.c_str()) == 0) {
    // rename(2) does nothing if both names are one file.
    ::unlinkat(folder_.get(), from.c_str(), 0);
    return;
  }
  const int error = errno;
  ::unlinkat(folder_.get(), from.c_str(), 0);
  cannot("write", path_ / to, std::strerror(error));
}

}  // namespace touchstone
