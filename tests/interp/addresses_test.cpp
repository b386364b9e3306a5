#include "touchstone/interp/device/addresses.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "touchstone/fuzz/index/view_case.h"

// Compared with ShapeTracker::at, element by element.

namespace touchstone {
namespace {

using interp::Addresses;
using interp::AddressRun;

ShapeTracker any_tracker(fuzz::Chooser& chooser) {
  const auto chain = fuzz::ViewCase::parse(fuzz::draw_chain(chooser, {.least = 1, .most = 9}));
  ShapeTracker st = ShapeTracker::contiguous(chain.base);
  for (const MovementOp& op : chain.ops) st = apply(st, op);
  return st;
}

// By definition: unravels the flat index and queries the tracker.
std::int64_t defined(const ShapeTracker& st, const std::vector<int>& order, std::int64_t flat) {
  std::vector<std::int64_t> index(st.shape().size());
  for (std::size_t i = order.size(); i-- > 0;) {
    const auto axis = static_cast<std::size_t>(order[i]);
    const std::int64_t size = st.shape()[axis].as_int();
    index[axis] = flat % size;
    flat /= size;
  }
  return st.at(index).value_or(-1);
}

TEST(AddressRuns, AreTheAddressesOfTheDefinition) {
  std::int64_t runs_met = 0, elements_met = 0;
  for (std::uint64_t round = 0; round < 3000; ++round) {
    fuzz::RandomChooser chooser(7, round);
    const ShapeTracker st = any_tracker(chooser);
    const std::int64_t size = st.size().as_int();
    if (size == 0) continue;
    std::vector<int> order(st.shape().size());
    std::iota(order.begin(), order.end(), 0);
    for (std::size_t i = round % 2 == 0 ? order.size() : 0; i > 1; --i)
      std::swap(order[i - 1], order[chooser.below(i)]);
    const Addresses addresses(st, order);
    const std::int64_t first = chooser.between(0, size - 1),
                       count = chooser.between(1, size - first);
    std::vector<std::int64_t> want;
    for (std::int64_t i = first; i < first + count; ++i) want.push_back(defined(st, order, i));
    std::vector<std::int64_t> got(static_cast<std::size_t>(count), -2);
    addresses.read(first, got);
    ASSERT_EQ(got, want) << st.str() << " from " << first;
    std::vector<AddressRun> runs;
    addresses.runs(first, count, runs);
    std::vector<std::int64_t> walked;
    for (const AddressRun& run : runs) {
      ASSERT_GT(run.count, 0);
      for (std::int64_t k = 0; k < run.count; ++k)
        walked.push_back(run.valid() ? run.base + k * run.stride : -1);
    }
    ASSERT_EQ(walked, want) << st.str();
    runs_met += static_cast<std::int64_t>(runs.size());
    elements_met += count;
  }
  EXPECT_LT(runs_met * 2, elements_met);
}

TEST(AddressRuns, AreAsLongAsTheViewsLetThemBe) {
  const auto runs = [](const ShapeTracker& st) {
    std::vector<int> order(st.shape().size());
    std::iota(order.begin(), order.end(), 0);
    std::vector<AddressRun> out;
    Addresses(st, order).runs(0, st.size().as_int(), out);
    return out;
  };
  const ShapeTracker square = ShapeTracker::contiguous({4, 6});
  EXPECT_EQ(runs(square), (std::vector<AddressRun>{{24, 0, 1}}));
  EXPECT_EQ(runs(square.reshape({4, 1, 6, 1})), (std::vector<AddressRun>{{24, 0, 1}}));
  EXPECT_EQ(runs(square.stride(std::vector<std::int64_t>{-1, -1})),
            (std::vector<AddressRun>{{24, 23, -1}}));
  EXPECT_EQ(runs(square.shrink({{1, 2}, {0, 6}}).expand({1, 6})),
            (std::vector<AddressRun>{{6, 6, 1}}));
  EXPECT_EQ(runs(square.shrink({{0, 1}, {0, 1}}).expand({4, 6})),
            (std::vector<AddressRun>{{24, 0, 0}}));
  EXPECT_EQ(runs(square.shrink({{0, 1}, {0, 6}}).pad({{1, 0}, {0, 2}})),
            (std::vector<AddressRun>{{8, -1, 0}, {6, 0, 1}, {2, -1, 0}}));
  EXPECT_EQ(runs(square.permute(std::vector<int>{1, 0})).size(), 6U);
  // Two views: consecutive rows of the lower one form one run.
  const ShapeTracker two = square.permute(std::vector<int>{1, 0}).reshape({24});
  EXPECT_EQ(runs(two).size(), 6U);
  EXPECT_EQ(runs(square.pad({{0, 0}, {0, 1}}).reshape({28})).size(), 8U);
}

TEST(AddressRuns, AnAxisLeftOutStaysAtItsFirstElement) {
  const ShapeTracker st = ShapeTracker::contiguous({1, 6}).expand({5, 6});
  const Addresses addresses(st, std::vector<int>{1});
  std::vector<AddressRun> runs;
  addresses.runs(2, 3, runs);
  EXPECT_EQ(runs, (std::vector<AddressRun>{{3, 2, 1}}));
}

}  // namespace
}  // namespace touchstone
