// Random chains of movement operations against arrays of addresses.
#include <gtest/gtest.h>

#include <rapidcheck/gtest.h>

#include <algorithm>

#include "draws.h"
#include "model.h"

namespace touchstone {
namespace {

using model::Array;
using model::Draws;
using model::Ints;
using model::materialise;

constexpr std::int64_t kMostElements = 400;

/// A tracker and what it must say.
struct Pair {
  ShapeTracker tracker;
  Array array;
  std::string story;

  void tell(const std::string& op, const std::string& args) {
    story += fmt::format(" -> {} {} = {}", op, args, tracker.str());
  }
};

Ints any_shape(Draws& draws) {
  const std::int64_t rank = draws.one_in(8) ? 8 : draws.between(0, 4);
  Ints shape;
  for (std::int64_t i = 0; i < rank; ++i) {
    std::int64_t size = draws.one_in(30) ? 0 : draws.between(1, 6);
    while (size > 1 && model::count(shape) * size > kMostElements / 4) --size;
    shape.push_back(size);
  }
  return shape;
}

// Spreads the prime factors of the number of elements over some axes, ones among them.
Ints any_reshape(Draws& draws, const Ints& shape) {
  std::int64_t rest = model::count(shape);
  Ints wanted(static_cast<std::size_t>(draws.between(rest == 1 ? 0 : 1, 5)), 1);
  if (rest == 0) {
    for (auto& size : wanted) size = draws.between(0, 3);
    wanted[static_cast<std::size_t>(draws.below(std::ssize(wanted)))] = 0;
    return wanted;
  }
  for (std::int64_t prime = 2; rest > 1; ++prime)
    for (; rest % prime == 0; rest /= prime)
      wanted[static_cast<std::size_t>(draws.below(std::ssize(wanted)))] *= prime;
  return wanted;
}

void reshape(Pair& pair, Draws& draws) {
  const Ints wanted = any_reshape(draws, pair.array.shape);
  pair.tracker = pair.tracker.reshape(model::to_shape(wanted));
  pair.array.shape = wanted;
  pair.tell("reshape", str(model::to_shape(wanted)));
}

void permute(Pair& pair, Draws& draws) {
  std::vector<int> order(pair.array.shape.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int>(i);
  for (std::size_t i = order.size(); i > 1; --i)
    std::swap(order[i - 1], order[static_cast<std::size_t>(draws.below(static_cast<int>(i)))]);
  Ints wanted;
  for (const int axis : order) wanted.push_back(pair.array.shape[static_cast<std::size_t>(axis)]);
  pair.tracker = pair.tracker.permute(order);
  pair.array = pair.array.remap(wanted, [&](const Ints& index) {
    Ints source(index.size());
    for (std::size_t i = 0; i < order.size(); ++i)
      source[static_cast<std::size_t>(order[i])] = index[i];
    return source;
  });
  pair.tell("permute", fmt::format("({})", fmt::join(order, ", ")));
}

void expand(Pair& pair, Draws& draws) {
  Ints wanted = pair.array.shape;
  for (auto& size : wanted)
    if (size == 1 && model::count(wanted) * 3 <= kMostElements)
      size = draws.one_in(20) ? 0 : draws.between(1, 3);
  pair.tracker = pair.tracker.expand(model::to_shape(wanted));
  const Ints from = pair.array.shape;
  pair.array = pair.array.remap(wanted, [&](Ints index) {
    for (std::size_t i = 0; i < index.size(); ++i)
      if (from[i] == 1) index[i] = 0;
    return index;
  });
  pair.tell("expand", str(model::to_shape(wanted)));
}

void pad(Pair& pair, Draws& draws) {
  Ints wanted = pair.array.shape, before;
  Padding padding;
  for (auto& size : wanted) {
    std::int64_t left = draws.one_in(3) ? draws.between(0, 3) : 0;
    std::int64_t right = draws.one_in(3) ? draws.between(0, 3) : 0;
    if (model::count(wanted) * (size + left + right) > kMostElements * size) left = right = 0;
    before.push_back(left);
    padding.emplace_back(left, right);
    size += left + right;
  }
  pair.tracker = pair.tracker.pad(padding);
  pair.array = pair.array.remap(wanted, [&](Ints index) {
    for (std::size_t i = 0; i < index.size(); ++i) index[i] -= before[i];
    return index;
  });
  pair.tell("pad to", str(model::to_shape(wanted)));
}

void shrink(Pair& pair, Draws& draws) {
  Ints wanted, begins;
  Mask keep;
  for (const std::int64_t size : pair.array.shape) {
    std::int64_t begin = draws.one_in(2) ? draws.between(0, std::min<std::int64_t>(size, 3)) : 0;
    std::int64_t end = draws.one_in(2) ? draws.between(std::max(begin, size - 3), size) : size;
    if (begin == end && !draws.one_in(10)) begin = 0, end = size;
    keep.emplace_back(begin, end);
    begins.push_back(begin);
    wanted.push_back(end - begin);
  }
  pair.tracker = pair.tracker.shrink(keep);
  pair.array = pair.array.remap(wanted, [&](Ints index) {
    for (std::size_t i = 0; i < index.size(); ++i) index[i] += begins[i];
    return index;
  });
  pair.tell("shrink to", str(model::to_shape(wanted)));
}

void stride(Pair& pair, Draws& draws) {
  Ints wanted, steps;
  for (const std::int64_t size : pair.array.shape) {
    const std::int64_t step = draws.between(1, 3) * (draws.one_in(2) ? -1 : 1);
    steps.push_back(draws.one_in(3) ? step : (step < 0 ? -1 : 1));
    wanted.push_back(ceil_div(size, std::abs(steps.back())));
  }
  const Ints from = pair.array.shape;
  pair.tracker = pair.tracker.stride(steps);
  pair.array = pair.array.remap(wanted, [&](Ints index) {
    for (std::size_t i = 0; i < index.size(); ++i)
      index[i] = steps[i] > 0 ? index[i] * steps[i] : from[i] - 1 + index[i] * steps[i];
    return index;
  });
  pair.tell("stride", fmt::format("({})", fmt::join(steps, ", ")));
}

void as_strided(Pair& pair, Draws& draws) {
  const std::int64_t size = model::count(pair.array.shape);
  if (size == 0) return;
  Ints wanted, strides;
  std::int64_t low = 0, high = 0;
  for (std::int64_t i = draws.between(0, 3); i > 0; --i) {
    const std::int64_t stride = draws.between(-4, 8);
    std::int64_t extent = draws.between(1, 4);
    while (high - low + std::abs(stride) * (extent - 1) >= size) --extent;
    (stride < 0 ? low : high) += stride * (extent - 1);
    wanted.push_back(extent);
    strides.push_back(stride);
  }
  const std::int64_t offset = draws.between(0, size - 1 - (high - low)) - low;
  pair.tracker = pair.tracker.as_strided(model::to_shape(wanted),
                                         Strides(strides.begin(), strides.end()), offset);
  Array flat{{size}, pair.array.address};
  pair.array = flat.remap(wanted, [&](const Ints& index) {
    std::int64_t k = offset;
    for (std::size_t i = 0; i < index.size(); ++i) k += index[i] * strides[i];
    return Ints{k};
  });
  pair.tell("as_strided", str(model::to_shape(wanted)));
}

Pair any_chain(Draws& draws) {
  static constexpr void (*kOps[])(Pair&, Draws&) = {permute, reshape, pad,     reshape,   shrink,
                                                    expand,  stride,  reshape, as_strided};
  const Ints shape = any_shape(draws);
  Pair pair{ShapeTracker::contiguous(model::to_shape(shape)), Array::contiguous(shape), ""};
  pair.tell("start", "");
  for (std::int64_t length = draws.between(0, 7); length > 0; --length)
    kOps[draws.below(std::ssize(kOps))](pair, draws);
  return pair;
}

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
    Draws draws(*model::any_draws());
    const Pair pair = any_chain(draws);
    if (materialise(pair.tracker) != pair.array) RC_FAIL(pair.story);
    if (materialise(pair.tracker.simplify()) != pair.array) RC_FAIL("simplify:" + pair.story);
  }
}

RC_GTEST_PROP(Chain, BecomesOneViewWhereOneViewExists, ()) {
  for (int i = 0; i < 15; ++i) {
    Draws draws(*model::any_draws());
    const Pair pair = any_chain(draws);
    const std::optional<View> wanted = model::only_view(pair.array);
    const ShapeTracker simple = pair.tracker.simplify();
    if (wanted.has_value() != (simple.views().size() == 1))
      RC_FAIL(fmt::format("{}; wanted {}", pair.story, wanted ? wanted->str() : "several views"));
    if (wanted && simple.views()[0] != *wanted) RC_FAIL(pair.story + "; wanted " + wanted->str());
  }
}

RC_GTEST_PROP(Chain, IndexExpressionsSayTheSame, ()) {
  Draws draws(*model::any_draws());
  const Pair pair = any_chain(draws);
  const IndexExpr by_axes = pair.tracker.expr_idxs(), by_node = pair.tracker.expr_node();
  const std::int64_t size = model::count(pair.array.shape);
  for (std::int64_t i = 0; i < size; i += 1 + size / 40) {
    const std::int64_t wanted = pair.array.address[static_cast<std::size_t>(i)];
    if (read(by_axes, values_at(model::unravel(i, pair.array.shape))) != wanted)
      RC_FAIL(fmt::format("expr_idxs at {}: {} if {};{}", i, render(by_axes.index),
                          render(by_axes.valid), pair.story));
    if (read(by_node, {{"idx", i}}) != wanted)
      RC_FAIL(fmt::format("expr_node at {}: {} if {};{}", i, render(by_node.index),
                          render(by_node.valid), pair.story));
  }
}

// Along an axis with a real stride every two neighbours differ by it, wherever both are valid.
void check_strides(const Pair& pair, const std::vector<std::optional<sint>>& strides,
                   bool ignore_valid) {
  const Array& array = pair.array;
  for (std::int64_t i = 0; i < model::count(array.shape); ++i)
    for (std::size_t axis = 0; axis < array.shape.size(); ++axis) {
      Ints index = model::unravel(i, array.shape);
      if (!strides[axis] || ++index[axis] == array.shape[axis]) continue;
      const std::int64_t here = array.address[static_cast<std::size_t>(i)], next = array.at(index);
      const bool valid = here >= 0 && next >= 0;
      if (!ignore_valid && (here < 0) != (next < 0))
        RC_FAIL(fmt::format("axis {} is masked;{}", axis, pair.story));
      if (valid && next - here != strides[axis]->as_int())
        RC_FAIL(fmt::format("axis {}: {} to {};{}", axis, here, next, pair.story));
    }
}

RC_GTEST_PROP(Chain, QueriesMeanWhatTheySay, ()) {
  Draws draws(*model::any_draws());
  const Pair pair = any_chain(draws);
  check_strides(pair, pair.tracker.real_strides(), false);
  check_strides(pair, pair.tracker.real_strides(true), true);
  const auto largest = std::ranges::max_element(pair.array.address);
  const std::int64_t reached = largest == pair.array.address.end() ? 0 : *largest + 1;
  const std::int64_t claimed = pair.tracker.real_size();
  if (claimed < reached || (pair.tracker.views().size() == 1 && claimed != reached))
    RC_FAIL(fmt::format("real_size {} where {} is reached;{}", claimed, reached, pair.story));
  if (pair.tracker.nothing_valid() != (reached == 0)) RC_FAIL("nothing_valid;" + pair.story);
  RC_ASSERT(pair.tracker.hash() == ShapeTracker(pair.tracker.views()).hash());
  RC_ASSERT(pair.tracker == ShapeTracker(pair.tracker.views()));
}

RC_GTEST_PROP(Chain, ComposeReadsOneThroughTheOther, ()) {
  Draws draws(*model::any_draws(240));
  const Pair inner = any_chain(draws);
  const std::int64_t size = model::count(inner.array.shape);
  Pair outer{ShapeTracker::contiguous({size}), Array::contiguous({size}), ""};
  reshape(outer, draws);
  permute(outer, draws);
  pad(outer, draws);
  reshape(outer, draws);
  shrink(outer, draws);
  const ShapeTracker both = ShapeTracker::compose(inner.tracker, outer.tracker);
  Array wanted = outer.array;
  for (std::int64_t& k : wanted.address)
    if (k >= 0) k = inner.array.address[static_cast<std::size_t>(k)];
  if (materialise(both) != wanted) RC_FAIL(inner.story + " then" + outer.story);
}

}  // namespace
}  // namespace touchstone
