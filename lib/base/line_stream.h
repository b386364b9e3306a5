#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace touchstone {

/// Splits a byte stream into lines and answers each line, or each that is not blank. A line longer
/// than 64 MiB is answered with an error and discarded. Keeps no state between lines.
class LineStream {
 public:
  using Answer = std::function<std::string(std::string_view line)>;  // without a line end
  using Write = std::function<void(std::string_view)>;
  enum class Blank : std::uint8_t { Skipped, Answered };  // Answered: one answer per line
  LineStream(Answer answer, Write write, Blank blank = Blank::Skipped)
      : answer_(std::move(answer)), write_(std::move(write)), blank_(blank) {}

  /// Consumes input in chunks of any length; writes an answer, with its line end, for each complete
  /// line.
  void take(std::string_view bytes);
  /// Ends the input; answers the last line if it has no line end.
  void finish();

 private:
  void end_line();

  Answer answer_;
  Write write_;
  Blank blank_;
  std::string line_;
  bool too_long_ = false;
};

}  // namespace touchstone
