#include "touchstone/process/run.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "touchstone/base/interrupt.h"

namespace touchstone::process {
namespace {

constexpr int kLookMilliseconds = 100;  // how often it checks for an interrupt

/// Exchanges data with one child until it ends or exceeds a limit.
class Talk {
 public:
  Talk(Child& child, std::string_view input, const Limits& limits)
      : child_(child), input_(input), limits_(limits) {
    if (limits.time.count() > 0) deadline_ = Clock::now() + limits.time;
  }

  Finished finish() {
    Finished result;
    while (!child_.has_ended()) {
      Interrupt::poll();
      if (Clock::now() >= deadline_) result.exceeded = Exceeded::Time;
      if (too_much()) result.exceeded = Exceeded::Output;
      if (result.exceeded != Exceeded::Nothing) break;
      wait();
    }
    if (result.exceeded == Exceeded::Nothing) {
      while (!too_much() && (take(child_.output(), output_) || take(child_.errors(), errors_))) {
      }
      if (too_much()) result.exceeded = Exceeded::Output;
    }
    result.ending = child_.end();
    if (all_children_end()) throw Interrupted();
    if (used_up_processor(result.ending)) result.exceeded = Exceeded::Processor;
    result.output = std::move(output_);
    result.errors = std::move(errors_);
    return result;
  }

 private:
  bool too_much() const {
    return limits_.output != 0 && output_.size() + errors_.size() > limits_.output;
  }

  bool used_up_processor(const Ending& e) const {
    const auto most = static_cast<double>(limits_.refused.processor.count());
    return most > 0 && e.is_signal() && !e.by_us &&
           (e.signal() == SIGXCPU || (e.signal() == SIGKILL && e.seconds >= most));
  }

  void wait() {
    if (input_.empty()) child_.close_input();
    const auto events = [](int fd, short what) { return pollfd{fd, what, 0}; };
    std::array<pollfd, 4> waiting{{events(reads_output_ ? child_.output() : -1, POLLIN),
                                   events(reads_errors_ ? child_.errors() : -1, POLLIN),
                                   events(child_.input(), POLLOUT),
                                   events(child_.ended(), POLLIN)}};
    if (::poll(waiting.data(), waiting.size(),
               std::min(milliseconds_until(deadline_), kLookMilliseconds)) <= 0)
      return;
    if (waiting[2].revents != 0) feed();
    if (waiting[0].revents != 0 && !take(child_.output(), output_)) reads_output_ = !at_end_;
    if (waiting[1].revents != 0 && !take(child_.errors(), errors_)) reads_errors_ = !at_end_;
  }

  void feed() {
    const ssize_t n =
        ::send(child_.input(), input_.data(), input_.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n >= 0)
      input_.remove_prefix(static_cast<std::size_t>(n));
    else if (errno != EAGAIN && errno != EINTR)
      input_ = {};  // it stopped reading; its output tells why
  }

  // True if bytes were read; sets at_end_ at the end of the stream.
  bool take(int fd, std::string& to) {
    if (fd < 0) return false;
    const ssize_t n = read_some(fd, piece_);
    at_end_ = n == 0 || (n < 0 && errno != EAGAIN);
    if (n > 0) to.append(piece_.data(), static_cast<std::size_t>(n));
    return n > 0;
  }

  Child& child_;
  std::string_view input_;
  const Limits& limits_;
  Clock::time_point deadline_ = Clock::time_point::max();
  std::string output_, errors_;
  bool reads_output_ = true, reads_errors_ = true, at_end_ = false;
  std::array<char, 65536> piece_;
};

// Formats a byte limit.
std::string amount(std::uint64_t bytes) {
  return bytes % (1 << 20) == 0 ? fmt::format("{} MiB", bytes >> 20)
                                : fmt::format("{} bytes", bytes);
}

}  // namespace

std::string Finished::limit_text(const Limits& limits, const LimitNames& names) const {
  const auto set_by = [](const std::string& name) {
    return name.empty() ? "" : fmt::format(" ({} sets this limit)", name);
  };
  switch (exceeded) {
    case Exceeded::Time:
      return fmt::format("it took longer than {} s{}",
                         static_cast<double>(limits.time.count()) / 1000, set_by(names.time));
    case Exceeded::Output:
      return fmt::format("it wrote more than {}{}", amount(limits.output), set_by(names.output));
    case Exceeded::Processor:
      return fmt::format("it used the processor for more than {} s{}",
                         limits.refused.processor.count(), set_by(names.processor));
    case Exceeded::Nothing: break;
  }
  if (ending.exit_code() == 128 + SIGXFSZ) {
    rlimit own{};
    const std::uint64_t file = limits.refused.file;
    if (file != 0 && (::getrlimit(RLIMIT_FSIZE, &own) != 0 || file <= own.rlim_cur))
      return fmt::format("it wrote a file of more than {}{}", amount(file), set_by(names.memory));
    return "it wrote a file larger than this process may make (ulimit -f sets this limit)";
  }
  const auto says = [&](std::string_view words) {
    return output.find(words) != std::string::npos || errors.find(words) != std::string::npos;
  };
  if (limits.refused.memory == 0 || ending.exit_code() == 0 ||
      !(says("out of memory") || says("bad_alloc") || says("allocate memory") ||
        says("memory exhausted") || says("failed to map") || (ending.is_signal() && !ending.by_us)))
    return {};
  return fmt::format("it may have needed more than {} of memory{}", amount(limits.refused.memory),
                     set_by(names.memory));
}

Finished run_program(const ChildCommand& program, std::string_view input, const Limits& limits,
                     Child::Errors errors) {
  Child child = Child::of_program(program, limits.refused, errors);
  return Talk(child, input, limits).finish();
}

Finished run_function(const std::function<std::string()>& work, const Limits& limits) {
  Child child = Child::of_function(
      [&](int channel) {
        std::string text;
        int code = 0;
        try {
          text = work();
        } catch (const std::exception& e) {
          text = e.what();
          code = 1;
        }
        return send_all(channel, text) ? code : 1;
      },
      limits.refused);
  child.read_channel_as_output();
  Finished result = Talk(child, {}, limits).finish();
  if (result.ending.exit_code() == 1) result.errors = std::move(result.output);
  if (result.ending.status != 0) result.output.clear();
  return result;
}

bool send_all(int socket, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

}  // namespace touchstone::process
