#include "touchstone/tensor/windows.h"

namespace touchstone {
namespace {

// Cuts an axis to a size, or pads it with zeros.
Tensor fit(const Tensor& x, std::size_t axis, std::int64_t size) {
  const std::int64_t had = x.size(static_cast<int>(axis));
  if (had < size) {
    Padding padding(x.shape().size(), {0, 0});
    padding[axis].second = size - had;
    return x.pad(padding);
  }
  Mask keep = whole_mask(x.shape());
  keep[axis].second = size;
  return x.shrink(keep);
}

Shape with_axis(const Shape& shape, std::size_t axis, std::initializer_list<sint> parts) {
  Shape split = shape;
  split.erase(split.begin() + static_cast<std::ptrdiff_t>(axis));
  split.insert(split.begin() + static_cast<std::ptrdiff_t>(axis), parts);
  return split;
}

}  // namespace

Window window_of(const char* who, const Tensor& x, std::size_t axis, std::int64_t kernel,
                 std::int64_t stride, std::int64_t dilation) {
  const std::int64_t size = x.size(static_cast<int>(axis));
  if (kernel < 1 || stride < 1 || dilation < 1)
    throw ShapeError(
        fmt::format("{}: a window of {} elements, {} apart, every {}: all three are 1 or more", who,
                    kernel, dilation, stride));
  const std::int64_t reach = checked_add(checked_mul(dilation, kernel - 1), 1);
  if (reach > size)
    throw ShapeError(
        fmt::format("{}: a window of {} elements, {} apart, every {}, does not fit axis {} of "
                    "shape {}; pad it or use a smaller window",
                    who, kernel, dilation, stride, axis, str(x.shape())));
  return {size, kernel, stride, dilation, (size - reach) / stride + 1};
}

// Splits an axis of size i into two, (windows, kernel).
//
// Windows that do not overlap split the axis every `stride` elements. Otherwise the axis is
// repeated and read in rows of i + dilation: row k starts k*dilation further along the axis than
// row 0, so element o*stride of row k is x[o*stride + k*dilation].
Tensor windows(const Tensor& x, std::size_t axis, const Window& w) {
  const Shape& shape = x.shape();
  if (w.kernel <= w.stride && w.dilation == 1) {
    const Tensor split =
        fit(x, axis, w.count * w.stride).reshape(with_axis(shape, axis, {w.count, w.stride}));
    return fit(split, axis + 1, w.kernel);
  }
  const std::int64_t row = w.size + w.dilation;
  const std::int64_t copies = ceil_div(w.kernel * row, w.size);
  const Tensor repeated = x.reshape(with_axis(shape, axis, {1, w.size}))
                              .expand(with_axis(shape, axis, {copies, w.size}))
                              .reshape(with_axis(shape, axis, {copies * w.size}));
  const Tensor rows =
      fit(repeated, axis, w.kernel * row).reshape(with_axis(shape, axis, {w.kernel, row}));
  const Tensor steps = fit(rows, axis + 1, w.count * w.stride);
  const Tensor taken =
      fit(steps.reshape(with_axis(steps.shape(), axis + 1, {w.count, w.stride})), axis + 2, 1)
          .reshape(with_axis(shape, axis, {w.kernel, w.count}));
  return taken.transpose(static_cast<int>(axis), static_cast<int>(axis) + 1);
}

}  // namespace touchstone
