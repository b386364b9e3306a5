#include "touchstone/shapetracker/invert/invert_steps.h"

#include <algorithm>
#include <numeric>

#include "touchstone/base/checked.h"
#include "touchstone/shapetracker/limits.h"

namespace touchstone::shapetracker {
namespace {

using Ints = std::vector<std::int64_t>;

/// A digit with `size` values and its stride.
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

// A view of the digits, fine to coarse.
View view_of(const std::vector<Digit>& digits, std::int64_t offset) {
  Shape shape;
  Strides strides;
  for (std::size_t i = digits.size(); i-- > 0;) {
    shape.emplace_back(digits[i].size);
    strides.emplace_back(digits[i].stride);
  }
  return View::trusted(std::move(shape), std::move(strides), offset, std::nullopt);
}

/// A table as fine digits whose periods rise evenly, at multiples of their unit minus a phase, and
/// a smaller table over the periods: table[q] = table[0] + rise * q + its jumps at t <= q.
struct Evened {
  std::vector<Digit> fine;
  std::int64_t shift = 0, weight = 1;
  Ints table;
  std::int64_t rise = 0;
  Ints jumps;

  std::int64_t turns() const { return std::ssize(table); }
  std::int64_t jump_at(std::int64_t t) const {
    const auto at = static_cast<std::size_t>(t);
    return table[at] - table[at - 1] - rise;
  }
};

Evened even_out(Ints table) {
  Evened e;
  for (;;) {
    e.rise = common_rise(table);
    e.jumps = jumps_of(table, e.rise);
    std::int64_t unit = 0;
    for (const std::int64_t jump : e.jumps) unit = std::gcd(unit, jump - e.jumps.front());
    if (unit < 2) break;
    const std::int64_t phase = floor_mod(-e.jumps.front(), unit);
    Ints turns;
    for (std::int64_t y = 0; y < std::ssize(table);) {
      turns.push_back(table[static_cast<std::size_t>(y)] - e.rise * ((y + phase) % unit));
      y += unit - (y + phase) % unit;
    }
    e.fine.push_back({unit, e.rise});
    e.shift = checked_add(e.shift, checked_mul(e.weight, phase));
    e.weight = checked_mul(e.weight, unit);
    table = std::move(turns);
  }
  e.table = std::move(table);
  return e;
}

/// The steps [q >= t] of some jumps: each is a pair of digits (2, turns) that holds q + turns - t,
/// beside a block of digits passed through unchanged.
struct Steps {
  const Evened& table;
  std::int64_t place = table.weight * table.turns();  // weight of the next pair
  std::int64_t repeats = 1, offset = 0;               // number of copies of q, and a constant
  std::vector<Digit> digits = {};                     // of the pairs

  void add(std::int64_t t, std::int64_t worth) {
    digits.push_back({table.turns(), 0});
    digits.push_back({2, checked_mul(table.jump_at(t), worth)});
    offset = checked_add(offset, checked_mul(place, table.turns() - t));
    repeats = checked_add(repeats, place / table.weight);
    place = checked_mul(place, checked_mul(2, table.turns()));
  }
};

/// A view of the digits, shifted up by multiples of the limit because its addresses may lie beyond
/// [0, limit) where no y leads; `repeats` limits contain them all.
struct Moved {
  View view;
  std::int64_t repeats;
};
Moved moved_up(const std::vector<Digit>& digits, std::int64_t offset, std::int64_t limit) {
  std::int64_t low = offset, high = offset;
  for (const auto& [values, stride] : digits)
    (stride < 0 ? low : high) += checked_mul(stride, values - 1);
  const std::int64_t up = low < 0 ? checked_mul(ceil_div(-low, limit), limit) : 0;
  return {view_of(digits, checked_add(offset, up)), checked_add(high, up) / limit + 1};
}

// Appends the last view of an inverse and, if needed, one that reduces addresses modulo the limit.
void finish(Maps& maps, const std::vector<Digit>& digits, std::int64_t offset, std::int64_t limit) {
  Moved last = moved_up(digits, offset, limit);
  maps.push_back(std::move(last.view));
  if (last.repeats > 1)
    maps.push_back(View::trusted({last.repeats, limit}, {0, 1}, 0, std::nullopt));
}

// All steps side by side in one flat index.
Maps at_once(const Evened& table, std::int64_t size, std::int64_t limit) {
  Steps steps{table};
  for (const std::int64_t t : table.jumps) steps.add(t, 1);
  Maps maps;
  maps.push_back(View::trusted({size}, {1}, table.shift, std::nullopt));
  std::vector<Digit> spread;
  std::int64_t weight = 1;
  for (const auto& [values, stride] : table.fine) {
    spread.push_back({values, weight});
    weight *= values;
  }
  spread.push_back({table.turns(), checked_mul(weight, steps.repeats)});
  maps.push_back(view_of(spread, steps.offset));
  std::vector<Digit> digits = table.fine;
  digits.push_back({table.turns(), table.rise});
  digits.insert(digits.end(), steps.digits.begin(), steps.digits.end());
  finish(maps, digits, table.table[0], limit);
  return maps;
}

// As many steps at a time as fit in one flat index. Their running sum is carried as one more digit
// above the others; as a sum of the jumps so far it stays within their range.
Maps in_stages(const Evened& table, std::int64_t size, std::int64_t limit) {
  constexpr std::int64_t kRoom = std::int64_t{1} << 60;
  std::int64_t sum = 0, low = 0, high = 0;
  for (const std::int64_t t : table.jumps) {
    sum = checked_add(sum, table.jump_at(t));
    low = std::min(low, sum);
    high = std::max(high, sum);
  }
  const std::int64_t sums = high - low + 1, block = checked_mul(table.weight, table.turns());
  const std::int64_t state = checked_mul(block, sums);
  Maps maps;
  maps.push_back(
      View::trusted({size}, {1}, checked_sub(table.shift, checked_mul(block, low)), std::nullopt));
  std::int64_t repeats = 1;
  for (std::size_t next = 0; next < table.jumps.size();) {
    Steps steps{table};
    while (next < table.jumps.size() && steps.place <= kRoom / sums / table.turns() / 8)
      steps.add(table.jumps[next++], block);
    if (steps.digits.empty() || maps.size() + 2 > Limits::kStages)
      throw OverflowError("steps: too large for a view");
    maps.push_back(view_of({{table.weight, 1},
                            {table.turns(), checked_mul(table.weight, steps.repeats)},
                            {sums, steps.place},
                            {repeats, 0}},
                           steps.offset));
    std::vector<Digit> digits{{table.weight, 1}, {table.turns(), table.weight}};
    digits.insert(digits.end(), steps.digits.begin(), steps.digits.end());
    digits.push_back({sums, block});
    Moved moved = moved_up(digits, 0, state);
    maps.push_back(std::move(moved.view));
    repeats = moved.repeats;
  }
  std::vector<Digit> digits = table.fine;
  digits.push_back({table.turns(), table.rise});
  digits.push_back({sums, 1});
  digits.push_back({repeats, 0});
  finish(maps, digits, checked_add(table.table[0], low), limit);
  return maps;
}

std::optional<Maps> maps_of(const Ints& table, std::int64_t limit,
                            Maps (*make)(const Evened&, std::int64_t, std::int64_t)) {
  try {
    return make(even_out(table), std::ssize(table), limit);
  } catch (const OverflowError&) {
    return std::nullopt;
  }
}

}  // namespace

std::optional<Maps> steps_of(const std::vector<std::int64_t>& table, std::int64_t limit) {
  return maps_of(table, limit, at_once);
}

std::optional<Maps> stages_of(const std::vector<std::int64_t>& table, std::int64_t limit) {
  return maps_of(table, limit, in_stages);
}

}  // namespace touchstone::shapetracker
