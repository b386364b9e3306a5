#include "touchstone/shapetracker/view/flat_view.h"

#include <algorithm>

namespace touchstone::shapetracker {
namespace {

// Merges `coarse` into `fine` if that loses nothing; true if done.
bool join(Level& fine, const Level& coarse, std::uint64_t& offset) {
  if (coarse.end - coarse.begin == 1) {
    // Its stride is free, 0 in canonical views: continue the finer one.
    const std::int64_t first = coarse.begin * fine.size;
    offset -= wrap(fine.stride) * wrap(first);
    fine.begin += first;
    fine.end += first;
  } else if (!fine.cut() && static_cast<Wide>(fine.stride) * fine.size == coarse.stride) {
    fine.begin = coarse.begin * fine.size;
    fine.end = coarse.end * fine.size;
  } else {
    return false;
  }
  fine.size *= coarse.size;
  fine.span = coarse.span;
  return true;
}

}  // namespace

FlatView::FlatView(const View& view) : offset_(wrap(view.offset().as_int())) {
  for (std::size_t i = view.shape().size(); i-- > 0;) {
    const auto [size, stride, begin, end] = axis_of(view, i);
    if (size == 1) continue;
    const Level level{size_, size, size_ * size, stride, begin, end};
    size_ = level.span;
    if (levels_.empty() || !join(levels_.back(), level, offset_)) levels_.push_back(level);
  }
  for (std::size_t i = 0; i + 1 < levels_.size(); ++i)
    levels_[i].jump =
        levels_[i + 1].stride - static_cast<Wide>(levels_[i].stride) * levels_[i].size;
  masked_ = std::ranges::any_of(levels_, [](const Level& level) { return level.cut(); });
}

bool FlatView::descend(std::int64_t& k) const {
  std::uint64_t address = offset_;
  for (const Level& level : levels_) {
    const std::int64_t rest = k / level.size;
    const std::int64_t digit = k - rest * level.size;
    if (digit < level.begin || digit >= level.end) return false;
    address += wrap(level.stride) * wrap(digit);
    k = rest;
  }
  k = static_cast<std::int64_t>(address);
  return true;
}

std::optional<std::int64_t> FlatView::at(std::int64_t k) const {
  return descend(k) ? std::optional(k) : std::nullopt;
}

namespace {

// The product; nullopt if two ints overflow: the join is skipped.
std::optional<sint> product(const sint& a, const sint& b) {
  std::int64_t ignored = 0;
  if (a.is_int() && b.is_int() && __builtin_mul_overflow(a.as_int(), b.as_int(), &ignored))
    return std::nullopt;
  return a * b;
}

std::optional<sint> difference(const sint& a, const sint& b) {
  std::int64_t ignored = 0;
  if (a.is_int() && b.is_int() && __builtin_sub_overflow(a.as_int(), b.as_int(), &ignored))
    return std::nullopt;
  return a - b;
}

// Merges `coarse` into `fine` (see join_digits); false if impossible.
bool join(Digit& fine, const Digit& coarse, sint& offset) {
  if (certainly_eq(coarse.end - coarse.begin, 1)) {
    const sint first = coarse.begin * fine.size;
    // In a canonical view the coarse digit has stride 0 here.
    const std::optional<sint> shift = product(first, fine.stride);
    const std::optional<sint> moved = shift ? difference(offset, *shift) : std::nullopt;
    if (!moved) return false;
    offset = *moved;
    fine.begin = fine.begin + first;
    fine.end = fine.end + first;
    fine.size = fine.size * coarse.size;
    return true;
  }
  const bool fine_full = certainly_eq(fine.begin, 0) && certainly_eq(fine.end, fine.size);
  const std::optional<sint> next = product(fine.stride, fine.size);
  if (!fine_full || !next || !certainly_eq(*next, coarse.stride)) return false;
  fine.begin = coarse.begin * fine.size;
  fine.end = coarse.end * fine.size;
  fine.size = fine.size * coarse.size;
  return true;
}

}  // namespace

Digits join_digits(const View& view) {
  Digits result{{}, view.offset()};
  sint weight = 1;
  for (std::size_t i = view.shape().size(); i-- > 0;) {
    const sint& size = view.shape()[i];
    const auto [begin, end] = view.range(i);
    Digit digit{weight, size, view.strides()[i], begin, end};
    // An axis of size 1 matters only if variables decide whether its index is valid.
    if (certainly_eq(size, 1) && certainly_eq(digit.begin, 0) && certainly_eq(digit.end, 1))
      continue;
    weight = weight * size;
    if (result.digits.empty() || !join(result.digits.back(), digit, result.offset))
      result.digits.push_back(std::move(digit));
  }
  return result;
}

}  // namespace touchstone::shapetracker
