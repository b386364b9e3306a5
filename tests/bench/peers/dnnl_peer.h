#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace touchstone::peers {

/// A convolution of one image of size x size and `in` channels by kernel x kernel to `out`.
struct ConvSizes {
  std::int64_t in, out, size, kernel, stride, padding, groups;
};

/// oneDNN's, in its preferred layouts; weights are packed beforehand, the image is not.
std::function<void()> dnnl_convolution(const ConvSizes& sizes, int threads);
/// Rows, terms and columns.
struct ProductSizes {
  std::int64_t m, k, n;
};
/// a, m x k, by b, k x n, or by the transpose of b, n x k.
void dnnl_product(const ProductSizes& sizes, bool transposes, const float* a, const float* b,
                  float* c, int threads);
std::function<void()> dnnl_softmax(std::int64_t rows, std::int64_t columns, int threads);

/// Its version, and the instructions that it uses.
std::string dnnl_name();

}  // namespace touchstone::peers
