#pragma once

#include <optional>
#include <span>
#include <vector>

#include "touchstone/shapetracker/view/view.h"

namespace touchstone::shapetracker {

/// The smaller and the larger of two; an expression only where the bounds do not decide.
sint smaller(const sint& a, const sint& b);
sint larger(const sint& a, const sint& b);

/// The error of a relation that the bounds do not decide; `what` begins its text.
ShapeError undecided(const std::string& what, const sint& a, const char* relation, const sint& b);

/// Whether a <= b for all values of the variables, proved as an inequality of polynomials: slower
/// than certainly_le, and sees products, as in w*(w - 2) >= 0 for w >= 2, and each member of minima
/// and maxima by itself, where it is the least or largest.
/// Or shown at each value, where the combinations are few.
bool proved_le(const sint& a, const sint& b);
bool proved_eq(const sint& a, const sint& b);

/// Every combination of values of the variables in some numbers, one that is empty where there are
/// none; nullopt where they are more than 256 or a variable has no bounds.
std::optional<std::vector<symbolic::Values>> few_values(std::span<const sint> numbers);

/// True where a < b (a <= b) holds, false where it fails for every value of the variables.
/// Throws `undecided`, with the text that what() returns, where neither is proved.
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

/// `value` with its variables replaced by numbers where `values` has them: evaluated where it has
/// all of them, else substituted. Throws ShapeError on a number outside its variable's bounds.
sint bind(const sint& value, const symbolic::Values& values);
/// `value` with its variables replaced, all at once, by expressions. Throws ShapeError where one
/// may leave the bounds of its variable.
sint substitute(const sint& value, const std::map<std::string, symbolic::Node>& replacements);

std::string str(const Mask& mask);  // "((0, 2), (1, 3))"

}  // namespace touchstone::shapetracker
