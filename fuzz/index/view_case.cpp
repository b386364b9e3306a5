#include "touchstone/fuzz/index/view_case.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>

#include "touchstone/base/error.h"

namespace touchstone::fuzz {
namespace {

using Ints = std::vector<std::int64_t>;
using Kind = MovementOp::Kind;
constexpr std::string_view kNames[] = {"reshape", "permute", "expand",    "pad",
                                       "shrink",  "stride",  "as_strided"};

/// Takes the text up to the next `at` outside parentheses, and removes it with the separator; the
/// last part is the rest and leaves nullopt.
std::string_view take(std::optional<std::string_view>& text, char at) {
  int open = 0;
  const auto ends = [&](char c) {
    open += c == '(' ? 1 : c == ')' ? -1 : 0;
    return c == at && open == 0;
  };
  const auto place = std::ranges::find_if(*text, ends);
  const std::size_t end = place == text->end() ? std::string_view::npos
                                               : static_cast<std::size_t>(place - text->begin());
  const std::string_view part = text->substr(0, end);
  if (end == std::string_view::npos)
    text.reset();
  else
    text->remove_prefix(end + 1);
  return part;
}

/// Parses words, with the variables.
class Reader {
 public:
  std::map<std::string, symbolic::Node> names;

  sint size(std::string_view word) const {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (error == std::errc() && end == word.data() + word.size() && !word.empty()) return value;
    if (names.empty() || word.empty())
      throw ParseError(fmt::format("'{}' is not a number; write sizes as 4,6", word.substr(0, 40)));
    return symbolic::parse(std::string(word), names);
  }
  std::int64_t number(std::string_view word) const {
    const sint value = size(word);
    if (!value.is_int()) throw ParseError(fmt::format("'{}' must be a number", word));
    return value.as_int();
  }
  std::vector<sint> list(std::string_view word) const {
    std::vector<sint> out;
    each(word, out, [&](std::string_view part) { out.push_back(size(part)); });
    return out;
  }
  Ints numbers(std::string_view word) const {
    Ints out;
    each(word, out, [&](std::string_view part) { out.push_back(number(part)); });
    return out;
  }
  std::vector<std::pair<sint, sint>> pairs(std::string_view word) const {
    std::vector<std::pair<sint, sint>> out;
    each(word, out, [&](std::string_view part) {
      const std::size_t colon = part.find(':');
      if (colon == std::string_view::npos || part.find(':', colon + 1) != std::string_view::npos)
        throw ParseError(fmt::format("'{}' is not a pair; write one per axis, as 0:1,2:0", part));
      out.emplace_back(size(part.substr(0, colon)), size(part.substr(colon + 1)));
    });
    return out;
  }

  MovementOp op(std::string_view name, std::string_view word) const {
    const auto at = std::ranges::find(kNames, name);
    if (at == std::end(kNames))
      throw ParseError(fmt::format("there is no movement operation '{}'; known: {}",
                                   name.substr(0, 40), fmt::join(kNames, ", ")));
    MovementOp op{.kind = static_cast<Kind>(at - std::begin(kNames))};
    switch (op.kind) {
      case Kind::Reshape:
      case Kind::Expand:
        op.shape = list(word);
        break;
      case Kind::Permute:
        for (const std::int64_t axis : numbers(word)) {
          if (axis < 0 || axis > 1000)
            throw ParseError(fmt::format("permute: there is no axis {}", axis));
          op.order.push_back(static_cast<int>(axis));
        }
        break;
      case Kind::Pad:
      case Kind::Shrink:
        op.ends = pairs(word);
        break;
      case Kind::Stride:
        op.steps = numbers(word);
        break;
      case Kind::AsStrided: {
        if (std::ranges::count(word, ':') != 2)
          throw ParseError("write as_strided as as_strided SHAPE:STRIDES:OFFSET, as 2,3:1,2:0");
        std::optional<std::string_view> rest = word;
        op.shape = list(take(rest, ':'));
        op.strides = list(take(rest, ':'));
        op.offset = size(take(rest, ':'));
        break;
      }
    }
    return op;
  }

 private:
  /// Calls `read` for each part of a list, with a new entry of `out` to fill.
  template <class List, class Read>
  static void each(std::string_view word, List& out, const Read& read) {
    if (word == "()") return;
    out.reserve(static_cast<std::size_t>(std::ranges::count(word, ',')) + 1);
    for (std::optional<std::string_view> rest = word; rest;) read(take(rest, ','));
  }
};

std::string word(const sint& value) {
  if (value.is_int()) return fmt::format_int(value.as_int()).c_str();
  std::string text = value.str();
  std::erase(text, ' ');
  return text;
}

template <class List, class Show>
std::string joined(const List& list, const Show& show) {
  if (list.empty()) return "()";
  std::string text;
  for (const auto& item : list) text += (text.empty() ? "" : ",") + show(item);
  return text;
}
std::string joined(const std::vector<sint>& list) { return joined(list, word); }

std::string argument(const MovementOp& op) {
  const auto number = [](auto n) { return std::string(fmt::format_int(n).c_str()); };
  switch (op.kind) {
    case Kind::Permute:
      return joined(op.order, number);
    case Kind::Stride:
      return joined(op.steps, number);
    case Kind::Pad:
    case Kind::Shrink:
      return joined(op.ends, [](const auto& e) { return word(e.first) + ":" + word(e.second); });
    case Kind::AsStrided:
      return joined(op.shape) + ":" + joined(op.strides) + ":" + word(op.offset);
    default:
      return joined(op.shape);
  }
}

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  words.reserve(static_cast<std::size_t>(std::ranges::count(text, ' ')) + 1);
  for (std::optional<std::string_view> rest = text; rest;)
    if (const std::string_view w = take(rest, ' '); !w.empty()) words.push_back(w);
  return words;
}

// "n=2..5 m=0..2".
std::vector<ViewCase::Range> ranges_of(std::string_view head) {
  constexpr std::size_t kMostVariables = 4;
  constexpr std::int64_t kMostValues = 256;  // combinations
  std::vector<ViewCase::Range> ranges;
  std::int64_t combinations = 1;
  for (const std::string_view word : words_of(head)) {
    const std::size_t equals = word.find('='), dots = word.find("..");
    if (equals == std::string_view::npos || dots == std::string_view::npos || dots < equals)
      throw ParseError("write variables with their ranges before |, as n=2..5 m=0..2");
    const Reader reader;
    const ViewCase::Range range{std::string(word.substr(0, equals)),
                                reader.number(word.substr(equals + 1, dots - equals - 1)),
                                reader.number(word.substr(dots + 2))};
    if (range.low < -64 || range.high < range.low || range.high - range.low > 64)
      throw ParseError(fmt::format("{}: the range must lie within 65 values from -64 on", word));
    combinations *= range.high - range.low + 1;
    ranges.push_back(range);
    if (ranges.size() > kMostVariables || combinations > kMostValues)
      throw ParseError(fmt::format("at most {} variables with {} combinations of values",
                                   kMostVariables, kMostValues));
  }
  if (ranges.empty())
    throw ParseError("write variables with their ranges before |, as n=2..5 m=0..2");
  return ranges;
}

}  // namespace

bool is_movement(std::string_view name) {
  return std::ranges::find(kNames, name) != std::end(kNames);
}

MovementOp parse_movement(std::string_view name, std::string_view argument_word) {
  return Reader().op(name, argument_word);
}

std::string movement_text(const MovementOp& op) {
  return fmt::format("{} {}", kNames[static_cast<std::size_t>(op.kind)], argument(op));
}

ViewCase ViewCase::parse(std::string_view text) {
  ViewCase c;
  Reader reader;
  if (const std::size_t bar = text.find('|'); bar != std::string_view::npos) {
    c.variables = ranges_of(text.substr(0, bar));
    for (const auto& [name, low, high] : c.variables) {
      try {
        if (!reader.names.emplace(name, symbolic::variable(name, low, high)).second)
          throw ParseError(fmt::format("the variable {} is given twice", name));
      } catch (const ParseError&) {
        throw;
      } catch (const Error& e) {
        throw ParseError(e.what());
      }
    }
    text.remove_prefix(bar + 1);
  }
  const std::vector<std::string_view> words = words_of(text);
  if (words.size() % 2 == 0)
    throw ParseError(
        "a case of 'view' must be a shape, then operations: 4,6 permute 1,0 reshape 24");
  c.base = reader.list(words[0]);
  c.ops.reserve(words.size() / 2);
  for (std::size_t i = 1; i < words.size(); i += 2)
    c.ops.push_back(reader.op(words[i], words[i + 1]));
  return c;
}

std::string ViewCase::str() const {
  std::string text;
  for (const auto& [name, low, high] : variables)
    text += fmt::format("{}={}..{} ", name, low, high);
  if (!variables.empty()) text += "| ";
  text += joined(base);
  for (const MovementOp& op : ops) {
    text += ' ';
    text += kNames[static_cast<std::size_t>(op.kind)];
    text += ' ';
    text += argument(op);
  }
  return text;
}

std::vector<symbolic::Values> ViewCase::all_values() const {
  std::vector<symbolic::Values> all = {{}};
  for (const auto& [name, low, high] : variables) {
    std::vector<symbolic::Values> more;
    for (const symbolic::Values& values : all)
      for (std::int64_t value = low; value <= high; ++value) {
        more.push_back(values);
        more.back().emplace(name, value);
      }
    all = std::move(more);
  }
  return all;
}

symbolic::Values ViewCase::largest() const {
  symbolic::Values values;
  for (const Range& range : variables) values.emplace(range.name, range.high);
  return values;
}

ViewCase ViewCase::bind(const symbolic::Values& values) const {
  if (values.empty()) return *this;
  std::map<std::string, symbolic::Node> nodes;
  const auto bound = [&](const Range& range) { return values.contains(range.name); };
  for (const Range& range : variables)
    nodes.emplace(range.name, bound(range) ? sint(values.at(range.name)).node()
                                           : symbolic::variable(range.name, range.low, range.high));
  const bool all = std::ranges::all_of(variables, bound);
  const auto set = [&](sint& s) {
    if (s.is_int()) return;
    s = all ? sint(s.evaluate(values)) : sint(symbolic::parse(s.str(), nodes));
  };
  ViewCase c = *this;
  std::erase_if(c.variables, bound);
  std::ranges::for_each(c.base, set);
  for (MovementOp& op : c.ops) {
    std::ranges::for_each(op.shape, set);
    std::ranges::for_each(op.strides, set);
    set(op.offset);
    for (auto& [a, b] : op.ends) {
      set(a);
      set(b);
    }
  }
  return c;
}

}  // namespace touchstone::fuzz
