#include "touchstone/base/line_log.h"

#include <cerrno>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "touchstone/base/error.h"
#include "touchstone/base/file.h"
#include "touchstone/base/json_fault.h"

namespace touchstone {
namespace {

[[noreturn]] void cannot(const char* what, const std::filesystem::path& path) {
  throw SystemError(
      fmt::format("cannot {} the log '{}': {}", what, path.string(), std::strerror(errno)));
}

}  // namespace

LineLog::LineLog(const std::filesystem::path& path, const std::string& first, bool resume)
    : path_(path) {
  constexpr int kHow = O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW;
  file_ = Descriptor(::open(path.c_str(), kHow, 0666));
  if (!file_ && errno == ELOOP)
    throw SystemError(fmt::format("'{}' is a link; name the log file itself", path.string()));
  if (!file_) cannot("open", path);
  struct stat facts {};
  if (::fstat(file_.get(), &facts) != 0) cannot("read", path);
  if (!S_ISREG(facts.st_mode))
    throw SystemError(fmt::format("'{}' is not a regular file and cannot be a log", path.string()));
  if (facts.st_uid != ::geteuid())
    throw SystemError(
        fmt::format("'{}' belongs to another user; choose another log", path.string()));
  if (::flock(file_.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) cannot("lock", path);
    throw SystemError(fmt::format("another run is writing to '{}'", path.string()));
  }
  if (facts.st_size == 0)
    add(first);
  else
    take_up(first, resume);
}

LineLog::LineLog(int file, const std::filesystem::path& name, const std::string& first)
    : path_(name), file_(::fcntl(file, F_DUPFD_CLOEXEC, 3)) {
  if (!file_) cannot("open", path_);
  add(first);
}

void LineLog::take_up(const std::string& first, bool resume) {
  if (!resume)
    throw ParseError(fmt::format(
        "'{}' already exists: continue it with --resume, or choose another log", path_.string()));
  const std::string text = read_file(path_, std::uint64_t{4} << 30);
  std::size_t whole = 0;
  bool begun = false;
  for (std::size_t end = 0; (end = text.find('\n', whole)) != std::string::npos; whole = end + 1) {
    std::string line = text.substr(whole, end - whole);
    if (std::exchange(begun, true))
      lines_.push_back(std::move(line));
    else if (line != first)
      throw ParseError(
          fmt::format("'{}' belongs to another run: it begins with\n  {}\nthis one with\n  {}",
                      path_.string(), line.substr(0, 1000), first));
  }
  if (::ftruncate(file_.get(), static_cast<off_t>(whole)) != 0) cannot("mend", path_);
  if (!begun) add(first);
}

void LineLog::read_json(const std::function<void(const std::string&)>& take) const {
  for (std::size_t i = 0; i < lines_.size(); ++i) try {
      require_shallow_json(lines_[i]);
      take(lines_[i]);
    } catch (const std::exception& e) {  // of ours or of the JSON library
      throw ParseError(fmt::format(
          "{}:{}: damaged: {}; truncate the file before this line to continue from there",
          path_.string(), i + 2, json_fault(e.what())));
    }
}

void LineLog::add(std::string_view line) {
  std::string whole(line);
  whole += '\n';
  if (write_all(file_.get(), whole) != 0) cannot("write", path_);
}

}  // namespace touchstone
