#include "touchstone/shapetracker/invert_steps.h"

#include <algorithm>
#include <numeric>

#include "touchstone/base/checked.h"

namespace touchstone::shapetracker {
namespace {

using Ints = std::vector<std::int64_t>;

/// A value times stride, of a digit that has `size` values.
struct Digit {
  std::int64_t size, stride;
};

// The rise that leaves the fewest jumps.
std::int64_t common_rise(const Ints& table) {
  Ints rises;
  for (std::size_t y = 1; y < table.size(); ++y) rises.push_back(table[y] - table[y - 1]);
  std::ranges::sort(rises);
  std::int64_t best = 0, most = 0;
  for (std::size_t i = 0; i < rises.size();) {
    std::size_t j = i;
    while (j < rises.size() && rises[j] == rises[i]) ++j;
    if (static_cast<std::int64_t>(j - i) > most)
      most = static_cast<std::int64_t>(j - i), best = rises[i];
    i = j;
  }
  return best;
}

Ints jumps_of(const Ints& table, std::int64_t rise) {
  Ints jumps;
  for (std::size_t y = 1; y < table.size(); ++y)
    if (table[y] != table[y - 1] + rise) jumps.push_back(static_cast<std::int64_t>(y));
  return jumps;
}

// A contiguous-like view of the digits, fine to coarse.
View view_of(const std::vector<Digit>& digits, std::int64_t offset) {
  Shape shape;
  Strides strides;
  for (std::size_t i = digits.size(); i-- > 0;) {
    shape.emplace_back(digits[i].size);
    strides.emplace_back(digits[i].stride);
  }
  return View::trusted(std::move(shape), std::move(strides), offset, std::nullopt);
}

Maps build(Ints table, std::int64_t limit) {
  const std::int64_t size = std::ssize(table);
  // Digits whose every turn rises evenly: at multiples of the unit, less the phase.
  std::vector<Digit> fine;
  std::int64_t shift = 0, weight = 1, rise = common_rise(table);
  Ints jumps = jumps_of(table, rise);
  for (;;) {
    if (jumps.size() < 2) break;
    std::int64_t unit = 0;
    for (const std::int64_t jump : jumps) unit = std::gcd(unit, jump - jumps.front());
    if (unit < 2) break;
    const std::int64_t phase = floor_mod(-jumps.front(), unit);
    Ints turns;
    for (std::int64_t y = 0; y < std::ssize(table);) {
      turns.push_back(table[static_cast<std::size_t>(y)] - rise * ((y + phase) % unit));
      y += unit - (y + phase) % unit;
    }
    fine.push_back({unit, rise});
    shift = checked_add(shift, checked_mul(weight, phase));
    weight = checked_mul(weight, unit);
    table = std::move(turns);
    rise = common_rise(table);
    jumps = jumps_of(table, rise);
  }
  // What is left: table[q] = table[0] + rise * q + the sum of its jumps at t <= q. Each step has a
  // digit pair of q + turns - t, (2, turns), beside the fine digits; one more holds q.
  const std::int64_t turns = std::ssize(table);
  std::vector<Digit> digits = fine;
  digits.push_back({turns, rise});
  std::int64_t place = checked_mul(weight, turns), repeats = 1, offset = 0;
  for (const std::int64_t jump : jumps) {
    const auto at = static_cast<std::size_t>(jump);
    digits.push_back({turns, 0});
    digits.push_back({2, table[at] - table[at - 1] - rise});
    offset = checked_add(offset, checked_mul(place, turns - jump));
    repeats = checked_add(repeats, place / weight);
    place = checked_mul(place, checked_mul(2, turns));
  }
  std::int64_t low = table[0], high = low;
  for (const auto& [values, stride] : digits)
    (stride < 0 ? low : high) += checked_mul(stride, values - 1);
  const std::int64_t up = low < 0 ? checked_mul(ceil_div(-low, limit), limit) : 0;
  Maps maps;
  maps.push_back(View::trusted({size}, {1}, shift, std::nullopt));
  std::vector<Digit> spread;
  std::int64_t fine_weight = 1;
  for (const auto& [values, stride] : fine) {
    spread.push_back({values, fine_weight});
    fine_weight *= values;
  }
  spread.push_back({turns, checked_mul(weight, repeats)});
  maps.push_back(view_of(spread, offset));
  maps.push_back(view_of(digits, checked_add(table[0], up)));
  if (low < 0 || high >= limit)
    maps.push_back(
        View::trusted({checked_add(high, up) / limit + 1, limit}, {0, 1}, 0, std::nullopt));
  return maps;
}

}  // namespace

std::optional<Maps> steps_of(const std::vector<std::int64_t>& table, std::int64_t limit) {
  try {
    return build(table, limit);
  } catch (const OverflowError&) {
    return std::nullopt;
  }
}

}  // namespace touchstone::shapetracker
