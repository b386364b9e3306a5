// Positions of extremes, order, running extremes, products, and truth.
#include <algorithm>
#include <bit>
#include <cmath>

#include "touchstone/base/error.h"
#include "touchstone/define/library.h"
#include "touchstone/define/parts.h"
#include "touchstone/dtype/bits.h"
#include "touchstone/ops/fold.h"

namespace touchstone::define {
namespace {

Array least(const Array& x) { return Array::constant(least_of(x.dtype())); }
// False for NaN. The oracle does not know that a rounded number is equal to itself.
Array is_number(const Array& x, bool is_rounded = false) {
  return is_rounded ? maximum(less(x, count(0)), less(count(-1), x)) : equal(x, x);
}
Array exclusive(const Array& a, const Array& b) { return Array::apply(Op::Xor, {a, b}); }

// Of rows: the place of each maximum, n more for NaN, else 0. `most`: maxima of the numbers.
Array scores(const Array& x, const Array& most, const Array& places) {
  const Array zero = count(0), found = where(equal(x, most), places, zero);
  return is_float(x.dtype()) ? where(is_number(x), found, places + count(x.size(-1))) : found;
}
Array place_of(const Array& score, std::int64_t n) {
  const Array place = where(less(score, count(n)), score, score - count(n));
  return maximum(count(0), minimum(place, count(n - 1)));
}
Array numbers_only(const Array& x) {
  return is_float(x.dtype()) ? where(is_number(x), x, least(x)) : x;
}

// `op` (MAX or ADD) of each row's elements up to each place: over the blocks of about sqrt(n)
// elements before it, then within its block.
Array running(const Array& rows, Op op) {
  const std::int64_t n = rows.size(-1);
  if (n == 0) return rows;
  const Op reduce = op == Op::Max ? Op::ReduceMax : Op::ReduceSum;
  const Array none = op == Op::Max ? least(rows) : count(0).cast(rows.dtype());
  const auto size = static_cast<std::int64_t>(std::ceil(std::sqrt(static_cast<double>(n))));
  const std::int64_t blocks = (n + size - 1) / size;
  Pairs behind(rows.shape().size());
  behind.back().second = blocks * size - n;
  Sizes split = rows.shape();
  split.back() = blocks;
  split.push_back(size);
  const Array parts = pad_with(rows, behind, none).reshape(split);
  const auto up_to = [&](const Array& x, std::int64_t diagonal) {
    const Array taken = transpose(upper_triangle(x.size(-1), x.size(-1), diagonal));
    return where(taken, with_axis(x, x.rank() - 1), none).reduce(reduce, {-1}, false);
  };
  const Array whole = up_to(parts.reduce(reduce, {-1}, false), 1);
  const Array all = Array::apply(op, {with_axis(whole, whole.rank()), up_to(parts, 0)});
  split.pop_back();
  split.back() = blocks * size;
  return all.reshape(split).shrink(whole_ranges(rows.shape()));
}
Array running_max(const Array& rows) { return running(rows, Op::Max); }

Array ranks(const Array& rows, bool descending) {
  const std::int64_t n = rows.size(-1);
  const Array x = with_axis(rows, rows.rank()), other = with_axis(rows, rows.rank() - 1);
  const Array earlier = transpose(upper_triangle(n, n, 1));  // of ties
  Array a = where(earlier, x, other), b = where(earlier, other, x);
  if (descending) std::swap(a, b);
  const bool is_input = rows.is_input();
  const Array below = is_float(x.dtype())
                          ? where(is_number(b, !is_input), less(a, b), is_number(a, !is_input))
                          : less(a, b);
  const Array before = exclusive(below, earlier), never = Array::constant(Scalar::of(false));
  const Array itself = exclusive(upper_triangle(n, n, 0), upper_triangle(n, n, 1));
  return sum((is_input ? before : where(itself, never, before)).cast(DType::Int32), {-1});
}
// The elements of `rows` whose ranks in x are 0 to k - 1. The ranks of inputs are determined; then
// sums of integers are exact, and judged faster than maxima.
Array of_ranks(const Array& x, const Array& rows, std::int64_t k, bool descending) {
  const Array rank = with_axis(ranks(x, descending), x.rank() - 1, k);
  const Array chosen = equal(rank, arange(k, DType::Int32).reshape({k, 1})),
              row = with_axis(rows, rows.rank() - 1);
  const bool adds = x.is_input() && is_integer(rows.dtype());
  if (adds) return sum(where(chosen, row, count(0)), {-1});
  // Where rounding may change the order, no other number than one of the row.
  const Array lowest = !is_float(rows.dtype())
                           ? min(row, {-1}, true)
                           : -max(where(is_number(row), -row, least(rows)), {-1}, true);
  return max(where(chosen, row, lowest), {-1});
}
Array values_of_ranks(const Array& rows, std::int64_t k, bool descending) {
  const DType type = rows.dtype();
  if (!is_float(type) || !rows.is_input()) return of_ranks(rows, rows, k, descending);
  // As integers, which a sum keeps exactly. The sum of one term leaves the sign of zeros open, as
  // their order is.
  const DType bits = unsigned_of(type);
  const Array nan = Array::constant(Scalar::from_bits(bits, Scalar::parse(type, "nan").bits()));
  const Array exact =
      where(is_number(rows),
            where(equal(rows, Array::number("0")), count(0).cast(bits), rows.bitcast(bits)), nan);
  const Array sorted = of_ranks(rows, computed_once(exact), k, descending).bitcast(type);
  return sum(with_axis(sorted, sorted.rank()), {sorted.rank()});
}
Array places_of_ranks(const Array& rows, std::int64_t k, bool descending) {
  return of_ranks(rows, arange(rows.size(-1), DType::Int32), k, descending).cast(DType::Int64);
}

// f of rows that are the last axis of its argument and its result.
template <class F>
Array along(const Array& x, int axis, F f) {
  const int at = axis_of(x, axis);
  return transpose(f(transpose(x, at, -1)), at, -1);
}

std::int64_t checked_count(const Array& x, std::int64_t k, int axis) {
  if (k < 0 || k > x.size(axis))
    throw ShapeError(fmt::format("top_k: k = {} is not in [0, {}], the size of axis {} of shape {}",
                                 k, x.size(axis), axis, str(x.shape())));
  return k;
}

// ---- products
constexpr std::int64_t kMostFactors = 1024, kMostPrefixes = 512, kMostFloats = 1 << 22;

void require_few(std::string_view what, std::int64_t n, std::int64_t most) {
  if (n > most)
    throw ShapeError(
        fmt::format("{}: {} factors; at most {} here. Multiply parts of the axis, and "
                    "then their products",
                    what, n, most));
}

// The product of elements [begin, end) of the last axis, of integers: exact in every order.
Array multiplied(const Array& rows, std::int64_t begin, std::int64_t end) {
  if (end - begin > 1) {
    const std::int64_t middle = begin + (end - begin) / 2;
    return multiplied(rows, begin, middle) * multiplied(rows, middle, end);
  }
  Pairs one = whole_ranges(rows.shape());
  one.back() = {begin, end};
  Sizes shape = rows.shape();
  shape.pop_back();
  return rows.shrink(one).reshape(shape);
}

// Any number from a to b, in any implementation; b for the reference. A quotient by 0 is open.
Array between(const Array& a, const Array& b) {
  const auto whole = [](std::int64_t n) {
    return Array::constant(Scalar::from_int(DType::Int32, n));
  };
  return where(less(whole(1) / whole(0), whole(0)), a, b);
}

// The last place of the maximum of rows that are no inputs. `scores` would compare rounded numbers
// with their own maximum, which leaves every place open.
constexpr std::int64_t kMostRanked = 512;

Array place_of_max(const Array& rows, bool is_input) {
  const std::int64_t n = rows.size(-1);
  if (!is_input && n <= kMostRanked)
    return count(n - 1) - places_of_ranks(flip(rows, {-1}), 1, true);
  const Array most = max(numbers_only(rows), {-1}, true);
  return place_of(max(scores(rows, most, arange(n, DType::Int64)), {-1}, true), n);
}

// Of -x or ~x for the minimum.
Array extreme(const Array& x, const Axes& axes, bool keep, bool last, bool least) {
  if (static_cast<int>(axes.size()) != x.rank() && axes.size() != 1)
    throw ShapeError(fmt::format("argmax and argmin take one axis or all of {}, not {}",
                                 str(x.shape()), axes.size()));
  const bool all = axes.size() != 1;
  const int at = all ? 0 : axis_of(x, axes[0]);
  const Array rows = all ? x.reshape({-1}) : transpose(x, at, -1);
  const std::int64_t n = rows.size(-1);
  if (n == 0)
    throw ShapeError(fmt::format("argmax, argmin: {} of shape {} has no element",
                                 all ? "an array" : fmt::format("axis {}", at), str(x.shape())));
  const Array ordered = least ? reversed(rows) : rows;
  const Array found = last ? place_of_max(ordered, x.is_input())
                           : count(n - 1) - place_of_max(flip(ordered, {-1}), x.is_input());
  return (all ? found : transpose(found, at, -1)).reshape(max(x, axes, keep).shape());
}

}  // namespace

// A product of floats as 2^(sum of log2 |x|) with a sign. In float64 that is close enough to the
// product of narrower ones. Legal are the products in any order: with m roundings of unit u
// within m u / (1 - m u) of this one; where a partial product could overflow, infinity; where one
// could be subnormal, each may be off by `tiny` times all factors above 1.
Array product(const Array& x, const Array& steps, const std::function<Array(const Array&)>& total) {
  const DTypeInfo& type = info(x.dtype());
  const Array zero = count(0), infinite = Array::number("inf");
  const Array log = computed_once(Array::apply(Op::Log2, {abs(x.cast(DType::Float64))}));
  const Array is_below = less(log, zero);
  const Array above = total(where(is_below, zero, log)), below = total(where(is_below, log, zero));
  const Array is_negative =
      where(equal(x, zero), less(x.bitcast(signed_of(x.dtype())), zero), less(x, zero));
  const Array signs = total(computed_once(is_negative.cast(DType::Int32)));
  const auto power = [](const Array& e) { return Array::apply(Op::Exp2, {e}); };

  const Array size = power(above + below), part = steps * Array(std::ldexp(1.0, -type.digits));
  const Array error = part / (count(1) - part);
  const Array has_zero = equal(below, -infinite);
  // Where the profile flushes subnormals, this may be 0.
  const Array subnormal =
      Array::constant(Scalar::from_double(x.dtype(), std::ldexp(1.0, type.min_exponent - 1)));
  const Array smallest = where(equal(subnormal * count(1), zero), count(type.min_exponent),
                               count(type.min_exponent - type.digits + 1));
  const Array tiny = power(above + smallest.cast(DType::Float64)) * steps;
  const Array may_vanish = less(below, Array(type.min_exponent + 0.01));
  const Array may_overflow = less(Array(type.max_exponent + 0.99), above);
  const Array lost = where(has_zero, zero, where(may_vanish, tiny, zero));
  const Array most =
      where(may_overflow, where(has_zero, size, infinite), size * (count(1) + error) + lost);
  const Array fewest = maximum(size * (count(1) - error) - lost, zero);
  const Array legal = between(fewest, between(most, size));
  const Array meets = where(may_overflow, may_vanish, Array::constant(Scalar::of(false)));
  const Array any = where(meets, between(Array::number("nan"), legal), legal);
  const Array odd = equal(Array::apply(Op::Mod, {signs, count(2)}), count(1));
  return where(odd, -any, any).cast(x.dtype());
}

Array product_of_integers(const Array& x, int axis, std::string_view what) {
  const Array rows = transpose(x, axis, -1);
  require_few(what, rows.size(-1), kMostFactors);
  return transpose(with_axis(multiplied(rows, 0, rows.size(-1)), x.rank() - 1), axis, -1);
}

Array argmax(const Array& x, const Axes& axes, bool keep, bool last) {
  return extreme(x, axes, keep, last, false);
}
Array argmin(const Array& x, const Axes& axes, bool keep, bool last) {
  return extreme(x, axes, keep, last, true);
}

Array cummax(const Array& x, int axis) { return along(x, axis, running_max); }
Array cummin(const Array& x, int axis) { return reversed(cummax(reversed(x), axis)); }
Array cummax_index(const Array& x, int axis) {
  return along(x, axis, [](const Array& rows) {
    const std::int64_t n = rows.size(-1);
    const Array score = scores(rows, running_max(numbers_only(rows)), arange(n, DType::Int64));
    return place_of(running_max(score), n);
  });
}
Array cummin_index(const Array& x, int axis) { return cummax_index(reversed(x), axis); }

Array sort(const Array& x, int axis, bool descending) {
  return along(x, axis,
               [&](const Array& rows) { return values_of_ranks(rows, rows.size(-1), descending); });
}
Array argsort(const Array& x, int axis, bool descending) {
  return along(x, axis,
               [&](const Array& rows) { return places_of_ranks(rows, rows.size(-1), descending); });
}
Array top_k(const Array& x, std::int64_t k, int axis, bool largest) {
  checked_count(x, k, axis);
  return along(x, axis, [&](const Array& rows) { return values_of_ranks(rows, k, largest); });
}
Array top_k_index(const Array& x, std::int64_t k, int axis, bool largest) {
  checked_count(x, k, axis);
  return along(x, axis, [&](const Array& rows) { return places_of_ranks(rows, k, largest); });
}

Array prod(const Array& x, const Axes& given, bool keep, const Way& way) {
  if (is_narrow(x, way)) return narrowed(prod(wide(x), given, keep), x.dtype());
  Axes axes;
  std::int64_t n = 1;
  for (const int axis : given) n = checked_mul(n, x.size(axes.emplace_back(axis_of(x, axis))));
  const Sizes shape = max(x, axes, keep).shape();
  if (n == 0) {  // 1, of a kernel that has the input
    const Array one = Array::number("1").cast(x.dtype()).expand(shape);
    return where(equal(sum(x.cast(DType::Int32), axes, keep), count(0)), one, one);
  }
  if (n == 1) return x.reshape(shape);
  if (is_float(x.dtype())) {
    require_few("prod", n, kMostFloats);
    return product(x, count(n - 1).cast(DType::Float64),
                   [&](const Array& terms) { return sum(terms, axes, keep); });
  }
  require_few("prod of integers", n, kMostFactors);
  std::vector<int> order;
  Sizes split;
  for (int i = 0; i < x.rank(); ++i)
    if (std::ranges::find(axes, i) == axes.end()) {
      order.push_back(i);
      split.push_back(x.size(i));
    }
  order.insert(order.end(), axes.begin(), axes.end());
  split.push_back(n);
  return multiplied(x.permute(order).reshape(split), 0, n).reshape(shape);
}
Array cumprod(const Array& x, int axis, const Way& way) {
  if (is_narrow(x, way)) return narrowed(cumprod(wide(x), axis), x.dtype());
  return along(x, axis, [](const Array& rows) {
    const std::int64_t n = rows.size(-1);
    if (n < 2) return rows;
    if (is_float(rows.dtype())) {
      const Array steps = arange(n, DType::Int64).cast(DType::Float64);
      return where(equal(steps, count(0)), rows, product(rows, steps, [](const Array& terms) {
                     return running(terms, Op::Add);
                   }));
    }
    require_few("cumprod of integers", n, kMostPrefixes);
    Pairs before(rows.shape().size());
    before.back().first = n - 1;
    return multiplied(windows(pad_with(rows, before, count(1)), {n}, {1}, {1}), 0, n);
  });
}

Array any(const Array& x, const Axes& axes, bool keep) {
  return max(x.cast(DType::Bool), axes, keep);
}
Array all(const Array& x, const Axes& axes, bool keep) {
  return min(x.cast(DType::Bool), axes, keep);
}
Array count_nonzero(const Array& x, const Axes& axes, bool keep) {
  return sum(x.cast(DType::Bool).cast(DType::Int64), axes, keep);
}

}  // namespace touchstone::define
