#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "verbs.h"

// Verdicts for programs: one line, and requests by HTTP.

namespace touchstone::cli {

struct LineAnswer {
  enum class Kind : std::uint8_t {
    Verdict,
    NoQuestion,
    NoMemory,  // it takes more than it may
  };
  std::string text;  // a JSON object without a line end
  Kind kind = Kind::Verdict;
};

/// The answer to one question, whatever it holds. Its time covers all of it, from the text to the
/// verdict. Memory is limited by limit_memory before.
LineAnswer line_answer(std::string_view line, const ServeOptions& options);

/// Listens until a signal ends the process. Each connection has a process of its own, so that no
/// question and no client can harm the others. At an address every request needs a token and none
/// may name a file: any user of this machine can connect. Throws ParseError or SystemError where it
/// cannot listen.
int serve_http(ServeOptions options);

}  // namespace touchstone::cli
