#include "touchstone/kernelize/images.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include <gmock/gmock.h>

#include "touchstone/base/error.h"
#include "touchstone/kernelize/kernelize.h"
#include "touchstone/kernelize/rules.h"
#include "touchstone/uop/kernel_graph.h"
#include "touchstone/uop/spec.h"

namespace touchstone {
namespace {

using kernelize::why_no_image;
using ::testing::HasSubstr;

// By definition, from the addresses: as many elements as the image has, and along some axis of a
// multiple of four, neighbours are valid together and adjacent in memory.
bool lies_as_image(const ShapeTracker& st, std::int64_t elements) {
  std::vector<std::int64_t> sizes;
  std::int64_t n = 1;
  for (const sint& s : st.shape()) n *= sizes.emplace_back(s.as_int());
  if (n != elements || n == 0) return false;
  std::vector<bool> meets(sizes.size(), true);
  bool any = false;
  for (std::int64_t flat = 0; flat < n; ++flat) {
    std::vector<std::int64_t> at(sizes.size());
    for (std::size_t i = sizes.size(), rest = static_cast<std::size_t>(flat); i-- > 0;) {
      at[i] = static_cast<std::int64_t>(rest) % sizes[i];
      rest /= static_cast<std::size_t>(sizes[i]);
    }
    const auto here = st.at(at);
    any = any || here;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      if (at[i] + 1 == sizes[i]) continue;
      ++at[i];
      const auto next = st.at(at);
      if (here.has_value() != next.has_value() || (here && *next != *here + 1)) meets[i] = false;
      --at[i];
    }
  }
  for (std::size_t i = 0; i < sizes.size(); ++i)
    if (any && meets[i] && sizes[i] % 4 == 0) return true;
  return false;
}

std::vector<Shape> shapes_of(std::int64_t n) {
  std::vector<Shape> all{{n}, {1, n}, {n, 1}};
  for (std::int64_t a = 2; a <= n / 2; ++a)
    for (std::int64_t b = 2; n % a == 0 && b <= n / a; ++b)
      if (n / a % b == 0) all.push_back(a * b == n ? Shape{a, b} : Shape{a, b, n / a / b});
  return all;
}

// Views of a contiguous buffer by movement that ends in `shape`.
std::vector<ShapeTracker> moved_to(const Shape& shape) {
  std::vector<ShapeTracker> all;
  std::vector<int> order(shape.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int>(i);
  do {
    Shape before(shape.size());
    for (std::size_t i = 0; i < order.size(); ++i)
      before[static_cast<std::size_t>(order[i])] = shape[i];
    all.push_back(ShapeTracker::contiguous(before).permute(order));
  } while (std::ranges::next_permutation(order).found);
  for (std::size_t axis = 0, n = all.size(); axis < shape.size(); ++axis) {
    const int one[] = {static_cast<int>(axis)};
    for (std::size_t i = 0; i < n; ++i) all.push_back(all[i].flip(one));
    Shape narrow = shape, wider = shape;
    narrow[axis] = 1;
    all.push_back(ShapeTracker::contiguous(narrow).expand(shape));
    wider[axis] = shape[axis] + sint(3);
    Mask keep;
    for (const sint& s : shape) keep.emplace_back(0, s);
    keep[axis] = {2, shape[axis] + sint(2)};
    all.push_back(ShapeTracker::contiguous(wider).shrink(keep));
    if (shape[axis].as_int() < 2) continue;
    narrow[axis] = shape[axis] - sint(1);
    for (const bool front : {false, true}) {
      Padding padding(shape.size(), {0, 0});
      padding[axis] = front ? std::pair<sint, sint>{1, 0} : std::pair<sint, sint>{0, 1};
      all.push_back(ShapeTracker::contiguous(narrow).pad(padding));
    }
  }
  return all;
}

TEST(Images, AreKeptWhereElementsLieInFours) {
  int kept = 0, dropped = 0;
  for (const auto& [h, w] :
       std::vector<std::pair<int, int>>{{1, 1}, {2, 3}, {3, 3}, {5, 1}, {1, 7}})
    for (const Shape& shape : shapes_of(std::int64_t{4} * h * w))
      for (const ShapeTracker& st : moved_to(shape))
        for (const DType storage : {DType::Float16, DType::Float32}) {
          const std::string why = why_no_image(UOpType::image(storage, h, w), st);
          EXPECT_EQ(why.empty(), lies_as_image(st, std::int64_t{4} * h * w)) << st.str() << why;
          ++(why.empty() ? kept : dropped);
        }
  EXPECT_GT(kept, 100);
  EXPECT_GT(dropped, 100);
}

// Stacked views may miss an axis of adjacent elements, but never claim one falsely.
TEST(Images, OfSeveralViewsNoneIsKeptThatDoesNotLieInFours) {
  const UOpType image = UOpType::image(DType::Float32, 2, 3);
  int kept = 0;
  for (const Shape& first : shapes_of(24))
    for (const ShapeTracker& st : moved_to(first))
      for (const Shape& then : shapes_of(24)) {
        const ShapeTracker both = st.reshape(then);
        if (!why_no_image(image, both).empty()) continue;
        EXPECT_TRUE(lies_as_image(both, 24)) << both.str();
        ++kept;
      }
  EXPECT_GT(kept, 100);
}

TEST(Images, TheReasonSaysWhatIsWrong) {
  const UOpType image = UOpType::image(DType::Float16, 2, 3);
  const auto of = [&](const Shape& s) { return why_no_image(image, ShapeTracker::contiguous(s)); };
  EXPECT_EQ(of({2, 3, 4}), "");
  EXPECT_EQ(of({24}), "");
  EXPECT_EQ(of({2, 3}), "it has 6 elements, but imageh((2, 3, 4)) has 24");
  EXPECT_EQ(of({0, 24}), "it has 0 elements, but imageh((2, 3, 4)) has 24");
  EXPECT_EQ(of({}), "it has 1 elements, but imageh((2, 3, 4)) has 24");
  EXPECT_EQ(of({4, 6}), "no axis of (4, 6) with stride 1 has a multiple of 4 elements");
  const sint n = symbolic::variable("n", 1, 24);
  EXPECT_THAT(of({n}), HasSubstr("it has n elements"));
  EXPECT_THROW(why_no_image(UOpType::image(DType::Int8, 2, 3), ShapeTracker()), DTypeError);
  EXPECT_THROW(why_no_image(UOpType::image(DType::Float16, 0, 3), ShapeTracker()), ShapeError);
  // 2^34 elements.
  const UOpType large = UOpType::image(DType::Float16, 1 << 16, 1 << 16);
  const std::int64_t side = 1 << 16;
  EXPECT_EQ(why_no_image(large, ShapeTracker::contiguous({side, side, 4})), "");
  EXPECT_NE(why_no_image(large, ShapeTracker::contiguous({side, side, 1})), "");
}

TEST(Images, FourKindsOfNodesKeepTheType) {
  std::set<GraphOp> keep;
  for (int i = 0; i < kGraphOpCount; ++i)
    if (!kernelize::ops_that_lose_images().has(static_cast<GraphOp>(i)))
      keep.insert(static_cast<GraphOp>(i));
  EXPECT_EQ(keep,
            (std::set<GraphOp>{GraphOp::Buffer, GraphOp::View, GraphOp::Const, GraphOp::Device}));
}

// Devices have no images: kernels read and write float32, whatever the graph's buffers are.
TEST(Images, KernelsHaveNone) {
  const UOp host = UOp::device("HOST");
  const UOpType image = UOpType::image(DType::Float16, 2, 3);
  const auto buffer_of = [&](std::int64_t n) {
    return UOp::make(GraphOp::Buffer, image, {UOp::unique(), host}, n);
  };
  const UOp a = buffer_of(24), b = buffer_of(24);
  const UOp fits = a.reshape({2, 3, 4}).alu(GraphOp::Add, {b.reshape({2, 3, 4}).flip({0})});
  const UOp asked = a.alu(GraphOp::Sqrt).cast(image).contiguous().alu(GraphOp::Neg);
  const UOp unfit = a.reshape({4, 6}).contiguous().reduce(GraphOp::Add, {1}).cast(image);
  const UOp part = a.shrink({{3, 9}}).contiguous();
  for (const UOp& x : {fits, asked, unfit, part, b.assign(a.alu(GraphOp::Sqrt))}) {
    const UOp sink = UOp::sink({x});
    const UOp result = result_of(kernelize_graph(sink, Config()), sink);
    type_verify(result, SpecLevel::Tensor);
    const std::vector<UOp> order = order_of_kernels(result);
    EXPECT_FALSE(order.empty()) << x.str();
    for (const UOp& assign : order) {
      const LoweredKernel kernel = lower_kernel(assign);
      validate_kernel(kernel.ast);
      const UOp graph = kernel_graph(kernel.ast);
      type_verify(graph, SpecLevel::Kernel);
      for (const UOp& u : graph.toposort()) {
        EXPECT_FALSE(u.dtype().is_image()) << graph.str();
        if (u.op() == GraphOp::Load) {
          EXPECT_EQ(u.dtype(), UOpType(DType::Float32));
        }
      }
    }
  }
}

}  // namespace
}  // namespace touchstone
