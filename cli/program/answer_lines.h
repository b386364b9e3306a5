#pragma once

#include <string>
#include <string_view>

#include "touchstone/base/line_stream.h"

namespace touchstone::cli {

/// True if an answer reports that its line was no valid question.
inline bool is_error(std::string_view answer) { return answer.starts_with("{\"error\":"); }

/// Answers the lines of standard input on standard output, in order, until the input ends. Answers
/// are written before a read that may block, so an interactive program gets each answer, and a file
/// is read in large pieces. Returns kExitBad if an answer is an error. Throws SystemError,
/// beginning with `verb`.
int answer_lines(const std::string& verb, const LineStream::Answer& answer,
                 LineStream::Blank blank = LineStream::Blank::Skipped);

}  // namespace touchstone::cli
