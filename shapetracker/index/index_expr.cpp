
#include "touchstone/shapetracker/index/index_expr.h"

#include <algorithm>

#include "touchstone/shapetracker/view/flat_view.h"

namespace touchstone {
namespace {

using shapetracker::Digit;
using symbolic::Node;

/// The state while descending from the outermost view to the buffer.
struct Walk {
  Node address;
  std::vector<Node> conditions;

  void require(const Node& value, const sint& begin, const sint& end, const sint& size) {
    if (!certainly_eq(begin, 0)) conditions.push_back(symbolic::ge(value, begin.node()));
    if (!certainly_eq(end, size)) conditions.push_back(symbolic::lt(value, end.node()));
  }

  IndexExpr result() const {
    const Node valid = symbolic::ands(conditions);
    if (valid.constant() == 0) return {Node(0), Node(0)};
    return {address, valid};
  }
};

// True if no index is valid, or some axis is empty for all values of the variables.
bool reads_nothing(const View& view) {
  return view.nothing_valid() || certainly_eq(view.size(), 0);
}

// Applies the view to the flat index walk.address.
void enter(const View& view, Walk& walk) {
  if (reads_nothing(view)) {
    walk = {Node(0), {Node(0)}};
    return;
  }
  const auto [digits, offset] = shapetracker::join_digits(view);
  std::vector<Node> terms = {offset.node()};
  for (std::size_t i = 0; i < digits.size(); ++i) {
    const Digit& digit = digits[i];
    const bool masked = !certainly_eq(digit.begin, 0) || !certainly_eq(digit.end, digit.size);
    if (!masked && certainly_eq(digit.stride, 0)) continue;
    Node value = symbolic::floor_div(walk.address, digit.weight.node());
    // A valid flat index is below the product of the sizes, so the top digit needs no modulo.
    if (i + 1 < digits.size()) value = symbolic::floor_mod(value, digit.size.node());
    walk.require(value, digit.begin, digit.end, digit.size);
    terms.push_back(value * digit.stride.node());
  }
  walk.address = symbolic::sum(terms);
}

Walk enter_outermost(const View& view, std::span<const Node> indices) {
  if (indices.size() != view.shape().size())
    throw ShapeError(fmt::format("expr_idxs: {} indices for shape {}; give one for each axis",
                                 indices.size(), str(view.shape())));
  if (reads_nothing(view)) return {Node(0), {Node(0)}};
  Walk walk;
  std::vector<Node> terms = {view.offset().node()};
  for (std::size_t i = 0; i < indices.size(); ++i) {
    terms.push_back(indices[i] * view.strides()[i].node());
    if (view.mask()) {
      const auto& [begin, end] = (*view.mask())[i];
      walk.require(indices[i], begin, end, view.shape()[i]);
    }
  }
  walk.address = symbolic::sum(terms);
  return walk;
}

// An axis index as a variable over [0, size); 0 for an axis with at most one element.
Node index_variable(const std::string& name, const sint& size) {
  const std::int64_t end = size.max().value_or(INT64_MAX);
  return end <= 1 ? Node(0) : symbolic::variable(name, 0, end - 1);
}

}  // namespace

std::string index_prefix(const ShapeTracker& tracker) {
  std::string prefix = "idx";
  const std::vector<Node> variables = tracker.vars();
  const auto taken = [&](const Node& variable) {
    const std::string& name = symbolic::variable_name(variable);
    return name.starts_with(prefix) &&
           name.find_first_not_of("0123456789", prefix.size()) == std::string::npos;
  };
  while (std::ranges::any_of(variables, taken)) prefix += '_';
  return prefix;
}

std::vector<Node> axis_indices(const ShapeTracker& tracker) {
  const std::string prefix = index_prefix(tracker);
  std::vector<Node> indices;
  for (const sint& size : tracker.shape())
    indices.push_back(index_variable(fmt::format("{}{}", prefix, indices.size()), size));
  return indices;
}

Node flat_index(const ShapeTracker& tracker) {
  return index_variable(index_prefix(tracker), tracker.size());
}

std::string bounded_text(Node node, std::size_t most) {
  const std::size_t parts = symbolic::size(node);
  return parts <= most ? render(node) : fmt::format("({} parts: too long to print)", parts);
}

IndexConditions index_conditions(const ShapeTracker& tracker, std::span<const Node> indices) {
  const std::vector<View>& views = tracker.views();
  Walk walk = enter_outermost(views.back(), indices);
  for (std::size_t i = views.size() - 1; i-- > 0;) enter(views[i], walk);
  return {walk.address, std::move(walk.conditions)};
}

IndexExpr expr_idxs(const ShapeTracker& tracker, std::span<const Node> indices) {
  IndexConditions found = index_conditions(tracker, indices);
  return Walk{found.index, std::move(found.conditions)}.result();
}

IndexExpr expr_idxs(const ShapeTracker& tracker) {
  return expr_idxs(tracker, axis_indices(tracker));
}

IndexExpr expr_node(const ShapeTracker& tracker, Node flat) {
  Walk walk{flat, {}};
  for (std::size_t i = tracker.views().size(); i-- > 0;) enter(tracker.views()[i], walk);
  return walk.result();
}

IndexExpr expr_node(const ShapeTracker& tracker) { return expr_node(tracker, flat_index(tracker)); }

}  // namespace touchstone
