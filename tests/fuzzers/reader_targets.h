#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "touchstone/base/error.h"

// Readers of external input as fuzz targets.

namespace touchstone::fuzzers {

/// Reads any bytes: refuses them as the reader's header says, or checks their content. Anything
/// else, such as an exception of another type, ends the process.
struct ReaderTarget {
  std::string_view name;
  void (*check)(std::string_view bytes);
};
std::span<const ReaderTarget> library_targets();
std::span<const ReaderTarget> command_targets();

inline void require(bool holds, std::string_view what) {
  if (holds) return;
  fmt::print(stderr, "{}\n", what);
  std::abort();
}

/// The result of `read`, or nothing if it throws ParseError.
template <class Read>
auto accepted(Read read) -> std::optional<decltype(read())> {
  try {
    return read();
  } catch (const ParseError&) {
    return std::nullopt;
  }
}

/// JSON of ours as an object, each integer without its digits beyond the 300th: they may have
/// thousands, which nlohmann::json refuses.
inline nlohmann::json read_answer(std::string_view answer) {
  std::string text;
  std::size_t digits = 0;
  for (const char c : answer) {
    digits = c >= '0' && c <= '9' ? digits + 1 : 0;
    if (digits <= 300) text += c;
  }
  require(text.find('\n') == text.npos, "an answer of more than a line");
  nlohmann::json read = nlohmann::json::parse(text);
  require(read.is_object(), "an answer that is no object");
  return read;
}

}  // namespace touchstone::fuzzers
