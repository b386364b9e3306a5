#pragma once

#include <span>
#include <string_view>

namespace touchstone::symbolic {

/// One law of the simplifier: for all integers that satisfy `when`, lhs equals rhs. Both sides and
/// the condition are in the syntax of `parse`; a, b are divisors, c, d, k, m constants, the rest is
/// any expression. The example is what the simplifier makes of one instance, its variables with
/// their bounds in `vars` ("x=0..7 y=..", an empty end is open).
struct Rule {
  std::string_view name;
  std::string_view lhs, rhs;
  std::string_view when;  // empty: always
  std::string_view vars, before, after;
};

/// Every law the simplifier names in its trace, each once, by name in groups.
std::span<const Rule> rules();

/// The rule of that name; null where there is none.
const Rule* find_rule(std::string_view name);

}  // namespace touchstone::symbolic
