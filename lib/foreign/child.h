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

/// Limits beyond which a backend is ended.
struct Limits {
  std::chrono::milliseconds start{60'000};        // from start to first answer
  std::chrono::milliseconds answer{10'000};       // wall-clock time for one kernel
  std::uint64_t memory = std::uint64_t{8} << 30;  // bytes of address space, of any file; 0: none
};

/// An external program that communicates line by line. It is ended, with all its descendants, when
/// this object is destroyed or our process ends (process/child.h).
class Child {
 public:
  /// Starts `argv`, searching PATH, in a room (process/room.h) with that folder; empty: no room and
  /// our whole environment. Prints once to standard error what rooms lack on this system. Throws
  /// SystemError if it cannot be started.
  Child(const std::vector<std::string>& argv, const Limits& limits, const std::string& room);

  enum class Heard : std::uint8_t {
    Line,     // a line, without its end
    Ended,    // it closed its standard output
    Nothing,  // no complete line in time
    TooMuch   // more than `most` bytes without a line end
  };
  /// Sends `text` and waits for one line, concurrently to avoid deadlock.
  Heard ask(std::string_view text, std::string& line, std::size_t most, Clock::time_point deadline);
  /// True if the last `text` was fully sent before the line came.
  bool took_all() const { return took_all_; }

  /// Kills it if it is running; returns how it ended: "it was ended by signal 11 (Segmentation
  /// fault)".
  std::string end();
  /// The last line of its standard error; may be empty.
  std::string last_words() const;

 private:
  bool take(int stream, std::string& to);
  bool take_errors();
  bool next_line(std::string& line);

  std::optional<process::Child> process_;
  std::string output_, errors_;
  bool took_all_ = true;
};

}  // namespace touchstone::foreign
