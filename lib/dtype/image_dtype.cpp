#include "touchstone/dtype/image_dtype.h"

#include <limits>

#include "touchstone/base/error.h"

namespace touchstone {
namespace {

constexpr std::int64_t kLongestSide = std::numeric_limits<std::int32_t>::max();
constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

[[noreturn]] void no_image(std::span<const std::int64_t> shape, std::string_view why) {
  throw ShapeError(fmt::format("image of shape ({}): {}", fmt::join(shape, ", "), why));
}

}  // namespace

ImageDType::ImageDType(DType storage, std::span<const std::int64_t> shape) : storage_(storage) {
  if (storage != DType::Float16 && storage != DType::Float32)
    throw DTypeError(
        fmt::format("image of {}: images are stored as float16 or float32", name(storage)));
  if (shape.size() != 3) no_image(shape, "it must be (height, width, 4)");
  if (shape[2] != 4) no_image(shape, "a pixel must have 4 elements, the last size");
  for (const std::int64_t side : shape.first(2)) {
    if (side < 1) no_image(shape, "each side must have at least one pixel");
    if (side > kLongestSide) no_image(shape, "a side is longer than 2^31 - 1 pixels");
  }
  height_ = shape[0];
  width_ = shape[1];
  if (height_ > kMost / row_bytes()) no_image(shape, "it has 2^63 bytes or more");
}

std::string ImageDType::str() const {
  return fmt::format("image{}(({}, {}, 4))", storage_ == DType::Float16 ? 'h' : 'f', height_,
                     width_);
}

}  // namespace touchstone
