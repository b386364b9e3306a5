// Random chains of movement operations against arrays of addresses.
#include <gtest/gtest.h>

#include <rapidcheck/gtest.h>

#include <algorithm>

#include "chains.h"
#include "model.h"
#include "touchstone/shapetracker/ask/access.h"
#include "touchstone/shapetracker/index/index_expr.h"
#include "touchstone/shapetracker/merge/simplify.h"

namespace touchstone {
namespace {

using model::any_chain;
using model::Array;
using model::Chain;
using model::Ints;
using model::materialise;

symbolic::Values values_at(const Ints& index) {
  symbolic::Values values;
  for (std::size_t i = 0; i < index.size(); ++i) values[fmt::format("idx{}", i)] = index[i];
  return values;
}

std::int64_t read(const IndexExpr& expr, const symbolic::Values& values) {
  return symbolic::evaluate(expr.valid, values) != 0 ? symbolic::evaluate(expr.index, values) : -1;
}

RC_GTEST_PROP(Chain, EveryElementIsWhereTheArrayHasIt, ()) {
  for (int i = 0; i < 15; ++i) {
    const Chain chain = any_chain();
    if (materialise(chain.tracker) != chain.array) RC_FAIL(chain.story);
    if (materialise(simplify(chain.tracker)) != chain.array) RC_FAIL("simplify:" + chain.story);
  }
}

RC_GTEST_PROP(Chain, BecomesOneViewWhereOneViewExists, ()) {
  for (int i = 0; i < 15; ++i) {
    const Chain chain = any_chain();
    const std::optional<View> wanted = model::only_view(chain.array);
    const ShapeTracker simple = simplify(chain.tracker);
    if (wanted.has_value() != (simple.views().size() == 1))
      RC_FAIL(fmt::format("{}; wanted {}", chain.story, wanted ? wanted->str() : "several views"));
    if (wanted && simple.views()[0] != *wanted) RC_FAIL(chain.story + "; wanted " + wanted->str());
  }
}

RC_GTEST_PROP(Chain, IndexExpressionsSayTheSame, ()) {
  const Chain chain = any_chain();
  const IndexExpr by_axes = expr_idxs(chain.tracker), by_node = expr_node(chain.tracker);
  const std::int64_t size = model::count(chain.array.shape);
  for (std::int64_t i = 0; i < size; i += 1 + size / 40) {
    const std::int64_t wanted = chain.array.address[static_cast<std::size_t>(i)];
    if (read(by_axes, values_at(model::unravel(i, chain.array.shape))) != wanted)
      RC_FAIL(fmt::format("expr_idxs at {}: {} if {};{}", i, render(by_axes.index),
                          render(by_axes.valid), chain.story));
    if (read(by_node, {{"idx", i}}) != wanted)
      RC_FAIL(fmt::format("expr_node at {}: {} if {};{}", i, render(by_node.index),
                          render(by_node.valid), chain.story));
  }
}

// Along an axis with a real stride, valid neighbours differ by it.
void check_strides(const Chain& chain, const std::vector<std::optional<sint>>& strides,
                   bool ignore_valid) {
  const Array& array = chain.array;
  for (std::int64_t i = 0; i < model::count(array.shape); ++i)
    for (std::size_t axis = 0; axis < array.shape.size(); ++axis) {
      Ints index = model::unravel(i, array.shape);
      if (!strides[axis] || ++index[axis] == array.shape[axis]) continue;
      const std::int64_t here = array.address[static_cast<std::size_t>(i)], next = array.at(index);
      const bool valid = here >= 0 && next >= 0;
      if (!ignore_valid && (here < 0) != (next < 0))
        RC_FAIL(fmt::format("axis {} is masked;{}", axis, chain.story));
      if (valid && next - here != strides[axis]->as_int())
        RC_FAIL(fmt::format("axis {}: {} to {};{}", axis, here, next, chain.story));
    }
}

RC_GTEST_PROP(Chain, QueriesMeanWhatTheySay, ()) {
  const Chain chain = any_chain();
  check_strides(chain, real_strides(chain.tracker), false);
  check_strides(chain, real_strides(chain.tracker, true), true);
  const auto largest = std::ranges::max_element(chain.array.address);
  const std::int64_t reached = largest == chain.array.address.end() ? 0 : *largest + 1;
  const std::int64_t claimed = chain.tracker.real_size();
  if (claimed != reached)
    RC_FAIL(fmt::format("real_size {} where {} is reached;{}", claimed, reached, chain.story));
  if (chain.tracker.nothing_valid() != (reached == 0)) RC_FAIL("nothing_valid;" + chain.story);
  RC_ASSERT(chain.tracker.hash() == ShapeTracker(chain.tracker.views()).hash());
  RC_ASSERT(chain.tracker == ShapeTracker(chain.tracker.views()));
}

RC_GTEST_PROP(Chain, ComposeReadsOneThroughTheOther, ()) {
  const fuzz::ViewCase all = *testing::chains({});
  const auto cut = *rc::gen::inRange<std::ptrdiff_t>(0, std::ssize(all.ops) + 1);
  fuzz::ViewCase first = all, then = all;
  first.ops.erase(first.ops.begin() + cut, first.ops.end());
  then.ops.erase(then.ops.begin(), then.ops.begin() + cut);
  const Chain inner(first);
  then.base = inner.tracker.shape();
  const ShapeTracker both = inner.tracker + Chain(then).tracker;
  if (materialise(both) != model::array_of(all)) RC_FAIL(inner.story + " then " + then.str());
}

}  // namespace
}  // namespace touchstone
