#include "touchstone/base/visible.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include <fmt/format.h>

namespace touchstone {
namespace {

struct Character {
  char32_t code = 0;
  std::size_t bytes = 1;
  bool well_formed = false;
};

// Accepts shortest forms only, no surrogates, nothing above U+10FFFF (Unicode 15.0, table 3-7).
Character first_of(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned lead = byte(0);
  if (lead < 0x80) return {lead, 1, true};
  const std::size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < length) return {};
  char32_t code = lead & (0x7fU >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0U) != 0x80U) return {};
    code = code << 6 | (byte(i) & 0x3fU);
  }
  constexpr std::array<char32_t, 5> kLeast = {0, 0, 0x80, 0x800, 0x10000};
  if (code < kLeast[length] || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) return {};
  return {code, length, true};
}

// Invisible characters as [first, last] ranges: controls, direction marks, line and paragraph ends,
// characters of no width (Unicode 15.0, general categories Cc, Cf, Zl, Zp; variation selectors;
// fillers).
constexpr std::array<std::pair<char32_t, char32_t>, 20> kUnseen = {
    {{0x0, 0x1f},      {0x7f, 0x9f},     {0xad, 0xad},     {0x34f, 0x34f},   {0x600, 0x605},
     {0x61c, 0x61c},   {0x6dd, 0x6dd},   {0x70f, 0x70f},   {0x890, 0x891},   {0x8e2, 0x8e2},
     {0x115f, 0x1160}, {0x17b4, 0x17b5}, {0x180b, 0x180f}, {0x200b, 0x200f}, {0x2028, 0x202e},
     {0x2060, 0x206f}, {0x3164, 0x3164}, {0xfe00, 0xfe0f}, {0xfeff, 0xfeff}, {0xfff0, 0xfffb}}};

bool shows(char32_t code) {
  if (code >= 0x110bd)  // planes 1 and up: musical and shorthand controls, tags
    return !((code >= 0x1bca0 && code <= 0x1bca3) || (code >= 0x1d173 && code <= 0x1d17a) ||
             (code >= 0xe0000 && code <= 0xe0fff) || code == 0x110bd || code == 0x110cd ||
             (code >= 0x13430 && code <= 0x1345f));
  return std::ranges::none_of(
      kUnseen, [&](const auto& run) { return code >= run.first && code <= run.second; });
}

std::string visible_text(std::string_view text, std::size_t most, bool lines) {
  std::string out;
  for (std::size_t shown = 0; !text.empty(); ++shown) {
    if (shown == most) return out + "...";
    const Character c = first_of(text);
    if (!c.well_formed)
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[0]));
    else if (c.code == '\n')
      out += lines ? "\n" : "\\n";
    else if (c.code == '\t')
      out += "\\t";
    else if (c.code == '\r')
      out += "\\r";
    else if (shows(c.code))
      out += text.substr(0, c.bytes);
    else if (c.code < 0x80)
      out += fmt::format("\\x{:02x}", static_cast<unsigned>(c.code));
    else
      out += fmt::format("\\u{{{:x}}}", static_cast<std::uint32_t>(c.code));
    text.remove_prefix(c.bytes);
  }
  return out;
}

}  // namespace

std::string visible(std::string_view text, std::size_t most) {
  return visible_text(text, most, false);
}

std::string visible_lines(std::string_view text) {
  return visible_text(text, std::string_view::npos, true);
}

}  // namespace touchstone
