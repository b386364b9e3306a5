#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "harness.h"
#include "touchstone/codegen/linearize.h"
#include "touchstone/codegen/render_c.h"
#include "touchstone/ops/flop_counter.h"

// Kernels whose reduces are constant along axes of their readers.

namespace touchstone {
namespace {

using Ints = std::vector<std::int32_t>;

LazyOpPtr seen(const ShapeTracker& st) { return LazyOp::load(1, DType::Int32, st); }
LazyOpPtr most(const LazyOpPtr& x, int axis) { return LazyOp::reduce(Op::ReduceMax, x, {axis}); }
LazyOpPtr sum(const LazyOpPtr& x, int axis) { return LazyOp::reduce(Op::ReduceSum, x, {axis}); }
LazyOpPtr minus(const LazyOpPtr& a, const LazyOpPtr& b) { return LazyOp::binary(Op::Sub, a, b); }

struct Loops {
  int all = 0, deepest = 0;
  std::string text;
};
Loops loops_of(const LazyOpPtr& kernel, const CodegenOptions& options = {}) {
  const LinearKernel linear = linearize(kernel, options);
  verify(linear);
  Loops made{0, 0, render_c_function(linear, "f")};
  int open = 0;
  for (const LinearStep& step : linear.steps) {
    if (step.kind == StepKind::Loop) {
      ++made.all;
      made.deepest = std::max(made.deepest, ++open);
    } else if (step.kind == StepKind::EndLoop) {
      --open;
    }
  }
  return made;
}

// x - most(x) - sum(x - most(x)) over n lines of m elements. `x`: (n, m). The maximum occurs twice,
// for the line's elements and for the terms of the sum.
LazyOpPtr centred(const ShapeTracker& x) {
  const sint n = x.shape()[0], m = x.shape()[1];
  const LazyOpPtr inner = most(seen(x.reshape({n, 1, 1, m}).expand({n, m, m, m})), 3);
  const LazyOpPtr terms = minus(seen(x.reshape({n, 1, m, 1}).expand({n, m, m, 1})), inner);
  const LazyOpPtr outer = most(seen(x.reshape({n, 1, 1, m}).expand({n, m, 1, m})), 3);
  return minus(minus(seen(x.reshape({n, m, 1, 1})), outer), sum(terms, 2));
}

// The same by definition; element j of line i is values[i * step_i + j * step_j].
Ints centred(const Ints& values, int n, int m, int step_i, int step_j) {
  Ints out(values.size());
  for (int i = 0; i < n; ++i) {
    const auto at = [&](int j) { return static_cast<std::size_t>(i * step_i + j * step_j); };
    std::int32_t largest = values[at(0)], total = 0;
    for (int j = 0; j < m; ++j) largest = std::max(largest, values[at(j)]);
    for (int j = 0; j < m; ++j) total += values[at(j)] - largest;
    for (int j = 0; j < m; ++j)
      out[static_cast<std::size_t>(i * m + j)] = values[at(j)] - largest - total;
  }
  return out;
}

Ints mixed(int size) {
  Ints values;
  for (int i = 0; i < size; ++i) values.push_back((i * 37 + 11) % 101 - 50);
  return values;
}

TEST(StillReduces, StandOutsideTheLoopsThatTheyDoNotDependOn) {
  // Lines, each with its maximum, sum and elements.
  const LazyOpPtr kernel = stored(centred(ShapeTracker::contiguous({5, 11})));
  for (const bool lanes : {false, true}) {
    CodegenOptions options{true, lanes, lanes};
    options.order = TermOrder::Source;
    const Loops made = loops_of(kernel, options);
    EXPECT_EQ(made.all, 4) << made.text;
    EXPECT_EQ(made.deepest, 2) << made.text;
  }
  // 55 terms of the maximum; 55 differences and terms of the sum; two differences an element.
  EXPECT_EQ(get_lazyop_info(kernel).flops, sint(55 + 2 * 55 + 2 * 55));
}

TEST(StillReduces, GiveTheirValuesInRowsAndColumns) {
  const TestDevice device;
  const Ints x = mixed(55);
  const ShapeTracker rows = ShapeTracker::contiguous({5, 11});
  EXPECT_EQ(run<std::int32_t>(*device, stored(centred(rows)), {x}), centred(x, 5, 11, 11, 1));
  const ShapeTracker columns = rows.permute(std::vector<int>{1, 0});
  EXPECT_EQ(run<std::int32_t>(*device, stored(centred(columns)), {x}), centred(x, 11, 5, 1, 11));
}

// Each element minus its column's maximum, stored in rows: columns are the lanes of both.
TEST(StillReduces, MayDependOnTheInnerAxisAlone) {
  const TestDevice device;
  const int n = 6, m = 9;
  const ShapeTracker x = ShapeTracker::contiguous({n, m});
  const LazyOpPtr largest =
      most(seen(x.permute(std::vector<int>{1, 0}).reshape({1, m, n}).expand({n, m, n})), 2);
  const LazyOpPtr kernel = stored(minus(seen(x.reshape({n, m, 1})), largest));
  const Loops made = loops_of(kernel);
  EXPECT_EQ(made.all, 4) << made.text;  // two over lanes
  EXPECT_EQ(made.deepest, 2) << made.text;
  EXPECT_EQ(get_lazyop_info(kernel).flops, sint(2 * n * m));
  const Ints values = mixed(n * m);
  Ints right;
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < m; ++j) {
      std::int32_t top = values[static_cast<std::size_t>(j)];
      for (int k = 0; k < n; ++k) top = std::max(top, values[static_cast<std::size_t>(k * m + j)]);
      right.push_back(values[static_cast<std::size_t>(i * m + j)] - top);
    }
  EXPECT_EQ(run<std::int32_t>(*device, kernel, {values}), right);
}

// The sum of a row, and of the row numbered like the column: the same work in other loops.
TEST(StillReduces, AreSharedInTheSameLoopsOnly) {
  const TestDevice device;
  const int n = 5, m = 3;
  const ShapeTracker x = ShapeTracker::contiguous({n, m});
  const LazyOpPtr of_row = sum(seen(x.reshape({n, 1, m}).expand({n, n, m})), 2);
  const LazyOpPtr of_column = sum(seen(x.reshape({1, n, m}).expand({n, n, m})), 2);
  const Ints values = mixed(n * m);
  const auto total = [&](int row) {
    std::int32_t all = 0;
    for (int k = 0; k < m; ++k) all += values[static_cast<std::size_t>(row * m + k)];
    return all;
  };
  Ints right;
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) right.push_back(2 * total(i) - total(j));
  const LazyOpPtr kernel = stored(minus(LazyOp::binary(Op::Add, of_row, of_row), of_column));
  EXPECT_EQ(run<std::int32_t>(*device, kernel, {values}), right);
}

// Sums of three and of five copies of an element differ.
TEST(StillReduces, AreNotSharedByCountsOfEqualTerms) {
  const TestDevice device;
  const ShapeTracker x = ShapeTracker::contiguous({4});
  const auto times = [&](std::int64_t n) {
    return sum(seen(x.reshape({4, 1, 1}).expand({4, 2, n})), 2);
  };
  const Ints out = run<std::int32_t>(*device, stored(minus(times(3), times(5))), {{1, 2, 3, 4}});
  EXPECT_EQ(out, (Ints{-2, -2, -4, -4, -6, -6, -8, -8}));
}

// Sums of equal terms: an axis without movement is still summed.
TEST(StillReduces, AddEqualTermsAsOftenAsThereAre) {
  const TestDevice device;
  const ShapeTracker x = ShapeTracker::contiguous({4});
  const LazyOpPtr tripled = sum(seen(x.reshape({4, 1, 1}).expand({4, 5, 3})), 2);
  const LazyOpPtr kernel = stored(minus(seen(x.reshape({4, 1, 1}).expand({4, 5, 1})), tripled));
  const Ints out = run<std::int32_t>(*device, kernel, {{1, 2, 3, 4}});
  for (std::size_t i = 0; i < 20; ++i)
    EXPECT_EQ(out[i], -2 * (static_cast<std::int32_t>(i / 5) + 1)) << i;
  EXPECT_EQ(get_lazyop_info(kernel).flops, sint(4 * 3 + 4));
}

// A loop that may not run keeps reads of memory that then does not exist.
TEST(StillReduces, StayInALoopThatMayNotRun) {
  const sint n = symbolic::variable("n", 0, 4);
  const ShapeTracker x = ShapeTracker::contiguous({3});
  const LazyOpPtr kernel = stored(minus(seen(x.reshape({1, 3, 1}).expand({n, 3, 1})),
                                        most(seen(x.reshape({1, 1, 3}).expand({n, 3, 3})), 2)));
  const TestDevice device;
  const Ints out = run<std::int32_t>(*device, kernel, {{5, 7, 6}}, {{"n", 2}});
  EXPECT_EQ(out, (Ints{-2, 0, -1, -2, 0, -1}));
  EXPECT_TRUE(run<std::int32_t>(*device, kernel, {{5, 7, 6}}, {{"n", 0}}).empty());
}

// The number of element reads of a kernel.
std::int64_t reads_of(const LinearKernel& linear) {
  std::int64_t reads = 0;
  std::vector<std::int64_t> open{1};
  for (const LinearStep& step : linear.steps) {
    if (step.kind == StepKind::Loop)
      open.push_back(
          open.back() *
          std::get<Scalar>(linear.steps[static_cast<std::size_t>(step.src[1])].arg).to_int64());
    if (step.kind == StepKind::EndLoop) open.pop_back();
    if (step.kind == StepKind::Load) reads += open.back();
  }
  return reads;
}

// Sums x, which has three axes, minus its maximum along the axis `inner` over the axes `outer`,
// which include it.
LazyOpPtr spread(const std::vector<int>& sizes, const std::vector<int>& outer, int inner) {
  const auto at = [](int axis) { return static_cast<std::size_t>(axis); };
  Shape one, all;
  for (const int size : sizes) {
    one.push_back(size);
    all.push_back(size);
  }
  one.push_back(1);
  all.push_back(sizes[at(inner)]);
  const ShapeTracker x = ShapeTracker::contiguous({sizes[0], sizes[1], sizes[2]}).reshape(one);
  std::vector<int> order{0, 1, 2, 3};
  std::swap(order[at(inner)], order[3]);  // moves `inner` to the last axis
  const LazyOpPtr largest = most(seen(x.permute(order).expand(all)), 3);
  return LazyOp::reduce(Op::ReduceSum, minus(seen(x), largest), outer);
}

TEST(StillReduces, RunByLanesBeforeTheReduceThatReadsThem) {
  const TestDevice device;
  const std::vector<int> sizes{7, 9, 10};
  const int all = 7 * 9 * 10;
  const Ints values = mixed(all);
  for (const auto& [outer, inner] : std::vector<std::pair<std::vector<int>, int>>{{{0}, 0},
                                                                                  {{1}, 1},
                                                                                  {{2}, 2},
                                                                                  {{0, 1}, 0},
                                                                                  {{0, 1}, 1},
                                                                                  {{0, 2}, 0},
                                                                                  {{0, 2}, 2},
                                                                                  {{1, 2}, 1},
                                                                                  {{1, 2}, 2},
                                                                                  {{0, 1, 2}, 0},
                                                                                  {{0, 1, 2}, 2}}) {
    const LazyOpPtr kernel = stored(spread(sizes, outer, inner));
    std::map<std::vector<int>, std::int32_t> largest, right;
    for (const bool sums : {false, true})
      for (int i = 0; i < all; ++i) {
        std::vector<int> at{i / 90, i / 10 % 9, i % 10};
        const std::int32_t x = values[static_cast<std::size_t>(i)];
        std::vector<int> line = at;
        line[static_cast<std::size_t>(inner)] = 0;
        if (!sums) {
          const auto [it, fresh] = largest.emplace(line, x);
          it->second = std::max(it->second, x);
        } else {
          for (const int axis : outer) at[static_cast<std::size_t>(axis)] = 0;
          right[at] += x - largest.at(line);
        }
      }
    Ints wanted;
    for (const auto& [at, sum] : right) wanted.push_back(sum);
    EXPECT_EQ(run<std::int32_t>(*device, kernel, {values}), wanted) << outer.size() << ' ' << inner;
    // The elements of the sum, and those of the maximum once per line; tiles may overlap. If the
    // sum has other axes too, the maximum may be computed for each of its terms.
    const LinearKernel linear = linearize(kernel);
    EXPECT_LE(reads_of(linear), (outer.size() == 1 ? 9 : 40) * all / 4)
        << render_c_function(linear, "f");
  }
}

// x divided by the sum of its column: a column is read twice, not once a row.
TEST(StillReduces, OfColumnsRunOnceForAllRows) {
  const TestDevice device;
  for (const std::int64_t n : {1, 2, 5, 64})
    for (const std::int64_t m : {8, 9, 16, 40, 65}) {
      const ShapeTracker x = ShapeTracker::contiguous({n, m});
      const LazyOpPtr total =
          sum(seen(x.reshape({1, n, m}).permute(std::vector<int>{0, 2, 1}).expand({n, m, n})), 2);
      const LazyOpPtr kernel = stored(minus(seen(x.reshape({n, m, 1})), total));
      EXPECT_LE(reads_of(linearize(kernel)), 2 * n * std::max<std::int64_t>(m, 2 * (m / 8) * 8))
          << n << ' ' << m;
      const Ints values = mixed(static_cast<int>(n * m));
      Ints right = values;
      for (std::int64_t i = 0; i < n * m; ++i)
        for (std::int64_t k = 0; k < n; ++k)
          right[static_cast<std::size_t>(i)] -= values[static_cast<std::size_t>(k * m + i % m)];
      EXPECT_EQ(run<std::int32_t>(*device, kernel, {values}), right) << n << ' ' << m;
    }
}

// The sum is constant along each row, and the last row is masked: rows and columns stay two axes,
// although they could be counted as one.
TEST(StillReduces, AreNotMergedIntoLoopsOverWhatTheyDoNotDependOn) {
  const TestDevice device;
  const Padding last_row{{sint(0), sint(1)}, {sint(0), sint(0)}, {sint(0), sint(0)}};
  const ShapeTracker terms = ShapeTracker::contiguous({1, 1, 7}).expand({2, 40, 7}).pad(last_row);
  const LazyOpPtr kernel = stored(sum(seen(terms), 2));
  EXPECT_LE(reads_of(linearize(kernel)), 3 * 7);
  const Ints values = mixed(7);
  Ints right(120, 0);
  for (std::size_t i = 0; i < 80; ++i)
    for (const std::int32_t v : values) right[i] += v;
  EXPECT_EQ(run<std::int32_t>(*device, kernel, {values}), right);
}

// If there are no rows, nothing is read, although all rows would share it.
TEST(StillReduces, OfColumnsReadNothingWhereThereIsNoRow) {
  const TestDevice device;
  const sint n = symbolic::variable("n", 0, 4);
  const ShapeTracker x = ShapeTracker::contiguous({4, 1, 8}).expand({4, n, 8});
  const LazyOpPtr kernel = stored(sum(seen(x), 0));
  const Ints values = mixed(32);
  EXPECT_EQ(run<std::int32_t>(*device, kernel, {values}, {{"n", 2}}).size(), 16U);
  EXPECT_TRUE(run<std::int32_t>(*device, kernel, {Ints{}}, {{"n", 0}}).empty());
}

}  // namespace
}  // namespace touchstone
