#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "touchstone/base/line_stream.h"

namespace touchstone::cli {

/// True if an answer reports that its line was no valid question.
inline bool is_error(std::string_view answer) { return answer.starts_with("{\"error\":"); }

/// Passes standard input to `take` in pieces until it ends or `take` returns false. Throws
/// Interrupted on request, also while it waits, and SystemError, beginning with `verb`.
void read_input(const std::string& verb, const std::function<bool(std::string_view)>& take);

/// Answers the lines of standard input on standard output, in order, until the input ends. Answers
/// are written before a read that may block, so an interactive program gets each answer, and a file
/// is read in large pieces. Returns kExitBad if an answer is an error. Throws SystemError,
/// beginning with `verb`.
int answer_lines(const std::string& verb, const LineStream::Answer& answer,
                 LineStream::Blank blank = LineStream::Blank::Skipped);

}  // namespace touchstone::cli
