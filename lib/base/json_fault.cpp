#include "touchstone/base/json_fault.h"

#include <fmt/format.h>

#include "touchstone/base/error.h"
#include "touchstone/base/visible.h"

namespace touchstone {
namespace {

// The text between two marks; up to the end if the second is missing.
std::string_view between(std::string_view text, std::string_view from, std::string_view to) {
  std::size_t begin = text.find(from);
  if (begin == std::string_view::npos) return {};
  begin += from.size();
  return text.substr(begin, text.find(to, begin) - begin);
}

// "invalid literal; last read: 'h'" -> "invalid literal after 'h'"
std::string syntax_fault(std::string_view why) {
  std::string text(why);
  if (constexpr std::string_view kEnd = "unexpected end of input"; text.starts_with(kEnd))
    text.replace(0, kEnd.size(), "the text ends");
  if (constexpr std::string_view kLast = "; last read: "; text.find(kLast) != std::string::npos)
    text.replace(text.find(kLast), kLast.size(), " at ");
  return text;
}

}  // namespace

std::string json_fault(std::string_view what) {
  if (const std::size_t end = what.find("] ");
      what.starts_with("[json.exception.") && end != std::string_view::npos)
    what.remove_prefix(end + 2);
  if (what.starts_with("parse error")) {
    const std::string_view place = between(what, " at ", ": ");
    const std::size_t why = what.find(" - ");
    const std::string fault =
        why == std::string_view::npos ? "no JSON" : syntax_fault(what.substr(why + 3));
    return visible(place.empty() ? fault : fmt::format("{}: {}", place, fault));
  }
  if (what.starts_with("key '"))
    return fmt::format("\"{}\" is missing", visible(between(what, "key '", "' not found")));
  if (what.starts_with("type must be "))
    return fmt::format("a member must be {}, not {}",
                       visible(between(what, "type must be ", ", but is ")),
                       visible(between(what, ", but is ", "\n")));
  return visible(what);
}

void require_shallow_json(std::string_view text) {
  constexpr int kMostLevels = 64;                            // ours have 9
  constexpr std::size_t kMostValues = std::size_t{1} << 21;  // each takes some 100 bytes
  int level = 0;
  std::size_t values = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"') quoted = !quoted;
    if (quoted) {
      if (c == '\\') ++i;
      continue;
    }
    if (c == '[' || c == '{') ++level;
    if (c == ']' || c == '}') --level;
    if ((c == ',' || c == '[' || c == '{') && ++values > kMostValues)
      throw ParseError(fmt::format("it exceeds {} values at byte {}", kMostValues, i));
    if (level > kMostLevels)
      throw ParseError(
          fmt::format("lists and objects nest deeper than {} levels at byte {}; neither a kernel "
                      "nor a reproducer does",
                      kMostLevels, i));
  }
}

}  // namespace touchstone
