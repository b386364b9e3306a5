#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "touchstone/process/child.h"

namespace touchstone::process {

/// Limits beyond which a child is ended; 0: none.
struct Limits {
  std::chrono::milliseconds time{0};  // wall-clock time from start to end
  std::uint64_t output = 0;           // bytes that it writes to us in total
  Refused refused;
};

/// The names of the variables that set these limits ("TOUCHSTONE_CC_SECONDS"), for errors.
struct LimitNames {
  std::string time, output, memory, processor;
};

enum class Exceeded : std::uint8_t { Nothing, Time, Output, Processor };

/// The result of a child that has ended.
struct Finished {
  Ending ending;
  Exceeded exceeded = Exceeded::Nothing;
  std::string output;  // its standard output, or a function's result
  std::string errors;  // its separate standard error, or what a function threw

  /// "it took longer than 120 s (TOUCHSTONE_CC_SECONDS sets this limit)"; names the memory limit if
  /// the child failed and seems to have run out of memory; else empty.
  std::string limit_text(const Limits& limits, const LimitNames& names) const;
};

/// Runs a program to its end with `input` on its standard input. Reads and writes concurrently to
/// avoid deadlock; a program that does not read its input is no error. Throws SystemError if it
/// cannot be run, and Interrupted (base/interrupt.h) on request; all its processes are ended in
/// either case.
Finished run_program(const ChildCommand& program, std::string_view input = {},
                     const Limits& limits = {}, Child::Errors errors = Child::Errors::Merged);

/// Calls `work` in a forked copy of this process (Child::of_function). If it returns, the exit code
/// is 0 and `output` its result; if it throws a std::exception, the exit code is 1 and `errors` the
/// exception's text. Throws as run_program does.
Finished run_function(const std::function<std::string()>& work, const Limits& limits = {});

/// Sends all bytes; false if the reader is gone.
bool send_all(int socket, std::string_view bytes);

}  // namespace touchstone::process
