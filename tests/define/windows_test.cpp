// Special values, types and errors of windows and resampling; definitions_test.cpp has loops.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "../interp/kernels.h"
#include "touchstone/define/definitions.h"
#include "touchstone/define/text.h"

namespace touchstone::define {
namespace {

constexpr float inf = INFINITY, nan = NAN;

template <class R, class T>
std::vector<R> result_of(const std::string& text, const std::vector<T>& x,
                         const std::vector<T>& y = {}) {
  std::vector<BufferPtr> buffers{test::buffer<T>(x)};
  if (!y.empty()) buffers.push_back(test::buffer<T>(y));
  return test::run<R>(parse(text).kernel()->src()[0], buffers);
}
using Floats = std::vector<float>;
using Places = std::vector<std::int64_t>;

std::vector<std::uint32_t> bits_of(const Floats& x) {
  std::vector<std::uint32_t> bits;
  for (const float v : x) bits.push_back(std::isnan(v) ? ~0U : std::bit_cast<std::uint32_t>(v));
  return bits;
}

TEST(Windows, TheIndexOfAMaximumIsThatOfTheFirstOrOfTheLastNan) {
  const auto index = [](const std::string& how, const Floats& x) {
    return result_of<std::int64_t, float>(fmt::format("max_pool1d_index(x[{}], {})", x.size(), how),
                                          x);
  };
  EXPECT_EQ(index("size=3", {1, 3, 3, nan, 2, nan}), (Places{1, 3, 3, 5}));
  EXPECT_EQ(index("size=3, stride=2, padding=1", {-inf, -inf, -inf}), (Places{0, 1}));
  EXPECT_EQ(index("size=2", {-0.0F, 0.0F, -0.0F}), (Places{0, 1}));
  EXPECT_EQ(index("size=4, stride=3, ceil_mode=1", {1, 2, 3, 9, 5}), (Places{3, 3}));
  EXPECT_EQ((result_of<std::int64_t, float>("max_pool2d_index(x[2,2,3], size=2)",
                                            {1, 2, 3, 4, 4, 0, nan, 1, 1, 1, nan, 1})),
            (Places{3, 4, 4, 4}));
}

TEST(Windows, TheLastOfCeilModeIsAMeanOfWhatItHas) {
  const Floats x = {1, 2, 3, 4, 5, 6, 7, 8};
  const auto pooled = [&](const std::string& how) {
    return result_of<float, float>("avg_pool1d(x[8], size=3, stride=2, " + how + ")", x);
  };
  EXPECT_EQ(pooled("ceil_mode=1"), (Floats{2, 4, 6, 7.5F}));
  EXPECT_EQ(pooled("ceil_mode=1, padding=1"), (Floats{1, 3, 5, 7, 4}));
  EXPECT_EQ(pooled("ceil_mode=1, padding=1, count_include_pad=0"), (Floats{1.5F, 3, 5, 7, 8}));
  EXPECT_EQ(pooled("padding=1, count_include_pad=0"), (Floats{1.5F, 3, 5, 7}));
  EXPECT_EQ((result_of<float, float>("max_pool1d(x[8], size=3, stride=2, ceil_mode=1)", x)),
            (Floats{3, 5, 7, 8}));
  // A window may be larger than the array, but starts in it.
  EXPECT_EQ((result_of<float, float>("max_pool1d(x[8], size=9, stride=2, ceil_mode=1)", x)),
            (Floats{8}));
  EXPECT_EQ((result_of<float, float>("avg_pool1d(x[1], size=1, stride=3, ceil_mode=1)", {5})),
            (Floats{5}));
  EXPECT_EQ(parse("avg_pool2d(x[0,4,4], size=2, ceil_mode=1)").value.shape(), (Sizes{0, 3, 3}));
}

TEST(Windows, NoZeroOfATransposedConvolutionMeetsAWeight) {
  const std::string text = "conv_transpose1d(x[1,1,2], w[1,1,2], stride=3)";
  EXPECT_EQ((result_of<float, float>(text, {1, 2}, {inf, 1})), (Floats{inf, 1, 0, inf, 2}));
  const Floats got = result_of<float, float>(text, {1, inf}, {nan, 1});
  EXPECT_EQ(bits_of(got), bits_of({nan, 1, 0, nan, inf}));
  EXPECT_EQ((result_of<std::int32_t, std::int32_t>(
                "conv_transpose1d(x[1,1,2]:i32, w[1,1,2]:i32, padding=1)", {3, 4}, {5, 6})),
            (std::vector<std::int32_t>{38}));
  // Padding removes all but zeros.
  EXPECT_EQ(
      (result_of<float, float>(
          "conv_transpose1d(x[1,1,1], w[1,1,1], stride=5, padding=2, output_padding=4)", {3}, {2})),
      (Floats{0}));
}

TEST(Windows, FoldAddsWhatUnfoldRead) {
  const Floats x = {1, 2, 3, 4, 5, 6};
  EXPECT_EQ(
      (result_of<float, float>("fold(unfold(x[1,1,2,3], size=2), output_size=[2,3], size=2)", x)),
      (Floats{1, 4, 3, 4, 10, 6}));
  EXPECT_EQ(bits_of(result_of<float, float>("unfold(x[1,1,2,2], size=[1,2], padding=[0,1])",
                                            {-0.0F, nan, inf, 1})),
            bits_of({0, -0.0F, nan, 0, inf, 1, -0.0F, nan, 0, inf, 1, 0}));
}

TEST(Interpolate, NearestElementsKeepTheirBits) {
  EXPECT_EQ(
      bits_of(result_of<float, float>("interpolate(x[4], size=6)", {-0.0F, nan, inf, 1e-45F})),
      bits_of({-0.0F, -0.0F, nan, inf, inf, 1e-45F}));
  EXPECT_EQ((result_of<std::int64_t, std::int64_t>(
                "interpolate(x[2]:i64, size=3, mode=nearest_exact)", {INT64_MIN, 1})),
            (Places{INT64_MIN, 1, 1}));
  EXPECT_EQ(
      (result_of<std::uint8_t, std::uint8_t>("interpolate(x[1,3]:u8, size=[2,2])", {255, 7, 0})),
      (std::vector<std::uint8_t>{255, 7, 255, 7}));
  for (const char* type : {"bool", "f8e4m3", "bf16", "i8"})
    EXPECT_NO_THROW(parse(fmt::format("interpolate(x[5]:{}, size=3)", type)).kernel()) << type;
  EXPECT_EQ(parse("interpolate(x[0,3,5], size=[4,4])").value.shape(), (Sizes{0, 4, 4}));
}

// PyTorch 2: positions, cubic weights and borders.
TEST(Interpolate, PositionsAreThoseOfPixels) {
  const Floats x = {0, 4, 8, 12};
  const auto made = [&](const std::string& how) {
    return result_of<float, float>("interpolate(x[4], " + how + ")", x);
  };
  EXPECT_EQ(made("size=8, mode=linear"), (Floats{0, 1, 3, 5, 7, 9, 11, 12}));
  EXPECT_EQ(made("size=2, mode=linear"), (Floats{2, 10}));
  EXPECT_EQ(made("size=7, mode=linear, align_corners=1"), (Floats{0, 2, 4, 6, 8, 10, 12}));
  EXPECT_EQ(made("size=1, mode=linear, align_corners=1"), (Floats{0}));
  EXPECT_EQ(made("size=1, mode=linear"), (Floats{6}));
  EXPECT_EQ(made("size=2"), (Floats{0, 8}));
  EXPECT_EQ(made("size=2, mode=nearest_exact"), (Floats{4, 12}));
  EXPECT_EQ((result_of<float, float>("interpolate(x[1,4], size=[1,2], mode=bicubic)", x)),
            (Floats{1.625F, 10.375F}));
}

TEST(Windows, BadArgumentsAreErrorsThatSayWhat) {
  const std::pair<std::string, std::string> rows[] = {
      {"avg_pool1d(x[4], size=3, padding=2, ceil_mode=1)", "at most half"},
      {"avg_pool1d(x[4], size=3, padding=2, count_include_pad=0)", "at most half"},
      {"avg_pool1d(x[4], size=3, padding=-1)", "negative"},
      {"avg_pool1d(x[4], size=7)", "a window spans 7 elements"},
      {"avg_pool1d(x[4], size=2, ceil_mode=2)", "ceil_mode is 0 or 1"},
      {"avg_pool2d(x[4,4], size=2, divisor_override=-1)", "negative"},
      {"avg_pool2d(x[4], size=2)", "fewer than 2 axes"},
      {"avg_pool1d(x[4]:i32, size=2)", "takes floats"},
      {"max_pool1d(x[4]:i32, size=2)", "takes floats"},
      {"max_pool1d_index(x[4]:bool, size=2)", "takes floats"},
      {"max_pool2d_index(x[4,4], size=[2,2,2])", "3 entries for 2 axes"},
      {"conv2d(x[1,2,3,3], w[4,2,2,2], b[3])", "must be (4)"},
      {"conv_transpose1d(x[1,2,3], w[3,1,2])", "(in, out / groups, windows...)"},
      {"conv_transpose1d(x[1,2,3], w[2,1,2], groups=3)", "do not fit 3 groups"},
      {"conv_transpose1d(x[1,2,3], w[2,1,2], output_padding=1)", "less than stride"},
      {"conv_transpose1d(x[1,2,3], w[2,1,2], padding=9)", "too large"},
      {"conv_transpose1d(x[1,2,3], w[2,1,2], stride=0)", "must be positive"},
      {"conv_transpose1d(x[1,2,3], w[2,1,2], b[3])", "must be (1)"},
      {"conv_transpose2d(x[1,2,3], w[2,1,2])", "must have 4 axes"},
      {"conv_transpose1d(x[1,2,0], w[2,1,2])", "no elements on axis 2"},
      {"interpolate(x[4], size=0)", "from 1 to 8388608"},
      {"interpolate(x[0], size=3)", "from 1 to 8388608"},
      {"interpolate(x[4], size=99999999)", "from 1 to 8388608"},
      {"interpolate(x[4], size=[3,2])", "fewer than 2 axes"},
      {"interpolate(x[4], size=3, mode=bicubc)", "did you mean 'bicubic'"},
      {"interpolate(x[4], size=3, mode=bicubic)", "bicubic takes 2 sizes, not 1"},
      {"interpolate(x[4], size=3, mode=2)", "mode is a word"},
      {"interpolate(x[4]:i32, size=3, mode=linear)", "takes floats"},
      {"interpolate(x[4], size=3, align_corners=1)", "align_corners applies to"},
      {"adaptive_avg_pool2d(x[4], size=2)", "fewer than 2 axes"},
      {"adaptive_avg_pool2d(x[4,4], size=[1,2,3])", "3 entries for 2 axes"},
      {"adaptive_avg_pool1d(x[4]:i8, size=3)", "takes floats"},
      {"unfold(x[3,3], size=2)", "is not (n, channels, rows, columns)"},
      {"fold(x[1,8,5], output_size=[3,3], size=2)", "4 windows of 4 elements"},
      {"fold(x[1,7,4], output_size=[3,3], size=2)", "4 windows of 4 elements"},
      {"fold(x[1,8,4], output_size=[1,3], size=2)", "a window spans 2 elements"},
  };
  for (const auto& [text, words] : rows) {
    try {
      parse(text).kernel();
      ADD_FAILURE() << text;
    } catch (const Error& e) {
      EXPECT_NE(std::string(e.what()).find(words), std::string::npos) << text << ": " << e.what();
    }
  }
}

TEST(Windows, NarrowTypesAreKept) {
  for (const char* type : {"f16", "bf16", "f8e4m3", "f8e5m2", "f64"})
    for (const char* call :
         {"avg_pool1d(x[1,2,5]:T, size=2, stride=2, ceil_mode=1)",
          "adaptive_avg_pool1d(x[1,2,5]:T, size=3)", "conv_transpose1d(x[1,2,5]:T, w[2,1,2]:T)",
          "interpolate(x[1,2,5]:T, size=4, mode=linear)", "max_pool1d(x[2,5]:T, size=2)",
          "interpolate(x[2,5]:T, size=[4,4], mode=bicubic)",
          "fold(x[1,4,4]:T, output_size=3, size=2)"}) {
      std::string text = call;
      for (std::size_t at = 0; (at = text.find(":T")) != std::string::npos;)
        text.replace(at + 1, 1, type);
      const Formula formula = parse(text);
      EXPECT_EQ(info(formula.kernel()->dtype()).short_name, type) << text;
    }
}

}  // namespace
}  // namespace touchstone::define
