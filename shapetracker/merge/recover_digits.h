#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "touchstone/shapetracker/view/flat_view.h"

namespace touchstone::shapetracker {

/// Knowledge of a map of positions 0, 1, 2, ... at one of them.
struct Entry {
  enum class Kind : std::uint8_t { Unknown, Padding, Address };
  Kind kind = Kind::Unknown;
  Wide address = 0;

  bool operator==(const Entry&) const = default;
};
inline bool is_address(const Entry& entry) { return entry.kind == Entry::Kind::Address; }

/// A map of positions by the digits of position + shift: address = base + sum(stride * digit),
/// valid where every digit is in its [begin, end).
struct PositionDigits {
  struct Digit {
    std::int64_t size;
    Wide stride;
    std::int64_t begin, end;
  };
  std::vector<Digit> digits;  // fine to coarse
  std::int64_t shift = 0;
  Wide base = 0;
};

/// Digits that say what the table says wherever it is known, or nullopt where none are found, with
/// addresses in [lowest, highest] wherever all digits are in their ranges. At least one entry is an
/// address. The finest digit is read off first: it starts where a run of even steps does, so the
/// distances of such starts give its size.
/// Unknown entries at the ends of a digit are more of the same steps or, where that leaves the
/// range, padding.
std::optional<PositionDigits> recover_digits(const std::vector<Entry>& table, Wide lowest,
                                             Wide highest);

}  // namespace touchstone::shapetracker
