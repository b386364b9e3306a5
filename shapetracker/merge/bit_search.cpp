#include "touchstone/shapetracker/merge/bit_search.h"

#include <algorithm>
#include <bit>

namespace touchstone::shapetracker {

BitSearch::BitSearch(const FlatIndex& index, const FlatView& view, std::int64_t most_words)
    : index_(index), view_(view), words_left_(most_words), valid_(view.size()) {
  valid_.insert_range(0, view.size());
  for (const Level& level : view.levels())
    if (level.cut() && spend(2))
      valid_.keep_common(BitSet::periodic(view.size(), level.span, level.low(), level.high()));
}

// Charges passes over a whole set; false if the budget is spent.
bool BitSearch::spend(std::int64_t passes) {
  words_left_ -= passes * valid_.words();
  return words_left_ >= 0;
}

std::optional<std::int64_t> BitSearch::at(const Point& point) const {
  return view_.at(index_.at(point));
}

BitSearch::Reach BitSearch::reach(const Box& box) const {
  Reach reach{index_.at(box.low), {}};
  for (const BoxDim& dim : box.dims) {
    const std::int64_t stride = index_.slope(dim);
    if (stride < 0) reach.lowest += stride * (dim.extent - 1);
    reach.dims.push_back({std::abs(stride), dim.extent});
  }
  return reach;
}

// The flat indices of a box: log(extent) shifts for each dim.
std::optional<BitSet> BitSearch::reached(const Reach& reach) {
  BitSet set(view_.size());
  set.insert(reach.lowest);
  for (const auto& [stride, extent] : reach.dims)
    for (std::int64_t have = 1; have < extent;) {
      const std::int64_t more = std::min(have, extent - have);
      if (!spend(1)) return std::nullopt;
      set.insert_shifted(stride * more);
      have += more;
    }
  return set;
}

// Sets located_ to a point of the box with this flat index, which must exist: dim by dim, the first
// value that the other dims can complete.
BitSearch::Truth BitSearch::locate(std::int64_t flat, const Box& box) {
  located_ = box.low;
  Reach rest = reach(box);
  for (std::size_t i = box.dims.size(); i-- > 0;) {
    const auto [stride, extent] = rest.dims[i];
    rest.dims.pop_back();
    const std::optional<BitSet> others = reached(rest);
    if (!others) return Truth::Unknown;
    std::int64_t z = 0;
    while (z + 1 < extent && (flat < 0 || !others->contains(flat))) {
      ++z;
      flat -= stride;
    }
    const std::int64_t original = index_.slope(box.dims[i]);
    located_[box.dims[i].axis] += box.dims[i].step * (original < 0 ? extent - 1 - z : z);
  }
  return Truth::Yes;
}

BitSearch::Found BitSearch::find(const Box& box) {
  const std::optional<BitSet> set = words_left_ >= 0 ? reached(reach(box)) : std::nullopt;
  if (!set) return {Truth::Unknown, {}};
  const std::optional<std::int64_t> flat = set->first_common(valid_);
  if (!flat) return {Truth::No, {}};
  return {locate(*flat, box), located_};
}

// A member of `from` whose carries do not change the address by `missing`. Follows the carry
// patterns that occur, so its sets are never empty.
std::optional<std::int64_t> BitSearch::unequal(const BitSet& from, std::span<const Carry> carries,
                                               Wide missing) {
  const std::optional<std::int64_t> member = from.first();
  if (!member) return std::nullopt;
  if (carries.empty()) return missing == 0 ? std::nullopt : member;
  if (!spend(4)) return std::nullopt;
  BitSet part = from;
  part.remove(carries.front().where);
  if (const auto found = unequal(part, carries.subspan(1), missing)) return found;
  part = from;
  part.keep_common(carries.front().where);
  return unequal(part, carries.subspan(1), missing - carries.front().jump);
}

// Tests that one step along `dim` changes the address by `slope` everywhere in the box, which
// reaches `all` and is valid. The members with a successor include the starts of these steps and
// usually decide.
BitSearch::Truth BitSearch::gains(const Box& box, const BitSet& all, std::size_t dim,
                                  std::int64_t slope) {
  Box start = box;  // start points of the step, in the direction of rising flat index
  const std::int64_t signed_stride = index_.slope(box.dims[dim]);
  const std::int64_t stride = std::abs(signed_stride);
  if (signed_stride < 0) {
    start.low[box.dims[dim].axis] += box.dims[dim].step;
    slope = -slope;
  }
  start.dims[dim].extent -= 1;
  Wide missing = slope - static_cast<Wide>(view_.levels()[0].stride) * stride;
  std::vector<Carry> carries;
  for (const Level& level : view_.levels()) {
    if (level.jump == 0) continue;
    missing -= level.jump * (stride / level.span);
    const std::int64_t rest = stride % level.span;
    if (rest == 0) continue;
    if (!spend(8)) return Truth::Unknown;
    carries.push_back(
        {BitSet::periodic(view_.size(), level.span, level.span - rest, level.span - 1),
         level.jump});
  }
  carries_cancelled_ = carries_cancelled_ || !carries.empty();
  if (!spend(2)) return Truth::Unknown;
  BitSet starts = all;
  starts.keep_with_successor(stride);
  std::optional<std::int64_t> flat = unequal(starts, carries, missing);
  if (flat) {
    const std::optional<BitSet> exact = reached(reach(start));
    if (!exact) return Truth::Unknown;
    flat = unequal(*exact, carries, missing);
  }
  if (words_left_ < 0) return Truth::Unknown;
  if (!flat) return Truth::Yes;
  if (locate(*flat, start) != Truth::Yes) return Truth::Unknown;
  counterexample_ = located_;
  return Truth::No;
}

BitSearch::Truth BitSearch::is_affine(const Box& box, std::int64_t base, const Point& slopes) {
  const std::optional<BitSet> set = reached(reach(box));
  if (!set) return Truth::Unknown;
  if (const auto flat = set->first_outside(valid_)) {
    if (locate(*flat, box) != Truth::Yes) return Truth::Unknown;
    counterexample_ = located_;
    return Truth::No;
  }
  const auto agrees = [&](const Point& point) {
    Wide wanted = base;
    for (std::size_t axis = 0; axis < point.size(); ++axis)
      wanted += static_cast<Wide>(slopes[axis]) * (point[axis] - box.low[axis]);
    return at(point) == static_cast<std::int64_t>(wanted);
  };
  for (std::size_t dim = 0; dim < box.dims.size(); ++dim) {
    const auto axis = box.dims[dim].axis;
    const Truth truth = gains(box, *set, dim, slopes[axis] * box.dims[dim].step);
    if (truth == Truth::Yes) continue;
    if (truth == Truth::No && agrees(counterexample_)) {  // then the point after the step does not
      const bool falling = index_.slope(box.dims[dim]) < 0;
      counterexample_[axis] += falling ? -box.dims[dim].step : box.dims[dim].step;
    }
    return truth;
  }
  return Truth::Yes;
}

namespace {

constexpr std::uint64_t kAll = ~std::uint64_t{0};

std::int64_t number_of(std::size_t word, std::uint64_t bits) {
  return static_cast<std::int64_t>(word) * 64 + std::countr_zero(bits);
}

}  // namespace

void BitSet::cut_off() {
  if (size_ % 64 != 0) words_.back() &= kAll >> (64 - size_ % 64);
}

void BitSet::insert_range(std::int64_t begin, std::int64_t end) {
  end = std::min(end, size_);
  if (begin >= end) return;
  const auto first = static_cast<std::size_t>(begin / 64),
             last = static_cast<std::size_t>((end - 1) / 64);
  const std::uint64_t head = kAll << (begin % 64), tail = kAll >> (63 - (end - 1) % 64);
  if (first == last) {
    words_[first] |= head & tail;
    return;
  }
  words_[first] |= head;
  std::fill(words_.begin() + static_cast<std::ptrdiff_t>(first) + 1,
            words_.begin() + static_cast<std::ptrdiff_t>(last), kAll);
  words_[last] |= tail;
}

void BitSet::insert_shifted(std::int64_t by) {
  if (by == 0 || by >= size_) return;
  const auto jump = static_cast<std::size_t>(by / 64);
  const auto slide = static_cast<unsigned>(by % 64);
  // From the top: a word is read before it is overwritten.
  for (std::size_t i = words_.size(); i-- > jump;) {
    std::uint64_t moved = words_[i - jump] << slide;
    if (slide != 0 && i > jump) moved |= words_[i - jump - 1] >> (64 - slide);
    words_[i] |= moved;
  }
  cut_off();
}

void BitSet::keep_with_successor(std::int64_t by) {
  const auto jump = static_cast<std::size_t>(by / 64);
  const auto slide = static_cast<unsigned>(by % 64);
  for (std::size_t i = 0; i < words_.size(); ++i) {
    std::uint64_t moved = i + jump < words_.size() ? words_[i + jump] >> slide : 0;
    if (slide != 0 && i + jump + 1 < words_.size()) moved |= words_[i + jump + 1] << (64 - slide);
    words_[i] &= moved;
  }
}

void BitSet::keep_common(const BitSet& other) {
  for (std::size_t i = 0; i < words_.size(); ++i) words_[i] &= other.words_[i];
}

void BitSet::remove(const BitSet& other) {
  for (std::size_t i = 0; i < words_.size(); ++i) words_[i] &= ~other.words_[i];
}

std::optional<std::int64_t> BitSet::first() const {
  for (std::size_t i = 0; i < words_.size(); ++i)
    if (words_[i] != 0) return number_of(i, words_[i]);
  return std::nullopt;
}

std::optional<std::int64_t> BitSet::first_outside(const BitSet& other) const {
  for (std::size_t i = 0; i < words_.size(); ++i)
    if (const std::uint64_t bits = words_[i] & ~other.words_[i]; bits != 0)
      return number_of(i, bits);
  return std::nullopt;
}

std::optional<std::int64_t> BitSet::first_common(const BitSet& other) const {
  for (std::size_t i = 0; i < words_.size(); ++i)
    if (const std::uint64_t bits = words_[i] & other.words_[i]; bits != 0)
      return number_of(i, bits);
  return std::nullopt;
}

BitSet BitSet::periodic(std::int64_t size, std::int64_t span, std::int64_t low, std::int64_t high) {
  BitSet set(size);
  if (span >= 512) {
    for (std::int64_t start = 0; start < size; start += span)
      set.insert_range(start + low, start + high + 1);
  } else {
    set.insert_range(low, high + 1);
    for (std::int64_t have = span; have < size; have *= 2) set.insert_shifted(have);
  }
  return set;
}

}  // namespace touchstone::shapetracker
