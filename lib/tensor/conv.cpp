#include "touchstone/tensor/conv.h"

#include <algorithm>
#include <numeric>

#include "touchstone/lazy/origin.h"
#include "touchstone/tensor/function.h"
#include "touchstone/tensor/indexing.h"
#include "touchstone/tensor/windows.h"

namespace touchstone {
namespace {

using Sizes = std::vector<std::int64_t>;

// One number per axis, or one for all.
Sizes each(const char* who, const char* what, const Sizes& given, std::size_t axes) {
  if (given.size() == axes) return given;
  if (given.size() != 1)
    throw ShapeError(fmt::format("{}: {} ({}) for {} axes; give one number, or one per axis", who,
                                 what, fmt::join(given, ", "), axes));
  return Sizes(axes, given[0]);
}

Sizes whole_numbers(const char* who, const char* what, const Sizes& given, std::size_t axes) {
  Sizes all = each(who, what, given, axes);
  for (const std::int64_t n : all)
    if (n < 0) throw ShapeError(fmt::format("{}: {} of {}; expected 0 or more", who, what, n));
  return all;
}

Padding around(const Tensor& x, const Sizes& padding) {
  Padding all(static_cast<std::size_t>(x.rank()) - padding.size(), {0, 0});
  for (const std::int64_t p : padding) all.emplace_back(p, p);
  return all;
}

using Pairs = std::vector<std::pair<std::int64_t, std::int64_t>>;

// Zeros before and after each of the last axes; negative numbers crop.
Pairs pairs_of(const char* who, const ConvArgs& args, std::size_t axes) {
  if (args.padding_pairs.empty()) {
    Pairs both;
    for (const std::int64_t p : each(who, "padding", args.padding, axes)) both.emplace_back(p, p);
    return both;
  }
  if (args.padding_pairs.size() != axes)
    throw ShapeError(fmt::format("{}: {} padding_pairs for {} axes; give one per axis", who,
                                 args.padding_pairs.size(), axes));
  return args.padding_pairs;
}

Tensor padded_by(const char* who, const Tensor& x, const Pairs& pairs) {
  std::vector<std::int64_t> flat;
  for (auto pair = pairs.rbegin(); pair != pairs.rend(); ++pair)
    flat.insert(flat.end(), {pair->first, pair->second});
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const std::int64_t size = x.size(x.rank() - static_cast<int>(pairs.size() - i));
    if (std::max<std::int64_t>(-pairs[i].first, 0) + std::max<std::int64_t>(-pairs[i].second, 0) >
        size)
      throw ShapeError(fmt::format(
          "{}: padding of {} and {} removes more than the size of shape {}; remove less", who,
          pairs[i].first, pairs[i].second, str(x.shape())));
  }
  return x.pad2d(flat);
}

// Windows over the last axes of x, which is already padded.
Tensor slide(const char* who, const Tensor& x, const Sizes& kernel, const Sizes& stride,
             const Sizes& dilation) {
  const std::size_t axes = kernel.size(), lead = static_cast<std::size_t>(x.rank()) - axes;
  Tensor out = x;
  for (std::size_t i = 0; i < axes; ++i) {
    const Window w = window_of(who, x, lead + i, kernel[i], stride[i], dilation[i]);
    out = windows(out, lead + 2 * i, w);
  }
  // (..., o1, k1, o2, k2, ...) -> (..., o1, o2, ..., k1, k2, ...)
  std::vector<int> order(lead);
  std::iota(order.begin(), order.end(), 0);
  for (std::size_t part : {std::size_t{0}, std::size_t{1}})
    for (std::size_t i = 0; i < axes; ++i) order.push_back(static_cast<int>(lead + 2 * i + part));
  return out.permute(order);
}

void check_rank(const char* who, const Tensor& x, std::size_t axes) {
  if (axes == 0 || static_cast<std::size_t>(x.rank()) < axes)
    throw ShapeError(fmt::format("{}: shape {} has no {} axes to slide over; reshape it", who,
                                 str(x.shape()), axes));
}

Sizes kernel_of(const Tensor& weight) {
  Sizes kernel;
  for (int i = 2; i < weight.rank(); ++i) kernel.push_back(weight.size(i));
  return kernel;
}

// Adds a bias per channel.
Tensor with_bias(const Tensor& out, const std::optional<Tensor>& bias) {
  if (!bias) return out;
  if (bias->shape() != Shape{out.shape()[1]})
    throw ShapeError(fmt::format("conv: bias {} for an output {}: expected ({})",
                                 str(bias->shape()), str(out.shape()), out.shape()[1].str()));
  Shape row(static_cast<std::size_t>(out.rank()), 1);
  row[1] = out.shape()[1];
  return out + bias->reshape(row);
}

void check_conv(const char* who, const Tensor& x, const Tensor& weight, std::int64_t groups,
                bool transposed) {
  const bool ranks = x.rank() >= 3 && weight.rank() == x.rank();
  if (groups < 1) throw ShapeError(fmt::format("{}: {} groups; expected 1 or more", who, groups));
  const bool channels =
      ranks && (transposed ? x.size(1) == weight.size(0) && x.size(1) % groups == 0
                           : x.size(1) == weight.size(1) * groups && weight.size(0) % groups == 0);
  if (!channels)
    throw ShapeError(fmt::format(
        "{}: input {} and weight {} in {} group(s): expected (n, cin, sizes...) and {}, both "
        "channel "
        "counts multiples of the groups; reshape or transpose one",
        who, str(x.shape()), str(weight.shape()), groups,
        transposed ? "(cin, cout / groups, kernel...)" : "(cout, cin / groups, kernel...)"));
}

Sizes list(std::array<std::int64_t, 2> pair) { return {pair[0], pair[1]}; }
ConvArgs general(const WindowArgs& args) {
  return {list(args.stride), list(args.padding), list(args.dilation), args.groups, {0}, {}};
}

struct PoolWindows {
  Tensor seen;
  std::vector<int> axes;  // of the kernel
};
PoolWindows pooled(const char* who, const Tensor& x, const Sizes& kernel, const PoolArgs& args,
                   Number fill) {
  check_rank(who, x, kernel.size());
  const std::size_t axes = kernel.size();
  const Sizes padding = whole_numbers(who, "padding", args.padding, axes);
  for (std::size_t i = 0; i < axes; ++i)
    if (2 * padding[i] > kernel[i])
      throw ShapeError(
          fmt::format("{}: padding {} is more than half of the window, {}; use less padding", who,
                      padding[i], kernel[i]));
  const Tensor padded = x.pad(around(x, padding), PadMode::Constant, fill);
  std::vector<int> last;
  for (std::size_t i = axes; i > 0; --i) last.push_back(-static_cast<int>(i));
  return {slide(who, padded, kernel, each(who, "stride", args.stride.value_or(kernel), axes),
                each(who, "dilation", args.dilation, axes)),
          last};
}

// The source of each element of a resized axis.
struct Source {
  std::vector<std::int64_t> low, high;
  std::vector<double> part;  // weight of `high`
};
Source sources(std::int64_t size, std::int64_t count, Interpolation mode, AlignCorners corners) {
  Source from;
  const double ratio = static_cast<double>(size) / static_cast<double>(count);
  for (std::int64_t i = 0; i < count; ++i) {
    const auto at = static_cast<double>(i);
    if (mode == Interpolation::Nearest) {
      from.low.push_back(std::min(size - 1, (i * size) / count));
      continue;
    }
    const double place =
        corners == AlignCorners::Yes
            ? (count > 1 ? at * static_cast<double>(size - 1) / static_cast<double>(count - 1) : 0)
            : std::max(0.0, (at + 0.5) * ratio - 0.5);
    const auto low = std::min(size - 1, static_cast<std::int64_t>(place));
    from.low.push_back(low);
    from.high.push_back(std::min(size - 1, low + 1));
    from.part.push_back(place - static_cast<double>(low));
  }
  return from;
}

}  // namespace

Tensor pool(const Tensor& x, const Sizes& kernel, const ConvArgs& args) {
  check_rank("pool", x, kernel.size());
  const std::size_t axes = kernel.size();
  return slide("pool", padded_by("pool", x, pairs_of("pool", args, axes)), kernel,
               each("pool", "stride", args.stride, axes),
               each("pool", "dilation", args.dilation, axes));
}

namespace {

Shape joined(Shape front, const Shape& a, const Shape& b) {
  front.insert(front.end(), a.begin(), a.end());
  front.insert(front.end(), b.begin(), b.end());
  return front;
}

// The window of each output: (n, groups, cout / groups, windows..., cin, kernel...).
struct Columns {
  Tensor seen;
  Shape windows, kernels;
};
Columns columns_of(const Tensor& x, const Tensor& weight, const ConvArgs& args) {
  const Sizes kernel = kernel_of(weight);
  const std::int64_t groups = args.groups, cin = weight.size(1), cout = weight.size(0);
  const Tensor seen = pool(x, kernel, args);  // (n, groups * cin, windows..., kernel...)
  const auto axes = static_cast<int>(kernel.size());
  Columns all{seen, {seen.shape().begin() + 2, seen.shape().begin() + 2 + axes}, {}};
  for (const std::int64_t k : kernel) all.kernels.emplace_back(k);
  std::vector<int> order = {0, 1, 3};
  for (int i = 0; i < axes; ++i) order.push_back(4 + i);
  order.push_back(2);
  for (int i = 0; i < axes; ++i) order.push_back(4 + axes + i);
  all.seen = seen.reshape(joined({x.size(0), groups, cin, 1}, all.windows, all.kernels))
                 .expand(joined({x.size(0), groups, cin, cout / groups}, all.windows, all.kernels))
                 .permute(order);
  return all;
}

// The columns multiplied by the weights, summed over channels and kernel: (n, cout, windows...).
Tensor product(const Tensor& x, const Tensor& weight, const ConvArgs& args) {
  const Columns columns = columns_of(x, weight, args);
  const std::size_t axes = columns.kernels.size();
  Shape weights = {1, args.groups, weight.size(0) / args.groups};
  weights.insert(weights.end(), axes, 1);
  weights = joined(weights, {weight.size(1)}, columns.kernels);
  std::vector<int> summed;
  for (int i = static_cast<int>(axes) + 1; i > 0; --i) summed.push_back(-i);
  const Tensor out = (columns.seen * weight.reshape(weights)).sum(summed);
  return out.reshape(joined({x.size(0), weight.size(0)}, columns.windows, {}));
}

// A single step, so that the gradient of its input is a convolution too. The gradient of the
// windows would add up their overlaps element by element.
class Convolution final : public Function {
 public:
  explicit Convolution(ConvArgs args) : args_(std::move(args)) {}

  LazyBufferPtr forward(std::span<const LazyBufferPtr> inputs) override {
    return product(Tensor(inputs[0]), Tensor(inputs[1]), args_).lazy();
  }

  Gradients backward(const BackwardPass& pass) override {
    const Tensor &x = pass.inputs[0], &weight = pass.inputs[1], &g = pass.gradient;
    Gradients all(2);
    if (wants(0)) all[0] = of_input(x, weight, g);
    if (wants(1)) all[1] = of_weight(x, weight, g);
    return all;
  }

 private:
  Tensor of_input(const Tensor& x, const Tensor& weight, const Tensor& g) const {
    const Sizes kernel = kernel_of(weight);
    const std::size_t axes = kernel.size();
    ConvArgs back = args_;
    back.stride = each("conv", "stride", args_.stride, axes);
    back.dilation = each("conv", "dilation", args_.dilation, axes);
    back.padding_pairs = pairs_of("conv", args_, axes);
    back.output_padding.clear();
    for (std::size_t i = 0; i < axes; ++i) {  // elements that the last window did not reach
      const auto axis = static_cast<int>(i) + 2;
      const auto& [before, after] = back.padding_pairs[i];
      back.output_padding.push_back(x.size(axis) + before + after -
                                    back.dilation[i] * (kernel[i] - 1) - 1 -
                                    (g.size(axis) - 1) * back.stride[i]);
    }
    return conv_transpose(g, weight, std::nullopt, back);
  }

  Tensor of_weight(const Tensor& x, const Tensor& weight, const Tensor& g) const {
    const Columns columns = columns_of(x, weight, args_);
    const std::size_t axes = columns.kernels.size();
    Shape gradients =
        joined({x.size(0), args_.groups, weight.size(0) / args_.groups}, columns.windows, {1});
    gradients.insert(gradients.end(), axes, 1);
    std::vector<int> summed{0};
    for (std::size_t i = 0; i < axes; ++i) summed.push_back(static_cast<int>(i) + 3);
    return (columns.seen * g.reshape(gradients)).sum(summed).reshape(weight.shape());
  }

  ConvArgs args_;
};

}  // namespace

Tensor conv(const Tensor& x, const Tensor& weight, const std::optional<Tensor>& bias,
            const ConvArgs& args) {
  const OriginScope origin("conv");
  check_conv("conv", x, weight, args.groups, false);
  if (std::ranges::count(x.shape(), sint(0)) > 0 || std::ranges::count(weight.shape(), sint(0)) > 0)
    return with_bias(product(x, weight, args), bias);
  return with_bias(apply<Convolution>({x, weight}, args), bias);
}

Tensor conv1d(const Tensor& x, const Tensor& weight, const std::optional<Tensor>& bias,
              const ConvArgs& args) {
  if (x.rank() != 3)
    throw ShapeError(
        fmt::format("conv1d: input {} and weight {}: expected an input of (n, cin, size); "
                    "unsqueeze or reshape it",
                    str(x.shape()), str(weight.shape())));
  return conv(x, weight, bias, args);
}

Tensor conv2d(const Tensor& x, const Tensor& weight, const std::optional<Tensor>& bias,
              const WindowArgs& args) {
  const OriginScope origin("conv2d");
  if (x.rank() != 4)
    throw ShapeError(
        fmt::format("conv2d: input {} and weight {}: expected an input of (n, cin, h, w); "
                    "unsqueeze or reshape it",
                    str(x.shape()), str(weight.shape())));
  return conv(x, weight, bias, general(args));
}

Tensor conv_transpose(const Tensor& x, const Tensor& weight, const std::optional<Tensor>& bias,
                      const ConvArgs& args) {
  const OriginScope origin("conv_transpose");
  constexpr const char* kWho = "conv_transpose";
  check_conv(kWho, x, weight, args.groups, true);
  const Sizes kernel = kernel_of(weight);
  const std::size_t axes = kernel.size();
  const Sizes stride = each(kWho, "stride", args.stride, axes),
              dilation = each(kWho, "dilation", args.dilation, axes),
              extra = whole_numbers(kWho, "output_padding", args.output_padding, axes);
  const Pairs padding = pairs_of(kWho, args, axes);
  // The input with stride - 1 zeros between elements, convolved with the reversed kernel.
  Tensor apart = x;
  Padding border(2, {0, 0});
  Mask cut = {{0, x.shape()[0]}, {0, x.shape()[1]}};
  std::vector<int> turned;
  for (std::size_t i = 0; i < axes; ++i) {
    const auto axis = static_cast<int>(i) + 2;
    const std::int64_t size = x.size(axis),
                       reach = checked_mul(dilation[i], std::max<std::int64_t>(kernel[i] - 1, 0));
    if (stride[i] < 1 || dilation[i] < 1 || kernel[i] < 1 || size < 1)
      throw ShapeError(fmt::format(
          "{}: axis {} of {}: stride {}, dilation {}, kernel {}; all, and the size, are 1 or more",
          kWho, axis, str(x.shape()), stride[i], dilation[i], kernel[i]));
    const std::int64_t grown = checked_add(checked_mul(size - 1, stride[i]), 1);
    if (stride[i] > 1) {
      Padding gaps(static_cast<std::size_t>(apart.rank()) + 1, {0, 0});
      gaps[i + 3].second = stride[i] - 1;
      apart = apart.unsqueeze(axis + 1).pad(gaps);
      Shape together = apart.shape();
      together.erase(together.begin() + axis + 1);
      together[i + 2] = size * stride[i];
      apart = apart.reshape(together).narrow(axis, 0, grown);
    }
    const std::int64_t before = reach - padding[i].first,
                       after = reach - padding[i].second + extra[i];
    if (grown + before + after - reach < 1 || extra[i] >= std::max(stride[i], dilation[i]))
      throw ShapeError(
          fmt::format("{}: axis {} of {}: padding {}, {} leaves nothing, or output_padding {} is "
                      "not less than the stride and the dilation; use less",
                      kWho, axis, str(x.shape()), padding[i].first, padding[i].second, extra[i]));
    border.emplace_back(std::max<std::int64_t>(before, 0), std::max<std::int64_t>(after, 0));
    cut.emplace_back(std::max<std::int64_t>(-before, 0), grown + std::max<std::int64_t>(before, 0) +
                                                             std::max<std::int64_t>(after, 0) -
                                                             std::max<std::int64_t>(-after, 0));
    turned.push_back(-static_cast<int>(axes - i));
  }
  // Copied: windows of an input with gaps need divisions for each term.
  if (std::ranges::any_of(stride, [](std::int64_t s) { return s > 1; })) apart = apart.contiguous();
  const std::int64_t groups = args.groups, cin = weight.size(0) / groups, cout = weight.size(1);
  const Tensor kernels = weight.flip(turned).unflatten(0, {groups, cin}).transpose(1, 2);
  Shape flat = kernels.shape();
  flat.erase(flat.begin());
  flat[0] = groups * cout;
  return conv(apart.pad(border).shrink(cut), kernels.reshape(flat), bias,
              {.dilation = dilation, .groups = groups});
}

Tensor max_pool(const Tensor& x, const Sizes& kernel, const PoolArgs& args) {
  const OriginScope origin("max_pool");
  const PoolWindows w = pooled("max_pool", x, kernel, args, least_number(x.dtype()));
  return w.seen.max(w.axes);
}
Tensor avg_pool(const Tensor& x, const Sizes& kernel, const PoolArgs& args) {
  const OriginScope origin("avg_pool");
  const PoolWindows w = pooled("avg_pool", x, kernel, args, 0);
  return w.seen.mean(w.axes);
}
Tensor max_pool2d(const Tensor& x, std::array<std::int64_t, 2> kernel,
                  std::optional<std::array<std::int64_t, 2>> stride) {
  const OriginScope origin("max_pool2d");
  return max_pool(x, list(kernel), {.stride = list(stride.value_or(kernel))});
}
Tensor avg_pool2d(const Tensor& x, std::array<std::int64_t, 2> kernel,
                  std::optional<std::array<std::int64_t, 2>> stride) {
  const OriginScope origin("avg_pool2d");
  return avg_pool(x, list(kernel), {.stride = list(stride.value_or(kernel))});
}

Tensor interpolate(const Tensor& x, const Sizes& sizes, Interpolation mode, AlignCorners corners) {
  const OriginScope origin("interpolate");
  check_rank("interpolate", x, sizes.size());
  Tensor out = is_float(x.dtype()) || mode == Interpolation::Nearest ? x : x.cast(DType::Float32);
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const int axis = x.rank() - static_cast<int>(sizes.size() - i);
    if (x.size(axis) < 1 || sizes[i] < 1)
      throw ShapeError(fmt::format(
          "interpolate: cannot resize axis {} of shape {} to {} elements; both sizes are 1 or more",
          axis, str(x.shape()), sizes[i]));
    const Source from = sources(x.size(axis), sizes[i], mode, corners);
    const Tensor low = take(out, from.low, axis);
    if (mode == Interpolation::Nearest) {
      out = low;
      continue;
    }
    Shape along(static_cast<std::size_t>(x.rank()), 1);
    along[static_cast<std::size_t>(axis)] = sizes[i];
    const Tensor part = Tensor::from<double>(from.part, along, x.device()).cast(out.dtype());
    out = low + (take(out, from.high, axis) - low) * part;
  }
  return out;
}

}  // namespace touchstone
