#pragma once

#include <string>

#include "touchstone/base/line_stream.h"

namespace touchstone::cli {

/// Answers the lines of standard input on standard output, in order, until the input ends. What was
/// answered is written before a read that may wait, so a program that asks one question at a time
/// gets its answer, and a file is read in large pieces. Throws SystemError, beginning with `verb`.
void answer_lines(const std::string& verb, const LineStream::Answer& answer,
                  LineStream::Blank blank = LineStream::Blank::Skipped);

}  // namespace touchstone::cli
