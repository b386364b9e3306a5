// Commonly expected names.
#include <set>

#include "tensor_check.h"
#include "touchstone/tensor/indexing.h"

namespace touchstone {
namespace {

class Everyday : public OnDevice {};
TOUCHSTONE_ON_DEVICES(Everyday);

using Ints = std::vector<std::int32_t>;

TEST(Creation, TakesListsAsTheyAreWritten) {
  register_devices();
  EXPECT_EQ(Tensor::from({{1, 2, 3}, {4, 5, 6}}).shape(), (Shape{2, 3}));
  EXPECT_EQ(Tensor::from({{1, 2, 3}, {4, 5, 6}}).read<std::int32_t>(), (Ints{1, 2, 3, 4, 5, 6}));
  const Tensor cube = Tensor::from({{{1.0}, {2.0}}, {{3.0}, {4.0}}});
  EXPECT_EQ(cube.shape(), (Shape{2, 2, 1}));
  EXPECT_EQ(cube.read<double>(), (Doubles{1, 2, 3, 4}));
  EXPECT_EQ(Tensor::from({1.5F, 2.5F}).shape(), (Shape{2}));
  EXPECT_EQ(Tensor::from(2.5F).shape(), Shape{});
  EXPECT_EQ(Tensor::from(true).dtype(), DType::Bool);
  const std::vector<float> v = {1, 2, 3};
  EXPECT_EQ(Tensor::from(v, {v.size()}).shape(), (Shape{3}));
  EXPECT_EQ(Tensor::from(v, {v.size(), std::size_t{1}}).shape(), (Shape{3, 1}));
  EXPECT_EQ(Tensor::from(v).shape(), (Shape{3}));
  EXPECT_THROW(Tensor::from({{1, 2}, {3}}), ShapeError);
  EXPECT_THROW(Tensor::from({{{1}}, {{2}, {3}}}), ShapeError);
}

TEST(Creation, RangesOfFractionsCountAsNumPysDo) {
  register_devices();
  EXPECT_EQ(Tensor::arange(5).read<std::int32_t>(), (Ints{0, 1, 2, 3, 4}));
  EXPECT_EQ(Tensor::arange(0.0, 1.0, 0.25).read<float>(), (std::vector<float>{0, 0.25, 0.5, 0.75}));
  EXPECT_EQ(Tensor::arange(1, 0, -0.5).read<float>(), (std::vector<float>{1, 0.5}));
  EXPECT_EQ(Tensor::arange(0.5, 3).read<float>(), (std::vector<float>{0.5, 1.5, 2.5}));
  EXPECT_EQ(Tensor::arange(0.0, -1.0).elements(), 0);
  const auto tenths = Tensor::arange(0.0, 1.0, 0.1, {DType::Float64, "CPU"}).read<double>();
  ASSERT_EQ(tenths.size(), 10U);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(tenths[static_cast<std::size_t>(i)], 0.0 + i * 0.1);
  EXPECT_EQ(Tensor::arange(0.0, 3.0, 1.0, {DType::Int32, "CPU"}).read<std::int32_t>(),
            (Ints{0, 1, 2}));
  EXPECT_EQ(Tensor::arange(5, -5, -4).read<std::int32_t>(), (Ints{5, 1, -3}));
  EXPECT_EQ(Tensor::arange(3, 5, -1).elements(), 0);
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(Tensor::arange(0, kMost, kMost / 2, {DType::Int64, "CPU"}).read<std::int64_t>(),
            (std::vector<std::int64_t>{0, kMost / 2, kMost / 2 * 2}));
  EXPECT_EQ(Tensor::arange(0, -kMost - 1, -kMost - 1).elements(), 1);
  EXPECT_THROW(Tensor::arange(kMost), ShapeError);
  EXPECT_THROW(Tensor::arange(0.0, 8e15), ShapeError);
  EXPECT_THROW(Tensor::linspace(0, 1, kMost), ShapeError);
  EXPECT_THROW(Tensor::eye(kMost / 4), OverflowError);
  EXPECT_THROW(Tensor::arange(0.0, 1.0, 0.0), ShapeError);
  EXPECT_THROW(Tensor::arange(0.0, HUGE_VAL, 1.0), ShapeError);
  EXPECT_THROW(Tensor::arange(0.0, std::nan(""), 1.0), ShapeError);
}

TEST(Creation, LikeAnotherTensorWithADtypeOfItsOwn) {
  register_devices();
  const Tensor x = Tensor::zeros({2, 3});
  EXPECT_EQ(Tensor::ones_like(x, DType::Int64).dtype(), DType::Int64);
  EXPECT_EQ(Tensor::zeros_like(x, DType::Bool).dtype(), DType::Bool);
  EXPECT_EQ(Tensor::full_like(x, 2.5, DType::Float16).shape(), x.shape());
  EXPECT_EQ(Tensor::empty_like(x).dtype(), DType::Float32);
  EXPECT_EQ(rand_like(x, DType::Float64).dtype(), DType::Float64);
  EXPECT_EQ(randn_like(x).shape(), x.shape());
}

TEST(Everyday, CastsAndBytesHaveShortNames) {
  register_devices();
  const Tensor x = Tensor::from({0.0, 1.5, -2.5});
  EXPECT_EQ(x.nbytes(), 24);
  EXPECT_EQ(x.half().nbytes(), 6);
  EXPECT_EQ(x.float_().dtype(), DType::Float32);
  EXPECT_EQ(x.half().double_().read<double>(), (Doubles{0, 1.5, -2.5}));
  EXPECT_EQ(x.int_().read<std::int32_t>(), (Ints{0, 1, -2}));
  EXPECT_EQ(x.long_().dtype(), DType::Int64);
  EXPECT_EQ(x.bool_().read<bool>(), (std::vector<bool>{false, true, true}));
}

TEST_P(Everyday, BitsPowersAndChoicesTakeNumbers) {
  const Tensor a = Tensor::from({5, -1, 0}).to(device()), b = Tensor::from({3, 3, 3}).to(device());
  EXPECT_EQ((a ^ b).read<std::int32_t>(), (Ints{5 ^ 3, -1 ^ 3, 3}));
  EXPECT_EQ((a ^ 1).read<std::int32_t>(), (Ints{4, -2, 1}));
  EXPECT_EQ((1 ^ a).read<std::int32_t>(), (Ints{4, -2, 1}));
  EXPECT_EQ(((a > 0) ^ (b > 0)).read<bool>(), (std::vector<bool>{false, true, true}));
  EXPECT_THROW(make({1}, {1}) ^ make({1}, {1}), DTypeError);
  const Tensor x = make({-1, 0, 2, 0.5}, {4});
  expect_near({{pow(2, x), {0.5, 1, 4, std::sqrt(2.0)}},
               {pow(0.5, x), {2, 1, 0.25, std::sqrt(0.5)}},
               {pow(x, 2), {1, 0, 4, 0.25}},
               {Tensor::where(x > 0, x, 9), {9, 9, 2, 0.5}},
               {Tensor::where(x > 0, -1.5, x), {-1, 0, -1.5, -1.5}},
               {Tensor::where(x > 0, 1, 0), {0, 0, 1, 1}}});
  EXPECT_EQ(Tensor::where(x > 0, 1, 0).dtype(), DType::Int32);
  EXPECT_EQ(Tensor::where(x > 0, 1, 0.5).dtype(), DType::Float32);
  EXPECT_EQ(Tensor::where(x > 0, true, false).dtype(), DType::Bool);
  EXPECT_EQ(Tensor::where(a > 0, a, 0.5).dtype(), DType::Float32);
}

TEST_P(Everyday, PositionsOfExtremesWithoutAnAxisAndKept) {
  const Tensor x = make({3, 9, 2, 1, 9, 0}, {2, 3});
  EXPECT_EQ(x.argmax().item<std::int32_t>(), 1);
  EXPECT_EQ(x.argmin().item<std::int32_t>(), 5);
  EXPECT_EQ(x.argmax(1, KeepDim::Yes).shape(), (Shape{2, 1}));
  EXPECT_EQ(x.argmin(0, KeepDim::Yes).read<std::int32_t>(), (Ints{1, 0, 1}));
  EXPECT_EQ(make({4}, {}).argmax().item<std::int32_t>(), 0);
}

TEST_P(Everyday, RepeatChunkAndSqueezeTakeMoreThanTheyNeed) {
  const Tensor x = make({1, 2}, {2});
  EXPECT_EQ(x.repeat({2, 1, 3}).shape(), (Shape{2, 1, 6}));
  expect_near(x.repeat({2, 2}), {1, 2, 1, 2, 1, 2, 1, 2});
  EXPECT_THROW(x.unsqueeze(0).repeat({2}), ShapeError);
  EXPECT_EQ(x.chunk(5).size(), 2U);
  EXPECT_EQ(x.squeeze(0).shape(), (Shape{2}));
  EXPECT_THROW(x.squeeze(1), ShapeError);
}

TEST_P(Everyday, PadsTheLastAxesByPairsAndCuts) {
  const Tensor x = make({1, 2, 3, 4, 5, 6}, {2, 3});
  expect_near({{x.pad2d({1, 0}), {0, 1, 2, 3, 0, 4, 5, 6}},
               {x.pad2d({-1, 1, 0, 1}, 7), {2, 3, 7, 5, 6, 7, 7, 7, 7}},
               {x.pad2d({-1, -1, -1, 0}), {5}}});
  EXPECT_EQ(x.pad2d({-2, -1}).shape(), (Shape{2, 0}));
  EXPECT_THROW(x.pad2d({-2, -2}), ShapeError);
  EXPECT_THROW(x.pad2d({1}), ShapeError);
  EXPECT_THROW(x.pad2d({1, 1, 1, 1, 1, 1}), ShapeError);
}

TEST_P(Everyday, ScalarsHaveASoftmax) {
  EXPECT_EQ(log_softmax(make({3}, {})).item<double>(), 0);
  EXPECT_EQ(softmax(make({3}, {}), 0).item<double>(), 1);
  EXPECT_EQ(log_softmax(make({3}, {})).shape(), Shape{});
  EXPECT_THROW(softmax(make({3}, {}), 1), ShapeError);
}

TEST_P(Everyday, FunctionsAreAppliedInTheirOrder) {
  const Tensor x = make({1, 2}, {2});
  expect_near(
      x.sequential({[](const Tensor& t) { return t + 1; }, [](const Tensor& t) { return t * 10; }}),
      {20, 30});
  expect_near(x.sequential({}), {1, 2});
}

TEST_P(Everyday, ConvolutionsPadUnevenlyAndCut) {
  const Tensor tx = make({1, 2, 3, 4, 5, 6, 7}, {1, 1, 7}), tw = make({1, 10, 0}, {1, 1, 3});
  expect_near({{conv(tx, tw, std::nullopt, {.padding_pairs = {{1, -2}}}), {10, 21, 32, 43}},
               {conv_transpose(tx, tw, std::nullopt, {.padding_pairs = {{1, -1}}}),
                {12, 23, 34, 45, 56, 67, 70, 0, 0}}});
  EXPECT_THROW(conv(tx, tw, std::nullopt, {.padding_pairs = {{1, 1}, {1, 1}}}), ShapeError);
  EXPECT_THROW(conv(tx, tw, std::nullopt, {.padding_pairs = {{-4, -4}}}), ShapeError);
  EXPECT_THROW(conv(tx, tw, std::nullopt, {.padding_pairs = {{-3, -3}}}), ShapeError);
}

TEST_P(Everyday, AttentionDropsShares) {
  const Tensor q = make(some(8), {4, 2}), v = Tensor::eye(4, {DType::Float64, device()});
  const Tensor shares = scaled_dot_product_attention(q, q, v);
  Generator generator(3), again(3);
  const Tensor dropped =
      scaled_dot_product_attention(q, q, v, {.dropout = 0.5, .generator = &generator});
  const Tensor kept = again.uniform({4, 4}, 0, 1, {.device = device()}) >= 0.5;
  const Doubles all = shares.read<double>(), got = dropped.read<double>();
  const std::vector<bool> stays = kept.read<bool>();
  int gone = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_NEAR(got[i], stays[i] ? all[i] * 2 : 0, 1e-12);
    gone += stays[i] ? 0 : 1;
  }
  EXPECT_GT(gone, 2);
  EXPECT_LT(gone, 14);
  EXPECT_THROW(scaled_dot_product_attention(q, q, v, {.dropout = 0.5}), Error);
}

TEST(Random, ASeedMakesTheDefaultGeneratorBeginAnew) {
  register_devices();
  manual_seed(5);
  const std::vector<float> first = rand({4}).read<float>(), normal = randn({3}).read<float>();
  EXPECT_NE(rand({4}).read<float>(), first);
  manual_seed(5);
  EXPECT_EQ(rand({4}).read<float>(), first);
  EXPECT_EQ(randn({3}).read<float>(), normal);
  EXPECT_EQ(first, Generator(5).uniform({4}).read<float>());
  manual_seed(0);
}

TEST_P(Everyday, DrawsPositionsByWeight) {
  Generator generator(11);
  const Tensor weights = make({0, 1, 3, 0, 4, 0}, {6});
  const auto drawn = generator.multinomial(weights, 4000, Replacement::Yes).read<std::int32_t>();
  std::vector<int> count(6);
  for (const std::int32_t at : drawn) ++count.at(static_cast<std::size_t>(at));
  EXPECT_EQ(count[0] + count[3] + count[5], 0);
  // Within five standard deviations of 4000 p.
  EXPECT_NEAR(count[1], 500, 105);
  EXPECT_NEAR(count[2], 1500, 153);
  EXPECT_NEAR(count[4], 2000, 158);
  const Tensor rows = make({1, 1, 1, 1, 0, 0, 5, 1}, {2, 4});
  for (int i = 0; i < 5; ++i) {
    const auto at = generator.multinomial(rows, 2).read<std::int32_t>();
    EXPECT_NE(at[0], at[1]);
    EXPECT_EQ((std::set{at[2], at[3]}), (std::set{2, 3}));
  }
  EXPECT_EQ(generator.multinomial(rows, 3, Replacement::Yes).shape(), (Shape{2, 3}));
  EXPECT_THROW(generator.multinomial(rows, 5), ShapeError);
  EXPECT_THROW(generator.multinomial(make({1}, {}), 1), ShapeError);
  // Without replacement, the first of two is 1 of 4 in proportion to its weight.
  const Tensor many = make({1, 3}, {2}).expand({2000, 2});
  int first = 0;
  const auto at = generator.multinomial(many, 1).read<std::int32_t>();
  for (const std::int32_t i : at) first += i == 0 ? 1 : 0;
  EXPECT_NEAR(first, 500, 97);
  const Tensor scaled = generator.scaled_uniform({10, 10}, {.device = device()});
  EXPECT_LE(scaled.abs().max().item<float>(), 0.1F);
  EXPECT_GT(scaled.abs().max().item<float>(), 0.08F);
}

}  // namespace
}  // namespace touchstone
