#pragma once

#include <array>
#include <optional>
#include <vector>

#include "touchstone/tensor/tensor.h"

namespace touchstone {

/// Steps of a window over the two last axes of an image, in elements.
struct WindowArgs {
  std::array<std::int64_t, 2> stride = {1, 1};
  std::array<std::int64_t, 2> padding = {0, 0};  // zeros on both sides
  std::array<std::int64_t, 2> dilation = {1, 1};
};

/// All windows of size `kernel` over the two last axes: (..., h, w) -> (..., oh, ow, kh, kw) with
/// oh = (h - dilation*(kh-1) - 1) / stride + 1. A view: nothing is copied.
/// Throws ShapeError where the kernel does not fit.
Tensor pool(const Tensor& x, std::array<std::int64_t, 2> kernel, const WindowArgs& args = {});

/// x: (n, cin, h, w), weight: (cout, cin, kh, kw), bias: (cout). Result: (n, cout, oh, ow), where
/// h and w count the padding. Cross-correlation, as all frameworks call convolution.
Tensor conv2d(const Tensor& x, const Tensor& weight,
              const std::optional<Tensor>& bias = std::nullopt, const WindowArgs& args = {});

/// Largest and mean element of each window over the two last axes, no padding; the stride is the
/// kernel where not given.
Tensor max_pool2d(const Tensor& x, std::array<std::int64_t, 2> kernel,
                  std::optional<std::array<std::int64_t, 2>> stride = std::nullopt);
Tensor avg_pool2d(const Tensor& x, std::array<std::int64_t, 2> kernel,
                  std::optional<std::array<std::int64_t, 2>> stride = std::nullopt);

/// x: (..., in), weight: (out, in), bias: (out). Result: (..., out).
Tensor linear(const Tensor& x, const Tensor& weight,
              const std::optional<Tensor>& bias = std::nullopt);

/// exp(x) over its sum along `axis`, shifted by the maximum so that nothing overflows.
Tensor softmax(const Tensor& x, int axis = -1);
Tensor log_softmax(const Tensor& x, int axis = -1);

/// Shifted to mean 0 and scaled to variance 1 along `axis`; eps is added to the variance.
Tensor layernorm(const Tensor& x, int axis = -1, double eps = 1e-5);

/// Mean over n of -log softmax(logits)[label]. logits: (n, classes); labels: (n), integers in
/// [0, classes); a row with another label counts as 0. Throws ShapeError, DTypeError.
Tensor cross_entropy(const Tensor& logits, const Tensor& labels);

/// (n) integers -> (n, classes), bool: true in the column of the label.
Tensor one_hot(const Tensor& labels, std::int64_t classes);

}  // namespace touchstone
