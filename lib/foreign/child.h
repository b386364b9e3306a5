#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "touchstone/process/child.h"

namespace touchstone::foreign {

using process::Clock;

/// Limits of a backend, which is ended beyond them.
struct Limits {
  std::chrono::milliseconds start{60'000};        // from its start to its first answer
  std::chrono::milliseconds answer{10'000};       // wall-clock time for one kernel
  std::uint64_t memory = std::uint64_t{8} << 30;  // bytes of address space, and of any file; 0: any
};

/// A program of somebody else's, talked to a line at a time. It is ended, with all that it started,
/// when the object goes and when this process does (process/child.h).
class Child {
 public:
  /// Starts `argv`, found by PATH, in a room (process/room.h) with that folder; empty: in none,
  /// with all of our environment. Says once on standard error what a room lacks here. Throws
  /// SystemError where it cannot be started.
  Child(const std::vector<std::string>& argv, const Limits& limits, const std::string& room);

  enum class Heard : std::uint8_t {
    Line,     // a line, without its end
    Ended,    // it closed its standard output
    Nothing,  // no whole line in time
    TooMuch   // more than `most` bytes without a line end
  };
  /// Sends `text` and waits for one line: both at once, since either side may fill up first.
  Heard ask(std::string_view text, std::string& line, std::size_t most, Clock::time_point deadline);
  /// Whether all of the last `text` was taken before the line came.
  bool took_all() const { return took_all_; }

  /// How it ended: "it was ended by signal 11 (Segmentation fault)"; kills it where it has not.
  std::string end();
  /// The last line it wrote to its standard error; empty where it wrote nothing.
  std::string last_words() const;

 private:
  bool take_output();
  bool take_errors();
  bool next_line(std::string& line);

  std::optional<process::Child> process_;
  std::string output_, errors_;
  bool took_all_ = true;
};

}  // namespace touchstone::foreign
