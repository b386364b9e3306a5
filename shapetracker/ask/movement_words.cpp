#include "touchstone/shapetracker/ask/movement_words.h"

#include <algorithm>
#include <charconv>

namespace touchstone::shapetracker::in_words {
namespace {

using Kind = MovementOp::Kind;

constexpr std::size_t kQuoted = 40;  // characters of a word in a message

std::int64_t number(std::string_view text, std::string_view word) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc::result_out_of_range)
    throw ParseError(fmt::format("'{}' in '{}' does not fit in 64 bits", text.substr(0, kQuoted),
                                 word.substr(0, kQuoted)));
  if (error != std::errc() || end != text.data() + text.size())
    throw ParseError(fmt::format("'{}' in '{}' is not a number; write sizes as 10,10",
                                 text.substr(0, kQuoted), word.substr(0, kQuoted)));
  return value;
}

/// What `read` makes of each part of a list.
template <class Read>
auto list(std::string_view word, const Read& read) {
  std::vector<decltype(read(word))> out;
  if (word == "()") return out;
  out.reserve(static_cast<std::size_t>(std::ranges::count(word, ',')) + 1);
  for (std::optional<std::string_view> rest = word; rest;) out.push_back(read(take(rest, ',')));
  return out;
}

}  // namespace

std::string_view take(std::optional<std::string_view>& text, char at) {
  int open = 0;
  const auto ends = [&](char c) {
    open += c == '(' ? 1 : c == ')' ? -1 : 0;
    return c == at && open == 0;
  };
  const auto place = std::ranges::find_if(*text, ends);
  const auto end = static_cast<std::size_t>(place - text->begin());
  const std::string_view part = text->substr(0, end);
  if (place == text->end())
    text.reset();
  else
    text->remove_prefix(end + 1);
  return part;
}

Range range(std::string_view word, const std::string& usage) {
  const std::size_t equals = word.find('='), dots = word.find("..");
  if (equals == word.npos || dots == word.npos || dots < equals) throw ParseError(usage);
  return {std::string(word.substr(0, equals)),
          number(word.substr(equals + 1, dots - equals - 1), word),
          number(word.substr(dots + 2), word)};
}

sint size(std::string_view text, std::string_view word, const Names& names) {
  const bool digits = text.find_first_not_of("-0123456789") == text.npos;
  if (names.empty() || digits) return number(text, word);
  try {
    return symbolic::parse(std::string(text), names);
  } catch (const ParseError& error) {
    throw ParseError(fmt::format("'{}' in '{}': {}", text, word, error.what()));
  }
}

std::vector<sint> sizes(std::string_view word, const Names& names) {
  return list(word, [&](std::string_view part) { return size(part, word, names); });
}

std::vector<std::int64_t> numbers(std::string_view word) {
  return list(word, [&](std::string_view part) { return number(part, word); });
}

std::vector<std::pair<sint, sint>> pairs(std::string_view word, const Names& names) {
  return list(word, [&](std::string_view part) {
    const std::size_t colon = part.find(':');
    if (colon == part.npos || part.find(':', colon + 1) != part.npos)
      throw ParseError(fmt::format("'{}' in '{}' is not a pair; write one per axis, as 0:1,2:0",
                                   part.substr(0, kQuoted), word.substr(0, kQuoted)));
    return std::pair(size(part.substr(0, colon), word, names),
                     size(part.substr(colon + 1), word, names));
  });
}

MovementOp movement(std::string_view name, std::string_view argument, const Names& names) {
  const auto at = std::ranges::find(kMovements, name);
  if (at == std::end(kMovements))
    throw ParseError(fmt::format("there is no movement operation '{}'; known: {}",
                                 name.substr(0, kQuoted), fmt::join(kMovements, ", ")));
  MovementOp op{.kind = static_cast<Kind>(at - std::begin(kMovements))};
  switch (op.kind) {
    case Kind::Reshape:
    case Kind::Expand: op.shape = sizes(argument, names); break;
    case Kind::Permute:
      for (const std::int64_t axis : numbers(argument)) {
        if (axis < 0 || !std::in_range<int>(axis))
          throw ParseError(fmt::format("permute: there is no axis {}", axis));
        op.order.push_back(static_cast<int>(axis));
      }
      break;
    case Kind::Pad:
    case Kind::Shrink: op.ends = pairs(argument, names); break;
    case Kind::Stride: op.steps = numbers(argument); break;
    case Kind::AsStrided: {
      if (std::ranges::count(argument, ':') != 2)
        throw ParseError(
            fmt::format("as_strided: '{}' is not shape:strides:offset; write 2,3:1,2:0",
                        argument.substr(0, kQuoted)));
      std::optional<std::string_view> rest = argument;
      op.shape = sizes(take(rest, ':'), names);
      op.strides = sizes(take(rest, ':'), names);
      op.offset = size(*rest, argument, names);
      break;
    }
  }
  return op;
}

}  // namespace touchstone::shapetracker::in_words
