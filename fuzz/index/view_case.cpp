#include "touchstone/fuzz/index/view_case.h"

#include <algorithm>
#include <optional>

namespace touchstone::fuzz {
namespace {

namespace in_words = shapetracker::in_words;

using Kind = MovementOp::Kind;

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
    case Kind::Permute: return joined(op.order, number);
    case Kind::Stride: return joined(op.steps, number);
    case Kind::Pad:
    case Kind::Shrink:
      return joined(op.ends, [](const auto& e) { return word(e.first) + ":" + word(e.second); });
    case Kind::AsStrided:
      return joined(op.shape) + ":" + joined(op.strides) + ":" + word(op.offset);
    default: return joined(op.shape);
  }
}

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  for (std::optional<std::string_view> rest = text; rest;)
    if (const std::string_view w = in_words::take(rest, ' '); !w.empty()) words.push_back(w);
  return words;
}

// "n=2..5 m=0..2".
std::vector<ViewCase::Range> ranges_of(std::string_view head) {
  constexpr std::size_t kMostVariables = 4;
  constexpr std::int64_t kMostValues = 256;  // combinations
  std::vector<ViewCase::Range> ranges;
  std::int64_t combinations = 1;
  constexpr char kUsage[] = "write variables with their ranges before |, as n=2..5 m=0..2";
  for (const std::string_view word : words_of(head)) {
    const ViewCase::Range range = in_words::range(word, kUsage);
    if (range.low < -64 || range.high < range.low || range.high - range.low > 64)
      throw ParseError(fmt::format("{}: the range must lie within 65 values from -64 on", word));
    combinations *= range.high - range.low + 1;
    ranges.push_back(range);
    if (ranges.size() > kMostVariables || combinations > kMostValues)
      throw ParseError(fmt::format("at most {} variables with {} combinations of values",
                                   kMostVariables, kMostValues));
  }
  if (ranges.empty()) throw ParseError(kUsage);
  return ranges;
}

}  // namespace

bool is_movement(std::string_view name) {
  return std::ranges::find(in_words::kMovements, name) != std::end(in_words::kMovements);
}

MovementOp parse_movement(std::string_view name, std::string_view argument_word) {
  return in_words::movement(name, argument_word);
}

std::string movement_text(const MovementOp& op) {
  return fmt::format("{} {}", in_words::kMovements[static_cast<std::size_t>(op.kind)],
                     argument(op));
}

ViewCase ViewCase::parse(std::string_view text) {
  ViewCase c;
  in_words::Names names;
  if (const std::size_t bar = text.find('|'); bar != std::string_view::npos) {
    c.variables = ranges_of(text.substr(0, bar));
    for (const auto& [name, low, high] : c.variables) {
      try {
        if (!names.emplace(name, symbolic::variable(name, low, high)).second)
          throw ParseError(fmt::format("the variable {} is given twice", name));
      } catch (const ParseError&) {
        throw;
      } catch (const Error& e) {
        throw ParseError(e.what());
      }
    }
    text.remove_prefix(bar + 1);
  }
  const std::vector<std::string_view> parts = words_of(text);
  if (parts.size() % 2 == 0)
    throw ParseError(
        "a case of 'view' must be a shape, then operations: 4,6 permute 1,0 reshape 24");
  c.base = in_words::sizes(parts[0], names);
  c.ops.reserve(parts.size() / 2);
  for (std::size_t i = 1; i < parts.size(); i += 2)
    c.ops.push_back(in_words::movement(parts[i], parts[i + 1], names));
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
    text += in_words::kMovements[static_cast<std::size_t>(op.kind)];
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
