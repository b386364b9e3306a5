#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace touchstone::symbolic {

/// One law of the simplifier. It states, for all integers: where `when` holds and lhs is defined,
/// rhs is defined and equal to lhs. A side is undefined where it divides by zero, except in a
/// `where` branch that is not taken or beside an operand that decides an `and` or `or`; an
/// undefined condition does not hold. So `when` does not mention divisors of lhs; each of its
/// conjuncts, joined by `and`, is necessary.
///
/// Sides and condition use the syntax of `parse`; a, b are divisors, c, d, k, m constants, other
/// letters any expression. The witness introduces numbers for a proof: `x = c*q + r` names the
/// quotient and remainder of x by c; empty if it can be derived. The example is the simplifier's
/// result for one instance, with the variables and bounds in `vars` ("x=0..7 y=..", an empty end is
/// open).
struct Rule {
  std::string_view name;   // a stable identifier, never reused for another law
  std::string_view title;  // the law in words
  std::string_view lhs, rhs;
  std::string_view when;     // empty: always
  std::string_view witness;  // empty: derived
  std::string_view vars, before, after;
  /// Where the matcher (match.h) looks for the left side: the terms of a sum, a node, or the parts
  /// of an `and`. A rule with Root::None names a law that simplifier code applies directly.
  enum class Root : std::uint8_t { None, Sum, Quotient, Remainder, Below, Equal, And, Product };
  Root root = Root::None;
};

/// Every law named in a trace, each once, grouped by name.
std::span<const Rule> rules();

/// The rule with that name; null if there is none.
const Rule* find_rule(std::string_view name);

}  // namespace touchstone::symbolic
