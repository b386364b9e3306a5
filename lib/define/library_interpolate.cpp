// Resampling: interpolation and adaptive pools. Positions are constants of the sizes.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "touchstone/define/library.h"
#include "touchstone/define/parts.h"

namespace touchstone::define {
namespace {

// Positions are computed in float32.
constexpr std::int64_t kLongestAxis = std::int64_t{1} << 23;
constexpr std::size_t kMostMoved = 200;

Array counted(std::int64_t size) { return arange(size, DType::Int64); }

std::int64_t all_of(const Sizes& sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), std::int64_t{1},
                         [](std::int64_t a, std::int64_t b) { return checked_mul(a, b); });
}

// One size per axis; the last axes of x are resampled.
void require_sizes(const Array& x, const Sizes& sizes, std::string_view what) {
  if (sizes.empty() || x.shape().size() < sizes.size())
    throw ShapeError(fmt::format("{}: shape {} has fewer than {} axes", what, str(x.shape()),
                                 std::max<std::size_t>(sizes.size(), 1)));
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const std::int64_t in = x.shape()[x.shape().size() - sizes.size() + i];
    for (const std::int64_t n : {in, sizes[i]})
      if (n < 1 || n > kLongestAxis)
        throw ShapeError(
            fmt::format("{}: an axis of {} elements becomes one of {}; sizes are from "
                        "1 to {}",
                        what, in, sizes[i], kLongestAxis));
  }
}

// The elements of x at positions of its last axes: index i has axes of its own, of shape
// indices[i]; they replace the axis.
Array taken(const Array& x, const std::vector<Array>& indices) {
  const std::size_t axes = indices.size(), lead = x.shape().size() - axes;
  Sizes shape(x.shape().begin(), x.shape().begin() + static_cast<std::ptrdiff_t>(lead)), all;
  for (const Array& index : indices)
    all.insert(all.end(), index.shape().begin(), index.shape().end());
  const Sizes sizes(x.shape().begin() + static_cast<std::ptrdiff_t>(lead), x.shape().end());
  Array flat = count(0).cast(DType::Int64);
  std::size_t behind = all.size();
  for (std::size_t i = 0; i < axes; ++i) {
    behind -= indices[i].shape().size();
    Sizes own = indices[i].shape();
    own.insert(own.end(), behind, 1);
    flat = flat * count(sizes[i]) + indices[i].reshape(own);
  }
  const Array table = transpose(x.reshape({all_of(shape), all_of(sizes)}));
  const Array found = gather(table, computed_once(flat));  // (all..., lead)
  std::vector<int> order{static_cast<int>(all.size())};
  for (std::size_t i = 0; i < all.size(); ++i) order.push_back(static_cast<int>(i));
  shape.insert(shape.end(), all.begin(), all.end());
  return found.permute(order).reshape(shape);
}

// floor(i * in / out), or for nearest_exact floor((2i + 1) in / (2 out)).
Array nearest(std::int64_t in, std::int64_t out, bool exact, bool in_float) {
  const std::int64_t twice = exact ? 2 : 1, first = exact ? 1 : 0;
  Array index = (counted(out) * count(twice) + count(first)) * count(in) / count(twice * out);
  if (!in_float) return index;
  // As PyTorch computes it for every type, which differs where the scale was rounded.
  const float scale = static_cast<float>(in) / static_cast<float>(out);
  std::size_t moved = 0;
  for (std::int64_t i = 0; i < out; ++i) {
    const float at = (static_cast<float>(i) + (exact ? 0.5F : 0.0F)) * scale;
    const std::int64_t found = std::min(static_cast<std::int64_t>(std::floor(at)), in - 1);
    if (found == (twice * i + first) * in / (twice * out)) continue;
    if (++moved > kMostMoved)
      throw ShapeError(
          fmt::format("interpolate: more than {} float32 positions of {} elements "
                      "differ from the exact ones",
                      kMostMoved, out));
    const Array here = Array::constant(Scalar::of(true), {1}).pad({{i, out - 1 - i}});
    index = where(here, count(found), index);
  }
  return index;
}

// The elements near each position, (out, taps).
struct Taps {
  Array index, weight, is_near;
};
// Enough taps for a position that is rounded to either side of a knot.
Taps taps_of(std::int64_t in, std::int64_t out, bool cubic, bool corners, DType dtype) {
  const std::int64_t radius = cubic ? 2 : 1, taps = 2 * radius + 1;
  const Array i = counted(out).reshape({out, 1});
  const std::int64_t steps = corners ? in - 1 : in,
                     of = corners ? std::max<std::int64_t>(out - 1, 1) : out;
  // The position's nearest element: floor(position + 1/2).
  const Array middle = corners && out == 1
                           ? i * count(0)
                           : (i * count(2 * steps) + count(corners ? of : in)) / count(2 * of);
  const Array at = middle + counted(taps) - count(radius);
  const auto real = [&](const Array& n) { return n.cast(dtype); };
  const Array scale = corners && out == 1 ? real(count(0)) : real(count(steps)) / real(count(of));
  const Array half(0.5), one = real(count(1));
  Array position = corners ? real(i) * scale : (real(i) + half) * scale - half;
  if (!cubic) position = maximum(position, count(0));
  const Array d = abs(position - real(at));
  // 1, as uncertain as a position: libraries may read an element of weight 0, or not.
  const Array unit = real(count(of)) / real(count(of));
  const Array weight = cubic ? keys(d) : one - d;
  const Array last = count(in - 1);
  const Array clamped = where(less(at, count(0)), count(0), where(less(last, at), last, at));
  return {clamped, computed_once(weight), computed_once(less(d, unit * count(radius)))};
}

}  // namespace

Array keys(const Array& d) {
  const Array inner = (Array(1.25) * d - 2.25) * d * d + 1;
  const Array outer = ((Array(-0.75) * d + 3.75) * d - 6.0) * d + 3.0;
  return where(less(d, count(1)), inner, outer);
}

Array interpolate(const Array& x, const Sizes& sizes, Interpolation mode, bool align_corners,
                  const Way& way) {
  require_sizes(x, sizes, "interpolate");
  const bool is_nearest = mode == Interpolation::Nearest || mode == Interpolation::NearestExact;
  if (is_nearest && align_corners)
    throw ShapeError("interpolate: align_corners applies to linear, bilinear, trilinear, bicubic");
  if (!is_nearest && is_narrow(x, way))
    return narrowed(interpolate(wide(x), sizes, mode, align_corners, way), x.dtype());
  if (!is_nearest && !is_float(x.dtype()))
    throw DTypeError(
        fmt::format("interpolate: this mode takes floats, not {}; cast the operand "
                    "first",
                    name(x.dtype())));
  const std::size_t lead = x.shape().size() - sizes.size();
  std::vector<Array> indices;
  std::vector<Taps> taps;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const std::int64_t in = x.shape()[lead + i];
    if (is_nearest) {
      indices.push_back(
          nearest(in, sizes[i], mode == Interpolation::NearestExact, way.float_positions));
    } else {
      taps.push_back(taps_of(in, sizes[i], mode == Interpolation::Cubic, align_corners, x.dtype()));
      indices.push_back(taps.back().index);
    }
  }
  Array y = taken(x, indices);
  for (std::size_t behind = 0; behind < taps.size(); ++behind) {  // the last axis first
    const Taps& t = taps[taps.size() - 1 - behind];
    Sizes beside = t.weight.shape();
    beside.insert(beside.end(), behind, 1);
    const Array weighted = t.weight.reshape(beside) * y;
    y = sum(where(t.is_near.reshape(beside), weighted, count(0)), {-1 - static_cast<int>(behind)});
  }
  return y;
}

Array adaptive_pool(const Array& x, const Sizes& sizes, bool of_maxima, const Way& way) {
  const std::string_view what = of_maxima ? "adaptive_max_pool" : "adaptive_avg_pool";
  require_sizes(x, sizes, what);
  if (is_narrow(x, way) && !of_maxima)
    return narrowed(adaptive_pool(wide(x), sizes, false, way), x.dtype());
  if (!is_float(x.dtype()))
    throw DTypeError(
        fmt::format("{} takes floats, not {}; cast the operand first", what, name(x.dtype())));
  const std::size_t lead = x.shape().size() - sizes.size();
  Sizes window;
  bool all_alike = true;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    window.push_back(x.shape()[lead + i] / sizes[i]);
    all_alike = all_alike && x.shape()[lead + i] % sizes[i] == 0;
  }
  const int spatial = static_cast<int>(sizes.size());
  if (all_alike)
    return of_maxima ? max_pool(x, window, {window, {0}}, spatial)
                     : avg_pool(x, window, {window, {0}}, spatial, {}, way);
  std::vector<Array> indices;
  Array inside = Array::constant(Scalar::of(true)), terms_of = count(1).cast(x.dtype());
  Axes axes;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const std::int64_t in = x.shape()[lead + i], out = sizes[i];
    const std::int64_t most = (in + out - std::gcd(in, out) + out - 1) / out;
    const Array at = counted(out).reshape({out, 1}), begin = at * count(in) / count(out),
                end = (at * count(in) + count(in + out - 1)) / count(out),
                index = begin + counted(most), last = count(in - 1);
    indices.push_back(where(less(last, index), last, index));
    const std::size_t behind = sizes.size() - 1 - i;
    Sizes pairs{out, most}, singles{out};
    pairs.insert(pairs.end(), 2 * behind, 1);
    singles.insert(singles.end(), behind, 1);
    inside = where(inside, less(index, end).reshape(pairs), Array::constant(Scalar::of(false)));
    terms_of = terms_of * (end - begin).cast(x.dtype()).reshape(singles);
    axes.push_back(-1 - 2 * static_cast<int>(behind));
  }
  const Array one = count(1);
  const auto terms = [&](const Array& y) { return sum(where(inside, y, count(0)), axes); };
  const Array y = taken(x, indices);
  if (of_maxima) return max(where(inside, y, Array::number("-inf")), axes);
  if (way.running) {
    Sizes beside;
    for (const std::int64_t n : sizes) beside.insert(beside.end(), {n, 1});
    return terms(y * (one / terms_of.reshape(beside)));
  }
  return way.reciprocal ? terms(y) * (one / terms_of) : terms(y) / terms_of;
}

}  // namespace touchstone::define
