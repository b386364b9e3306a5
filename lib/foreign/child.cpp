#include "touchstone/foreign/child.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <new>

#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "touchstone/base/error.h"
#include "touchstone/process/room.h"

namespace touchstone::foreign {
namespace {

constexpr std::size_t kKeptErrors = 2000;  // bytes kept of its standard error

std::string signal_text(int signal) {
  return fmt::format("signal {} ({})", signal, ::strsignal(signal));
}

// Missing room parts already reported, shared with all processes forked later.
std::atomic<unsigned>* shared_parts() {
  void* const memory = ::mmap(nullptr, sizeof(std::atomic<unsigned>), PROT_READ | PROT_WRITE,
                              MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  return memory == MAP_FAILED ? nullptr : new (memory) std::atomic<unsigned>(0);
}
std::atomic<unsigned>* const said = shared_parts();

}  // namespace

Child::Child(const std::vector<std::string>& argv, const Limits& limits, const std::string& room)
    : process_(process::Child::of_program(
          {.file = argv.at(0),
           .arguments = {argv.begin() + 1, argv.end()},
           .environment = {},
           .inherits = room.empty() ? process::Inherits::Whole : process::Inherits::Backend,
           .room = room},
          {.memory = limits.memory, .file = limits.memory, .processor = std::chrono::seconds(0)})) {
  const unsigned missing = process_->missing();
  if (missing != 0 && (said == nullptr || (missing & ~said->fetch_or(missing)) != 0))
    fmt::print(stderr,
               "touchstone: this system cannot keep backends away from {}; they have your "
               "permissions there (docs/backends.md)\n",
               process::names_of(missing));
}

// Appends the bytes that a stream has ready; false at its end.
bool Child::take(int stream, std::string& to) {
  std::array<char, 65536> piece;
  const ssize_t n = read_some(stream, piece);
  if (n > 0) to.append(piece.data(), static_cast<std::size_t>(n));
  return n > 0 || (n < 0 && errno == EAGAIN);
}

bool Child::take_errors() {
  const bool more = take(process_->errors(), errors_);
  if (errors_.size() > kKeptErrors) errors_.erase(0, errors_.size() - kKeptErrors);
  return more;
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
    std::array<pollfd, 3> waiting{{{process_->output(), POLLIN, 0},
                                   {process_->errors(), POLLIN, 0},
                                   {text.empty() ? -1 : process_->input(), POLLOUT, 0}}};
    if (::poll(waiting.data(), waiting.size(), process::milliseconds_until(deadline)) < 0) {
      if (errno == EINTR) continue;
      throw SystemError(fmt::format("cannot wait for a backend: {}", std::strerror(errno)));
    }
    if (waiting[1].revents != 0 && !take_errors()) process_->close_errors();
    if (waiting[2].revents != 0) {
      const ssize_t n =
          ::send(process_->input(), text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      if (n >= 0)
        text.remove_prefix(static_cast<std::size_t>(n));
      else if (errno != EAGAIN && errno != EINTR)
        text = {};  // it stopped reading; the end of its output tells why
      took_all_ = text.empty();
    }
    if (waiting[0].revents != 0 && !take(process_->output(), output_)) {
      while (process_->errors() >= 0 && errors_.size() < kKeptErrors) {
        const std::size_t before = errors_.size();
        if (!take_errors()) process_->close_errors();
        if (errors_.size() == before) break;
      }
      return Heard::Ended;
    }
  }
}

std::string Child::end() {
  if (!process_) return "it was killed";
  // One that closed its output is about to end by itself, and how it does is worth knowing.
  const auto patience = Clock::now() + std::chrono::seconds(5);
  process_->close_input();
  pollfd closed{process_->output(), 0, 0};
  if (!process_->has_ended() && ::poll(&closed, 1, 0) > 0 && (closed.revents & POLLHUP) != 0)
    process_->ends_before(patience);
  const process::Ending ending = process_->end();
  process_.reset();
  if (ending.by_us) return "it was killed";
  if (ending.is_signal()) return "it was killed by " + signal_text(ending.signal());
  const int code = ending.exit_code();
  if (code > 128 && code < 128 + SIGSYS)  // a shell's word for it
    return fmt::format("it exited with status {}, which is {}", code, signal_text(code - 128));
  return fmt::format("it exited with status {}", code);
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

}  // namespace touchstone::foreign
