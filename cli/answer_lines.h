#pragma once

#include <string>
#include <string_view>

#include "touchstone/base/line_stream.h"

namespace touchstone::cli {

/// Whether an answer says that its line was no question.
inline bool is_error(std::string_view answer) { return answer.starts_with("{\"error\":"); }

/// Answers the lines of standard input on standard output, in order, until the input ends. What was
/// answered is written before a read that may wait, so a program that asks one question at a time
/// gets its answer, and a file is read in large pieces. kExitBad where an answer is an error.
/// Throws SystemError, beginning with `verb`.
int answer_lines(const std::string& verb, const LineStream::Answer& answer,
                 LineStream::Blank blank = LineStream::Blank::Skipped);

}  // namespace touchstone::cli
