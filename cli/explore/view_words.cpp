#include "touchstone/cli/explore/view_words.h"

#include <charconv>

#include "touchstone/base/suggest.h"

namespace touchstone::explore {
namespace {

using Numbers = std::vector<std::int64_t>;

std::int64_t number(std::string_view text, const std::string& word) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc::result_out_of_range)
    throw ParseError(fmt::format("'{}' in '{}' does not fit in 64 bits", text, word));
  if (error != std::errc() || end != text.data() + text.size() || text.empty())
    throw ParseError(fmt::format("'{}' in '{}' is not a number; write sizes as 10,10", text, word));
  return value;
}

std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t end = text.find(at);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

Numbers numbers(const std::string& word) {
  Numbers out;
  if (word == "()") return out;  // rank 0
  for (const std::string_view part : split(word, ',')) out.push_back(number(part, word));
  return out;
}

// A number, or an expression of the names if there are any.
sint size(std::string_view text, const std::string& word, const Names& names) {
  if (names.empty()) return number(text, word);
  try {
    return symbolic::parse(std::string(text), names);
  } catch (const ParseError& error) {
    throw ParseError(fmt::format("'{}' in '{}': {}", text, word, error.what()));
  }
}

// "0:1,2:0": a pair per axis.
std::vector<std::pair<sint, sint>> pairs(const std::string& word, const Names& names) {
  std::vector<std::pair<sint, sint>> out;
  if (word == "()") return out;
  for (const std::string_view part : split(word, ',')) {
    const auto ends = split(part, ':');
    if (ends.size() != 2)
      throw ParseError(
          fmt::format("'{}' in '{}' is not a pair; write one per axis, as 0:1,2:0", part, word));
    out.emplace_back(size(ends[0], word, names), size(ends[1], word, names));
  }
  return out;
}

}  // namespace

Names parse_ranges(const std::vector<std::string>& words) {
  Names names;
  for (const std::string& word : words) {
    const std::size_t equals = word.find('='), dots = word.find("..");
    if (equals == std::string::npos || dots == std::string::npos || dots < equals)
      throw ParseError(
          fmt::format("--var {}: give the lower and the upper bound, as n=2..9", word));
    const std::string name = word.substr(0, equals);
    const std::string_view range = std::string_view(word).substr(equals + 1);
    const std::int64_t low = number(range.substr(0, dots - equals - 1), word),
                       high = number(range.substr(dots - equals + 1), word);
    if (low > high)
      throw ParseError(
          fmt::format("--var {}: the range is empty: {} is greater than {}", word, low, high));
    if (!names.emplace(name, symbolic::variable(name, low, high)).second)
      throw ParseError(fmt::format("--var {}: '{}' is given twice", word, name));
  }
  return names;
}

Shape parse_shape(const std::string& word, const Names& names) {
  Shape shape;
  if (word == "()") return shape;  // rank 0
  for (const std::string_view part : split(word, ',')) shape.push_back(size(part, word, names));
  return shape;
}

ShapeTracker parse_start(const std::string& shape, const ViewStart& start, const Names& names) {
  if (!start.strides && !start.offset && !start.mask)
    return ShapeTracker::contiguous(parse_shape(shape, names));
  Shape sizes = parse_shape(shape, names);
  Strides strides = start.strides ? parse_shape(*start.strides, names) : row_major_strides(sizes);
  const sint offset = start.offset ? size(*start.offset, *start.offset, names) : sint(0);
  std::optional<Mask> mask;
  if (start.mask) mask = pairs(*start.mask, names);
  return ShapeTracker(
      {View::strided(std::move(sizes), std::move(strides), offset, std::move(mask))});
}

namespace {

// "2,3:1,2:0": shape, strides, and the offset, by default 0.
ShapeTracker as_strided(const ShapeTracker& st, const std::string& word, const Names& names) {
  const auto parts = split(word, ':');
  if (parts.size() < 2 || parts.size() > 3)
    throw ParseError(
        fmt::format("as_strided: '{}' is not shape:strides:offset; write 2,3:1,2:0", word));
  return st.as_strided(parse_shape(std::string(parts[0]), names),
                       parse_shape(std::string(parts[1]), names),
                       parts.size() == 3 ? size(parts[2], word, names) : sint(0));
}

}  // namespace

ShapeTracker apply_words(const ShapeTracker& st, const std::string& op, const std::string& argument,
                         const Names& names) {
  if (op == "permute") {
    const Numbers n = numbers(argument);
    for (const std::int64_t axis : n)  // before narrowing
      if (axis < 0 || axis >= st.rank())
        throw ShapeError(fmt::format("permute: axis {} is not in [0, {})", axis, st.rank()));
    return st.permute(std::vector<int>(n.begin(), n.end()));
  }
  if (op == "reshape") return st.reshape(parse_shape(argument, names));
  if (op == "expand") return st.expand(parse_shape(argument, names));
  if (op == "pad") return st.pad(pairs(argument, names));
  if (op == "shrink") return st.shrink(pairs(argument, names));
  if (op == "stride") return st.stride(numbers(argument));
  if (op == "flip") {
    const Numbers n = numbers(argument);
    for (const std::int64_t axis : n)  // before narrowing
      if (axis < 0 || axis >= st.rank())
        throw ShapeError(fmt::format("flip: axis {} is not in [0, {})", axis, st.rank()));
    return st.flip(std::vector<int>(n.begin(), n.end()));
  }
  if (op == "as_strided") return as_strided(st, argument, names);
  constexpr std::string_view kOps[] = {"permute", "reshape", "expand", "pad",
                                       "shrink",  "stride",  "flip",   "as_strided"};
  throw ParseError(fmt::format("there is no movement operation '{}'{}; known: {}", op,
                               did_you_mean(op, kOps), fmt::join(kOps, ", ")));
}

}  // namespace touchstone::explore
