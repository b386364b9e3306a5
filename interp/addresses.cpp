#include "touchstone/interp/addresses.h"

#include <algorithm>

namespace touchstone::interp {

Addresses::FlatView Addresses::flatten(const View& view) {
  FlatView flat{{}, view.offset().as_int()};
  for (std::size_t i = 0; i < view.shape().size(); ++i) {
    const std::int64_t size = view.shape()[i].as_int();
    Axis axis{size, view.strides()[i].as_int(), 0, size};
    if (view.mask()) {
      axis.begin = (*view.mask())[i].first.as_int();
      axis.end = (*view.mask())[i].second.as_int();
    }
    flat.axes.push_back(axis);
  }
  return flat;
}

Addresses::Addresses(const ShapeTracker& st, std::span<const int> order) {
  FlatView outer = flatten(st.views().back());
  outer_.offset = outer.offset;
  for (const int axis : order) outer_.axes.push_back(outer.axes[static_cast<std::size_t>(axis)]);
  for (auto view = st.views().rbegin() + 1; view != st.views().rend(); ++view)
    inner_.push_back(flatten(*view));
}

std::int64_t Addresses::at(const FlatView& view, std::int64_t flat) {
  std::int64_t address = view.offset;
  for (auto axis = view.axes.rbegin(); axis != view.axes.rend(); ++axis) {
    const std::int64_t index = flat % axis->size;
    flat /= axis->size;
    if (index < axis->begin || index >= axis->end) return -1;
    address += index * axis->stride;
  }
  return address;
}

// The outer view alone: an odometer whose innermost axis runs in a plain loop.
void Addresses::walk(std::int64_t first, std::span<std::int64_t> out) const {
  const std::size_t rank = outer_.axes.size();
  if (rank == 0) {
    std::fill(out.begin(), out.end(), outer_.offset);
    return;
  }
  std::vector<std::int64_t> index(rank);
  for (std::size_t i = rank; i-- > 0;) {
    index[i] = first % outer_.axes[i].size;
    first /= outer_.axes[i].size;
  }
  const Axis& last = outer_.axes[rank - 1];
  for (std::size_t done = 0; done < out.size();) {
    std::int64_t base = outer_.offset;
    bool valid = true;
    for (std::size_t i = 0; i + 1 < rank; ++i) {
      valid = valid && index[i] >= outer_.axes[i].begin && index[i] < outer_.axes[i].end;
      base += index[i] * outer_.axes[i].stride;
    }
    const std::int64_t from = index[rank - 1];
    const std::int64_t to =
        std::min(last.size, from + static_cast<std::int64_t>(out.size() - done));
    for (std::int64_t i = from; i < to; ++i)
      out[done++] = valid && i >= last.begin && i < last.end ? base + i * last.stride : -1;
    index[rank - 1] = 0;
    for (std::size_t i = rank - 1; i-- > 0;) {
      if (++index[i] < outer_.axes[i].size) break;
      index[i] = 0;
    }
  }
}

void Addresses::read(std::int64_t first, std::span<std::int64_t> out) const {
  walk(first, out);
  for (const FlatView& view : inner_)
    for (std::int64_t& address : out)
      if (address >= 0) address = at(view, address);
}

}  // namespace touchstone::interp
