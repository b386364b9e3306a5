#pragma once

#include "touchstone/tensor/tensor.h"

namespace touchstone {

/// Windows over one axis: `count` windows, `stride` apart, of `kernel` elements, `dilation` apart.
struct Window {
  std::int64_t size, kernel, stride, dilation, count;
};

/// Throws ShapeError in the name of `who` if a number is below 1 or no window fits the axis.
Window window_of(const char* who, const Tensor& x, std::size_t axis, std::int64_t kernel,
                 std::int64_t stride, std::int64_t dilation);

/// Splits the axis into two, (windows, kernel). A view without copying.
Tensor windows(const Tensor& x, std::size_t axis, const Window& window);

}  // namespace touchstone
