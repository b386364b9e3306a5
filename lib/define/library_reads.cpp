// Windows, masks and indexing: mostly movement.
#include <algorithm>

#include "touchstone/define/library.h"

namespace touchstone::define {
namespace {

// One entry per axis; a single entry stands for all.
Sizes for_each_axis(const Sizes& values, std::size_t axes, std::string_view what) {
  if (values.size() == 1) return Sizes(axes, values[0]);
  if (values.size() != axes)
    throw ShapeError(fmt::format("{} has {} entries for {} axes", what, values.size(), axes));
  return values;
}

void require_positive(const Sizes& values, std::string_view what) {
  for (const std::int64_t v : values)
    if (v < 1) throw ShapeError(fmt::format("{} {} must be positive", what, v));
}

Pairs padding_of(const Array& x, const Sizes& padding) {
  Pairs pairs(x.shape().size());
  for (std::size_t i = 0; i < padding.size(); ++i)
    pairs[pairs.size() - padding.size() + i] = {padding[i], padding[i]};
  return pairs;
}

void require_spatial(const Array& x, int spatial, int before, std::string_view what) {
  if (x.rank() < spatial + before)
    throw ShapeError(
        fmt::format("{}: shape {} has fewer than {} axes", what, str(x.shape()), spatial + before));
}

Axes last_axes(int count) {
  Axes axes;
  for (int i = -count; i < 0; ++i) axes.push_back(i);
  return axes;
}

void require_integers(const Array& index, std::string_view what) {
  if (!is_integer(index.dtype()))
    throw DTypeError(
        fmt::format("{}: positions must be integers, not {}", what, name(index.dtype())));
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
    const std::int64_t reach = checked_add(checked_mul(gaps[i], size[i] - 1), 1);
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

namespace {

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
  if (way.rearranged == Rearranged::Fourier && spatial == 1) return fourier(padded, weight, groups);
  if (way.rearranged == Rearranged::Fourier || !all(kernel, 3)) return std::nullopt;
  return winograd(padded, weight, groups, spatial,
                  way.rearranged == Rearranged::WinogradTwo ? 2 : 4);
}

}  // namespace

Array conv(const Array& x, const Array& weight, const std::optional<Array>& bias,
           const Window& window, std::int64_t groups, int spatial, const Way& way) {
  if (is_narrow(x, way) && is_narrow(weight, way) && (!bias || is_narrow(*bias, way)))
    return way.narrow_product && bias
               ? conv(x, weight, {}, window, groups, spatial) + along_channels(*bias, spatial)
               : narrowed(conv(wide(x), wide(weight), wide(bias), window, groups, spatial, way),
                          promote(x.dtype(), weight.dtype()));
  const auto axes = static_cast<std::size_t>(spatial);
  if (x.rank() != spatial + 2 || weight.rank() != spatial + 2)
    throw ShapeError(fmt::format("conv{}d: x {} and weight {} must have {} axes", spatial,
                                 str(x.shape()), str(weight.shape()), spatial + 2));
  const std::int64_t in = x.size(1), out = weight.size(0), part = weight.size(1);
  if (groups < 1 || out % groups != 0 || in % groups != 0 || part != in / groups)
    throw ShapeError(fmt::format(
        "conv{}d: {} input channels, {} output channels and {} in the weight do not fit {} groups",
        spatial, in, out, part, groups));
  const Sizes kernel(weight.shape().begin() + 2, weight.shape().end());
  const Sizes padding = for_each_axis(window.padding, axes, "padding");
  const Array padded = x.pad(padding_of(x, padding));
  const Array seen = windows(padded, kernel, window.stride, window.dilation);
  if (const auto fast = rearranged(padded, weight, window, groups, spatial, way))
    return bias ? *fast + along_channels(*bias, spatial) : *fast;
  // (batch, groups, out / groups, outer..., in / groups, windows...)
  Sizes left{x.size(0), groups, 1, part}, right{groups, out / groups, part};
  left.insert(left.end(), seen.shape().begin() + 2, seen.shape().end());
  std::vector<int> order{0, 1, 2};
  for (int i = 0; i < spatial; ++i) order.push_back(4 + i);
  order.push_back(3);
  for (int i = 0; i < spatial; ++i) order.push_back(4 + spatial + i);
  right = {groups, out / groups};
  right.insert(right.end(), axes, 1);
  right.insert(right.end(), weight.shape().begin() + 1, weight.shape().end());
  const Array terms = seen.reshape(left).permute(order), weights = weight.reshape(right);
  Array sums = terms;  // (batch, groups, out / groups, outer...)
  if (bias && way.bias_first) {
    const auto in_rows = [&](const Array& x) {
      Sizes shape(x.shape().begin(), x.shape().end() - spatial - 1);
      shape.push_back(-1);
      return x.reshape(shape);
    };
    const Array rows = in_rows(weights);
    Sizes first = rows.shape();
    first.back() = 1;
    sums = sum(with_one(in_rows(terms)) * concat(bias->reshape(first), rows, rows.rank() - 1),
               last_axes(1));
  } else {
    sums = sum(terms * weights, last_axes(spatial + 1));
  }
  Sizes shape{x.size(0), out};
  shape.insert(shape.end(), sums.shape().begin() + 3, sums.shape().end());
  const Array y = sums.reshape(shape);
  if (!bias || way.bias_first) return y;
  return y + along_channels(*bias, spatial);
}

Array avg_pool(const Array& x, const Sizes& size, const Window& window, int spatial,
               const Way& way) {
  const auto axes = static_cast<std::size_t>(spatial);
  require_spatial(x, spatial, 0, "avg_pool");
  const Sizes kernel = for_each_axis(size, axes, "size");
  const Sizes padding = for_each_axis(window.padding, axes, "padding");
  return mean(windows(x.pad(padding_of(x, padding)), kernel, window.stride, window.dilation),
              last_axes(spatial), false, way);
}

Array max_pool(const Array& x, const Sizes& size, const Window& window, int spatial) {
  const auto axes = static_cast<std::size_t>(spatial);
  require_spatial(x, spatial, 0, "max_pool");
  const Sizes kernel = for_each_axis(size, axes, "size");
  const Sizes padding = for_each_axis(window.padding, axes, "padding");
  if (!is_float(x.dtype())) throw DTypeError("max_pool takes floats; cast the operand first");
  const Array padded = pad_with(x, padding_of(x, padding), Array::number("-inf"));
  return max(windows(padded, kernel, window.stride, window.dilation), last_axes(spatial));
}

// Element (row, column) is element column - row + rows - 1 of a run of zeros followed by ones.
Array upper_triangle(std::int64_t rows, std::int64_t columns, std::int64_t diagonal) {
  if (rows == 0 || columns == 0) return Array::constant(Scalar::of(true), {rows, columns});
  const std::int64_t length = checked_add(rows, columns - 1);
  const std::int64_t zeros = std::clamp<std::int64_t>(checked_add(diagonal, rows - 1), 0, length);
  return Array::constant(Scalar::of(true), {length - zeros})
      .pad({{zeros, 0}})
      .as_strided({rows, columns}, {-1, 1}, rows - 1);
}

Array arange(std::int64_t size, DType dtype) {
  if (size < 0) throw ShapeError(fmt::format("arange: {} is negative", size));
  const Array before = transpose(upper_triangle(size, size, 1));  // column < row
  return sum(before.cast(dtype), {1});
}

Array tril(const Array& x, std::int64_t diagonal) {
  return where(upper_triangle(x.size(-2), x.size(-1), checked_add(diagonal, 1)), Array::number("0"),
               x);
}
Array triu(const Array& x, std::int64_t diagonal) {
  return where(upper_triangle(x.size(-2), x.size(-1), diagonal), x, Array::number("0"));
}

Array one_hot(const Array& index, std::int64_t classes, DType dtype) {
  require_integers(index, "one_hot");
  Sizes shape = index.shape();
  shape.push_back(1);
  return equal(index.reshape(shape), arange(classes).cast(index.dtype())).cast(dtype);
}

Array gather(const Array& table, const Array& index, Outside outside) {
  require_integers(index, "gather");
  if (table.rank() != 2)
    throw ShapeError(fmt::format("gather: the table {} must be (rows, size)", str(table.shape())));
  if (table.is_input()) return table.rows(index, outside == Outside::Error);
  if (outside == Outside::Error)
    throw ShapeError("gather: checked positions need a table that is an input; store this one");
  Sizes shape = index.shape();
  shape.insert(shape.end(), {table.size(0), 1});
  const Array chosen = one_hot(index, table.size(0), DType::Bool).reshape(shape);
  return sum(where(chosen, table, Array::number("0")), {-2});
}

Array pad_with(const Array& x, const Pairs& before_after, const Array& value) {
  const Array padded = x.pad(before_after);
  if (padded.shape() == x.shape()) return x;
  return where(Array::constant(Scalar::of(true), x.shape()).pad(before_after), padded, value);
}

Array with_one(const Array& x) {
  Pairs before(x.shape().size());
  before.back() = {1, 0};
  return pad_with(x, before, Array::number("1"));
}

Array concat(const Array& a, const Array& b, int axis) {
  const auto at = static_cast<std::size_t>(axis_of(a, axis));
  Sizes sides = b.shape();
  if (sides.size() == a.shape().size()) sides[at] = a.shape()[at];
  if (sides != a.shape())
    throw ShapeError(fmt::format("concat: {} and {} differ on an axis other than {}",
                                 str(a.shape()), str(b.shape()), at));
  Pairs behind(sides.size()), before(sides.size());
  behind[at].second = b.shape()[at];
  before[at].first = a.shape()[at];
  const Array first = Array::constant(Scalar::of(true), a.shape()).pad(behind);
  return where(first, a.pad(behind), b.pad(before));
}

Array flip(const Array& x, const Axes& axes) {
  Sizes steps(x.shape().size(), 1);
  for (const int axis : axes) steps[static_cast<std::size_t>(axis_of(x, axis))] = -1;
  return x.stride(steps);
}

Array roll(const Array& x, std::int64_t shift, int axis) {
  const auto at = static_cast<std::size_t>(axis_of(x, axis));
  const std::int64_t n = x.shape()[at], by = n == 0 ? 0 : floor_mod(shift, n);
  if (by == 0) return x;
  Pairs last, first;
  for (const std::int64_t size : x.shape()) last.emplace_back(0, size);
  first = last;
  last[at].first = n - by;
  first[at].second = n - by;
  return concat(x.shrink(last), x.shrink(first), static_cast<int>(at));
}

Array transpose(const Array& x, int a, int b) {
  std::vector<int> order = all_axes(x);
  std::swap(order[static_cast<std::size_t>(axis_of(x, a))],
            order[static_cast<std::size_t>(axis_of(x, b))]);
  return x.permute(order);
}

Array diagonal(const Array& x) {
  if (x.rank() != 2)
    throw ShapeError(fmt::format("diagonal: shape {} is not a matrix", str(x.shape())));
  const std::int64_t n = std::min(x.size(0), x.size(1));
  return x.as_strided({n}, {checked_add(x.size(1), 1)}, 0);
}

Array repeat(const Array& x, std::int64_t times, int axis) {
  const auto at = static_cast<std::size_t>(axis_of(x, axis));
  if (times < 0) throw ShapeError(fmt::format("repeat: {} times", times));
  Sizes split = x.shape(), spread, joined = x.shape();
  split.insert(split.begin() + static_cast<std::ptrdiff_t>(at) + 1, 1);
  spread = split;
  spread[at + 1] = times;
  joined[at] = checked_mul(joined[at], times);
  return x.reshape(split).expand(spread).reshape(joined);
}

}  // namespace touchstone::define
