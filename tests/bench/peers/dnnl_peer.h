#pragma once

#include <cstdint>
#include <functional>

namespace touchstone::peers {

/// A convolution of one image of size x size and `in` channels by kernel x kernel to `out`.
struct ConvSizes {
  std::int64_t in, out, size, kernel, stride, padding, groups;
};

/// oneDNN's, in its preferred layouts; weights are packed beforehand, the image is not.
std::function<void()> dnnl_convolution(const ConvSizes& sizes, int threads);
std::function<void()> dnnl_softmax(std::int64_t rows, std::int64_t columns, int threads);

}  // namespace touchstone::peers
