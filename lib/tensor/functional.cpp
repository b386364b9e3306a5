#include "touchstone/tensor/functional.h"

#include <algorithm>

namespace touchstone {
namespace {

// The two last axes cut, or filled with zeros, to these sizes.
Tensor fit(const Tensor& x, std::size_t axis, std::int64_t size) {
  const std::int64_t had = x.size(static_cast<int>(axis));
  if (had < size) {
    Padding padding(x.shape().size(), {0, 0});
    padding[axis].second = size - had;
    return x.pad(padding);
  }
  Mask keep;
  for (const sint& s : x.shape()) keep.emplace_back(0, s);
  keep[axis].second = size;
  return x.shrink(keep);
}

Shape with_axis(const Shape& shape, std::size_t axis, std::initializer_list<sint> parts) {
  Shape split = shape;
  split.erase(split.begin() + static_cast<std::ptrdiff_t>(axis));
  split.insert(split.begin() + static_cast<std::ptrdiff_t>(axis), parts);
  return split;
}

struct Window {
  std::int64_t size, kernel, stride, dilation, count;
};

Window window_of(const Tensor& x, std::size_t axis, std::int64_t kernel, std::int64_t stride,
                 std::int64_t dilation) {
  const std::int64_t size = x.size(static_cast<int>(axis));
  const std::int64_t reach = dilation * (kernel - 1) + 1;
  if (kernel < 1 || stride < 1 || dilation < 1 || reach > size)
    throw ShapeError(
        fmt::format("pool: a window of {} elements, {} apart, every {}, does not fit "
                    "axis {} of shape {}; pad it or take a smaller window",
                    kernel, dilation, stride, axis, str(x.shape())));
  return {size, kernel, stride, dilation, (size - reach) / stride + 1};
}

// Axis of size i becomes two, (windows, kernel).
//
// Windows that do not overlap are the axis split every `stride` elements. For others the axis is
// repeated, and read in rows of i + dilation: row k begins k*dilation further in the (repeated)
// axis than row 0, so that element o*stride of row k is x[o*stride + k*dilation].
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

Tensor scaled_down(const Tensor& x, std::array<std::int64_t, 2> kernel,
                   std::optional<std::array<std::int64_t, 2>> stride) {
  return pool(x, kernel, {.stride = stride.value_or(kernel)});
}

}  // namespace

Tensor pool(const Tensor& x, std::array<std::int64_t, 2> kernel, const WindowArgs& args) {
  if (x.rank() < 2)
    throw ShapeError(
        fmt::format("pool: shape {} has no two axes to slide over; reshape it", str(x.shape())));
  const auto lead = static_cast<std::size_t>(x.rank()) - 2;
  Padding padding(lead, {0, 0});
  for (const std::int64_t p : args.padding) padding.emplace_back(p, p);
  Tensor out = x.pad(padding);
  const Window h = window_of(out, lead, kernel[0], args.stride[0], args.dilation[0]);
  const Window w = window_of(out, lead + 1, kernel[1], args.stride[1], args.dilation[1]);
  out = windows(windows(out, lead, h), lead + 2, w);
  return out.transpose(static_cast<int>(lead) + 1, static_cast<int>(lead) + 2);
}

Tensor conv2d(const Tensor& x, const Tensor& weight, const std::optional<Tensor>& bias,
              const WindowArgs& args) {
  if (x.rank() != 4 || weight.rank() != 4 || x.size(1) != weight.size(1))
    throw ShapeError(
        fmt::format("conv2d: input {} and weight {}: want (n, cin, h, w) and (cout, "
                    "cin, kh, kw) with one cin; reshape or transpose one",
                    str(x.shape()), str(weight.shape())));
  if (bias && bias->shape() != Shape{weight.size(0)})
    throw ShapeError(fmt::format("conv2d: bias {} for weight {}: want ({})", str(bias->shape()),
                                 str(weight.shape()), weight.size(0)));
  const std::int64_t n = x.size(0), cin = x.size(1), cout = weight.size(0);
  const std::int64_t kh = weight.size(2), kw = weight.size(3);
  const Tensor seen = pool(x, {kh, kw}, args);  // (n, cin, oh, ow, kh, kw)
  const std::int64_t oh = seen.size(2), ow = seen.size(3);
  const Tensor columns = seen.reshape({n, cin, 1, oh, ow, kh, kw})
                             .expand({n, cin, cout, oh, ow, kh, kw})
                             .permute({0, 2, 3, 4, 1, 5, 6});
  const Tensor out = (columns * weight.reshape({1, cout, 1, 1, cin, kh, kw})).sum({-3, -2, -1});
  return bias ? out + bias->reshape({1, cout, 1, 1}) : out;
}

Tensor max_pool2d(const Tensor& x, std::array<std::int64_t, 2> kernel,
                  std::optional<std::array<std::int64_t, 2>> stride) {
  return scaled_down(x, kernel, stride).max({-2, -1});
}

Tensor avg_pool2d(const Tensor& x, std::array<std::int64_t, 2> kernel,
                  std::optional<std::array<std::int64_t, 2>> stride) {
  return scaled_down(x, kernel, stride).mean({-2, -1});
}

Tensor linear(const Tensor& x, const Tensor& weight, const std::optional<Tensor>& bias) {
  const Tensor out = x.matmul(weight.transpose());
  return bias ? out + *bias : out;
}

Tensor softmax(const Tensor& x, int axis) {
  const Tensor powers = (x - x.max({axis}, KeepDim::Yes).detach()).exp();
  return powers / powers.sum({axis}, KeepDim::Yes);
}

Tensor log_softmax(const Tensor& x, int axis) {
  const Tensor shifted = x - x.max({axis}, KeepDim::Yes).detach();
  return shifted - shifted.exp().sum({axis}, KeepDim::Yes).log();
}

Tensor layernorm(const Tensor& x, int axis, double eps) {
  const Tensor centred = x - x.mean({axis}, KeepDim::Yes);
  return centred * (centred.square().mean({axis}, KeepDim::Yes) + eps).rsqrt();
}

Tensor one_hot(const Tensor& labels, std::int64_t classes) {
  if (labels.rank() != 1 || !is_integer(labels.dtype()))
    throw ShapeError(fmt::format("one_hot: labels of shape {} and {}; want one integer a row",
                                 str(labels.shape()), name(labels.dtype())));
  const Tensor columns = Tensor::arange(0, classes, 1, {labels.dtype(), labels.device()});
  return labels.unsqueeze(1) == columns;
}

Tensor cross_entropy(const Tensor& logits, const Tensor& labels) {
  if (logits.rank() != 2 || labels.shape() != Shape{logits.shape()[0]})
    throw ShapeError(
        fmt::format("cross_entropy: logits {} and labels {}: want (n, classes) and "
                    "(n)",
                    str(logits.shape()), str(labels.shape())));
  const Tensor chosen = log_softmax(logits) * one_hot(labels, logits.size(1)).cast(logits.dtype());
  return -chosen.sum({1}).mean();
}

}  // namespace touchstone
