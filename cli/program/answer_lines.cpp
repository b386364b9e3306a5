#include "touchstone/cli/program/answer_lines.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <vector>

#include <poll.h>
#include <unistd.h>

#include "touchstone/base/descriptor.h"
#include "touchstone/base/error.h"
#include "touchstone/base/interrupt.h"
#include "touchstone/cli/program/verbs.h"

namespace touchstone::cli {
namespace {

constexpr std::size_t kPiece = std::size_t{1} << 16;

SystemError failed(const std::string& verb, const char* what) {
  return SystemError(fmt::format("{}: cannot {}: {}", verb, what, std::strerror(errno)));
}

}  // namespace

void read_input(const std::string& verb, const std::function<bool(std::string_view)>& take) {
  std::vector<char> piece(kPiece);
  for (;;) {
    Interrupt::poll();
    pollfd input{STDIN_FILENO, POLLIN, 0};
    if (::poll(&input, 1, 100) == 0) continue;
    const ssize_t n = read_some(STDIN_FILENO, piece);
    if (n < 0) throw failed(verb, "read");
    if (n == 0 || !take({piece.data(), static_cast<std::size_t>(n)})) return;
  }
}

int answer_lines(const std::string& verb, const LineStream::Answer& answer,
                 LineStream::Blank blank) {
  std::string answers;
  int code = kExitOk;
  const auto send = [&] {
    if (std::fwrite(answers.data(), 1, answers.size(), stdout) != answers.size() ||
        std::fflush(stdout) != 0)
      throw failed(verb, "write");
    answers.clear();
  };
  LineStream stream(
      answer,
      [&](std::string_view text) {
        if (is_error(text)) code = kExitBad;
        answers += text;
        if (answers.size() >= kPiece) send();
      },
      blank);
  read_input(verb, [&](std::string_view piece) {
    stream.take(piece);
    send();
    return true;
  });
  stream.finish();
  send();
  return code;
}

}  // namespace touchstone::cli
