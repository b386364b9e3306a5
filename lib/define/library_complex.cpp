// Complex numbers as pairs on the last axis, and rotations of pairs.
#include <numbers>

#include "touchstone/define/parts.h"

namespace touchstone::define {
namespace {

void require_pairs(const Array& x, std::string_view what, int least_rank = 1) {
  require_float(x, what);
  require_rank(x, least_rank, what, "x");
  if (x.size(-1) != 2)
    throw ShapeError(
        fmt::format("{}: the last axis of {} must have size 2, for real and imaginary "
                    "parts; stack them",
                    what, str(x.shape())));
}

// Part i of pairs, with the axis at size 1.
Array part_of(const Array& x, std::int64_t i) {
  Pairs range = whole_ranges(x.shape());
  range.back() = {i, i + 1};
  return x.shrink(range);
}
Array pair_of(const Array& real, const Array& imaginary) { return concat(real, imaginary, -1); }

// Along an axis of size 2.
Array first_negated(const Array& x, int axis) {
  Sizes shape(x.shape().size(), 1);
  Pairs behind(shape.size());
  behind[static_cast<std::size_t>(axis_of(x, axis))].second = 1;
  return where(Array::constant(Scalar::of(true), shape).pad(behind), -x, x);
}

Array mod(const Array& x, std::int64_t n) { return Array::apply(Op::Mod, {x, count(n)}); }

// sin(2 pi t / (4 n)) of whole numbers t in [0, 4 n), as sin(pi/2 j / n), 0 <= j <= n, so that
// multiples of a quarter are exact and others accurate.
Array sine_of_quarters(const Array& t, std::int64_t n) {
  const Array quarter = t / count(n), rest = mod(t, n);
  const Array j = where(equal(mod(quarter, 2), count(1)), count(n) - rest, rest);
  const Array angle = j.cast(DType::Float64) / count(n) * Array(std::numbers::pi / 2);
  const Array sine = Array::apply(Op::Sin, {angle});
  return where(less(quarter, count(2)), sine, -sine);
}

}  // namespace

Array complex_mul(const Array& x, const Array& y) {
  require_pairs(x, "complex_mul");
  require_pairs(y, "complex_mul");
  const Array both = maximum(x, y);
  if (is_narrow(both)) return narrowed(complex_mul(wide(x), wide(y)), both.dtype());
  const Array a = part_of(x, 0), b = part_of(x, 1), c = part_of(y, 0), d = part_of(y, 1);
  return pair_of(a * c - b * d, a * d + b * c);
}
Array complex_exp(const Array& x) {
  require_pairs(x, "complex_exp");
  if (is_narrow(x)) return narrowed(complex_exp(wide(x)), x.dtype());
  const Array size = exp(part_of(x, 0)), angle = part_of(x, 1);
  return size * pair_of(Array::call(NamedFunction::Cos, {angle}), Array::apply(Op::Sin, {angle}));
}
Array complex_abs(const Array& x) {
  require_pairs(x, "complex_abs");
  const Sizes shape(x.shape().begin(), x.shape().end() - 1);
  return Array::call(NamedFunction::Hypot, {part_of(x, 0), part_of(x, 1)}).reshape(shape);
}
Array complex_matmul(const Array& x, const Array& y) {
  require_pairs(x, "complex_matmul", 3);
  require_pairs(y, "complex_matmul", 3);
  if (x.size(-2) != y.size(-3))
    throw ShapeError(fmt::format("complex_matmul: {} by {}: sizes {} and {} differ", str(x.shape()),
                                 str(y.shape()), x.size(-2), y.size(-3)));
  if (is_narrow(x) && is_narrow(y))
    return narrowed(complex_matmul(wide(x), wide(y)), promote(x.dtype(), y.dtype()));
  // y: (.., m, 2, k, 2), for each part of the result (c, -d) or (d, c).
  const Array columns = transpose(y, -3, -2);
  Sizes left = x.shape(), right = columns.shape();
  right.insert(right.end() - 2, 1);
  left.insert(left.end() - 2, {1, 1});
  const Array swapped = flip(columns, {-1});
  const Array real = -first_negated(columns, -1);
  Array factors = concat(real.reshape(right), swapped.reshape(right), -3);
  right = factors.shape();
  right.insert(right.end() - 4, 1);
  return sum(x.reshape(left) * factors.reshape(right), {-2, -1});
}

Array dft(const Array& x, bool inverse) {
  const std::string_view what = inverse ? "idft" : "dft";
  require_pairs(x, what, 2);
  if (is_narrow(x)) return narrowed(dft(wide(x), inverse), x.dtype());
  const std::int64_t n = x.size(-2);
  if (n < 1 || n > kMostPoints)
    throw ShapeError(
        fmt::format("{}: {} points, on axis -2 of {}; expected 1 to {}: the cost grows "
                    "as their square",
                    what, n, str(x.shape()), kMostPoints));
  // Coefficients (k, part of the result, n, part of x): cos, sin, -sin, cos of 2 pi k n / N.
  const Array index = arange(n, DType::Int64), part = arange(2, DType::Int64);
  const Array turns = mod(index.reshape({n, 1, 1, 1}) * index.reshape({n, 1}), n) * count(4);
  const Array shift = (count(1) + part.reshape({2, 1, 1}) - part) * count(n);
  const Array t = mod((inverse ? count(4 * n) - turns : turns) + shift, 4 * n);
  const Array factors = sine_of_quarters(t, n).cast(x.dtype());
  Sizes terms = x.shape();
  terms.insert(terms.end() - 2, {1, 1});
  const Array total = sum(x.reshape(terms) * factors, {-2, -1});
  return inverse ? total / count(n) : total;
}

Array rope(const Array& x, const Array& cos, const Array& sin, bool interleaved, const Way& way) {
  if (is_narrow(x, way))
    return narrowed(rope(wide(x), wide(cos), wide(sin), interleaved, in_stages(way, x)), x.dtype());
  for (const Array& a : {x, cos, sin}) {
    require_float(a, "rope");
    require_rank(a, 1, "rope", "each of x, cos and sin");
  }
  const std::int64_t size = x.size(-1), half = size / 2;
  if (size % 2 != 0)
    throw ShapeError(fmt::format("rope: the last axis of {} must be even", str(x.shape())));
  // (.., 2, d/2) or (.., d/2, 2)
  const int pair = interleaved ? -1 : -2;
  const auto paired = [&](const Array& a, std::string_view of) {
    if (a.size(-1) != half && a.size(-1) != size)
      throw ShapeError(fmt::format("rope: the last axis of {} {} must be {} or {}, for x {}", of,
                                   str(a.shape()), half, size, str(x.shape())));
    Sizes shape = a.shape();
    const std::int64_t parts = a.size(-1) == half ? 1 : 2;
    shape.back() = interleaved ? half : parts;
    shape.push_back(interleaved ? parts : half);
    return a.reshape(shape);
  };
  const Array pairs = paired(x, "x"), turned = first_negated(flip(pairs, {pair}), pair);
  const Array y = stage(pairs * paired(cos, "cos"), way, "products") +
                  stage(turned * paired(sin, "sin"), way, "products");
  Sizes shape(y.shape().begin(), y.shape().end() - 1);
  shape.back() = size;
  return y.reshape(shape);
}

}  // namespace touchstone::define
