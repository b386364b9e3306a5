#include "touchstone/fuzz/view_case.h"

#include <algorithm>
#include <charconv>
#include <map>

#include "touchstone/base/error.h"

namespace touchstone::fuzz {
namespace {

using Ints = std::vector<std::int64_t>;
using Kind = MovementOp::Kind;
constexpr std::string_view kNames[] = {"reshape", "permute", "expand",    "pad",
                                       "shrink",  "stride",  "as_strided"};

std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t end = text.find(at);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

/// Reads words; knows the variable.
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
    if (word == "()") return out;
    for (const std::string_view part : split(word, ',')) out.push_back(size(part));
    return out;
  }
  Ints numbers(std::string_view word) const {
    Ints out;
    if (word == "()") return out;
    for (const std::string_view part : split(word, ',')) out.push_back(number(part));
    return out;
  }
  std::vector<std::pair<sint, sint>> pairs(std::string_view word) const {
    std::vector<std::pair<sint, sint>> out;
    if (word == "()") return out;
    for (const std::string_view part : split(word, ',')) {
      const auto ends = split(part, ':');
      if (ends.size() != 2)
        throw ParseError(fmt::format("'{}' is not a pair; write one an axis, as 0:1,2:0", part));
      out.emplace_back(size(ends[0]), size(ends[1]));
    }
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
        const auto parts = split(word, ':');
        if (parts.size() != 3)
          throw ParseError("as_strided is written as_strided SHAPE:STRIDES:OFFSET, as 2,3:1,2:0");
        op.shape = list(parts[0]);
        op.strides = list(parts[1]);
        op.offset = size(parts[2]);
        break;
      }
    }
    return op;
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
    std::string_view head = text.substr(0, bar);
    while (!head.empty() && head.back() == ' ') head.remove_suffix(1);
    const std::size_t equals = head.find('='), dots = head.find("..");
    if (equals == std::string_view::npos || dots == std::string_view::npos || dots < equals)
      throw ParseError("before | stands a variable with its range, as n=2..5");
    c.variable = Range{std::string(head.substr(0, equals)),
                       reader.number(head.substr(equals + 1, dots - equals - 1)),
                       reader.number(head.substr(dots + 2))};
    if (c.variable->low < 0 || c.variable->high < c.variable->low ||
        c.variable->high - c.variable->low > 64)
      throw ParseError(fmt::format("{}: the range must lie within 65 values from 0 on", head));
    try {
      reader.names.emplace(c.variable->name,
                           symbolic::variable(c.variable->name, c.variable->low, c.variable->high));
    } catch (const ParseError&) {
      throw;
    } catch (const Error& e) {
      throw ParseError(e.what());
    }
    text.remove_prefix(bar + 1);
  }
  std::vector<std::string_view> words;
  for (const std::string_view w : split(text, ' '))
    if (!w.empty()) words.push_back(w);
  if (words.size() % 2 == 0)
    throw ParseError("a case of 'view' is a shape, then operations: 4,6 permute 1,0 reshape 24");
  c.base = reader.list(words[0]);
  for (std::size_t i = 1; i < words.size(); i += 2)
    c.ops.push_back(reader.op(words[i], words[i + 1]));
  return c;
}

std::string ViewCase::str() const {
  std::string text;
  if (variable) text = fmt::format("{}={}..{} | ", variable->name, variable->low, variable->high);
  text += joined(base);
  for (const MovementOp& op : ops) {
    text += ' ';
    text += kNames[static_cast<std::size_t>(op.kind)];
    text += ' ';
    text += argument(op);
  }
  return text;
}

ViewCase ViewCase::bind(std::int64_t value) const {
  if (!variable) return *this;
  const symbolic::Values values{{variable->name, value}};
  const auto set = [&](sint& s) {
    if (!s.is_int()) s = s.evaluate(values);
  };
  ViewCase c = *this;
  c.variable.reset();
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

namespace {

[[noreturn]] void unfit(const MovementOp& op, const Ints& shape) {
  throw ParseError(fmt::format("{} does not fit the shape ({})", op.str(), fmt::join(shape, ", ")));
}

std::int64_t count_cells(const Ints& shape) {
  std::int64_t n = 1;
  for (const std::int64_t size : shape)
    if (size < 0) throw ParseError(fmt::format("a size of {}", size));
  for (const std::int64_t size : shape) {
    if (size == 0) return 0;
    if (size > kMostCells || (n *= size) > kMostCells)
      throw TooManyCells(fmt::format("more than {} elements", kMostCells));
  }
  return n;
}

Ints ints(const std::vector<sint>& sizes) {
  Ints out;
  for (const sint& s : sizes) out.push_back(s.as_int());
  return out;
}

/// Replaces the array by one of shape `wanted` that takes element sum(index * step) + start of the
/// old one where lo <= index < hi on every axis, and padding elsewhere.
void gather(Addresses& array, const Ints& wanted, const Ints& step, std::int64_t start,
            const Ints& lo, const Ints& hi) {
  const std::int64_t count = count_cells(wanted);
  std::vector<std::int64_t> cells(static_cast<std::size_t>(count));
  Ints index(wanted.size(), 0);
  for (std::int64_t& cell : cells) {
    std::int64_t from = start;
    bool inside = true;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      inside = inside && lo[i] <= index[i] && index[i] < hi[i];
      from += index[i] * step[i];
    }
    cell = inside ? array.cells[static_cast<std::size_t>(from)] : -1;
    for (std::size_t i = wanted.size(); i-- > 0;) {
      if (++index[i] < wanted[i]) break;
      index[i] = 0;
    }
  }
  array.shape = wanted;
  array.cells = std::move(cells);
}

}  // namespace

Addresses addresses_of(const Shape& base) {
  Addresses array{ints(base), {}};
  array.cells.resize(static_cast<std::size_t>(count_cells(array.shape)));
  for (std::size_t i = 0; i < array.cells.size(); ++i)
    array.cells[i] = static_cast<std::int64_t>(i);
  return array;
}

void move(Addresses& array, const MovementOp& op) {
  const Ints old = array.shape;
  const std::size_t rank = old.size();
  const auto require = [&](bool fits) {
    if (!fits) unfit(op, old);
  };
  Ints row(rank, 1);  // row-major strides
  for (std::size_t i = rank; i-- > 1;) row[i - 1] = row[i] * std::max<std::int64_t>(old[i], 1);
  Ints wanted(rank), step(rank), lo(rank, 0), hi(rank);
  std::int64_t start = 0;
  switch (op.kind) {
    case Kind::Reshape: {
      const Ints shape = ints(op.shape);
      require(count_cells(shape) == static_cast<std::int64_t>(array.cells.size()));
      array.shape = shape;
      return;
    }
    case Kind::Permute: {
      require(op.order.size() == rank);
      std::vector<bool> seen(rank, false);
      for (std::size_t i = 0; i < rank; ++i) {
        const auto axis = static_cast<std::size_t>(op.order[i]);
        require(axis < rank && !seen[axis]);
        seen[axis] = true;
        wanted[i] = old[axis];
        step[i] = row[axis];
      }
      hi = wanted;
      break;
    }
    case Kind::Expand: {
      wanted = ints(op.shape);
      require(wanted.size() == rank);
      for (std::size_t i = 0; i < rank; ++i) {
        require(wanted[i] == old[i] || (old[i] == 1 && wanted[i] >= 0));
        step[i] = wanted[i] == old[i] ? row[i] : 0;
      }
      hi = wanted;
      break;
    }
    case Kind::Pad:
    case Kind::Shrink: {
      require(op.ends.size() == rank);
      for (std::size_t i = 0; i < rank; ++i) {
        const std::int64_t a = op.ends[i].first.as_int(), b = op.ends[i].second.as_int();
        step[i] = row[i];
        if (op.kind == Kind::Pad) {
          require(a >= 0 && b >= 0 && a <= kMostCells && b <= kMostCells);
          wanted[i] = old[i] + a + b;
          lo[i] = a;
          hi[i] = a + old[i];
          start -= a * row[i];
        } else {
          require(0 <= a && a <= b && b <= old[i]);
          wanted[i] = hi[i] = b - a;
          start += a * row[i];
        }
      }
      break;
    }
    case Kind::Stride: {
      require(op.steps.size() == rank);
      for (std::size_t i = 0; i < rank; ++i) {
        const std::int64_t by = op.steps[i];
        require(by != 0 && by >= -kMostCells && by <= kMostCells);
        const std::int64_t size = by < 0 ? -by : by;
        wanted[i] = hi[i] = (old[i] + size - 1) / size;
        step[i] = by * row[i];
        if (by < 0) start += (old[i] - 1) * row[i];
      }
      break;
    }
    case Kind::AsStrided: {
      wanted = ints(op.shape);
      step = ints(op.strides);
      start = op.offset.as_int();
      require(step.size() == wanted.size());
      std::int64_t low = start, high = start;
      const std::int64_t count = count_cells(wanted);
      for (std::size_t i = 0; i < wanted.size() && count > 0; ++i) {
        require(step[i] >= -kMostCells && step[i] <= kMostCells);
        (step[i] < 0 ? low : high) += step[i] * (wanted[i] - 1);
      }
      require(low >= 0 && (count == 0 || high < static_cast<std::int64_t>(array.cells.size())));
      lo.assign(wanted.size(), 0);
      hi = wanted;
      break;
    }
  }
  gather(array, wanted, step, start, lo, hi);
}

std::int64_t address_of(const std::vector<View>& views, std::int64_t place) {
  for (std::size_t v = views.size(); v-- > 0;) {
    const View& view = views[v];
    std::int64_t address = view.offset().as_int();
    for (std::size_t i = view.shape().size(); i-- > 0;) {
      const std::int64_t size = view.shape()[i].as_int();
      if (size == 0) return -2;
      const std::int64_t index = place % size;
      place /= size;
      if (view.mask() &&
          (index < (*view.mask())[i].first.as_int() || index >= (*view.mask())[i].second.as_int()))
        return -1;
      address += index * view.strides()[i].as_int();
    }
    if (place != 0 || address < 0) return -2;  // the last view below has no such element
    place = address;
  }
  return place;
}

Addresses addresses_of(const std::vector<View>& views) {
  // From the buffer outwards: each view gathers from the array that the one below it gives. The
  // buffer itself is no array: the innermost view's own addresses are what it reads.
  Addresses below;
  for (std::size_t v = 0; v < views.size(); ++v) {
    const View& view = views[v];
    const Ints shape = ints(view.shape()), strides = ints(view.strides());
    const std::int64_t offset = view.offset().as_int();
    Ints lo(shape.size(), 0), hi = shape;
    if (view.mask())
      for (std::size_t i = 0; i < shape.size(); ++i) {
        lo[i] = (*view.mask())[i].first.as_int();
        hi[i] = (*view.mask())[i].second.as_int();
      }
    Addresses now{shape, std::vector<std::int64_t>(static_cast<std::size_t>(count_cells(shape)))};
    Ints index(shape.size(), 0);
    for (std::int64_t& cell : now.cells) {
      std::int64_t address = offset;
      bool inside = true;
      for (std::size_t i = 0; i < shape.size(); ++i) {
        inside = inside && lo[i] <= index[i] && index[i] < hi[i];
        address += index[i] * strides[i];
      }
      if (!inside)
        cell = -1;
      else if (v == 0)
        cell = address >= 0 ? address : -2;
      else if (address < 0 || address >= std::ssize(below.cells))
        cell = -2;  // out of the view below: equal to no array
      else
        cell = below.cells[static_cast<std::size_t>(address)];
      for (std::size_t i = shape.size(); i-- > 0;) {
        if (++index[i] < shape[i]) break;
        index[i] = 0;
      }
    }
    below = std::move(now);
  }
  return below;
}

}  // namespace touchstone::fuzz
