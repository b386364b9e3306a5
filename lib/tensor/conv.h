#pragma once

#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "touchstone/tensor/tensor.h"

/// Convolution, pooling and interpolation over the last axes.
namespace touchstone {

/// Window parameters over the last two axes of an image, in elements.
struct WindowArgs {
  std::array<std::int64_t, 2> stride = {1, 1};
  std::array<std::int64_t, 2> padding = {0, 0};  // zeros on both sides; negative: crop
  std::array<std::int64_t, 2> dilation = {1, 1};
  std::int64_t groups = 1;  // channel groups, convolved separately
};

/// As WindowArgs for any number of axes: one number per axis, or one for all.
struct ConvArgs {
  std::vector<std::int64_t> stride = {1};
  std::vector<std::int64_t> padding = {0};  // zeros on both sides; negative: crop
  std::vector<std::int64_t> dilation = {1};
  std::int64_t groups = 1;
  std::vector<std::int64_t> output_padding = {0};  // conv_transpose only: extra size at the end
  /// Separate padding before and after, one pair per axis; replaces `padding`.
  std::vector<std::pair<std::int64_t, std::int64_t>> padding_pairs = {};
};

/// Returns all windows of size `kernel` over the last axes: for two, (..., h, w) -> (..., oh, ow,
/// kh, kw) with oh = (h - dilation*(kh-1) - 1) / stride + 1. A view without copying. Throws
/// ShapeError if the kernel does not fit.
Tensor pool(const Tensor& x, const std::vector<std::int64_t>& kernel, const ConvArgs& args = {});

/// Convolution, that is, cross-correlation. x: (n, cin, sizes...), weight: (cout, cin / groups,
/// kernel...), bias: (cout). Result: (n, cout, windows...), with the padding included in the sizes.
/// Throws ShapeError.
Tensor conv(const Tensor& x, const Tensor& weight, const std::optional<Tensor>& bias = std::nullopt,
            const ConvArgs& args = {});
/// conv over one and over two axes.
Tensor conv1d(const Tensor& x, const Tensor& weight,
              const std::optional<Tensor>& bias = std::nullopt, const ConvArgs& args = {});
Tensor conv2d(const Tensor& x, const Tensor& weight,
              const std::optional<Tensor>& bias = std::nullopt, const WindowArgs& args = {});

/// The gradient of conv with respect to its input, as a layer. x: (n, cin, sizes...), weight: (cin,
/// cout / groups, kernel...). Each size becomes (size - 1) * stride - 2 padding + dilation *
/// (kernel - 1) + output_padding + 1. Throws ShapeError.
Tensor conv_transpose(const Tensor& x, const Tensor& weight,
                      const std::optional<Tensor>& bias = std::nullopt, const ConvArgs& args = {});

/// Window parameters of max_pool and avg_pool; the default stride is the kernel.
struct PoolArgs {
  std::optional<std::vector<std::int64_t>> stride = std::nullopt;
  std::vector<std::int64_t> padding = {0};
  std::vector<std::int64_t> dilation = {1};
};
/// The largest (avg_pool: mean) element of each window over the last axes. Padding is -inf (the
/// least integer) in max_pool and zeros, which count in the mean, in avg_pool.
Tensor max_pool(const Tensor& x, const std::vector<std::int64_t>& kernel,
                const PoolArgs& args = {});
Tensor avg_pool(const Tensor& x, const std::vector<std::int64_t>& kernel,
                const PoolArgs& args = {});
/// Pools the last two axes without padding.
Tensor max_pool2d(const Tensor& x, std::array<std::int64_t, 2> kernel,
                  std::optional<std::array<std::int64_t, 2>> stride = std::nullopt);
Tensor avg_pool2d(const Tensor& x, std::array<std::int64_t, 2> kernel,
                  std::optional<std::array<std::int64_t, 2>> stride = std::nullopt);

enum class Interpolation : std::uint8_t { Nearest, Linear };
enum class AlignCorners : bool { No, Yes };
/// Resizes the last axes to `sizes`. Element i of an axis resized to n comes from position (i +
/// 1/2) * size / n - 1/2 or, with aligned corners, i * (size - 1) / (n - 1), clamped to the axis,
/// interpolated between its two neighbours (Linear). Nearest takes element floor(i * size / n). As
/// PyTorch. Throws ShapeError for an empty axis or a size below 1.
Tensor interpolate(const Tensor& x, const std::vector<std::int64_t>& sizes,
                   Interpolation mode = Interpolation::Nearest,
                   AlignCorners corners = AlignCorners::No);

}  // namespace touchstone
