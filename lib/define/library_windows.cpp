// Windows over the last axes: convolutions, pools, and sums of overlapping windows.
#include <algorithm>
#include <cmath>

#include "touchstone/define/library.h"
#include "touchstone/define/parts.h"

namespace touchstone::define {
namespace {

void require_positive(const Sizes& values, std::string_view what) {
  for (const std::int64_t v : values)
    if (v < 1) throw ShapeError(fmt::format("{} {} must be positive", what, v));
}

void require_spatial(const Array& x, int spatial, int before, std::string_view what) {
  if (x.rank() < spatial + before)
    throw ShapeError(
        fmt::format("{}: shape {} has fewer than {} axes", what, str(x.shape()), spatial + before));
}

std::int64_t reach_of(std::int64_t size, std::int64_t dilation) {
  return checked_add(checked_mul(dilation, size - 1), 1);
}

// Of the last axes; other axes keep their size.
Pairs behind(const Array& x, const Pairs& last) {
  Pairs pairs(x.shape().size() - last.size());
  pairs.insert(pairs.end(), last.begin(), last.end());
  return pairs;
}

// Pads the last axes; a negative number removes elements.
Array pad_or_crop(const Array& x, const Pairs& last) {
  Pairs padding;
  for (const auto& [before, after] : last)
    padding.emplace_back(std::max<std::int64_t>(before, 0), std::max<std::int64_t>(after, 0));
  const Array padded = x.pad(behind(x, padding));
  Pairs kept = whole_ranges(padded.shape());
  for (std::size_t i = 0; i < last.size(); ++i) {
    auto& [begin, end] = kept[kept.size() - last.size() + i];
    begin = std::max<std::int64_t>(-last[i].first, 0);
    end -= std::max<std::int64_t>(-last[i].second, 0);
  }
  return padded.shrink(kept);
}

// The windows of a pool.
struct Pool {
  Sizes size, stride, dilation, counts;
  Pairs padding;            // as long as the last window needs it
  bool is_clipped = false;  // some window ends behind the padding that was asked for

  Pool(const Array& x, const Sizes& of, const Window& window, int spatial, std::string_view what) {
    require_spatial(x, spatial, 0, what);
    const auto axes = static_cast<std::size_t>(spatial);
    size = for_each_axis(of, axes, "size");
    stride = for_each_axis(window.stride, axes, "stride");
    dilation = for_each_axis(window.dilation, axes, "dilation");
    require_positive(size, "window");
    require_positive(stride, "stride");
    require_positive(dilation, "dilation");
    const Sizes each = for_each_axis(window.padding, axes, "padding");
    for (std::size_t i = 0; i < axes; ++i) {
      const std::int64_t n = x.shape()[x.shape().size() - axes + i], p = each[i],
                         reach = reach_of(size[i], dilation[i]);
      if (p < 0) throw ShapeError(fmt::format("{}: padding {} is negative", what, p));
      const std::int64_t span = checked_add(n, checked_mul(p, 2));
      std::int64_t after = p,
                   count = touchstone::floor_div(checked_sub(span, reach), stride[i]) + 1;
      if (window.ceil) {
        require_half(p, reach, what);
        count = ceil_div(checked_sub(span, reach), stride[i]) + 1;
        // The last window starts in the input or the padding before it.
        if (checked_mul(count - 1, stride[i]) >= n + p) --count;
        after = std::max(p, checked_add(checked_mul(count - 1, stride[i]), reach) - n - p);
      }
      if (count < 1)
        throw ShapeError(
            fmt::format("{}: a window spans {} elements, more than the {} of shape {} "
                        "with padding {}",
                        what, reach, span, str(x.shape()), p));
      is_clipped = is_clipped || after > p;
      counts.push_back(count);
      padding.emplace_back(p, after);
    }
  }
  static void require_half(std::int64_t padding, std::int64_t reach, std::string_view what) {
    if (2 * padding > reach)
      throw ShapeError(fmt::format("{}: padding {} must be at most half of the window's span {}",
                                   what, padding, reach));
  }
  void require_half(std::string_view what) const {
    for (std::size_t i = 0; i < size.size(); ++i)
      require_half(padding[i].first, reach_of(size[i], dilation[i]), what);
  }
  bool pads() const {
    return std::ranges::any_of(padding, [](const auto& p) { return p.first + p.second > 0; });
  }
  // Of an array that has been padded.
  Array windows_of(const Array& padded) const {
    const Array all = windows(padded, size, stride, dilation);
    Pairs kept = whole_ranges(all.shape());
    for (std::size_t i = 0; i < counts.size(); ++i)
      kept[kept.size() - 2 * counts.size() + i].second = counts[i];
    return all.shrink(kept);
  }
  Array padded(const Array& x, const Array& value) const {
    return pad_with(x, behind(x, padding), value);
  }
};

// Broadcast to (batch, channels, sizes...).
Array along_channels(const Array& bias, int spatial) {
  Sizes column(static_cast<std::size_t>(spatial) + 1, 1);
  column[0] = -1;
  return bias.reshape(column);
}

// A convolution by the algorithm of `way`, if that has one for it.
std::optional<Array> rearranged(const Array& padded, const Array& weight, const Window& window,
                                std::int64_t groups, int spatial, const Way& way) {
  const auto all = [](const Sizes& values, std::int64_t wanted) {
    return std::ranges::all_of(values, [&](std::int64_t v) { return v == wanted; });
  };
  const Sizes kernel(weight.shape().begin() + 2, weight.shape().end());
  if (way.rearranged == Rearranged::No || !all(window.stride, 1) || !all(window.dilation, 1) ||
      !is_float(padded.dtype()) || padded.dtype() != weight.dtype())
    return std::nullopt;
  constexpr std::int64_t kMostOfPlane = 256;  // a plane is one line, of which each output is a sum
  const bool large = spatial == 2 && padded.size(-1) * padded.size(-2) > kMostOfPlane;
  if (way.rearranged == Rearranged::Fourier && spatial <= 2 && !large)
    return spatial == 1 ? fourier(padded, weight, groups) : fourier_plane(padded, weight, groups);
  if (way.rearranged == Rearranged::Fourier || !all(kernel, 3)) return std::nullopt;
  return winograd(padded, weight, groups, spatial,
                  way.rearranged == Rearranged::WinogradTwo ? 2 : 4);
}

// x has been padded. `real`, of shape (1, 1, sizes...): the elements to which weights apply.
Array convolved(const Array& x, const std::optional<Array>& real, const Array& weight,
                const std::optional<Array>& bias, const Window& window, std::int64_t groups,
                int spatial, const Way& way) {
  if (is_narrow(x, way) && is_narrow(weight, way) && (!bias || is_narrow(*bias, way)))
    return way.narrow_product && bias
               ? convolved(x, real, weight, {}, window, groups, spatial, {}) +
                     along_channels(*bias, spatial)
               : narrowed(convolved(wide(x), real, wide(weight), wide(bias), window, groups,
                                    spatial, way),
                          promote(x.dtype(), weight.dtype()));
  const auto axes = static_cast<std::size_t>(spatial);
  const Sizes kernel(weight.shape().begin() + 2, weight.shape().end());
  const std::int64_t out = weight.size(0), part = weight.size(1);
  std::vector<int> order{0, 1, 2};  // (batch, groups, 1, outer..., in / groups, windows...)
  for (int i = 0; i < spatial; ++i) order.push_back(4 + i);
  order.push_back(3);
  for (int i = 0; i < spatial; ++i) order.push_back(4 + spatial + i);
  const auto seen = [&](const Array& padded, std::int64_t in_groups, std::int64_t channels) {
    const Array all = windows(padded, kernel, window.stride, window.dilation);
    Sizes shape{padded.size(0), in_groups, 1, channels};
    shape.insert(shape.end(), all.shape().begin() + 2, all.shape().end());
    return all.reshape(shape).permute(order);
  };
  Sizes right{groups, out / groups};
  right.insert(right.end(), axes, 1);
  right.insert(right.end(), weight.shape().begin() + 1, weight.shape().end());
  const Array terms = seen(x, groups, part);
  if (const auto fast = real ? std::nullopt : rearranged(x, weight, window, groups, spatial, way))
    return bias ? *fast + along_channels(*bias, spatial) : *fast;
  Array weights = weight.reshape(right);
  if (real) {
    const Array none = Array::number("0");
    weights = where(seen(*real, 1, 1), weights, none);
    weights = weights.reshape(Sizes(weights.shape().begin() + 1, weights.shape().end()));
  }
  Array sums = terms;  // (batch, groups, out / groups, outer...)
  if (bias && way.bias_first) {
    const auto in_rows = [&](const Array& y) {
      Sizes shape(y.shape().begin(), y.shape().end() - spatial - 1);
      shape.push_back(-1);
      return y.reshape(shape);
    };
    const Array rows = in_rows(weights);
    Sizes first = rows.shape(), column(first.size(), 1);
    first.back() = 1;
    column[0] = groups;
    column[1] = out / groups;
    sums = sum(with_one(in_rows(terms)) *
                   concat(bias->reshape(column).expand(first), rows, rows.rank() - 1),
               last_axes(1));
  } else {
    sums = sum(terms * weights, last_axes(spatial + 1));
  }
  Sizes shape{x.size(0), out};
  shape.insert(shape.end(), sums.shape().begin() + 3, sums.shape().end());
  const Array y = sums.reshape(shape);
  return bias && !way.bias_first ? y + along_channels(*bias, spatial) : y;
}

void require_conv(const Array& x, const Array& weight, int spatial, std::string_view what) {
  if (x.rank() != spatial + 2 || weight.rank() != spatial + 2)
    throw ShapeError(fmt::format("{}: x {} and weight {} must have {} axes", what, str(x.shape()),
                                 str(weight.shape()), spatial + 2));
}
void require_bias(const std::optional<Array>& bias, std::int64_t out, std::string_view what) {
  if (bias && bias->shape() != Sizes{out})
    throw ShapeError(fmt::format("{}: the bias {} must be ({}), a number for each output channel",
                                 what, str(bias->shape()), out));
}

// Each element followed by step - 1 zeros, but the last, along axis `at` from the end.
Array spread(const Array& x, std::int64_t step, int at) {
  const Array apart = spaced(x, step, at);
  Pairs kept = whole_ranges(apart.shape());
  kept[kept.size() - static_cast<std::size_t>(at)].second -= step - 1;
  return apart.shrink(kept);
}

}  // namespace

Array windows(const Array& x, const Sizes& size, const Sizes& stride, const Sizes& dilation) {
  const Sizes steps = for_each_axis(stride, size.size(), "stride");
  const Sizes gaps = for_each_axis(dilation, size.size(), "dilation");
  require_spatial(x, static_cast<int>(size.size()), 0, "windows");
  require_positive(size, "window");
  require_positive(steps, "stride");
  require_positive(gaps, "dilation");
  Sizes strides(x.shape().size(), 1);
  for (std::size_t i = strides.size(); i-- > 1;)
    strides[i - 1] = checked_mul(strides[i], std::max<std::int64_t>(x.shape()[i], 1));
  Sizes shape = x.shape(), inner;
  for (std::size_t i = 0; i < size.size(); ++i) {
    const std::size_t axis = shape.size() - size.size() + i;
    const std::int64_t reach = reach_of(size[i], gaps[i]);
    if (reach > shape[axis])
      throw ShapeError(fmt::format("a window spans {} elements, but axis {} of shape {} has {}",
                                   reach, axis, str(x.shape()), shape[axis]));
    shape[axis] = (shape[axis] - reach) / steps[i] + 1;
    inner.push_back(checked_mul(strides[axis], gaps[i]));
    strides[axis] = checked_mul(strides[axis], steps[i]);
  }
  shape.insert(shape.end(), size.begin(), size.end());
  strides.insert(strides.end(), inner.begin(), inner.end());
  return x.as_strided(shape, strides, 0);
}

Array conv(const Array& x, const Array& weight, const std::optional<Array>& bias,
           const Window& window, std::int64_t groups, int spatial, const Way& way) {
  const std::string what = fmt::format("conv{}d", spatial);
  require_conv(x, weight, spatial, what);
  const std::int64_t in = x.size(1), out = weight.size(0), part = weight.size(1);
  if (groups < 1 || out % groups != 0 || in % groups != 0 || part != in / groups)
    throw ShapeError(fmt::format(
        "{}: {} input channels, {} output channels and {} in the weight do not fit {} groups", what,
        in, out, part, groups));
  require_bias(bias, out, what);
  Pairs padding;
  for (const std::int64_t p :
       for_each_axis(window.padding, static_cast<std::size_t>(spatial), "padding"))
    padding.emplace_back(p, p);
  return convolved(x.pad(behind(x, padding)), {}, weight, bias, window, groups, spatial, way);
}

Array conv_transpose(const Array& x, const Array& weight, const std::optional<Array>& bias,
                     const Window& window, const Sizes& output_padding, std::int64_t groups,
                     int spatial, const Way& way) {
  const std::string what = fmt::format("conv_transpose{}d", spatial);
  const auto axes = static_cast<std::size_t>(spatial);
  require_conv(x, weight, spatial, what);
  const std::int64_t in = x.size(1), part = weight.size(1);
  if (groups < 1 || in % groups != 0 || weight.size(0) != in)
    throw ShapeError(fmt::format(
        "{}: x {} with {} channels and weight {} of {} do not fit {} groups; weight: (in, out / "
        "groups, windows...)",
        what, str(x.shape()), in, str(weight.shape()), weight.size(0), groups));
  const std::int64_t out = checked_mul(part, groups);
  require_bias(bias, out, what);
  const Sizes stride = for_each_axis(window.stride, axes, "stride"),
              padding = for_each_axis(window.padding, axes, "padding"),
              dilation = for_each_axis(window.dilation, axes, "dilation"),
              more = for_each_axis(output_padding, axes, "output_padding");
  require_positive(stride, "stride");
  require_positive(dilation, "dilation");
  Array spaced = x;
  Sizes sizes(x.shape().begin() + 2, x.shape().end()), ones{1, 1};
  ones.insert(ones.end(), sizes.begin(), sizes.end());
  Array real = Array::constant(Scalar::of(true), ones);
  Pairs around;
  for (std::size_t i = 0; i < axes; ++i) {
    const std::int64_t window_size = weight.shape()[2 + i];
    if (sizes[i] < 1 || window_size < 1)
      throw ShapeError(fmt::format("{}: x {} and weight {} have no elements on axis {}", what,
                                   str(x.shape()), str(weight.shape()), 2 + i));
    if (padding[i] < 0 || more[i] < 0 || more[i] >= std::max(stride[i], dilation[i]))
      throw ShapeError(fmt::format(
          "{}: padding {} and output_padding {} must not be negative, and output_padding less than "
          "stride {} or dilation {}",
          what, padding[i], more[i], stride[i], dilation[i]));
    const std::int64_t before = reach_of(window_size, dilation[i]) - 1 - padding[i],
                       all = checked_add(checked_mul(sizes[i] - 1, stride[i]), 1);
    // Of the result: as many as windows of this reach fit.
    const std::int64_t result = checked_add(all, checked_add(before, more[i] - padding[i]));
    if (result < 1)
      throw ShapeError(
          fmt::format("{}: axis {} of the result has {} elements; padding {} is too "
                      "large",
                      what, 2 + i, result, padding[i]));
    around.emplace_back(before, before + more[i]);
    spaced = spread(spaced, stride[i], spatial - static_cast<int>(i));
    real = spread(real, stride[i], spatial - static_cast<int>(i));
  }
  // As the weight of a convolution: (out, in / groups, windows...), flipped.
  Sizes split{groups, in / groups, part}, joined{out, in / groups};
  std::vector<int> order{0, 2, 1};
  for (std::size_t i = 0; i < axes; ++i) {
    split.push_back(weight.shape()[2 + i]);
    joined.push_back(weight.shape()[2 + i]);
    order.push_back(static_cast<int>(3 + i));
  }
  const Array flipped =
      flip(weight.reshape(split).permute(order).reshape(joined), last_axes(spatial));
  return convolved(pad_or_crop(spaced, around), pad_or_crop(real, around), flipped, bias,
                   {{1}, {0}, dilation}, groups, spatial, way);
}

Array avg_pool(const Array& x, const Sizes& size, const Window& window, int spatial,
               const Divisor& divisor, const Way& way) {
  if (is_narrow(x, way))
    return narrowed(avg_pool(wide(x), size, window, spatial, divisor, way), x.dtype());
  require_float(x, "avg_pool");
  const Pool pool(x, size, window, spatial, "avg_pool");
  const Axes inner = last_axes(spatial);
  const Array one = Array::number("1");
  const Array seen = pool.windows_of(x.pad(behind(x, pool.padding)));
  if (divisor.fixed < 0)
    throw ShapeError(fmt::format("avg_pool: divisor_override {} is negative", divisor.fixed));
  const bool all_alike = divisor.with_padding ? !pool.is_clipped : !pool.pads();
  if (divisor.fixed == 0 && all_alike) return mean(seen, inner, false, way);
  Array count = Array::number(std::to_string(divisor.fixed)).cast(x.dtype());
  if (divisor.fixed == 0) {
    // Of the elements that count, by window.
    if (!divisor.with_padding) pool.require_half("avg_pool");
    Sizes counted(x.shape().end() - spatial, x.shape().end());
    Pairs around = pool.padding;
    for (std::size_t i = 0; i < counted.size() && divisor.with_padding; ++i) {
      counted[i] += 2 * around[i].first;
      around[i] = {0, around[i].second - around[i].first};
    }
    const Array ones = one.cast(x.dtype()).expand(counted).pad(around);
    count = sum(pool.windows_of(ones), inner);
  }
  if (way.running) {
    const Sizes all(static_cast<std::size_t>(spatial), 1);
    Sizes column = count.shape();
    if (!column.empty()) column.insert(column.end(), all.begin(), all.end());
    return sum(seen * (one / count.reshape(column)), inner);
  }
  return way.reciprocal ? sum(seen, inner) * (one / count) : sum(seen, inner) / count;
}

Array lp_pool(const Array& x, double p, const Sizes& size, const Window& window, int spatial) {
  if (is_narrow(x)) return narrowed(lp_pool(wide(x), p, size, window, spatial), x.dtype());
  require_float(x, "lp_pool");
  if (!(p > 0 && std::isfinite(p)))
    throw ShapeError(
        fmt::format("lp_pool: p = {} is not positive and finite; of p = inf write "
                    "max_pool of abs(x)",
                    p));
  const Pool pool(x, size, window, spatial, "lp_pool");
  const Array seen = pool.windows_of(x.pad(behind(x, pool.padding))), power(p), root(1 / p);
  const auto raised = [](const Array& a, const Array& b) {
    return Array::call(NamedFunction::Pow, {a, b});
  };
  if (p == 1) return sum(abs(seen), last_axes(spatial));
  if (p == 2) return Array::apply(Op::Sqrt, {sum(seen * seen, last_axes(spatial))});
  return raised(sum(raised(abs(seen), power), last_axes(spatial)), root);
}

Array local_response_norm(const Array& x, std::int64_t size, const Array& alpha, const Array& beta,
                          const Array& k) {
  if (is_narrow(x)) return narrowed(local_response_norm(wide(x), size, alpha, beta, k), x.dtype());
  require_float(x, "local_response_norm");
  require_rank(x, 2, "local_response_norm", "x");
  require_positive({size}, "local_response_norm: size");
  if (x.size(1) == 0) return x;
  Pairs around(x.shape().size());
  around.back() = {size / 2, (size - 1) / 2};  // after the transpose
  const Array squares = transpose(x * x, 1, -1).pad(around);
  const Array means = transpose(mean(windows(squares, {size}, {1}, {1}), {-1}), 1, -1);
  return x / Array::call(NamedFunction::Pow, {k + alpha * means, beta});
}

Array max_pool(const Array& x, const Sizes& size, const Window& window, int spatial) {
  require_float(x, "max_pool");
  const Pool pool(x, size, window, spatial, "max_pool");
  return max(pool.windows_of(pool.padded(x, Array::number("-inf"))), last_axes(spatial));
}

Array max_pool_index(const Array& x, const Sizes& size, const Window& window, int spatial) {
  require_float(x, "max_pool_index");
  const Pool pool(x, size, window, spatial, "max_pool_index");
  pool.require_half("max_pool_index");
  const auto axes = static_cast<std::size_t>(spatial);
  const Axes inner = last_axes(spatial);
  const Array seen = pool.windows_of(pool.padded(x, Array::number("-inf")));
  const Sizes plane(x.shape().end() - spatial, x.shape().end());
  const Array real = pool.windows_of(Array::constant(Scalar::of(true), plane).pad(pool.padding));
  // The flat index of each element: (outer..., windows...).
  Array place = Array::number("0").cast(DType::Int64);
  for (std::size_t i = 0; i < axes; ++i) {
    Sizes outer(2 * axes, 1), within = outer;
    outer[i] = pool.counts[i];
    within[axes + i] = pool.size[i];
    place = place * count(plane[i]) +
            arange(pool.counts[i], DType::Int64).reshape(outer) * count(pool.stride[i]) +
            arange(pool.size[i], DType::Int64).reshape(within) * count(pool.dilation[i]) -
            count(pool.padding[i].first);
  }
  place = computed_once(place);
  const Array none = Array::number("-1"),
              beyond = Array::number(std::to_string(-product_of(plane)));
  const Array last_nan = max(where(equal(seen, seen), none, place), inner);
  const Array is_largest = equal(seen, max(seen, inner, true));
  const Array first = -max(where(real, where(is_largest, -place, beyond), beyond), inner);
  return where(less(last_nan, Array::number("0")), first, last_nan);
}

Array unfold(const Array& x, const Sizes& size, const Window& window) {
  if (x.rank() != 4)
    throw ShapeError(
        fmt::format("unfold: shape {} is not (n, channels, rows, columns)", str(x.shape())));
  const Pool pool(x, size, window, 2, "unfold");
  const Array all = pool.windows_of(x.pad(behind(x, pool.padding)));
  const Sizes& s = all.shape();
  return all.permute({0, 1, 4, 5, 2, 3})
      .reshape({s[0], checked_mul(s[1], checked_mul(s[4], s[5])), checked_mul(s[2], s[3])});
}

Array fold(const Array& x, const Sizes& output, const Sizes& size, const Window& window) {
  if (is_narrow(x)) return narrowed(fold(wide(x), output, size, window), x.dtype());
  const Sizes wanted = for_each_axis(output, 2, "output_size");
  require_positive(wanted, "output_size");
  const Pool pool(Array::constant(Scalar::of(true), wanted), size, window, 2, "fold");
  const std::int64_t within = checked_mul(pool.size[0], pool.size[1]),
                     outer = checked_mul(pool.counts[0], pool.counts[1]);
  if (x.rank() != 3 || x.size(1) % within != 0 || x.size(2) != outer)
    throw ShapeError(
        fmt::format("fold: {} is not (n, channels * {}, {}), for {} windows of {} "
                    "elements",
                    str(x.shape()), within, outer, outer, within));
  // Windows far apart, then all that reach an element on the axes of the window: element (k, p) of
  // an axis is element p + padding - k * dilation of row k.
  Array rows = x.reshape({x.size(0), x.size(1) / within, pool.size[0], pool.size[1], pool.counts[0],
                          pool.counts[1]})
                   .permute({0, 1, 2, 4, 3, 5});
  Sizes shape{rows.size(0), rows.size(1)}, strides;
  std::int64_t offset = 0, unit = 1;
  Pairs around{{0, 0}, {0, 0}};
  for (const int i : {0, 1}) {
    const auto at = static_cast<std::size_t>(i);
    rows = spread(rows, pool.stride[at], i == 0 ? 3 : 1);
    const std::int64_t shift = reach_of(pool.size[at], pool.dilation[at]) - 1,
                       before = std::max<std::int64_t>(shift - pool.padding[at].first, 0),
                       length = before + wanted[at] + pool.padding[at].first;
    around.emplace_back(0, 0);
    around.emplace_back(before, length - before - rows.size(i == 0 ? 3 : 5));
    shape.push_back(pool.size[at]);
    shape.push_back(wanted[at]);
  }
  rows = pad_or_crop(rows, around);
  for (const int i : {1, 0}) {
    const auto at = static_cast<std::size_t>(i);
    const std::int64_t length = rows.size(i == 0 ? 3 : 5);
    offset += unit * (around[3 + 2 * at].first + pool.padding[at].first);
    strides.insert(strides.begin(), {unit * (length - pool.dilation[at]), unit});
    unit = checked_mul(unit, checked_mul(length, pool.size[at]));
  }
  strides.insert(strides.begin(), {checked_mul(unit, rows.size(1)), unit});
  return sum(rows.as_strided(shape, strides, offset), {2, 4});
}

}  // namespace touchstone::define
