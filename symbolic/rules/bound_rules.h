#pragma once

#include <span>
#include <string_view>

namespace touchstone::symbolic {

/// How an end of an operation follows from the ends of its operands, as interval.h computes it, or
/// a congruence from congruences, as congruence.h does: where `when` holds, `law` is true.
/// l <= x <= h and m <= y <= n are the ends of x and y, of a congruence m and n the moduli, r and s
/// the residues. A test compares both files with these formulas. In the syntax of rules.h; negative
/// divisors come down to positive ones by the rules div.negative and mod.negative, open ends leave
/// a law out.
struct BoundRule {
  std::string_view name;   // a stable identifier
  std::string_view title;  // the law in words
  std::string_view law;
  std::string_view when;
};

std::span<const BoundRule> bound_rules();

}  // namespace touchstone::symbolic
