#pragma once

#include <charconv>
#include <concepts>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>

namespace touchstone::codegen {

inline void append(std::string& out, std::string_view piece) { out += piece; }
template <std::integral Number>
void append(std::string& out, Number number) {
  char digits[24];
  const auto end = std::to_chars(digits, std::end(digits), number).ptr;
  out.append(digits, static_cast<std::size_t>(end - digits));
}

/// Appends texts and decimal numbers; fast, since code is long.
template <class... Pieces>
void append_all(std::string& out, const Pieces&... pieces) {
  (append(out, pieces), ...);
}

template <class... Pieces>
std::string joined(const Pieces&... pieces) {
  std::string out;
  append_all(out, pieces...);
  return out;
}

}  // namespace touchstone::codegen
