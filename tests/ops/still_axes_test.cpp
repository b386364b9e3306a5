// Axes along which a value repeats, against all its elements.
#include "touchstone/ops/still_axes.h"

#include <gtest/gtest.h>

#include <rapidcheck/gtest.h>

namespace touchstone {
namespace {

// Each index of `shape`, in row-major order.
void each(const std::vector<std::int64_t>& shape,
          const std::function<void(const std::vector<std::int64_t>&)>& f) {
  std::vector<std::int64_t> at(shape.size(), 0);
  std::int64_t count = 1;
  for (const std::int64_t size : shape) count *= size;
  for (std::int64_t i = 0; i < count; ++i) {
    f(at);
    for (std::size_t axis = shape.size(); axis-- > 0;) {
      if (++at[axis] < shape[axis]) break;
      at[axis] = 0;
    }
  }
}

StillAxes still_of(const ShapeTracker& st) {
  const LazyOpPtr load = LazyOp::load(1, DType::Float32, st);
  return still_axes(LazyOp::store(ShapeTracker::contiguous(st.shape()), load))[load.get()];
}

bool repeats(const ShapeTracker& st, std::size_t axis) {
  std::vector<std::int64_t> shape;
  for (const sint& size : st.shape()) shape.push_back(size.as_int());
  bool same = true;
  each(shape, [&](const std::vector<std::int64_t>& at) {
    std::vector<std::int64_t> first = at;
    first[axis] = 0;
    same = same && st.at(at) == st.at(first);
  });
  return same;
}

TEST(StillAxes, OfAGroupBehindAReshape) {
  // (2, 3) repeated 4 times each, as (2, 12) and with more axes of stride 0.
  const ShapeTracker st = ShapeTracker::contiguous({2, 3, 1, 1, 5})
                              .expand({2, 3, 4, 5, 5})
                              .reshape({2, 12, 5, 5})
                              .reshape({2, 12, 1, 5, 5})
                              .expand({2, 12, 3, 5, 5});
  EXPECT_EQ(still_of(st) & 31U, 0b01100U);
  // Places of a channel, as the inner view repeats them, also of one channel alone.
  const ShapeTracker places = ShapeTracker::contiguous({2, 3, 1, 1})
                                  .expand({2, 3, 4, 6})
                                  .reshape({2, 12, 6})
                                  .shrink({{1, 2}, {5, 9}, {0, 6}});
  EXPECT_EQ(still_of(places) & 4U, 4U);
}

RC_GTEST_PROP(StillAxes, RepeatAllElements, ()) {
  const auto size = [] { return *rc::gen::inRange<std::int64_t>(1, 4); };
  const std::int64_t a = size(), b = size(), c = size(), d = size();
  ShapeTracker st = ShapeTracker::contiguous({a, 1, b, 1, c}).expand({a, d, b, d, c});
  const std::int64_t n = a * b * c * d * d;
  std::vector<std::int64_t> shape;
  for (std::int64_t rest = n; rest > 1 || shape.empty();) {
    std::int64_t divisor = *rc::gen::inRange<std::int64_t>(1, 13);
    while (rest % divisor != 0) --divisor;
    if (shape.size() > 5) divisor = rest;
    shape.push_back(divisor);
    rest /= divisor;
  }
  st = st.reshape({shape.begin(), shape.end()});
  if (*rc::gen::arbitrary<bool>()) {
    Shape with{1}, wide{3};
    for (const std::int64_t s : shape) {
      with.emplace_back(s);
      wide.emplace_back(s);
    }
    st = st.reshape(with).expand(wide);
  }
  Mask part;  // perhaps with an offset
  for (const sint& s : st.shape()) {
    const std::int64_t begin = *rc::gen::inRange<std::int64_t>(0, s.as_int());
    const std::int64_t end = *rc::gen::inRange<std::int64_t>(begin + 1, s.as_int() + 1);
    part.emplace_back(begin, end);
  }
  if (*rc::gen::arbitrary<bool>()) st = st.shrink(part);
  const StillAxes still = still_of(st);
  for (std::size_t axis = 0; axis < st.shape().size(); ++axis)
    if ((still >> axis & 1U) != 0) RC_ASSERT(repeats(st, axis));
}

}  // namespace
}  // namespace touchstone
