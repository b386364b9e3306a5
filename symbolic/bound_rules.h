#pragma once

#include <span>
#include <string_view>

namespace touchstone::symbolic {

/// How an end of an operation follows from the ends of its operands, as interval.h computes it:
/// where `when` holds, `law` is true. l <= x <= h and m <= y <= n are the ends of x and y. In the
/// syntax of rules.h; negative divisors come down to positive ones by the rules div.negative and
/// mod.negative, open ends leave a law out.
struct BoundRule {
  std::string_view name;   // a stable identifier
  std::string_view title;  // the law in words
  std::string_view law;
  std::string_view when;
};

std::span<const BoundRule> bound_rules();

}  // namespace touchstone::symbolic
