#include "touchstone/shapetracker/view/digits.h"

namespace touchstone::shapetracker {
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
    Digit digit{weight, size, view.strides()[i], 0, size};
    if (view.mask()) std::tie(digit.begin, digit.end) = (*view.mask())[i];
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
