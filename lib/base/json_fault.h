#pragma once

#include <string>
#include <string_view>

#include "touchstone/base/error.h"

namespace touchstone {

/// Rewords a JSON library's exception text: "line 1, column 7: the text ends; expected '}'", "it
/// has no member \"steps\"", "a member that must be a string is a number".
std::string json_fault(std::string_view what);

/// Throws ParseError if JSON is nested deeper or has more values than our formats need: code on
/// parsed JSON recurses and uses tens of times the memory of the text.
void require_shallow_json(std::string_view text);

/// Parses text of that kind. Throws ParseError, which begins with `failed`.
template <class Json>
Json read_json(std::string_view text, std::string_view failed) {
  require_shallow_json(text);
  try {
    return Json::parse(text);
  } catch (const typename Json::exception& e) {
    throw ParseError(fmt::format("{}: {}", failed, json_fault(e.what())));
  }
}

}  // namespace touchstone
