#pragma once

#include <charconv>
#include <cstdint>
#include <string>

namespace touchstone::fuzz {

/// Appends a number to a text.
inline void put_number(std::string& out, std::int64_t value) {
  char digits[24];
  out.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
}

}  // namespace touchstone::fuzz
