#pragma once

#include <concepts>
#include <string>
#include <string_view>

#include <fmt/format.h>

namespace touchstone {

/// The plural of an English noun: cases, matches, families, axes.
inline std::string plural(std::string_view noun) {
  const std::string word(noun);
  if (noun == "axis") return "axes";
  if (noun == "epoch") return "epochs";  // pronounced with a k
  for (const std::string_view end : {"s", "x", "ch", "sh"})
    if (noun.ends_with(end)) return word + "es";
  const bool y = noun.size() > 1 && noun.ends_with('y') &&
                 std::string_view("aeiou").find(noun[noun.size() - 2]) == std::string_view::npos;
  return y ? word.substr(0, word.size() - 1) + "ies" : word + "s";
}

/// "1 case", "2 cases".
std::string counted(std::integral auto n, std::string_view noun) {
  return fmt::format("{} {}", n, n == 1 ? std::string(noun) : plural(noun));
}

}  // namespace touchstone
