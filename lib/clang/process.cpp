#include "touchstone/clang/process.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "touchstone/base/error.h"

extern char** environ;

namespace touchstone::clang {

namespace {

class Descriptor {
 public:
  explicit Descriptor(int fd = -1) : fd_(fd) {}
  ~Descriptor() { close(); }
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  int get() const { return fd_; }
  void close() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }

 private:
  int fd_;
};

[[noreturn]] void fail(const std::filesystem::path& program, int error) {
  throw SystemError(fmt::format("cannot run {}: {}", program.string(), std::strerror(error)));
}

struct Pair {
  Descriptor ours, theirs;
};

// A pair of sockets: unlike a pipe, writing to one that nobody reads raises no signal.
Pair make_pair_of_sockets(const std::filesystem::path& program) {
  int fds[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) != 0) fail(program, errno);
  return {Descriptor(fds[0]), Descriptor(fds[1])};
}

pid_t spawn(const std::filesystem::path& program, const std::vector<std::string>& arguments,
            const std::filesystem::path& scratch, int input, int output) {
  std::vector<char*> argv{const_cast<char*>(program.c_str())};
  for (const std::string& a : arguments) argv.push_back(const_cast<char*>(a.c_str()));
  argv.push_back(nullptr);
  std::string tmpdir = "TMPDIR=" + scratch.string();
  std::vector<char*> environment;
  for (char** variable = environ; *variable != nullptr; ++variable)
    if (scratch.empty() || !std::string_view(*variable).starts_with("TMPDIR="))
      environment.push_back(*variable);
  if (!scratch.empty()) environment.push_back(tmpdir.data());
  environment.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, input, 0);
  ::posix_spawn_file_actions_adddup2(&actions, output, 1);
  ::posix_spawn_file_actions_adddup2(&actions, output, 2);
  // It is ended by the signals that end us, whatever this thread blocks.
  posix_spawnattr_t attributes;
  sigset_t none;
  ::sigemptyset(&none);
  ::posix_spawnattr_init(&attributes);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  pid_t pid = 0;
  const int error =
      ::posix_spawn(&pid, program.c_str(), &actions, &attributes, argv.data(), environment.data());
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&actions);
  if (error != 0) fail(program, error);
  return pid;
}

// Feeds the input and collects the output at the same time: either may fill up first.
std::string converse(Descriptor& input, Descriptor& output, std::string_view text) {
  std::string collected;
  std::array<char, 65536> chunk;
  for (;;) {
    if (text.empty()) input.close();
    std::array<pollfd, 2> waiting{{{output.get(), POLLIN, 0}, {input.get(), POLLOUT, 0}}};
    const nfds_t count = input.get() >= 0 ? 2 : 1;
    if (::poll(waiting.data(), count, -1) < 0 && errno != EINTR) return collected;
    if (count == 2 && waiting[1].revents != 0) {
      const ssize_t n = ::send(input.get(), text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      if (n >= 0)
        text.remove_prefix(static_cast<std::size_t>(n));
      else if (errno != EAGAIN && errno != EINTR)
        text = {};  // it stopped reading; its output says why
    }
    if (waiting[0].revents != 0) {
      const ssize_t n = ::read(output.get(), chunk.data(), chunk.size());
      if (n == 0 || (n < 0 && errno != EINTR)) return collected;
      if (n > 0) collected.append(chunk.data(), static_cast<std::size_t>(n));
    }
  }
}

}  // namespace

ProcessResult run_process(const std::filesystem::path& program,
                          const std::vector<std::string>& arguments, std::string_view input,
                          const std::filesystem::path& scratch) {
  Pair in = make_pair_of_sockets(program);
  Pair out = make_pair_of_sockets(program);
  const pid_t pid = spawn(program, arguments, scratch, in.theirs.get(), out.theirs.get());
  in.theirs.close();
  out.theirs.close();
  ProcessResult result;
  result.output = converse(in.ours, out.ours, input);
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0)
    if (errno != EINTR) fail(program, errno);
  result.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return result;
}

std::filesystem::path find_program(const std::string& name) {
  const auto runs = [](const std::filesystem::path& p) {
    std::error_code ignored;  // a name too long names no program
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

}  // namespace touchstone::clang
