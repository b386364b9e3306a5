// Masks and indexing: mostly movement.
#include <algorithm>
#include <bit>

#include "touchstone/define/parts.h"

namespace touchstone::define {
namespace {

void require_integers(const Array& index, std::string_view what) {
  if (!is_integer(index.dtype()))
    throw DTypeError(
        fmt::format("{}: positions must be integers, not {}", what, name(index.dtype())));
}

}  // namespace

// Element (row, column) is element column - row + rows - 1 of a run of zeros followed by ones.
Array upper_triangle(std::int64_t rows, std::int64_t columns, std::int64_t diagonal) {
  if (rows == 0 || columns == 0) return Array::constant(Scalar::of(true), {rows, columns});
  const std::int64_t length = checked_add(rows, columns - 1);
  const std::int64_t zeros = std::clamp<std::int64_t>(checked_add(diagonal, rows - 1), 0, length);
  return Array::constant(Scalar::of(true), {length - zeros})
      .pad({{zeros, 0}})
      .as_strided({rows, columns}, {-1, 1}, rows - 1);
}

// As sums of binary digits, in int64 so that each is exact.
Array arange(std::int64_t size, DType dtype) {
  if (size < 0) throw ShapeError(fmt::format("arange: {} is negative", size));
  const auto digits = static_cast<std::size_t>(
      std::bit_width(static_cast<std::uint64_t>(std::max<std::int64_t>(size, 1) - 1)));
  const auto constant = [&](std::int64_t value) {
    return Array::constant(Scalar::from_int(DType::Int64, value), Sizes(digits, 1));
  };
  Array sum = constant(0);
  for (std::size_t k = 0; k < digits; ++k) {
    Pairs one(digits);
    one[digits - 1 - k].first = 1;
    sum = sum + constant(std::int64_t{1} << k).pad(one);
  }
  const Array all = computed_once(sum.reshape({std::int64_t{1} << digits}).shrink({{0, size}}));
  return dtype == DType::Int64 ? all : all.cast(dtype);
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
  return equal(index.reshape(shape).cast(DType::Int64), arange(classes, DType::Int64)).cast(dtype);
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
  Pairs last = whole_ranges(x.shape()), first = last;
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
