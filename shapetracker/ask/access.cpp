#include "touchstone/shapetracker/ask/access.h"

#include <algorithm>

#include "touchstone/shapetracker/index/index_expr.h"
#include "touchstone/shapetracker/merge/simplify.h"
#include "touchstone/symbolic/expr/expr.h"

namespace touchstone {
namespace {

using symbolic::ExprOp;
using symbolic::LoweredStep;
using symbolic::Node;

/// A step of straight-line code as a linear function of the axis indices.
struct Linear {
  bool uses_index = false;
  Node value;                               // if no index is used
  std::vector<std::optional<sint>> slopes;  // nullopt: the axis occurs, but not linearly
};

/// Maps index names to axes; no variable of the tracker has such a name.
class Axes {
 public:
  explicit Axes(const ShapeTracker& tracker) : indices_(axis_indices(tracker)) {
    for (const Node& index : indices_)
      names_.push_back(index.is_constant() ? std::string() : symbolic::variable_name(index));
  }

  std::span<const Node> indices() const { return indices_; }
  std::size_t count() const { return indices_.size(); }
  std::optional<std::size_t> named(const std::string& name) const {
    const auto found = std::ranges::find(names_, name);
    if (found == names_.end()) return std::nullopt;
    return static_cast<std::size_t>(found - names_.begin());
  }

 private:
  std::vector<Node> indices_;
  std::vector<std::string> names_;  // empty for an axis with one element
};

// Slope of one axis through an operator.
std::optional<sint> slope(const LoweredStep& step, const std::vector<Linear>& done,
                          std::size_t axis) {
  const auto arg = [&](std::size_t i) -> const Linear& {
    return done[static_cast<std::size_t>(step.args[i])];
  };
  const bool occurs = std::ranges::any_of(
      step.args, [&](int i) { return done[static_cast<std::size_t>(i)].slopes[axis] != sint(0); });
  if (!occurs) return sint(0);
  if (step.op == ExprOp::Add || step.op == ExprOp::Sub) {
    const std::optional<sint>&a = arg(0).slopes[axis], &b = arg(1).slopes[axis];
    if (a && b) return step.op == ExprOp::Add ? *a + *b : *a - *b;
  }
  if (step.op == ExprOp::Mul)
    for (const std::size_t i : {0U, 1U})
      if (arg(i).slopes[axis] && !arg(1 - i).uses_index)
        return *arg(i).slopes[axis] * sint(arg(1 - i).value);
  return std::nullopt;
}

/// Slope of `expression` along each axis.
std::vector<std::optional<sint>> slopes_of(const Node& expression, const Axes& axes) {
  std::vector<Linear> done;
  for (const LoweredStep& step : symbolic::lower(expression)) {
    Linear linear;
    linear.slopes.assign(axes.count(), sint(0));
    if (step.op == ExprOp::Constant) {
      linear.value = Node(step.value);
    } else if (step.op == ExprOp::Variable) {
      const std::optional<std::size_t> axis = axes.named(step.name);
      linear.uses_index = axis.has_value();
      if (axis)
        linear.slopes[*axis] = sint(1);
      else
        linear.value = symbolic::variable(step.name, step.min.value_or(INT64_MIN),
                                          step.max.value_or(INT64_MAX));
    } else {
      std::vector<Node> args;
      for (const int i : step.args) {
        const Linear& arg = done[static_cast<std::size_t>(i)];
        linear.uses_index = linear.uses_index || arg.uses_index;
        args.push_back(arg.value);
      }
      if (!linear.uses_index) linear.value = symbolic::step_node(step.op, args);
      for (std::size_t axis = 0; axis < axes.count(); ++axis)
        linear.slopes[axis] = slope(step, done, axis);
    }
    done.push_back(std::move(linear));
  }
  return done.back().slopes;
}

std::vector<bool> axes_in(const Node& expression, const Axes& axes) {
  std::vector<bool> occurs(axes.count(), false);
  for (const Node& variable : symbolic::variables(expression))
    if (const auto axis = axes.named(symbolic::variable_name(variable))) occurs[*axis] = true;
  return occurs;
}

bool masks(const View& view, std::size_t axis) {
  return view.mask() && !view.nothing_valid() &&
         (*view.mask())[axis] != Range{0, view.shape()[axis]};
}

}  // namespace

std::vector<std::optional<sint>> real_strides(const ShapeTracker& tracker, bool ignore_valid) {
  const ShapeTracker simple = simplify(tracker);
  const std::size_t rank = tracker.shape().size();
  std::vector<std::optional<sint>> result;
  if (simple.views().size() == 1) {
    const View& view = simple.views()[0];
    for (std::size_t axis = 0; axis < rank; ++axis)
      result.push_back(!ignore_valid && masks(view, axis) ? std::nullopt
                                                          : std::optional(view.strides()[axis]));
    return result;
  }
  const Axes axes(simple);
  const IndexExpr expr = expr_idxs(simple, axes.indices());
  result = slopes_of(expr.index, axes);
  if (!ignore_valid) {
    const std::vector<bool> masked = axes_in(expr.valid, axes);
    for (std::size_t axis = 0; axis < rank; ++axis)
      if (masked[axis]) result[axis].reset();
  }
  return result;
}

sint real_offset(const ShapeTracker& tracker) {
  const ShapeTracker simple = simplify(tracker);
  const View& outermost = simple.views().back();
  if (simple.views().size() == 1) return outermost.offset();
  std::map<std::string, Node> zeros;
  const std::vector<Node> indices = axis_indices(simple);
  for (const Node& index : indices)
    if (!index.is_constant()) zeros.emplace(symbolic::variable_name(index), Node(0));
  return sint(symbolic::substitute(expr_idxs(simple, indices).index, zeros));
}

std::vector<int> unit_stride_axes(const ShapeTracker& tracker) {
  std::vector<int> axes;
  const std::vector<std::optional<sint>> strides = real_strides(tracker);
  for (std::size_t axis = 0; axis < strides.size(); ++axis)
    if (strides[axis] == sint(1)) axes.push_back(static_cast<int>(axis));
  return axes;
}

bool axis_is_masked(const ShapeTracker& tracker, int axis) {
  if (axis < 0 || axis >= tracker.rank())
    throw ShapeError(fmt::format("axis_is_masked: axis {} of shape {} must be within [0, {})", axis,
                                 str(tracker.shape()), tracker.rank()));
  const auto at = static_cast<std::size_t>(axis);
  const ShapeTracker simple = simplify(tracker);
  if (simple.views().size() == 1) return masks(simple.views()[0], at);
  const Axes axes(simple);
  return axes_in(expr_idxs(simple, axes.indices()).valid, axes)[at];
}

}  // namespace touchstone
