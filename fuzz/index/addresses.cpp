#include <algorithm>
#include <span>

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

std::int64_t Source::at(const Ints& index) const {
  std::int64_t place = start;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (index[i] < axes[i].lo || index[i] >= axes[i].hi) return -1;
    place += index[i] * axes[i].step;
  }
  return place;
}

std::optional<Source> source_of(const Ints& old, const MovementOp& op, std::int64_t most) {
  const std::size_t rank = old.size();
  bool fits = std::ranges::all_of(old, [](std::int64_t size) { return size <= INT64_MAX / 4; });
  const auto product = [&](std::int64_t a, std::int64_t b) {
    std::int64_t out = 0;
    fits = fits && !__builtin_mul_overflow(a, b, &out);
    return out;
  };
  const auto row_major = [&](const Ints& shape) {
    boost::container::small_vector<std::int64_t, 8> strides(shape.size(), 1);
    for (std::size_t i = shape.size(); i-- > 1;)
      strides[i - 1] = product(strides[i], std::max<std::int64_t>(shape[i], 1));
    return strides;
  };
  const auto row = row_major(old);
  Source source;
  auto& axes = source.axes;
  // One entry for each axis, from the operation's arguments.
  const auto each_axis = [&](std::size_t entries, const auto& axis) {
    fits = fits && entries == rank;
    for (std::size_t i = 0; i < rank && fits; ++i) axes.push_back(axis(i));
  };
  switch (op.kind) {
    case Kind::Reshape: {
      const Ints shape = concrete(op.shape);
      const auto strides = row_major(shape);
      std::int64_t now = 1, before = 1;
      for (const std::int64_t size : old) before = product(before, size);
      for (std::size_t i = 0; i < shape.size(); ++i) {
        if (shape[i] < 0) throw ParseError(fmt::format("a size of {}", shape[i]));
        now = product(now, shape[i]);
        axes.push_back({shape[i], strides[i], 0, shape[i]});
      }
      fits = fits && now == before;
      break;
    }
    case Kind::Permute: {
      std::vector<bool> seen(rank, false);
      each_axis(op.order.size(), [&](std::size_t i) {
        const auto axis = static_cast<std::size_t>(op.order[i]);
        fits = axis < rank && !seen[axis];
        if (!fits) return Source::Axis{};
        seen[axis] = true;
        return Source::Axis{old[axis], row[axis], 0, old[axis]};
      });
      break;
    }
    case Kind::Expand:
      each_axis(op.shape.size(), [&](std::size_t i) {
        const std::int64_t size = op.shape[i].as_int();
        fits = size == old[i] || (old[i] == 1 && size >= 0);
        return Source::Axis{size, size == old[i] ? row[i] : 0, 0, size};
      });
      break;
    case Kind::Pad:
      each_axis(op.ends.size(), [&](std::size_t i) {
        const std::int64_t a = op.ends[i].first.as_int(), b = op.ends[i].second.as_int();
        fits = a >= 0 && b >= 0 && a <= most && b <= most;
        source.start -= product(a, row[i]);
        return Source::Axis{old[i] + a + b, row[i], a, a + old[i]};
      });
      break;
    case Kind::Shrink:
      each_axis(op.ends.size(), [&](std::size_t i) {
        const std::int64_t a = op.ends[i].first.as_int(), b = op.ends[i].second.as_int();
        fits = 0 <= a && a <= b && b <= old[i];
        source.start += product(a, row[i]);
        return Source::Axis{b - a, row[i], 0, b - a};
      });
      break;
    case Kind::Stride:
      each_axis(op.steps.size(), [&](std::size_t i) {
        const std::int64_t by = op.steps[i], size = by < 0 ? -by : by;
        fits = by != 0 && by >= -most && by <= most;
        if (!fits) return Source::Axis{};
        if (by < 0) source.start += product(old[i] - 1, row[i]);
        const std::int64_t count = (old[i] + size - 1) / size;
        return Source::Axis{count, product(by, row[i]), 0, count};
      });
      break;
    case Kind::AsStrided: {
      const Ints wanted = concrete(op.shape), step = concrete(op.strides);
      source.start = op.offset.as_int();
      fits = fits && step.size() == wanted.size();
      std::int64_t low = source.start, high = source.start, count = 1, elements = 1;
      for (const std::int64_t size : old) elements = product(elements, size);
      for (const std::int64_t size : wanted) {
        if (size < 0) throw ParseError(fmt::format("a size of {}", size));
        count = size == 0 ? 0 : count;
      }
      for (std::size_t i = 0; i < wanted.size() && fits; ++i) {
        axes.push_back({wanted[i], step[i], 0, wanted[i]});
        if (count == 0) continue;
        fits = step[i] >= -most && step[i] <= most && wanted[i] <= most;
        (step[i] < 0 ? low : high) += product(step[i], wanted[i] - 1);
      }
      fits = fits && (count == 0 || (low >= 0 && high < elements));
      break;
    }
  }
  return fits ? std::optional(source) : std::nullopt;
}

bool try_move(Addresses& array, const MovementOp& op) {
  const std::optional<Source> source = source_of(array.shape, op, kMostCells);
  if (!source) return false;
  Ints shape;
  for (const Source::Axis& axis : source->axes) shape.push_back(axis.size);
  std::vector<std::int64_t> cells(static_cast<std::size_t>(count_cells(shape)));
  if (op.kind != Kind::Reshape) {
    gather(*source, cells,
           [&](std::int64_t from) { return array.cells[static_cast<std::size_t>(from)]; });
    array.cells = std::move(cells);
  }
  array.shape = std::move(shape);
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
