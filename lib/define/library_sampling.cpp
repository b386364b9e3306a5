// Samples at computed positions. Their weights are continuous functions of the position, and each
// result is a sum over the whole plane, so that rounding makes no jump from one element to another.
#include "touchstone/define/parts.h"

namespace touchstone::define {
namespace {

// Of an axis: what its elements are multiplied with, and where that is not 0.
struct Weights {
  Array weight, is_near;
};
Weights weights_at(const Array& position, const Array& places, Interpolation mode) {
  if (mode == Interpolation::Nearest) {
    const Array hit = equal(Array::call(NamedFunction::Round, {position}), places);
    return {count(1).cast(position.dtype()), computed_once(hit)};
  }
  const Array d = abs(position - places), weight = mode == Interpolation::Cubic ? keys(d) : 1 - d;
  return {computed_once(weight),
          computed_once(less(d, count(mode == Interpolation::Cubic ? 2 : 1)))};
}

// The sum of terms on a new last axis, in any order.
Array total(const std::vector<Array>& terms) {
  const std::vector<Array> all = broadcast(terms);
  Array joined = with_axis(all[0], all[0].rank());
  for (std::size_t i = 1; i < all.size(); ++i)
    joined = concat(joined, with_axis(all[i], all[i].rank()), -1);
  return sum(joined, {-1});
}

// Column k of the last axis.
Array column_of(const Array& x, std::int64_t k) {
  Pairs keep = whole_ranges(x.shape());
  keep.back() = {k, k + 1};
  return x.shrink(keep).reshape(Sizes(x.shape().begin(), x.shape().end() - 1));
}
Array places_of(std::int64_t n, int behind, DType dtype) {
  Sizes shape(static_cast<std::size_t>(behind) + 1, 1);
  shape[0] = n;
  return arange(n, DType::Int64).reshape(shape).cast(dtype);
}
Array with_ones(const Array& x, int before, int behind) {
  Sizes shape = x.shape();
  shape.insert(shape.begin() + 1, static_cast<std::size_t>(before), 1);
  shape.insert(shape.end(), static_cast<std::size_t>(behind), 1);
  return x.reshape(shape);
}

}  // namespace

Array grid_sample(const Array& x, const Array& grid, Interpolation mode, Border border,
                  bool align_corners) {
  if (is_narrow(x) && is_narrow(grid))
    return narrowed(grid_sample(wide(x), wide(grid), mode, border, align_corners), x.dtype());
  require_float(x, "grid_sample");
  require_float(grid, "grid_sample, the grid,");
  const int axes = x.rank() - 2;
  const bool is_cubic = mode == Interpolation::Cubic;
  if ((axes != 2 && axes != 3) || grid.rank() != x.rank() || grid.size(0) != x.size(0) ||
      grid.size(-1) != axes)
    throw ShapeError(fmt::format(
        "grid_sample: x {} and grid {} must be (n, channels, 2 or 3 sizes) and (n, 2 or 3 sizes, 2 "
        "or 3)",
        str(x.shape()), str(grid.shape())));
  if (is_cubic && (axes == 3 || border == Border::Reflection))
    throw ShapeError("grid_sample: bicubic takes two axes, and padding_mode zeros or border");
  const std::int64_t margin = is_cubic && border == Border::Edge ? 3 : 0;
  Pairs around(x.shape().size());
  for (int k = 0; k < axes; ++k) around[static_cast<std::size_t>(2 + k)] = {margin, margin};
  Array terms = pad_by(x, around, PadMode::Edge);
  terms = terms.reshape([&] {  // (n, channels, outer..., sizes...)
    Sizes shape = terms.shape();
    shape.insert(shape.begin() + 2, static_cast<std::size_t>(axes), 1);
    return shape;
  }());
  std::optional<Array> weight, is_near;
  for (int k = 0; k < axes; ++k) {
    const std::int64_t n = x.size(2 + k);
    const double half = static_cast<double>(align_corners ? n - 1 : n) / 2;
    const Array quarter(half / 2), shift(align_corners ? 0.0 : -0.25);
    const Array g = column_of(grid, axes - 1 - k);
    Array at = total({g * Array(half), quarter, quarter, shift, shift});
    if (border == Border::Reflection && half > 0) {
      // Steps back from each end; the floor is the same beside a position, as a remainder is not.
      const Array low(align_corners ? 0.0 : -0.5), span(2 * half), twice(4 * half);
      const Array from = abs(at - low);
      const Array within = from - Array::call(NamedFunction::Floor, {from / twice}) * twice;
      at = span - abs(within - span) + low;
    }
    if (border != Border::Zeros)
      at = minimum(maximum(at, count(is_cubic ? -2 : 0)), count(is_cubic ? n + 1 : n - 1));
    const Weights one =
        weights_at(with_ones(computed_once(at), 1, axes),
                   places_of(n + 2 * margin, axes - 1 - k, x.dtype()) - count(margin), mode);
    weight = weight ? *weight * one.weight : one.weight;
    is_near = is_near ? *is_near * one.is_near : one.is_near;
  }
  const Array weighted = mode == Interpolation::Nearest ? terms : *weight * terms;
  Axes inner;
  for (int k = 1; k <= axes; ++k) inner.push_back(-k);
  return sum(where(*is_near, weighted, count(0)), inner);
}

Array affine_grid(const Array& theta, const Sizes& sizes, bool align_corners) {
  if (is_narrow(theta))
    return narrowed(affine_grid(wide(theta), sizes, align_corners), theta.dtype());
  require_float(theta, "affine_grid");
  const auto axes = static_cast<std::int64_t>(sizes.size());
  if (axes < 2 || axes > 3 || theta.rank() != 3 || theta.size(1) != axes ||
      theta.size(2) != axes + 1)
    throw ShapeError(
        fmt::format("affine_grid: theta {} and {} sizes; 2 sizes take (n, 2, 3), 3 sizes (n, 3, 4)",
                    str(theta.shape()), axes));
  std::vector<Array> terms;
  const auto entry = [&](std::int64_t k) {  // (n, 1..., rows)
    const Array column = column_of(theta, k);
    Sizes shape(static_cast<std::size_t>(axes) + 2, 1);
    shape.front() = column.size(0);
    shape.back() = axes;
    return column.reshape(shape);
  };
  for (std::int64_t k = 0; k < axes; ++k) {
    const std::int64_t n = sizes[static_cast<std::size_t>(axes - 1 - k)];
    if (n < 1) throw ShapeError(fmt::format("affine_grid: a size of {} is not positive", n));
    const std::int64_t steps = align_corners ? std::max<std::int64_t>(n - 1, 1) : n;
    const Array place = places_of(n, static_cast<int>(k) + 1, theta.dtype());
    const Array at = align_corners ? place * 2 : place * 2 + 1;
    // The position less 1, which is a term of its own; a single element is at 0.
    terms.push_back(entry(k) * (at / count(steps)));
    if (n > 1 || !align_corners) terms.push_back(-entry(k));
  }
  terms.push_back(entry(axes));
  Sizes shape{theta.size(0)};
  shape.insert(shape.end(), sizes.begin(), sizes.end());
  shape.push_back(axes);
  return total(terms).expand(shape);
}

Array roi_align(const Array& x, const Array& rois, const Array& batch, const Sizes& size,
                const Array& scale, std::int64_t samples, bool aligned) {
  if (is_narrow(x) && is_narrow(rois))
    return narrowed(roi_align(wide(x), wide(rois), batch, size, scale, samples, aligned),
                    x.dtype());
  require_float(x, "roi_align");
  require_float(rois, "roi_align, the boxes,");
  const Sizes out = for_each_axis(size, 2, "roi_align: size");
  if (x.rank() != 4 || rois.rank() != 2 || rois.size(1) != 4 ||
      batch.shape() != Sizes{rois.size(0)})
    throw ShapeError(fmt::format(
        "roi_align: x {}, boxes {} and batch {} must be (n, channels, rows, columns), (boxes, 4) "
        "and (boxes)",
        str(x.shape()), str(rois.shape()), str(batch.shape())));
  if (samples < 1 || out[0] < 1 || out[1] < 1)
    throw ShapeError(fmt::format(
        "roi_align: sampling_ratio {} and size {} must be positive; with 0 the number of samples "
        "would depend on the boxes",
        samples, str(out)));
  std::vector<Array> weights;  // (boxes, 1, rows, 1, rows of x, 1) and of columns
  for (int k = 0; k < 2; ++k) {
    const std::int64_t n = x.size(2 + k), p = out[static_cast<std::size_t>(k)];
    const Array offset = aligned ? Array(0.5) : Array(0.0);
    const Array begin = column_of(rois, 1 - k) * scale - offset,
                end = column_of(rois, 3 - k) * scale - offset;
    const Array length = aligned ? end - begin : maximum(end - begin, count(1));
    const Array bin = with_ones(length / count(p), 0, 2);  // (boxes, 1, 1)
    const Array place = places_of(p, 1, x.dtype()), sample = places_of(samples, 0, x.dtype());
    const Array at =
        total({with_ones(begin, 0, 2), place * bin, (sample + 0.5) * bin / count(samples)});
    const Array within = minimum(maximum(at, count(0)), count(n - 1));
    const Array d = abs(with_axis(within, 2) - places_of(n, 1, x.dtype()));
    const Array outside = with_axis(maximum(less(at, count(-1)), less(count(n), at)), 2);
    const Array hat = where(less(d, count(1)), 1 - d, count(0));
    const Array one = sum(where(outside, count(0), hat), {-1});  // (boxes, p, n)
    Sizes shape{rois.size(0), 1, 1, 1, 1, 1};
    shape[static_cast<std::size_t>(2 + k)] = p;
    shape[static_cast<std::size_t>(4 + k)] = n;
    weights.push_back(one.reshape(shape));
  }
  const Array of_boxes = index_select(x, batch, 0);
  const Array seen = of_boxes.reshape({rois.size(0), x.size(1), 1, 1, x.size(2), x.size(3)});
  const Array is_near = less(count(0), weights[0]) * less(count(0), weights[1]);
  const Array terms = where(is_near, weights[0] * weights[1] * seen, count(0));
  return sum(terms, {-2, -1}) / count(checked_mul(samples, samples));
}

}  // namespace touchstone::define
