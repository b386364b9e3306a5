#include "touchstone/dtype/image_dtype.h"

#include <bit>
#include <charconv>
#include <limits>
#include <vector>

#include "touchstone/base/error.h"

namespace touchstone {
namespace {

constexpr std::int64_t kLongestSide = std::numeric_limits<std::int32_t>::max();
constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

[[noreturn]] void no_image(std::span<const std::int64_t> shape, std::string_view why) {
  throw ShapeError(fmt::format("image of shape ({}): {}", fmt::join(shape, ", "), why));
}

// Reads an image's name from left to right.
class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}
  bool take(std::string_view word) {
    blanks();
    if (!text_.substr(at_).starts_with(word)) return false;
    at_ += word.size();
    return true;
  }
  void need(std::string_view word) {
    if (!take(word)) fail(fmt::format("'{}'", word));
  }
  std::int64_t number() {
    blanks();
    std::int64_t value = 0;
    const char* const begin = text_.data() + at_;
    const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), value);
    if (error != std::errc{}) fail("a number below 2^63");
    at_ += static_cast<std::size_t>(end - begin);
    return value;
  }
  void end() {
    blanks();
    if (at_ != text_.size()) fail("the end");
  }
  [[noreturn]] void fail(std::string_view wanted) const {
    throw ParseError(fmt::format(
        "image type \"{}\", at {}: expected {}; write imageh((height, width, 4)), or imagef", text_,
        at_, wanted));
  }

 private:
  void blanks() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  std::string_view text_;
  std::size_t at_ = 0;
};

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

ImageDType ImageDType::parse(std::string_view text) {
  Reader reader(text);
  const bool half = reader.take("imageh");
  if (!half && !reader.take("imagef")) reader.fail("imageh or imagef");
  reader.need("(");
  reader.need("(");
  std::vector<std::int64_t> shape;
  while (!reader.take(")")) {
    if (!shape.empty()) reader.need(",");
    if (shape.size() == 3) reader.fail("')' after three sizes");
    shape.push_back(reader.number());
  }
  reader.need(")");
  reader.end();
  return ImageDType(half ? DType::Float16 : DType::Float32, shape);
}

std::int64_t ImageDType::pitch(std::int64_t alignment) const {
  if (alignment < 1 || !std::has_single_bit(static_cast<std::uint64_t>(alignment)))
    throw ShapeError(fmt::format(
        "{}: rows aligned to {} bytes; the alignment must be a power of two", str(), alignment));
  const std::int64_t past = row_bytes() & (alignment - 1), gap = past == 0 ? 0 : alignment - past;
  if (gap > kMost - row_bytes() || height_ > kMost / (row_bytes() + gap))
    throw ShapeError(
        fmt::format("{}: 2^63 bytes or more with rows aligned to {} bytes", str(), alignment));
  return row_bytes() + gap;
}

std::string ImageDType::str() const {
  return fmt::format("image{}(({}, {}, 4))", storage_ == DType::Float16 ? 'h' : 'f', height_,
                     width_);
}

}  // namespace touchstone
