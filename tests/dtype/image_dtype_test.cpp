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
      }
}

TEST(ImageDType, NamesSayStorageAndShape) {
  const ImageDType half(DType::Float16, {2, 3, 4}), full(DType::Float32, {kSide, 1, 4});
  EXPECT_EQ(half.str(), "imageh((2, 3, 4))");
  EXPECT_EQ(full.str(), "imagef((2147483647, 1, 4))");
  EXPECT_NE(half, ImageDType(DType::Float32, {2, 3, 4}));
  EXPECT_NE(half, ImageDType(DType::Float16, {3, 2, 4}));
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
      }
}

}  // namespace
}  // namespace touchstone
