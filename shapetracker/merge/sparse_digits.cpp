#include "touchstone/shapetracker/merge/sparse_digits.h"

#include <algorithm>
#include <array>

#include "touchstone/base/checked.h"
#include "touchstone/shapetracker/limits.h"

namespace touchstone::shapetracker {
namespace {

using Digit = PositionDigits::Digit;

/// Fine digits of a map, of (position + phase); `weight` is the product of their sizes.
struct Fine {
  std::vector<Digit> digits;
  std::int64_t weight = 1, phase = 0;
};

Wide address_of(const std::vector<Digit>& digits, bool lowest) {
  Wide address = 0;
  for (const Digit& digit : digits)
    address += digit.stride * (lowest ? digit.begin : digit.end - 1);
  return address;
}

// The position within a period with the first (or last) valid value of every digit.
std::int64_t place_of(const std::vector<Digit>& digits, bool lowest) {
  std::int64_t place = 0, weight = 1;
  for (const Digit& digit : digits) {
    place += weight * (lowest ? digit.begin : digit.end - 1);
    weight *= digit.size;
  }
  return place;
}

// The map of the periods, each read at its first valid position, or its last.
LongMap turns_of(const LongMap& map, const Fine& fine) {
  struct Place {
    std::int64_t at;
    Wide address;
  };
  const std::array<Place, 2> places = {
      Place{place_of(fine.digits, true), address_of(fine.digits, true)},
      Place{place_of(fine.digits, false), address_of(fine.digits, false)}};
  const auto at = [map, fine, places](std::int64_t turn) {
    for (const Place& place : places) {
      const std::int64_t p = turn * fine.weight - fine.phase + place.at;
      if (p < 0 || p >= map.size) continue;
      Entry entry = map.at(p);
      if (is_address(entry)) entry.address -= place.address;
      if (entry.kind != Entry::Kind::Unknown) return entry;
    }
    return Entry{};
  };
  return {at, (map.size - 1 + fine.phase) / fine.weight + 1,
          (map.start + fine.phase) / fine.weight};
}

std::vector<Entry> window_of(const LongMap& map, std::int64_t from, std::int64_t size) {
  std::vector<Entry> window;
  for (std::int64_t p = from; p < from + size; ++p) window.push_back(map.at(p));
  return window;
}

constexpr Wide kAnyAddress = static_cast<Wide>(1) << 100;

// The digits found in a window around the start.
std::optional<PositionDigits> read_window(const LongMap& map, std::int64_t from) {
  const std::vector<Entry> window = window_of(map, from, std::min(Limits::kWindow, map.size));
  if (std::ranges::none_of(window, is_address)) return std::nullopt;
  return recover_digits(window, -kAnyAddress, kAnyAddress);
}

// A run of even steps, measured by probing increasing distances.
class Run {
 public:
  Run(const LongMap& map, std::int64_t start, Wide step)
      : map_(map), start_(start), base_(map.at(start).address), step_(step) {}

  // The last position of the even steps in that direction, 1 or -1.
  std::int64_t end(std::int64_t direction) const {
    const std::int64_t room = direction > 0 ? map_.size - 1 - start_ : start_;
    return start_ + direction * last_of(room, [&](std::int64_t d) { return even(direction * d); });
  }

  // The largest distance in [0, room] up to which `holds` is true, if it is a prefix.
  template <typename Holds>
  static std::int64_t last_of(std::int64_t room, const Holds& holds) {
    std::int64_t inside = 0, outside = 1;
    while (outside <= room && holds(outside)) {
      inside = outside;
      if (outside > room / 2) break;
      outside *= 2;
    }
    if (inside == outside) outside = room + 1;  // still holds half way
    outside = std::min(outside, room + 1);
    while (outside - inside > 1) {
      const std::int64_t middle = inside + (outside - inside) / 2;
      (holds(middle) ? inside : outside) = middle;
    }
    return inside;
  }

 private:
  bool even(std::int64_t d) const {
    const Entry entry = map_.at(start_ + d);
    return is_address(entry) && entry.address == base_ + step_ * d;
  }

  const LongMap& map_;
  std::int64_t start_;
  Wide base_, step_;
};

// The first address after a run that ends at `end`; nullopt if there is none.
std::optional<std::int64_t> next_start(const LongMap& map, std::int64_t end) {
  const std::int64_t first = end + 1;
  if (first >= map.size) return std::nullopt;
  if (is_address(map.at(first))) return first;
  const std::int64_t gap = Run::last_of(
      map.size - 1 - first, [&](std::int64_t d) { return !is_address(map.at(first + d)); });
  if (first + gap + 1 >= map.size) return std::nullopt;
  return first + gap + 1;
}

// One digit longer than a window, measured by the runs of even steps from the start on.
std::optional<Fine> measure(const LongMap& map, Wide step) {
  const Run here(map, map.start, step);
  const std::int64_t low = here.end(-1), high = here.end(1);
  const std::optional<std::int64_t> next = next_start(map, high);
  Digit digit{map.size, step, low, high + 1};
  if (!next) {
    if (low > 0 && is_address(map.at(low - 1))) {  // the last period
      digit.size = std::max(low, map.size - low);
      digit.begin = 0;
      digit.end = map.at(map.size - 1).kind == Entry::Kind::Padding ? high + 1 - low : digit.size;
      return Fine{{digit}, digit.size, floor_mod(-low, digit.size)};
    }
    return Fine{{digit}, map.size, 0};
  }
  const std::int64_t high2 = Run(map, *next, step).end(1);
  const std::optional<std::int64_t> third = next_start(map, high2);
  const bool from_start = low > 0 && map.at(low - 1).kind != Entry::Kind::Unknown;
  digit.size = third        ? *third - *next
               : from_start ? *next - low
                            : std::max(*next, map.size - *next);
  if (digit.size < 2) return std::nullopt;
  const bool padded = *next != high + 1;
  digit.begin = 0;
  digit.end = padded ? std::min(std::max(high2 - *next, high - low) + 1, digit.size) : digit.size;
  return Fine{{digit}, digit.size, floor_mod(-*next, digit.size)};
}

// The finest digits; nullopt if a window has none.
std::optional<Fine> fine_digits(const LongMap& map) {
  const std::int64_t from =
      std::clamp<std::int64_t>(map.start - Limits::kWindow / 2, 0, map.size - Limits::kWindow);
  const std::optional<PositionDigits> shown = read_window(map, from);
  if (!shown) return std::nullopt;
  Fine fine;
  for (std::size_t i = 0; i + 1 < shown->digits.size(); ++i) {
    if (fine.weight * shown->digits[i].size > Limits::kWindow / Limits::kWindowTurns) break;
    fine.weight *= shown->digits[i].size;
    fine.digits.push_back(shown->digits[i]);
  }
  if (fine.digits.empty()) return measure(map, shown->digits.front().stride);
  fine.phase = floor_mod(shown->shift - from, fine.weight);
  return fine;
}

}  // namespace

std::optional<PositionDigits> recover_sparse_digits(const LongMap& map) {
  PositionDigits found;
  LongMap rest = map;
  for (std::int64_t weight = 1;;) {
    if (rest.size <= Limits::kWindow) {
      const std::optional<PositionDigits> last = read_window(rest, 0);
      if (!last) return std::nullopt;
      found.digits.insert(found.digits.end(), last->digits.begin(), last->digits.end());
      found.shift += weight * last->shift;
      found.base = last->base;
      return found;
    }
    if (!is_address(rest.at(rest.start))) return std::nullopt;
    const std::optional<Fine> fine = fine_digits(rest);
    if (!fine) return std::nullopt;
    found.digits.insert(found.digits.end(), fine->digits.begin(), fine->digits.end());
    found.shift += weight * fine->phase;
    if (__builtin_mul_overflow(weight, fine->weight, &weight)) return std::nullopt;
    rest = turns_of(rest, *fine);
  }
}

}  // namespace touchstone::shapetracker
