#pragma once

#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "touchstone/tensor/tensor.h"

/// Convolution, pooling and interpolation over the last axes.
namespace touchstone {

/// Steps of a window over the two last axes of an image, in elements.
struct WindowArgs {
  std::array<std::int64_t, 2> stride = {1, 1};
  std::array<std::int64_t, 2> padding = {0, 0};  // zeros on both sides, or taken away (below 0)
  std::array<std::int64_t, 2> dilation = {1, 1};
  std::int64_t groups = 1;  // of channels, each convolved by itself
};

/// The same over any number of axes: one number an axis, or one for all.
struct ConvArgs {
  std::vector<std::int64_t> stride = {1};
  std::vector<std::int64_t> padding = {0};  // zeros on both sides; below 0: elements taken away
  std::vector<std::int64_t> dilation = {1};
  std::int64_t groups = 1;
  std::vector<std::int64_t> output_padding = {0};  // conv_transpose only: more at the end
  /// Another number of zeros before than after, one pair an axis, in the place of `padding`.
  std::vector<std::pair<std::int64_t, std::int64_t>> padding_pairs = {};
};

/// All windows of size `kernel` over the last axes: for two, (..., h, w) -> (..., oh, ow, kh, kw)
/// with oh = (h - dilation*(kh-1) - 1) / stride + 1. A view: nothing is copied.
/// Throws ShapeError where the kernel does not fit.
Tensor pool(const Tensor& x, const std::vector<std::int64_t>& kernel, const ConvArgs& args = {});

/// x: (n, cin, sizes...), weight: (cout, cin / groups, kernel...), bias: (cout). Result:
/// (n, cout, windows...), where sizes count the padding. Cross-correlation, as all frameworks call
/// convolution. Throws ShapeError.
Tensor conv(const Tensor& x, const Tensor& weight, const std::optional<Tensor>& bias = std::nullopt,
            const ConvArgs& args = {});
/// conv over one axis and over two.
Tensor conv1d(const Tensor& x, const Tensor& weight,
              const std::optional<Tensor>& bias = std::nullopt, const ConvArgs& args = {});
Tensor conv2d(const Tensor& x, const Tensor& weight,
              const std::optional<Tensor>& bias = std::nullopt, const WindowArgs& args = {});

/// The gradient of conv with respect to its input, as a layer: x: (n, cin, sizes...), weight:
/// (cin, cout / groups, kernel...). Each size becomes (size - 1) * stride - 2 padding + dilation *
/// (kernel - 1) + output_padding + 1. Throws ShapeError.
Tensor conv_transpose(const Tensor& x, const Tensor& weight,
                      const std::optional<Tensor>& bias = std::nullopt, const ConvArgs& args = {});

/// Largest and mean element of each window over the last axes; the stride is the kernel where not
/// given. Padding counts as -inf (the least integer) in max_pool and as zeros, which take part in
/// the mean, in avg_pool.
struct PoolArgs {
  std::optional<std::vector<std::int64_t>> stride = std::nullopt;
  std::vector<std::int64_t> padding = {0};
  std::vector<std::int64_t> dilation = {1};
};
Tensor max_pool(const Tensor& x, const std::vector<std::int64_t>& kernel,
                const PoolArgs& args = {});
Tensor avg_pool(const Tensor& x, const std::vector<std::int64_t>& kernel,
                const PoolArgs& args = {});
/// Over the two last axes, no padding.
Tensor max_pool2d(const Tensor& x, std::array<std::int64_t, 2> kernel,
                  std::optional<std::array<std::int64_t, 2>> stride = std::nullopt);
Tensor avg_pool2d(const Tensor& x, std::array<std::int64_t, 2> kernel,
                  std::optional<std::array<std::int64_t, 2>> stride = std::nullopt);

enum class Interpolation : std::uint8_t { Nearest, Linear };
enum class AlignCorners : bool { No, Yes };
/// The last axes brought to `sizes`. Element i of an axis of n is taken from position (i + 1/2) *
/// size / n - 1/2, or, where corners are aligned, i * (size - 1) / (n - 1), kept within the axis:
/// between its two neighbours (Linear). Nearest takes element floor(i * size / n). As PyTorch.
/// Throws ShapeError where an axis is empty or a size is below 1.
Tensor interpolate(const Tensor& x, const std::vector<std::int64_t>& sizes,
                   Interpolation mode = Interpolation::Nearest,
                   AlignCorners corners = AlignCorners::No);

}  // namespace touchstone
