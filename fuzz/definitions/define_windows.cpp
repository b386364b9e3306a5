#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "touchstone/fuzz/definitions/calls.h"

namespace touchstone::fuzz::defined {
namespace {

// One number per axis, or one for all.
Sizes per_axis(const Sizes& given, std::size_t axes) {
  want(given.size() == axes || given.size() == 1, "a number an axis");
  return given.size() == axes ? given : Sizes(axes, given[0]);
}

// Windows over the last axes of x.
struct Windows {
  std::size_t lead = 0, axes = 0;
  Sizes kernel, stride, dilation, before, after;
  Sizes count;  // of windows

  Windows(const Call& call, const Sizes& shape, Sizes of, const Sizes& stride_or)
      : axes(of.size()), kernel(std::move(of)) {
    want(axes > 0 && shape.size() >= axes, "axes of a window");
    lead = shape.size() - axes;
    stride = per_axis(call.list("stride", stride_or), axes);
    dilation = per_axis(call.list("dilation", {1}), axes);
    before = after = per_axis(call.list("padding", {0}), axes);
    if (call.has("before")) {
      before = per_axis(call.list("before"), axes);
      after = per_axis(call.list("after"), axes);
    }
    for (std::size_t i = 0; i < axes; ++i) {
      const std::int64_t size = shape[lead + i] + before[i] + after[i];
      want(stride[i] >= 1 && dilation[i] >= 1 && kernel[i] >= 1, "steps of a window");
      want(std::max<std::int64_t>(-before[i], 0) + std::max<std::int64_t>(-after[i], 0) <=
               shape[lead + i],
           "what is taken away");
      const std::int64_t reach = dilation[i] * (kernel[i] - 1) + 1;
      want(reach <= size, "a window that fits");
      count.push_back((size - reach) / stride[i] + 1);
      // Rounded up, as long as the last window starts in front of the padding at the end.
      if (call.whole("ceil", 0) != 0 && (size - reach) % stride[i] != 0 &&
          count.back() * stride[i] < shape[lead + i] + before[i])
        ++count.back();
    }
  }
  // True where element `k` of window `at` is in x or its padding.
  bool is_in_padded(const Sizes& at, const Sizes& k, const Array& x) const {
    for (std::size_t i = 0; i < axes; ++i)
      if (at[lead + i] * stride[i] + k[i] * dilation[i] >= x.shape[lead + i] + before[i] + after[i])
        return false;
    return true;
  }
  // The position on x's axis lead + i of element `k` of window `at`; -1 in the padding.
  std::int64_t position(std::size_t i, std::int64_t at, std::int64_t k, std::int64_t size) const {
    const std::int64_t p = at * stride[i] + k * dilation[i] - before[i];
    // Cropped elements count as absent.
    return p < 0 || p >= size ? -1 : p;
  }
  // The element of x, or of the channels and images `of`; none in the padding.
  std::optional<Near> element(const Array& x, Sizes of, const Sizes& k) const {
    for (std::size_t i = 0; i < axes; ++i) {
      of[lead + i] = position(i, of[lead + i], k[i], x.shape[lead + i]);
      if (of[lead + i] < 0) return std::nullopt;
    }
    return x[of];
  }
};

Arrays pool_call(const Call& call, const Arrays& x) {
  const Windows w(call, x[0].shape, call.list("kernel"), {1});
  const Sizes shape = joined(joined(head(x[0].shape, w.lead), w.count), w.kernel);
  return {taken(x[0], shape, [&](const Sizes& at) {
    const Sizes window = head(at, w.lead + w.axes);
    return w.element(x[0], window, tail(at, window.size())).value_or(0);
  })};
}

// The elements of each window, and how many the padding has, to one of the result.
template <class F>
Array over_windows(const Windows& w, const Array& x, DType dtype, F f) {
  const Rounding of(dtype);
  return made(dtype, joined(head(x.shape, w.lead), w.count), [&](const Sizes& at) {
    std::vector<Near> all;
    Real padding = 0;
    each(w.kernel, [&](const Sizes& k) {
      if (const auto cell = w.element(x, at, k))
        all.push_back(cast_cell(x.dtype, dtype, *cell));
      else if (w.is_in_padded(at, k, x))
        ++padding;
    });
    return f(all, padding);
  });
}
Near sum_of(const std::vector<Near>& all) {
  Sum sum;
  for (const Near& cell : all) sum.add(cell);
  return sum.value();
}

template <bool kMost>
Arrays pooled(const Call& call, const Arrays& x) {
  const Sizes kernel = call.list("kernel");
  const Windows w(call, x[0].shape, kernel, kernel);
  for (std::size_t i = 0; i < w.axes; ++i)
    want(w.before[i] >= 0 && 2 * w.before[i] <= kernel[i], "padding of at most half a window");
  if (kMost)
    return {over_windows(w, x[0], x[0].dtype, [&](const auto& all, Real) {
      return reduced_to("max", x[0].dtype, all);
    })};
  const std::int64_t divisor = call.whole("divisor", 0);
  return {over_windows(w, x[0], real_type(x[0].dtype), [&](const auto& all, Real padding) {
    const Real count = real(std::ssize(all)) + (call.whole("include_pad", 1) != 0 ? padding : 0);
    const Near mean = sum_of(all) / Near(divisor > 0 ? real(divisor) : count);
    return rounded(mean.v, mean.e, 2);
  })};
}

// Flat positions of maxima on the axes of the window: of the first one, or of the last NaN.
Arrays max_pool_index_call(const Call& call, const Arrays& x) {
  const Sizes kernel = call.list("kernel");
  const Windows w(call, x[0].shape, kernel, kernel);
  return {made(DType::Int64, joined(head(x[0].shape, w.lead), w.count), [&](const Sizes& at) {
    std::optional<Near> most;
    std::int64_t place = -1;
    each(w.kernel, [&](const Sizes& k) {
      const auto cell = w.element(x[0], at, k);
      if (!cell || (most && !std::isnan(cell->v) && (std::isnan(most->v) || cell->v <= most->v)))
        return;
      most = cell;
      place = 0;
      for (std::size_t i = 0; i < w.axes; ++i)
        place = place * x[0].shape[w.lead + i] +
                w.position(i, at[w.lead + i], k[i], x[0].shape[w.lead + i]);
    });
    return most ? Near(real(place)) : anything();
  })};
}

// (sum of |x|^p)^(1/p)
Arrays lp_pool_call(const Call& call, const Arrays& x) {
  const Sizes kernel = call.list("kernel");
  const auto p = static_cast<Real>(call.real("p", 2));
  const auto power = [](Real to) { return [to](Real v) { return std::pow(std::fabs(v), to); }; };
  return {over_windows(Windows(call, x[0].shape, kernel, kernel), x[0], x[0].dtype,
                       [&](const auto& all, Real) {
                         Sum sum;
                         for (const Near& cell : all) sum.add(through(power(p), cell, 8));
                         return through([&](Real v) { return std::pow(v, 1 / p); }, sum.value(), 8);
                       })};
}

// Means or maxima between floor(i n / m) and ceil((i + 1) n / m).
template <bool kMost>
Arrays adaptive_pool_call(const Call& call, const Arrays& x) {
  const Sizes sizes = call.list("sizes");
  want(!sizes.empty() && sizes.size() <= x[0].shape.size() && std::ranges::min(sizes) >= 1, "axes");
  const std::size_t lead = x[0].shape.size() - sizes.size();
  want(std::ranges::min(tail(x[0].shape, lead)) >= 1, "an empty axis");
  return {made(x[0].dtype, joined(head(x[0].shape, lead), sizes), [&](const Sizes& at) {
    std::vector<Near> all;
    each(tail(x[0].shape, lead), [&](const Sizes& k) {
      for (std::size_t i = 0; i < k.size(); ++i) {
        const std::int64_t n = x[0].shape[lead + i], m = sizes[i], o = at[lead + i];
        // k + 1 > o n / m and k < (o + 1) n / m
        if ((k[i] + 1) * m <= o * n || k[i] * m >= (o + 1) * n) return;
      }
      all.push_back(x[0][joined(head(at, lead), k)]);
    });
    return kMost ? reduced_to("max", x[0].dtype, all) : sum_of(all) / Near(real(std::ssize(all)));
  })};
}

// The windows of images as columns, and their sums at each element.
Arrays im2col_call(const Call& call, const Arrays& x) {
  const Windows w(call, x[0].shape, call.list("kernel"), {1});
  want(w.axes == 2 && w.lead == 2, "images");
  const std::int64_t inside = w.kernel[0] * w.kernel[1], outer = w.count[0] * w.count[1];
  return {made(x[0].dtype, {x[0].shape[0], x[0].shape[1] * inside, outer}, [&](const Sizes& at) {
    const std::int64_t k = at[1] % inside;
    return w
        .element(x[0], {at[0], at[1] / inside, at[2] / w.count[1], at[2] % w.count[1]},
                 {k / w.kernel[1], k % w.kernel[1]})
        .value_or(0);
  })};
}
Arrays col2im_call(const Call& call, const Arrays& x) {
  const Sizes sizes = call.list("sizes"), kernel = call.list("kernel");
  want(sizes.size() == 2 && kernel.size() == 2 && std::ranges::min(kernel) >= 1 && x[0].rank() == 3,
       "columns of windows");
  const std::int64_t inside = kernel[0] * kernel[1], channels = x[0].shape[1] / inside;
  Array out{x[0].dtype, {x[0].shape[0], channels, sizes[0], sizes[1]}, {}};
  const Windows w(call, out.shape, kernel, {1});
  std::vector<Sum> sums(static_cast<std::size_t>(x[0].shape[0] * channels * sizes[0] * sizes[1]));
  each(x[0].shape, [&](const Sizes& at) {
    const std::int64_t k = at[1] % inside,
                       row = w.position(0, at[2] / w.count[1], k / kernel[1], sizes[0]),
                       column = w.position(1, at[2] % w.count[1], k % kernel[1], sizes[1]);
    if (row >= 0 && column >= 0)
      sums[out.place({at[0], at[1] / inside, row, column})].add(x[0][at]);
  });
  for (const Sum& sum : sums) out.cells.push_back(sum.value());
  return {out};
}

void want_layer(const Arrays& x) {
  want(x.size() == 2 || x.size() == 3, "x, weight and a bias");
  for (const Array& a : x) want(is_float(a.dtype) && a.dtype == x[0].dtype, "floats");
  want(x[1].rank() >= 3 && x[1].rank() == x[0].rank(), "ranks");
}
// Channels of x, in groups, and of the result.
void want_channels(const Arrays& x, std::int64_t groups, std::int64_t in, std::int64_t out) {
  want(groups >= 1 && in % groups == 0 && out % groups == 0 && in == x[0].shape[1], "groups");
  want(x.size() < 3 || x[2].shape == Sizes{out}, "a bias");
}
Near biased(const Near& sum, const Arrays& x, std::int64_t channel) {
  return x.size() == 3 ? sum + x[2][{channel}] : sum;
}

Arrays conv_call(const Call& call, const Arrays& x) {
  want_layer(x);
  for (const int axes : {1, 2, 3})
    want(call.name != fmt::format("conv{}d", axes) || x[0].rank() == axes + 2, "axes");
  const Array& weight = x[1];
  const std::int64_t groups = call.whole("groups", 1), out = weight.shape[0],
                     each_in = weight.shape[1];
  want_channels(x, groups, each_in * groups, out);
  const Windows w(call, x[0].shape, tail(weight.shape, 2), {1});
  return {made(x[0].dtype, joined({x[0].shape[0], out}, w.count), [&](const Sizes& at) {
    Sum sum;
    const std::int64_t group = at[1] / (out / groups);
    each(joined({each_in}, w.kernel), [&](const Sizes& k) {
      Sizes from = at;
      from[1] = group * each_in + k[0];
      sum.add(w.element(x[0], from, tail(k, 1)).value_or(0) * weight[joined({at[1]}, k)]);
    });
    return biased(sum.value(), x, at[1]);
  })};
}

// Adds each element of x to the positions that a convolution would read for it.
Arrays conv_transpose_call(const Call& call, const Arrays& x) {
  want_layer(x);
  const Array& weight = x[1];
  const std::size_t axes = weight.shape.size() - 2;
  const std::int64_t groups = call.whole("groups", 1), each_out = weight.shape[1],
                     in = weight.shape[0];
  want_channels(x, groups, in, each_out * groups);
  const Sizes kernel = tail(weight.shape, 2), stride = per_axis(call.list("stride", {1}), axes),
              dilation = per_axis(call.list("dilation", {1}), axes),
              padding = per_axis(call.list("padding", {0}), axes),
              more = per_axis(call.list("output_padding", {0}), axes);
  Sizes shape = {x[0].shape[0], each_out * groups};
  for (std::size_t i = 0; i < axes; ++i) {
    want(kernel[i] >= 1 && stride[i] >= 1 && dilation[i] >= 1 && padding[i] >= 0 && more[i] >= 0 &&
             x[0].shape[2 + i] >= 1 && more[i] < std::max(stride[i], dilation[i]),
         "steps of a window");
    shape.push_back((x[0].shape[2 + i] - 1) * stride[i] - 2 * padding[i] +
                    dilation[i] * (kernel[i] - 1) + more[i] + 1);
    want(shape.back() >= 1, "a size");
  }
  return {made(x[0].dtype, shape, [&](const Sizes& at) {
    Sum sum;
    bool any = false;  // a product with an absent element
    const std::int64_t group = at[1] / each_out;
    each(joined({in / groups}, kernel), [&](const Sizes& k) {
      Sizes from = at;
      from[1] = group * (in / groups) + k[0];
      const Near& factor = weight[joined({from[1], at[1] % each_out}, tail(k, 1))];
      bool there = true;
      for (std::size_t i = 0; i < axes; ++i) {
        const std::int64_t p = at[2 + i] + padding[i] - k[1 + i] * dilation[i];
        there = there && p >= 0 && p % stride[i] == 0 && p / stride[i] < x[0].shape[2 + i];
        from[2 + i] = there ? p / stride[i] : 0;
      }
      if (there)
        sum.add(x[0][from] * factor);
      else if (!std::isfinite(factor.v))
        any = true;
    });
    return any ? anything() : biased(sum.value(), x, at[1]);
  })};
}

// The position of element i of `wanted` in an axis of `size`.
Real position_of(std::int64_t i, std::int64_t size, std::int64_t wanted, bool corners) {
  if (corners) return wanted > 1 ? real(i) * real(size - 1) / real(wanted - 1) : 0;
  return (real(i) + Real{0.5}) * real(size) / real(wanted) - Real{0.5};
}
// The nearest element, or the sum of two or four elements of each axis, by their distance; elements
// beyond an end are the last.
Arrays interpolate_call(const Call& call, const Arrays& x) {
  const Sizes sizes = call.list("sizes");
  const std::string_view mode = call.arg("mode").value_or("nearest");
  const bool linear = mode == "linear", cubic = call.name == "bicubic",
             corners = call.whole("corners", 0) != 0, exact = mode == "nearest_exact";
  want(!sizes.empty() && sizes.size() <= x[0].shape.size(), "axes");
  const std::size_t lead = x[0].shape.size() - sizes.size();
  const Sizes old = tail(x[0].shape, lead), shape = joined(head(x[0].shape, lead), sizes);
  want(std::ranges::min(old) >= 1 && std::ranges::min(sizes) >= 1, "sizes");
  if (!linear && !cubic)
    return {made(x[0].dtype, shape, [&](Sizes at) {
      for (std::size_t i = 0; i < sizes.size(); ++i) {
        std::int64_t& p = at[lead + i];
        p = exact ? (2 * p + 1) * old[i] / (2 * sizes[i]) : p * old[i] / sizes[i];
      }
      return x[0][at];
    })};
  const DType dtype = real_type(x[0].dtype);
  const Rounding of(dtype);
  return {made(dtype, shape, [&](const Sizes& at) {
    Sum sum;
    each(Sizes(sizes.size(), cubic ? 4 : 2), [&](const Sizes& tap) {
      Sizes from = at;
      Real share = 1;
      for (std::size_t i = 0; i < sizes.size(); ++i) {
        Real p = position_of(at[lead + i], old[i], sizes[i], corners);
        if (linear) p = std::clamp<Real>(p, 0, real(old[i] - 1));
        const auto k = static_cast<std::int64_t>(std::floor(p)) + tap[i] - (cubic ? 1 : 0);
        share *= weight_of(p - real(k), cubic ? Kernel::Keys : Kernel::Hat);
        from[lead + i] = std::clamp<std::int64_t>(k, 0, old[i] - 1);
      }
      const Near cell = cast_cell(x[0].dtype, dtype, x[0][from]);
      const Real size = real(x[0].size());
      if (cubic)
        sum.add(cell * Near(share, 64 * Rounding::unit * size));
      else  // positions and shares are computed in the type
        sum.add({cell.v * share, 8 * Rounding::unit * std::fabs(cell.v) * (1 + size)});
    });
    return sum.value();
  })};
}

const Definition kWindowRows[] = {
    // clang-format off
    {"pool", pool_call}, {"max_pool max_pool2d", pooled<true>},
    {"avg_pool avg_pool2d", pooled<false>}, {"conv conv1d conv2d conv3d Conv1d Conv2d", conv_call},
    {"conv_transpose ConvTranspose1d ConvTranspose2d", conv_transpose_call},
    {"interpolate bicubic", interpolate_call}, {"max_pool_index", max_pool_index_call},
    {"adaptive_avg_pool", adaptive_pool_call<false>},
    {"adaptive_max_pool", adaptive_pool_call<true>}, {"lp_pool", lp_pool_call},
    // clang-format on
    {"im2col", im2col_call},
    {"col2im", col2im_call},
};

}  // namespace

std::span<const Definition> window_definitions() { return kWindowRows; }

}  // namespace touchstone::fuzz::defined
