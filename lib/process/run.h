#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "touchstone/process/child.h"

namespace touchstone::process {

/// Limits of a child, which is ended beyond them; 0: any.
struct Limits {
  std::chrono::milliseconds time{0};  // by the clock on the wall, from its start to its end
  std::uint64_t output = 0;           // bytes of what it writes to us, all together
  Refused refused;
};

/// How a user sets these limits ("TOUCHSTONE_CC_SECONDS"), for errors.
struct LimitNames {
  std::string time, output, memory, processor;
};

enum class Exceeded : std::uint8_t { Nothing, Time, Output, Processor };

/// The result of a child that has ended.
struct Finished {
  Ending ending;
  Exceeded exceeded = Exceeded::Nothing;
  std::string output;  // to its standard output, or what a function returned
  std::string errors;  // to its standard error where that is apart, or what a function threw

  /// "it took longer than 120 s (TOUCHSTONE_CC_SECONDS sets this limit)"; where it failed by itself
  /// and seems to have run out of memory, that limit is named; else empty.
  std::string limit_text(const Limits& limits, const LimitNames& names) const;
};

/// Runs a program to its end, with `input` on its standard input. Reads and writes at the same
/// time, so that neither side waits for the other; one that does not read its input is no error.
/// Throws SystemError where it cannot be run, and Interrupted (base/interrupt.h) where that is
/// asked for meanwhile; then, too, nothing of it is left.
Finished run_program(const Program& program, std::string_view input = {}, const Limits& limits = {},
                     Child::Errors errors = Child::Errors::Merged);

/// Calls `work` in a copy of this process (Child::of_function). Where it returned, the exit code is
/// 0 and `output` what it returned; where it threw a std::exception, the exit code is 1 and
/// `errors` what that says. Throws as run_program does.
Finished run_function(const std::function<std::string()>& work, const Limits& limits = {});

/// Sends all of it; false where nobody reads any more.
bool send_all(int socket, std::string_view bytes);

}  // namespace touchstone::process
