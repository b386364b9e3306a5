#include "touchstone/view/sint_bounds.h"

#include "touchstone/view/variable_table.h"

namespace touchstone::shapetracker {

sint smaller(const sint& a, const sint& b) {
  if (certainly_le(a, b)) return a;
  if (certainly_le(b, a)) return b;
  return symbolic::min(a.node(), b.node());
}

sint larger(const sint& a, const sint& b) {
  if (certainly_le(a, b)) return b;
  if (certainly_le(b, a)) return a;
  return symbolic::max(a.node(), b.node());
}

bool proved_le(const sint& a, const sint& b) {
  if (a.is_int() && b.is_int()) return a.as_int() <= b.as_int();
  constexpr int kBoxes = 128;
  constexpr std::size_t kMost = 4;
  try {
    VariableTable table;
    Choices choices;
    int ways = 64;  // of taking the members of maxima
    do {
      const std::optional<Polynomial> low = table.read(a, &choices), high = table.read(b, &choices);
      if (!low || !high || table.size() > kMost || table.has_empty_range() || ways-- == 0)
        return false;
      if (!BoxProver(table.box(), kBoxes).proves_nonnegative(*high - *low, choices.assumptions()))
        return false;
    } while (choices.next());
    return true;
  } catch (const OverflowError&) {
    return false;
  }
}

ShapeError undecided(const std::string& what, const sint& a, const char* relation, const sint& b) {
  return ShapeError(
      fmt::format("{}: whether {} {} {} depends on the variables; narrow their bounds", what,
                  a.str(), relation, b.str()));
}

sint bind(const sint& value, const symbolic::Values& values) {
  if (value.is_int()) return value;
  bool whole = true;
  for (const symbolic::Node& variable : symbolic::variables(value.node())) {
    const auto found = values.find(symbolic::variable_name(variable));
    whole = whole && found != values.end();
    if (found == values.end()) continue;
    const auto low = variable.min(), high = variable.max();
    if ((low && found->second < *low) || (high && found->second > *high))
      throw ShapeError(fmt::format("bind: {} = {} is outside its bounds, {} to {}", found->first,
                                   found->second, low ? std::to_string(*low) : "open",
                                   high ? std::to_string(*high) : "open"));
  }
  if (whole) return value.evaluate(values);  // by the operators' definitions, nothing simplified
  std::map<std::string, symbolic::Node> replacements;
  for (const auto& [name, number] : values) replacements.emplace(name, symbolic::Node(number));
  return sint(symbolic::substitute(value.node(), replacements));
}

sint substitute(const sint& value, const std::map<std::string, symbolic::Node>& replacements) {
  if (value.is_int()) return value;
  for (const symbolic::Node& variable : symbolic::variables(value.node())) {
    const auto found = replacements.find(symbolic::variable_name(variable));
    if (found == replacements.end()) continue;
    const auto low = variable.min(), high = variable.max();
    const sint put(found->second);
    if ((low && !proved_le(*low, put)) || (high && !proved_le(put, *high)))
      throw ShapeError(fmt::format("substitute: {} = {} may be outside its bounds, {} to {}",
                                   found->first, put.str(), low ? std::to_string(*low) : "open",
                                   high ? std::to_string(*high) : "open"));
  }
  return sint(symbolic::substitute(value.node(), replacements));
}

std::string str(const Mask& mask) {
  std::string text = "(";
  for (std::size_t i = 0; i < mask.size(); ++i)
    text +=
        fmt::format("{}({}, {})", i == 0 ? "" : ", ", mask[i].first.str(), mask[i].second.str());
  return text + (mask.size() == 1 ? ",)" : ")");
}

}  // namespace touchstone::shapetracker
