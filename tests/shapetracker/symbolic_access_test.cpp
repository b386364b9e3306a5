// Accesses of a tracker with variables, against enumeration of their values.
#include <gtest/gtest.h>

#include <rapidcheck/gtest.h>

#include <algorithm>

#include "symbolic_chains.h"
#include "touchstone/shapetracker/ask/access.h"
#include "touchstone/shapetracker/index/index_expr.h"
#include "touchstone/shapetracker/invert/movement_ops.h"
#include "touchstone/shapetracker/merge/simplify.h"
#include "touchstone/shapetracker/symbolic/symbolic_merge.h"

namespace touchstone {
namespace {

using model::Array;
using model::Ints;
using model::materialise;
using symbolic::Values;

bool left_open(const ShapeError& error) {
  return std::string(error.what()).find("depends on the variables") != std::string::npos;
}

/// A tracker with variables, their values, and every address at these values.
struct Case {
  ShapeTracker tracker;
  Values values;
  Array array;

  std::string text(const std::string& what) const {
    return fmt::format("{} with {}: {}", tracker.str(), shapetracker::str(values), what);
  }
};

Case any_case() {
  for (;;) {
    const auto chain = *rc::gen::arbitrary<testing::VariableChain>();
    Case c;
    try {
      c.tracker = ShapeTracker(model::stack_of(chain));
    } catch (const ShapeError& error) {
      RC_ASSERT(left_open(error));
      continue;
    }
    c.values = *rc::gen::elementOf(chain.all_values());
    c.array = materialise(c.tracker.bind(c.values));
    if (model::count(c.array.shape) <= 2000) return c;
  }
}

std::int64_t value_of(const IndexExpr& expr, const Values& values) {
  return symbolic::evaluate(expr.valid, values) != 0 ? symbolic::evaluate(expr.index, values) : -1;
}

// Samples large arrays.
std::int64_t step_of(const Array& array) { return 1 + model::count(array.shape) / 40; }

RC_GTEST_PROP(SymbolicAccess, ExpressionsGiveTheAddresses, ()) {
  const Case c = any_case();
  const IndexExpr by_axis = expr_idxs(c.tracker), flat = expr_node(c.tracker);
  for (std::int64_t i = 0; i < model::count(c.array.shape); i += step_of(c.array)) {
    const std::int64_t wanted = c.array.address[static_cast<std::size_t>(i)];
    Values values = c.values;
    const std::string prefix = index_prefix(c.tracker);
    values[prefix] = i;
    if (value_of(flat, values) != wanted)
      RC_FAIL(c.text(fmt::format("{}: {} if {}", i, render(flat.index), render(flat.valid))));
    const Ints index = model::unravel(i, c.array.shape);
    for (std::size_t a = 0; a < index.size(); ++a)
      values[fmt::format("{}{}", prefix, a)] = index[a];
    if (value_of(by_axis, values) != wanted)
      RC_FAIL(c.text(fmt::format("{}: {} if {}", i, render(by_axis.index), render(by_axis.valid))));
  }
}

RC_GTEST_PROP(SymbolicAccess, StridesAndMasksHold, ()) {
  const Case c = any_case();
  const auto strides = real_strides(c.tracker), loose = real_strides(c.tracker, true);
  const std::vector<int> units = unit_stride_axes(c.tracker);
  for (std::size_t axis = 0; axis < strides.size(); ++axis) {
    const bool masked = axis_is_masked(c.tracker, static_cast<int>(axis));
    const bool unit = std::ranges::find(units, static_cast<int>(axis)) != units.end();
    RC_ASSERT(unit == (strides[axis] == sint(1)));
    if (strides[axis]) RC_ASSERT(strides[axis] == loose[axis]);
    for (std::int64_t i = 0; i < model::count(c.array.shape); i += step_of(c.array)) {
      const Ints index = model::unravel(i, c.array.shape);
      Ints next = index;
      if (++next[axis] == c.array.shape[axis]) continue;
      const std::int64_t here = c.array.at(index), there = c.array.at(next);
      if (!masked && (here < 0) != (there < 0)) RC_FAIL(c.text(fmt::format("axis {}", axis)));
      if (here >= 0 && there >= 0 && loose[axis] && there - here != loose[axis]->evaluate(c.values))
        RC_FAIL(c.text(fmt::format("axis {} has stride {}", axis, loose[axis]->str())));
    }
  }
}

RC_GTEST_PROP(SymbolicAccess, SizesAndVariablesAreThose, ()) {
  const Case c = any_case();
  RC_ASSERT(c.tracker.size().evaluate(c.values) == model::count(c.array.shape));
  std::int64_t reached = 0;
  for (const std::int64_t address : c.array.address) reached = std::max(reached, address + 1);
  RC_ASSERT(c.tracker.real_size() >= reached);
  if (c.tracker.nothing_valid()) RC_ASSERT(reached == 0);
  const ShapeTracker bound = c.tracker.bind(c.values);
  RC_ASSERT(bound.vars().empty());
  RC_ASSERT(materialise(bound) == c.array);
  RC_ASSERT(materialise(simplify(c.tracker).bind(c.values)) == c.array);
}

RC_GTEST_PROP(SymbolicAccess, MovementOpsGiveTheAddresses, ()) {
  const Case c = any_case();
  const std::int64_t elements = c.tracker.real_size();
  ShapeTracker made = ShapeTracker::contiguous({elements});
  std::string story;
  try {
    for (const MovementOp& op : to_movement_ops(c.tracker, elements)) {
      story += op.str() + ", ";
      made = apply(made, op);
    }
  } catch (const ShapeError& error) {
    if (!left_open(error)) RC_FAIL(c.text(story + error.what()));  // the bounds may be too coarse
    return;
  }
  if (materialise(made.bind(c.values)) != c.array) RC_FAIL(c.text(story));
}

}  // namespace
}  // namespace touchstone
