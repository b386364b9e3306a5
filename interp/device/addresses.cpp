#include "touchstone/interp/device/addresses.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace touchstone::interp {
namespace {

// Appends a run, or extends the last one if it continues it.
void append(std::vector<AddressRun>& runs, const AddressRun& run) {
  if (!runs.empty()) {
    AddressRun& last = runs.back();
    const bool goes_on =
        run.valid() ? last.valid() && run.stride == last.stride && run.base == last.at(last.count)
                    : !last.valid();
    if (goes_on) {
      last.count += run.count;
      return;
    }
  }
  runs.push_back(run);
}

void append_masked(std::vector<AddressRun>& runs, std::int64_t count) {
  append(runs, {count, -1, 0});
}

// The steps j in [0, count) with begin <= digit + j * step < end, as a range.
std::pair<std::int64_t, std::int64_t> steps_inside(std::int64_t digit, std::int64_t step,
                                                   std::int64_t begin, std::int64_t end,
                                                   std::int64_t count) {
  const auto steps = [](std::int64_t way, std::int64_t pace) {  // number to cover `way`
    return way <= 0 ? 0 : (way + pace - 1) / pace;
  };
  std::int64_t from = 0, to = count;
  if (step > 0) {
    from = steps(begin - digit, step);
    to = steps(end - digit, step);
  } else if (step < 0) {
    from = steps(digit - (end - 1), -step);
    to = steps(digit - (begin - 1), -step);
  } else if (digit < begin || digit >= end) {
    to = 0;
  }
  to = std::min(to, count);
  return {std::min(from, to), to};
}

// Appends `count` elements from `base` on, of which [from, to) are valid.
void append_part(std::vector<AddressRun>& runs, std::uint64_t base, std::int64_t stride,
                 std::int64_t from, std::int64_t to, std::int64_t count) {
  if (from == to) return append_masked(runs, count);
  if (from > 0) append_masked(runs, from);
  const std::uint64_t first =
      base + static_cast<std::uint64_t>(from) * static_cast<std::uint64_t>(stride);
  append(runs, {to - from, static_cast<std::int64_t>(first), stride});
  if (to < count) append_masked(runs, count - to);
}

}  // namespace

Addresses::FlatView Addresses::flatten(const View& view, std::span<const int> order) {
  FlatView flat{{}, view.offset().as_int()};
  for (const int a : order) {
    const auto i = static_cast<std::size_t>(a);
    const std::int64_t size = view.shape()[i].as_int();
    Axis axis{size, view.strides()[i].as_int(), 0, size};
    if (view.mask()) {
      axis.begin = (*view.mask())[i].first.as_int();
      axis.end = (*view.mask())[i].second.as_int();
    }
    if (size == 1 && axis.begin <= 0 && axis.end >= 1) continue;
    const bool goes_on = !flat.axes.empty() && !flat.axes.back().masked() && !axis.masked() &&
                         static_cast<std::uint64_t>(flat.axes.back().stride) == way(axis, size);
    if (goes_on) {
      axis.size = axis.end = flat.axes.back().size * size;
      flat.axes.back() = axis;
    } else {
      flat.axes.push_back(axis);
    }
  }
  return flat;
}

Addresses::Addresses(const ShapeTracker& st, std::span<const int> order)
    : outer_(flatten(st.views().back(), order)) {
  for (auto view = st.views().rbegin() + 1; view != st.views().rend(); ++view) {
    std::vector<int> all(view->shape().size());
    std::iota(all.begin(), all.end(), 0);
    inner_.push_back(flatten(*view, all));
  }
}

std::uint64_t Addresses::way(const Axis& axis, std::int64_t steps) {
  return static_cast<std::uint64_t>(axis.stride) * static_cast<std::uint64_t>(steps);
}

// Appends the elements that an inner view assigns to the flat indices of a run: as long as they
// stay in one row of its last axis they form a run again.
void Addresses::through(const FlatView& view, AddressRun flat, std::vector<AddressRun>& out) {
  if (view.axes.empty()) return append(out, {flat.count, view.offset, 0});
  const Axis& last = view.axes.back();
  while (flat.count > 0) {
    std::int64_t rest = flat.base;
    const std::int64_t digit = rest % last.size;
    rest /= last.size;
    const std::int64_t count = steps_inside(digit, flat.stride, 0, last.size, flat.count).second;
    auto address = static_cast<std::uint64_t>(view.offset) + way(last, digit);
    bool valid = true;
    for (auto axis = view.axes.rbegin() + 1; axis != view.axes.rend() && valid; ++axis) {
      const std::int64_t index = rest % axis->size;
      rest /= axis->size;
      valid = index >= axis->begin && index < axis->end;
      address += way(*axis, index);
    }
    if (valid) {
      const auto [from, to] = steps_inside(digit, flat.stride, last.begin, last.end, count);
      append_part(out, address, static_cast<std::int64_t>(way(last, flat.stride)), from, to, count);
    } else {
      append_masked(out, count);
    }
    flat.base += count * flat.stride;
    flat.count -= count;
  }
}

// The outer view: an odometer whose innermost axis is one run. Sums wrap: only masked-out elements
// have addresses beyond 64 bits.
void Addresses::walk(std::int64_t first, std::int64_t count, std::vector<AddressRun>& out) const {
  const std::size_t rank = outer_.axes.size();
  auto base = static_cast<std::uint64_t>(outer_.offset);
  if (rank == 0) return append(out, {count, outer_.offset, 0});
  const auto outside = [](const Axis& axis, std::int64_t index) {
    return index < axis.begin || index >= axis.end ? 1 : 0;
  };
  std::vector<std::int64_t> index(rank);
  int masking = 0;  // number of outer axes whose index is outside the mask
  for (std::size_t i = rank; i-- > 0;) {
    const Axis& axis = outer_.axes[i];
    index[i] = first % axis.size;
    first /= axis.size;
    if (i + 1 == rank) continue;
    base += way(axis, index[i]);
    masking += outside(axis, index[i]);
  }
  const Axis& last = outer_.axes[rank - 1];
  for (std::int64_t at = index[rank - 1]; count > 0; at = 0) {
    const std::int64_t length = std::min(last.size - at, count);
    const std::int64_t to = masking > 0 ? 0 : std::clamp(last.end - at, std::int64_t{0}, length);
    const std::int64_t from = std::clamp(last.begin - at, std::int64_t{0}, to);
    append_part(out, base + way(last, at), last.stride, from, to, length);
    count -= length;
    for (std::size_t i = rank - 1; i-- > 0;) {
      const Axis& axis = outer_.axes[i];
      masking -= outside(axis, index[i]);
      const bool around = ++index[i] == axis.size;
      base += way(axis, around ? 1 - axis.size : 1);
      if (around) index[i] = 0;
      masking += outside(axis, index[i]);
      if (!around) break;
    }
  }
}

void Addresses::runs(std::int64_t first, std::int64_t count, std::vector<AddressRun>& out) const {
  out.clear();
  walk(first, count, out);
  std::vector<AddressRun> outer;
  for (const FlatView& view : inner_) {
    std::swap(outer, out);
    out.clear();
    for (const AddressRun& run : outer)
      run.valid() ? through(view, run, out) : append_masked(out, run.count);
  }
}

void Addresses::read(std::int64_t first, std::span<std::int64_t> out) const {
  std::vector<AddressRun> all;
  runs(first, static_cast<std::int64_t>(out.size()), all);
  std::size_t i = 0;
  for (const AddressRun& run : all)
    for (std::int64_t k = 0; k < run.count; ++k) out[i++] = run.at(k);
}

}  // namespace touchstone::interp
