#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "touchstone/symbolic/context.h"

namespace touchstone::symbolic {

/// A simplification asked for in words: an expression over named variables, under assumptions.
struct Question {
  std::vector<std::pair<std::string, Interval>> variables;
  std::vector<std::string> assumptions;  // in the syntax of `parse`, as the expression
  std::string text;
};

struct Answer {
  std::string text;      // in the syntax of `parse`
  std::size_t size = 0;  // operators, variables and constants; and/or of k parts count k - 1
  Interval bounds;       // under the assumptions
  std::int64_t ns = 0;   // of building, applying the assumptions and choosing the smallest form
};

/// The shorter of an expression as it was written and a form of it, `size` large, that `rendered`
/// gives: what is written out is never larger than what was read. Updates size.
std::string shorter(const std::string& written, std::size_t& size,
                    const std::function<std::string()>& rendered);

/// Simplifies in `scratch`, which is cleared first, so that no answer depends on an earlier one.
/// Throws ParseError that names the part of the question at fault
/// ("vars", "assume[0]", "in") and points at the column.
Answer answer(const Question& question, Context& scratch);

/// The smallest interval that holds the value of `root` at every point where all conditions hold,
/// found by looking at points; where there are too many, or a variable is open, `known`, which must
/// hold them all. Points where a division by zero decides are left out.
Interval exact_bounds(const Context& context, Id root, std::span<const Id> conditions,
                      const Interval& known);

}  // namespace touchstone::symbolic
