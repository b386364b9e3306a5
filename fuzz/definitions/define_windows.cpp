#include <algorithm>

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
      if (at[i] * stride[i] + k[i] * dilation[i] >= x.shape[lead + i] + before[i] + after[i])
        return false;
    return true;
  }
  // The position on x's axis lead + i of element `k` of window `at`; -1 in the padding.
  std::int64_t position(std::size_t i, std::int64_t at, std::int64_t k, std::int64_t size) const {
    const std::int64_t p = at * stride[i] + k * dilation[i] - before[i];
    // Cropped elements count as absent.
    return p < 0 || p >= size ? -1 : p;
  }
  // The element of x; null in the padding.
  const Near* element(const Array& x, Sizes& from, const Sizes& at, const Sizes& k) const {
    for (std::size_t i = 0; i < axes; ++i) {
      from[lead + i] = position(i, at[i], k[i], x.shape[lead + i]);
      if (from[lead + i] < 0) return nullptr;
    }
    return &x[from];
  }
};

Sizes tail(const Sizes& all, std::size_t from) {
  return {all.begin() + static_cast<std::ptrdiff_t>(from), all.end()};
}
Sizes head(const Sizes& all, std::size_t count) {
  return {all.begin(), all.begin() + static_cast<std::ptrdiff_t>(count)};
}
Sizes joined_sizes(Sizes a, const Sizes& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

Arrays pool_call(const Call& call, const Arrays& x) {
  const Windows w(call, x[0].shape, call.list("kernel"), {1});
  Array out =
      made(x[0].dtype, joined_sizes(joined_sizes(head(x[0].shape, w.lead), w.count), w.kernel),
           [&](const Sizes& at) {
             Sizes from = head(at, w.lead + w.axes);
             const Near* cell = w.element(x[0], from, tail(head(at, w.lead + w.axes), w.lead),
                                          tail(at, w.lead + w.axes));
             return cell == nullptr ? Near(0) : *cell;
           });
  out.signed_zeros = true;
  return {out};
}

template <bool kMost>
Arrays pooled(const Call& call, const Arrays& x) {
  const Sizes kernel = call.list("kernel");
  const Windows w(call, x[0].shape, kernel, kernel);
  for (std::size_t i = 0; i < w.axes; ++i)
    want(w.before[i] >= 0 && 2 * w.before[i] <= kernel[i], "padding of at most half a window");
  const bool with_padding = call.whole("include_pad", 1) != 0;
  const std::int64_t divisor = call.whole("divisor", 0);
  const DType dtype = kMost ? x[0].dtype : real_type(x[0].dtype);
  const Rounding of(dtype);
  Near lowest = -std::numeric_limits<Real>::infinity();
  if (!is_float(dtype))
    lowest = is_bool(dtype) || is_unsigned(dtype) ? Near(0)
                                                  : Near(-std::ldexp(Real{1}, info(dtype).digits));
  return {made(dtype, joined_sizes(head(x[0].shape, w.lead), w.count), [&](const Sizes& at) {
    Near most = as_type(dtype, lowest);
    Sum sum;
    Real count = 0;
    each(w.kernel, [&](const Sizes& k) {
      Sizes from = at;
      const Near* cell = w.element(x[0], from, tail(at, w.lead), k);
      count +=
          cell != nullptr || (with_padding && w.is_in_padded(tail(at, w.lead), k, x[0])) ? 1 : 0;
      if (cell == nullptr) return;
      most = larger(most, *cell);
      sum.add(cast_cell(x[0].dtype, dtype, *cell));
    });
    if (kMost) return most;
    const Near mean = sum.value() / (divisor > 0 ? Near(static_cast<Real>(divisor)) : Near(count));
    return rounded(mean.v, mean.e, 2);
  })};
}

// Flat positions of maxima on the axes of the window: of the first one, or of the last NaN.
Arrays max_pool_index_call(const Call& call, const Arrays& x) {
  const Sizes kernel = call.list("kernel");
  const Windows w(call, x[0].shape, kernel, kernel);
  return {made(DType::Int64, joined_sizes(head(x[0].shape, w.lead), w.count), [&](const Sizes& at) {
    const Near* most = nullptr;
    std::int64_t place = -1;
    each(w.kernel, [&](const Sizes& k) {
      Sizes from = at;
      const Near* cell = w.element(x[0], from, tail(at, w.lead), k);
      if (cell == nullptr) return;
      if (most != nullptr && !std::isnan(cell->v) && (std::isnan(most->v) || cell->v <= most->v))
        return;
      most = cell;
      place = 0;
      for (std::size_t i = w.lead; i < from.size(); ++i) place = place * x[0].shape[i] + from[i];
    });
    return most == nullptr ? anything() : Near(static_cast<Real>(place));
  })};
}

// (sum of |x|^p)^(1/p)
Arrays lp_pool_call(const Call& call, const Arrays& x) {
  const Sizes kernel = call.list("kernel");
  const Windows w(call, x[0].shape, kernel, kernel);
  const auto p = static_cast<Real>(call.real("p", 2));
  return {made(x[0].dtype, joined_sizes(head(x[0].shape, w.lead), w.count), [&](const Sizes& at) {
    Sum sum;
    each(w.kernel, [&](const Sizes& k) {
      Sizes from = at;
      if (const Near* cell = w.element(x[0], from, tail(at, w.lead), k))
        sum.add(through([&](Real v) { return std::pow(std::fabs(v), p); }, *cell, 8));
    });
    return through([&](Real v) { return std::pow(v, 1 / p); }, sum.value(), 8);
  })};
}

// Means or maxima between floor(i n / m) and ceil((i + 1) n / m).
template <bool kMost>
Arrays adaptive_pool_call(const Call& call, const Arrays& x) {
  const Sizes sizes = call.list("sizes");
  want(!sizes.empty() && sizes.size() <= x[0].shape.size() && std::ranges::min(sizes) >= 1, "axes");
  for (std::size_t i = x[0].shape.size() - sizes.size(); i < x[0].shape.size(); ++i)
    want(x[0].shape[i] >= 1, "an empty axis");
  const std::size_t lead = x[0].shape.size() - sizes.size();
  return {made(x[0].dtype, joined_sizes(head(x[0].shape, lead), sizes), [&](const Sizes& at) {
    Sum sum;
    Near most = -std::numeric_limits<Real>::infinity();
    Real count = 0;
    each(tail(x[0].shape, lead), [&](const Sizes& k) {
      Sizes from = head(at, lead);
      for (std::size_t i = 0; i < k.size(); ++i) {
        const std::int64_t n = x[0].shape[lead + i], m = sizes[i], o = at[lead + i];
        // k + 1 > o n / m and k < (o + 1) n / m
        if ((k[i] + 1) * m <= o * n || k[i] * m >= (o + 1) * n) return;
        from.push_back(k[i]);
      }
      sum.add(x[0][from]);
      most = larger(most, x[0][from]);
      ++count;
    });
    return kMost ? most : sum.value() / Near(count);
  })};
}

// The windows of images as columns, and their sums at each element.
Arrays im2col_call(const Call& call, const Arrays& x) {
  const Windows w(call, x[0].shape, call.list("kernel"), {1});
  const std::int64_t inside = w.kernel[0] * w.kernel[1], outer = w.count[0] * w.count[1];
  return {made(x[0].dtype, {x[0].shape[0], x[0].shape[1] * inside, outer}, [&](const Sizes& at) {
    Sizes from = {at[0], at[1] / inside, 0, 0};
    const std::int64_t k = at[1] % inside;
    const Near* cell = w.element(x[0], from, {at[2] / w.count[1], at[2] % w.count[1]},
                                 {k / w.kernel[1], k % w.kernel[1]});
    return cell == nullptr ? Near(0) : *cell;
  })};
}
Arrays col2im_call(const Call& call, const Arrays& x) {
  const Sizes sizes = call.list("sizes"), kernel = call.list("kernel");
  const std::int64_t inside = kernel[0] * kernel[1], channels = x[0].shape[1] / inside;
  const Windows w(call, {x[0].shape[0], channels, sizes[0], sizes[1]}, kernel, {1});
  std::vector<Sum> sums(static_cast<std::size_t>(x[0].shape[0] * channels * sizes[0] * sizes[1]));
  each(x[0].shape, [&](const Sizes& at) {
    const std::int64_t k = at[1] % inside,
                       row = w.position(0, at[2] / w.count[1], k / kernel[1], sizes[0]),
                       column = w.position(1, at[2] % w.count[1], k % kernel[1], sizes[1]);
    if (row < 0 || column < 0) return;
    const std::int64_t plane = at[0] * channels + at[1] / inside;
    sums[static_cast<std::size_t>((plane * sizes[0] + row) * sizes[1] + column)].add(x[0][at]);
  });
  Array out{x[0].dtype, {x[0].shape[0], channels, sizes[0], sizes[1]}, {}};
  for (const Sum& sum : sums) out.cells.push_back(sum.value());
  return {out};
}

DType product_type(const Arrays& x) {
  DType dtype = promote(x[0].dtype, x[1].dtype);
  return dtype;
}

Arrays conv_call(const Call& call, const Arrays& x) {
  want(x.size() == 2 || x.size() == 3, "x, weight and a bias");
  want(is_float(product_type(x)) && (x.size() < 3 || x[2].dtype == x[0].dtype) &&
           x[1].dtype == x[0].dtype,
       "floats");
  want(x[1].rank() >= 3 && x[1].rank() == x[0].rank(), "ranks");
  want(call.name != "conv3d" || x[0].rank() == 5, "three axes");
  want(call.name != "conv1d" || x[0].rank() == 3, "one axis");
  want(call.name != "conv2d" || x[0].rank() == 4, "two axes");
  const Array& weight = x[1];
  const std::int64_t groups = call.whole("groups", 1), out = weight.shape[0],
                     each_in = weight.shape[1];
  want(groups >= 1 && out % groups == 0 && each_in * groups == x[0].shape[1], "groups");
  want(x.size() < 3 || x[2].shape == Sizes{out}, "a bias");
  const Windows w(call, x[0].shape, tail(weight.shape, 2), {1});
  return {made(x[0].dtype, joined_sizes({x[0].shape[0], out}, w.count), [&](const Sizes& at) {
    Sum sum;
    const std::int64_t group = at[1] / (out / groups);
    each(joined_sizes({each_in}, w.kernel), [&](const Sizes& k) {
      Sizes from = at;
      from[1] = group * each_in + k[0];
      const Near* cell = w.element(x[0], from, tail(at, 2), tail(k, 1));
      Sizes of = {at[1]};
      of.insert(of.end(), k.begin(), k.end());
      sum.add((cell == nullptr ? Near(0) : *cell) * weight[of]);
    });
    return x.size() == 3 ? sum.value() + x[2][{at[1]}] : sum.value();
  })};
}

// Adds each element of x to the positions that a convolution would read for it.
Arrays conv_transpose_call(const Call& call, const Arrays& x) {
  want(x.size() == 2 || x.size() == 3, "x, weight and a bias");
  want(is_float(x[0].dtype) && x[1].dtype == x[0].dtype &&
           (x.size() < 3 || x[2].dtype == x[0].dtype),
       "floats");
  const Array& weight = x[1];
  want(weight.rank() >= 3 && weight.rank() == x[0].rank(), "ranks");
  const std::size_t axes = weight.shape.size() - 2;
  const std::int64_t groups = call.whole("groups", 1), each_out = weight.shape[1],
                     in = x[0].shape[1];
  want(groups >= 1 && in % groups == 0 && weight.shape[0] == in, "groups");
  want(x.size() < 3 || x[2].shape == Sizes{each_out * groups}, "a bias");
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
    each(joined_sizes({in / groups}, kernel), [&](const Sizes& k) {
      Sizes from = at;
      from[1] = group * (in / groups) + k[0];
      Sizes of = {from[1], at[1] % each_out};
      of.insert(of.end(), k.begin() + 1, k.end());
      bool there = true;
      for (std::size_t i = 0; i < axes; ++i) {
        const std::int64_t p = at[2 + i] + padding[i] - k[1 + i] * dilation[i];
        there = there && p >= 0 && p % stride[i] == 0 && p / stride[i] < x[0].shape[2 + i];
        from[2 + i] = there ? p / stride[i] : 0;
      }
      if (there)
        sum.add(x[0][from] * weight[of]);
      else if (!std::isfinite(weight[of].v))
        any = true;
    });
    if (any) return anything();
    return x.size() == 3 ? sum.value() + x[2][{at[1]}] : sum.value();
  })};
}

// Positions between two elements of an axis, and the second one's share.
struct Between {
  std::int64_t low = 0, high = 0;
  Real part = 0;
};
Real position_of(std::int64_t i, std::int64_t size, std::int64_t wanted, bool corners) {
  const auto real = [](std::int64_t n) { return static_cast<Real>(n); };
  Real p = (real(i) + Real{0.5}) * real(size) / real(wanted) - Real{0.5};
  if (corners) p = wanted > 1 ? real(i) * real(size - 1) / real(wanted - 1) : 0;
  return p;
}
Between between_of(std::int64_t i, std::int64_t size, std::int64_t wanted, bool corners) {
  const auto real = [](std::int64_t n) { return static_cast<Real>(n); };
  const Real p = std::fmin(std::fmax(position_of(i, size, wanted, corners), 0), real(size - 1));
  const auto low = static_cast<std::int64_t>(std::floor(p));
  return {low, std::min(low + 1, size - 1), p - real(low)};
}
// Keys' kernel with a = -3/4 over four elements of each axis; elements beyond an end are the last.
Arrays bicubic_call(const Call& call, const Arrays& x) {
  const Sizes sizes = call.list("sizes");
  const std::size_t lead = x[0].shape.size() - sizes.size();
  return {made(x[0].dtype, joined_sizes(head(x[0].shape, lead), sizes), [&](const Sizes& at) {
    Sum sum;
    each(Sizes(sizes.size(), 4), [&](const Sizes& tap) {
      Sizes from = at;
      Real share = 1;
      for (std::size_t i = 0; i < sizes.size(); ++i) {
        const std::int64_t size = x[0].shape[lead + i];
        const Real p = position_of(at[lead + i], size, sizes[i], call.whole("corners", 0) != 0);
        const auto k = static_cast<std::int64_t>(std::floor(p)) - 1 + tap[i];
        const Real d = std::fabs(p - static_cast<Real>(k)), a = Real{-0.75};
        share *= d <= 1 ? (a + 2) * d * d * d - (a + 3) * d * d + 1
                        : a * d * d * d - 5 * a * d * d + 8 * a * d - 4 * a;
        from[lead + i] = std::clamp<std::int64_t>(k, 0, size - 1);
      }
      sum.add(x[0][from] * Near(share, 64 * Rounding::unit * static_cast<Real>(x[0].size())));
    });
    return sum.value();
  })};
}
Arrays interpolate_call(const Call& call, const Arrays& x) {
  const Sizes sizes = call.list("sizes");
  const bool linear = call.arg("mode") == "linear", corners = call.whole("corners", 0) != 0;
  want(!sizes.empty() && sizes.size() <= x[0].shape.size(), "axes");
  const std::size_t lead = x[0].shape.size() - sizes.size();
  Sizes shape = x[0].shape;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    want(sizes[i] >= 1 && shape[lead + i] >= 1, "sizes");
    shape[lead + i] = sizes[i];
  }
  const DType dtype = linear ? real_type(x[0].dtype) : x[0].dtype;
  const Rounding of(dtype);
  return {made(dtype, shape, [&](const Sizes& at) {
    Sum sum;
    Near nearest;
    each(Sizes(sizes.size(), 2), [&](const Sizes& side) {
      Sizes from = at;
      Real share = 1;
      for (std::size_t i = 0; i < sizes.size(); ++i) {
        const std::int64_t size = x[0].shape[lead + i];
        const Between b = between_of(at[lead + i], size, sizes[i], corners);
        from[lead + i] = side[i] == 0 ? b.low : b.high;
        share *= side[i] == 0 ? 1 - b.part : b.part;
        if (!linear) from[lead + i] = at[lead + i] * size / sizes[i];
        if (call.has("mode") && call.arg("mode") == "nearest_exact")
          from[lead + i] = (2 * at[lead + i] + 1) * size / (2 * sizes[i]);
      }
      nearest = x[0][from];
      const Near cell = cast_cell(x[0].dtype, dtype, nearest);
      // Positions and shares are computed in the type.
      sum.add({cell.v * share,
               8 * Rounding::unit * std::fabs(cell.v) * (1 + static_cast<Real>(x[0].size()))});
    });
    return linear ? sum.value() : nearest;
  })};
}

constexpr Definition kWindowRows[] = {
    {"pool", pool_call},
    {"max_pool", pooled<true>},
    {"avg_pool", pooled<false>},
    {"max_pool2d", pooled<true>},
    {"avg_pool2d", pooled<false>},
    {"conv", conv_call},
    {"conv1d", conv_call},
    {"conv2d", conv_call},
    {"conv_transpose", conv_transpose_call},
    {"interpolate", interpolate_call},
    {"bicubic", bicubic_call},
    {"max_pool_index", max_pool_index_call},
    {"adaptive_avg_pool", adaptive_pool_call<false>},
    {"adaptive_max_pool", adaptive_pool_call<true>},
    {"lp_pool", lp_pool_call},
    {"im2col", im2col_call},
    {"col2im", col2im_call},
    {"conv3d", conv_call},
    {"Conv1d", conv_call},
    {"Conv2d", conv_call},
    {"ConvTranspose1d", conv_transpose_call},
    {"ConvTranspose2d", conv_transpose_call},
};

}  // namespace

std::span<const Definition> window_definitions() { return kWindowRows; }

}  // namespace touchstone::fuzz::defined
