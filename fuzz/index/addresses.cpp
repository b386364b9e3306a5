#include <algorithm>
#include <span>

#include <boost/container/small_vector.hpp>

#include "touchstone/fuzz/index/view_case.h"

namespace touchstone::fuzz {
namespace {

using Ints = std::vector<std::int64_t>;
using Kind = MovementOp::Kind;

std::int64_t count_cells(const Ints& shape) {
  std::int64_t n = 1;
  for (const std::int64_t size : shape)
    if (size < 0) throw ParseError(fmt::format("a size of {}", size));
  for (const std::int64_t size : shape) {
    if (size == 0) return 0;
    if (size > kMostCells || (n *= size) > kMostCells)
      throw TooManyCells(fmt::format("more than {} elements", kMostCells));
  }
  return n;
}

/// The source of each element: element sum(index * step) + start where lo <= index < hi on every
/// axis, padding elsewhere.
struct Source {
  struct Axis {
    std::int64_t size = 0, step = 0, lo = 0, hi = 0;
  };
  boost::container::small_vector<Axis, 8> axes;
  std::int64_t start = 0;
};

/// Elements in row-major order: of(source place), -1 for padding.
template <class Of>
void gather(const Source& source, std::vector<std::int64_t>& cells, const Of& of) {
  if (cells.empty()) return;
  const std::span<const Source::Axis> axes(source.axes.data(), source.axes.size());
  const std::span<const Source::Axis> rows = axes.first(axes.empty() ? 0 : axes.size() - 1);
  const Source::Axis row = axes.empty() ? Source::Axis{1, 0, 0, 1} : axes.back();
  boost::container::small_vector<std::int64_t, 8> index(rows.size(), 0);
  for (std::int64_t* out = cells.data(); out != cells.data() + cells.size(); out += row.size) {
    std::int64_t from = source.start;
    bool inside = row.lo < row.hi;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      inside = inside && rows[i].lo <= index[i] && index[i] < rows[i].hi;
      from += index[i] * rows[i].step;
    }
    if (!inside) {
      std::fill(out, out + row.size, -1);
    } else {
      std::fill(out, out + row.lo, -1);
      for (std::int64_t i = row.lo; i < row.hi; ++i) out[i] = of(from + i * row.step);
      std::fill(out + row.hi, out + row.size, -1);
    }
    for (std::size_t i = rows.size(); i-- > 0;) {
      if (++index[i] < rows[i].size) break;
      index[i] = 0;
    }
  }
}

}  // namespace

Addresses addresses_of(const Shape& base) {
  Addresses array{concrete(base), {}};
  array.cells.resize(static_cast<std::size_t>(count_cells(array.shape)));
  for (std::size_t i = 0; i < array.cells.size(); ++i)
    array.cells[i] = static_cast<std::int64_t>(i);
  return array;
}

void move(Addresses& array, const MovementOp& op) {
  if (!try_move(array, op))
    throw ParseError(
        fmt::format("{} does not fit the shape ({})", op.str(), fmt::join(array.shape, ", ")));
}

bool try_move(Addresses& array, const MovementOp& op) {
  const Ints& old = array.shape;
  const std::size_t rank = old.size();
  boost::container::small_vector<std::int64_t, 8> row(rank, 1);  // row-major strides
  for (std::size_t i = rank; i-- > 1;) row[i - 1] = row[i] * std::max<std::int64_t>(old[i], 1);
  Source source;
  auto& axes = source.axes;
  axes.resize(rank);
  switch (op.kind) {
    case Kind::Reshape: {
      Ints shape = concrete(op.shape);
      if (count_cells(shape) != static_cast<std::int64_t>(array.cells.size())) return false;
      array.shape = std::move(shape);
      return true;
    }
    case Kind::Permute: {
      if (op.order.size() != rank) return false;
      boost::container::small_vector<bool, 8> seen(rank, false);
      for (std::size_t i = 0; i < rank; ++i) {
        const auto axis = static_cast<std::size_t>(op.order[i]);
        if (!(axis < rank && !seen[axis])) return false;
        seen[axis] = true;
        axes[i] = {old[axis], row[axis], 0, old[axis]};
      }
      break;
    }
    case Kind::Expand:
      if (op.shape.size() != rank) return false;
      for (std::size_t i = 0; i < rank; ++i) {
        const std::int64_t size = op.shape[i].as_int();
        if (!(size == old[i] || (old[i] == 1 && size >= 0))) return false;
        axes[i] = {size, size == old[i] ? row[i] : 0, 0, size};
      }
      break;
    case Kind::Pad:
    case Kind::Shrink:
      if (op.ends.size() != rank) return false;
      for (std::size_t i = 0; i < rank; ++i) {
        const std::int64_t a = op.ends[i].first.as_int(), b = op.ends[i].second.as_int();
        if (op.kind == Kind::Pad) {
          if (!(a >= 0 && b >= 0 && a <= kMostCells && b <= kMostCells)) return false;
          axes[i] = {old[i] + a + b, row[i], a, a + old[i]};
          source.start -= a * row[i];
        } else {
          if (!(0 <= a && a <= b && b <= old[i])) return false;
          axes[i] = {b - a, row[i], 0, b - a};
          source.start += a * row[i];
        }
      }
      break;
    case Kind::Stride:
      if (op.steps.size() != rank) return false;
      for (std::size_t i = 0; i < rank; ++i) {
        const std::int64_t by = op.steps[i];
        if (!(by != 0 && by >= -kMostCells && by <= kMostCells)) return false;
        const std::int64_t size = by < 0 ? -by : by;
        axes[i] = {(old[i] + size - 1) / size, by * row[i], 0, (old[i] + size - 1) / size};
        if (by < 0) source.start += (old[i] - 1) * row[i];
      }
      break;
    case Kind::AsStrided: {
      const Ints wanted = concrete(op.shape), step = concrete(op.strides);
      source.start = op.offset.as_int();
      if (step.size() != wanted.size()) return false;
      std::int64_t low = source.start, high = source.start;
      const std::int64_t count = count_cells(wanted);
      for (std::size_t i = 0; i < wanted.size() && count > 0; ++i) {
        if (!(step[i] >= -kMostCells && step[i] <= kMostCells)) return false;
        (step[i] < 0 ? low : high) += step[i] * (wanted[i] - 1);
      }
      if (count > 0 && !(low >= 0 && high < static_cast<std::int64_t>(array.cells.size())))
        return false;
      axes.resize(wanted.size());
      for (std::size_t i = 0; i < wanted.size(); ++i) axes[i] = {wanted[i], step[i], 0, wanted[i]};
      break;
    }
  }
  Ints shape;
  shape.reserve(axes.size());
  for (const Source::Axis& axis : axes) shape.push_back(axis.size);
  std::vector<std::int64_t> cells(static_cast<std::size_t>(count_cells(shape)));
  gather(source, cells,
         [&](std::int64_t from) { return array.cells[static_cast<std::size_t>(from)]; });
  array.shape = std::move(shape);
  array.cells = std::move(cells);
  return true;
}

std::int64_t address_of(const std::vector<View>& views, std::int64_t place) {
  for (std::size_t v = views.size(); v-- > 0;) {
    const View& view = views[v];
    std::int64_t address = view.offset().as_int();
    for (std::size_t i = view.shape().size(); i-- > 0;) {
      const std::int64_t size = view.shape()[i].as_int();
      if (size == 0) return -2;
      const std::int64_t index = place % size;
      place /= size;
      if (view.mask() &&
          (index < (*view.mask())[i].first.as_int() || index >= (*view.mask())[i].second.as_int()))
        return -1;
      address += index * view.strides()[i].as_int();
    }
    if (place != 0 || address < 0) return -2;  // beyond the view below
    place = address;
  }
  return place;
}

Addresses addresses_of(const std::vector<View>& views) {
  // From the buffer outwards: each view gathers from the array of the one below. The innermost view
  // reads the buffer's addresses directly.
  Addresses below;
  for (std::size_t v = 0; v < views.size(); ++v) {
    const View& view = views[v];
    Source source;
    source.start = view.offset().as_int();
    source.axes.resize(view.shape().size());
    for (std::size_t i = 0; i < source.axes.size(); ++i) {
      const std::int64_t size = view.shape()[i].as_int();
      source.axes[i] = {size, view.strides()[i].as_int(), 0, size};
      if (!view.mask()) continue;
      source.axes[i].lo = std::max<std::int64_t>((*view.mask())[i].first.as_int(), 0);
      source.axes[i].hi = std::min((*view.mask())[i].second.as_int(), size);
    }
    Addresses now{concrete(view.shape()), {}};
    now.cells.resize(static_cast<std::size_t>(count_cells(now.shape)));
    if (v == 0) {
      gather(source, now.cells, [](std::int64_t from) { return from >= 0 ? from : -2; });
    } else {
      gather(source, now.cells, [&](std::int64_t from) {
        const bool there = from >= 0 && from < std::ssize(below.cells);
        // Out of range in the view below: equal to no array.
        return there ? below.cells[static_cast<std::size_t>(from)] : -2;
      });
    }
    below = std::move(now);
  }
  return below;
}

}  // namespace touchstone::fuzz
