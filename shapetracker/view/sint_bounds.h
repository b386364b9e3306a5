#pragma once

#include <optional>
#include <span>
#include <vector>

#include "touchstone/shapetracker/view/view.h"

namespace touchstone::shapetracker {

/// The minimum and maximum of two; an expression only if the bounds do not decide.
sint smaller(const sint& a, const sint& b);
sint larger(const sint& a, const sint& b);

/// The error for a relation that the bounds do not decide; its text begins with `what`.
ShapeError undecided(const std::string& what, const sint& a, const char* relation, const sint& b);

/// True if a <= b is proved for all values of the variables, by polynomial inequalities or, for few
/// combinations of values, by enumeration. Slower than certainly_le, but handles products, as in
/// w*(w - 2) >= 0 for w >= 2, and each member of minima and maxima where it is the extreme one.
bool proved_le(const sint& a, const sint& b);
bool proved_eq(const sint& a, const sint& b);

/// Every combination of values of the variables in some numbers (one empty combination if there are
/// no variables); nullopt if there are more than 256 or a variable has no bounds.
std::optional<std::vector<symbolic::Values>> few_values(std::span<const sint> numbers);

/// True if a < b (a <= b) holds, false if it fails, for all values of the variables.
/// Throws `undecided` with the text what() if neither is proved.
template <typename What>
bool decide_lt(const sint& a, const sint& b, const What& what) {
  if (certainly_lt(a, b)) return true;
  if (certainly_le(b, a)) return false;
  if (proved_le(a + 1, b)) return true;
  if (proved_le(b, a)) return false;
  throw undecided(what(), a, "<", b);
}
template <typename What>
bool decide_le(const sint& a, const sint& b, const What& what) {
  if (certainly_le(a, b)) return true;
  if (certainly_lt(b, a)) return false;
  if (proved_le(a, b)) return true;
  if (proved_le(b + 1, a)) return false;
  throw undecided(what(), a, "<=", b);
}

/// `value` with variables replaced by the numbers in `values`: evaluated if all are given, else
/// substituted. Throws ShapeError on a number outside its variable's bounds.
sint bind(const sint& value, const symbolic::Values& values);
/// `value` with variables replaced simultaneously by expressions. Throws ShapeError if one may
/// leave the bounds of its variable.
sint substitute(const sint& value, const std::map<std::string, symbolic::Node>& replacements);

std::string str(const Mask& mask);  // "((0, 2), (1, 3))"

}  // namespace touchstone::shapetracker
