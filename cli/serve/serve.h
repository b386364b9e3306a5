#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "touchstone/cli/program/verbs.h"

// Verdicts for programs: by lines, and by HTTP requests.

namespace touchstone::cli {

struct LineAnswer {
  enum class Kind : std::uint8_t {
    Verdict,
    NoQuestion,
    NoMemory,  // it needs more than the limit
  };
  std::string text;  // a JSON object without a line end
  Kind kind = Kind::Verdict;
};

/// Answers one question, whatever it contains. The time limit covers everything from parsing to the
/// verdict; limit_memory sets the memory limit beforehand.
LineAnswer line_answer(std::string_view line, const ServeOptions& options);

/// Serves until a signal ends the process. Each connection has its own process, so that no question
/// or client can harm the others. At an address, which any local user can reach, every request
/// needs a token and none may name a file. Throws ParseError or SystemError if it cannot listen.
int serve_http(ServeOptions options);

}  // namespace touchstone::cli
