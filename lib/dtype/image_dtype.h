#pragma once

#include <array>
#include <span>
#include <string>

#include "touchstone/dtype/dtype.h"

namespace touchstone {

/// A type with a shape: an image of height x width pixels of four elements, stored as float16 or
/// float32 and computed in float32. Each side is 1 to 2^31 - 1 pixels; the total is below 2^63
/// bytes.
class ImageDType {
 public:
  /// shape: (height, width, 4). Throws DTypeError for another storage type, ShapeError for an
  /// invalid shape.
  ImageDType(DType storage, std::span<const std::int64_t> shape);
  ImageDType(DType storage, std::initializer_list<std::int64_t> shape)
      : ImageDType(storage, std::span<const std::int64_t>(shape.begin(), shape.size())) {}

  DType storage() const { return storage_; }
  DType base() const { return DType::Float32; }  // type of its elements in arithmetic
  std::int64_t height() const { return height_; }
  std::int64_t width() const { return width_; }
  std::array<std::int64_t, 3> shape() const { return {height_, width_, 4}; }
  std::int64_t elements() const { return 4 * height_ * width_; }

  /// Size in bytes of one stored element, of a row, of everything.
  std::int64_t itemsize() const { return info(storage_).itemsize; }
  std::int64_t row_bytes() const { return 4 * width_ * itemsize(); }
  std::int64_t bytes() const { return elements() * itemsize(); }

  std::string str() const;  // "imageh((2, 3, 4))" of float16, "imagef((2, 3, 4))" of float32
  bool operator==(const ImageDType&) const = default;

 private:
  DType storage_;
  std::int64_t height_ = 0, width_ = 0;
};

}  // namespace touchstone
