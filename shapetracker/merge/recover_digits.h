#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "touchstone/shapetracker/view/flat_view.h"

namespace touchstone::shapetracker {

/// The known value of a map at one position.
struct Entry {
  enum class Kind : std::uint8_t { Unknown, Padding, Address };
  Kind kind = Kind::Unknown;
  Wide address = 0;

  bool operator==(const Entry&) const = default;
};
inline bool is_address(const Entry& entry) { return entry.kind == Entry::Kind::Address; }

/// A map of positions by the digits of position + shift: address = base + sum(stride * digit),
/// valid if every digit is in its [begin, end).
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

/// Digits that agree with the table wherever it is known, with addresses in [lowest, highest]
/// wherever all digits are in range; nullopt if none are found. Some entry must be an address. The
/// finest digit comes first: it starts where a run of even steps does, so the distances of such
/// starts give its size. Unknown entries at the ends of a digit continue its steps or, if that
/// leaves the range, are padding.
std::optional<PositionDigits> recover_digits(const std::vector<Entry>& table, Wide lowest,
                                             Wide highest);

}  // namespace touchstone::shapetracker
