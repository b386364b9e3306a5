#include "touchstone/process/child.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>

#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "touchstone/base/error.h"
#include "touchstone/base/interrupt.h"
#include "touchstone/process/supervisor.h"

namespace touchstone::process {
namespace {

// Time allowed for a supervisor to end its descendants.
constexpr std::chrono::seconds kMostForEnding{2};
constexpr std::chrono::milliseconds kMostForEndingAll{300};

// Supervisors of running children, each with a descriptor that is readable once it has ended. Never
// destroyed, since threads that have children may outlive main.
struct Living {
  std::mutex mutex;
  std::map<pid_t, int> supervisors;
  bool none_more = false;
};
Living& living() {
  static auto* const only = new Living;
  return *only;
}

[[noreturn]] void cannot(const std::string& what, int error) {
  throw SystemError(fmt::format("cannot run {}: {}", what, std::strerror(error)));
}

struct Ends {
  Descriptor ours, theirs;
};

// Moves a child's descriptor above 0, 1 and 2, which the child is about to replace.
Descriptor above_standard(int fd) {
  if (fd > 2) return Descriptor(fd);
  const Descriptor low(fd);
  return Descriptor(::fcntl(fd, F_DUPFD_CLOEXEC, 3));
}

// Sockets, because writing to a closed one can be kept from raising a signal, unlike a pipe.
Ends open_sockets(const std::string& what) {
  int fds[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) != 0) cannot(what, errno);
  return {above_standard(fds[0]), above_standard(fds[1])};
}

Ends open_pipe(const std::string& what) {
  int fds[2];
  if (::pipe2(fds, O_CLOEXEC) != 0) cannot(what, errno);
  return {above_standard(fds[0]), above_standard(fds[1])};
}

Ends open_output(const std::string& what) {
  Ends ends = open_pipe(what);
  if (::fcntl(ends.ours.get(), F_SETFL, O_NONBLOCK) != 0) cannot(what, errno);
  return ends;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> all;
  for (std::string& t : texts) all.push_back(t.data());
  all.push_back(nullptr);
  return all;
}

// Reads all reports on the child until the pipe is closed.
Report read_reports(int pipe) {
  Report all{0, 0, 0};
  for (Report one{};;) {
    if (read_some(pipe, {reinterpret_cast<char*>(&one), sizeof one}) != sizeof one) return all;
    if (one.pid != 0) all.pid = one.pid;
    if (one.error != 0) all.error = one.error;
    all.missing |= one.missing;
  }
}

}  // namespace

// Starts the supervisor of a child with the given orders.
struct Child::Start {
  Child child;
  Descriptor report;

  // The lock is held while the child's ends are open here: a child that another thread starts
  // meanwhile would inherit them.
  void fork_with(Orders& orders, Ends pipe, const std::string& what) {
    if (living().none_more) throw Interrupted();
    orders.parent = ::getpid();
    orders.report = pipe.theirs.get();
    child.stacks_ = std::make_unique<Stacks>();
    if (orders.work == nullptr && !child.stacks_->reserve()) cannot(what, errno);
    const pid_t pid = start_supervisor(orders, *child.stacks_);
    if (pid < 0) cannot(what, errno);
    ::setpgid(pid, pid);  // the supervisor does so too; either may be first
    child.supervisor_ = pid;
    child.supervised_ = Descriptor(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
    living().supervisors.emplace(pid, child.supervised_.get());
    report = std::move(pipe.ours);
  }

  Child take(const std::string& what) {
    const Report told = read_reports(report.get());
    child.pid_ = told.pid;
    child.missing_ = told.missing;
    if (told.error != 0 || told.pid == 0) {
      child.end();
      cannot(what, told.error != 0 ? told.error : ECHILD);
    }
    return std::move(child);
  }
};

bool Ending::is_signal() const { return WIFSIGNALED(status); }
int Ending::signal() const { return WTERMSIG(status); }
int Ending::exit_code() const { return is_signal() ? 128 + signal() : WEXITSTATUS(status); }

std::string Ending::text() const {
  if (is_signal()) return fmt::format("signal {} ({})", signal(), ::strsignal(signal()));
  return fmt::format("exit code {}", exit_code());
}

Child Child::of_program(const ChildCommand& program, const Refused& refused, Errors errors) {
  std::vector<std::string> words{program.file.string()};
  words.insert(words.end(), program.arguments.begin(), program.arguments.end());
  // Some systems create a namespace but refuse to map its user.
  static std::atomic<bool> has_namespaces = true;
  const std::optional<Room> room =
      program.room.empty()
          ? std::nullopt
          : std::optional<Room>(
                std::in_place, program.room,
                program.inherits == Inherits::Tool ? Room::Kind::Tool : Room::Kind::Backend,
                has_namespaces, words);
  std::vector<std::string> changes = program.environment;
  if (room) std::ranges::copy(room->environment(), std::back_inserter(changes));
  std::vector<std::string> environment = environment_for(program.inherits, changes);
  const std::string& what = words[0];
  const std::filesystem::path file =
      what.find('/') == what.npos ? find_program(what) : program.file;
  if (file.empty()) cannot(what, ENOENT);
  std::vector<std::string> shell_words = words;
  shell_words[0] = file.string();
  shell_words.insert(shell_words.begin(), "/bin/sh");
  const std::vector<char*> argv = pointers(words), envp = pointers(environment),
                           shell = pointers(shell_words);
  Orders orders;  // used until the child has started
  Start start;
  {
    const std::scoped_lock lock(living().mutex);
    Ends in = open_sockets(what), out = open_output(what), err;
    if (errors == Errors::Apart) err = open_output(what);
    orders.refused = refused;
    orders.file = file.c_str();
    orders.words = argv.data();
    orders.shell_words = shell.data();
    orders.environment = envp.data();
    orders.room = room ? &*room : nullptr;
    orders.standard[0] = in.theirs.get();
    orders.standard[1] = out.theirs.get();
    orders.standard[2] = errors == Errors::Apart ? err.theirs.get() : out.theirs.get();
    start.child.input_ = std::move(in.ours);
    start.child.output_ = std::move(out.ours);
    start.child.errors_ = std::move(err.ours);
    start.fork_with(orders, open_pipe(what), what);
  }
  Child child = start.take(what);
  if (child.missing_ != Room::kStranded) return child;
  has_namespaces = false;
  return of_program(program, refused, errors);
}

Child Child::of_function(const Work& work, const Refused& refused) {
  const std::string what = "a copy of this process";
  Start start;
  std::fflush(nullptr);  // otherwise the copy would write buffered output again
  {
    const std::scoped_lock lock(living().mutex);
    Ends ends = open_sockets(what);
    const std::function<int()> inside = [&] {
      // The parent's supervisors are not the copy's; the copied thread holds the lock.
      living().supervisors.clear();
      living().none_more = false;
      living().mutex.unlock();
      ends.ours.close();
      return work(ends.theirs.get());
    };
    Orders orders;
    orders.refused = refused;
    orders.work = &inside;
    start.fork_with(orders, open_pipe(what), what);
    start.child.input_ = std::move(ends.ours);
  }
  return start.take(what);
}

Child::Child() = default;

Child::Child(Child&& other) noexcept { *this = std::move(other); }

Child& Child::operator=(Child&& other) noexcept {
  std::swap(supervisor_, other.supervisor_);
  std::swap(pid_, other.pid_);
  std::swap(missing_, other.missing_);
  std::swap(stacks_, other.stacks_);
  std::swap(supervised_, other.supervised_);
  std::swap(input_, other.input_);
  std::swap(output_, other.output_);
  std::swap(errors_, other.errors_);
  return *this;
}

Child::~Child() {
  if (supervisor_ > 0) end();
}

void Child::close_input() {
  // Works even if a copy of this process holds the socket.
  if (input_) ::shutdown(input_.get(), SHUT_WR);
  input_.close();
}

void Child::read_channel_as_output() {
  std::swap(input_, output_);
  ::fcntl(output_.get(), F_SETFL, O_NONBLOCK);
}

bool Child::ends_before(Clock::time_point deadline) const {
  for (;;) {
    siginfo_t info{};
    if (::waitid(P_PID, static_cast<id_t>(supervisor_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
        info.si_pid == supervisor_)
      return true;
    const int left = milliseconds_until(deadline);
    if (left == 0) return false;
    pollfd ended{supervised_.get(), POLLIN, 0};
    // pidfd_open needs Linux 5.3; without it, poll.
    ::poll(&ended, 1, supervised_ ? left : std::min(left, 5));
  }
}

void Child::kill() const { ::kill(supervisor_, SIGTERM); }

Ending Child::end() {
  Ending ending;
  if (!has_ended()) {
    ending.by_us = true;
    kill();
    // A stopped supervisor, or one waiting for an unkillable process, must be killed.
    if (!ends_before(Clock::now() + kMostForEnding)) ::kill(supervisor_, SIGKILL);
  }
  {
    const std::scoped_lock lock(living().mutex);
    living().supervisors.erase(supervisor_);
  }
  rusage used{};
  while (::wait4(supervisor_, &ending.status, 0, &used) < 0 && errno == EINTR) {
  }
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
  };
  ending.seconds = seconds(used.ru_utime) + seconds(used.ru_stime);
  supervisor_ = pid_ = -1;
  stacks_.reset();
  for (Descriptor* d : {&supervised_, &input_, &output_, &errors_}) d->close();
  return ending;
}

void end_all_children() noexcept {
  // Held throughout, so that no supervisor is reaped and no process id reused.
  const std::scoped_lock lock(living().mutex);
  living().none_more = true;
  for (const auto& [pid, ended] : living().supervisors) ::kill(pid, SIGTERM);
  const Clock::time_point deadline = Clock::now() + kMostForEndingAll;
  for (const auto& [pid, ended] : living().supervisors) {
    pollfd waiting{ended, POLLIN, 0};
    ::poll(&waiting, 1, milliseconds_until(deadline));
  }
}

bool all_children_end() noexcept {
  const std::scoped_lock lock(living().mutex);
  return living().none_more;
}

int milliseconds_until(Clock::time_point deadline) {
  if (deadline == Clock::time_point::max()) return 60'000;
  if (deadline == Clock::time_point::min()) return 0;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, 60'000));
}

std::filesystem::path find_program(const std::string& name) {
  const auto runs = [](const std::filesystem::path& p) {
    std::error_code ignored;  // a name that is too long matches no program
    return std::filesystem::is_regular_file(p, ignored) && ::access(p.c_str(), X_OK) == 0;
  };
  if (name.find('/') != std::string::npos) return runs(name) ? std::filesystem::path(name) : "";
  const char* const path = std::getenv("PATH");
  std::string_view rest = path == nullptr ? "/usr/bin:/bin" : path;
  while (!rest.empty()) {
    const std::size_t colon = rest.find(':');
    const std::filesystem::path candidate =
        std::filesystem::path(rest.substr(0, colon).empty() ? "." : rest.substr(0, colon)) / name;
    std::error_code ignored;
    if (std::filesystem::exists(candidate, ignored) && runs(candidate)) return candidate;
    rest = colon == std::string_view::npos ? "" : rest.substr(colon + 1);
  }
  return {};
}

}  // namespace touchstone::process
