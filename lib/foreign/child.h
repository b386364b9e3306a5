#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

namespace touchstone::foreign {

using Clock = std::chrono::steady_clock;

/// What a backend may take before it is ended.
struct Limits {
  std::chrono::milliseconds start{60'000};        // from its start to its first answer
  std::chrono::milliseconds answer{10'000};       // wall-clock time for one kernel
  std::uint64_t memory = std::uint64_t{8} << 30;  // bytes of address space, and of any file; 0: any
};

/// A program of somebody else's in a process group of its own, talked to a line at a time. It is
/// ended, with all its group, when the object goes, and when the thread that made it does, also
/// where that is killed: the group is led by a process that waits for either.
class Child {
 public:
  /// Starts `argv`, found by PATH. Throws SystemError where it cannot be.
  Child(std::vector<std::string> argv, const Limits& limits);
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

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

  pid_t pid_ = -1;
  int in_ = -1, out_ = -1, err_ = -1;
  std::string output_, errors_;
  bool took_all_ = true;
};

/// Ends every child there is, and at once each that is made from now on: the process is about to
/// end.
void end_all_children() noexcept;

}  // namespace touchstone::foreign
