#pragma once

#include "touchstone/tensor/tensor.h"

namespace touchstone {

/// Windows over one axis: `count` of them, `stride` apart, of `kernel` elements, `dilation` apart.
struct Window {
  std::int64_t size, kernel, stride, dilation, count;
};

/// Throws ShapeError, as `who`, where a number is below 1 or no window fits the axis.
Window window_of(const char* who, const Tensor& x, std::size_t axis, std::int64_t kernel,
                 std::int64_t stride, std::int64_t dilation);

/// The axis becomes two, (windows, kernel). A view: nothing is copied.
Tensor windows(const Tensor& x, std::size_t axis, const Window& window);

}  // namespace touchstone
