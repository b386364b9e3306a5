#include "touchstone/process/supervisor.h"

#include <cerrno>
#include <csignal>

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "touchstone/process/raw_call.h"

// Compiled without sanitizers (CMakeLists.txt): for a program, this runs in the memory and with the
// thread-local storage of the thread that started it. So nothing from start_in_our_memory on may
// call libc, nor contain code that a compiler turns into such a call.

namespace touchstone::process {
namespace {

// Sent when any thread of the parent ends, so the parent may still be running.
constexpr int kParentMayHaveEnded = SIGUSR1;
constexpr std::size_t kStack = std::size_t{64} << 10;
constexpr long kMaskBytes = 8;
#ifdef TOUCHSTONE_SUPERVISOR_FORKS  // ThreadSanitizer needs one thread per process
constexpr bool kSharesMemory = false;
#else
constexpr bool kSharesMemory = true;
#endif
constexpr int kSignals = 64;

constexpr unsigned long mask_of(int signal) { return 1UL << (signal - 1); }

[[noreturn]] void leave(int code) {
  for (;;) raw_call(SYS_exit_group, code);
}

void set_mask(unsigned long mask) {
  raw_call(SYS_rt_sigprocmask, SIG_SETMASK, as_long(&mask), 0, kMaskBytes);
}

// The array is the kernel's sigaction: handler, flags, restorer, mask.
void take_by_default(int signal) {
  const volatile unsigned long fresh[4] = {0, 0, 0, 0};
  raw_call(SYS_rt_sigaction, signal, as_long(&fresh[0]), 0, kMaskBytes);
}

void limit(int what, unsigned long most, unsigned long grace = 0) {
  struct {
    unsigned long now = 0, most = 0;
  } limits;
  if (raw_call(SYS_prlimit64, 0, what, 0, as_long(&limits)) != 0) return;
  if (most + grace < limits.most) limits.most = most + grace;
  limits.now = most < limits.most ? most : limits.most;
  raw_call(SYS_prlimit64, 0, what, as_long(&limits), 0);
}

void tell(int report, pid_t pid, long error, unsigned missing = 0) {
  const Report what{pid, static_cast<int>(error), missing};
  raw_call(SYS_write, report, as_long(&what), sizeof what);
}

// In the child: sets its process group and limits, and ties its life to the supervisor's.
void settle(const Refused& refused, pid_t supervisor) {
  raw_call(SYS_setpgid, 0, 0);
  raw_call(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL);
  if (raw_call(SYS_getppid) != supervisor) leave(127);  // the supervisor has already died
  if (refused.memory != 0) limit(RLIMIT_AS, refused.memory);
  if (refused.file != 0) limit(RLIMIT_FSIZE, refused.file);
  if (const auto seconds = refused.processor.count(); seconds > 0)
    limit(RLIMIT_CPU, static_cast<unsigned long>(seconds), 1);
}

struct Beginning {
  const Orders* orders;
  const Stacks* stacks;
  pid_t supervisor;
};

// Runs the program; the supervisor waits for the exec.
int become(void* argument) {
  const auto& from = *static_cast<const Beginning*>(argument);
  const Orders& o = *from.orders;
  settle(o.refused, from.supervisor);
  long error = 0;
  for (int fd = 0; fd < 3 && error >= 0; ++fd) error = raw_call(SYS_dup3, o.standard[fd], fd, 0);
  if (error >= 0) {
    for (int signal = 1; signal <= kSignals; ++signal) take_by_default(signal);
    set_mask(0);
    if (o.room != nullptr) {
      const unsigned missing = o.room->enter();
      if (missing != 0) tell(o.report, 0, 0, missing);
      if (missing == Room::kStranded) leave(127);
    }
    error = raw_call(SYS_execve, as_long(o.file), as_long(o.words), as_long(o.environment));
    if (error == -ENOEXEC)  // as a shell does: perhaps a script without `#!`
      error = raw_call(SYS_execve, as_long(o.shell_words[0]), as_long(o.shell_words),
                       as_long(o.environment));
  }
  tell(o.report, 0, -error);
  leave(127);
}

// Runs the function, in a process with its own memory.
[[noreturn]] void call(const Orders& o, pid_t supervisor) {
  raw_call(SYS_close, o.report);
  settle(o.refused, supervisor);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGCHLD}) take_by_default(signal);
  ::signal(SIGPIPE, SIG_IGN);
  set_mask(0);
  int code = 125;
  try {
    code = (*o.work)();
  } catch (...) {
    // Callers that can handle an exception catch it in `work`.
  }
  ::_exit(code);
}

void close_everything() {
  if (raw_call(SYS_close_range, 0, ~0U, 0) == 0) return;
  for (int fd = 0; fd < 4096; ++fd) raw_call(SYS_close, fd);
}

// Kills all children of this process. False if the system does not list them.
bool kill_children() {
  const long list = raw_call(SYS_openat, AT_FDCWD, as_long("/proc/thread-self/children"), O_RDONLY);
  if (list < 0) return false;
  char text[4096];
  long number = 0;
  for (long n = 0; (n = raw_call(SYS_read, list, as_long(text), sizeof text)) > 0;)
    for (long i = 0; i < n; ++i) {
      // NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult): n characters were read
      if (text[i] >= '0' && text[i] <= '9') {
        number = 10 * number + (text[i] - '0');
        continue;
      }
      if (number > 1) raw_call(SYS_kill, number, SIGKILL);
      number = 0;
    }
  raw_call(SYS_close, list);
  return true;
}

// Children of killed processes become ours, so the loop reaches all descendants.
void end_descendants(long child) {
  raw_call(SYS_kill, -child, SIGKILL);
  while (kill_children())
    if (raw_call(SYS_wait4, -1, 0, 0) == -ECHILD) return;
}

[[noreturn]] void end_by(int signal) {
  take_by_default(signal);
  set_mask(~mask_of(signal));
  raw_call(SYS_kill, raw_call(SYS_getpid), signal);
  leave(128 + signal);
}

[[noreturn]] void end_as(int status) {
  if (WIFEXITED(status)) leave(WEXITSTATUS(status));
  end_by(WTERMSIG(status));
}

// Reaps all ended children; true if `child` is among them.
bool reap(long child, int& status) {
  bool ended = false;
  int how = 0;
  for (long pid = 0; (pid = raw_call(SYS_wait4, -1, as_long(&how), WNOHANG)) > 0;)
    if (pid == child) {
      ended = true;
      status = how;
    }
  return ended;
}

// `o` is valid only until the child has started.
[[noreturn]] void supervise(const Orders& o, const Stacks& stacks) {
  const pid_t parent = o.parent;
  set_mask(~0UL);
  take_by_default(SIGCHLD);
  raw_call(SYS_setpgid, 0, 0);
  raw_call(SYS_prctl, PR_SET_CHILD_SUBREAPER, 1);
  raw_call(SYS_prctl, PR_SET_PDEATHSIG, kParentMayHaveEnded);
  if (raw_call(SYS_getppid) != parent) leave(127);
  limit(RLIMIT_CORE, 0);
  const auto self = static_cast<pid_t>(raw_call(SYS_getpid));
  long child = 0;
  if (o.work != nullptr) {
    child = ::fork();
    if (child == 0) call(o, self);
  } else {
    Beginning from{&o, &stacks, self};
    child = kSharesMemory ? ::clone(become, stacks.top(1), CLONE_VM | CLONE_VFORK | SIGCHLD, &from)
                          : ::fork();
    if (!kSharesMemory && child == 0) become(&from);
  }
  if (child < 0) {
    tell(o.report, 0, errno);
    leave(127);
  }
  raw_call(SYS_setpgid, child, child);  // the child does so too; either may be first
  tell(o.report, static_cast<pid_t>(child), 0);
  close_everything();
  unsigned long awaited = 0;
  for (const int signal : {SIGCHLD, kParentMayHaveEnded, SIGTERM, SIGHUP, SIGINT, SIGQUIT})
    awaited |= mask_of(signal);
  for (;;) {
    const long signal = raw_call(SYS_rt_sigtimedwait, as_long(&awaited), 0, 0, kMaskBytes);
    int status = 0;
    if (reap(child, status)) {
      end_descendants(child);
      end_as(status);
    }
    if (signal <= 0 || signal == SIGCHLD) continue;
    if (signal == kParentMayHaveEnded && raw_call(SYS_getppid) == parent) continue;
    end_descendants(child);
    end_by(SIGKILL);
  }
}

int supervise_here(void* argument) {
  const auto& from = *static_cast<const Beginning*>(argument);
  supervise(*from.orders, *from.stacks);
}

// The clone starts with all signals blocked, so that no handler of ours runs in it.
pid_t start_in_our_memory(const Orders& orders, const Stacks& stacks, Beginning& from) {
  from = {&orders, &stacks, 0};
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  const int pid = ::clone(supervise_here, stacks.top(0), CLONE_VM | SIGCHLD, &from);
  const int error = errno;
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  errno = error;
  return pid;
}

}  // namespace

bool Stacks::reserve() {
  void* const memory = ::mmap(nullptr, 2 * kStack + sizeof(Beginning) + 64, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
  if (memory == MAP_FAILED) return false;
  memory_ = static_cast<char*>(memory);
  return true;
}

void Stacks::release() {
  if (memory_ != nullptr) ::munmap(memory_, 2 * kStack + sizeof(Beginning) + 64);
  memory_ = nullptr;
}

char* Stacks::top(int number) const { return memory_ + (number == 0 ? 1 : 2) * kStack; }

pid_t start_supervisor(const Orders& orders, const Stacks& stacks) {
  if (kSharesMemory && orders.work == nullptr)
    return start_in_our_memory(orders, stacks, *reinterpret_cast<Beginning*>(stacks.top(1)));
  const pid_t pid = ::fork();
  if (pid == 0) supervise(orders, stacks);
  return pid;
}

}  // namespace touchstone::process
