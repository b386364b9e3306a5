// Elements moved by sizes or by positions; order of values in a table.
#include <algorithm>

#include "touchstone/base/error.h"
#include "touchstone/define/parts.h"

namespace touchstone::define {
namespace {

Array cut(const Array& x, std::size_t axis, std::int64_t begin, std::int64_t end) {
  Pairs keep = whole_ranges(x.shape());
  keep[axis] = {begin, end};
  return x.shrink(keep);
}

// Of an axis of n elements: which of them each element of the padded one is.
Array padded_places(std::int64_t n, std::int64_t before, std::int64_t length, PadMode mode) {
  const auto whole = [](std::int64_t v) { return count(v).cast(DType::Int64); };
  const Array at = arange(length, DType::Int64) - whole(before);
  if (mode == PadMode::Edge || n == 1) return minimum(maximum(at, whole(0)), whole(n - 1));
  if (mode == PadMode::Wrap) return remainder(at, whole(n));
  const std::int64_t skip = mode == PadMode::Reflect ? 1 : 0;
  const Array within = remainder(at, whole(2 * n - 2 * skip));
  return minimum(within, whole(2 * n - 1 - skip) - within);
}

}  // namespace

Array pad_by(const Array& x, const Pairs& before_after, PadMode mode) {
  Array y = x, place = count(0).cast(DType::Int64);
  Sizes shape = x.shape();
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    const auto [before, after] = before_after[axis];
    const std::int64_t n = shape[axis];
    shape[axis] = checked_add(n, checked_add(before, after));
    if (n == 0 && shape[axis] > 0)
      throw ShapeError(fmt::format("pad: axis {} of {} is empty", axis, str(x.shape())));
    const Array places = padded_places(n, before, shape[axis], mode);
    Sizes along(shape.size() - axis, 1);
    along[0] = shape[axis];
    place = place * count(n) + places.reshape(along);
    if (!x.is_input() && shape[axis] > n) y = index_select(y, places, static_cast<int>(axis));
  }
  if (!x.is_input()) return y;
  return gather(x.reshape({-1, 1}), computed_once(place.expand(shape))).reshape(shape);
}

Array center_crop_pad(const Array& x, const Sizes& sizes) {
  if (sizes.size() > x.shape().size())
    throw ShapeError(fmt::format("center_crop_pad: {} sizes for {} axes", sizes.size(), x.rank()));
  Pairs keep = whole_ranges(x.shape()), padding(keep.size());
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const std::size_t at = keep.size() - sizes.size() + i;
    const std::int64_t n = x.shape()[at], wanted = sizes[i], both = std::min(n, wanted);
    if (wanted < 0) throw ShapeError(fmt::format("center_crop_pad: a size of {}", wanted));
    keep[at] = {(n - both) / 2, (n - both) / 2 + both};
    padding[at] = {(wanted - both) / 2, wanted - both - (wanted - both) / 2};
  }
  return x.shrink(keep).pad(padding);
}

Array depth_to_space(const Array& x, std::int64_t block, bool channel_first, bool inverse) {
  const std::string_view what = inverse ? "space_to_depth" : "depth_to_space";
  const std::int64_t square = block > 0 && block < (1 << 15) ? block * block : 0;
  if (x.rank() < 3 || square == 0 ||
      (inverse ? x.size(-1) % block != 0 || x.size(-2) % block != 0 : x.size(-3) % square != 0))
    throw ShapeError(
        fmt::format("{}: {} must be (.., channels, rows, columns), {} divisible by {}", what,
                    str(x.shape()), inverse ? "rows and columns" : "channels",
                    inverse ? fmt::to_string(block) : fmt::format("{} * {}", block, block)));
  const Sizes lead(x.shape().begin(), x.shape().end() - 3);
  const int first = static_cast<int>(lead.size());
  const std::int64_t c = x.size(-3), h = x.size(-2), w = x.size(-1);
  Sizes split = lead, joined = lead;
  std::vector<int> order(lead.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int>(i);
  const auto add = [&](const Sizes& parts, std::initializer_list<int> moved, const Sizes& whole) {
    split.insert(split.end(), parts.begin(), parts.end());
    for (const int axis : moved) order.push_back(first + axis);
    joined.insert(joined.end(), whole.begin(), whole.end());
  };
  if (inverse && channel_first)
    add({c, h / block, block, w / block, block}, {0, 2, 4, 1, 3},
        {c * square, h / block, w / block});
  else if (inverse)
    add({c, h / block, block, w / block, block}, {2, 4, 0, 1, 3},
        {c * square, h / block, w / block});
  else if (channel_first)
    add({c / square, block, block, h, w}, {0, 3, 1, 4, 2}, {c / square, h * block, w * block});
  else
    add({block, block, c / square, h, w}, {2, 3, 0, 4, 1}, {c / square, h * block, w * block});
  return x.reshape(split).permute(order).reshape(joined);
}

Array tile(const Array& x, const Sizes& times) {
  const std::size_t rank = std::max(times.size(), x.shape().size());
  Sizes shape(rank - x.shape().size(), 1), split, spread, joined;
  shape.insert(shape.end(), x.shape().begin(), x.shape().end());
  for (std::size_t i = 0; i < rank; ++i) {
    const std::size_t missing = rank - times.size();
    const std::int64_t n = i < missing ? 1 : times[i - missing];
    if (n < 0) throw ShapeError(fmt::format("tile: {} times", n));
    split.insert(split.end(), {1, shape[i]});
    spread.insert(spread.end(), {n, shape[i]});
    joined.push_back(checked_mul(n, shape[i]));
  }
  return x.reshape(split).expand(spread).reshape(joined);
}

Array diff(const Array& x, int axis) {
  const auto at = static_cast<std::size_t>(axis_of(x, axis));
  const std::int64_t n = x.shape()[at];
  if (n == 0) return x;
  const Array later = cut(x, at, 1, n), earlier = cut(x, at, 0, n - 1);
  return is_bool(x.dtype()) ? Array::apply(Op::Xor, {later, earlier}) : later - earlier;
}

Array hardmax(const Array& x, int axis) {
  const int at = axis_of(x, axis);
  if (x.size(at) == 0) return x;
  Sizes along(x.shape().size(), 1);
  along[static_cast<std::size_t>(at)] = x.size(at);
  return equal(argmax(x, {at}, true), arange(x.size(at), DType::Int64).reshape(along))
      .cast(x.dtype());
}

Array reverse_sequence(const Array& x, const Array& lengths, int time_axis, int batch_axis) {
  const int time = axis_of(x, time_axis), batch = axis_of(x, batch_axis);
  if (time == batch || lengths.shape() != Sizes{x.size(batch)} || !is_integer(lengths.dtype()))
    throw ShapeError(
        fmt::format("reverse_sequence: lengths {} of {} for time axis {} and batch axis {} of {}; "
                    "expected one integer for each place on another axis",
                    str(lengths.shape()), name(lengths.dtype()), time, batch, str(x.shape())));
  Sizes of_time(x.shape().size(), 1), of_batch = of_time;
  of_time[static_cast<std::size_t>(time)] = x.size(time);
  of_batch[static_cast<std::size_t>(batch)] = x.size(batch);
  const Array t = arange(x.size(time), DType::Int64).reshape(of_time),
              n = lengths.cast(DType::Int64).reshape(of_batch);
  return take_along(x, where(less(t, n), n - t - count(1), t).expand(x.shape()), time);
}

Array searchsorted(const Array& sorted, const Array& x, bool right) {
  if (sorted.rank() != 1)
    throw ShapeError(fmt::format("searchsorted: {} must have one axis", str(sorted.shape())));
  const Array value = with_axis(x, x.rank());
  const auto below = [](const Array& a, const Array& b) {  // NaN is above all numbers
    return is_float(b.dtype()) ? maximum(less(a, b), -equal(b, b) * equal(a, a)) : less(a, b);
  };
  return count_nonzero(right ? -below(value, sorted) : below(sorted, value), {-1});
}

}  // namespace touchstone::define
