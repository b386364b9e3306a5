#pragma once

#include <algorithm>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "touchstone/base/error.h"
#include "touchstone/base/file.h"
#include "touchstone/base/hash.h"

// A corpus as one text file: one input per line; a backslash escapes itself, and starts the two
// hexadecimal digits of a byte that is not printable ASCII.

namespace touchstone::fuzzers {

inline std::string packed_input(std::string_view bytes) {
  std::string line;
  for (const char c : bytes)
    if (c == '\\')
      line += "\\\\";
    else if (c >= ' ' && c <= '~')
      line += c;
    else
      line += fmt::format("\\{:02x}", static_cast<unsigned char>(c));
  return line + '\n';
}

inline std::vector<std::string> unpacked_inputs(std::string_view text) {
  std::vector<std::string> inputs(1);
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\n') {
      inputs.emplace_back();
    } else if (text[i] != '\\') {
      inputs.back() += text[i];
    } else if (text.substr(i + 1, 1) == "\\") {
      inputs.back() += text[++i];
    } else {
      const std::string digits(text.substr(i + 1, 2));
      inputs.back() += static_cast<char>(std::stoi(digits, nullptr, 16));
      i += 2;
    }
  }
  inputs.pop_back();  // the last line has an end too
  return inputs;
}

inline void unpack(const std::string& file, const std::filesystem::path& folder) {
  std::filesystem::create_directories(folder);
  for (const std::string& bytes : unpacked_inputs(read_file(file)))
    write_file_atomically(folder / content_hash(bytes), bytes);
}

/// The shortest first.
inline void pack(const std::filesystem::path& folder, const std::string& file) {
  std::vector<std::string> lines;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    lines.push_back(packed_input(read_file(entry.path())));
  std::ranges::sort(lines, {}, [](const std::string& l) { return std::pair(l.size(), l); });
  std::string text;
  for (const std::string& line : lines) text += line;
  write_file_atomically(file, text);
}

}  // namespace touchstone::fuzzers
