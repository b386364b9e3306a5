#include "touchstone/process/supervisor.h"

#include <algorithm>
#include <cerrno>
#include <csignal>

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace touchstone::process {
namespace {

// Sent where a thread of the parent ends, and so may be no news.
constexpr int kParentMayHaveEnded = SIGUSR1;

void limit(decltype(RLIMIT_AS) what, rlim_t most, rlim_t grace = 0) {
  struct rlimit now {};
  if (::getrlimit(what, &now) != 0) return;
  now.rlim_max = std::min(now.rlim_max, most + grace);
  now.rlim_cur = std::min(now.rlim_max, most);
  ::setrlimit(what, &now);
}

void tell(int report, const Report& what) {
  [[maybe_unused]] const ssize_t n = ::write(report, &what, sizeof what);
}

void take_signals(sighandler_t for_closed_pipes) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGCHLD}) ::signal(signal, SIG_DFL);
  ::signal(SIGPIPE, for_closed_pipes);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

// In the child: its own group, its limits, and its end with the supervisor's.
void settle(const Refused& refused, pid_t supervisor) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != supervisor) ::_exit(127);  // it went before it could be watched
  if (refused.memory != 0) limit(RLIMIT_AS, refused.memory);
  if (refused.file != 0) limit(RLIMIT_FSIZE, refused.file);
  if (const auto seconds = refused.processor.count(); seconds > 0)
    limit(RLIMIT_CPU, static_cast<rlim_t>(seconds), 1);
}

[[noreturn]] void become(const Orders& o, pid_t supervisor) {
  settle(o.refused, supervisor);
  if (::dup2(o.standard[0], 0) >= 0 && ::dup2(o.standard[1], 1) >= 0 &&
      ::dup2(o.standard[2], 2) >= 0) {
    take_signals(SIG_DFL);
    ::execvpe(o.words[0], o.words, o.environment);
  }
  tell(o.report, {.pid = 0, .error = errno});
  ::_exit(127);
}

[[noreturn]] void call(const Orders& o, pid_t supervisor) {
  ::close(o.report);
  settle(o.refused, supervisor);
  take_signals(SIG_IGN);
  int code = 125;
  try {
    code = (*o.work)();
  } catch (...) {
    // Whoever knows what to do about it caught it.
  }
  ::_exit(code);
}

void close_everything() {
  if (::close_range(0, ~0U, 0) == 0) return;
  for (int fd = 0; fd < 4096; ++fd) ::close(fd);
}

// Ends what is a child of this process. False where the system does not list them.
bool kill_children() {
  const int list = ::open("/proc/thread-self/children", O_RDONLY | O_CLOEXEC);
  if (list < 0) return false;
  char text[4096];
  pid_t number = 0;
  for (ssize_t n = 0; (n = ::read(list, text, sizeof text)) > 0;)
    for (ssize_t i = 0; i < n; ++i) {
      if (text[i] >= '0' && text[i] <= '9') {
        number = 10 * number + (text[i] - '0');
        continue;
      }
      if (number > 1) ::kill(number, SIGKILL);
      number = 0;
    }
  ::close(list);
  return true;
}

// The children of what ends become ours, so that in the end there is none.
void end_descendants(pid_t child) {
  ::kill(-child, SIGKILL);
  while (kill_children())
    if (::waitpid(-1, nullptr, 0) < 0 && errno == ECHILD) return;
}

[[noreturn]] void end_by(int signal) {
  ::signal(signal, SIG_DFL);
  sigset_t only;
  ::sigemptyset(&only);
  ::sigaddset(&only, signal);
  ::sigprocmask(SIG_UNBLOCK, &only, nullptr);
  ::kill(::getpid(), signal);
  ::_exit(128 + signal);
}

[[noreturn]] void end_as(int status) {
  if (WIFEXITED(status)) ::_exit(WEXITSTATUS(status));
  end_by(WTERMSIG(status));
}

// Takes in all that has ended; true where the child is among them.
bool reap(pid_t child, int& status) {
  bool ended = false;
  int how = 0;
  for (pid_t pid = 0; (pid = ::waitpid(-1, &how, WNOHANG)) > 0;)
    if (pid == child) {
      ended = true;
      status = how;
    }
  return ended;
}

}  // namespace

void supervise(const Orders& o) {
  sigset_t all, awaited;
  ::sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, nullptr);
  ::signal(SIGCHLD, SIG_DFL);
  ::setpgid(0, 0);
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  ::prctl(PR_SET_PDEATHSIG, kParentMayHaveEnded);
  if (::getppid() != o.parent) ::_exit(127);
  limit(RLIMIT_CORE, 0);
  const pid_t self = ::getpid();
  const pid_t child = o.work != nullptr ? ::fork() : ::vfork();
  if (child == 0) o.work != nullptr ? call(o, self) : become(o, self);
  if (child < 0) {
    tell(o.report, {.pid = 0, .error = errno});
    ::_exit(127);
  }
  ::setpgid(child, child);  // as it does: whoever comes first
  tell(o.report, {.pid = child, .error = 0});
  close_everything();
  ::sigemptyset(&awaited);
  for (const int signal : {SIGCHLD, kParentMayHaveEnded, SIGTERM, SIGHUP, SIGINT, SIGQUIT})
    ::sigaddset(&awaited, signal);
  for (;;) {
    const int signal = ::sigwaitinfo(&awaited, nullptr);
    int status = 0;
    if (reap(child, status)) {
      end_descendants(child);
      end_as(status);
    }
    if (signal <= 0 || signal == SIGCHLD) continue;
    if (signal == kParentMayHaveEnded && ::getppid() == o.parent) continue;
    end_descendants(child);
    end_by(SIGKILL);
  }
}

}  // namespace touchstone::process
