#pragma once

#include <span>
#include <string_view>

namespace touchstone::symbolic {

/// A law for the end of an operation's interval (interval.h) or its congruence (congruence.h):
/// `law` is true wherever `when` holds. l <= x <= h and m <= y <= n are the bounds of x and y; for
/// congruences m and n are the moduli, r and s the residues. A test compares both files with these
/// formulas, which use the syntax of rules.h. Negative divisors reduce to positive ones by the
/// rules div.negative and mod.negative; a law does not apply to open ends.
struct BoundRule {
  std::string_view name;   // a stable identifier
  std::string_view title;  // the law in words
  std::string_view law;
  std::string_view when;
};

std::span<const BoundRule> bound_rules();

}  // namespace touchstone::symbolic
