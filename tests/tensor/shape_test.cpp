#include <gtest/gtest.h>

#include <rapidcheck/gtest.h>

#include <numeric>

#include "tensor_check.h"

namespace touchstone {
namespace {

class Movement : public OnDevice {
 protected:
  Tensor counting(const Sizes& sizes) const {
    Doubles values(static_cast<std::size_t>(count(sizes)));
    std::iota(values.begin(), values.end(), 0);
    return make(values, shape_of(sizes));
  }
};
TOUCHSTONE_ON_DEVICES(Movement);

TEST_P(Movement, ReshapePermuteFlipExpand) {
  const Tensor x = counting({2, 3});
  expect_near({{x.reshape({3, -1}), {0, 1, 2, 3, 4, 5}},
               {x.transpose(), {0, 3, 1, 4, 2, 5}},
               {x.permute({-1, 0}), {0, 3, 1, 4, 2, 5}},
               {x.flip({0, -1}), {5, 4, 3, 2, 1, 0}},
               {x.unsqueeze(1).expand({-1, 2, -1}), {0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5}}});
  EXPECT_EQ(x.reshape({-1}).shape(), (Shape{6}));
  EXPECT_EQ(x.unsqueeze(-1).shape(), (Shape{2, 3, 1}));
  EXPECT_EQ(x.unsqueeze(0).squeeze(0).shape(), (Shape{2, 3}));
  EXPECT_EQ(counting({2, 3, 4}).flatten(1).shape(), (Shape{2, 12}));
}

TEST_P(Movement, PadShrinkCatStack) {
  const Tensor x = counting({2, 2});
  const Tensor both = Tensor::stack({x, x + 10}, 1);
  EXPECT_EQ(both.shape(), (Shape{2, 2, 2}));
  expect_near(
      {{x.pad({{1, 0}, {0, 1}}), {0, 0, 0, 0, 1, 0, 2, 3, 0}},
       {x.shrink({{1, 2}, {0, 2}}), {2, 3}},
       {Tensor::cat({x, x + 10, x.shrink({{0, 1}, {0, 2}})}), {0, 1, 2, 3, 10, 11, 12, 13, 0, 1}},
       {Tensor::cat({x, x + 10}, -1), {0, 1, 10, 11, 2, 3, 12, 13}},
       {both, {0, 1, 10, 11, 2, 3, 12, 13}}});
}

TEST(Triangles, KeepWhatIsOnTheirSideOfEachDiagonal) {
  register_devices();
  for (std::int64_t rows = 1; rows <= 3; ++rows)
    for (std::int64_t columns = 1; columns <= 3; ++columns)
      for (std::int64_t k = -5; k <= 5; ++k) {
        const Tensor ones = Tensor::ones({rows, columns});
        std::vector<float> upper, lower;
        for (std::int64_t i = 0; i < rows; ++i)
          for (std::int64_t j = 0; j < columns; ++j) {
            upper.push_back(j >= i + k ? 1 : 0);
            lower.push_back(j <= i + k ? 1 : 0);
          }
        EXPECT_EQ(ones.triu(k).read<float>(), upper) << rows << " " << columns << " " << k;
        EXPECT_EQ(ones.tril(k).read<float>(), lower) << rows << " " << columns << " " << k;
      }
}

TEST_P(Movement, Creation) {
  expect_near(Tensor::eye(3, {DType::Float64, device()}), {1, 0, 0, 0, 1, 0, 0, 0, 1});
  expect_near(Tensor::eye(1, {DType::Float64, device()}), {1});
  EXPECT_EQ(Tensor::arange(5, -4, -3, {DType::Int32, device()}).read<int>(),
            (std::vector{5, 2, -1}));
  EXPECT_EQ(Tensor::full({2}, 2.5, {DType::Float16, device()}).read<float16>()[1].bits, 0x4100);
  EXPECT_EQ(Tensor::zeros({0, 3}, {DType::Float32, device()}).read<float>().size(), 0u);
  EXPECT_EQ(Tensor::ones({2, 2}).to(device()).sum().item<float>(), 4);
}

// Python's list slicing, in the simplest way.
Doubles sliced(std::int64_t size, const Slice& s) {
  std::int64_t begin = s.begin.value_or(s.step > 0 ? 0 : size - 1);
  std::int64_t end = s.end.value_or(s.step > 0 ? size : -1 - size);
  if (begin < 0) begin += size;
  if (end < 0) end += size;
  Doubles out;
  for (std::int64_t i = begin; s.step > 0 ? i < end : i > end; i += s.step)
    if (i >= 0 && i < size) out.push_back(static_cast<double>(i));
  return out;
}

TEST_P(Movement, SlicesAreThoseOfPython) {
  const std::vector<Slice> cases = {{},
                                    {.begin = 2},
                                    {.end = -1},
                                    {.begin = -3, .end = 6},
                                    {.begin = 1, .end = 7, .step = 3},
                                    {.step = -1},
                                    {.begin = -2, .end = 1, .step = -2},
                                    {.begin = 5, .end = 2},
                                    {.step = 9},
                                    {.end = 100, .step = 2}};
  std::vector<Expectation> all;
  for (const Slice& s : cases) {
    const Doubles wanted = sliced(7, s);
    const Tensor got = counting({7}).slice({s});
    EXPECT_EQ(got.elements(), static_cast<std::int64_t>(wanted.size()));
    all.push_back({got, wanted});
  }
  all.push_back({counting({3, 4}).slice({{.step = -2}, {.begin = 1, .step = 2}}), {9, 11, 1, 3}});
  expect_near(all);
}

RC_GTEST_PROP(Slices, AnySliceIsThatOfPython, ()) {
  register_devices();
  const auto size = any_in(1, 8);
  Slice s;
  // Fixed cases cover starts beyond the end, which the plain loop above does not clamp.
  if (*rc::gen::arbitrary<bool>()) s.begin = any_in(-size, size - 1);
  if (*rc::gen::arbitrary<bool>()) s.end = any_in(-size, size + 2);
  s.step = any_in(1, 4) * (any_in(0, 1) == 0 ? 1 : -1);
  const Doubles wanted = sliced(size, s);
  const Tensor got = Tensor::arange(0, size).slice({s});
  RC_ASSERT(read_doubles(got) == wanted);
}

}  // namespace
}  // namespace touchstone
