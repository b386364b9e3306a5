#include "touchstone/foreign/child.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <mutex>
#include <set>
#include <thread>

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "touchstone/base/error.h"

namespace touchstone::foreign {
namespace {

constexpr std::size_t kKeptErrors = 2000;  // bytes of its standard error

struct Ends {
  int ours = -1, theirs = -1;
};

void close_all(std::initializer_list<int*> fds) {
  for (int* fd : fds) {
    if (*fd >= 0) ::close(*fd);
    *fd = -1;
  }
}

// A pair of sockets: unlike a pipe, writing to one that nobody reads raises no signal.
bool open_input(Ends& ends) {
  int fds[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) != 0) return false;
  ends = {fds[0], fds[1]};
  return true;
}

bool open_output(Ends& ends) {
  int fds[2];
  if (::pipe2(fds, O_CLOEXEC) != 0) return false;
  ends = {fds[0], fds[1]};
  return ::fcntl(fds[0], F_SETFL, O_NONBLOCK) == 0;
}

void limit(decltype(RLIMIT_AS) what, rlim_t most) {
  struct rlimit now {};
  if (::getrlimit(what, &now) != 0) return;
  now.rlim_cur = std::min(now.rlim_max, most);
  now.rlim_max = now.rlim_cur;
  ::setrlimit(what, &now);
}

[[noreturn]] void report_and_leave(int report) {
  const int error = errno;
  [[maybe_unused]] const ssize_t n = ::write(report, &error, sizeof error);
  ::_exit(127);
}

// Between fork and exec: nothing here, nor in lead, may allocate or lock. Writes errno to `report`
// where it fails.
[[noreturn]] void become(char* const* argv, const Limits& limits, const Ends& in, const Ends& out,
                         const Ends& err, int report, pid_t leader) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != leader) ::_exit(127);  // it went before it could be watched
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::signal(SIGPIPE, SIG_DFL);
  if (limits.memory != 0) {
    limit(RLIMIT_AS, limits.memory);
    limit(RLIMIT_FSIZE, limits.memory);
  }
  if (::dup2(in.theirs, 0) >= 0 && ::dup2(out.theirs, 1) >= 0 && ::dup2(err.theirs, 2) >= 0)
    ::execvp(argv[0], argv);
  report_and_leave(report);
}

void close_everything() {
  if (::close_range(0, ~0U, 0) == 0) return;
  for (int fd = 0; fd < 4096; ++fd) ::close(fd);
}

[[noreturn]] void end_as(int status) {
  if (WIFEXITED(status)) ::_exit(WEXITSTATUS(status));
  const int signal = WTERMSIG(status);
  ::signal(signal, SIG_DFL);
  sigset_t only;
  ::sigemptyset(&only);
  ::sigaddset(&only, signal);
  ::sigprocmask(SIG_UNBLOCK, &only, nullptr);
  ::raise(signal);
  ::_exit(128 + signal);
}

// Leads the group: starts the program, ends as it does, and ends the whole group where our process
// goes before, which no signal to the program alone would do: it may be a shell with children.
[[noreturn]] void lead(char* const* argv, const Limits& limits, const Ends& in, const Ends& out,
                       const Ends& err, int report, pid_t parent) {
  ::setpgid(0, 0);
  sigset_t all;
  ::sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, nullptr);
  ::signal(SIGCHLD, SIG_DFL);
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() != parent) ::_exit(127);
  limit(RLIMIT_CORE, 0);
  const pid_t leader = ::getpid();
  const pid_t program = ::_Fork();
  if (program == 0) become(argv, limits, in, out, err, report, leader);
  if (program < 0) report_and_leave(report);
  close_everything();
  sigset_t awaited;
  ::sigemptyset(&awaited);
  for (const int signal : {SIGCHLD, SIGTERM, SIGHUP, SIGINT, SIGQUIT})
    ::sigaddset(&awaited, signal);
  for (;;) {
    const int signal = ::sigwaitinfo(&awaited, nullptr);
    int status = 0;
    if (::waitpid(program, &status, WNOHANG) == program) end_as(status);
    if (signal > 0 && signal != SIGCHLD) ::kill(0, SIGKILL);
  }
}

// Leaders of the children there are.
struct Living {
  std::mutex mutex;
  std::set<pid_t> leaders;
  bool none_more = false;
};
Living& living_children() {
  static auto* const only = new Living;
  return *only;
}

void note_child(pid_t leader) {
  const std::scoped_lock lock(living_children().mutex);
  living_children().leaders.insert(leader);
  if (living_children().none_more) ::kill(-leader, SIGKILL);
}

void forget_child(pid_t leader) {
  const std::scoped_lock lock(living_children().mutex);
  living_children().leaders.erase(leader);
}

int reap(pid_t pid) {
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

// Whether it has ended; it stays there to be reaped, so that its number stays its own.
bool has_ended(pid_t pid) {
  siginfo_t info{};
  return ::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
         info.si_pid == pid;
}

int milliseconds_until(Clock::time_point deadline) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, 60'000));
}

std::string signal_text(int signal) {
  return fmt::format("signal {} ({})", signal, ::strsignal(signal));
}

}  // namespace

Child::Child(std::vector<std::string> argv, const Limits& limits) {
  std::vector<char*> words;
  for (std::string& a : argv) words.push_back(a.data());
  words.push_back(nullptr);
  Ends in, out, err, report;
  const auto close_ours = [&] { close_all({&in.ours, &out.ours, &err.ours, &report.ours}); };
  const auto close_theirs = [&] {
    close_all({&in.theirs, &out.theirs, &err.theirs, &report.theirs});
  };
  int error = 0;
  if (open_input(in) && open_output(out) && open_output(err) && open_output(report)) {
    const pid_t parent = ::getpid();
    pid_ = ::fork();
    if (pid_ == 0) lead(words.data(), limits, in, out, err, report.theirs, parent);
    if (pid_ < 0) error = errno;
  } else {
    error = errno;
  }
  close_theirs();
  if (pid_ > 0) {
    ::setpgid(pid_, pid_);  // as the child does: whoever comes first
    struct pollfd told {
      report.ours, POLLIN, 0
    };
    while (::poll(&told, 1, -1) < 0 && errno == EINTR) {
    }
    if (::read(report.ours, &error, sizeof error) != sizeof error) error = 0;  // exec closed it
  }
  if (error != 0) {
    close_ours();
    if (pid_ > 0) reap(pid_);
    throw SystemError(fmt::format("cannot run {}: {}", argv[0], std::strerror(error)));
  }
  note_child(pid_);
  close_all({&report.ours});
  in_ = in.ours;
  out_ = out.ours;
  err_ = err.ours;
}

Child::~Child() {
  end();
  close_all({&in_, &out_, &err_});
}

// False at the end of the output.
bool Child::take_output() {
  std::array<char, 65536> piece;
  const ssize_t n = ::read(out_, piece.data(), piece.size());
  if (n > 0) output_.append(piece.data(), static_cast<std::size_t>(n));
  return n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR));
}

bool Child::take_errors() {
  std::array<char, 65536> piece;
  const ssize_t n = ::read(err_, piece.data(), piece.size());
  if (n > 0) {
    errors_.append(piece.data(), static_cast<std::size_t>(n));
    if (errors_.size() > kKeptErrors) errors_.erase(0, errors_.size() - kKeptErrors);
  }
  return n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR));
}

bool Child::next_line(std::string& line) {
  const std::size_t end = output_.find('\n');
  if (end == std::string::npos) return false;
  line = output_.substr(0, end);
  output_.erase(0, end + 1);
  if (line.ends_with('\r')) line.pop_back();
  return true;
}

Child::Heard Child::ask(std::string_view text, std::string& line, std::size_t most,
                        Clock::time_point deadline) {
  took_all_ = text.empty();
  for (;;) {
    if (next_line(line)) return line.size() > most ? Heard::TooMuch : Heard::Line;
    if (output_.size() > most) return Heard::TooMuch;
    if (Clock::now() >= deadline) return Heard::Nothing;
    std::array<pollfd, 3> waiting{
        {{out_, POLLIN, 0}, {err_, POLLIN, 0}, {text.empty() ? -1 : in_, POLLOUT, 0}}};
    if (::poll(waiting.data(), waiting.size(), milliseconds_until(deadline)) < 0) {
      if (errno == EINTR) continue;
      throw SystemError(fmt::format("cannot wait for a backend: {}", std::strerror(errno)));
    }
    if (waiting[1].revents != 0 && !take_errors()) close_all({&err_});
    if (waiting[2].revents != 0) {
      const ssize_t n = ::send(in_, text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      if (n >= 0)
        text.remove_prefix(static_cast<std::size_t>(n));
      else if (errno != EAGAIN && errno != EINTR)
        text = {};  // it no longer reads; that its output ends says why
      took_all_ = text.empty();
    }
    if (waiting[0].revents != 0 && !take_output()) {
      while (err_ >= 0 && errors_.size() < kKeptErrors) {
        const std::size_t before = errors_.size();
        if (!take_errors()) close_all({&err_});
        if (errors_.size() == before) break;
      }
      return Heard::Ended;
    }
  }
}

std::string Child::end() {
  if (pid_ < 0) return "it was ended";
  // One that closed its output is about to end by itself, and how it does is worth knowing.
  const auto patience = Clock::now() + std::chrono::seconds(5);
  close_all({&in_});
  bool by_itself = has_ended(pid_);
  while (!by_itself && out_ >= 0 && Clock::now() < patience) {
    struct pollfd closed {
      out_, 0, 0
    };
    if (::poll(&closed, 1, 0) == 0 || (closed.revents & POLLHUP) == 0) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    by_itself = has_ended(pid_);
  }
  ::kill(-pid_, SIGKILL);
  forget_child(pid_);
  const int status = reap(pid_);
  pid_ = -1;
  if (!by_itself) return "it was ended";
  if (WIFSIGNALED(status)) return "it was ended by " + signal_text(WTERMSIG(status));
  const int code = WEXITSTATUS(status);
  if (code > 128 && code < 128 + SIGSYS)  // a shell's word for it
    return fmt::format("it ended with status {}, which is {}", code, signal_text(code - 128));
  return fmt::format("it ended with status {}", code);
}

std::string Child::last_words() const {
  std::string_view words = errors_;
  while (!words.empty() && static_cast<unsigned char>(words.back()) <= ' ') words.remove_suffix(1);
  words.remove_prefix(words.rfind('\n') + 1);
  constexpr std::size_t kShown = 300;
  std::string line(words.substr(words.size() - std::min(words.size(), kShown)));
  for (char& c : line)
    if (static_cast<unsigned char>(c) < ' ') c = ' ';
  return line;
}

void end_all_children() noexcept {
  const std::scoped_lock lock(living_children().mutex);
  living_children().none_more = true;
  for (const pid_t leader : living_children().leaders) ::kill(-leader, SIGKILL);
}

}  // namespace touchstone::foreign
