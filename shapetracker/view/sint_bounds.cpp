#include "touchstone/shapetracker/view/sint_bounds.h"

#include <algorithm>

#include "touchstone/shapetracker/view/flat_view.h"
#include "touchstone/shapetracker/view/limits.h"
#include "touchstone/shapetracker/view/variable_table.h"

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

std::optional<std::vector<symbolic::Values>> few_values(std::span<const sint> numbers) {
  std::vector<symbolic::Values> all = {{}};
  for (const sint& number : numbers) {
    if (number.is_int()) continue;
    for (const symbolic::Node& variable : symbolic::variables(number.node())) {
      const std::string name = symbolic::variable_name(variable);
      if (all.front().contains(name)) continue;
      const auto low = variable.min(), high = variable.max();
      if (!low || !high || *low > *high ||
          wrap(*high) - wrap(*low) >= ViewLimits::kValues / all.size())
        return std::nullopt;
      std::vector<symbolic::Values> more;
      for (const symbolic::Values& values : all)
        for (std::int64_t value = *low; value <= *high; ++value) {
          more.push_back(values);
          more.back().emplace(name, value);
        }
      all = std::move(more);
    }
  }
  return all;
}

namespace {

// Tests a <= b at each combination of values of the variables; false if there are too many.
bool le_at_all_values(const sint& a, const sint& b) {
  const sint both[] = {a, b};
  const std::optional<std::vector<symbolic::Values>> all = few_values(both);
  return all && std::ranges::all_of(*all, [&](const symbolic::Values& values) {
           return a.evaluate(values) <= b.evaluate(values);
         });
}

// Proves a <= b by polynomials, for all values.
bool le_by_polynomials(const sint& a, const sint& b) {
  try {
    VariableTable table;
    Choices choices;
    int ways = ViewLimits::kWays;
    do {
      const std::optional<Polynomial> low = table.read(a, &choices), high = table.read(b, &choices);
      if (!low || !high || table.size() > ViewLimits::kVariables || table.has_empty_range() ||
          ways-- == 0)
        return false;
      if (!BoxProver(table.box(), ViewLimits::kBoxes)
               .proves_nonnegative(*high - *low, choices.assumptions()))
        return false;
    } while (choices.next());
    return true;
  } catch (const OverflowError&) {
    return false;
  }
}

}  // namespace

bool proved_le(const sint& a, const sint& b) {
  if (a.is_int() && b.is_int()) return a.as_int() <= b.as_int();
  if (le_by_polynomials(a, b)) return true;
  try {
    return le_at_all_values(a, b);
  } catch (const Error&) {  // no value, for example a division by zero
    return false;
  }
}

bool proved_eq(const sint& a, const sint& b) {
  return certainly_eq(a, b) || (proved_le(a, b) && proved_le(b, a));
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
  if (whole) return value.evaluate(values);  // by definition, without simplification
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
