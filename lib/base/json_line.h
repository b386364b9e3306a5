#pragma once

#include <string>

namespace touchstone {

/// A JSON value on one line. Bytes that are not UTF-8, as of text cut within a character, are
/// replaced; the library would throw.
template <class Json>
std::string json_line(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}
/// The same in ASCII.
template <class Json>
std::string ascii_json_line(const Json& value) {
  return value.dump(-1, ' ', true, Json::error_handler_t::replace);
}

}  // namespace touchstone
