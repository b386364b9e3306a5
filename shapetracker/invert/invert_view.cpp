#include "touchstone/shapetracker/invert/invert_view.h"

#include <algorithm>
#include <utility>

#include "touchstone/base/checked.h"
#include "touchstone/shapetracker/limits.h"

namespace touchstone::shapetracker {
namespace {

/// An axis with several valid indices, counted from the end with the lowest address.
struct InvertedAxis {
  std::int64_t stride;  // > 0
  std::int64_t extent;
  std::int64_t weight;  // step in the flat index of the view, signed
};

/// A view as digits of its address: flat index start + sum(axis.weight * z) reads lowest +
/// sum(axis.stride * z).
struct Reading {
  std::int64_t lowest, highest;
  std::int64_t start;
  std::vector<InvertedAxis> axes;  // by stride
};

enum class Fix : std::uint8_t { First, Last };  // the index used on an axis of stride 0

Reading read(const View& view, Fix fix) {
  Reading reading{view.offset().as_int(), 0, 0, {}};
  Wide lowest = reading.lowest, highest = lowest;
  std::int64_t weight = 1;
  for (std::size_t axis = view.shape().size(); axis-- > 0;) {
    const auto [size, stride, begin, end] = axis_of(view, axis);
    const std::int64_t last = end - 1;
    const bool from_last = stride < 0 || (stride == 0 && fix == Fix::Last);
    reading.start += weight * (from_last ? last : begin);
    lowest += static_cast<Wide>(stride) * (from_last ? last : begin);
    highest += static_cast<Wide>(stride) * (from_last ? begin : last);
    if (last > begin && stride != 0)
      reading.axes.push_back({std::abs(stride), last - begin + 1, from_last ? -weight : weight});
    weight *= size;
  }
  reading.lowest = static_cast<std::int64_t>(lowest);
  reading.highest = static_cast<std::int64_t>(highest);
  std::ranges::sort(reading.axes, {}, [](const InvertedAxis& axis) {
    return std::pair(axis.stride, std::abs(axis.weight));
  });
  return reading;
}

/// A view under construction, coarse digits first.
struct Digits {
  std::vector<std::int64_t> sizes, weights, ends;

  void add(std::int64_t size, std::int64_t weight, std::int64_t end) {
    sizes.push_back(size);
    weights.push_back(weight);
    ends.push_back(end);
  }

  View view(std::int64_t offset) const {
    Mask mask;
    for (const std::int64_t end : ends) mask.emplace_back(0, end);
    return View::trusted({sizes.begin(), sizes.end()}, {weights.begin(), weights.end()}, offset,
                         std::move(mask));
  }
};

// For axes whose steps do not overlap: k - lowest as digits, one for each axis, coarse first. Valid
// at exactly the addresses that are read. nullopt if axes overlap.
std::optional<Maps> undo_digits(const Reading& reading, std::int64_t size) {
  Maps maps;
  Digits digits;
  const auto& axes = reading.axes;
  std::int64_t block = axes.empty() ? 1 : checked_mul(axes.back().stride, axes.back().extent);
  if (block <= reading.highest - reading.lowest) return std::nullopt;
  if (reading.lowest != 0 || block != size)
    maps.push_back(View::trusted({size}, {1}, -reading.lowest,
                                 Mask{{reading.lowest, std::min(reading.highest + 1, size)}}));
  std::int64_t blocks = 1;
  for (std::size_t i = axes.size(); i-- > 0;) {
    const auto& [stride, extent, weight] = axes[i];
    if (block % stride != 0) {  // leave gaps, so that whole steps fit in a block
      const std::int64_t wider = (block / stride + 1) * stride;
      maps.push_back(View::trusted({blocks, block}, {wider, 1}, 0, std::nullopt));
      block = wider;
    }
    const std::int64_t turns = block / stride;
    if (extent > turns) return std::nullopt;
    digits.add(turns, weight, extent);
    blocks = checked_mul(blocks, turns);
    block = stride;
  }
  const std::int64_t total = checked_mul(blocks, block);
  if (block > 1) digits.add(block, 0, 1);
  if (digits.sizes.empty()) digits.add(1, 0, 1);
  if (total < 1) return std::nullopt;
  maps.push_back(digits.view(reading.start));
  return maps;
}

/// Covers [0, size) with digits made of axes that may overlap: each digit's weight is the number of
/// addresses covered so far, as a number of steps along an axis.
class Cover {
 public:
  Cover(const Reading& reading, std::int64_t size) : size_(size), axes_(reading.axes) {}

  bool run() { return grow(1); }

  Maps maps(std::int64_t start) const {
    Digits digits;
    for (std::size_t i = chosen_.size(); i-- > 0;)
      digits.add(chosen_[i].extent, chosen_[i].weight, chosen_[i].extent);
    if (digits.sizes.empty()) digits.add(1, 0, 1);
    View view = digits.view(start);
    if (view.size() == sint(size_)) return {std::move(view)};
    return {View::contiguous({size_}), std::move(view)};
  }

 private:
  bool grow(std::int64_t covered) {
    if (covered >= size_) return true;
    if (++nodes_ > Limits::kInverseNodes) return false;
    for (std::size_t i = axes_.size(); i-- > 0;) {
      InvertedAxis& axis = axes_[i];
      if (covered % axis.stride != 0) continue;
      const std::int64_t step = covered / axis.stride, room = (axis.extent - 1) / step + 1;
      for (const std::int64_t count : counts(covered, room)) {
        chosen_.push_back({covered, count, axis.weight * step});
        axis.extent -= step * (count - 1);
        if (grow(covered * count)) return true;
        axis.extent += step * (count - 1);
        chosen_.pop_back();
      }
    }
    return false;
  }

  // Candidate sizes of a digit: all values left, or as many as align a coarser axis.
  std::vector<std::int64_t> counts(std::int64_t covered, std::int64_t room) const {
    const std::int64_t needed = (size_ - 1) / covered + 1;
    std::vector<std::int64_t> counts;
    if (room >= 2) counts.push_back(std::min(room, needed));
    for (const InvertedAxis& axis : axes_)
      for (std::int64_t factor = 1; factor <= 2; ++factor) {
        const Wide multiple = static_cast<Wide>(axis.stride) * factor;
        if (multiple % covered != 0) continue;
        const auto count = static_cast<std::int64_t>(multiple / covered);
        if (count >= 2 && count < room && count <= needed) counts.push_back(count);
      }
    for (std::int64_t count = std::min<std::int64_t>(room - 1, 12); count >= 2; --count)
      if (count <= needed && std::ranges::find(counts, count) == counts.end())
        counts.push_back(count);
    return counts;
  }

  std::int64_t size_;
  std::vector<InvertedAxis> axes_, chosen_;
  int nodes_ = 0;
};

}  // namespace

std::vector<Maps> inverse_candidates(const View& view, std::int64_t size) {
  std::vector<Maps> candidates;
  const bool repeats =
      std::ranges::any_of(view.strides(), [](const sint& stride) { return stride == sint(0); });
  for (const Fix fix : {Fix::First, Fix::Last}) {
    if (fix == Fix::Last && !repeats) break;
    const Reading reading = read(view, fix);
    if (reading.lowest < 0 || reading.lowest >= size) return candidates;
    if (auto maps = undo_digits(reading, size)) candidates.push_back(std::move(*maps));
    if (Cover cover(reading, size); reading.lowest == 0 && cover.run())
      candidates.push_back(cover.maps(reading.start));
  }
  return candidates;
}

namespace {

/// Digits of y, fine first, each with its step in the flat index, chosen so that every number
/// written with the digits so far maps to an index that reads it.
class DigitSearch {
 public:
  DigitSearch(const std::vector<std::int64_t>& addresses, std::int64_t size)
      : addresses_(addresses), readers_(static_cast<std::size_t>(size)) {
    for (std::size_t i = 0; i < addresses.size(); ++i)
      if (addresses[i] >= 0)
        readers_[static_cast<std::size_t>(addresses[i])].push_back(static_cast<std::int64_t>(i));
  }

  std::optional<Maps> run() {
    for (const std::int64_t start : readers_[0]) {
      indices_ = {start};
      if (grow()) return maps(start);
      if (spent_ > Limits::kTableSteps) break;
    }
    return std::nullopt;
  }

 private:
  std::int64_t size() const { return std::ssize(readers_); }

  bool grow() {
    const std::int64_t covered = std::ssize(indices_);
    if (covered >= size()) return true;
    for (const std::int64_t reader : readers_[static_cast<std::size_t>(covered)]) {
      if (spent_ > Limits::kTableSteps) return false;
      const std::int64_t weight = reader - indices_[0];
      for (std::int64_t count = repeats(weight); count >= 2; --count) {
        sizes_.push_back(count);
        weights_.push_back(weight);
        for (std::int64_t i = covered; i < covered * count; ++i)
          indices_.push_back(indices_[static_cast<std::size_t>(i - covered)] + weight);
        if (grow()) return true;
        indices_.resize(static_cast<std::size_t>(covered));
        sizes_.pop_back();
        weights_.pop_back();
      }
    }
    return false;
  }

  // The number of values of a digit worth `weight` on top of the digits so far.
  std::int64_t repeats(std::int64_t weight) {
    const std::int64_t covered = std::ssize(indices_);
    for (std::int64_t count = 1;; ++count) {
      if (covered * count >= size()) return count;
      for (std::int64_t y = 0; y < covered; ++y) {
        const std::int64_t index = indices_[static_cast<std::size_t>(y)] + weight * count;
        ++spent_;
        if (index < 0 || index >= std::ssize(addresses_)) return count;
        // Values beyond the last address are cut off, but must be indices.
        if (covered * count + y < size() &&
            addresses_[static_cast<std::size_t>(index)] != covered * count + y)
          return count;
      }
    }
  }

  Maps maps(std::int64_t start) const {
    const Shape shape(sizes_.rbegin(), sizes_.rend());
    const Strides strides(weights_.rbegin(), weights_.rend());
    View view = View::trusted(shape, strides, start, std::nullopt);
    if (view.size() == sint(size())) return {std::move(view)};
    return {View::contiguous({size()}), std::move(view)};
  }

  const std::vector<std::int64_t>& addresses_;
  std::vector<std::vector<std::int64_t>> readers_;  // of each address
  std::vector<std::int64_t> indices_, sizes_, weights_;
  std::int64_t spent_ = 0;
};

}  // namespace

std::optional<Maps> find_inverse(const std::vector<std::int64_t>& addresses, std::int64_t size) {
  return DigitSearch(addresses, size).run();
}

}  // namespace touchstone::shapetracker
