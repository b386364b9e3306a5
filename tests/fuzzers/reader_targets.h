#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "touchstone/base/error.h"

// The readers of input from outside, each as a fuzz target.

namespace touchstone::fuzzers {

/// Reads any bytes: they are refused as the reader's header says, or what they hold is checked.
/// Everything else, an exception of another type among it, ends the process.
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

/// What `read` gives, or nothing where it refuses its input with a ParseError.
template <class Read>
auto accepted(Read read) -> std::optional<decltype(read())> {
  try {
    return read();
  } catch (const ParseError&) {
    return std::nullopt;
  }
}

}  // namespace touchstone::fuzzers
