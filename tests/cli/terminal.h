#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include <poll.h>
#include <pty.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

// The command on its own terminal.

namespace touchstone {

class Terminal {
 public:
  Terminal(const std::vector<std::string>& arguments,
           const std::map<std::string, std::string>& environment) {
    child_ = ::forkpty(&terminal_, nullptr, nullptr, nullptr);
    if (child_ != 0) return;
    ::setenv("TERM", "dumb", 1);
    for (const auto& [name, value] : environment) ::setenv(name.c_str(), value.c_str(), 1);
    std::vector<char*> argv{const_cast<char*>("touchstone")};
    for (const std::string& a : arguments) argv.push_back(const_cast<char*>(a.c_str()));
    argv.push_back(nullptr);
    ::execv(TOUCHSTONE_COMMAND, argv.data());
    ::_exit(127);
  }
  ~Terminal() {
    if (child_ > 0) {
      ::kill(child_, SIGKILL);
      ::waitpid(child_, nullptr, 0);
    }
    if (terminal_ >= 0) ::close(terminal_);
  }
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  /// False if the machine has no terminals (is /dev/pts mounted?).
  bool is_there() const { return child_ > 0; }
  /// Waits until typed input reaches the command: an earlier Ctrl-C would be lost.
  void started() {
    const auto name = [&] {
      std::string comm;
      std::getline(std::ifstream("/proc/" + std::to_string(child_) + "/comm"), comm);
      return comm;
    };
    const std::string own = name_of(TOUCHSTONE_COMMAND);
    for (int tries = 0; ::tcgetpgrp(terminal_) != child_ || name() != own; ++tries) {
      ASSERT_LT(tries, 60'000) << "the command was not started within a minute";
      if (!reads(0)) ::usleep(1000);
    }
  }
  pid_t child() const { return child_; }
  void type(const std::string& keys) {
    ASSERT_EQ(::write(terminal_, keys.data(), keys.size()), static_cast<ssize_t>(keys.size()));
  }
  /// Reads up to and including `text`; false after a minute.
  bool shows(const std::string& text, int milliseconds = 60'000) {
    for (std::size_t at = seen_.find(text); at == seen_.npos; at = seen_.find(text))
      if (!reads(milliseconds)) return false;
    seen_.erase(0, seen_.find(text) + text.size());
    return true;
  }
  /// Reads for this time.
  void watch(int milliseconds) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(milliseconds);
    while (std::chrono::steady_clock::now() < end)
      if (!reads(5)) ::usleep(1000);
  }
  /// Kills the command if it runs.
  void end() {
    if (child_ > 0) ::kill(child_, SIGKILL);
  }
  const std::string& seen() const { return seen_; }
  /// The exit code as a shell reports it; reads output meanwhile. Kills after two minutes.
  int exit_status() {
    int status = 0;
    const auto last = std::chrono::steady_clock::now() + std::chrono::minutes(2);
    while (::waitpid(child_, &status, WNOHANG) == 0) {
      reads(5);
      if (std::chrono::steady_clock::now() > last) end();
    }
    child_ = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  /// True if the terminal edits and echoes input, as a shell left it.
  bool is_cooked() const {
    termios now{};
    constexpr tcflag_t kCooked = ICANON | ECHO | ISIG;
    return ::tcgetattr(terminal_, &now) == 0 && (now.c_lflag & kCooked) == kCooked;
  }

 private:
  /// Truncated as the kernel does.
  static std::string name_of(const std::string& path) {
    return path.substr(path.rfind('/') + 1).substr(0, 15);
  }
  bool reads(int milliseconds) {
    pollfd waiting{terminal_, POLLIN, 0};
    char bytes[1024];
    if (::poll(&waiting, 1, milliseconds) <= 0) return false;
    const ssize_t n = ::read(terminal_, bytes, sizeof bytes);
    if (n <= 0) return false;
    seen_.append(bytes, static_cast<std::size_t>(n));
    return true;
  }

  pid_t child_ = 0;
  int terminal_ = -1;
  std::string seen_;
};

}  // namespace touchstone
