#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace touchstone {

/// Cuts a stream of bytes into lines and answers each that is not blank, or each at all. A line of
/// more than 64 MiB gets an error and is not kept. Holds nothing from one line to the next.
class LineStream {
 public:
  using Answer = std::function<std::string(std::string_view line)>;  // without a line end
  using Write = std::function<void(std::string_view)>;
  enum class Blank : std::uint8_t { Skipped, Answered };  // Answered: as many answers as lines
  LineStream(Answer answer, Write write, Blank blank = Blank::Skipped)
      : answer_(std::move(answer)), write_(std::move(write)), blank_(blank) {}

  /// Takes the bytes that came, in pieces of any length; writes an answer, with its line end, for
  /// each line that is complete.
  void take(std::string_view bytes);
  /// The end of the input, which may also end a line.
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
