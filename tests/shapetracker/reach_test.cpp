// The largest address, compared with all addresses.
#include "touchstone/shapetracker/view/reach.h"

#include <gtest/gtest.h>

#include <rapidcheck/gtest.h>

#include "chains.h"

namespace touchstone {
namespace {

using model::Ints;
using Order = std::vector<int>;

TEST(Reach, IsFoundFarBeyond32Bits) {
  const std::int64_t big = std::int64_t{1} << 20;
  const ShapeTracker turned = ShapeTracker::contiguous({big, big})
                                  .permute(Order{1, 0})
                                  .reshape({big * big})
                                  .shrink(Mask{{0, big * big - 1}})
                                  .stride(Ints{-3});
  // Index k of the transpose reads (k % 2^20) * 2^20 + k // 2^20; among the k = 2 modulo 3 that are
  // read, (2^20 - 2) * 2^20 + 2^20 - 1 reads the largest address.
  EXPECT_EQ(turned.real_size(), (big - 1) * big + (big - 2) + 1);
}

TEST(Reach, OfAStackOfManyAxesIsBoundedSoon) {
  std::vector<View> views(400, View::strided(Shape(20, sint(2)), Strides(20, sint(1)), sint(0)));
  const shapetracker::Highest found = shapetracker::highest_address(views);
  if (found.decided) {
    EXPECT_LE(found.address.value_or(0), 20);
  }
}

TEST(Reach, OfAnyStackOfViewsAsComposed) {
  EXPECT_TRUE(rc::check("is the largest address", [] {
    for (int i = 0; i < 20; ++i) {
      const model::Chain chain = model::any_chain({}, model::Keep::All);
      const auto& address = chain.array.address;
      const std::int64_t most =
          address.empty() ? -1 : *std::max_element(address.begin(), address.end());
      const shapetracker::Highest found = shapetracker::highest_address(chain.tracker.views());
      RC_ASSERT(found.decided);
      RC_ASSERT(found.address.value_or(-1) == most);
      RC_ASSERT(chain.tracker.nothing_valid() == (most < 0));
    }
  }));
}

}  // namespace
}  // namespace touchstone
