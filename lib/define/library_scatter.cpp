// Elements chosen, written and summed by position.
#include <algorithm>
#include <cmath>

#include "touchstone/base/error.h"
#include "touchstone/define/library.h"
#include "touchstone/define/parts.h"

namespace touchstone::define {
namespace {

Array true_of_one() { return Array::constant(Scalar::of(true)); }
Array zero_of(DType dtype) { return Array::constant(Scalar::from_int(dtype, 0)); }

// The ends of a type's range; of floats the infinities, if it has them.
std::uint64_t least_bits(DType dtype) {
  return is_integer(dtype) && !is_unsigned(dtype) ? std::uint64_t{1} << (8 * itemsize(dtype) - 1)
                                                  : 0;
}
Array least_number(DType dtype) {
  return Array::constant(is_float(dtype) ? Scalar::parse(dtype, "-inf")
                                         : Scalar::from_bits(dtype, least_bits(dtype)));
}

// Positions of an axis of n elements as int64; negative ones count from the end if `wraps`.
Array position_of(const Array& index, std::int64_t n, std::string_view what, bool wraps = true) {
  if (index.is_number() || !is_integer(index.dtype()))
    throw DTypeError(fmt::format("{}: positions must be integers, not {}; cast the index", what,
                                 name(index.dtype())));
  const Array at = index.cast(DType::Int64);
  if (!wraps || is_unsigned(index.dtype())) return at;
  return where(less(at, zero_of(DType::Int64)), at + count(n), at);
}

Array axis_first(const Array& x, int axis) {
  std::vector<int> order = all_axes(x);
  std::rotate(order.begin(), order.begin() + axis, order.begin() + axis + 1);
  return x.permute(order);
}
Array axis_back(const Array& x, int axis) {
  std::vector<int> order = all_axes(x);
  std::rotate(order.begin(), order.begin() + 1, order.begin() + axis + 1);
  return x.permute(order);
}
// A vector beside arrays with `axes` more axes.
Array column(const Array& x, int axes) {
  Sizes shape(static_cast<std::size_t>(axes) + 1, 1);
  shape[0] = -1;
  return x.reshape(shape);
}

// Element (i, r...) is x[at[i, r...], r...], or 0 outside x. x: (n, r...), at: (m, r...) or
// (m, 1...). Of an input these are loads: of every row r, the load along r is on a diagonal.
Array picked(const Array& x, const Array& at) {
  const Sizes rest(x.shape().begin() + 1, x.shape().end());
  Sizes shape = x.shape();
  shape[0] = at.size(0);
  if (x.is_input()) {
    if (std::ranges::all_of(at.shape().begin() + 1, at.shape().end(),
                            [](std::int64_t size) { return size == 1; }))
      return x.rows(at.reshape({at.size(0)}), false);
    const Array all = x.rows(at.expand(shape), false);  // (m, r..., r...)
    Sizes strides(shape.size());
    std::int64_t next = 1;
    for (std::size_t i = all.shape().size(); i-- > 0;) {
      std::int64_t& stride = strides[i < shape.size() ? i : i - rest.size()];
      stride = checked_add(stride, next);
      next = checked_mul(next, std::max<std::int64_t>(all.shape()[i], 1));
    }
    return all.as_strided(shape, strides, 0);
  }
  const std::int64_t n = x.size(0);
  const Array terms = where(equal(with_axis(at, 1), column(arange(n, DType::Int64), x.rank() - 1)),
                            with_axis(x, 0), least_number(x.dtype()));
  const Array inside = less(Array::number("-1"), at) * less(at, count(n));
  return where(inside, max(terms, {1}), zero_of(x.dtype()));
}

void require_same_type(const Array& x, const Array& updates, std::string_view what) {
  if (!updates.is_number() && updates.dtype() != x.dtype())
    throw DTypeError(fmt::format("{}: x is {} and the updates are {}; cast one of them", what,
                                 name(x.dtype()), name(updates.dtype())));
}

// Each x[t, r...] with the updates at t. x: (n, r...), at: (m, r...) or (m, 1...), updates:
// (m, r...).
Array combined(const Array& x, const Array& at, const Array& updates, Combine by) {
  if (by == Combine::Min)
    return reversed(combined(reversed(x), at, reversed(updates), Combine::Max));
  const std::int64_t n = x.size(0), m = at.size(0);
  const Array targets = column(arange(n, DType::Int64), x.rank());
  if (by == Combine::Last) {
    const Array number = column(arange(m, DType::Int64), x.rank() - 1) + Array::number("1");
    const Array none = zero_of(DType::Int64);
    const Array last =
        max(where(equal(with_axis(at, 0), targets), with_axis(number, 0), none), {1});
    return where(less(none, last), picked(updates, last - Array::number("1")), x);
  }
  if (by == Combine::Multiply && is_float(x.dtype())) {
    if (is_narrow(x)) return narrowed(combined(wide(x), at, wide(updates), by), x.dtype());
    Pairs of_x = whole_ranges(x.shape()), rest = of_x;
    of_x[0] = {0, n};
    rest[0] = {n, n + m};
    const auto total = [&](const Array& v) {
      return combined(v.shrink(of_x), at, v.shrink(rest), Combine::Add);
    };
    const Array ones = count(1).cast(DType::Float64), zero = zero_of(DType::Float64);
    const Array steps = computed_once(
        combined(zero.expand(x.shape()), at, ones.expand(updates.shape()), Combine::Add));
    return where(equal(steps, zero), x, product(concat(x, updates, 0), steps, total));
  }
  // The first term is x itself.
  const auto behind_x = [](const Array& values) {
    Pairs before(values.shape().size());
    before[0] = {1, 0};
    return with_axis(values.pad(before), 0);
  };
  const Array none = by == Combine::Max        ? least_number(x.dtype())
                     : by == Combine::Multiply ? Array::constant(Scalar::from_int(x.dtype(), 1))
                     : is_float(x.dtype())     ? Array::constant(Scalar::parse(x.dtype(), "-0"))
                                               : zero_of(x.dtype());
  const Array hit = equal(behind_x(at), targets);
  const Array is_x = column(true_of_one().reshape({1}).pad({{0, m}}), x.rank() - 1);
  const Array terms = where(is_x, with_axis(x, 1), where(hit, behind_x(updates), none));
  if (by == Combine::Multiply)
    return product_of_integers(terms, 1, "scatter of integers").reshape(x.shape());
  return by == Combine::Add ? sum(terms, {1}) : max(terms, {1});
}

// Rows of x along its first axis; at: (m), updates: (m, rest of x).
Array rows_combined(const Array& x, const Array& at, const Array& updates, Combine by,
                    std::string_view what) {
  Sizes shape = x.shape();
  shape[0] = at.size(0);
  require_same_type(x, updates, what);
  if (!updates.is_number() && updates.shape() != shape)
    throw ShapeError(fmt::format("{}: the updates are {}; {} positions in {} take {}", what,
                                 str(updates.shape()), at.size(0), str(x.shape()), str(shape)));
  return combined(x, column(at, x.rank() - 1), updates.cast(x.dtype()).expand(shape), by);
}

void require_vector(const Array& index, std::string_view what) {
  if (index.rank() != 1)
    throw ShapeError(
        fmt::format("{}: the index {} must have one axis; reshape it", what, str(index.shape())));
}

}  // namespace

Array take_along(const Array& x, const Array& index, int axis) {
  const int at = axis_of(x, axis);
  Pairs keep;
  Sizes spread = x.shape();
  for (std::size_t i = 0; i < x.shape().size(); ++i) {
    const std::int64_t has = x.shape()[i];
    const std::int64_t wants = i < index.shape().size() ? index.shape()[i] : 0;
    const bool along = static_cast<int>(i) == at;
    if (index.rank() != x.rank() || (!along && wants > has && has != 1))
      throw ShapeError(fmt::format(
          "take_along: the index {} and x {} must have the same sizes except on axis {}",
          str(index.shape()), str(x.shape()), at));
    if (!along && wants == 1 && has > 1)
      throw ShapeError(fmt::format(
          "take_along: the index {} has size 1 on axis {}, and x {} size {}; expand the index, as "
          "NumPy does, or slice x, as PyTorch does",
          str(index.shape()), i, str(x.shape()), has));
    keep.emplace_back(0, along ? has : std::min(has, wants));
    if (!along) spread[i] = wants;
  }
  const Array seen = x.shrink(keep).expand(spread);
  const Array place = position_of(index, x.size(at), "take_along");
  return axis_back(picked(axis_first(seen, at), axis_first(place, at)), at);
}

Array index_select(const Array& x, const Array& index, int axis) {
  const int at = axis_of(x, axis);
  const Array first = axis_first(x, at);
  const Array place =
      position_of(index, x.size(at), "index_select").reshape({product_of(index.shape())});
  const Array rows = axis_back(picked(first, column(place, x.rank() - 1)), at);
  Sizes shape = x.shape();
  shape.erase(shape.begin() + at);
  shape.insert(shape.begin() + at, index.shape().begin(), index.shape().end());
  return rows.reshape(shape);
}

Array scatter(const Array& x, const Array& index, const Array& updates, int axis, Combine by) {
  const int along = axis_of(x, axis);
  require_same_type(x, updates, "scatter");
  Pairs keep, missing;
  for (std::size_t i = 0; i < x.shape().size(); ++i) {
    const bool same_rank =
        index.rank() == x.rank() && (updates.is_number() || updates.rank() == x.rank());
    const std::int64_t size = same_rank ? index.shape()[i] : 0;
    if (!same_rank || (static_cast<int>(i) != along && size > x.shape()[i]) ||
        (!updates.is_number() && size > updates.shape()[i]))
      throw ShapeError(
          fmt::format("scatter: the index {} must fit inside the updates {} and, except on axis "
                      "{}, inside x {}",
                      str(index.shape()), str(updates.shape()), along, str(x.shape())));
    keep.emplace_back(0, size);
    missing.emplace_back(0, static_cast<int>(i) == along ? 0 : x.shape()[i] - size);
  }
  const Array values = updates.cast(x.dtype());
  const Array used = updates.is_number() ? values.expand(index.shape()) : values.shrink(keep);
  const Array at =
      pad_with(position_of(index, x.size(along), "scatter"), missing, Array::number("-1"));
  return axis_back(combined(axis_first(x, along), axis_first(at, along),
                            axis_first(used.pad(missing), along), by),
                   along);
}

Array index_add(const Array& x, const Array& index, const Array& updates, int axis) {
  const int at = axis_of(x, axis);
  require_vector(index, "index_add");
  if (!updates.is_number() && updates.rank() != x.rank())
    throw ShapeError(fmt::format("index_add: the updates {} and x {} must have the same rank",
                                 str(updates.shape()), str(x.shape())));
  return axis_back(rows_combined(axis_first(x, at), position_of(index, x.size(at), "index_add"),
                                 updates.is_number() ? updates : axis_first(updates, at),
                                 Combine::Add, "index_add"),
                   at);
}

namespace {

// Of each row of the index: its place among the rows of the axes of x from `first` on, as a vector;
// -1 if a position is outside.
Array places_nd(const Array& x, const Array& index, std::size_t first, std::string_view what) {
  const auto axes = static_cast<std::size_t>(index.rank() == 0 ? 0 : index.size(-1));
  if (axes < 1 || first + axes > x.shape().size())
    throw ShapeError(fmt::format(
        "{}: the last axis of the index {} must have between 1 and {} entries, one for each of the "
        "first axes of x {}{}",
        what, str(index.shape()), x.rank() - static_cast<int>(first), str(x.shape()),
        first == 0 ? "" : " after batch_dims"));
  std::optional<Array> place, inside;
  for (std::size_t k = 0; k < axes; ++k) {
    const auto at_k = static_cast<std::int64_t>(k);
    Pairs part = whole_ranges(index.shape());
    part.back() = {at_k, at_k + 1};
    const std::int64_t n = x.shape()[first + k];
    const Array at = position_of(index.shrink(part), n, what).reshape({-1});
    const Array is_in = less(Array::number("-1"), at) * less(at, count(n));
    place = place ? *place * count(n) + at : at;
    inside = inside ? *inside * is_in : is_in;
  }
  return where(*inside, *place, Array::number("-1"));
}

// Positions of a slice, one for each axis of x, moved so that `size` elements fit.
std::vector<Array> begins_of(const Array& x, const Array& start, const Sizes& size,
                             std::string_view what) {
  const bool is_wide = start.dtype() == DType::UInt64;  // no position beyond an int64's is negative
  const Array begin = position_of(
      is_wide ? minimum(start, Array::number("9223372036854775807")) : start, 0, what, false);
  if (start.shape() != Sizes{x.rank()} || size.size() != x.shape().size())
    throw ShapeError(fmt::format("{}: start {} and sizes {} for the {} axes of {}", what,
                                 str(start.shape()), str(size), x.rank(), str(x.shape())));
  std::vector<Array> out;
  for (std::size_t k = 0; k < size.size(); ++k) {
    const auto at = static_cast<std::int64_t>(k);
    const std::int64_t room = x.shape()[k] - size[k];
    if (size[k] < 0 || room < 0)
      throw ShapeError(
          fmt::format("{}: {} elements of axis {} of {}", what, size[k], k, str(x.shape())));
    const Array from = begin.shrink({{at, at + 1}}).reshape({});
    out.push_back(minimum(maximum(from, zero_of(DType::Int64)), count(room)));
  }
  return out;
}
// The positions 0, 1, .. along axis k of as many axes as `size` has.
Array along(const Sizes& size, std::size_t k) {
  Sizes shape(size.size(), 1);
  shape[k] = size[k];
  return arange(size[k], DType::Int64).reshape(shape);
}

}  // namespace

Array gather_nd(const Array& x, const Array& index, std::int64_t batch_dims) {
  if (batch_dims < 0 || batch_dims >= std::min(x.rank(), index.rank()) ||
      !std::equal(x.shape().begin(), x.shape().begin() + batch_dims, index.shape().begin()))
    throw ShapeError(fmt::format("gather_nd: the first {} axes of x {} and index {} must agree",
                                 batch_dims, str(x.shape()), str(index.shape())));
  Array place = places_nd(x, index, static_cast<std::size_t>(batch_dims), "gather_nd");
  const auto axes = batch_dims + index.size(-1);
  const Sizes batch(x.shape().begin(), x.shape().begin() + batch_dims),
      rest(x.shape().begin() + axes, x.shape().end());
  Sizes out(index.shape().begin(), index.shape().end() - 1), flat = rest;
  out.insert(out.end(), rest.begin(), rest.end());
  const std::int64_t batches = product_of(batch),
                     rows = product_of({x.shape().begin() + batch_dims, x.shape().begin() + axes});
  if (batch_dims > 0) {
    const Array each = place.reshape({batches, batches == 0 ? 0 : place.size(0) / batches});
    const Array moved = each + along({batches, 1}, 0) * count(rows);
    place = where(less(each, zero_of(DType::Int64)), each, moved).reshape({-1});
  }
  flat.insert(flat.begin(), checked_mul(batches, rows));
  return picked(x.reshape(flat), column(place, static_cast<int>(rest.size()))).reshape(out);
}

Array dynamic_slice(const Array& x, const Array& start, const Sizes& size) {
  const std::vector<Array> begin = begins_of(x, start, size, "dynamic_slice");
  Array place = zero_of(DType::Int64);
  for (std::size_t k = 0; k < begin.size(); ++k)
    place = place * count(x.shape()[k]) + begin[k] + along(size, k);
  return picked(x.reshape({-1}), computed_once(place).reshape({-1})).reshape(size);
}

Array dynamic_update_slice(const Array& x, const Array& updates, const Array& start) {
  require_same_type(x, updates, "dynamic_update_slice");
  const Sizes& size = updates.shape();
  const std::vector<Array> begin = begins_of(x, start, size, "dynamic_update_slice");
  Array place = zero_of(DType::Int64), inside = true_of_one();
  for (std::size_t k = 0; k < begin.size(); ++k) {
    const Array at = along(x.shape(), k) - begin[k];
    inside = inside * less(Array::number("-1"), at) * less(at, count(size[k]));
    place = place * count(size[k]) + at;
  }
  const Array at = computed_once(where(inside, place, Array::number("-1")).expand(x.shape()));
  return where(inside, picked(updates.reshape({-1}), at.reshape({-1})).reshape(x.shape()), x);
}

Array scatter_nd(const Array& x, const Array& index, const Array& updates, Combine by) {
  const Array place = places_nd(x, index, 0, "scatter_nd");
  const std::int64_t axes = index.size(-1), positions = place.size(0),
                     rows = product_of({x.shape().begin(), x.shape().begin() + axes});
  Sizes flat(x.shape().begin() + axes, x.shape().end()), wanted = flat;
  wanted.insert(wanted.begin(), index.shape().begin(), index.shape().end() - 1);
  if (!updates.is_number() && updates.shape() != wanted)
    throw ShapeError(fmt::format("scatter_nd: the updates are {}; the index {} and x {} take {}",
                                 str(updates.shape()), str(index.shape()), str(x.shape()),
                                 str(wanted)));
  flat.insert(flat.begin(), positions);
  const Array values = updates.is_number() ? updates : updates.reshape(flat);
  flat[0] = rows;
  return rows_combined(x.reshape(flat), place, values, by, "scatter_nd").reshape(x.shape());
}

Array segments(const Array& x, const Array& index, std::int64_t count, Combine by) {
  const std::string_view what = by == Combine::Add        ? "segment_sum"
                                : by == Combine::Multiply ? "segment_prod"
                                : by == Combine::Max      ? "segment_max"
                                                          : "segment_min";
  require_vector(index, what);
  if (x.rank() == 0 || x.size(0) != index.size(0))
    throw ShapeError(fmt::format("{}: x {} must have as many rows as the index {} has positions",
                                 what, str(x.shape()), str(index.shape())));
  if (count < 0) throw ShapeError(fmt::format("{}: {} segments", what, count));
  Sizes shape = x.shape();
  shape[0] = count;
  const Array none = by == Combine::Add        ? zero_of(x.dtype())
                     : by == Combine::Multiply ? Array::constant(Scalar::from_int(x.dtype(), 1))
                     : by == Combine::Max      ? least_number(x.dtype())
                                               : reversed(least_number(x.dtype()));
  return rows_combined(none.expand(shape), position_of(index, count, what, false), x, by, what);
}

Array embedding_bag(const Array& table, const Array& index, const std::optional<Array>& weights,
                    Bag mode, const Way& way) {
  if (index.rank() != 2)
    throw ShapeError(
        fmt::format("embedding_bag: the index {} must be (bags, n)", str(index.shape())));
  if (weights && mode != Bag::Sum)
    throw ShapeError("embedding_bag: weights need mode=sum, as in PyTorch");
  if (weights && weights->shape() != index.shape())
    throw ShapeError(
        fmt::format("embedding_bag: the weights {} must have the shape of the index {}",
                    str(weights->shape()), str(index.shape())));
  const Array rows = gather(table, index);  // (bags, n, size)
  if (index.size(1) == 0 && !weights) return sum(rows, {1});
  if (mode == Bag::Max) return max(rows, {1});
  if (mode == Bag::Mean) return mean(rows, {1}, false, way);
  if (!weights) return sum(rows, {1});
  return narrowed(sum(wide(rows) * wide(with_axis(*weights, 2)), {1}), table.dtype());
}

namespace {

// Element (.., i..., p...) is y at (.., o..., p...) with o * stride + p = i, or 0. y: (.., outer,
// size) for each of the last axes, the result: (.., lengths, size).
Array spread_windows(Array y, const Sizes& size, const Sizes& stride, const Sizes& lengths) {
  const std::size_t axes = size.size(), lead = y.shape().size() - 2 * axes;
  for (std::size_t i = 0; i < axes; ++i) {
    const std::size_t at = lead + i;
    y = spaced(y, stride[i], static_cast<int>(y.shape().size() - at));
    Pairs around(y.shape().size());
    const std::int64_t total = checked_add(lengths[i], size[i] - 1), front = size[i] - 1;
    around[at] = {front, std::max<std::int64_t>(total - front - y.shape()[at], 0)};
    y = y.pad(around);
    if (y.shape()[at] > total) {
      Pairs keep = whole_ranges(y.shape());
      keep[at].second = total;
      y = y.shrink(keep);
    }
  }
  Sizes strides(y.shape().size(), 1), shape = y.shape();
  for (std::size_t i = strides.size(); i-- > 1;)
    strides[i - 1] = checked_mul(strides[i], std::max<std::int64_t>(y.shape()[i], 1));
  std::int64_t offset = 0;
  for (std::size_t i = 0; i < axes; ++i) {
    shape[lead + i] = lengths[i];
    offset = checked_add(offset, checked_mul(size[i] - 1, strides[lead + i]));
    strides[lead + axes + i] -= strides[lead + i];
  }
  return y.as_strided(shape, strides, offset);
}

}  // namespace

Array select_and_scatter(const Array& x, const Array& gradient, const Sizes& size,
                         const Window& window) {
  if (!is_float(x.dtype()))
    throw DTypeError(
        fmt::format("select_and_scatter takes floats, not {}; cast x first", name(x.dtype())));
  const std::size_t axes = size.size(), lead = x.shape().size() - std::min(axes, x.shape().size());
  const Sizes stride = for_each_axis(window.stride, axes, "select_and_scatter: stride"),
              padding = for_each_axis(window.padding, axes, "select_and_scatter: padding");
  Pairs around(x.shape().size()), inner;
  for (std::size_t i = 0; i < axes && i < x.shape().size(); ++i)
    around[lead + i] = {padding[i], padding[i]};
  const Array padded = pad_with(x, around, least_number(x.dtype()));
  const Array seen = windows(padded, size, stride, {1});  // (.., outer..., size...)
  const Sizes outer(seen.shape().begin(), seen.shape().end() - static_cast<std::ptrdiff_t>(axes));
  if (gradient.shape() != outer)
    throw ShapeError(
        fmt::format("select_and_scatter: the gradient {} must be {}, an element for "
                    "each window of x {}",
                    str(gradient.shape()), str(outer), str(x.shape())));
  const std::int64_t places = product_of(size);
  Sizes mine = outer, other = outer;
  mine.insert(mine.end(), {places, 1});
  other.insert(other.end(), {1, places});
  // An element is chosen if none is larger, NaN being the largest: of equal ones the first, of NaN
  // the last, as PyTorch's loop does. Padding is never chosen.
  const Array a = seen.reshape(mine), b = seen.reshape(other);
  const Array later = upper_triangle(places, places, 1), earlier = transpose(later);
  Array ties = equal(a, b) * earlier;
  if (padded.shape() != x.shape())
    ties = ties *
           windows(true_of_one().expand(x.shape()).pad(around), size, stride, {1}).reshape(other);
  const Array is_nan = -equal(b, b);
  const Array beaten = max(less(a, b) + ties + is_nan * (later + equal(a, a)), {-1});
  const Array given = gradient.reshape([&] {
    Sizes shape = outer;
    shape.push_back(1);
    return shape;
  }());
  const Array kept = where(beaten, zero_of(gradient.dtype()), given).reshape(seen.shape());
  const Sizes lengths(padded.shape().begin() + static_cast<std::ptrdiff_t>(lead),
                      padded.shape().end());
  for (std::size_t i = 0; i < x.shape().size(); ++i)
    inner.emplace_back(around[i].first, around[i].first + x.shape()[i]);
  return sum(spread_windows(kept, size, stride, lengths), last_axes(static_cast<int>(axes)))
      .shrink(inner);
}

}  // namespace touchstone::define
