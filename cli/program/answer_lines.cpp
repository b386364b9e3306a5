#include "touchstone/cli/program/answer_lines.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <vector>

#include <unistd.h>

#include "touchstone/base/descriptor.h"
#include "touchstone/base/error.h"
#include "touchstone/cli/program/verbs.h"

namespace touchstone::cli {

int answer_lines(const std::string& verb, const LineStream::Answer& answer,
                 LineStream::Blank blank) {
  constexpr std::size_t kPiece = std::size_t{1} << 16;
  const auto failed = [&](const char* what) {
    return SystemError(fmt::format("{}: cannot {}: {}", verb, what, std::strerror(errno)));
  };
  std::string answers;
  int code = kExitOk;
  const auto send = [&] {
    if (std::fwrite(answers.data(), 1, answers.size(), stdout) != answers.size() ||
        std::fflush(stdout) != 0)
      throw failed("write");
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
  std::vector<char> piece(kPiece);
  for (;;) {
    const ssize_t n = read_some(STDIN_FILENO, piece);
    if (n < 0) throw failed("read");
    if (n == 0) break;
    stream.take({piece.data(), static_cast<std::size_t>(n)});
    send();
  }
  stream.finish();
  send();
  return code;
}

}  // namespace touchstone::cli
