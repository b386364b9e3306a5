#include "touchstone/shapetracker/sint_bounds.h"

#include "touchstone/shapetracker/variable_table.h"

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
    const std::optional<Polynomial> low = table.read(a), high = table.read(b);
    if (!low || !high || table.size() > kMost || table.has_empty_range()) return false;
    return BoxProver(table.box(), kBoxes).proves_nonnegative(*high - *low);
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
  std::map<std::string, symbolic::Node> replacements;
  for (const auto& [name, number] : values) replacements.emplace(name, symbolic::Node(number));
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
