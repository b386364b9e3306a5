#include "touchstone/base/line_stream.h"

namespace touchstone {

void LineStream::take(std::string_view bytes) {
  constexpr std::size_t kLongest = std::size_t{64} << 20;
  while (!bytes.empty()) {
    const std::size_t end = bytes.find('\n');
    const std::string_view piece = bytes.substr(0, end);
    too_long_ = too_long_ || line_.size() + piece.size() > kLongest;
    if (too_long_)
      line_ = {};
    else
      line_ += piece;
    if (end == std::string_view::npos) return;
    end_line();
    bytes.remove_prefix(end + 1);
  }
}

void LineStream::finish() {
  if (too_long_ || !line_.empty()) end_line();
}

void LineStream::end_line() {
  constexpr std::size_t kKept = std::size_t{1} << 20;
  if (too_long_)
    write_("{\"error\":\"a line of more than 64 MiB\"}\n");
  else if (blank_ == Blank::Answered || line_.find_first_not_of(" \t\r") != std::string::npos)
    write_(answer_(line_) + "\n");
  too_long_ = false;
  line_.clear();
  if (line_.capacity() > kKept) line_.shrink_to_fit();
}

}  // namespace touchstone
