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

}  // namespace touchstone::fuzzers
