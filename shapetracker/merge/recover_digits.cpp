#include "touchstone/shapetracker/merge/recover_digits.h"

#include <algorithm>
#include <numeric>

#include "touchstone/base/checked.h"
#include "touchstone/shapetracker/limits.h"

namespace touchstone::shapetracker {
namespace {

using EntryKind = Entry::Kind;
using Table = std::vector<Entry>;

// nullopt if not an integer.
std::optional<Wide> exact_quotient(Wide dividend, std::int64_t divisor) {
  if (const auto small = static_cast<std::int64_t>(dividend);
      small == dividend && small != INT64_MIN)
    return small % divisor == 0 ? std::optional<Wide>(small / divisor) : std::nullopt;
  return dividend % divisor == 0 ? std::optional(dividend / divisor) : std::nullopt;
}

class Recovery {
 public:
  Recovery(bool tight, Wide lowest, Wide highest)
      : tight_(tight), lowest_(lowest), highest_(highest) {}

  bool grow(const Table& table) {
    if (take_whole(table)) return true;
    for (const Wide step : steps(table))
      for (const auto& [size, phase] : cuts(table, step))
        if (take_digit(table, size, phase, step)) return true;
    const std::int64_t positions = std::ssize(table);
    const auto unknown = [](const Entry& entry) { return entry.kind == EntryKind::Unknown; };
    if (positions > Limits::kGapPositions || std::ranges::none_of(table, unknown)) return false;
    for (std::int64_t size = positions - 1; size >= 2; --size)
      for (std::int64_t phase = 0; phase < size; ++phase)
        if (const std::optional<Wide> step = step_within(table, size, phase))
          if (take_digit(table, size, phase, *step)) return true;
    return false;
  }

  PositionDigits result() const { return found_; }
  /// True if digits were found with addresses outside the range.
  bool left_range() const { return left_range_; }

 private:
  /// A digit begins at the positions p with (p + phase) divisible by size.
  struct Cut {
    std::int64_t size, phase;
  };

  // Tries the whole table as one digit: even steps from the first address to the last.
  bool take_whole(const Table& table) {
    const auto first = std::ranges::find_if(table, is_address) - table.begin();
    auto last = std::ssize(table) - 1;
    while (!is_address(at(table, last))) --last;
    Wide step = 0;
    for (auto p = first + 1; p <= last; ++p) {
      const Entry& entry = at(table, p);
      if (!is_address(entry)) continue;
      const auto even = exact_quotient(entry.address - at(table, first).address, p - first);
      if (!even) return false;
      step = *even;
      break;
    }
    for (auto p = first; p <= last; ++p) {
      const Entry& entry = at(table, p);
      if (entry.kind == EntryKind::Padding) return false;
      if (is_address(entry) && entry.address != at(table, first).address + step * (p - first))
        return false;
    }
    const bool padded = std::ranges::any_of(
        table, [](const Entry& entry) { return entry.kind == EntryKind::Padding; });
    const bool cut = padded || tight_;
    found_.digits.push_back(
        {std::ssize(table), step, cut ? first : 0, cut ? last + 1 : std::ssize(table)});
    found_.base = at(table, first).address - step * first;
    if (within_range()) return true;
    left_range_ = true;
    found_.digits.pop_back();
    return false;
  }

  bool within_range() const {
    Wide low = found_.base, high = low;
    for (const auto& [size, stride, begin, end] : found_.digits) {
      low += stride * (stride < 0 ? end - 1 : begin);
      high += stride * (stride < 0 ? begin : end - 1);
    }
    return low >= lowest_ && high <= highest_;
  }

  // Candidate strides of the finest digit.
  static std::vector<Wide> steps(const Table& table) {
    std::vector<Wide> found;
    for (std::size_t p = 1; p < table.size() && found.size() < Limits::kDigitSteps; ++p) {
      if (!is_address(table[p - 1]) || !is_address(table[p])) continue;
      const Wide step = table[p].address - table[p - 1].address;
      if (std::ranges::find(found, step) == found.end()) found.push_back(step);
    }
    if (found.empty()) found.push_back(0);
    return found;
  }

  // The step between the first two addresses within one period of a digit; nullopt if not an
  // integer.
  static std::optional<Wide> step_within(const Table& table, std::int64_t size,
                                         std::int64_t phase) {
    std::int64_t last = -1, end = 0;  // end of its period
    for (std::int64_t p = 0; p < std::ssize(table); ++p) {
      if (!is_address(at(table, p))) continue;
      if (p < end) return exact_quotient(at(table, p).address - at(table, last).address, p - last);
      last = p;
      end = p + size - (p + phase) % size;
    }
    return 0;
  }

  /// The first of some positions, and the gcd of their distances.
  struct Places {
    std::optional<std::int64_t> first = {};
    std::int64_t distance = 0;

    void add(std::int64_t place) {
      if (!first) first = place;
      if (distance != 1) distance = std::gcd(distance, place - *first);
    }
  };

  // Candidate starts of the finest digit, given its step. Runs of even steps start, and runs that
  // padding ends stop, at the same digit; the first and the last run may be cut off.
  static std::vector<Cut> cuts(const Table& table, Wide step) {
    Places starts, ends;
    const std::int64_t size = std::ssize(table);
    for (std::int64_t p = 1; p < size; ++p) {
      const Entry &before = at(table, p - 1), &here = at(table, p);
      if (before.kind == EntryKind::Unknown) continue;
      if (is_address(here) && !(is_address(before) && here.address == before.address + step))
        starts.add(p);
      if (is_address(before) && here.kind == EntryKind::Padding) ends.add(p);
    }
    std::vector<Cut> found;
    if (!starts.first) return found;
    const std::int64_t start = *starts.first;
    for (const std::int64_t digit : {starts.distance, ends.distance, std::max(start, size - start)})
      if (digit >= 2 && digit < size) found.push_back({digit, floor_mod(-start, digit)});
    return found;
  }

  // True if each period of such a digit rises evenly. Most candidates fail here.
  bool rises_evenly(const Table& table, std::int64_t size, std::int64_t phase, Wide step) {
    std::int64_t end = 0;  // of the period
    std::optional<Wide> base;
    for (std::int64_t p = 0; p < std::ssize(table); ++p) {
      if (p >= end) {
        end = p + size - (p + phase) % size;
        base.reset();
      }
      if (!is_address(at(table, p))) continue;
      const Wide from = at(table, p).address + step * (end - p);
      if (base && *base != from) {
        work_ += p;
        return false;
      }
      base = from;
    }
    return true;
  }

  bool take_digit(const Table& table, std::int64_t size, std::int64_t phase, Wide step) {
    const std::int64_t positions = std::ssize(table);
    if (!rises_evenly(table, size, phase, step)) return false;
    work_ += positions;
    if (work_ > Limits::kDigitWork) return false;
    Table turns(static_cast<std::size_t>((positions - 1 + phase) / size + 1));
    std::int64_t begin = size, end = 0;
    bool padded = false;
    for (std::int64_t p = 0; p < positions; ++p) {
      if (!is_address(at(table, p))) continue;
      const std::int64_t digit = (p + phase) % size;
      Entry& turn = turns[static_cast<std::size_t>((p + phase) / size)];
      const Wide base = at(table, p).address - step * digit;
      turn = {EntryKind::Address, base};
      begin = std::min(begin, digit);
      end = std::max(end, digit + 1);
    }
    for (std::int64_t p = 0; p < positions; ++p) {
      if (at(table, p).kind != EntryKind::Padding) continue;
      const std::int64_t digit = (p + phase) % size;
      if (digit < begin || digit >= end) {
        padded = true;
        continue;
      }
      Entry& turn = turns[static_cast<std::size_t>((p + phase) / size)];
      if (is_address(turn)) return false;
      turn.kind = EntryKind::Padding;
    }
    if (!padded && !tight_) begin = 0, end = size;
    const PositionDigits before = found_;
    found_.digits.push_back({size, step, begin, end});
    found_.shift += weight_ * phase;
    weight_ *= size;
    if (grow(turns)) return true;
    weight_ /= size;
    found_ = before;
    return false;
  }

  static const Entry& at(const Table& table, std::int64_t p) {
    return table[static_cast<std::size_t>(p)];
  }

  bool tight_;
  Wide lowest_, highest_;
  PositionDigits found_;
  bool left_range_ = false;
  std::int64_t weight_ = 1;
  std::int64_t work_ = 0;
};

}  // namespace

std::optional<PositionDigits> recover_digits(const std::vector<Entry>& table, Wide lowest,
                                             Wide highest) {
  for (const bool tight : {false, true}) {
    Recovery recovery(tight, lowest, highest);
    if (recovery.grow(table)) return recovery.result();
    if (!recovery.left_range()) break;
  }
  return std::nullopt;
}

}  // namespace touchstone::shapetracker
