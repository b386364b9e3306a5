// Products and convolutions by algorithms that need fewer multiplications and lose digits.
#include <algorithm>
#include <array>
#include <numbers>

#include "touchstone/define/library.h"
#include "touchstone/define/parts.h"

namespace touchstone::define {
namespace {

using Matrix = std::vector<std::vector<double>>;

// y = A^T ((G w) * (B^T x)) for windows of 3 and tiles of 2 or 4 outputs (Lavin and Gray, "Fast
// algorithms for convolutional neural networks", 2015).
struct Winograd {
  Matrix inputs, weights, outputs;  // B^T, G, A^T
};
const Winograd& winograd_of(std::int64_t tile) {
  static const Winograd kTwo{{{1, 0, -1, 0}, {0, 1, 1, 0}, {0, -1, 1, 0}, {0, 1, 0, -1}},
                             {{1, 0, 0}, {0.5, 0.5, 0.5}, {0.5, -0.5, 0.5}, {0, 0, 1}},
                             {{1, 1, 1, 0}, {0, 1, -1, -1}}};
  static const Winograd kFour{
      {{4, 0, -5, 0, 1, 0},
       {0, -4, -4, 1, 1, 0},
       {0, 4, -4, -1, 1, 0},
       {0, -2, -1, 2, 1, 0},
       {0, 2, -1, -2, 1, 0},
       {0, 4, 0, -5, 0, 1}},
      {{0.25, 0, 0},
       {-1 / 6.0, -1 / 6.0, -1 / 6.0},
       {-1 / 6.0, 1 / 6.0, -1 / 6.0},
       {1 / 24.0, 1 / 12.0, 1 / 6.0},
       {1 / 24.0, -1 / 12.0, 1 / 6.0},
       {0, 0, 1}},
      {{1, 1, 1, 1, 1, 0}, {0, 1, -1, 2, -2, 0}, {0, 1, 1, 4, 4, 0}, {0, 1, -1, 8, -8, 1}}};
  return tile == 2 ? kTwo : kFour;
}

// Computed once.
Array constant(const Matrix& matrix, DType dtype) {
  std::optional<Array> rows;
  for (const std::vector<double>& row : matrix) {
    std::optional<Array> line;
    for (const double v : row) {
      const Array one = Array::constant(Scalar::from_double(dtype, v), {1, 1});
      line = line ? concat(*line, one, 1) : one;
    }
    rows = rows ? concat(*rows, *line, 0) : *line;
  }
  return computed_once(*rows);
}

// matrix x along the last axes of x, each one sum over all of them.
Array transformed(const Matrix& matrix, const Array& x, int axes) {
  const auto rows = static_cast<std::int64_t>(matrix.size());
  Sizes kept = x.shape();
  kept.insert(kept.end() - axes, static_cast<std::size_t>(axes), 1);
  Array terms = x.reshape(kept);
  Axes summed;
  for (int axis = 0; axis < axes; ++axis) {
    Sizes shape(2 * static_cast<std::size_t>(axes), 1);
    shape[static_cast<std::size_t>(axis)] = rows;
    shape[static_cast<std::size_t>(axes) + static_cast<std::size_t>(axis)] = x.size(axis - axes);
    terms = terms * constant(matrix, x.dtype()).reshape(shape);
    summed.push_back(axis - axes);
  }
  return sum(terms, summed);
}

struct Sides {
  std::int64_t batch, groups, in, out;  // `in` and `out` channels of a group
};

// x: (batch, groups, 1, in, sizes...), weight: (1, groups, out, in, windows...).
std::pair<Array, Array> in_groups(const Array& x, const Array& weight, const Sides& s) {
  Sizes left{s.batch, s.groups, 1, s.in}, right{1, s.groups, s.out, s.in};
  left.insert(left.end(), x.shape().begin() + 2, x.shape().end());
  right.insert(right.end(), weight.shape().begin() + 2, weight.shape().end());
  return {x.reshape(left), weight.reshape(right)};
}

enum class Wave : std::uint8_t { Cosine, Sine };
// Of 2 pi k n / size, (rows, columns).
Array wave(Wave kind, std::int64_t rows, std::int64_t columns, std::int64_t size, DType dtype) {
  const Array k = arange(rows).reshape({rows, 1}), n = arange(columns).reshape({1, columns});
  const Array turn = Array::apply(Op::Mod, {k * n, count(size)});
  const Array angle = turn.cast(dtype) * Array(2 * std::numbers::pi / static_cast<double>(size));
  return kind == Wave::Cosine ? Array::call(NamedFunction::Cos, {angle})
                              : Array::apply(Op::Sin, {angle});
}

}  // namespace

Array strassen(const Array& a, const Array& b) {
  const auto even = [](const Array& x) {
    Pairs behind(x.shape().size());
    for (const int axis : {-2, -1})
      behind[behind.size() - static_cast<std::size_t>(-axis)].second = x.size(axis) % 2;
    return x.pad(behind);
  };
  const Array left = even(a), right = even(b);
  const auto quarter = [](const Array& x, int row, int column) {
    Pairs range = whole_ranges(x.shape());
    const std::int64_t rows = x.size(-2) / 2, columns = x.size(-1) / 2;
    range[range.size() - 2] = {row * rows, (row + 1) * rows};
    range[range.size() - 1] = {column * columns, (column + 1) * columns};
    return x.shrink(range);
  };
  const Array a11 = quarter(left, 0, 0), a12 = quarter(left, 0, 1), a21 = quarter(left, 1, 0),
              a22 = quarter(left, 1, 1);
  const Array b11 = quarter(right, 0, 0), b12 = quarter(right, 0, 1), b21 = quarter(right, 1, 0),
              b22 = quarter(right, 1, 1);
  const Array m1 = matmul(a11 + a22, b11 + b22), m2 = matmul(a21 + a22, b11),
              m3 = matmul(a11, b12 - b22), m4 = matmul(a22, b21 - b11), m5 = matmul(a11 + a12, b22),
              m6 = matmul(a21 - a11, b11 + b12), m7 = matmul(a12 - a22, b21 + b22);
  const Array above = concat(m1 + m4 - m5 + m7, m3 + m5, m1.rank() - 1);
  const Array below = concat(m2 + m4, m1 - m2 + m3 + m6, m1.rank() - 1);
  const Array whole = concat(above, below, m1.rank() - 2);
  Pairs range = whole_ranges(whole.shape());
  range[range.size() - 2].second = a.size(-2);
  range[range.size() - 1].second = b.size(-1);
  return whole.shrink(range);
}

Array winograd(const Array& x, const Array& weight, std::int64_t groups, int spatial,
               std::int64_t tile) {
  const Winograd& by = winograd_of(tile);
  const std::int64_t side = tile + 2;
  Pairs behind(x.shape().size()), range{{0, x.size(0)}, {0, weight.size(0)}};
  Sizes tiles;
  for (int i = 0; i < spatial; ++i) {
    const std::int64_t outputs = x.size(2 + i) - 2;
    tiles.push_back((outputs + tile - 1) / tile);
    behind[2 + static_cast<std::size_t>(i)].second = tiles.back() * tile - outputs;
    range.emplace_back(0, outputs);
  }
  const auto [in, w] = in_groups(x.pad(behind), weight,
                                 {x.size(0), groups, weight.size(1), weight.size(0) / groups});
  const auto axes = static_cast<std::size_t>(spatial);
  const Array seen = transformed(by.inputs, windows(in, Sizes(axes, side), {tile}, {1}), spatial);
  Sizes beside = w.shape();
  beside.insert(beside.end() - spatial, axes, 1);
  const Array products = sum(seen * transformed(by.weights, w.reshape(beside), spatial), {3});
  const Array y = transformed(by.outputs, products, spatial);  // (.., tiles..., outputs...)
  std::vector<int> order{0, 1, 2};
  Sizes shape{x.size(0), weight.size(0)};
  for (int i = 0; i < spatial; ++i) {
    order.insert(order.end(), {3 + i, 3 + spatial + i});
    shape.push_back(tiles[static_cast<std::size_t>(i)] * tile);
  }
  return y.permute(order).reshape(shape).shrink(range);
}

Array fourier(const Array& x, const Array& weight, std::int64_t groups) {
  const std::int64_t n = x.size(-1), window = weight.size(-1), outputs = n - window + 1;
  const std::int64_t in = weight.size(1), out = weight.size(0) / groups;
  const auto [left, right] = in_groups(x, weight, {x.size(0), groups, in, out});
  // sum over t of v[t] wave(2 pi k t / n), for each k.
  const auto part = [&](const Array& v, Wave kind) {
    return sum(with_axis(v, v.rank() - 1) * wave(kind, n, v.size(-1), n, x.dtype()), {-1});
  };
  const auto back = [&](const Array& v, Wave kind) {
    return with_axis(v, v.rank() - 1) * wave(kind, outputs, n, n, x.dtype());
  };
  const Array xr = part(left, Wave::Cosine), xi = part(left, Wave::Sine),
              wr = part(right, Wave::Cosine), wi = part(right, Wave::Sine);
  const Array real = sum(xr * wr + xi * wi, {3}), imaginary = sum(xi * wr - xr * wi, {3});
  const Array y = sum(back(real, Wave::Cosine) + back(imaginary, Wave::Sine), {-1}) /
                  Array(static_cast<double>(n));
  return y.reshape({x.size(0), weight.size(0), outputs});
}

Array fourier_plane(const Array& x, const Array& weight, std::int64_t groups) {
  const std::int64_t columns = x.size(-1), rows = x.size(-2) - weight.size(-2) + 1;
  const std::int64_t rest = weight.size(-1) - 1;
  const auto flat = [](const Array& v) {
    return v.reshape({v.size(0), v.size(1), v.size(2) * v.size(3)});
  };
  const Array line = flat(weight.pad({{0, 0}, {0, 0}, {0, 0}, {0, columns - rest - 1}}));
  Pairs window = whole_ranges(line.shape());
  window[2].second -= columns - rest - 1;
  const Array y = fourier(flat(x), line.shrink(window), groups).pad({{0, 0}, {0, 0}, {0, rest}});
  return y.reshape({x.size(0), weight.size(0), rows, columns})
      .shrink({{0, x.size(0)}, {0, weight.size(0)}, {0, rows}, {0, columns - rest}});
}

}  // namespace touchstone::define
