// The variables of a tracker and their values.
#include <algorithm>

#include "touchstone/shapetracker/view/shapetracker.h"

namespace touchstone {

using symbolic::Node;

std::vector<Node> ShapeTracker::vars() const {
  std::map<std::string, Node> found;
  const auto add = [&](const sint& value) {
    if (value.is_int()) return;
    for (const Node& variable : symbolic::variables(value.node()))
      found.emplace(symbolic::variable_name(variable), variable);
  };
  for (const View& view : views_) {
    std::ranges::for_each(view.shape(), add);
    std::ranges::for_each(view.strides(), add);
    add(view.offset());
    if (!view.mask()) continue;
    for (const auto& [begin, end] : *view.mask()) {
      add(begin);
      add(end);
    }
  }
  std::vector<Node> result;
  for (const auto& [name, variable] : found) result.push_back(variable);
  return result;
}

symbolic::Values ShapeTracker::var_vals(const symbolic::Values& values) const {
  symbolic::Values own;
  for (const Node& variable : vars()) {
    const std::string& name = symbolic::variable_name(variable);
    const auto found = values.find(name);
    if (found == values.end())
      throw ShapeError(fmt::format("var_vals: no value for '{}' of {}; give one", name, str()));
    const std::int64_t value = found->second;
    const auto low = variable.min(), high = variable.max();
    if ((low && value < *low) || (high && value > *high))
      throw ShapeError(fmt::format("var_vals: {} = {} is outside its bounds, {} to {}", name, value,
                                   low ? std::to_string(*low) : "open",
                                   high ? std::to_string(*high) : "open"));
    own.emplace(name, value);
  }
  return own;
}

}  // namespace touchstone
