#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace touchstone::symbolic {

/// One law of the simplifier. It claims, for all integers: where `when` holds and lhs is defined,
/// rhs is defined and equal to lhs. A side is undefined where it divides by zero, except in a
/// branch of `where` that is not taken or beside a part that decides an `and` or an `or`; a
/// condition that is undefined does not hold. So `when` says nothing of divisors that stand in lhs;
/// every one of its conjuncts, joined by `and`, is necessary.
///
/// Both sides and the condition are in the syntax of `parse`; a, b are divisors, c, d, k, m
/// constants, the rest is any expression. The witness is what a proof writes for a number:
/// `x = c*q + r` stands for the quotient and remainder of x by c; empty where it can be derived.
/// The example is what the simplifier makes of one instance, its variables with their bounds in
/// `vars` ("x=0..7 y=..", an empty end is open).
struct Rule {
  std::string_view name;   // a stable identifier: never given to another law
  std::string_view title;  // the law in words
  std::string_view lhs, rhs;
  std::string_view when;     // empty: always
  std::string_view witness;  // empty: derived
  std::string_view vars, before, after;
  /// Where the matcher (match.h) looks for the left side, which it applies wherever it is found: in
  /// the terms of a sum, at a node, in the parts of an `and`. A rule of no root names what one of
  /// the simplifier's procedures does.
  enum class Root : std::uint8_t { None, Sum, Quotient, Remainder, Below, Equal, And, Product };
  Root root = Root::None;
};

/// Every law the simplifier names in its trace, each once, by name in groups.
std::span<const Rule> rules();

/// The rule of that name; null where there is none.
const Rule* find_rule(std::string_view name);

}  // namespace touchstone::symbolic
