#pragma once

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "touchstone/base/file.h"

// The command as a child process that a test controls by signals.

namespace touchstone {

/// Waits for at most `seconds` until `done`.
template <class Done>
bool soon(Done done, double seconds = 30) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  while (!done()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

/// True if a process exists and is no zombie.
inline bool lives(const std::string& pid) {
  std::ifstream stat("/proc/" + pid + "/stat");
  std::string text;
  return std::getline(stat, text) && text.find(") Z ") == std::string::npos;
}

class Running {
 public:
  /// Runs the command with shell-quoted arguments; standard output and error go to files.
  Running(const std::string& arguments, std::filesystem::path out, std::filesystem::path err)
      : out_(std::move(out)), err_(std::move(err)) {
    const std::string line = "exec " TOUCHSTONE_COMMAND " " + arguments;
    pid_ = ::fork();
    if (pid_ != 0) return;
    sigset_t none;
    sigemptyset(&none);
    ::pthread_sigmask(SIG_SETMASK, &none, nullptr);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) std::signal(signal, SIG_DFL);
    constexpr int kHow = O_WRONLY | O_CREAT | O_TRUNC;
    ::dup2(::open("/dev/null", O_RDONLY), 0);
    ::dup2(::open(out_.c_str(), kHow, 0600), 1);
    ::dup2(::open(err_.c_str(), kHow, 0600), 2);
    ::execl("/bin/sh", "sh", "-c", line.c_str(), nullptr);
    ::_exit(127);
  }
  ~Running() {
    if (pid_ > 0) end(SIGKILL);
  }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

  /// Sends a signal (0: none) and waits; returns the exit code as a shell reports it.
  int end(int signal) {
    const auto start = std::chrono::steady_clock::now();
    if (signal != 0) ::kill(pid_, signal);
    int status = 0;
    ::waitpid(pid_, &status, 0);
    pid_ = -1;
    seconds_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  /// From the signal until the end.
  double seconds() const { return seconds_; }
  std::string output() const { return std::filesystem::exists(out_) ? read_file(out_) : ""; }
  std::string errors() const { return std::filesystem::exists(err_) ? read_file(err_) : ""; }

 private:
  std::filesystem::path out_, err_;
  pid_t pid_ = -1;
  double seconds_ = 0;
};

}  // namespace touchstone
