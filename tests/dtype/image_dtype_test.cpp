#include "touchstone/dtype/image_dtype.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include <gmock/gmock.h>

#include "touchstone/base/error.h"

namespace touchstone {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

constexpr std::int64_t kSide = std::numeric_limits<std::int32_t>::max();
constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

// Rounds up by counting, for small numbers.
std::int64_t next_multiple(std::int64_t n, std::int64_t of) {
  while (n % of != 0) ++n;
  return n;
}

TEST(ImageDType, SizesAreThoseOfItsPixels) {
  for (const DType storage : {DType::Float16, DType::Float32})
    for (const std::int64_t h : {1, 2, 3, 5, 17})
      for (const std::int64_t w : {1, 2, 3, 7, 33}) {
        const ImageDType image(storage, {h, w, 4});
        std::int64_t elements = 0, row = 0;
        for (std::int64_t y = 0; y < h; ++y)
          for (std::int64_t x = 0; x < w; ++x) elements += 4;
        for (std::int64_t x = 0; x < w; ++x)
          row += 4 * static_cast<std::int64_t>(storage == DType::Float16 ? 2 : 4);
        EXPECT_EQ(image.storage(), storage);
        EXPECT_EQ(image.base(), DType::Float32);
        EXPECT_EQ(image.shape(), (std::array<std::int64_t, 3>{h, w, 4}));
        EXPECT_EQ(image.elements(), elements);
        EXPECT_EQ(image.row_bytes(), row);
        EXPECT_EQ(image.bytes(), row * h);
        for (const std::int64_t alignment : {1, 2, 8, 64, 256})
          EXPECT_EQ(image.pitch(alignment), next_multiple(row, alignment));
      }
}

TEST(ImageDType, NamesAreReadAsTheyAreWritten) {
  const ImageDType half(DType::Float16, {2, 3, 4}), full(DType::Float32, {kSide, 1, 4});
  EXPECT_EQ(half.str(), "imageh((2, 3, 4))");
  EXPECT_EQ(full.str(), "imagef((2147483647, 1, 4))");
  for (const ImageDType& image : {half, full}) EXPECT_EQ(ImageDType::parse(image.str()), image);
  EXPECT_EQ(ImageDType::parse(" imageh ( ( 2,3 ,4 ) ) "), half);
  EXPECT_NE(half, ImageDType(DType::Float32, {2, 3, 4}));
  EXPECT_NE(half, ImageDType(DType::Float16, {3, 2, 4}));
}

TEST(ImageDType, WhatIsNoNameIsAnError) {
  for (const char* text : {"",
                           "image",
                           "imageh",
                           "imageh(",
                           "imageh((",
                           "imageh((2",
                           "imageh((2, 3, 4)",
                           "imageh(2, 3, 4)",
                           "imageh((2, 3, 4)))",
                           "imageh((2, 3, 4)) x",
                           "imageh((2 3 4))",
                           "imageh((2,, 3, 4))",
                           "imageh((2, 3, 4,))",
                           "imageh((2, 3, 4, 5))",
                           "imageh((a, 3, 4))",
                           "imageh((2.5, 3, 4))",
                           "imageh((+2, 3, 4))",
                           "imaged((2, 3, 4))",
                           "IMAGEH((2, 3, 4))",
                           "imageh((9223372036854775808, 3, 4))",
                           "imageh((99999999999999999999999999, 3, 4))"})
    EXPECT_THAT([&] { ImageDType::parse(text); },
                ThrowsMessage<ParseError>(HasSubstr("imageh((height, width, 4))")))
        << text;
  const std::string zeros("imageh((2, 3\0, 4))", 18);
  EXPECT_THROW(ImageDType::parse(zeros), ParseError);
  EXPECT_THROW(ImageDType::parse("imageh(" + std::string(100'000, '(')), ParseError);
  for (const char* text : {"imageh(())", "imageh((2))", "imageh((2, 3))", "imageh((2, 3, 5))",
                           "imagef((0, 3, 4))", "imagef((-1, 3, 4))", "imagef((2147483648, 3, 4))"})
    EXPECT_THROW(ImageDType::parse(text), ShapeError) << text;
}

TEST(ImageDType, OnlyTwoTypesStoreImages) {
  for (const DTypeInfo& row : dtype_table) {
    const auto make = [&] { ImageDType(row.dtype, {2, 3, 4}); };
    if (row.dtype == DType::Float16 || row.dtype == DType::Float32)
      EXPECT_NO_THROW(make());
    else
      EXPECT_THAT(make, ThrowsMessage<DTypeError>(HasSubstr("image of " + std::string(row.name))));
  }
}

TEST(ImageDType, ShapesThatNoImageHasAreErrors) {
  const std::int64_t least = std::numeric_limits<std::int64_t>::min();
  const std::vector<std::pair<std::vector<std::int64_t>, const char*>> wrong{
      {{}, "must be (height, width, 4)"},
      {{4}, "must be (height, width, 4)"},
      {{2, 4}, "must be (height, width, 4)"},
      {{1, 2, 3, 4}, "must be (height, width, 4)"},
      {{2, 3, 3}, "4 elements"},
      {{2, 3, 0}, "4 elements"},
      {{2, 3, 8}, "4 elements"},
      {{2, 3, -4}, "4 elements"},
      {{0, 3, 4}, "at least one pixel"},
      {{2, 0, 4}, "at least one pixel"},
      {{0, 0, 4}, "at least one pixel"},
      {{2, -1, 4}, "at least one pixel"},
      {{least, 1, 4}, "at least one pixel"},
      {{kSide + 1, 1, 4}, "2^31 - 1"},
      {{1, kSide + 1, 4}, "2^31 - 1"},
      {{kMost, kMost, 4}, "2^31 - 1"},
      {{kSide, kSide, 4}, "2^63 bytes"}};
  for (const auto& [shape, why] : wrong) {
    const std::span<const std::int64_t> of = shape;
    const auto make = [&] { ImageDType(DType::Float16, of); };
    EXPECT_THAT(make, ThrowsMessage<ShapeError>(HasSubstr(why))) << testing::PrintToString(shape);
  }
}

// height * width * 4 * size < 2^63, in 128-bit arithmetic.
TEST(ImageDType, ElementsMayBeMoreThan31Bits) {
  for (const std::int64_t h : {1L, 65536L, 1L << 29, (1L << 30) - 1, 1L << 30, kSide})
    for (const std::int64_t w : {1L, 65536L, 1L << 29, (1L << 30) - 1, 1L << 30, kSide})
      for (const DType storage : {DType::Float16, DType::Float32}) {
        __extension__ using Wide = __int128;
        const Wide bytes = Wide{h} * w * 4 * (storage == DType::Float16 ? 2 : 4);
        if (bytes > kMost) {
          EXPECT_THROW(ImageDType(storage, {h, w, 4}), ShapeError) << h << " " << w;
          continue;
        }
        const ImageDType image(storage, {h, w, 4});
        EXPECT_TRUE(Wide{image.bytes()} == bytes);
        EXPECT_TRUE(Wide{image.elements()} == Wide{h} * w * 4);
        EXPECT_GE(image.pitch(1), 1);
      }
}

TEST(ImageDType, PitchesThatCannotBeAreErrors) {
  const ImageDType image(DType::Float16, {2, 3, 4});
  for (const std::int64_t alignment : {std::int64_t{0}, std::int64_t{-8}, std::int64_t{3},
                                       std::int64_t{48}, std::numeric_limits<std::int64_t>::min()})
    EXPECT_THAT([&] { (void)image.pitch(alignment); },
                ThrowsMessage<ShapeError>(HasSubstr("power of two")));
  EXPECT_EQ(image.pitch(std::int64_t{1} << 61), std::int64_t{1} << 61);
  EXPECT_THROW((void)image.pitch(std::int64_t{1} << 62), ShapeError);  // two rows are 2^63
  EXPECT_EQ(ImageDType(DType::Float16, {1, 3, 4}).pitch(std::int64_t{1} << 62),
            std::int64_t{1} << 62);
}

}  // namespace
}  // namespace touchstone
