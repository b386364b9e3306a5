#include "touchstone/tensor/einsum.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <set>

#include "touchstone/lazy/origin.h"

namespace touchstone {
namespace {

// Digits label broadcast axes from the right: '0' is the last one.
constexpr int kMostBroadcast = 10;

struct Parser {
  std::string_view notation;

  [[noreturn]] void fail(const std::string& why) const {
    throw ParseError(fmt::format("einsum: '{}': {}", notation, why));
  }

  // The letters of an operand or the result; `broadcast` axes stand for "...".
  std::string labels(std::string_view text, int broadcast) const {
    std::string out;
    bool dots = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
      const auto c = static_cast<unsigned char>(text[i]);
      if (c == ' ') continue;
      if (text.substr(i).starts_with("...")) {
        if (dots) fail("'...' is given twice in one operand");
        dots = true;
        for (int axis = broadcast; axis-- > 0;) out += static_cast<char>('0' + axis);
        i += 2;
      } else if (std::isalpha(c) != 0) {
        out += text[i];
      } else {
        fail(fmt::format("'{}' is not a letter; expected letters, '...', ',' and '->'", text[i]));
      }
    }
    return out;
  }
};

int letters_in(std::string_view text) {
  return static_cast<int>(std::ranges::count_if(
      text, [](char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; }));
}

struct Operand {
  Tensor x;
  std::string labels;  // one per axis
};

// Replaces repeated letters with one axis, their diagonal.
Operand without_repeats(const Parser& parser, Operand o) {
  for (std::size_t i = 0; i < o.labels.size(); ++i) {
    for (std::size_t j; (j = o.labels.find(o.labels[i], i + 1)) != std::string::npos;) {
      const auto a = static_cast<int>(i), b = static_cast<int>(j);
      if (o.x.size(a) != o.x.size(b))
        parser.fail(fmt::format("'{}' is {} and {} in shape {}", o.labels[i], o.x.size(a),
                                o.x.size(b), str(o.x.shape())));
      o.x = o.x.diagonal(a, b).movedim(-1, a);
      o.labels.erase(j, 1);
    }
  }
  return o;
}

// The operand's axes in the order of `all`; missing axes have size 1.
Tensor spread(const Operand& o, const std::string& all) {
  std::vector<int> order;
  Shape shape;
  for (const char label : all)
    if (const std::size_t at = o.labels.find(label); at != std::string::npos) {
      order.push_back(static_cast<int>(at));
      shape.push_back(o.x.shape()[at]);
    } else {
      shape.emplace_back(1);
    }
  return o.x.permute(order).reshape(shape);
}

Operand summed(const Operand& o, const std::set<char>& needed) {
  std::vector<int> axes;
  std::string left;
  for (std::size_t i = 0; i < o.labels.size(); ++i)
    if (needed.contains(o.labels[i]))
      left += o.labels[i];
    else
      axes.push_back(static_cast<int>(i));
  return axes.empty() ? o : Operand{o.x.sum(axes), left};
}

Operand product(const Operand& a, const Operand& b) {
  std::string all = a.labels;
  for (const char label : b.labels)
    if (all.find(label) == std::string::npos) all += label;
  return {spread(a, all) * spread(b, all), all};
}

std::vector<std::string_view> split_at_commas(std::string_view text) {
  std::vector<std::string_view> parts;
  for (std::size_t comma; (comma = text.find(',')) != std::string_view::npos;) {
    parts.push_back(text.substr(0, comma));
    text.remove_prefix(comma + 1);
  }
  parts.push_back(text);
  return parts;
}

}  // namespace

Tensor einsum(std::string_view notation, const std::vector<Tensor>& operands) {
  const OriginScope origin("einsum");
  const Parser parser{notation};
  const std::size_t arrow = notation.find("->");
  const std::vector<std::string_view> parts = split_at_commas(notation.substr(0, arrow));
  if (parts.size() != operands.size())
    parser.fail(fmt::format("{} operands are named, but {} given", parts.size(), operands.size()));
  std::vector<Operand> all;
  std::map<char, std::int64_t> sizes;
  std::map<char, int> uses;
  int most = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const int broadcast = operands[i].rank() - letters_in(parts[i]);
    const bool dots = parts[i].find("...") != std::string_view::npos;
    if (broadcast < 0 || (broadcast > 0 && !dots))
      parser.fail(fmt::format("operand {} of shape {} has {} axes, '{}' names {}", i + 1,
                              str(operands[i].shape()), operands[i].rank(), parts[i],
                              letters_in(parts[i])));
    if (broadcast > kMostBroadcast)
      parser.fail(
          fmt::format("'...' stands for {} axes; the limit is {}", broadcast, kMostBroadcast));
    most = std::max(most, broadcast);
    const DType dtype = operands[i].dtype();
    Operand o{operands[i].cast(is_float(dtype) ? dtype : sum_accumulator(dtype)),
              parser.labels(parts[i], broadcast)};
    for (const char label : o.labels) ++uses[label];
    o = without_repeats(parser, std::move(o));
    for (std::size_t axis = 0; axis < o.labels.size(); ++axis) {
      const std::int64_t size = o.x.size(static_cast<int>(axis));
      auto [at, is_new] = sizes.emplace(o.labels[axis], size);
      if (at->second == 1) at->second = size;
      if (size != at->second && size != 1)
        parser.fail(fmt::format("'{}' is {} and {} in different operands", o.labels[axis],
                                at->second, size));
    }
    all.push_back(std::move(o));
  }
  std::string wanted;
  if (arrow != std::string_view::npos) {
    wanted = parser.labels(notation.substr(arrow + 2), most);
    if (most > 0 && notation.substr(arrow).find("...") == std::string_view::npos)
      parser.fail("the result lacks the '...' of the operands");
  } else {
    for (int axis = most; axis-- > 0;) wanted += static_cast<char>('0' + axis);
    for (const auto& [label, count] : uses)
      if (count == 1 && std::isalpha(static_cast<unsigned char>(label)) != 0) wanted += label;
  }
  std::set<char> needed;
  for (const char label : wanted) {
    if (!sizes.contains(label)) parser.fail(fmt::format("no operand has '{}'", label));
    if (!needed.insert(label).second)
      parser.fail(fmt::format("'{}' is given twice in the result", label));
  }
  // From the left; a letter is summed once neither a later operand nor the result needs it.
  std::vector<std::set<char>> later(all.size(), needed);
  for (std::size_t i = all.size() - 1; i > 0; --i) {
    later[i - 1] = later[i];
    later[i - 1].insert(all[i].labels.begin(), all[i].labels.end());
  }
  Operand result = summed(all[0], later[0]);
  for (std::size_t i = 1; i < all.size(); ++i) result = summed(product(result, all[i]), later[i]);
  return spread(result, wanted);
}

}  // namespace touchstone
